"""Floor 12: what an expression may call, and with what.

Every operation of the algebra that takes layouts, and what makes layouts; nothing else can be
called. Each stands with the kinds of its operands: ``?`` marks an operand that may be left out,
``*`` any number of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pycute_xe import algebra, layout
from pycute_xe.algebra import swizzled
from pycute_xe.basis import E
from pycute_xe.composed import ComposedLayout
from pycute_xe.f2 import as_f2
from pycute_xe.swizzle import Swizzle, make_swizzle

__all__ = ["OPERATIONS", "Operation"]


@dataclass(frozen=True)
class Operation:
    """A function, and the kinds of its operands as text."""

    function: Callable[..., Any]
    text: str

    @property
    def name(self) -> str:
        """Its name."""
        return self.function.__name__

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the operands by place, without marks."""
        return tuple(kind.rstrip("?*") for kind in self.text.split())

    @property
    def required(self) -> int:
        """How many operands there must be."""
        return sum(kind[-1] not in "?*" for kind in self.text.split())

    @property
    def open(self) -> bool:
        """Whether the last operand may be repeated."""
        return self.text.endswith("*")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the operands, as far as they have their own."""
        found = inspect.signature(self.function).parameters.values()
        return tuple(p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD)

    @property
    def usage(self) -> str:
        """How it is called.

        >>> OPERATIONS["complement"].usage
        'complement(layout[, cotarget])'
        """
        names = list(self.names[: len(self.kinds)])
        must, may = names[: self.required], names[self.required :]
        repeated = ["…"] if self.open else []
        shown = ", ".join([*must, *repeated])
        return f"{self.name}({shown}{''.join(f'[, {name}]' for name in may)})"


_ON_ANY = {
    "append": "any any bits?",
    "as_f2": "any",
    "blocked_product": "any layout",
    "coalesce": "any shape?",
    "composition": "map inner layout?",
    "cosize": "any",
    "downcast": "any int",
    "flat_divide": "any tiler",
    "flat_product": "any tiler",
    "flatten": "any",
    "get": "any int*",
    "group": "any int int",
    "left_inverse": "any",
    "logical_divide": "any tiler",
    "logical_product": "any tiler",
    "max_common_layout": "any any",
    "max_common_vector": "any any",
    "prepend": "any any bits?",
    "raked_product": "any layout",
    "recast_layout": "any int int",
    "right_inverse": "any",
    "select": "any int*",
    "slice_": "coord any",
    "slice_and_offset": "coord any",
    "take": "any int int",
    "tile_to_shape": "any shape shape?",
    "tiled_divide": "any tiler",
    "tiled_product": "any tiler",
    "upcast": "any int",
    "with_shape": "any shape*",
    "zipped_divide": "any tiler",
    "zipped_product": "any tiler",
}
_ON_PLAIN = {
    "complement": "layout shape?",
    "filter": "layout",
    "filter_zeros": "layout",
    "functionally_equal": "layout layout",
    "greatest_common_domain": "shaped shaped",
    "image": "layout",
    "is_bijective": "layout",
    "is_contiguous": "layout",
    "is_injective": "layout",
    "is_surjective": "layout",
    "layout_add": "layout layout",
    "make_layout_like": "layout",
    "nullspace": "layout",
    "sort": "layout",
}
_OF_LAYOUTS = {
    "coshape": "layout",
    "depth": "shaped",
    "dice": "coord layout",
    "make_identity_layout": "shape",
    "make_ordered_layout": "shape shape",
    "rank": "shaped int*",
    "replace": "layout int layout",
    "shape": "any int*",
    "size": "shaped int*",
    "stride": "layout int*",
    "unflatten": "layout shape",
}


def _table() -> dict[str, Operation]:
    found = {
        "as_f2": Operation(as_f2, _ON_ANY["as_f2"]),
        "make_layout": Operation(layout.make_layout, "part part*"),
        "Layout": Operation(layout.Layout, "shape strides?"),
        "ComposedLayout": Operation(ComposedLayout, "swizzle int layout"),
        "Swizzle": Operation(Swizzle, "bits bits bits"),
        "make_swizzle": Operation(make_swizzle, "int int"),
        "E": Operation(E, "int int*"),
    }
    for home, texts in ((swizzled, _ON_ANY), (algebra, _ON_PLAIN), (layout, _OF_LAYOUTS)):
        for name, text in texts.items():
            if name not in found:
                found[name] = Operation(getattr(home, name), text)
    return dict(sorted(found.items()))


OPERATIONS = _table()
