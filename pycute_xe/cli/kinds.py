"""Floor 12: the kinds of operands that operations take, and what a user gave instead."""

from __future__ import annotations

from typing import Any

from pycute_xe.basis import Basis
from pycute_xe.composed import ComposedLayout
from pycute_xe.f2 import F2Layout
from pycute_xe.layout import Layout
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import is_tuple

__all__ = ["WANTED", "described", "is_kind"]

WANTED = {
    "any": "a layout",
    "layout": "a layout without a swizzle",
    "map": "a layout or a swizzle",
    "inner": "a layout, a tiler or a swizzle",
    "shaped": "a layout or a shape",
    "part": "a layout, a shape or strides",
    "tiler": "a layout, an integer, _ or a tuple of those",
    "shape": "an integer or a tuple of integers",
    "strides": "an integer, a basis element or a tuple of those",
    "coord": "an integer, _ or a tuple of those",
    "int": "an integer",
    "bits": "an integer of at most 64",
    "swizzle": "a swizzle",
}
"""What a kind is called."""

_CLASSES: dict[str, tuple[type, ...]] = {
    "any": (Layout, ComposedLayout),
    "layout": (Layout,),
    "map": (Layout, ComposedLayout, Swizzle),
    "swizzle": (Swizzle,),
}
_TREES: dict[str, tuple[type, ...]] = {
    "inner": (Layout, int, type(None)),
    "shaped": (int,),
    "part": (int, Basis),
    "tiler": (Layout, int, type(None)),
    "shape": (int,),
    "strides": (int, Basis),
    "coord": (int, type(None)),
}
_ALSO: dict[str, tuple[type, ...]] = {
    "inner": (ComposedLayout, Swizzle),
    "shaped": (Layout, ComposedLayout),
    "part": (Layout,),
}


def is_kind(value: Any, kind: str) -> bool:
    """Tell whether a value is an operand of a kind.

    >>> is_kind((4, None), "tiler"), is_kind((4, None), "shape")
    (True, False)
    """
    if kind in _CLASSES:
        return isinstance(value, _CLASSES[kind])
    if kind in ("int", "bits"):
        return type(value) is int and (kind == "int" or abs(value) <= 64)
    return isinstance(value, _ALSO.get(kind, ())) or _is_tree(value, _TREES[kind])


def _is_tree(value: Any, leaves: tuple[type, ...]) -> bool:
    if is_tuple(value):
        return all(_is_tree(part, leaves) for part in value)
    return isinstance(value, leaves) and not isinstance(value, bool)


def described(value: Any) -> str:
    """Say what a value is, with the value.

    >>> described((4, 8)), described(Layout(4))
    ('the tuple (4, 8)', 'the layout 4:1')
    """
    if value is None:
        return "_"
    if isinstance(value, bool):
        return f"the truth value {value}"
    names: dict[type, str] = {
        Layout: "layout",
        ComposedLayout: "swizzled layout",
        F2Layout: "layout of XOR strides",
        Swizzle: "swizzle",
        Basis: "basis element",
        int: "integer",
    }
    name = next((name for kind, name in names.items() if isinstance(value, kind)), "tuple")
    return f"the {name} {value}"
