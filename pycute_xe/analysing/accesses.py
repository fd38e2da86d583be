"""Accesses of a subgroup: which elements, in which words of which banks and which segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from pycute_xe.basis import Basis
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import InputError, ShapeError, quoted
from pycute_xe.f2 import F2Layout
from pycute_xe.int_tuple import leaves, product
from pycute_xe.layout import Layout
from pycute_xe.typing import is_tuple

__all__ = [
    "Access",
    "AnyLayout",
    "Machine",
    "accesses",
    "machine",
    "offsets_of",
    "threads_of",
    "turns_of",
]

AnyLayout: TypeAlias = Layout | ComposedLayout | F2Layout

MOST = 1 << 20
"""Coordinates of a layout beyond which it is not enumerated."""


class BankModel(Protocol):
    """Banks that take turns, as `pycute_xe.arch.banks.Banks` describes them."""

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    @property
    def width(self) -> int:
        """Bytes of a word."""
        ...


@dataclass(frozen=True, slots=True)
class Machine:
    """What is asked with: bits of an element, lanes, values of a lane, bytes of a segment, banks.

    ``banks`` are a count and the bytes of a word.

    >>> Machine(16, 16, 1, 64, (16, 4)).units((0, 1, 40), 4)
    {0, 20}
    """

    bits: int
    lanes: int
    vector: int
    segment: int
    banks: tuple[int, int] | None

    def units(self, offsets: Iterable[int], nbytes: int) -> set[int]:
        """Return which units of ``nbytes`` bytes elements at these offsets touch."""
        bits, unit = self.bits, 8 * nbytes
        out: set[int] = set()
        for offset in offsets:
            first, last = offset * bits // unit, ((offset + 1) * bits - 1) // unit
            out.update(range(first, last + 1))
        return out


@dataclass(frozen=True, slots=True)
class Access:
    """What one subgroup asks for at once: each lane's elements, and what they take.

    ``subgroup`` counts subgroups and ``value`` the first value of a lane; ``offsets`` has the
    elements lane by lane. ``words`` are the words asked of each bank that is used, each word once,
    and empty without banks; ``segments`` counts the segments touched, ``least`` the turns that so
    many words take when they are spread evenly.

    >>> access = Access(0, 0, (0, 2, 4, 6), ((0, 2), (2, 2)), 1, 1)
    >>> access.turns, access.lost
    (2, 1)
    """

    subgroup: int
    value: int
    offsets: tuple[int, ...]
    words: tuple[tuple[int, int], ...]
    segments: int
    least: int

    @property
    def turns(self) -> int:
        """Turns of the busiest bank, 0 without banks."""
        return max((count for _, count in self.words), default=0)

    @property
    def lost(self) -> int:
        """Turns beyond an even spread of its words."""
        return self.turns - self.least

    @property
    def distinct(self) -> int:
        """Different elements asked for."""
        return len(set(self.offsets))


def machine(bits: Any, lanes: Any, vector: Any, segment: Any, banks: Any) -> Machine:
    """Return the arguments of `analysis`, checked; `ShapeError` for sizes below 1.

    >>> machine(16, 16, 1, 64, (16, 4)).banks
    (16, 4)
    """
    pair: tuple[int, int] | None = None
    if banks is not None:
        given = banks if is_tuple(banks) else _described(banks)
        if len(given) != 2:
            raise InputError(
                "analysis",
                {"banks": quoted(banks)},
                "banks are a count and a width in bytes",
                "write banks=(16, 4)",
            )
        pair = cast("tuple[int, int]", given)
    sizes = {"bits": bits, "lanes": lanes, "vector": vector, "segment": segment}
    if pair is not None:
        sizes |= {"count of banks": pair[0], "width of a bank": pair[1]}
    for name, value in sizes.items():
        if type(value) is not int or value < 1:
            wrong = f"{name} {quoted(value)} is not a positive integer"
            raise ShapeError("analysis", {name: quoted(value)}, wrong, "use 1 or more")
    return Machine(bits, lanes, vector, segment, pair)


def _described(banks: BankModel) -> tuple[Any, ...]:
    try:
        return banks.count, banks.width
    except AttributeError:
        return ()


def offsets_of(layout: AnyLayout) -> tuple[int, ...]:
    """Return the offset of each index, counted from the lowest one where some are negative.

    Raises `ShapeError` for offsets that are not integers, and for too many of them.

    >>> offsets_of(Layout(4, -1))
    (3, 2, 1, 0)
    """
    if not isinstance(layout, F2Layout):
        plain = layout.layout if isinstance(layout, ComposedLayout) else layout
        for leaf in leaves((plain.shape, plain.stride)):
            if type(leaf) is not int:
                what = "a coordinate" if isinstance(leaf, Basis) else "a symbol"
                fix = (
                    "compose with a layout of the codomain first"
                    if isinstance(leaf, Basis)
                    else "substitute numbers first"
                )
                raise ShapeError(
                    "analysis", {"layout": layout}, f"{what} has no place in memory: {leaf}", fix
                )
    count = product(layout.shape)
    if count > MOST:
        raise ShapeError(
            "analysis",
            {"layout": layout},
            f"{count} coordinates are more than the {MOST} that are looked at one by one",
            "take a tile of it",
        )
    out = tuple(int(layout(i)) for i in range(count))
    lowest = min(out)
    return out if lowest >= 0 else tuple(offset - lowest for offset in out)


def threads_of(layout: AnyLayout) -> int:
    """Return how many work-items a layout has: its first mode, or all of a layout of one mode.

    >>> threads_of(Layout((16, 4))), threads_of(Layout(32))
    (16, 32)
    """
    shape = layout.shape
    return int(product(shape[0] if is_tuple(shape) and shape else shape))


def accesses(layout: AnyLayout, on: Machine) -> tuple[Access, ...]:
    """Return the accesses of all subgroups, those of the first one first.

    Law: access ``(g, v)`` has ``layout(t, u)`` of the lanes ``t`` from ``g * lanes`` up and the
    values ``u`` from ``v`` to ``v + vector - 1``, as far as there are any.

    >>> [a.offsets for a in accesses(Layout((2, 3)), Machine(16, 2, 1, 64, None))]
    [(0, 1), (2, 3), (4, 5)]
    """
    offsets, threads = offsets_of(layout), threads_of(layout)
    values = len(offsets) // threads
    return tuple(
        _access(
            first // on.lanes,
            value,
            tuple(
                offsets[thread + threads * u]
                for thread in range(first, min(first + on.lanes, threads))
                for u in range(value, min(value + on.vector, values))
            ),
            on,
        )
        for first in range(0, threads, on.lanes)
        for value in range(0, values, on.vector)
    )


def _access(subgroup: int, value: int, offsets: tuple[int, ...], on: Machine) -> Access:
    segments = len(on.units(offsets, on.segment))
    if on.banks is None:
        return Access(subgroup, value, offsets, (), segments, 0)
    count, width = on.banks
    words = on.units(offsets, width)
    taken = tuple(sorted(Counter(word % count for word in words).items()))
    return Access(subgroup, value, offsets, taken, segments, -(-len(words) // count))


def turns_of(offsets: tuple[int, ...], on: Machine) -> int:
    """Return the turns that the busiest bank needs for elements at these offsets.

    >>> turns_of((0, 32, 64), Machine(16, 16, 1, 64, (16, 4)))
    3
    """
    return _access(0, 0, offsets, on).turns
