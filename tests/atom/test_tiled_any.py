"""Tilings of any copy atom: C++'s own results, and the laws of partition and retile."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from sampling import EXAMPLES

import pycute_xe as cx
from pycute_xe.atom.subgroup_tensor import fragment_layout
from pycute_xe.errors import CuteError, DivisibilityError

ROWS = Path(__file__).parents[1] / "data" / "cute_default_tiled_copies.tsv"
MAKERS = {"A": cx.make_tiled_copy_A, "B": cx.make_tiled_copy_B, "C": cx.make_tiled_copy_C}


def nested(value: Any) -> Any:
    return tuple(map(nested, value)) if isinstance(value, list) else value


def test_the_tilings_that_cutlass_makes_of_its_older_copies() -> None:
    """Each work-item of a row of 16 gets what the block has for it."""
    seen = 0
    for line in ROWS.read_text(encoding="utf-8").splitlines()[1:]:
        name, kind, case, block, tile, shape, stride = line.split("\t")
        rows, columns = map(int, block.split("x"))
        strides = (1, "ld") if case.startswith("col") else ("ld", 1)
        atom = cx.get_atom(name, kind, strides)
        values = cx.Layout((rows, -(-columns // 16)))
        copy = cx.make_tiled_copy(atom, cx.Layout((1, 16)), values)
        wanted = cx.Layout(nested(json.loads(shape)), nested(json.loads(stride)))
        assert copy.layout_tv_tiled == wanted, line
        assert copy.tiler_mn == tuple(map(int, tile.split("x"))), line
        seen += 1
    assert seen == 192


@cache
def mma_of(kind: str, k: int, tiled: bool) -> cx.TiledMma:
    op = cx.XE_DPAS_TT(8, "s32" if kind == "s8" else "f32", kind)
    if not tiled:
        return cx.make_tiled_mma(op, (2, 2, 1))
    return cx.workgroup_mma(op, (32, 64, k), ((2, 2, 1), (2, 1, 0)))


MMAS = [("bf16", 32), ("s8", 64), ("tf32", 16)]


@given(
    st.sampled_from(MMAS),
    st.booleans(),
    st.sampled_from("ABC"),
    st.tuples(st.integers(1, 2), st.integers(1, 3)),
    st.integers(0, 63),
    st.sampled_from([1, 2]),
)
def test_retile_after_partition_is_the_copys_partition(
    mma: tuple[str, int], tiled: bool, role: str, times: tuple[int, int], thread: int, values: int
) -> None:
    """What an MMA partitioned and a copy retiles are the elements that the copy partitions."""
    kind, k = mma
    whole = mma_of(kind, k, tiled)
    bits = 32 if role == "C" else cx.as_numeric(kind).bits
    atom = cx.get_atom(f"UniversalCopy<u{bits * values}>", f"u{bits}")
    copy = MAKERS[role](atom, whole)
    assert copy.atom.values == values
    rows, columns = copy.tiler_mn
    places = cx.make_identity_tensor((rows * times[0], columns * times[1]))
    mine, thr = whole.get_slice(thread), copy.get_slice(thread)
    held = getattr(mine, f"partition_{role}")(places)
    registers = getattr(mine, f"partition_fragment_{role}")(places)
    numbers = [registers(i) for i in range(cx.size(registers.layout))]
    assert sorted(numbers) == list(range(cx.size(held.layout)))
    for seen, parted in (
        (thr.retile_S(registers), thr.partition_S(places)),
        (thr.retile_D(registers), thr.partition_D(places)),
    ):
        where = {number: i for i, number in enumerate(numbers)}
        assert cx.size(seen.layout) == cx.size(parted.layout)
        assert (len(seen.layout), cx.size(seen.layout[0][0])) == (3, values)
        assert all(held(where[seen(i)]) == parted(i) for i in range(cx.size(seen.layout)))


@settings(max_examples=max(4, EXAMPLES // 4))
@given(st.integers(0, 31), st.sampled_from(["XE_2D_U16x8x16_LD_N", "XE_2D_U16x16x16_LD_N"]))
@pytest.mark.long
def test_every_element_is_partitioned_to_one_work_item_once(thread: int, name: str) -> None:
    atom = cx.get_atom(name)
    rows = int(name.split("x")[1])
    copy = cx.make_tiled_copy_tv(atom, cx.Layout((2, 16), (16, 1)), cx.Layout((rows, 1)))
    places = cx.make_identity_tensor((4 * rows, 32))
    everybody = [copy.get_slice(t).partition_D(places) for t in range(32)]
    held = [p(i) for p in everybody for i in range(cx.size(p.layout))]
    assert sorted(held) == sorted(places(i) for i in range(128 * rows))
    mine = everybody[thread]
    assert {p[1] % 16 for p in (mine(i) for i in range(cx.size(mine.layout)))} == {thread % 16}


def test_source_and_destination_of_another_copy() -> None:
    atom = cx.get_atom("XE_2D_U16x8x16_LD_N")
    copy = cx.make_tiled_copy(atom, cx.Layout((1, 16)), cx.Layout((8, 1)))
    plain = cx.get_atom("UniversalCopy<u16>")
    kept = cx.make_tiled_copy_D(plain, copy)
    for thread in (0, 7):
        places = cx.make_identity_tensor((8, 16))
        one, other = (c.get_slice(thread).partition_D(places) for c in (copy, kept))
        assert [one(i) for i in range(8)] == [other(i) for i in range(8)]
    # No work-item owns memory: all see the first column.
    seen = (
        cx.make_tiled_copy_S(plain, copy).get_slice(9).partition_S(cx.make_identity_tensor((8, 16)))
    )
    assert [seen(i) for i in range(8)] == [(i, 0) for i in range(8)]


def test_a_tiling_of_an_older_name_is_the_copy_of_a_kernel_that_its_messages_are() -> None:
    atom = cx.get_atom("XE_2D_U16x8x16_LD_N", "bf16")
    copy = cx.make_tiled_copy(atom, cx.Layout((1, 16)), cx.Layout((8, 1)))
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16), ((1, 1, 1), (1, 1, 0)))
    kernel = cx.kernel.gemm(mma, copy_a=copy)
    assert "XE_LOAD_2D<16,8,16>" in str(kernel)
    assert "XE_2D" not in str(kernel)
    linear = cx.make_tiled_copy("XE_1D_LDSM<u16>", cx.Layout((1, 16)), cx.Layout((8, 1)))
    with pytest.raises(CuteError, match="is not a block-2D template"):
        cx.kernel.gemm(mma, copy_a=linear)


def test_slips_are_named() -> None:
    atom: Any = cx.get_atom("XE_2D_U16x8x16_LD_N")
    with pytest.raises(DivisibilityError, match="8 work-items with 16 values each"):
        cx.make_tiled_copy(atom, cx.Layout((1, 8)), cx.Layout((8, 2)))
    with pytest.raises(DivisibilityError, match="does not number each work-item once"):
        cx.make_tiled_copy(atom, cx.Layout((1, 16), (0, 2)), cx.Layout((8, 1)))
    with pytest.raises(CuteError, match="TiledMma"):
        cx.make_tiled_copy_A(atom, atom)
    mma = mma_of("bf16", 32, True)
    copy = cx.make_tiled_copy_A(cx.get_atom("UniversalCopy<u16>"), mma)
    with pytest.raises(DivisibilityError, match="whole repetitions"):
        copy.get_slice(0).retile_S(cx.make_tensor(None, cx.Layout((3, 5))))


def test_registers_hold_a_repeated_value_once() -> None:
    """A copy of what work-items share: strides of 0 in memory stay 0 in the fragment."""
    held = cx.Layout(((4, 2), 3), ((0, 7), 100))
    assert fragment_layout(held) == cx.Layout(((4, 2), 3), ((0, 1), 2))
    assert fragment_layout(cx.Layout((2, 3, 4), (5, 100, 10))) == cx.Layout((2, 3, 4), (1, 8, 2))
