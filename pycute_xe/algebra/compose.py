"""Composition, one layout read through another, and the same function said with fewer modes."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import Any, TypeVar

from pycute_xe.basis import Basis, BasisSum, basis_sum
from pycute_xe.errors import (
    DivisibilityError,
    RankError,
    ShapeError,
    UndecidableError,
    meant,
    quoted,
)
from pycute_xe.int_tuple import (
    flatten_tuple,
    leaves,
    merge,
    merged,
    unbounded,
    unflatten_tuple,
)
from pycute_xe.layout import Layout, as_layout, get, make_layout, size, unchecked
from pycute_xe.layout.core import call_that_reads
from pycute_xe.signatures import STUMBLES, blame
from pycute_xe.typing import (
    TUPLE,
    IntTuple,
    Mode,
    Tiler,
    adopted,
    at_most,
    is_integer,
    is_tuple,
    naming,
    same,
)

__all__ = [
    "coalesce",
    "filter",
    "filter_zeros",
    "flat_modes",
    "from_modes",
    "index_at",
    "joined",
    "merged",
    "scaled",
    "as_tiler",
    "composition",
    "straight",
]

Arithmetic = TypeVar("Arithmetic")
"""What has a sum, a product, a quotient rounded down and a remainder by integers."""


def flat_modes(layout: Layout) -> list[Mode]:
    """Return the (extent, stride) pairs of the leaves, left to right.

    >>> flat_modes(Layout(((2, 3), 4)))
    [(2, 1), (3, 2), (4, 6)]
    """
    if type(layout) is not Layout:
        as_layout(layout)  # refuses what only looks like one, such as a layout of XOR strides
    shape, stride = layout.shape, layout.stride
    if type(shape) is not TUPLE:
        return [(shape, stride)]
    for s in shape:
        if type(s) is TUPLE:
            out: list[Mode] = []
            _collect(shape, stride, out)
            return out
    return list(zip(shape, stride))


def index_at(layout: Layout, x: Arithmetic) -> Arithmetic:
    """Return the offset of a coordinate in the arithmetic of its own: integer, index or symbol.

    Law: ``index_at(layout, i) == layout(i)`` for coordinates ``i`` of the layout.

    >>> index_at(Layout((2, 4), (8, 1)), 3)
    9
    """
    number: Any = x
    out, before, count = number * 0, 1, size(layout)
    for extent, stride in flat_modes(layout):
        digit = number // before if before > 1 else number
        before *= extent
        out = out + (digit % extent if before < count else digit) * stride
    return out


def _collect(shape: Any, stride: Any, out: list[Mode]) -> None:
    for mode in zip(shape, stride):
        if type(mode[0]) is TUPLE:
            _collect(*mode, out)
        else:
            out.append(mode)


def from_modes(modes: Iterable[Mode]) -> Layout:
    """Build a layout from (extent, stride) pairs; one pair gives an integer shape, none ``1:0``.

    >>> print(from_modes([(4, 2)]), from_modes([(4, 2), (8, 1)]))
    4:2 (4,8):(2,1)
    """
    pairs = list(modes)
    if len(pairs) > 1:
        return unchecked(*zip(*pairs))
    return unchecked(*pairs[0]) if pairs else unchecked(1, 0)


def joined(modes: Iterable[Mode]) -> Layout:
    """Build a layout of the merged modes, each of which may nest.

    >>> print(joined([((2, 1), (1, 9)), (4, 2), (3, 100)]))
    (8,3):(1,100)
    """
    shapes: list[Any] = []
    strides: list[Any] = []
    merge(modes, shapes, strides)
    if len(shapes) > 1:
        return unchecked(tuple(shapes), tuple(strides))
    return unchecked(shapes[0], strides[0]) if shapes else unchecked(1, 0)


def coalesce(layout: Layout, profile: IntTuple = None) -> Layout:
    """Return the same function with as few modes as its order allows, flat.

    Law: ``coalesce(L)(i) == L(i)`` for ``0 <= i < size(L)``, ``size`` unchanged, depth at most 1.
    With a ``profile`` the modes it names are coalesced one by one and the rank stays; any entry
    that is not a tuple, ``None`` and ``1`` alike, coalesces its mode whole.
    Raises `RankError` when the profile has more modes than the layout. C++: ``coalesce``.

    >>> print(coalesce(Layout((2, (1, 6)), (1, (6, 2)))))
    12:1
    >>> print(coalesce(Layout(((2, 4), (3, 5))), (1, 1)))
    (8,15):(1,8)
    """
    try:
        if profile is None or not is_tuple(profile):
            if type(layout) is not Layout:
                as_layout(layout)  # refuses what only looks like one
            shape, stride = layout.shape, layout.stride
            return joined(zip(shape, stride) if type(shape) is TUPLE else [(shape, stride)])
        return _coalesced_by_mode(layout, profile)
    except STUMBLES as error:
        blame(coalesce, (layout, profile), error)
        raise


def _coalesced_by_mode(layout: Layout, profile: tuple[Any, ...]) -> Layout:
    count = len(profile)
    if count > len(layout):
        raise RankError(
            "coalesce",
            {"layout": layout, "profile": profile},
            f"the profile has {count} modes, the layout {len(layout)}",
            "give at most one entry for each mode",
        )
    parts = [coalesce(layout[i], profile[i]) for i in range(count)]
    return make_layout(*parts, *(layout[i] for i in range(count, len(layout))))


@naming
def filter_zeros(layout: Layout) -> Layout:
    """Give every stride-0 leaf the extent 1: one coordinate for each offset it repeats.

    Law: the image is unchanged and the nesting stays. C++: ``filter_zeros``.

    >>> print(filter_zeros(Layout((4, (2, 8)), (0, (1, 2)))))
    (1,(2,8)):(0,(1,2))
    """
    extents: tuple[Any, ...] = tuple(1 if same(d, 0) else s for s, d in flat_modes(layout))
    strides = flatten_tuple(layout.stride)
    return Layout(unflatten_tuple(extents, layout.shape), unflatten_tuple(strides, layout.shape))


@naming
def filter(layout: Layout) -> Layout:
    """Drop stride-0 and size-1 modes, then coalesce: a layout with the same image.

    C++: ``filter``. The name shadows a builtin; it is an attribute of the package only.

    >>> print(filter(Layout((4, 2, 8), (0, 1, 2))))
    16:1
    """
    return joined((s, d) for s, d in flat_modes(layout) if not same(d, 0))


def scaled(layout: Layout, n: Any) -> Layout:
    """Multiply every stride: the same function, ``n`` times as far.

    Law: ``scaled(L, n)(c) == n * L(c)``.

    >>> print(scaled(Layout((4, 8), (8, 1)), 2))
    (4,8):(16,2)
    """
    strides = tuple(d * n for d in leaves(layout.stride))
    return Layout(layout.shape, unflatten_tuple(strides, layout.shape))


_Ends = dict[tuple[int, ...], list[Any]]
"""How far walks of more than one step go along each axis."""


def composition(a: Layout, b: Tiler) -> Layout:
    """Return ``a ∘ b``: the layout that maps a coordinate of ``b`` to ``a`` of ``b``'s offset.

    Law: ``composition(a, b)(c) == a(b(c))`` for every coordinate of ``b``, and the shape nests at
    least as deep as ``b``'s. The last mode of ``a`` counts as unbounded, as in C++. A basis stride
    ``k*E(i)`` of ``b`` walks mode ``i`` of ``a``. A tuple composes mode by mode: an integer ``n``
    stands for ``Layout(n)``, ``None`` keeps the mode, and modes of ``a`` beyond the tuple drop out.
    Raises `DivisibilityError` where ``b`` does not step evenly through ``a``, and where the modes
    of ``b`` together step over the end of a mode of ``a`` (C++ returns another function there).
    C++: ``composition``.

    >>> print(composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))))
    ((2,2),3):((24,2),8)
    >>> composition(Layout((4, 6), (1, 100)), Layout(3, 3))
    Traceback (most recent call last):
    pycute_xe.errors.DivisibilityError: composition(a=(4,6):(1,100), b=3:3): stride 3 and extent 3 \
