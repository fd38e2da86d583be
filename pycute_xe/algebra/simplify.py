"""The same function, said with fewer modes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pycute_xe.errors import RankError
from pycute_xe.int_tuple import flatten_tuple, leaves, unflatten_tuple
from pycute_xe.layout import Layout, as_layout, make_layout, unchecked
from pycute_xe.signatures import typed
from pycute_xe.typing import IntTuple, Mode, is_tuple
from pycute_xe.unknown import naming, same

__all__ = ["coalesce", "filter", "filter_zeros", "flat_modes", "from_modes", "merged", "scaled"]


def flat_modes(layout: Layout) -> list[Mode]:
    """Return the (extent, stride) pairs of the leaves, left to right.

    >>> flat_modes(Layout(((2, 3), 4)))
    [(2, 1), (3, 2), (4, 6)]
    """
    if type(layout) is not Layout:
        as_layout(layout)  # refuses what only looks like one, such as a layout of XOR strides
    shape, stride = layout.shape, layout.stride
    if type(shape) is int or not is_tuple(shape):
        return [(shape, stride)]
    out: list[Mode] = []
    _collect(shape, stride, out)
    return out


def _collect(shape: Any, stride: Any, out: list[Mode]) -> None:
    for s, d in zip(shape, stride, strict=True):
        if type(s) is not int and is_tuple(s):
            _collect(s, d, out)
        else:
            out.append((s, d))


def from_modes(modes: Iterable[Mode]) -> Layout:
    """Build a layout from (extent, stride) pairs; one pair gives an integer shape, none ``1:0``.

    >>> print(from_modes([(4, 2)]), from_modes([(4, 2), (8, 1)]))
    4:2 (4,8):(2,1)
    """
    pairs = modes if isinstance(modes, list) else list(modes)
    if not pairs:
        return unchecked(1, 0)
    if len(pairs) == 1:
        return unchecked(*pairs[0])
    return unchecked(tuple([s for s, _ in pairs]), tuple([d for _, d in pairs]))


def merged(modes: Iterable[Mode]) -> list[Mode]:
    """Drop size-1 modes and merge each mode with the next where one continues the other.

    >>> merged([(2, 1), (1, 9), (4, 2), (3, 100)])
    [(8, 1), (3, 100)]
    """
    out: list[Mode] = []
    follows: Any = None
    for s, d in modes:
        if s == 1:
            continue
        if out and follows == d:
            last_s, d = out.pop()
            s = last_s * s
        out.append((s, d))
        follows = s * d
    return out


@typed
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
    if profile is None or not is_tuple(profile):
        return from_modes(merged(flat_modes(layout)))
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
    return from_modes(merged((s, d) for s, d in flat_modes(layout) if not same(d, 0)))


def scaled(layout: Layout, n: Any) -> Layout:
    """Multiply every stride: the same function, ``n`` times as far.

    Law: ``scaled(L, n)(c) == n * L(c)``.

    >>> print(scaled(Layout((4, 8), (8, 1)), 2))
    (4,8):(16,2)
    """
    strides = tuple(d * n for d in leaves(layout.stride))
    return Layout(layout.shape, unflatten_tuple(strides, layout.shape))
