"""A conversion and the reorder after it: one statement, and the conversion's instructions alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from every import every
from hypothesis import given, strategies as st
from mixed_forms import FORMS, GRID, inputs, made
from sampling import sampled
from visa_reader import instructions

import pycute_xe as cx
from pycute_xe.arch.regions import passes
from pycute_xe.atom import is_identity
from pycute_xe.bulk import table
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Convert, Fragment, Kernel, Reorder
from pycute_xe.kernel.ir.listing import line_in, listing
from pycute_xe.kernel.kinds.parts import in_one_pass
from pycute_xe.layout import Layout

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mixed.md"
TYPES = {
    "8 bits": ("s8", "u8", "f8e4m3", "f8e5m2"),
    "4, 2 bits": ("s4", "u4", "f4e2m1", "s2", "u2"),
    "f16, bf16": ("f16", "bf16"),
    "f32": ("f32",),
}
INTO = {"any": ("bf16", "f16", "tf32", "s8"), "8 bits": ("s8",), "bf16, f16": ("bf16", "f16")}
ACCUMULATORS = {"s8": "s32"}


def kernel_of(multiplied: str, given_: str, side: str, order: Any) -> Kernel:
    accumulator = ACCUMULATORS.get(multiplied, "f32")
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, accumulator, multiplied), (32, 64, 32), GRID)
    orders: Any = {side.lower(): order}
    return cx.kernel.gemm(mma, types={side: given_}, **orders)


def way(kernel: Kernel, side: str) -> str:
    """How an operand gets from where it is loaded to where it is multiplied."""
    kinds = [
        type(s).__name__
        for s in kernel.statements()
        if isinstance(s, (Convert, Reorder))
        and side in s.source
        and not (isinstance(s, Reorder) and is_identity(s.slots))
    ]
    return {"Convert": "in place", "Reorder": "one pass", "Convert Reorder": "two"}[" ".join(kinds)]


def table_of_the_page() -> list[tuple[str, str, str, str, str]]:
    """Type in memory, type multiplied, operand, order, and what the page says."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^\| (.+) → (.+?) \| (.+) \| (.+) \| (.+) \| (.+) \|$", text, re.M)
    out: list[tuple[str, str, str, str, str]] = []
    for held, wanted, *said in found[1:]:  # behind the head
        for one in TYPES[held]:
            for multiplied in INTO.get(wanted, tuple(wanted.split(", "))):
                if one != multiplied:
                    sides = (("A", "row"), ("A", "col"), ("B", "row"), ("B", "col"))
                    out += [(one, multiplied, *at, s) for at, s in zip(sides, said, strict=True)]
    return out


ROWS = table_of_the_page()


def test_the_page_knows_every_pair_of_types() -> None:
    pairs = {(held, wanted) for held, wanted, *_ in ROWS}
    known = [one for kinds in TYPES.values() for one in kinds]
    assert pairs == {
        (a, b) for a in known for b in INTO["any"] if a != b and (a, b) != ("f32", "tf32")
    }


@every(("held", "wanted", "side", "order", "said"), sampled(ROWS, 24))
def test_what_is_converted_in_one_pass_is_what_the_page_says(
    held: str, wanted: str, side: str, order: str, said: str
) -> None:
    assert way(kernel_of(wanted, held, side, order), side) == said


@every("number", [0, 1, 7, 9])
def test_no_move_is_left_of_a_reorder_that_converts(number: int) -> None:
    """As many instructions as a conversion that leaves every element where it is."""
    kernel = made(FORMS[number])
    reorder = next(_converting(kernel))
    assert f"{reorder.source} → {reorder.destination}  converts by" in listing(kernel)
    plain = kernel.replace(reorder, (Convert(reorder.source, reorder.destination),))
    convert = Convert(reorder.source, reorder.destination)
    said = instructions(cx.emit(kernel, "visa"))[line_in(kernel, reorder)]
    alone = instructions(cx.emit(plain, "visa"))[line_in(plain, convert)]
    assert len(said) == len(alone) > 0


