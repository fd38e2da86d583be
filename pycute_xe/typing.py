"""Names for the nested integers that the whole library speaks in.

An ``IntTuple`` is an integer or a tuple of ``IntTuple``. ``4`` and ``(4,)`` are different values.
A ``Tiler`` is a layout, an integer, ``None`` (keep the mode whole) or a tuple of tilers.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

__all__ = ["Coord", "IntTuple", "Mode", "Shape", "Stride", "Tiler", "is_tuple"]

# A recursive alias of ``int | tuple[IntTuple, ...]`` cannot hold the symbolic values and basis
# elements that leaves may also be; constructors check what the type cannot say.
IntTuple: TypeAlias = Any
Shape: TypeAlias = IntTuple
Stride: TypeAlias = IntTuple
Coord: TypeAlias = IntTuple
Tiler: TypeAlias = Any
Mode: TypeAlias = tuple[Any, Any]


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """Tell whether a value is a tuple rather than a leaf.

    >>> is_tuple((4,)), is_tuple(4)
    (True, False)
    """
    return isinstance(value, tuple)
