"""The same memory seen through wider or narrower elements."""

from __future__ import annotations

from math import gcd
from typing import Any

from pycute_xe.algebra.compose import flat_modes
from pycute_xe.basis import Basis
from pycute_xe.errors import DivisibilityError, ShapeError, UndecidableError, quoted
from pycute_xe.int_tuple import ceil_div, leaves, unflatten_tuple
from pycute_xe.layout import Layout, as_layout
from pycute_xe.signatures import typed
from pycute_xe.typing import Mode, at_most, same

__all__ = ["downcast", "recast_layout", "upcast"]


@typed
def upcast(layout: Layout, n: int) -> Layout:
    """Return the layout in units ``n`` times as wide: contiguous leaves shrink, strides divide.

    Law: with ``U = upcast(L, n)``: ``U`` of a wide coordinate is ``L // n`` of each element of that
    unit. The last unit of a leaf may be filled in part, as in C++. Raises `DivisibilityError` for
    a stride that neither divides ``n`` nor is a multiple of it, and where elements of one unit
    would lie in two (negative strides below ``n``, leaves that overlap; C++ gives wrong offsets
    there); `ShapeError` for basis strides and an ``n`` that is not a positive integer.
    C++: ``upcast<N>``.

    >>> print(upcast(Layout((8, 8), (8, 1)), 2), upcast(Layout((2, 4), (1, 8)), 4))
    (8,4):(4,1) (1,4):(1,2)
    """
    _check_units("upcast", layout, n)
    try:
        modes = flat_modes(layout)
        _check_whole(layout, n, modes)
        return _nested([_widened(layout, n, s, d) for s, d in modes], layout)
    except UndecidableError as error:
        raise error.within("upcast", {"layout": layout, "n": n}) from None


def _widened(layout: Layout, n: int, s: Any, d: Any) -> Mode:
    if same(d, 0):
        return s, d
    if not d % n:
        return s, d // n
    if n % d:
        raise DivisibilityError(
            "upcast",
            {"layout": layout, "n": n},
            f"the mode {s}:{d} does not step by whole units of {n}",
            f"use a stride that divides {n} or is a multiple of it",
        )
    if d < 0 and s != 1:
        raise DivisibilityError(
            "upcast",
            {"layout": layout, "n": n},
            f"the mode {s}:{d} runs down, so its units of {n} start in the middle of others",
            f"reverse the mode, or use a stride that is a multiple of {n}",
        )
    return ceil_div(s, n // abs(d)), 1 if d > 0 else -1


def _check_whole(layout: Layout, n: int, modes: list[Mode]) -> None:
    """Refuse leaves whose steps within a unit add up to more than the unit."""
    reach: Any = 0
    within = [(s, d) for s, d in modes if s != 1 and not same(d, 0) and d % n]
    for s, d in within if len(within) > 1 else []:
        if d > 0 and not n % d:
            reach = reach + ((n // d if at_most(n // d, s) else s) - 1) * d
    if not at_most(reach, n - 1):
        raise DivisibilityError(
            "upcast",
            {"layout": layout, "n": n},
            f"the strides below {n} together reach {reach} within a unit",
            "use strides below the unit that do not overlap",
        )


@typed
def downcast(layout: Layout, n: int) -> Layout:
    """Return the layout in units ``n`` times as narrow: the stride-1 leaf grows, others scale.

    Law: the ``n`` parts of the element at ``c`` lie at ``n * L(c)`` and the ``n - 1`` units after
    it, and the leaf of stride 1 counts them first; ``upcast(downcast(L, n), n) == L``. Of several
    leaves of stride 1 the first that moves grows (in C++ all of them, which is wrong). Raises
    `DivisibilityError` where no leaf has stride 1, so that no leaf could count the parts;
    `ShapeError` for basis strides and an ``n`` that is not a positive integer.
    C++: ``downcast<N>``.

    >>> print(downcast(Layout((4, 4), (4, 1)), 8))
    (4,32):(32,1)
    >>> downcast(Layout((4, 4), (2, 8)), 2)
    Traceback (most recent call last):
    pycute_xe.errors.DivisibilityError: downcast(layout=(4,4):(2,8), n=2): no mode has stride 1, \
so none can count the 2 parts of an element. Way out: use a layout with a contiguous mode, or add \
a mode 1:1
    """
    _check_units("downcast", layout, n)
    if n == 1:
        return layout
    modes = flat_modes(layout)
    try:
        growing = _growing(modes)
    except UndecidableError as error:
        raise error.within("downcast", {"layout": layout, "n": n}) from None
    if growing is None:
        raise DivisibilityError(
            "downcast",
            {"layout": layout, "n": n},
            f"no mode has stride 1, so none can count the {n} parts of an element",
            "use a layout with a contiguous mode, or add a mode 1:1",
        )
    return _nested(
        [(s * n, d) if i == growing else (s, d * n) for i, (s, d) in enumerate(modes)], layout
    )


def _growing(modes: list[Mode]) -> int | None:
    """Return which leaf of stride 1 counts the parts of an element: the first that moves."""
    units = [i for i, (_, d) in enumerate(modes) if same(d, 1)]
    for i in units if len(units) > 1 else []:
        if not same(modes[i][0], 1):
            return i
    return units[0] if units else None


def _check_units(operation: str, layout: Layout, n: Any) -> None:
    if type(n) is not int or n < 1:
        raise ShapeError(
            operation,
            {"layout": layout, "n": repr(n)},
            f"n is {quoted(n)} ({type(n).__name__}), but it counts elements in a unit",
            "use an integer of 1 or more",
        )
    if any(isinstance(d, Basis) for d in leaves(as_layout(layout).stride)):
        raise ShapeError(
            operation,
            {"layout": layout, "n": n},
            "units are offsets, and basis strides give coordinates",
            "compose with a layout of the codomain to get integer offsets first",
        )


def _nested(modes: list[Mode], layout: Layout) -> Layout:
    return Layout(
        unflatten_tuple(tuple(s for s, _ in modes), layout.shape),
        unflatten_tuple(tuple(d for _, d in modes), layout.shape),
    )


@typed
def recast_layout(layout: Layout, old_bits: int, new_bits: int) -> Layout:
    """Return a layout of ``old_bits`` elements in units of ``new_bits``.

    Law: `downcast` to the common width, then `upcast`, so that no more units are counted than
    hold elements. Raises as these two do, and `ShapeError` for widths that are not positive
    integers. C++: ``recast_layout``, which widens first: the same where whole elements fill whole
    units.

    >>> print(recast_layout(Layout((8, 8), (8, 1)), 16, 32))
    (8,4):(4,1)
    """
    if type(old_bits) is not int or type(new_bits) is not int or min(old_bits, new_bits) < 1:
        raise ShapeError(
            "recast_layout",
            {"layout": layout, "old_bits": repr(old_bits), "new_bits": repr(new_bits)},
            "the width of an element must be a positive number of bits",
            "write both in bits, as in recast_layout(layout, 16, 8)",
        )
    common = gcd(old_bits, new_bits)
    narrow = downcast(layout, old_bits // common) if old_bits != common else layout
    return upcast(narrow, new_bits // common) if new_bits != common else narrow