def _converting(kernel: Kernel) -> Iterator[Reorder]:
    for s in kernel.statements():
        if isinstance(s, Reorder):
            source, to = (kernel.fragment(n) for n in (s.source, s.destination))
            if source.value_type != to.value_type:
                yield s


def test_registers_are_counted_once() -> None:
    """What is converted to f16 and then reordered took 32 registers more than what does both."""
    kernel = made(FORMS[0])
    two = in_two(kernel)
    assert cx.check(two, "pvc").registers == 112
    assert cx.check(kernel, "pvc").registers == 96


def in_two(kernel: Kernel) -> Kernel:
    """The kernel with a conversion into registers of its own before each reorder that converts."""
    for reorder in _converting(kernel):
        to = kernel.fragment(reorder.destination)
        between = Fragment(f"between_{to.name}", to.value_type, to.slots)
        moved = Reorder(between.name, to.name, reorder.slots)
        more = replace(kernel, fragments=(*kernel.fragments, between))
        kernel = more.replace(reorder, (Convert(reorder.source, between.name), moved))
    return kernel


def test_what_stays_where_it_is_is_converted_alone() -> None:
    kernel = made(FORMS[0])
    slots = Layout(kernel.fragment("tCrC").elements)
    twice = np.arange(32) % 16
    assert [places[0] for places, _ in passes(twice, 8, 16)] == [0, 16]
    assert not in_one_pass(slots, cx.as_numeric("f32"), cx.as_numeric("bf16"))
    assert not in_one_pass(None, cx.as_numeric("f32"), cx.as_numeric("bf16"))
    assert in_one_pass(next(_converting(kernel)).slots, cx.as_numeric("s8"), cx.as_numeric("bf16"))


def test_c_plus_plus_calls_one_reorder() -> None:
    text = cx.emit(made(FORMS[0]), "cute")
    assert "reorder(tBrB, tCrB);" in text
    assert "tBvB" not in text


PERMUTATIONS = st.permutations([2, 4, 8, 2]).flatmap(
    lambda shape: st.permutations(range(4)).map(lambda order: (tuple(shape), tuple(order)))
)


@given(PERMUTATIONS, st.sampled_from([2, 4, 8, 16, 32]), st.sampled_from([8, 16, 32]))
def test_passes_take_every_element_to_its_place(
    layout: tuple[tuple[int, ...], tuple[int, ...]], source: int, target: int
) -> None:
    to = table(cx.make_ordered_layout(*layout)).reshape(-1)
    found = passes(to, source, target)
    if found:
        read = np.concatenate([places for places, _ in found])
        assert np.array_equal(np.sort(read), np.arange(to.size))
    for places, into in found:
        assert np.array_equal(to[places], into)
        assert len(set(np.diff(into))) == 1
        assert int(into[-1] - into[0] + 1) * target <= 2 * 512


def test_a_reorder_that_no_region_converts_is_refused_in_emitted_text() -> None:
    """It is run and proved; of emitted text it says what to write instead."""
    kernel = made(FORMS[10])
    convert = next(s for s in kernel.statements() if isinstance(s, Convert) and s.source == "tBrB")
    reorder = next(
        s for s in kernel.statements() if isinstance(s, Reorder) and s.source == convert.destination
    )
    both = Reorder(convert.source, reorder.destination, reorder.slots)
    fused = kernel.replace(reorder, (both,)).replace(convert, None)
    with pytest.raises(KernelError, match="no region takes 16 elements at a time from tBrB"):
        cx.emit(fused)
    given_ = inputs(kernel, {"M": 9, "N": 72, "K": 70})
    for executor in ("fast", "reference"):
        found = cx.run(fused, **given_, executor=executor)
        assert np.array_equal(found, cx.run(kernel, **given_))
