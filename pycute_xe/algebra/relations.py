"""Questions about a layout as a function, answered mode by mode, never by enumeration."""

from __future__ import annotations

from math import gcd
from typing import Any

from pycute_xe.algebra.compose import flat_modes, joined, merged
from pycute_xe.basis import Basis
from pycute_xe.errors import CuteError, DivisibilityError, ShapeError, UndecidableError
from pycute_xe.int_tuple import product
from pycute_xe.layout import Layout, coshape, has_symbols
from pycute_xe.typing import Mode, at_most, in_order, naming, same

__all__ = [
    "functionally_equal",
    "image",
    "is_bijective",
    "is_contiguous",
    "is_injective",
    "is_surjective",
]

# Steps after which the search for two equal offsets gives up: a fraction of a second.
_BUDGET = 20_000


def functionally_equal(a: Layout, b: Layout) -> bool:
    """Tell whether two layouts have the same size and the same offset for each index.

    Law: ``a(i) == b(i)`` for ``0 <= i < size``, whatever the shapes. Coalescing decides it, since
    no two coalesced layouts are the same function. Counterpart: comparing two ``coalesce`` results.

    >>> functionally_equal(Layout((2, (2, 3))), Layout(12))
    True
    """
    return _known("functionally_equal", merged(flat_modes(a)) == merged(flat_modes(b)), a, b)


@naming
def is_injective(layout: Layout) -> bool:
    """Tell whether no two coordinates have the same offset.

    Law: ``len(set(map(layout, indices))) == size(layout)``. Exact; the cost grows with the modes
    and, for strides that interleave, with how far they overlap. Raises `CuteError` where that
    would take too long. Counterpart: the condition under which CuTe's ``left_inverse`` exists.

    >>> is_injective(Layout((3, 2), (2, 3))), is_injective(Layout((4, 3), (2, 3)))
    (True, False)
    >>> is_injective(Layout((2**20, 2**20), (1, 2**20)))
    True
    """
    if has_symbols(layout):
        return _known("is_injective", _spread(layout), layout)
    groups = _by_mode(layout).values()
    return all(not _Collision(layout, modes).exists() for modes in groups)


@naming
def is_surjective(layout: Layout) -> bool:
    """Tell whether every offset from 0 to ``cosize - 1`` is hit.

    Law: ``set(map(layout, indices)) == set(range(cosize(layout)))``; with basis strides every
    coordinate of `coshape`. Exact, cost grows with the modes only.

    >>> is_surjective(Layout((2, 4), (1, 1))), is_surjective(Layout((2, 4), (1, 3)))
    (True, False)
    """
    filled = all(_fills(modes) for modes in _by_mode(layout).values())
    return _known("is_surjective", filled, layout)


@naming
def is_bijective(layout: Layout) -> bool:
    """Tell whether every offset from 0 to ``cosize - 1`` is hit exactly once.

    Law: both `is_injective` and `is_surjective`. Exact, cost grows with the modes only.

    >>> is_bijective(Layout((4, 8), (8, 1))), is_bijective(Layout((4, 8), (9, 1)))
    (True, False)
    """
    if not is_surjective(layout):
        return False
    extents = product(layout.shape)
    return _known("is_bijective", bool(extents == product(coshape(layout))), layout)


def is_contiguous(layout: Layout) -> bool:
    """Tell whether index ``i`` lies at offset ``i``: no gaps, no repeats, first mode fastest.

    Law: ``layout(i) == i`` for ``0 <= i < size``; the same as coalescing to ``size:1``.

    >>> is_contiguous(Layout((4, 8))), is_contiguous(Layout((4, 8), (8, 1)))
    (True, False)
    """
    modes = merged(flat_modes(layout))
    contiguous = not modes or (len(modes) == 1 and bool(modes[0][1] == 1))
    return _known("is_contiguous", contiguous, layout)


def _known(operation: str, answer: bool, *layouts: Layout) -> bool:
    """Return an answer; with symbols a "no" may be one for some of their values only."""
    if answer or not any(map(has_symbols, layouts)):
        return answer
    raise UndecidableError(
        operation,
        {f"layout {i}" if i else "layout": layout for i, layout in enumerate(layouts)},
        "equality does not hold for all values of the symbols, but may hold for some",
        "substitute numbers, or assume more of the symbols",
        operation,
    )


def _spread(layout: Layout) -> bool:
    """Tell whether each stride is beyond what the smaller ones reach, in each part of the space."""
    for modes in _by_mode(layout).values():
        reach: Any = 0
        for d, s in in_order([(abs(d), s) for s, d in modes if s != 1]):
            if not at_most(reach + 1, d):
                return False
            reach = reach + (s - 1) * d
    return True


