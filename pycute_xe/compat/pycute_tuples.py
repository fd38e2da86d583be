"""The integer and tuple functions of NVIDIA's pycute, for `pycute_xe.compat.pycute`."""

from __future__ import annotations

from abc import ABC
from typing import Any

from pycute_xe.errors import CongruenceError, CoordError, ShapeError
from pycute_xe.int_tuple import crd2idx as _crd2idx, flatten_tuple, idx2crd as _idx2crd, product
from pycute_xe.signatures import typed
from pycute_xe.typing import is_tuple

__all__ = [
    "Integer",
    "crd2crd",
    "crd2idx",
    "flatten",
    "has_none",
    "idx2crd",
    "is_int",
    "prefix_product",
    "shiftl",
    "shiftr",
    "signum",
    "slice_",
    "tuple_max",
]

flatten = flatten_tuple
MOST_SHIFT = 1 << 16


class Integer(ABC):  # noqa: B024 - a test of kind, with nothing to implement
    """What counts as an integer: ``int`` and its subclasses, but not ``bool``."""

    @classmethod
    def __subclasshook__(cls, subclass: type, /) -> bool:
        """Tell whether a class is one of integers."""
        return issubclass(subclass, int) and not issubclass(subclass, bool)


def is_int(x: object) -> bool:
    """Tell whether a value is an integer.

    >>> is_int(4), is_int(True), is_int((4,))
    (True, False, False)
    """
    return isinstance(x, Integer)


@typed
def signum(a: Any) -> int:
    """Return -1, 0 or 1.

    >>> signum(-7)
    -1
    """
    return (a > 0) - (a < 0)


@typed
def tuple_max(a: Any) -> Any:
    """Return the largest leaf; raise `ShapeError` for a tuple without leaves.

    >>> tuple_max((1, (7, 3)))
    7
    """
    leaves = flatten(a)
    if not leaves:
        raise ShapeError("tuple_max", {"a": a}, "a tuple without leaves has no largest", "give one")
    return max(leaves)


@typed
def has_none(a: Any) -> bool:
    """Tell whether a coordinate keeps a mode.

    >>> has_none((1, (None, 2)))
    True
    """
    return None in flatten(a)


@typed
def prefix_product(a: Any, init: Any = 1) -> Any:
    """Return for each leaf the product of those before it, times ``init``.

    Extents of 1 are not set to stride 0 here. Raises `CongruenceError` when ``init`` is a tuple
    that nests otherwise.

    >>> prefix_product(((2, 3), 1, 4)), prefix_product((2, 3), (10, 20))
    (((1, 2), 6, 6), (10, 20))
    """
    if is_tuple(init):
        if not is_tuple(a) or len(a) != len(init):
            raise CongruenceError(
                "prefix_product",
                {"a": a, "init": init},
                "init has other modes than a",
                "give one integer, or one for each mode",
            )
        return tuple(map(prefix_product, a, init))
    if not is_tuple(a):
        return init
    out: list[Any] = []
    for mode in a:
        out.append(prefix_product(mode, init))
        init = init * product(mode)
    return tuple(out)


@typed
def idx2crd(idx: Any, shape: Any, stride: Any = None) -> Any:
    """Return ``(idx // stride) % extent`` for each leaf, as pycute does.

    >>> idx2crd(9, (4, (2, 4)))
    (1, (0, 1))
    """
    return _idx2crd(idx, shape, prefix_product(shape) if stride is None else stride)


@typed
def crd2idx(crd: Any, shape: Any, stride: Any = None) -> Any:
    """Return the offset of a coordinate; ``None`` counts as 0.

    >>> crd2idx((None, 2), (4, 8), (8, 1))
    2
    """
    return _crd2idx(_zeroed(crd), shape, prefix_product(shape) if stride is None else stride)


def _zeroed(crd: Any) -> Any:
    if is_tuple(crd):
        return tuple(map(_zeroed, crd))
    return 0 if crd is None else crd


@typed
def crd2crd(crd: Any, dst_shape: Any, src_shape: Any = None) -> Any:
    """Move a coordinate to another shape; a tuple for an integer shape needs ``src_shape``.

    Raises `CoordError` where the coordinate leaves the shape.

    >>> crd2crd(9, (4, 8)), crd2crd((1, 2), 32, (4, 8))
    ((1, 2), 9)
    """
    if is_tuple(crd) and is_tuple(dst_shape) and len(crd) == len(dst_shape):
        return tuple(map(crd2crd, crd, dst_shape))
    if is_tuple(crd) and not is_tuple(dst_shape) and src_shape is not None:
        return crd2idx(crd, src_shape)
    if not is_tuple(crd) and (is_tuple(dst_shape) or crd < dst_shape):
        return idx2crd(crd, dst_shape) if is_tuple(dst_shape) else crd
    raise CoordError(
        "crd2crd",
        {"crd": crd, "dst_shape": dst_shape, "src_shape": src_shape},
        "the coordinate does not fit the shape",
        "give one entry for each mode, below its extent, or src_shape for an integer shape",
    )


@typed
def slice_(crd: Any, trg: Any) -> tuple[Any, ...]:
    """Return the parts of a tuple where the coordinate holds ``None``.

    >>> slice_((None, (1, None)), (4, (2, 8)))
    (4, 8)
    """
    if not is_tuple(crd):
        return (trg,) if crd is None else ()
    if not is_tuple(trg) or len(crd) != len(trg):
        raise CoordError(
            "slice_",
            {"crd": crd, "trg": trg},
            "the coordinate and what it slices differ in their modes",
            "give one entry for each mode, or None to keep all",
        )
    return tuple(part for c, t in zip(crd, trg, strict=True) for part in slice_(c, t))


@typed
def shiftr(a: int, s: int) -> int:
    """Shift to the right, to the left for a negative ``s``.

    >>> shiftr(8, 2), shiftr(8, -1)
    (2, 16)
    """
    if not -MOST_SHIFT <= s <= MOST_SHIFT:
        fix = f"shift by {MOST_SHIFT:,} bits at most"
        raise ShapeError("shiftr", {"a": a, "s": s}, "the result would have too many bits", fix)
    return a >> s if s >= 0 else a << -s


@typed
def shiftl(a: int, s: int) -> int:
    """Shift to the left, to the right for a negative ``s``.

    >>> shiftl(8, 2)
    32
    """
    return shiftr(a, -s)
