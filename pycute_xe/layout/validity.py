"""Floor 2: what makes a shape and strides a layout, and how their lack is reported."""

from __future__ import annotations

from typing import Any, cast

from pycute_xe.basis import ArithTuple, Basis
from pycute_xe.errors import CongruenceError, ShapeError, UndecidableError, quoted
from pycute_xe.signatures import MOST_LEVELS
from pycute_xe.typing import IntTuple, Shape, Stride, is_tuple
from pycute_xe.unknown import Symbolic, adopted, at_most

__all__ = ["check_layout", "check_shape", "frozen", "is_valid"]


def frozen(value: Any, name: str, level: int = 0) -> IntTuple:
    """Lists become tuples, so that a layout can never change under its owner.

    Raises `ShapeError` in the name of the argument where it nests deeper than `MOST_LEVELS`.

    >>> frozen([4, [2, 3]], "shape")
    (4, (2, 3))
    """
    if isinstance(value, list):
        value = tuple(cast("list[Any]", value))
    if isinstance(value, ArithTuple):
        return value  # a sum of basis elements, which no layout takes
    if not is_tuple(value):
        return adopted(value)
    if level >= MOST_LEVELS:
        raise ShapeError(
            "Layout",
            {name: f"<{type(value).__name__}>"},
            f"the {name} nests more than {MOST_LEVELS} levels deep",
            f"nest at most {MOST_LEVELS} levels",
        )
    return tuple(frozen(mode, name, level + 1) for mode in value)


def is_valid(shape: Shape, stride: Stride, level: int = 0) -> bool:
    """Tell quickly whether two trees of exact tuples, integers and basis elements make a layout."""
    if type(shape) is int:
        return shape >= 1 and type(stride) in _LEAVES
    if type(shape) is not tuple or type(stride) is not tuple:
        return False
    shapes, strides = cast("tuple[Any, ...]", shape), cast("tuple[Any, ...]", stride)
    if len(shapes) != len(strides) or level >= MOST_LEVELS:
        return False
    for s, d in zip(shapes, strides, strict=True):
        if type(s) is int:
            if s < 1 or type(d) not in _LEAVES:
                return False
        elif not is_valid(s, d, level + 1):
            return False
    return True


_LEAVES = frozenset({int, Basis})


def check_shape(part: Shape, whole: Shape) -> None:
    """Refuse a shape, of which ``part`` is a part, that has a leaf which is not an extent.

    >>> check_shape((4, 8), (4, 8))
    """
    if type(part) is int:
        if part >= 1:
            return
    elif is_tuple(part):
        for mode in part:
            check_shape(mode, whole)
        return
    elif isinstance(part, Symbolic) and _is_extent(part, whole):
        return
    raise ShapeError(
        "Layout",
        {"shape": whole},
        f"{quoted(part)} is not a positive integer",
        f"use Layout.from_str({quoted(part)}) to read text"
        if isinstance(part, str)
        else "use extents of 1 or more",
    )


def _is_extent(leaf: Symbolic, whole: Shape) -> bool:
    try:
        return at_most(1, leaf)
    except UndecidableError as error:
        raise error.within("Layout", {"shape": whole}) from None


def check_layout(shape: Shape, stride: Stride, whole_shape: Shape, whole_stride: Stride) -> None:
    """Refuse a shape and strides that do not nest alike, or have other leaves than a layout.

    >>> check_layout((4, 8), (8, 1), (4, 8), (8, 1))
    """
    if isinstance(stride, ArithTuple):
        raise ShapeError(
            "Layout",
            {"shape": whole_shape, "stride": whole_stride},
            f"stride {stride} is a coordinate, as a sum of basis elements is",
            "give each leaf one basis element k*E(i), or a plain tuple of strides",
        )
    if is_tuple(shape):
        if is_tuple(stride) and len(stride) == len(shape):
            for s, d in zip(shape, stride, strict=True):
                check_layout(s, d, whole_shape, whole_stride)
            return
        raise _incongruent(whole_shape, whole_stride)
    if type(shape) is not int or shape < 1:
        check_shape(shape, whole_shape)
    if is_tuple(stride):
        raise _incongruent(whole_shape, whole_stride)
    if type(stride) is not int and not isinstance(stride, (Basis, Symbolic)):
        raise ShapeError(
            "Layout",
            {"shape": whole_shape, "stride": whole_stride},
            f"stride {quoted(stride)} is neither an integer nor a basis element",
            "use integers or k*E(i)",
        )


def _incongruent(shape: Shape, stride: Stride) -> CongruenceError:
    return CongruenceError(
        "Layout",
        {"shape": shape, "stride": stride},
        "shape and stride nest differently",
        "give one stride for each leaf of the shape, nested alike",
    )
