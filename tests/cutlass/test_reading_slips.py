"""Every slip in a C++ text is refused, with the line and the column where it is."""

from __future__ import annotations

from contextlib import suppress

import pytest
from every import every
from hypothesis import given, strategies as st

import pycute_xe as cx

PRINT = """\
TiledMMA
  ThrLayoutVMNK:  (_16,_2,_2,_1):(_1,_16,_32,_0)
  PermutationMNK: (_,_,_)
MMA_Atom
  ThrID:      _16:_1
  Shape_MNK:  (_8,_16,_16)
  LayoutA_TV: (_16,_8):(_8,_1)
  LayoutB_TV: ((_2,_8),(_2,_8)):((_16,_1),(_8,_32))
  LayoutC_TV: (_16,_8):(_8,_1)
"""
OP = "XE_DPAS_TT<8,float,bfloat16_t>"

SLIPS = {
    "": "line 1, column 1: a type expected, not the end",
    "Layout<Shape<8,_4>>": "line 1, column 14: the number 8 is not a type.*write _8",
    "Layout<Shape<_8,\n  4>>": "line 2, column 3: the number 4 is not a type",
    "Layout<8>": "line 1, column 8: the number 8 is not a type",
    "Layout<Shape<_8,_4>": "line 1, column 20: ',' or '>' expected, not the end",
    "Layout<Shape<_8,,_4>>": "line 1, column 17: a type expected, not ','",
    "Layout<Shape<_8,>>": "line 1, column 17: a type expected, not '>'",
    "Layout": "Layout is given no arguments",
    "Layout<>": "Layout takes 1 to 2 arguments, not 0",
    "Layout<_8,_1,_2>": "Layout takes 1 to 2 arguments, not 3",
    "Layuot<_8>": "line 1, column 1: unknown template Layuot.*did you mean Layout",
    "bfloat17_t": "line 1, column 1: unknown name bfloat17_t.*bfloat16_t",
    "Layout<Shape<int,_4>>": "line 1, column 8: int32_t is known at run time only",
    "Layout<Shape<_8,E<0>>>": "line 1, column 8: Basis 1@0 is not an entry of a Shape",
    "Layout<Shape<_8,_4>,Stride<_1>>": "line 1, column 1: shape and stride nest differently",
    "Layout<Shape<_0>>": "line 1, column 1: ",
    "Layout<Shape<_8>> x": "line 1, column 19: the end or ';' expected, not 'x'",
    "Layout<Shape<_8>>*": "line 1, column 18: a pointer is not a layout",
    "Layout<Shape<_8>>::type": "Layout<>::type is not known",
    "Int<_8>": "line 1, column 5: int 8 is not a number.*write 8",
    "Int<99999999999999999999>": "line 1, column 5: the number has more than 18 digits",
    "Shape<_8, $>": "line 1, column 11: '\\$' is not a part of a C\\+\\+ type",
    "Swizzle<3,4,1>": "line 1, column 1: 3 bits moved by 1 overlap",
    "ComposedLayout<Layout<_8>,_0,Layout<_8>>": "line 1, column 16: Layout 8:1 is not a swizzle",
    "ComposedLayout<Swizzle<3,0,3>,smem_ptr_flag_bits<16>,Layout<_8>>": (
        "line 1, column 16: Sw<3,0,3> of bytes moves bits inside an element of 16 bits"
    ),
    "MMA_Atom<XE_LOAD_2D<16,8,16>>": "line 1, column 10: Block2DOp XE_LOAD_2D<16,8,16> is not an",
    "MMA_Atom<XE_DPAS_TT<9,float,half_t>>": "line 1, column 10: M must be 1 to 8",
    "XE_DPAS_TT<8,float,double>": "line 1, column 1: ",
    "TiledMMAHelper<MMA_Atom<XE_DPAS_TT<8,float,half_t>>,Layout<_8>,Layout<_8>>": (
        "append ::TiledMMA"
    ),
    "Copy_Atom<XE_LOAD_2D<16,32,32,7>, half_t>": "column 11: the block width does not divide",
    "Copy_Atom<XE_LOAD_2D<16,32>, half_t>": "XE_LOAD_2D takes 3 to 4 arguments, not 2",
    "Copy_Atom<XE_LOAD_2D<16,_8,16>, half_t>": "line 1, column 25: int 8 is not a number",
    "Copy_Atom<XE_LOAD_2D<16,8,16>, float>": "line 1, column 1: 32-bit values do not tile 16-bit",
    "Copy_Atom<Copy_Traits<XE_LOAD_2D<16,8,16>,_1,_0,half_t,Stride<_0,_0>>, bfloat16_t>": (
        "line 1, column 72: the traits move half_t, the atom bfloat16_t"
    ),
    "Copy_Atom<Copy_Traits<XE_2D_U16x8x16_LD_N,Stride<_1,_1>>,half_t>": "column 43: not exactly",
    "XE_2D_U16x32x32_LD_Q": "line 1, column 1: the name does not read",
    "TiledCopy<Copy_Atom<XE_LOAD_2D<16,8,16>,half_t>,Layout<Shape<_16,_8>>,Shape<_8,_16>>": (
        "line 1, column 49: the layout does not begin with one block"
    ),
    "using A Shape<_8>;": "line 1, column 9: '=' expected, not 'Shape'",
    "using A = Shape<_8>; Layout<B>": "line 1, column 29: unknown name B",
    "(8,4):(1,8": "line 1, column 11: ',' or '\\)' expected, not the end",
    "(8,4):": "line 1, column 7: an integer or '\\('",
    "(8,4):(1,8) (2)": "line 1, column 13: the end expected",
    "(8,4):(1)": "line 1, column 1: shape and stride nest differently",
    "Sw<3,4,3> o (8):(1)": "line 1, column 16: 'o' expected",
    "gmem_ptr[16b](0x7f00) o (8,4):(4,1)": "line 1, column 9: .*print the layout alone",
    "Sw<3,4>": "line 1, column 7: ',' expected",
}


