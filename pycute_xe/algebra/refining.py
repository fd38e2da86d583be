"""Shapes that refine each other, and modes gathered or kept where `coalesce` drops them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycute_xe.algebra.compose import flat_modes, from_modes
from pycute_xe.algebra.inverse import zip_modes
from pycute_xe.errors import DivisibilityError, RankError
from pycute_xe.int_tuple import product
from pycute_xe.layout import Layout, make_layout
from pycute_xe.signatures import typed
from pycute_xe.typing import IntTuple, Mode, Shape, Tiler, is_tuple, naming

__all__ = ["coalesce_z", "common_coarsening", "common_refinement", "hier_unzip"]


@typed
@naming
def coalesce_z(layout: Layout, profile: IntTuple = None) -> Layout:
    """Return the same function of every integer with as few modes as its order allows, flat.

    Law: ``coalesce_z(L)(i) == L(i)`` for every ``i >= 0``, also past ``size(L)``, where the last
    mode goes on; so a last mode of extent 1 stays, which `coalesce` drops. With a ``profile`` as
    `coalesce`. Raises `RankError` when the profile has more modes than the layout. The counterpart
    is in NVIDIA's PyCuTe; C++ has none.

    >>> print(coalesce_z(Layout((2, 1, 6, 1), (1, 7, 8, 0))))
    (2,6,1):(1,8,0)
    """
    if is_tuple(profile):
        if len(profile) > len(layout):
            raise RankError(
                "coalesce_z",
                {"layout": layout, "profile": profile},
                f"the profile has {len(profile)} modes, the layout {len(layout)}",
                "give at most one entry for each mode",
            )
        parts = [coalesce_z(mode, entry) for mode, entry in zip(layout, profile, strict=False)]
        return make_layout(*parts, *list(layout)[len(profile) :])
    modes = flat_modes(layout)
    out: list[Mode] = []
    for i, (s, d) in enumerate(modes):
        if s == 1 and i != len(modes) - 1:
            continue
        if out and out[-1][0] * out[-1][1] == d:
            extent, stride = out.pop()
            s, d = extent * s, stride
        out.append((s, d))
    return from_modes(out)


@typed
@naming
def common_refinement(a: Layout | Shape, b: Layout | Shape) -> Shape:
    """Return the coarsest shape whose coordinates both shapes take.

    Law: ``compatible(a, c)`` and ``compatible(b, c)``, and every other such shape refines ``c``;
    symmetric. Of layouts the shapes count. Raises `DivisibilityError` where no shape refines both.
    The counterpart is in NVIDIA's PyCuTe; C++ has none.

    >>> common_refinement((4, (3, 5)), ((2, 2), 15))
    ((2, 2), (3, 5))
    """
    return _refined(_shape(a), _shape(b), lambda x, y: _no_refinement(a, b, x, y))


def _refined(a: Shape, b: Shape, refusal: Callable[[Shape, Shape], DivisibilityError]) -> Shape:
    if is_tuple(a) and is_tuple(b):
        if len(a) != len(b):
            raise refusal(a, b)
        return tuple(_refined(x, y, refusal) for x, y in zip(a, b, strict=True))
    if product(a) != product(b):
        raise refusal(a, b)
    return b if is_tuple(b) else a


def _no_refinement(a: Any, b: Any, x: Shape, y: Shape) -> DivisibilityError:
    why = "differ in their modes" if is_tuple(x) and is_tuple(y) else "differ in size"
    return DivisibilityError(
        "common_refinement",
        {"a": a, "b": b},
        f"{x} and {y} {why}, so that no shape refines both",
        "use common_coarsening, or coalesce both first",
    )


@typed
@naming
def common_coarsening(a: Layout | Shape, b: Layout | Shape) -> Shape:
    """Return the finest shape that takes the coordinates of both shapes.

    Law: ``compatible(c, a)`` and ``compatible(c, b)``, and ``c`` refines every other such shape;
    symmetric. Of layouts the shapes count. Raises `DivisibilityError` where the sizes differ. The
    counterpart is in NVIDIA's PyCuTe; C++ has none.

    >>> common_coarsening((4, (3, 5)), ((2, 2), 15)), common_coarsening((6, 5), (2, 15))
    ((4, 15), 30)
    """
    x, y = _shape(a), _shape(b)
    if product(x) != product(y):
        raise DivisibilityError(
            "common_coarsening",
            {"a": a, "b": b},
            f"the sizes {product(x)} and {product(y)} differ",
            "use shapes of one size",
        )
    return _coarsened(x, y)


def _coarsened(a: Shape, b: Shape) -> Shape:
    if is_tuple(a) and is_tuple(b) and len(a) == len(b):
        pairs = list(zip(a, b, strict=True))
        if all(product(x) == product(y) for x, y in pairs):
            return tuple(_coarsened(x, y) for x, y in pairs)
    return product(a)


def _shape(value: Layout | Shape) -> Shape:
    return value.shape if isinstance(value, Layout) else Layout(value).shape


@typed
def hier_unzip(split: Callable[[Layout, Tiler], Layout], layout: Layout, tiler: Tiler) -> Layout:
    """Return a layout split mode by mode, with the first and the second parts gathered.

    ``split(mode, entry)`` gives two modes; the result is ``((first_0, …), (second_0, …))``, modes
    without an entry among the second. Law: ``hier_unzip(logical_divide, L, t)`` is
    ``zipped_divide(L, t)``, and the same for products. Raises as ``split`` does, and `RankError`
    where the tiler has more entries than the layout modes. Counterpart: pycute's ``hier_unzip``.

    >>> from pycute_xe.algebra import logical_divide
    >>> print(hier_unzip(logical_divide, Layout((8, 16)), (4, 8)))
    ((4,8),(2,2)):((1,8),(4,64))
    """
    if tiler is None:
        return make_layout(layout, Layout(1, 0))
    if not is_tuple(tiler):
        return split(layout, tiler)
    firsts, seconds = zip_modes(_split(split, layout, tiler), tiler)
    return make_layout(make_layout(*firsts), make_layout(*seconds))


def _split(split: Callable[[Layout, Tiler], Layout], layout: Layout, tiler: Tiler) -> Layout:
    if tiler is None:
        return layout
    if not is_tuple(tiler):
        return split(layout, tiler)
    if len(tiler) > len(layout):
        raise RankError(
            "hier_unzip",
            {"layout": layout, "tiler": tiler},
            f"the tiler has {len(tiler)} entries, the layout {len(layout)} modes",
            "give at most one entry for each mode",
        )
    parts = [_split(split, layout[i], entry) for i, entry in enumerate(tiler)]
    return make_layout(*parts, *list(layout)[len(tiler) :])
