"""Compositions with swizzles, and inverses of swizzled layouts."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any, TypeVar, overload

from pycute_xe import layout as plain
from pycute_xe.algebra import bits, compose, inverse, recast
from pycute_xe.algebra.swizzled.relating import values_of
from pycute_xe.chained import Chained
from pycute_xe.composed import AnyLayout, ComposedLayout, Placed
from pycute_xe.errors import DivisibilityError, ShapeError
from pycute_xe.f2 import F2Layout, as_f2
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle, make_swizzle
from pycute_xe.typing import Tiler

__all__ = ["composition", "left_inverse", "right_inverse", "downcast", "recast_layout", "upcast"]

# ------------------------------------------------------------ recasting
# Other widths of an element: they move the bits of a swizzle.


@overload
def upcast(layout: ComposedLayout, n: int) -> ComposedLayout: ...
@overload
def upcast(layout: Layout, n: int) -> Layout: ...
def upcast(layout: Any, n: int) -> Any:
    """Return the layout in units ``n`` times as wide, plain or swizzled.

    Law: with ``U = upcast(X, n)``: ``U`` of a wide coordinate is ``X // n`` of each element of that
    unit. A swizzle loses the bits that only exchange elements inside a unit, as in C++: where
    ``n`` exceeds its base those elements change places, and the unit holds them in another order.
    Raises `DivisibilityError` where a unit would be torn, as by an ``n`` that is not a power of
    two, an offset that is not a multiple of ``n``, or a negative shift that reads bits of the
    unit; as `pycute_xe.algebra.recast` otherwise. C++: ``upcast<N>``.

    >>> print(upcast(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1))), 4))
    Sw<3,1,3> o 0 o (8,16):(16,1)
    """
    if type(layout) is not ComposedLayout:
        return recast.upcast(layout, n)
    inner = recast.upcast(layout.layout, n)
    if layout.offset % n:
        raise _torn("upcast", layout, n, f"the offset {layout.offset} is not a multiple of {n}")
    return ComposedLayout(_wider(layout, n), layout.offset // n, inner)


def _wider(layout: ComposedLayout, n: int) -> Swizzle:
    swizzle = layout.swizzle
    if swizzle.bits == 0:
        return swizzle
    base = swizzle.base - _log2("upcast", layout, n)
    if base >= 0:
        return Swizzle(swizzle.bits, base, swizzle.shift)
    # A bit below the unit may be read only to change bits that are below it too.
    if swizzle.shift < 0 and n <= swizzle.zzz_mask:
        raise _torn("upcast", layout, n, f"the swizzle tears units of {n} apart")
    return Swizzle(max(swizzle.bits + base, 0), 0, swizzle.shift)


@overload
def downcast(layout: ComposedLayout, n: int) -> ComposedLayout: ...
@overload
def downcast(layout: Layout, n: int) -> Layout: ...
def downcast(layout: Any, n: int) -> Any:
    """Return the layout in units ``n`` times as narrow, plain or swizzled.

    Law: ``upcast(downcast(X, n), n) == X``. Raises `DivisibilityError` for a swizzle where ``n``
        is not a power of two; as `pycute_xe.algebra.recast` otherwise. C++: ``downcast<N>``.

    >>> print(downcast(ComposedLayout(Swizzle(1, 2, 1), 0, Layout((8, 32))), 4))
    Sw<1,4,1> o 0 o (32,32):(1,32)
    """
    if type(layout) is not ComposedLayout:
        return recast.downcast(layout, n)
    inner = recast.downcast(layout.layout, n)
    swizzle = layout.swizzle
    if swizzle.bits:
        base = swizzle.base + _log2("downcast", layout, n)
        swizzle = Swizzle(swizzle.bits, base, swizzle.shift)
    return ComposedLayout(swizzle, layout.offset * n, inner)


def _log2(operation: str, layout: ComposedLayout, n: int) -> int:
    if n & (n - 1):
        raise _torn(operation, layout, n, f"{n} is not a power of two, as a swizzle needs")
    return n.bit_length() - 1


def _torn(operation: str, layout: ComposedLayout, n: int, condition: str) -> DivisibilityError:
    return DivisibilityError(
        operation,
        {"layout": layout, "n": n},
        condition,
        "use a power of two that divides the offset, at most 2**base for a negative shift",
    )


@overload
def recast_layout(layout: ComposedLayout, old_bits: int, new_bits: int) -> ComposedLayout: ...
@overload
def recast_layout(layout: Layout, old_bits: int, new_bits: int) -> Layout: ...
@typed
def recast_layout(layout: Any, old_bits: int, new_bits: int) -> Any:
    """Return a layout of ``old_bits`` elements in units of ``new_bits``, plain or swizzled.

    Law: `downcast` to the common width, then `upcast`. Raises as those do, and `ShapeError` for
    widths below 1. C++: ``recast_layout``.

    >>> X = ComposedLayout(Swizzle(2, 4, 3), 0, Layout((8, 64), (64, 1)))
    >>> print(recast_layout(X, 8, 32))
    Sw<2,2,3> o 0 o (8,16):(16,1)
    """
    if type(layout) is not ComposedLayout:
        return recast.recast_layout(layout, old_bits, new_bits)
    if old_bits < 1 or new_bits < 1:
        recast.recast_layout(layout.layout, old_bits, new_bits)  # refuses
    shared = gcd(old_bits, new_bits)
    narrow = downcast(layout, old_bits // shared) if old_bits != shared else layout
    return upcast(narrow, new_bits // shared) if new_bits != shared else narrow


# ------------------------------------------------------------ composing

Seen = TypeVar("Seen", bound=Placed)


@overload
def composition(a: Swizzle, b: Swizzle) -> Swizzle: ...
@overload
def composition(a: Swizzle, b: Layout) -> Layout | ComposedLayout: ...
@overload
def composition(a: Swizzle, b: int, c: Layout) -> Layout | ComposedLayout: ...
@overload
def composition(a: ComposedLayout, b: Tiler) -> ComposedLayout: ...
@overload
def composition(a: Layout, b: Tiler) -> Layout: ...
@overload
def composition(a: Seen, b: Tiler) -> Seen: ...
def composition(a: Any, b: Any, c: Layout | None = None) -> Any:
    """Return ``a ∘ b`` for layouts, tilers and swizzles; ``composition(swizzle, offset, layout)``.

    Law: ``composition(a, b)(c) == a(b(c))``. Plain layouts and tilers as in
    `pycute_xe.algebra.compose`. A swizzle of a layout is a `ComposedLayout` (the layout itself
    where the swizzle has no bits); reading a composed layout through ``b`` rearranges the layout
    within; a layout of a swizzle is a swizzle of the layout where its strides move whole bits.
    Raises `DivisibilityError` where they do not, or where ``a`` has another size than whole blocks
    of the swizzle; `ShapeError` where the bits that meet are not two runs. A tensor is read through
    ``b``, its data stay. C++: ``composition``, ``Tensor::compose``.

    >>> print(composition(Swizzle(2, 4, 3), Layout((8, 64), (64, 1))))
    Sw<2,4,3> o 0 o (8,64):(64,1)
    >>> print(composition(Layout((8, 8), (8, 1)), Swizzle(1, 0, 3)))
    Sw<1,0,-3> o 0 o (8,8):(8,1)
    """
    if type(a) is type(b) is Layout and c is None:
        return compose.composition(a, b)
    if isinstance(a, Swizzle):
        if isinstance(b, Swizzle):
            return _merged(a, b)
        offset, inner = (0, b) if c is None else (b, c)
        plain_ = a.bits == 0 and offset == 0 and isinstance(inner, Layout)
        return inner if plain_ else ComposedLayout(a, offset, inner)
    if c is not None:
        raise ShapeError(
            "composition",
            {"a": a, "b": b, "c": c},
            "an offset and a layout follow a swizzle only",
            "composition(swizzle, offset, layout), or compose two at a time",
        )
    if hasattr(a, "rearranged"):
        return a.rearranged(compose.composition(a.beneath, b))
    general = _of_functions(a, b)
    if general is not None:
        return general
    if isinstance(a, ComposedLayout):
        return a.with_layout(compose.composition(a.layout, b))
    if isinstance(b, Swizzle):
        return _through(a, b)
    if isinstance(b, ComposedLayout):
        return _through_swizzled(a, b)
    return compose.composition(a, b)


def _of_functions(a: Any, b: Any) -> Any:
    """Return the composition of chains and of layouts of XOR strides, ``None`` for others."""
    if isinstance(a, Chained):
        inner: Any = a.inner
        return a.with_inner(composition(inner, b))
    if isinstance(b, Chained):
        return Chained(a, 0, b)
    if isinstance(a, F2Layout) and b in (plain.size(a), Layout(plain.size(a))):
        return bits.coalesced(a)  # read in its own order, whatever its extents
    if isinstance(a, F2Layout) and (type(b) is int or isinstance(b, (Layout, ComposedLayout))):
        return bits.composed_bits(a, as_f2(Layout(b) if isinstance(b, int) else b))
    if isinstance(b, F2Layout) and isinstance(a, (Layout, ComposedLayout, F2Layout)):
        return bits.composed_bits(as_f2(a), b)
    return None


def _through_swizzled(a: Layout, b: ComposedLayout) -> ComposedLayout:
    """Return a layout of a swizzled layout as a swizzle of a layout."""
    if b.offset:
        raise DivisibilityError(
            "composition",
            {"a": a, "b": b},
            f"the offset {b.offset} of b is not zero",
            "compose with its layout, and add the offset of a by hand",
        )
    reached, end = plain.cosize(b.layout), plain.size(a)
    if reached > end:
        raise DivisibilityError(
            "composition",
            {"a": a, "b": b},
            f"b reaches offset {reached - 1}, beyond the {end} indices of a",
            "use an a with as many, since beyond them its bits move on unevenly",
        )
    outer = _through(a, b.swizzle)
    return outer.with_layout(compose.composition(outer.layout, b.layout))


def _merged(a: Swizzle, b: Swizzle) -> Swizzle:
    """Return one swizzle for two, where there is one: linear in bits, so bits decide."""
    merged = make_swizzle(a.yyy_mask ^ b.yyy_mask, a.zzz_mask ^ b.zzz_mask)
    for i in range(max(a.block, b.block, a.yyy_mask + 1, b.yyy_mask + 1).bit_length()):
        if merged(1 << i) != a(b(1 << i)):
            raise ShapeError(
                "composition",
                {"a": a, "b": b},
                "the product of a and b is not one swizzle",
                "compose swizzles of one shift whose bits do not meet",
            )
    return merged


def _through(a: Layout, b: Swizzle) -> ComposedLayout:
    """Return the swizzle that acts on offsets of ``a`` as ``b`` acts on its indices."""
    modes = compose.flat_modes(compose.coalesce(a))
    end = plain.size(a)
    if end % b.block or any(s & (s - 1) for s, _ in modes[:-1]):
        raise DivisibilityError(
            "composition",
            {"a": a, "b": b},
            f"b exchanges bits within {b.block} indices, which a does not keep together",
            f"use extents of powers of two, together a multiple of {b.block}",
        )
    as_f2(a)  # refuses where a adds with carries: then its offsets are not linear in bits
    swizzle = make_swizzle(a(b.yyy_mask), a(b.zzz_mask))
    for i in range((end - 1).bit_length()):
        if swizzle(a(1 << i)) != a(b(1 << i)):
            raise ShapeError(
                "composition",
                {"a": a, "b": b},
                f"the strides of a move the bit {i} away from where {swizzle} finds it",
                "use strides that keep the bits of the swizzle together",
            )
    return ComposedLayout(swizzle, 0, a)


def right_inverse(layout: AnyLayout) -> AnyLayout:
    """Return the longest ``R`` with ``layout(R(i)) == i``, for a plain or a swizzled layout.

    Law: ``layout(R(i)) == i`` for ``0 <= i < size(R)``. Raises as `pycute_xe.algebra.inverse` and,
    for a swizzled layout, as `composition` of the inverse with the swizzle. C++: same name.

    >>> print(right_inverse(ComposedLayout(Swizzle(1, 0, 3), 0, Layout((8, 8), (8, 1)))))
    Sw<1,0,-3> o 0 o (8,8):(8,1)
    """
    return _inverted("right_inverse", inverse.right_inverse, layout)


def left_inverse(layout: AnyLayout) -> AnyLayout:
    """Return ``R`` with ``R(layout(i)) == i``, for a plain or a swizzled injective layout.

    Law: ``R(layout(i)) == i`` for ``0 <= i < size(layout)``. Raises as `right_inverse` does.
    C++: same name.

    >>> X = ComposedLayout(Swizzle(1, 0, 3), 0, Layout((8, 8), (8, 1)))
    >>> [left_inverse(X)(X(i)) for i in (0, 1, 9, 63)]
    [0, 1, 9, 63]
    """
    return _inverted("left_inverse", inverse.left_inverse, layout)


def _inverted(operation: str, invert: Callable[[Layout], Layout], layout: Any) -> Any:
    if type(layout) is Layout:
        return invert(layout)
    if type(layout) is Chained and operation == "left_inverse":
        return _left_inverse_of_chain(layout)
    if isinstance(layout, F2Layout):
        return (
            bits.left_inverse_of_bits(layout)
            if operation == "left_inverse"
            else bits.right_inverse_of_bits(layout)
        )
    if not isinstance(layout, ComposedLayout):
        plain_layout: Any = layout
        return invert(plain_layout)
    if layout.offset:
        raise DivisibilityError(
            operation,
            {"layout": layout},
            f"the layout starts at offset {layout.offset}",
            "invert the layout without its offset",
        )
    # A swizzle is its own inverse.
    return _through(invert(layout.layout), layout.swizzle)


def _left_inverse_of_chain(layout: Chained) -> Chained:
    """Return the inverses of the parts, the other way round, with the offset taken off between."""
    inverse_of: Any = left_inverse
    reached = [layout.offset + value for value in values_of("left_inverse", layout.inner)]
    if isinstance(layout.outer, Swizzle):
        # A swizzle is its own inverse, on as many offsets as the chain reaches.
        end = max(map(layout.outer, reached)) + 1
        undone: Any = ComposedLayout(layout.outer, 0, Layout(end))
    else:
        undone = inverse_of(layout.outer)
        if any(undone(layout.outer(index)) != index for index in reached):
            raise DivisibilityError(
                "left_inverse",
                {"layout": layout},
                f"{layout.outer} does not tell the indices apart that the inner function reaches",
                "use an injective outer function that has them all",
            )
    return Chained(inverse_of(layout.inner), -layout.offset, undone)
