"""Floor 7: subgroups beside those of an MMA, which do by number what the first ones do."""

from __future__ import annotations

from dataclasses import replace

from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.composed import ComposedLayout
from pycute_xe.kernel.ir.statements import (
    AtomicStore,
    If,
    Load,
    Loop,
    Prefetch,
    SharedLoad,
    SharedStore,
    Statement,
    Store,
)
from pycute_xe.layout import Layout, make_layout

__all__ = ["doubled"]


def doubled(statement: Statement) -> Statement:
    """Return a statement in which subgroups beyond those of the MMA do what the first ones do."""
    match statement:
        case Loop() | If():
            return replace(statement, body=tuple(map(doubled, statement.body)))
        case Load() | Prefetch() | Store() | AtomicStore():
            return replace(statement, copy=_doubled_copy(statement.copy))
        case SharedStore() | SharedLoad():
            return replace(statement, places=_doubled_places(statement.places))
        case _:
            return statement


def _doubled_copy(copy: TiledCopy) -> TiledCopy:
    threads, values = copy.layout_tv_tiled
    return replace(copy, layout_tv_tiled=make_layout(make_layout(threads, Layout(2, 0)), values))


def _doubled_places(places: Layout | ComposedLayout) -> Layout | ComposedLayout:
    if isinstance(places, ComposedLayout):
        inner = _doubled_places(places.layout)
        return replace(places, layout=inner)
    subgroups, elements = places
    return make_layout(make_layout(subgroups, Layout(2, 0)), elements)
