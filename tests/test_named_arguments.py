"""Calls take a name, an operation or an atom alike; tilings of any atom show themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Index, Load, Prefetch, Store

MMA, OP = "XE_DPAS_TT<8,f32,bf16>", cx.XE_DPAS_TT(8, "f32", "bf16")
LOAD, BLOCK = "XE_LOAD_2D<16,8,16>", cx.XE_LOAD_2D(16, 8, 16)
ROW = ("ld", 1)
TILED = cx.workgroup_mma(OP, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))

OF_MMA: dict[str, Callable[[Any], Any]] = {
    "explain": lambda x: str(cx.explain(x)),
    "draw": lambda x: cx.draw(x, "A").svg,
    "feeds": lambda x: cx.feeds(LOAD, x, "A"),
    "diff": lambda x: cx.diff(x, "XE_8x16x16_F32BF16BF16F32_TT", operand="B"),
    "verify": lambda x: [(p.property, p.answer) for p in cx.verify(x).proofs],
    "make_mma_atom": cx.make_mma_atom,
    "make_tiled_mma": cx.make_tiled_mma,
    "workgroup_mma": lambda x: cx.workgroup_mma(x, (32, 64, 32), ((2, 2, 1), (2, 1, 0))),
}
OF_COPY: dict[str, Callable[[Any], Any]] = {
    "explain": lambda x: str(cx.explain(x)),
    "draw": lambda x: cx.draw(x).svg,
    "feeds": lambda x: cx.feeds(x, MMA, "A").kind,
    "diff": lambda x: str(cx.diff(x, "XE_2D_U16x8x16_LD_N")),
    "verify": lambda x: [(p.property, p.answer) for p in cx.verify(x).proofs],
    "run": lambda x: cx.run(x, np.arange(128, dtype=np.uint16).reshape(8, 16)).tolist(),
    "make_copy_atom": lambda x: cx.make_copy_atom(x, "bf16"),
    "make_tiled_copy": lambda x: cx.make_tiled_copy(x, cx.Layout((16, 8), (8, 1)), (8, 16)),
    "make_tiled_copy_A": lambda x: cx.make_tiled_copy_A(x, TILED),
    "make_block_2d_copy": lambda x: cx.make_block_2d_copy(x, ROW, "bf16"),
    "make_block_2d_copy_A": lambda x: cx.make_block_2d_copy_A(TILED, ROW, op=x),
    "gemm": lambda x: cx.kernel.gemm(TILED, copy_a=x),
    "check": lambda x: cx.check(x).errors,
}


@pytest.mark.parametrize("call", OF_MMA)
def test_an_mma_is_given_by_name_operation_or_atom(call: str) -> None:
    found = [OF_MMA[call](x) for x in (MMA, OP, cx.get_atom(MMA))]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("call", OF_COPY)
def test_a_copy_is_given_by_name_operation_or_atom(call: str) -> None:
    found = [OF_COPY[call](x) for x in (LOAD, BLOCK, cx.get_atom(LOAD))]
    assert found[0] == found[1] == found[2]


def test_older_names_are_taken_too() -> None:
    mma = cx.workgroup_mma("XE_8x16x16_F32BF16BF16F32_TT", (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    assert mma.atom == cx.get_atom("XE_8x16x16_F32BF16BF16F32_TT")
    name = "XE_2D_U16x32x16_LD_V"
    assert cx.make_block_2d_copy(name, ROW, "bf16").op == cx.template_of(name)
    assert cx.make_copy_atom(name, "bf16") == cx.get_atom(name, "bf16")
    assert str(cx.explain(name)) == str(cx.explain(cx.get_atom(name)))


@pytest.mark.parametrize("call", [cx.explain, cx.draw, cx.make_mma_atom, cx.check, cx.verify])
def test_a_wrong_name_gets_the_nearest(call: Callable[[Any], Any]) -> None:
    with pytest.raises(CuteError, match=r"did you mean XE_2D_U16x32x16_LD_N"):
        call("XE_2D_U16x32x16_LDN")


def test_names_of_the_other_sort_are_refused_by_name() -> None:
    with pytest.raises(CuteError, match="CopyAtom is not an MMA operation"):
        cx.workgroup_mma(LOAD)
    with pytest.raises(CuteError, match="MmaAtom is not a copy atom"):
        cx.make_tiled_copy(MMA, cx.Layout((16, 8), (8, 1)), (8, 16))
    with pytest.raises(CuteError, match=r"UniversalCopy<u16> is not a block-2D copy"):
        cx.make_block_2d_copy("UniversalCopy<u16>", ROW, "u16")


# ------------------------------------------------------------ tilings of any atom

ANY = {
    "older": ("XE_2D_U16x32x16_LD_N", cx.Layout((1, 16)), cx.Layout((32, 1))),
    "linear": ("XE_1D_LDSM<u32,u128>", cx.Layout((1, 16)), cx.Layout((32, 1))),
    "flat": ("UniversalCopy<u16>", cx.Layout(32), cx.Layout(2)),
}


@pytest.mark.parametrize("kind", ANY)
def test_a_tiling_of_any_atom_shows_itself(kind: str) -> None:
    name, threads, values = ANY[kind]
    copy = cx.make_tiled_copy(name, threads, values)
    assert str(copy).startswith(f"{name} of ")
    assert name in str(cx.check(copy))
    assert copy.to_cpp().startswith("TiledCopy<Copy_Atom<")
    for subgroup in range(copy.num_subgroups):
        (panel,) = cx.draw(copy, subgroup=subgroup).scene.panels
        assert len(panel.cells) == 16 * cx.size(values)
        for cell in panel.cells:
            place = (cell.row, cell.col)[-len(copy.tiler_mn) :]
            data = dict(cell.data)
            owner = cx.atom.Owner(subgroup, data["lane"], data["value"])
            assert owner in copy.owner_of(*place)


@pytest.mark.parametrize("kind", sorted(ANY.keys() - {"older"}))
@pytest.mark.parametrize("statement", [Load, Store, Prefetch])
def test_a_statement_refuses_it_with_a_copy_that_works(kind: str, statement: Any) -> None:
    copy = cx.make_tiled_copy(*ANY[kind])
    rest = ("A", (Index("m"), Index("k")), *["tArA"] * (statement is not Prefetch))
    with pytest.raises(CuteError, match="is not a block-2D template") as refused:
        statement(copy, *rest)
    told = refused.value.fix.removeprefix("use ")
    assert statement(eval(told, vars(cx) | {"XE_LOAD_2D": cx.XE_LOAD_2D}), *rest).copy.block
    with pytest.raises(CuteError, match="is not a block-2D template"):
        cx.kernel.gemm(TILED, copy_a=copy)
