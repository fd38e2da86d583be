"""How far indices reach: messages take coordinates, and programs compute indices, of 32 bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from pycute_xe.kernel.index import SUBGROUP_INDEX, Index, Looked, Quotient
from pycute_xe.kernel.ir.program import Program
from pycute_xe.kernel.ir.statements import Loop, Statement

__all__ = ["LEAST", "MOST", "Reach", "farthest_entry", "reaches", "too_far"]

LEAST, MOST = -(1 << 31), (1 << 31) - 1
LONGEST = 1 << 24
"""Surfaces have no longer extent."""

Span: TypeAlias = tuple[int, int]


class Reach(NamedTuple):
    """An integer that the hardware holds in 32 bits: where it stands, and its least and most."""

    where: str
    least: int
    most: int

    @property
    def fits(self) -> bool:
        """Whether 32 bits with a sign hold it."""
        return self.least >= LEAST and self.most <= MOST

    @property
    def farthest(self) -> int:
        """The end that 32 bits do not hold, if one does not fit."""
        return self.least if self.least < LEAST else self.most

    def __str__(self) -> str:
        """Where it stands, and how far it reaches."""
        return f"{self.where} reaches {self.farthest}"


def too_far(kernel: Program) -> Reach | None:
    """Return the first index that 32 bits do not hold; None where all fit."""
    return next((one for one in reaches(kernel) if not one.fits), None)


def reaches(kernel: Program) -> Iterator[Reach]:
    """Yield how far each index reaches: its own integers, and the coordinates of messages.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> too_far(gemm) is None
    True
    """
    for operand in kernel.operands:
        for mode in operand.modes:
            yield from _constants(f"the extent {mode} of {operand.name}", mode)
    spans = _sizes(kernel)
    for name, count in kernel.grid:
        yield from _constants(f"the grid of {name}", count)
        spans[name] = _counted(0, _span(count, spans))
    spans[SUBGROUP_INDEX] = (0, kernel.subgroups - 1)
    yield from _within(kernel.body, spans)


def _within(body: tuple[Statement, ...], spans: Mapping[str, Span | None]) -> Iterator[Reach]:
    """Yield how far the indices of statements reach, in bodies with the spans of their loops."""
    for statement in body:
        word = type(statement).__name__
        touched = statement.touched
        for index in touched.indices:
            yield from _constants(f"the index {index} of {word}", index)
        if (memory := touched.memory) is not None:
            for index in memory.at:
                span = _span(index, spans)
                if span is not None:
                    yield Reach(f"{word} {memory.operand} at {index}", *span)
        inside: Mapping[str, Span | None] = spans
        if isinstance(statement, Loop):
            start, stop = _span(statement.start, spans), _span(statement.stop, spans)
            inside = {**spans, statement.var: _counted(start and start[0], stop)}
        yield from _within(getattr(statement, "body", ()), inside)


def _constants(where: str, index: Index) -> Iterator[Reach]:
    """Yield the integers that an index is written with."""
    for number in _integers(index):
        yield Reach(where, number, number)


def _integers(index: Index) -> Iterator[int]:
    yield index.offset
    for atom, factor in index.terms:
        yield factor
        match atom:
            case Quotient(inner, divisor):
                yield divisor
                yield from _integers(inner)
            case Looked(_, at):
                for inner in at:
                    yield from _integers(inner)
            case str():
                pass


def _sizes(kernel: Program) -> dict[str, Span | None]:
    """Return the least and most of each size: no extent that it is a part of is longer."""
    out: dict[str, Span | None] = dict.fromkeys(kernel.sizes, (1, LONGEST))
    for operand in kernel.operands:
        for mode in operand.modes:
            if len(mode.terms) == 1 and isinstance(name := mode.terms[0][0], str):
                factor = mode.terms[0][1]
                most = (LONGEST - mode.offset) // factor if factor > 0 else LONGEST
                _, known = out.get(name) or (1, LONGEST)
                out[name] = (1, max(1, min(known, most)))
    return out


def _counted(start: int | None, stop: Span | None) -> Span | None:
    """Return the span of a variable that counts from a start to a stop."""
    return None if start is None or stop is None else (start, max(start, stop[1] - 1))


def _span(index: Index, spans: Mapping[str, Span | None]) -> Span | None:
    """Return the least and the most that an index is; None where elements of tables decide."""
    least = most = index.offset
    for atom, factor in index.terms:
        span: Span | None
        match atom:
            case Quotient(inner, divisor):
                known = _span(inner, spans)
                span = None if known is None else (known[0] // divisor, known[1] // divisor)
            case Looked():
                span = None
            case str():
                span = spans.get(atom)
        if span is None:
            return None
        ends = sorted((factor * span[0], factor * span[1]))
        least, most = least + ends[0], most + ends[1]
    return least, most


# ------------------------------------------------------------ entries of tables
# Indices of a run are computed in 64 bits. Entries that are near enough to zero never leave these.

ROOM = 1 << 60
"""What sums of multiples of entries stay below: differences of two are integers of 64 bits."""


def farthest_entry(kernel: Program) -> int:
    """Return how far from zero entries of tables may lie, so that 64 bits hold every index.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> farthest_entry(gemm) == 2**60  # no entry stands in an index
    True
    """
    gains = {name: _gain(count, {}) for name, count in kernel.grid}
    return ROOM // max((1, *gains.values(), _greatest(kernel.body, gains)))


def _greatest(body: tuple[Statement, ...], gains: Mapping[str, int]) -> int:
    """Return by how much an index of some statements multiplies an entry at most."""
    most = 0
    for statement in body:
        own = [_gain(index, gains) for index in statement.touched.indices]
        here = {**gains, statement.var: max(own)} if isinstance(statement, Loop) else gains
        most = max(most, *own, _greatest(getattr(statement, "body", ()), here))
    return most


def _gain(index: Index, gains: Mapping[str, int]) -> int:
    """Return by how much an index multiplies entries, those in its names with them.

    A quotient is computed after what it divides, an entry after its place.
    """
    out = 0
    for atom, factor in index.terms:
        match atom:
            case Quotient(inner, _):
                out += abs(factor) * _gain(inner, gains)
            case Looked(_, at):
                out += max((abs(factor), *(_gain(inner, gains) for inner in at)))
            case str():
                out += abs(factor) * gains.get(atom, 0)
    return out
