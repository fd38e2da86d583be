"""Questions about swizzled, XOR and chained layouts as functions, and inverses of chains."""

from __future__ import annotations

from typing import Any

from pycute_xe.algebra import bits, inverse, relations
from pycute_xe.chained import Function
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import CuteError, DivisibilityError, ShapeError
from pycute_xe.f2 import F2Layout
from pycute_xe.int_tuple import product
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed
from pycute_xe.typing import Mode

__all__ = [
    "functionally_equal",
    "image",
    "is_bijective",
    "is_injective",
    "is_surjective",
    "values_of",
]

MOST = 1 << 20
"""Coordinates of a function beyond which it is not enumerated."""


@typed
def is_injective(layout: Function) -> bool:
    """Tell whether no two coordinates have the same value, of any layout.

    Law: ``len(set(map(layout, indices))) == size(layout)``. Plain layouts as
    `pycute_xe.algebra.relations.is_injective`; a swizzle keeps offsets apart, a chain is
    enumerated. Raises `CuteError` where that would take too long.

    >>> from pycute_xe.swizzle import Swizzle
    >>> is_injective(ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4), (4, 0))))
    False
    """
    match layout:
        case Layout():
            return relations.is_injective(layout)
        case ComposedLayout():
            return relations.is_injective(layout.layout)
        case _:
            values = values_of("is_injective", layout)
            return len(set(values)) == len(values)


@typed
def is_surjective(layout: Function) -> bool:
    """Tell whether every value from 0 to the largest is hit, of any layout.

    Raises `CuteError` where enumerating would take too long.

    >>> from pycute_xe.f2 import F2
    >>> is_surjective(F2Layout((4, 4), (F2(1), F2(5)))), is_surjective(F2Layout(4, F2(2)))
    (True, False)
    """
    if isinstance(layout, Layout):
        return relations.is_surjective(layout)
    values = set(values_of("is_surjective", layout))
    return len(values) == max(values) + 1


@typed
def is_bijective(layout: Function) -> bool:
    """Tell whether every value from 0 to the largest is hit exactly once, of any layout.

    >>> from pycute_xe.swizzle import Swizzle
    >>> is_bijective(ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4))))
    True
    """
    if isinstance(layout, Layout):
        return relations.is_bijective(layout)
    return is_injective(layout) and is_surjective(layout)


@typed
def functionally_equal(a: Function, b: Function) -> bool:
    """Tell whether two layouts of any kind have one size and one value for each index.

    Law: ``a(i) == b(i)`` for ``0 <= i < size``, whatever the shapes. Plain layouts are decided
    without enumeration. Raises `CuteError` where others are too large to enumerate.

    >>> from pycute_xe.swizzle import Swizzle
    >>> from pycute_xe.f2 import as_f2
    >>> X = ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4)))
    >>> functionally_equal(X, as_f2(X)), functionally_equal(X, Layout(16))
    (True, False)
    """
    if isinstance(a, Layout) and isinstance(b, Layout):
        return relations.functionally_equal(a, b)
    if product(a.shape) != product(b.shape):
        return False
    return values_of("functionally_equal", a) == values_of("functionally_equal", b)


@typed
def image(layout: Function) -> Layout | F2Layout:
    """Return the values of a layout of any kind as a layout: each once, in increasing order.

    Law: ``list(map(image(L), range(size)))`` is ``sorted(set(map(L, indices)))``. Raises
    `DivisibilityError` where no plain layout lists the values of a chain or a swizzled layout, and
    as `pycute_xe.algebra.relations.image` for plain ones.

    >>> from pycute_xe.swizzle import Swizzle
    >>> print(image(ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4)))))
    16:1
    """
    match layout:
        case Layout():
            return relations.image(layout)
        case F2Layout():
            return bits.image_of_bits(layout)
        case _:
            values = sorted(set(values_of("image", layout)))
            modes = _listed(values)
            if modes is None or values[0] != 0:
                raise DivisibilityError(
                    "image",
                    {"layout": layout},
                    "no shape and strides list its values in order",
                    "take as_f2 of it where its extents are powers of two, or look at its values",
                )
            return inverse.from_modes(modes)


def _listed(values: list[int]) -> list[Mode] | None:
    """Return the modes that list increasing values from the first on, if some do."""
    if len(values) == 1:
        return []
    step = values[1] - values[0]
    count = 1
    while count < len(values) and values[count] - values[0] == count * step:
        count += 1
    while len(values) % count:
        count -= 1
    if count == 1:
        return None
    starts = values[::count]
    for start, at in zip(starts, range(0, len(values), count), strict=True):
        if values[at : at + count] != [start + i * step for i in range(count)]:
            return None
    rest = _listed(starts)
    return None if rest is None else [(count, step), *rest]


def values_of(operation: str, layout: Any) -> list[Any]:
    """Return all values of a function, in the order of its coordinates, for an operation.

    Raises `ShapeError` for extents that are not numbers, `CuteError` for too many coordinates.

    >>> values_of("image", Layout((2, 2), (2, 1)))
    [0, 2, 1, 3]
    """
    count = product(layout.shape)
    if type(count) is not int:
        raise ShapeError(
            operation, {"layout": layout}, "its extents are not numbers", "substitute numbers first"
        )
    if count > MOST:
        raise CuteError(
            operation,
            {"layout": layout},
            f"its {count} coordinates are more than the {MOST} that are looked at one by one",
            "take a tile of it",
        )
    return [layout(i) for i in range(count)]
