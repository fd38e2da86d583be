"""Layouts of coordinates taken apart: the modes that move along each axis, and back together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycute_xe.algebra.compose import as_tiler, flat_modes, from_modes, joined, merged
from pycute_xe.basis import Basis, BasisSum, E
from pycute_xe.errors import ShapeError
from pycute_xe.layout import Layout, make_layout
from pycute_xe.signatures import typed
from pycute_xe.typing import Mode, Stride, Tiler, adopted, is_integer, is_tuple, naming

__all__ = [
    "Path",
    "Placed",
    "along",
    "axes_of",
    "by_axis",
    "entry_of",
    "nested_by",
    "tiler_to_layout",
]

Path = tuple[int, ...]
"""The modes of a basis element, outermost first: where an axis stands among coordinates."""

Placed = tuple[Any, Any, Any]
"""A mode with its place: extent, stride, and the index at which it takes its first step."""


def axes_of(operation: str, layout: Layout) -> dict[Path, list[Placed]]:
    """Return the modes that move along each axis, with the index at which each starts.

    Strides are those along the axis; what does not move is left out. Raises `ShapeError` for
    offsets among coordinates and for an axis that holds another one.

    >>> from pycute_xe.basis import E
    >>> axes_of("axes", Layout((2, 3, 4), (E(0), E(1), 2 * E(0))))
    {(0,): [(2, 1, 1), (4, 2, 6)], (1,): [(3, 1, 2)]}
    """
    out: dict[Path, list[Placed]] = {}
    where: Any = 1
    for s, d in merged(flat_modes(layout)):
        if isinstance(d, Basis):
            out.setdefault(d.modes, []).append((s, d.value, where))
        elif d != 0:
            what = "along several axes at once" if isinstance(d, BasisSum) else "an offset"
            raise ShapeError(
                operation,
                {"layout": layout},
                f"the stride {d} is {what} among coordinates",
                "give each stride one axis, or all of them none",
            )
        where = where * s
    for path in out:
        for other in out:
            if path != other and other[: len(path)] == path:
                raise ShapeError(
                    operation,
                    {"layout": layout},
                    f"{Basis(1, path)} moves along an axis that {Basis(1, other)} divides",
                    "use one of the two depths",
                )
    return out


def along(layout: Layout, path: Path, modes: list[Mode]) -> Layout:
    """Return modes as a layout of the coordinates along one axis.

    >>> print(along(Layout(1), (1,), [(4, 1), (2, 8)]))
    (4,2):(1@1,8@1)
    """
    del layout
    return from_modes([(s, Basis(d, path) if d != 0 else 0) for s, d in modes])


def nested_by(parts: dict[Path, Layout], at: Path = ()) -> Layout:
    """Return the layout whose mode at each path is the part of that path, ``1:0`` where none is.

    >>> print(nested_by({(0,): Layout(4), (1, 1): Layout(2)}))
    (4,(1,2)):(1,(0,1))
    """
    if at in parts:
        return parts[at]
    inside = [path[len(at)] for path in parts if path[: len(at)] == at and len(path) > len(at)]
    if not inside:
        return Layout(1, 0)
    return make_layout(*(nested_by(parts, (*at, i)) for i in range(max(inside) + 1)))


def by_axis(operation: str, layout: Layout, part: Callable[[list[Placed]], list[Mode]]) -> Layout:
    """Return a layout on coordinates, made axis by axis of the modes that move along each.

    >>> from pycute_xe.basis import E
    >>> L = Layout((2, 3), (E(1), E(0)))
    >>> print(by_axis("axes", L, lambda modes: [(s, at) for s, _, at in modes]))
    (3,2):(2,1)
    """
    axes = axes_of(operation, layout)
    return nested_by({path: joined(part(modes)) for path, modes in axes.items()})


def entry_of(tree: Any, path: Path) -> Any:
    """Return the part of a shape of coordinates at an axis, 1 where the shape has none there.

    >>> entry_of((4, (8, 2)), (1, 0)), entry_of((4,), (1,))
    (8, 1)
    """
    for mode in path:
        if not is_tuple(tree) or mode >= len(tree):
            return 1
        tree = tree[mode]
    return tree


@typed
@naming
def tiler_to_layout(tiler: Tiler) -> Layout:
    """Return the layout that composes as a tiler does: entries of a tuple move along its axes.

    Law: ``composition(L, tiler_to_layout(t)) == composition(L, t)``, and ``logical_divide`` by it
    is ``zipped_divide`` by the tiler. Raises `ShapeError` for what is not a tiler, and for
    ``None``, whose extent the layout decides. The counterpart is in NVIDIA's PyCuTe.

    >>> print(tiler_to_layout((4, 5)), tiler_to_layout((Layout(4, 2), (2, 3))))
    (4,5):(1@0,1@1) (4,(2,3)):(2@0,(1@0@1,1@1@1))
    """
    if not is_tuple(tiler):
        return as_tiler(tiler)
    # An integer moves along its axis even where it is 1, which as a layout does not move.
    parts = [
        Layout(entry, 1) if is_integer(adopted(entry)) else tiler_to_layout(entry)
        for entry in tiler
    ]
    shapes = tuple(part.shape for part in parts)
    return Layout(shapes, tuple(_moved(part.stride, i) for i, part in enumerate(parts)))


def _moved(stride: Stride, axis: int) -> Stride:
    """Return strides as those along one axis of coordinates."""
    if isinstance(stride, BasisSum):
        return BasisSum(tuple(Basis(term.value, (axis, *term.modes)) for term in stride.terms))
    if isinstance(stride, Basis):
        return Basis(stride.value, (axis, *stride.modes))
    return tuple(_moved(d, axis) for d in stride) if is_tuple(stride) else E(axis) * stride
