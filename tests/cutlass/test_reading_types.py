"""C++ types are read as values, and what values print as C++ types is read back."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from every import every
from hypothesis import given, strategies as st
from strategies import coordinate_layouts, layouts

import pycute_xe as cx
from pycute_xe.atom import LinearCopyAtom
from pycute_xe.cutlass import LegacyCopyAtom, catalogue
from pycute_xe.numeric import numerics

BF16 = cx.XE_DPAS_TT(8, "f32", "bf16")
MMA = cx.workgroup_mma(BF16, (256, 256, 32), ((8, 4, 1), (4, 1, 0)))

WRITTEN: dict[str, Any] = {
    "Layout<Shape<_8,_4,_1>,Stride<_4,_1,_0>>": cx.Layout((8, 4, 1), (4, 1, 0)),
    "Layout<Shape<_8, Shape<Int<33>, C<5>>>>{};": cx.Layout((8, (33, 5))),
    "cute::Layout<cute::tuple<cute::C<8>,cute::constant<int, 3>>,\n"
    "  cute::tuple<cute::E<1>,cute::ScaledBasis<cute::C<2>, 0>>>": cx.Layout(
        (8, 3), (cx.E(1), 2 * cx.E(0))
    ),
    "Layout<_32>": cx.Layout(32),
    "Layout<Shape<_4>, Stride<Int<-1>>>": cx.Layout((4,), (-1,)),
    "cutlass::bfloat16_t": cx.as_numeric("bf16"),
    "uint4_t": cx.as_numeric("u4"),
    "cutlass::integer_subbyte<4, 1>": cx.as_numeric("s4"),
    "const unsigned char&": cx.as_numeric("u8"),
    "Swizzle<3,4,3>": cx.Swizzle(3, 4, 3),
    "Swizzle<2,4>": cx.Swizzle(2, 4, 2),
    "ComposedLayout<Swizzle<1,1,1>, _0, Layout<_8>>": cx.ComposedLayout(
        cx.Swizzle(1, 1, 1), 0, cx.Layout(8)
    ),
    "XE_DPAS_TT<8,float,half_t>": cx.XE_DPAS_TT(8, "f32", "f16"),
    "MMA_Atom<cute::XE_DPAS_TT<8, int32_t, int8_t, uint8_t>>": cx.make_mma_atom(
        cx.XE_DPAS_TT(8, "s32", "s8", "u8")
    ),
    "MMA_Atom<MMA_Traits<XE_8x16x16_F32BF16BF16F32_TT>>": cx.get_atom(
        "XE_8x16x16_F32BF16BF16F32_TT"
    ),
    "TiledMMA<MMA_Atom<XE_DPAS_TT<8,float,bfloat16_t>>, Layout<Shape<_2,_2,_1>>>": (
        cx.make_tiled_mma(BF16, (2, 2, 1))
    ),
    "TiledMMA<MMA_Atom<XE_DPAS_TT<8,float,bfloat16_t>>, Layout<Shape<_2,_2,_1>>,"
    "Tile<_32,Layout<Shape<_16,_2>,Stride<_1,_32>>,Underscore>>": cx.make_tiled_mma(
        BF16, (2, 2, 1), (32, cx.Layout((16, 2), (1, 32)), None)
    ),
    "using TileShape = Shape<_256, _256, _32>;  // of a work-group\n"
    "using Mma = typename TiledMMAHelper<MMA_Atom<XE_DPAS_TT<8, float, cute::bfloat16_t>>,\n"
    "  Layout<TileShape>, Layout<Shape<_8, _4, _1>, Stride<_4, _1, _0>>>::TiledMMA;": MMA,
    "Copy_Atom<XE_LOAD_2D<16,32,32,16>, bfloat16_t>": cx.make_copy_atom(
        cx.XE_LOAD_2D(16, 32, 32, 16), "bf16"
    ),
    "Copy_Atom<Copy_Traits<XE_2D_U16x32x32_LD_N>, half_t>": cx.get_atom(
        "XE_2D_U16x32x32_LD_N", "f16"
    ),
    "Copy_Atom<Copy_Traits<XE_2D_U16x16x16_LD_T, Stride<_1, int64_t, int64_t>>, half_t>": (
        cx.get_atom("XE_2D_U16x16x16_LD_T", "f16", (1, "ld"))
    ),
    "Copy_Atom<XE_1D_LDSM<uint32_t, uint128_t>, float>": cx.make_copy_atom(
        cx.XE_1D_LDSM("u32", "u128"), "f32"
    ),
    "XE_PREFETCH_2D<16,8,32,32>": cx.XE_PREFETCH_2D(16, 8, 32),
}


@every("text", WRITTEN)
def test_types_as_programmers_and_compilers_write_them(text: str) -> None:
    assert cx.from_cute(text) == WRITTEN[text]


@given(layouts(negative=True))
def test_a_layout_comes_back_from_its_type_and_its_print(layout: cx.Layout) -> None:
    assert cx.from_cute(layout.to_cpp()) == layout
    assert cx.from_cute(str(layout)) == layout


@given(st.data())
def test_a_layout_of_coordinates_comes_back(data: st.DataObject) -> None:
    layout = data.draw(coordinate_layouts((4, (2, 3))))
    assert cx.from_cute(layout.to_cpp()) == layout
    assert cx.from_cute(str(layout)) == layout


@given(layouts(), st.integers(0, 4), st.integers(0, 4), st.integers(0, 99))
def test_a_swizzled_layout_comes_back(layout: cx.Layout, bits: int, base: int, at: int) -> None:
    for shift in (bits, -bits - 1):
        swizzle = cx.Swizzle(bits, base, shift)
        composed = cx.ComposedLayout(swizzle, at, layout)
        assert cx.from_cute(swizzle.to_cpp()) == cx.from_cute(str(swizzle)) == swizzle
        assert cx.from_cute(composed.to_cpp()) == cx.from_cute(str(composed)) == composed


@pytest.mark.long
def test_every_atom_of_the_catalogue_comes_back() -> None:
    for name in catalogue():
        atom: Any = cx.get_atom(name)
        assert cx.from_cute(atom.to_cpp()) == atom
        if isinstance(atom, LegacyCopyAtom):
            turned = replace(atom, m_major=True)
            assert cx.from_cute(turned.to_cpp()) == turned
        elif isinstance(atom, LinearCopyAtom):
            assert cx.from_cute(atom.op.to_cpp()) == atom.op


def test_every_type_comes_back() -> None:
    for name in (*numerics(), "u128", "u256", "u512"):
        found = cx.as_numeric(name)
        assert cx.from_cute(found.to_cpp()) == found
        assert cx.from_cute(f"cutlass::{found.to_cpp()}") == found


DPAS = st.sampled_from([("f32", "tf32"), ("f32", "bf16"), ("f16", "f16"), ("s32", "s8")])


@given(
    DPAS,
    st.sampled_from([1, 2, 4, 8]),
    st.tuples(*[st.sampled_from([1, 2, 4])] * 2),
    st.tuples(*[st.sampled_from([1, 2, 3])] * 3),
    st.sampled_from(["row", "col"]),
)
def test_tilings_come_back(
    types: tuple[str, str],
    m: int,
    grid: tuple[int, int],
    repeats: tuple[int, int, int],
    order: str,
) -> None:
    op = cx.XE_DPAS_TT(m, *types)
    tile = (m * grid[0] * repeats[0], 16 * grid[1] * repeats[1], op.K * repeats[2])
    mma = cx.workgroup_mma(op, tile, ((*grid, 1), (grid[1], 1, 0)))
    assert cx.from_cute(mma.to_cpp()) == mma
    stride = ("ld", 1) if order == "row" else (1, "ld")
    for make in (cx.make_block_2d_copy_A, cx.make_block_2d_copy_B, cx.make_block_2d_copy_D):
        with suppress(cx.DivisibilityError):  # of blocks that do not divide the tile
            _comes_back(make(mma, stride))
        with suppress(cx.DivisibilityError):
            _comes_back(cx.make_block_2d_prefetch(make(mma, stride)))


def _comes_back(copy: cx.TiledCopy) -> None:
    bare = replace(copy, gmem_stride=None, gmem_shape=None)
    assert cx.from_cute(copy.to_cpp()) == bare


def test_a_batched_copy_comes_back() -> None:
    copy = cx.make_block_2d_copy_A(MMA, ("ld", 1, "batch"))
    assert "Stride<_0,_0,int64_t>" in copy.to_cpp()
    assert cx.from_cute(copy.to_cpp()) == replace(copy, gmem_stride=None)