@naming
def image(layout: Layout) -> Layout:
    """Return the offsets of a layout as a layout: each once, in increasing order.

    Law: ``list(map(image(L), range(size)))`` is ``sorted(set(map(L, indices)))``. Raises
    `DivisibilityError` where the offsets of modes interleave, so that no layout lists them,
    `ShapeError` for strides that are negative or of a basis. C++: sorting the modes of ``filter``.

    >>> print(image(Layout((2, 4, 3), (8, 0, 1))), image(Layout((4, 3), (1, 2))))
    (3,2):(1,8) 8:1
    """
    out: list[Mode] = []
    reach: Any = 0
    for s, d in sorted(_moving(flat_modes(layout)), key=lambda mode: _order(layout, mode)):
        if out and d % out[-1][1] == 0 and d <= out[-1][0] * out[-1][1]:
            # The next mode continues the grid of the last one, or overlaps it on the grid.
            n, unit = out.pop()
            out.append((n + (s - 1) * (d // unit), unit))
        elif d > reach:
            out.append((s, d))
        else:
            raise DivisibilityError(
                "image",
                {"layout": layout},
                f"the mode {s}:{d} starts before offset {reach}, where the smaller strides end",
                "use strides that divide each other where modes overlap",
            )
        reach += (s - 1) * d
    return joined(out)


def _order(layout: Layout, mode: Mode) -> tuple[Any, Any]:
    if isinstance(mode[1], Basis) or mode[1] < 0:
        raise ShapeError(
            "image",
            {"layout": layout},
            f"stride {mode[1]} is not a positive integer",
            "compose with a layout of the codomain, or reverse the mode",
        )
    return mode[1], mode[0]


def _moving(modes: list[Mode]) -> list[Mode]:
    return [(s, d) for s, d in modes if s != 1 and not same(d, 0)]


def _by_mode(layout: Layout) -> dict[tuple[int, ...], list[Mode]]:
    """Gather the (extent, integer stride) leaves by the part of the codomain they move in."""
    groups: dict[tuple[int, ...], list[Mode]] = {}
    for s, d in flat_modes(layout):
        path, value = (d.modes, d.value) if isinstance(d, Basis) else ((0,), d)
        # E(0, 0) adds to what E(0) adds to: an integer is a coordinate of one mode.
        while len(path) > 1 and path[-1] == 0:
            path = path[:-1]
        groups.setdefault(path, []).append((s, value))
    return groups


def _fills(modes: list[Mode]) -> bool:
    """Tell whether sums of strides leave no gap: each stride at most where the smaller ones end."""
    reach: Any = 1
    for d, s in in_order([(d, s) for s, d in _moving(modes)]):
        if d < 0 or d > reach:
            return False
        reach += (s - 1) * d
    return True


class _Collision:
    """Looks for two coordinates with one offset: a non-zero difference that adds up to zero.

    Differences ``a_k`` run from ``1 - s_k`` to ``s_k - 1``. The search fixes them from the largest
    stride down and keeps to sums that the smaller strides can still cancel.
    """

    def __init__(self, layout: Layout, modes: list[Mode]) -> None:
        self.layout = layout
        self.idle = any(s != 1 and d == 0 for s, d in modes)
        self.modes = sorted(((s, abs(d)) for s, d in _moving(modes)), key=lambda m: m[1])
        self.spans = [0]
        self.steps: list[int] = [0]
        for s, d in self.modes:
            self.spans.append(self.spans[-1] + (s - 1) * d)
            self.steps.append(gcd(self.steps[-1], d))
        self.visited = 0

    def exists(self) -> bool:
        """Answer, quickly where few or far too many offsets make it plain."""
        if self.idle or self._crowded():
            return True
        if all(d > span for (_, d), span in zip(self.modes, self.spans[:-1], strict=True)):
            return False
        if any(self._pair(i, j) for j in range(len(self.modes)) for i in range(j)):
            return True
        return self._cancels(len(self.modes), 0, False)

    def _crowded(self) -> bool:
        """More coordinates than multiples of the common step."""
        count = 1
        for i, (s, _) in enumerate(self.modes):
            count *= s
            if count > self.spans[i + 1] // self.steps[i + 1] + 1:
                return True
        return False

    def _pair(self, i: int, j: int) -> bool:
        (s, d), (t, e) = self.modes[i], self.modes[j]
        common = gcd(d, e)
        return e // common < s and d // common < t

    def _cancels(self, k: int, rest: int, moved: bool) -> bool:
        """Tell whether the ``k`` smallest strides can bring ``rest`` to zero."""
        self.visited += 1
        if self.visited > _BUDGET:
            raise CuteError(
                "is_injective",
                {"layout": self.layout},
                "not decided within the steps allowed",
                "look at the offsets themselves with table",
            )
        if rest == 0 and moved:
            return True
        if k == 0 or (rest and rest % self.steps[k]):
            return False
        s, d = self.modes[k - 1]
        span = self.spans[k - 1]
        # rest + a*d must stay within what the smaller strides can cancel.
        low, high = max(1 - s, -((rest + span) // d)), min(s - 1, (span - rest) // d)
        if not moved:
            low = max(low, 0)  # a difference and its opposite are one
        return any(
            self._cancels(k - 1, rest + a * d, moved or a != 0) for a in range(low, high + 1)
        )
