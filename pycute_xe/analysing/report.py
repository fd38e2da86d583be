"""`analysis`, the verb: one report of what a layout costs where it is accessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycute_xe.analysing.accesses import (
    Access,
    AnyLayout,
    Machine,
    accesses,
    machine,
    offsets_of,
    turns_of,
)
from pycute_xe.analysing.places import (
    Aliasing,
    Footprint,
    Permutation,
    aliasing,
    blocks_of,
    footprint,
    permutation,
    run_length,
)
from pycute_xe.analysing.searching import searched
from pycute_xe.errors import InputError, plural, quoted, with_article
from pycute_xe.int_tuple import product, rank_of
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import glance, is_tuple, shown

__all__ = ["Analysis", "analysis"]


@dataclass(frozen=True, repr=False)
class Analysis:
    """What a layout costs where subgroups access it. Made by `analysis`.

    ``accesses`` has each access of each subgroup; ``footprint``, ``aliasing`` and ``permutation``
    look at all offsets together, the last is ``None`` for a layout that is not a permutation.
    ``by_mode`` says for each mode how many of its elements from the start lie one behind the other,
    ``contiguous`` the same for the whole layout, ``widest`` how many elements (a power of two)
    every aligned vector access may move. Offsets count from the lowest one where some are negative.
    """

    layout: AnyLayout
    machine: Machine
    accesses: tuple[Access, ...]
    footprint: Footprint
    aliasing: Aliasing
    by_mode: tuple[int, ...]
    contiguous: int
    widest: int
    permutation: Permutation | None

    _repr_mimebundle_ = shown

    @property
    def turns(self) -> int:
        """Turns of the banks over all accesses, 0 without banks."""
        return sum(access.turns for access in self.accesses)

    @property
    def lost(self) -> int:
        """Turns lost to bank conflicts over all accesses."""
        return sum(access.lost for access in self.accesses)

    @property
    def worst(self) -> int:
        """Turns of the slowest access."""
        return max(access.turns for access in self.accesses)

    @property
    def segments(self) -> int:
        """Segments moved over all accesses."""
        return sum(access.segments for access in self.accesses)

    @property
    def efficiency(self) -> float:
        """Bytes asked for, each once in an access, over bytes of the segments moved."""
        asked = sum(access.distinct for access in self.accesses) * self.machine.bits
        return asked / (8 * self.machine.segment * self.segments)

    @property
    def subgroups(self) -> tuple[tuple[int, int, int], ...]:
        """For each subgroup: turns, turns lost and segments of its accesses."""
        out: dict[int, tuple[int, int, int]] = {}
        for a in self.accesses:
            turns, lost, segments = out.get(a.subgroup, (0, 0, 0))
            out[a.subgroup] = (turns + a.turns, lost + a.lost, segments + a.segments)
        return tuple(out.values())

    @property
    def swizzle(self) -> Swizzle | None:
        """The swizzle that costs the fewest turns, where turns are lost and one helps.

        A layout that is already swizzled gets none, and neither does one without banks.
        """
        if not self.lost or not isinstance(self.layout, Layout):
            return None
        return searched((self.layout,), self.machine)

    def __repr__(self) -> str:
        """The kind and the first line of the text."""
        return glance(self)

    def __str__(self) -> str:
        """What is asked, then one line for each answer."""
        return "\n".join([f"{self.layout}", *(f"  {name:<13}{text}" for name, text in self.rows())])

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return the lines of the text: a name and an answer each."""
        on = self.machine
        rows = [("accesses", self._asked())]
        if on.banks is not None:
            rows.append(("banks", self._banks_text()))
            if self.lost:
                rows.append(("swizzle", self._swizzle_text()))
        percent = f"{100 * self.efficiency:.4g} % of their bytes asked for"
        rows.append(("segments", f"{self.segments} of {on.segment} bytes, {percent}"))
        if len(self.subgroups) > 1:
            rows.append(("subgroups", self._subgroups_text()))
        rows.append(("contiguous", self._contiguous_text()))
        rows.append(("footprint", self._footprint_text()))
        rows.append(("aliasing", self._aliasing_text()))
        rows.append(("permutation", self._permutation_text()))
        return tuple(rows)

    def _asked(self) -> str:
        on = self.machine
        each = f"{plural(on.vector, 'element')} of {plural(on.bits, 'bit')}"
        subgroups = plural(len(self.subgroups), "subgroup")
        return f"{len(self.accesses)} of {subgroups} of {on.lanes}, {each} for each lane"

    def _banks_text(self) -> str:
        count, width = self.machine.banks or (0, 0)
        lost = f"{self.lost} lost" if self.lost else "none lost"
        turns = plural(self.turns, "turn")
        return f"{turns} of {count} banks of {width} bytes, {lost}, at most {self.worst} an access"

    def _swizzle_text(self) -> str:
        if not isinstance(self.layout, Layout):
            return "it is swizzled already"
        best = self.swizzle
        if best is None:
            return "none takes fewer turns"
        on = self.machine
        turns = _swizzled_turns(self.accesses, best, on)
        return f"{best} takes {plural(turns, 'turn')}"

    def _subgroups_text(self) -> str:
        few = self.subgroups[:4]
        more = ", …" if len(self.subgroups) > len(few) else ""
        if len(set(self.subgroups)) == 1:
            few, more = few[:1], " each"
        shape = "{2} segments" if self.machine.banks is None else "{0} turns, {2} segments"
        return "; ".join(shape.format(*row) for row in few) + more

    def _contiguous_text(self) -> str:
        modes = ", ".join(map(str, self.by_mode))
        return f"{self.contiguous} from the start, {self.widest} everywhere, by mode {modes}"

    def _footprint_text(self) -> str:
        f = self.footprint
        nbytes = -(-f.span * self.machine.bits // 8)
        where = f"offsets {f.first} to {f.last}, {plural(nbytes, 'byte')}"
        if not f.holes:
            return f"{where}, without gaps"
        gaps = f"{plural(len(f.gaps), 'gap')} of at most {max(f.gaps)}"
        return f"{where}, {f.holes} elements of it in {gaps}"

    def _aliasing_text(self) -> str:
        if not self.aliasing.any:
            return "none"
        shared = f"{self.aliasing.shared} of {self.footprint.distinct} offsets"
        return f"{shared} are shared, one by {self.aliasing.most} coordinates"

    def _permutation_text(self) -> str:
        p = self.permutation
        if p is None:
            return "it is not one: offsets " + ("repeat" if self.aliasing.any else "leave gaps")
        parity = "even" if p.parity == 1 else "odd"
        fixed = plural(len(p.fixed_points), "fixed point")
        return f"{plural(len(p.cycles), 'cycle')}, {fixed}, order {p.order}, {parity}"


def _swizzled_turns(all_: tuple[Access, ...], swizzle: Swizzle, on: Machine) -> int:
    return sum(turns_of(tuple(map(swizzle, access.offsets)), on) for access in all_)


@typed
def analysis(
    layout: AnyLayout,
    *,
    bits: int = 16,
    lanes: int = 16,
    vector: int = 1,
    segment: int = 64,
    banks: Any = None,
) -> Analysis:
    """Return what a layout costs where subgroups of ``lanes`` work-items access it.

    Work-items are the first mode, or all of a layout of one mode; the other modes are the values
    of a work-item, of which an access moves ``vector``. Elements have ``bits`` bits, memory moves
    segments of ``segment`` bytes, ``banks`` is ``(count, width in bytes)``, or what
    `arch.banks` gives for a target, and leaving it out leaves banks out. Law: every figure is what
    counting over all coordinates gives; equal words of an access count once. Raises `ShapeError`
    for sizes below 1, for basis strides and symbols and for more than 2**20 coordinates,
    `InputError` for what is not a layout. Counterpart: the ``analysis`` module of tensor-layouts.

    >>> report = analysis(Layout((16, 2), (64, 1)), bits=32, banks=(16, 4))
    >>> report.turns, report.lost, report.swizzle
    (32, 30, Swizzle(4, 0, 6))
    >>> print(analysis(Layout((3, 2), (2, 1)), bits=32, lanes=3))
    (3,2):(2,1)
      accesses     2 of 1 subgroup of 3, 1 element of 32 bits for each lane
      segments     2 of 64 bytes, 18.75 % of their bytes asked for
      contiguous   1 from the start, 1 everywhere, by mode 1, 2
      footprint    offsets 0 to 5, 24 bytes, without gaps
      aliasing     none
      permutation  3 cycles, 2 fixed points, order 4, odd
    """
    if not callable(layout) or not hasattr(layout, "shape"):
        raise InputError(
            "analysis",
            {"layout": quoted(layout)},
            f"{with_article(type(layout).__name__)} is not a layout",
            "give a Layout, a ComposedLayout or an F2Layout",
        )
    on = machine(bits, lanes, vector, segment, banks)
    offsets = offsets_of(layout)
    return Analysis(
        layout,
        on,
        accesses(layout, on),
        footprint(offsets),
        aliasing(offsets),
        tuple(map(run_length, _along_modes(layout, offsets))),
        run_length(offsets),
        blocks_of(offsets),
        permutation(offsets),
    )


def _along_modes(layout: AnyLayout, offsets: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the offsets along each mode, the others at 0."""
    shape = layout.shape
    out: list[tuple[int, ...]] = []
    step = 1
    for extent in map(product, shape if is_tuple(shape) and rank_of(shape) else (shape,)):
        out.append(offsets[: step * extent : step])
        step *= extent
    return out