do not step evenly through the mode 4:1. Way out: use extents and strides that divide 4, or pad it
    """
    if b is None:
        return a
    try:
        if is_tuple(b):
            return _by_mode(as_layout(a), b)
        tiler, lhs = as_tiler(b), unbounded(as_layout(a).shape, a.stride)
    except STUMBLES as error:
        blame(composition, (a, b), error)
        raise
    ends: _Ends = {(): []}
    try:
        out = unchecked(*_walked(lhs, tiler.shape, tiler.stride, ends, a, tiler))
        for path, last in ends.items():
            if len(last) > 1:
                _check_carries(_along(a, path) if path else lhs, last, a, tiler)
    except UndecidableError as error:
        raise error.within("composition", {"a": a, "b": tiler}) from None
    return out


def as_tiler(value: Any) -> Layout:
    """Return the layout that a leaf of a tiler stands for: ``n`` is ``n:1``, and ``1`` is ``1:0``.

    >>> print(as_tiler(4))
    4:1
    """
    if isinstance(value, Layout):
        return value
    if is_integer(adopted(value)):
        return Layout(value)
    wrong = "a tiler must be a layout, an integer, None or a tuple of those"
    fix = f"write {meant(value)}" if meant(value) else "use Layout(shape, stride)"
    if isinstance(value, str) and not meant(value):
        fix = call_that_reads(value)
    error = ShapeError("tiler", {"value": quoted(value)}, wrong, fix)
    error.refused = (value,)
    raise error


def _by_mode(a: Layout, tiler: tuple[Any, ...]) -> Layout:
    if len(tiler) > len(a):
        raise RankError(
            "composition",
            {"a": a, "b": tiler},
            f"the tiler has {len(tiler)} modes, the layout {len(a)}",
            "give at most one entry for each mode",
        )
    parts = [composition(a[i], t) for i, t in enumerate(tiler)]
    return make_layout(*parts) if parts else unchecked((), ())


def _along(a: Layout, path: tuple[int, ...]) -> list[Mode]:
    part = get(a, *path)
    return unbounded(part.shape, part.stride)


def _walked(lhs: list[Mode], shape: Any, stride: Any, ends: _Ends, a: Layout, b: Layout) -> Mode:
    """Return the shape and stride of one part of the result; note in ``ends`` where walks end."""
    if type(shape) is TUPLE:
        shapes: list[Any] = []
        strides: list[Any] = []
        for s, d in zip(shape, stride):
            if type(d) is int:
                s, d = _leaf(lhs, s, d, ends[()], a, b)
            else:
                s, d = _walked(lhs, s, d, ends, a, b)
            shapes.append(s)
            strides.append(d)
        return tuple(shapes), tuple(strides)
    if isinstance(stride, BasisSum):
        return _walked_along(shape, stride, ends, a, b)
    if not isinstance(stride, Basis):
        return _leaf(lhs, shape, stride, ends[()], a, b)
    mode = _along(a, stride.modes)
    return _leaf(mode, shape, stride.value, ends.setdefault(stride.modes, []), a, b)


def _walked_along(shape: Any, stride: BasisSum, ends: _Ends, a: Layout, b: Layout) -> Mode:
    """Compose with a mode that moves along several axes: the sum of what it does along each."""
    total: Any = 0
    for term in stride.terms:
        extent, step = _walked([], shape, term, ends, a, b)
        if is_tuple(extent):
            raise DivisibilityError(
                "composition",
                {"a": a, "b": b},
                f"the mode {shape}:{stride} of b takes several modes of a along {term}",
                "use strides along one axis each, or coalesce a mode by mode",
            )
        total = total + step
    return shape, basis_sum(total) if is_tuple(total) else total


def _leaf(lhs: list[Mode], extent: Any, step: Any, ends: list[Any], a: Layout, b: Layout) -> Mode:
    """Compose with one mode ``extent:step``: walk the modes of ``a`` with that step."""
    if step == 0 or not lhs:
        return extent, 0
    if len(lhs) == 1:
        return extent, step * lhs[0][1]
    if extent == 1:
        return 1, _idle_step(lhs, step) * lhs[-1][1]
    ends.append((extent - 1) * step)
    out: list[Mode] = []
    left = extent
    for i, (s, d) in enumerate(lhs[:-1]):
        if s <= step if type(s) is int is type(step) else at_most(s, step):
            if step % s:
                out += _onward(lhs[i:], left, step, _uneven(a, b, extent, step, s, d))
                break
            step = step // s
            continue
        reach = -(-s // step) if step > 0 else 0
        if left > 0 and (
            left <= reach if type(left) is int is type(reach) else at_most(left, reach)
        ):
            out.append((left, step * d))
            break
        if reach == 0 or s % step or left % reach:
            out += _onward(lhs[i:], left, step, _uneven(a, b, extent, step, s, d))
            break
        out.append((reach, step * d))
        left //= reach
        step = 1
    else:
        out.append((left, step * lhs[-1][1]))
    if len(out) == 1:
        return out[0]
    return tuple([s for s, _ in out]), tuple([d for _, d in out])


def _onward(lhs: list[Mode], left: Any, step: Any, refusal: DivisibilityError) -> list[Mode]:
    modes = straight(lhs, left, step) if step > 0 else None
    if modes is None:
        raise refusal
    return modes


def straight(lhs: list[Mode], extent: Any, step: Any) -> list[Mode] | None:
    """Return a walk that steps in several modes at once, or ``None`` where it meets an end.

    While it reaches the end of no mode, such a walk adds the same in every step.

    >>> straight([(4, 1), (8, 10)], 3, 5), straight([(4, 1), (8, 10)], 5, 5)
    ([(3, 11)], None)
    """
    out: list[Mode] = []
    last: list[Any] = []
    while extent != 1:
        digits: list[Any] = []
        rest = step
        for s, _ in lhs[:-1]:
            digits.append(rest % s)
            rest = rest // s
        inner: list[tuple[Any, Any]] = [(s, c) for (s, _), c in zip(lhs, digits, strict=False) if c]
        # Where its digit is zero again, a mode may be walked on in other steps.
        counts = [extent, *(s // gcd(s, c) for s, c in inner if type(s) is type(c) is int)]
        fitting = [n for n in counts if not extent % n and all((n - 1) * c < s for s, c in inner)]
        count = max(fitting, default=1)
        stride = sum((c * d for (_, d), c in zip(lhs, digits, strict=False)), rest * lhs[-1][1])
        if count == 1:
            return None
        out.append((count, basis_sum(stride) if is_tuple(stride) else stride))
        last.append((count - 1) * step)
        extent, step = extent // count, step * count
    return merged(out) if _carry(lhs, last) is None else None


def _idle_step(lhs: list[Mode], step: Any) -> Any:
    """Return the step that a single element does not take, and CuTe prints all the same."""
    for s, _ in lhs[:-1]:
        step = -(-step // s)
    return step


def _check_carries(lhs: list[Mode], last: list[Any], a: Layout, b: Layout) -> None:
    """Refuse where modes of ``b``, each even by itself, together step over the end of a mode."""
    carry = _carry(lhs, last)
    if carry is not None:
        s, d, reached = carry
        raise DivisibilityError(
            "composition",
            {"a": a, "b": b},
            f"the modes of b together reach {reached} in the mode {s}:{d}",
            f"use modes that stay below {s} together, or pad it",
        )


def _carry(lhs: list[Mode], last: list[Any]) -> tuple[Any, Any, Any] | None:
    """Return the first mode whose end walks together step over, and what they reach there.

    A walk that stays even has all its digits at their largest in its last element, so the digits
    of the last elements must add up without a carry.
    """
    for s, d in lhs[:-1]:
        if len(last) < 2:
            break  # a walk that is even by itself
        reached: Any = 0
        onward: list[Any] = []
        for end in last:
            reached = reached + end % s
            if type(end) is not int or end >= s:
                onward.append(end // s)
        if reached >= s:
            return s, d, reached
        last = onward
    return None


def _uneven(a: Layout, b: Layout, extent: Any, step: Any, s: Any, d: Any) -> DivisibilityError:
    return DivisibilityError(
        "composition",
        {"a": a, "b": b},
        f"stride {step} and extent {extent} do not step evenly through the mode {s}:{d}",
        f"use extents and strides that divide {s}, or pad it",
    )
