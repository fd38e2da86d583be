"""Random compositions of atoms, grids, permutations, orders and types.

Parts are read through the partitions of every work-item; products come from the machine, which
executes messages, reorders and DPAS byte by byte and shares no formula with the tilings: exact sums
of random integers are right only where each operand holds the tile's data.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from sampling import WHOLE

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype, table
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel, Load, Store

SUMS = {"bf16": "f32", "f16": "f32", "tf32": "f32", "s8": "s32", "u8": "s32", "s4": "s32"}
COUNT = 500 if WHOLE else 8
MAKERS = {"A": cx.make_tiled_copy_A, "B": cx.make_tiled_copy_B, "C": cx.make_tiled_copy_C}


@dataclass(frozen=True)
class Composition:
    """A tiled MMA of a type, and the kernel of one tile that multiplies by it."""

    kind: str
    mma: cx.TiledMma
    kernel: Kernel


def _permuted(draw: st.DrawFn, atom: int, grid: int, times: int) -> Any:
    """Subgroups in turn, each with its share in one piece, or repetitions before subgroups."""
    return draw(
        st.sampled_from(
            (
                atom * grid * times,
                cx.Layout((atom, grid, times), (1, atom * times, atom)),
                cx.Layout((atom, grid * times), (1, atom)),
            )
        )
    )


@st.composite
def compositions(draw: st.DrawFn) -> Composition:
    kind = draw(st.sampled_from(sorted(SUMS)))
    op = cx.XE_DPAS_TT(draw(st.sampled_from((2, 4, 8, 8))), SUMS[kind], kind)
    m, n = draw(st.sampled_from(((1, 1), (1, 2), (2, 1), (2, 2), (4, 1))))
    grid = cx.Layout((m, n, 1), draw(st.sampled_from(((n, 1, 0), (1, m, 0)))))
    atom = cx.make_mma_atom(op).shape_mnk
    times = [draw(st.sampled_from((1, 2))) for _ in range(3)]
    permutation = (
        _permuted(draw, atom[0], m, times[0]),
        _permuted(draw, atom[1], n, times[1]),
        atom[2] * times[2],
    )
    orders = [draw(st.sampled_from(("row", "col"))) for _ in range(2)]
    try:
        mma = cx.make_tiled_mma(op, grid, permutation)
        kernel = cx.kernel.gemm(mma, *orders)
    except CuteError:
        assume(False)
        raise
    return Composition(kind, mma, kernel)


def elements(part: Any) -> list[int]:
    return (part.base + table(part.layout).reshape(-1)).tolist()


def covered_once(parts: list[list[int]], tile: tuple[int, ...], needed: int) -> None:
    """Each subgroup holds what it holds once; each element is with as many as need it."""
    whole: Counter[int] = Counter()
    for first in range(0, len(parts), 16):
        held = [place for part in parts[first : first + 16] for place in part]
        assert len(set(held)) == len(held)
        whole.update(held)
    assert sorted(whole) == list(range(tile[0] * tile[1]))
    assert set(whole.values()) == {needed}


def of_subgroup(parts: list[list[int]], first: int) -> list[int]:
    return sorted(place for part in parts[first : first + 16] for place in part)


@settings(max_examples=COUNT)
@given(compositions(), st.sampled_from(("A", "B", "C")))
@pytest.mark.long
def test_work_items_cover_a_tile_once_for_each_subgroup_that_needs_it(
    made: Composition, operand: str
) -> None:
    mma = made.mma
    m, n, _ = (cx.size(mode) for mode in mma.atom_layout_mnk)
    needed, tile = {"A": n, "B": m, "C": 1}[operand], mma.operand_tile(operand)
    places = cx.make_tensor(None, cx.Layout(tile))
    slices = [mma.get_slice(t) for t in range(mma.size)]
    parts = [elements(getattr(one, f"partition_{operand}")(places)) for one in slices]
    covered_once(parts, tile, needed)
    moving = [s for s in made.kernel.statements() if isinstance(s, (Load, Store))]
    copy = next(s.copy for s in moving if s.operand == operand.replace("C", "D"))
    side = "partition_S" if operand == "C" else "partition_D"
    moved = [elements(getattr(copy.get_slice(t), side)(places)) for t in range(mma.size)]
    covered_once(moved, tile, needed)
    for first in range(0, mma.size, 16):  # a subgroup copies what it multiplies
        assert of_subgroup(parts, first) == of_subgroup(moved, first)


@settings(max_examples=COUNT)
@given(compositions(), st.integers(0, 63), st.sampled_from(("A", "B", "C")))
def test_retile_after_partition_is_the_partition_of_the_copy(
    made: Composition, thread: int, operand: str
) -> None:
    mma, bits = made.mma, 32 if operand == "C" else cx.as_numeric(made.kind).bits
    if bits < 8:
        return
    copy = MAKERS[operand](cx.get_atom(f"UniversalCopy<u{bits}>", f"u{bits}"), mma)
    places = cx.make_identity_tensor(mma.operand_tile(operand))
    mine, moving = mma.get_slice(thread % mma.size), copy.get_slice(thread % mma.size)
    held = getattr(mine, f"partition_{operand}")(places)
    registers = getattr(mine, f"partition_fragment_{operand}")(places)
    where = {registers(i): i for i in range(cx.size(registers.layout))}
    for seen, parted in (
        (moving.retile_S(registers), moving.partition_S(places)),
        (moving.retile_D(registers), moving.partition_D(places)),
    ):
        assert [held(where[seen(i)]) for i in range(cx.size(seen.layout))] == [
            parted(i) for i in range(cx.size(parted.layout))
        ]


@settings(max_examples=COUNT)
@given(compositions(), st.integers(0, 1 << 30))
def test_operands_hold_the_data_of_the_tile_on_the_machine(made: Composition, seed: int) -> None:
    m, n, k = made.mma.tile_mnk
    rng = np.random.default_rng(seed)
    numeric = cx.as_numeric(made.kind)
    low = 0 if numeric.kind == "unsigned" else -7
    a, b = rng.integers(low, 8, (m, k)), rng.integers(low, 8, (k, n))
    dtype = np.float32 if made.kind == "tf32" else numpy_dtype(numeric)
    found = cx.run(made.kernel, a.astype(dtype), b.astype(dtype), executor="reference")
    assert np.array_equal(np.asarray(found).astype(np.int64), a @ b)
