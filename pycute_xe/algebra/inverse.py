"""Floor 3: complements and inverses, what a layout leaves out and how to undo it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from pycute_xe.algebra.simplify import coalesce, flat_modes, from_modes, merged
from pycute_xe.basis import Basis
from pycute_xe.errors import DivisibilityError, ShapeError
from pycute_xe.int_tuple import compact_col_major, flatten_tuple, product
from pycute_xe.layout import Layout, flatten
from pycute_xe.typing import IntTuple, Mode

__all__ = ["complement", "left_inverse", "nullspace", "right_inverse"]


def _check_integers(operation: str, layout: Layout, modes: list[Mode]) -> None:
    for _, d in modes:
        if (type(d) is not int and isinstance(d, Basis)) or d < 0:
            raise ShapeError(
                operation,
                {"layout": layout},
                f"stride {d} is not a positive integer",
                "compose with a layout of the codomain to get integer offsets first",
            )


def _integer_modes(operation: str, layout: Layout) -> list[Mode]:
    """Return the modes that move, all of positive integer stride."""
    modes = [(s, d) for s, d in flat_modes(layout) if s != 1 and d != 0]
    _check_integers(operation, layout, modes)
    return modes


def complement(layout: Layout, cotarget: IntTuple = 1) -> Layout:
    """Return a layout of the offsets that ``layout`` skips, up to ``cotarget``.

    Law: with ``R = complement(L, n)``: ``cosize(L, R) >= n``, ``R`` is ordered, and
    ``make_layout(L, R)`` is injective where ``L`` is (stride-0 modes aside).
    Raises `DivisibilityError` when ``L`` overlaps itself or leaves uneven gaps.
    C++: ``complement``.

    >>> print(complement(Layout((2, 2), (1, 6)), 24))
    (3,2):(2,12)
    """
    out: list[Mode] = []
    reach: Any = 1
    modes = [(d, s) for s, d in _integer_modes("complement", layout)]
    modes.sort()
    for d, s in modes:
        if d % reach:
            raise DivisibilityError(
                "complement",
                {"layout": layout, "cotarget": cotarget},
                f"stride {d} is not a multiple of {reach}, which the smaller strides span",
                "use a layout whose modes neither overlap nor leave uneven gaps",
            )
        out.append((d // reach, reach))
        reach = d * s
    out.append((-(-product(cotarget) // reach), reach))
    return from_modes(merged(out))


def right_inverse(layout: Layout) -> Layout:
    """Return the longest layout ``R`` of whole modes with ``layout(R(i)) == i``.

    Law: ``layout(R(i)) == i`` for ``0 <= i < size(R)``; where ``layout`` is a compact bijection
    ``R`` is its inverse. Raises `ShapeError` for basis or negative strides. C++:
    ``right_inverse``.

    >>> print(right_inverse(Layout((4, 8), (8, 1))))
    (8,4):(4,1)
    """
    modes = merged(flat_modes(layout))
    _check_integers("right_inverse", layout, modes)
    starts: dict[Any, Mode] = {}
    where: Any = 1
    for s, d in modes:
        if d not in starts or s > starts[d][0]:
            starts[d] = (s, where)
        where = where * s
    out: list[Mode] = []
    reach: Any = 1
    while reach in starts:
        s, at = starts[reach]
        out.append((s, at))
        reach = reach * s
    return from_modes(merged(out))


def left_inverse(layout: Layout) -> Layout:
    """Return a layout ``R`` with ``R(layout(i)) == i``, for an injective layout.

    Law: ``R(layout(i)) == i`` for ``0 <= i < size(layout)``.
    Raises `DivisibilityError` when the layout is not injective with even gaps. C++:
    ``left_inverse``.

    >>> left = left_inverse(Layout((4, 8), (16, 2)))
    >>> [left(Layout((4, 8), (16, 2))(i)) for i in (0, 5, 31)]
    [0, 5, 31]
    """
    modes = _integer_modes("left_inverse", coalesce(layout))
    if len(modes) != len(merged(flat_modes(layout))):
        raise DivisibilityError(
            "left_inverse", {"layout": layout}, "a stride is 0: offsets repeat", "filter it first"
        )
    placed: list[tuple[Any, Any, Any]] = []
    where: Any = 1
    for s, d in modes:
        placed.append((d, s, where))
        where = where * s
    placed.sort()
    # Up to the first stride nothing is hit; from each stride on, its coordinate counts up until
    # the next stride takes over.
    out: list[Mode] = [(placed[0][0], 0)] if placed else []
    for (d, s, at), (following, _, _) in pairwise(placed):
        if following % d or following < d * s:
            raise DivisibilityError(
                "left_inverse",
                {"layout": layout},
                f"stride {following} is not a multiple of {d} beyond its {s} steps",
                "use an injective layout with even gaps",
            )
        out.append((following // d, at))
    out += [(s, at) for _, s, at in placed[-1:]]
    return from_modes(merged(out))


def nullspace(layout: Layout) -> Layout:
    """Return a layout of the coordinates that ``layout`` maps to offset 0.

    Law: ``layout(nullspace(layout)(i)) == 0`` for every ``i``. C++: ``nullspace``.

    >>> print(nullspace(Layout((2, 3, 4), (1, 0, 2))))
    3:2
    """
    flat = flatten(layout)
    where = flatten_tuple(compact_col_major(flat.shape))
    return from_modes((s, at) for (s, d), at in zip(flat_modes(flat), where, strict=True) if d == 0)
