"""What two layouts share: contiguous elements, an order of coordinates, a sum."""

from __future__ import annotations

from math import gcd, lcm
from typing import Any

from pycute_xe.algebra.compose import coalesce, composition, flat_modes, joined
from pycute_xe.algebra.inverse import right_inverse
from pycute_xe.basis import Basis, BasisSum, basis_sum
from pycute_xe.errors import DivisibilityError, ShapeError
from pycute_xe.layout import Layout, as_layout, size, unchecked
from pycute_xe.layout.core import moves
from pycute_xe.typing import Mode, Shape, naming

__all__ = ["greatest_common_domain", "layout_add", "max_common_layout", "max_common_vector"]


@naming
def max_common_vector(a: Layout, b: Layout) -> Any:
    """Return how many elements at the start lie in the same order, contiguous, in both layouts.

    Law: the size of ``max_common_layout(a, b)``. In elements. Raises as that does.
    C++: ``max_common_vector``.

    >>> max_common_vector(Layout((4, 8), (1, 4)), Layout((4, 8), (1, 8)))
    4
    """
    return _common(a, b)[1]


@naming
def max_common_layout(a: Layout, b: Layout) -> Layout:
    """Return a layout of coordinates that both layouts map to their own index.

    Law: with ``R`` the result, ``a(R(i)) == i == b(R(i))`` for ``0 <= i < size(R)``, the last mode
    of ``a`` unbounded as in `composition`. Raises `DivisibilityError` where the inverse of ``b``
    does not step evenly through ``a``, `ShapeError` where ``b`` has no inverse (strides that are
    negative or of a basis). C++: ``max_common_layout``.

    >>> print(max_common_layout(Layout((4, 8), (1, 4)), Layout((4, 8), (1, 4))))
    32:1
    """
    inverse, count = _common(a, b)
    return composition(inverse, Layout(count)) if count != 1 else Layout(1, 0)


def _common(a: Layout, b: Layout) -> tuple[Layout, Any]:
    if moves(as_layout(b).stride):
        raise ShapeError(
            "right_inverse",
            {"layout": b},
            "it maps to coordinates, which do not lie side by side",
            "compose with a layout of the codomain to get integer offsets first",
        )
    inverse = right_inverse(b)
    s, d = flat_modes(coalesce(composition(a, inverse)))[0]
    return inverse, s if d == 1 else 1


@naming
def greatest_common_domain(a: Layout | Shape, b: Layout | Shape) -> Layout:
    """Return the largest layout of indices that steps evenly through both shapes.

    Law: both shapes, read as compact layouts, compose with the result mode by mode; symmetric; its
    size divides both sizes; depth 1, and ``(1):(0)`` where nothing is shared. Each mode runs from
    the least common multiple of where two leaves start to the greatest common divisor of where
    they end. Strides do not matter. Raises `ShapeError` for what is not a shape. The counterpart is
    in NVIDIA's PyCuTe; C++ has none.

    >>> print(greatest_common_domain((5, 3, 4), (10, 6)))
    (5,2):(1,30)
    >>> print(greatest_common_domain((6, 35), (15, 14)))
    (3,7):(1,30)
    """
    modes: list[Mode] = []
    theirs = _spans(b)
    for start, end in _spans(a):
        for other_start, other_end in theirs:
            first, last = lcm(start, other_start), gcd(end, other_end)
            if last % first == 0 and last > first:
                modes.append((last // first, first))
    modes = modes or [(1, 0)]
    return unchecked(tuple(s for s, _ in modes), tuple(d for _, d in modes))


def _spans(value: Layout | Shape) -> list[tuple[int, int]]:
    """Return where each leaf starts and ends among the indices."""
    spans: list[tuple[int, int]] = []
    reach = 1
    for s, _ in flat_modes(Layout(value.shape if isinstance(value, Layout) else value)):
        spans.append((reach, reach * s))
        reach *= s
    return spans


@naming
def layout_add(a: Layout, b: Layout) -> Layout:
    """Return the layout of the sums of two layouts' offsets, index by index.

    Law: ``layout_add(a, b)(i) == a(i) + b(i)`` for ``0 <= i < size``, coalesced; symmetric. Basis
    strides of different axes add to a stride along both. Raises `DivisibilityError` where the sizes
    differ or no mode order serves both, `ShapeError` for a sum of a coordinate and an offset. The
    counterpart is in NVIDIA's PyCuTe; C++ has none.

    >>> print(layout_add(Layout((4, 3), (1, 4)), Layout((4, 3), (3, 1))))
    (4,3):(4,5)
    >>> from pycute_xe.basis import E
    >>> print(layout_add(Layout(8, E(0)), Layout(8, 2 * E(1))))
    8:1@0+2@1
    """
    left, right = coalesce(a), coalesce(b)
    domain = greatest_common_domain(left, right)
    if size(left) != size(right) or size(domain) != size(left):
        raise DivisibilityError(
            "layout_add",
            {"a": a, "b": b},
            f"indices of {left.shape} and {right.shape} share only the modes {domain}",
            "use layouts of one size whose leaves divide each other in order",
        )
    # Each mode of the domain lies in one leaf of either side, so both are linear on it.
    pairs = zip(
        flat_modes(composition(left, domain)), flat_modes(composition(right, domain)), strict=True
    )
    sums: list[Mode] = []
    for (s, d), (_, e) in pairs:
        if d != 0 and e != 0 and _moves(d) != _moves(e):
            raise _unlike(a, b, d, e)
        total = d + e
        sums.append((s, basis_sum(total) if isinstance(total, tuple) else total))
    return joined(sums)


def _moves(stride: Any) -> bool:
    """Tell whether a stride moves among coordinates."""
    return isinstance(stride, (Basis, BasisSum))


def _unlike(a: Layout, b: Layout, d: Any, e: Any) -> ShapeError:
    return ShapeError(
        "layout_add",
        {"a": a, "b": b},
        f"the sum of {d} and {e} is not a stride",
        "add layouts whose strides point the same way",
    )
