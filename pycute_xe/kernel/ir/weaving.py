"""Operands that are made piece by piece, each just before the DPAS that read it.

A reorder or conversion that moves registers needs room for its whole source and its whole
destination. Where so much does not fit, and the destination is an operand of one multiplication, a
part of it goes round through fewer registers. What is computed, and in which order DPAS add it up,
stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pycute_xe.arch.regions import moves, passes
from pycute_xe.arch.target import get_target, grf_bytes
from pycute_xe.bulk import entries
from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.effects import Elementwise, Product, RegisterMove
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.program import living
from pycute_xe.kernel.ir.statements import If, Loop, Statement

__all__ = ["Woven", "peak", "woven"]

# Registers that fragments leave to payloads, indices and the header of a thread.
_LEFT = 32

Taken: TypeAlias = Callable[[frozenset[str]], int]


@dataclass(frozen=True, slots=True)
class Woven:
    """An operand that is made in pieces, of which some are there at a time, and what makes it.

    ``piece`` counts bytes; ``maps`` change single elements behind the reorder.
    """

    reorder: RegisterMove
    maps: tuple[Elementwise, ...]
    piece: int
    slots: int

    @property
    def bytes(self) -> int:
        """Bytes of registers that it goes round in."""
        return self.piece * self.slots

    def place(self, byte: int) -> int:
        """Return where a byte of the whole lies."""
        return byte // self.piece % self.slots * self.piece + byte % self.piece


def peak(kernel: Kernel, taken: Taken) -> int:
    """Return the most registers that fragments that live at once take."""
    most = 0

    def at(alive: frozenset[str]) -> None:
        nonlocal most
        most = max(most, taken(alive))

    living(kernel.body, frozenset(), at)
    return most


def woven(kernel: Kernel, joined: Mapping[str, object], taken: Taken) -> dict[str, Woven]:
    """Return the operands that are made in pieces, by name; none where whole ones fit."""
    if peak(kernel, taken) <= max(get_target("pvc").grf_modes) - _LEFT:
        return {}
    loops = (s.body for s in kernel.statements() if isinstance(s, (Loop, If)))
    chosen = (
        _woven(kernel, first, move, body[at + 1 :])
        for body in (kernel.body, *loops)
        for at, first in enumerate(body)
        if (move := first.touched.move) is not None
        and move.permutation is not None
        and move.destination not in joined
    )
    return {each.reorder.destination: each for each in chosen if each is not None}


def _woven(
    kernel: Kernel, first: Statement, reorder: RegisterMove, rest: tuple[Statement, ...]
) -> Woven | None:
    """Return how the destination of a reorder is made in pieces, None where it is not.

    Maps of single elements may follow, then one multiplication alone reads it. Until then what
    they read stays as it is.
    """
    name, maps = reorder.destination, list[Elementwise]()
    made, reads = [first], {reorder.source}
    for statement in rest:
        if isinstance(statement, (Loop, If)) or reads & {*_changed(statement)} - {name}:
            return None
        each, product = statement.touched.elementwise, statement.touched.product
        if each is not None and each.destination == name:
            if name in dict(each.gathers):
                return None
            maps.append(each)
            made.append(statement)
            reads |= {*each.sources}
        elif product is not None and name in (product.a, product.b):
            touching = [s for s in kernel.statements() if _touches(s, name)]
            if product.a == product.b or touching != [*made, statement]:
                return None
            return _in_pieces(kernel, reorder, tuple(maps), product)
    return None


def _touches(statement: Statement, name: str) -> bool:
    straight = not isinstance(statement, (Loop, If))
    return straight and name in (*statement.touched.reads, *_changed(statement))


def _changed(statement: Statement) -> tuple[str, ...]:
    return (*statement.touched.writes, *statement.touched.updates)


def _in_pieces(
    kernel: Kernel, reorder: RegisterMove, maps: tuple[Elementwise, ...], mma: Product
) -> Woven | None:
    """Return how many pieces there must be at a time; None if that is all of them."""
    op, is_a = mma.mma.atom.op, reorder.destination == mma.a
    piece = op.bytes_A if is_a else op.bytes_B
    (reps_m, reps_k), reps_n = mma.mma.repetitions("A"), mma.mma.repetitions("B")[0]
    # DPAS go along K, then columns, then rows: all of A's rows are read again for each column.
    least, every = (reps_m, reps_m * reps_k) if is_a else (1, reps_n * reps_k)
    slots = next((s for s in (2 * least, least) if s < every), every)
    try:
        ends = [(a // piece, b // piece) for a, b in _written(kernel, reorder)]
    except KernelError:  # no move does it, in pieces or whole; who needs moves refuses
        return None
    if piece % grf_bytes() or slots == every or not ends or any(a != b for a, b in ends):
        return None
    return Woven(reorder, maps, piece, slots)


def _written(kernel: Kernel, reorder: RegisterMove) -> Iterator[tuple[int, int]]:
    """Yield the first and the last byte that each instruction of a reorder writes."""
    source, to = (kernel.fragment(n).value_type for n in (reorder.source, reorder.destination))
    if reorder.slots is None:
        return
    slots = entries(reorder.slots)
    if source != to:
        for _, into in passes(slots, source.bits, to.bits):
            yield min(into) * to.bits // 8, max(into) * to.bits // 8
        return
    for move in moves(slots, to.bits, kernel.fragment(reorder.destination).elements):
        yield move.to * move.bytes, (move.to + (move.count - 1) * move.stride) * move.bytes