@every("text", SLIPS)
def test_a_slip_is_refused_where_it_is(text: str) -> None:
    with pytest.raises(cx.CuteError, match=SLIPS[text]) as refusal:
        cx.from_cute(text)
    assert refusal.value.operation == "from_cute"
    assert refusal.value.fix


def test_the_print_is_right_to_begin_with() -> None:
    mma = cx.make_tiled_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (2, 2, 1))
    assert cx.from_cute(PRINT, op=OP) == mma


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("LayoutC_TV", "LayoutD_TV", "line 9, column 3: LayoutC_TV expected, not 'LayoutD_TV'"),
        ("  LayoutC_TV: (_16,_8):(_8,_1)\n", "", "LayoutC_TV expected, not the end"),
        ("MMA_Atom\n", "", "line 4, column 3: 'MMA_Atom' expected, not 'ThrID'"),
        ("ThrID:      ", "ThrID ", "line 5, column 9: ':' expected"),
        ("(_16,_2,_2,_1)", "(_16,_2,_2)", "line 2, column 19: shape and stride nest differently"),
        ("_1,_16,_32,_0", "_1,_15,_32,_0", "does not have the modes V, M, N, K"),
        ("_1,_16,_32,_0", "_2,_16,_32,_0", "does not have the modes V, M, N, K"),
        ("(_,_,_)", "_", "it is not a tile"),
        ("_16:_1\n", "_16\n", "it is not a layout"),
        ("(_8,_32))", "(_8,_33))", "other layouts than those printed"),
        ("_8,_16,_16", "_8,_16,_32", "other layouts than those printed"),
    ],
)
def test_a_slip_in_a_print_is_refused(old: str, new: str, says: str) -> None:
    assert PRINT.count(old) >= 1
    with pytest.raises(cx.CuteError, match=says) as refusal:
        cx.from_cute(PRINT.replace(old, new, 1), op=OP)
    assert "line " in str(refusal.value)


def test_layouts_of_no_atom_are_refused() -> None:
    text = PRINT.replace("(_8,_32))", "(_8,_33))")
    with pytest.raises(cx.CuteError, match="no MMA atom of the catalogue has these layouts"):
        cx.from_cute(text)


def test_options_that_a_text_does_not_take_are_refused() -> None:
    with pytest.raises(cx.InputError, match="leave value_type out"):
        cx.from_cute("Layout<_8>", value_type="f16")
    with pytest.raises(cx.InputError, match="neither op nor value_type"):
        cx.from_cute("8:1", op=OP)
    with pytest.raises(cx.InputError, match="an MMA has its types in its operation"):
        cx.from_cute(PRINT, op=OP, value_type="f16")
    with pytest.raises(cx.InputError, match="text is of type int"):
        cx.from_cute(8)


def test_deep_nesting_is_refused() -> None:
    for text in ("Shape<" * 99 + "_8" + ">" * 99, "(" * 99 + "8" + ")" * 99):
        with pytest.raises(cx.InputError, match="brackets nest more than 60 levels deep"):
            cx.from_cute(text)


RIGHT = (
    "TiledMMA<MMA_Atom<XE_DPAS_TT<8,float,bfloat16_t>>,Layout<Shape<_8,_4,_1>>,Tile<_64,_64,_32>>",
    "TiledCopy<Copy_Atom<XE_LOAD_2D<16,8,16>,f16>,Layout<Shape<_16,_8>,Stride<_8,_1>>,Shape<_8,_16>>",
    "Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,2),_64):((_64,1@0),_1)",
    PRINT,
)


@given(
    st.sampled_from(RIGHT), st.integers(0, 200), st.integers(0, 9), st.text("<>,:_(1@o", max_size=2)
)
def test_nothing_but_values_and_refusals(text: str, at: int, cut: int, put: str) -> None:
    """A damaged text is a value or a refusal of the library, never another exception."""
    damaged = text[:at] + put + text[at + cut :]
    with suppress(cx.CuteError):  # most are refused, some stay values
        cx.from_cute(damaged, op=OP if text is PRINT else None)
