"""What an expression is worth. Nothing is executed but the operations of the table."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NoReturn

from pycute_xe import algebra, layout
from pycute_xe.algebra import composition, swizzled
from pycute_xe.basis import Basis, E
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import quoted
from pycute_xe.expressions import reading as syntax
from pycute_xe.f2 import F2Layout, as_f2
from pycute_xe.layout import Layout
from pycute_xe.swizzle import Swizzle, make_swizzle
from pycute_xe.typing import is_tuple

__all__ = ["Applied", "evaluate", "outermost", "OPERATIONS"]

# ------------------------------------------------------------ operations
# What an expression may call, and with what.
#
# Every operation of the algebra that takes layouts, and what makes layouts; nothing else can be
# called. Each stands with the kinds of its operands: ``?`` marks an operand that may be left out,
# ``*`` any number of them.


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
        """The names of the operands, as far as they have their own; ``*modes`` stands for several.

        >>> OPERATIONS["make_layout"].names, OPERATIONS["get"].names
        (('*parts', 'stride'), ('layout', '*modes'))
        """
        out: list[str] = []
        for parameter in inspect.signature(self.function).parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                out.append(f"*{parameter.name}")
            elif parameter.kind is parameter.POSITIONAL_OR_KEYWORD or "*" in [n[0] for n in out]:
                out.append(parameter.name)
        return tuple(out)

    @property
    def usage(self) -> str:
        """How it is called.

        >>> OPERATIONS["complement"].usage
        'complement(layout[, cotarget])'
        """
        names = self.names[: len(self.kinds)]
        must, may = (
            [name for name in some if name[0] != "*"]
            for some in (names[: self.required], names[self.required :])
        )
        repeated = ["…"] if self.open else []
        shown = ", ".join([*must, *repeated])
        return f"{self.name}({shown}{''.join(f'[, {name}]' for name in may)})"


_ON_ANY = {
    "append": "any any bits?",
    "append_ones": "any bits?",
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
    "get_nonswizzle_portion": "any",
    "get_swizzle_portion": "any",
    "group": "any int int",
    "left_inverse": "any",
    "logical_divide": "any tiler",
    "logical_product": "any tiler",
    "max_common_layout": "any any",
    "max_common_vector": "any any",
    "prepend": "any any bits?",
    "prepend_ones": "any bits?",
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
    "coalesce_z": "layout shape?",
    "common_coarsening": "shaped shaped",
    "common_refinement": "shaped shaped",
    "complement": "layout shape?",
    "filter": "layout",
    "filter_zeros": "layout",
    "functionally_equal": "any any",
    "greatest_common_domain": "shaped shaped",
    "image": "any",
    "is_bijective": "any",
    "is_contiguous": "layout",
    "is_injective": "any",
    "is_surjective": "any",
    "layout_add": "layout layout",
    "make_layout_image_mask": "layout coord int",
    "make_layout_like": "layout",
    "make_layout_tv": "layout layout",
    "nullspace": "layout",
    "sort": "layout",
    "tiler_to_layout": "tiler",
}
_OF_LAYOUTS = {
    "coshape": "layout",
    "depth": "shaped",
    "is_major": "shape strides",
    "leading_dim": "shape strides",
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
    operations = {
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
            if name not in operations:
                operations[name] = Operation(getattr(home, name), text)
    return dict(sorted(operations.items()))


OPERATIONS = _table()


# ------------------------------------------------------------ kinds
# The kinds of operands that operations take, and what a user gave instead.

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


# ------------------------------------------------------------ evaluation

Applied = tuple[Any, tuple[Any, ...]]
"""An operation, or a layout that is called, and its operands."""


def evaluate(text: str) -> Any:
    """Return the value of an expression: a layout, a number, a tuple.

    Raises `ExpressionError` for what cannot be read, unknown names and operands of the wrong
    kind, with the column; and whatever the operations raise.

    >>> print(evaluate("composition((6,2):(8,2), (4,3):(3,1))"))
    ((2,2),3):((24,2),8)
    >>> print(evaluate("((4,8):(8,1))(2, _)"), evaluate("size(((2,4),8):((1,16),2))"))
    (8):(1) 64
    """
    return _Evaluator(text).value(syntax.parse_expression(text))


def outermost(text: str) -> Applied:
    """Return the outermost operation of an expression and the values of its operands.

    Raises as `evaluate`, and `ExpressionError` where nothing is applied to anything.

    >>> operation, operands = outermost("size(coalesce((2,4):(1,2)))")
    >>> operation.__name__, [str(value) for value in operands]
    ('size', ['8:1'])
    """
    node = syntax.parse_expression(text)
    while isinstance(node, syntax.Group):
        node = node.item
    evaluator = _Evaluator(text)
    if isinstance(node, syntax.Call):
        return evaluator.call(node)
    if isinstance(node, syntax.Compose):
        return evaluator.compose(node)
    raise syntax.ExpressionError(
        text,
        node.column,
        "the expression applies no operation",
        "as in composition(8:1, 4:2)",
    )


class _Evaluator:
    """Values of nodes of one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def error(self, node: syntax.Node, condition: str, fix: str) -> syntax.ExpressionError:
        """Return what is wrong with a node."""
        return syntax.ExpressionError(self.text, node.column, condition, fix)

    def fail(self, node: syntax.Node, condition: str, fix: str) -> NoReturn:
        """Refuse a node."""
        raise self.error(node, condition, fix)

    def value(self, node: syntax.Node) -> Any:
        """Return the value of a node."""
        match node:
            case syntax.Number(_, number, path):
                return Basis(number, path[::-1]) if path else number
            case syntax.Keep():
                return None
            case syntax.SwizzleText(_, numbers):
                self.demand(node, numbers, ("bits",) * 3, "Sw<bits,base,shift>")
                return Swizzle(*numbers)
            case syntax.Group(_, item):
                return self.value(item)
            case syntax.Tuple(_, items):
                return tuple(map(self.value, items))
            case syntax.Pair(_, shape, stride):
                return Layout(self.tree(shape, "shape"), self.tree(stride, "strides"))
            case syntax.Product():
                return self.product(node)
            case _:
                return self.applied(node)

    def applied(self, node: syntax.Node) -> Any:
        """Return the value of a node that applies something."""
        match node:
            case syntax.Index(_, of, mode):
                layout = self.value(of)
                if not is_kind(layout, "any"):
                    self.fail(node, f"{described(layout)} has no modes to index", "a layout has")
                return layout[mode]
            case syntax.Compose():
                function, operands = self.compose(node)
                return function(*operands)
            case syntax.Call():
                function, operands = self.call(node)
                return function(*operands)
            case _:
                text = node.text if isinstance(node, syntax.Name) else ""
                fix = OPERATIONS[text].usage if text in OPERATIONS else self.nearest(text)
                raise self.error(node, f"the name {quoted(text)} stands alone", fix)

    def tree(self, node: syntax.Node, kind: str) -> Any:
        """Return the shape or the strides of a layout; ``(4)`` next to a colon is a tuple."""
        match node:
            case syntax.Group(_, item):
                return (self.tree(item, kind),)
            case syntax.Tuple(_, items):
                return tuple(self.tree(item, kind) for item in items)
            case _:
                value = self.value(node)
                self.demand(node, (value,), (kind,), "shape:stride")
                return value

    def product(self, node: syntax.Product) -> Any:
        """Multiply integers and at most one basis element."""
        number: int = -1 if node.negative else 1
        unit: Any = 1
        for factor in node.factors:
            value = self.value(factor)
            if isinstance(value, Basis) and unit == 1:
                unit = value
            elif type(value) is int:
                number *= value
            else:
                condition = f"{described(value)} cannot be a factor here"
                self.fail(factor, condition, "multiply integers, or one E(i) by them")
        return number * unit

    def compose(self, node: syntax.Compose) -> Applied:
        """Return what composes two values, or a swizzle, an offset and a layout."""
        values = tuple(map(self.value, node.parts))
        if len(values) == 2:
            self.demand(node, values, ("map", "inner"), "A o B")
            return composition, values
        if len(values) == 3:
            self.demand(node, values, ("swizzle", "int", "layout"), "swizzle o offset o layout")
            return ComposedLayout, values
        parts = f"{len(values)} parts are joined by o"
        raise self.error(node, parts, "A o B, and brackets for more")

    def call(self, node: syntax.Call) -> Applied:
        """Return an operation and its operands, or a layout and a coordinate."""
        if isinstance(node.callee, syntax.Name):
            name = node.callee.text
            if name not in OPERATIONS:
                self.fail(node.callee, f"unknown operation {quoted(name)}", self.nearest(name))
            operation = OPERATIONS[name]
            operands = self.operands(operation, node)
            if name == "composition" and len(operands) == 3:
                self.demand(node, operands, ("swizzle", "int", "layout"), operation.usage)
            return operation.function, operands
        callee = self.value(node.callee)
        if not isinstance(callee, (Layout, ComposedLayout, F2Layout, Swizzle)):
            self.fail(node, f"{described(callee)} cannot be called", "as in ((4,8):(8,1))(2,3)")
        if node.named or not node.arguments:
            self.fail(node, "a layout takes a coordinate", "as in ((4,8):(8,1))(2,3)")
        operands = tuple(map(self.value, node.arguments))
        plain = isinstance(callee, (F2Layout, Swizzle))
        kind = "int" if isinstance(callee, Swizzle) else "shape" if plain else "coord"
        self.demand(node, operands, (kind,) * len(operands), "as in ((4,8):(8,1))(2,3)")
        if isinstance(callee, Swizzle) and len(operands) > 1:
            self.fail(node, f"a swizzle takes one offset, not {len(operands)}", f"({callee})(8)")
        return callee, operands

    def operands(self, operation: Operation, node: syntax.Call) -> tuple[Any, ...]:
        """Return the operands of an operation, counted and of the right kinds."""
        values = [self.value(argument) for argument in node.arguments]
        for name, argument in node.named:
            at = len(values)
            if at >= len(operation.names) or operation.names[at] != name.text:
                condition = f"{quoted(name.text)} is not the next operand of {operation.name}"
                self.fail(name, condition, operation.usage)
            values.append(self.value(argument))
        count, most = len(values), len(operation.kinds)
        if count < operation.required or (count > most and not operation.open):
            condition = f"{operation.name} does not take {count} operand{'s'[: count != 1]}"
            self.fail(node, condition, operation.usage)
        nodes = (*node.arguments, *(argument for _, argument in node.named))
        kinds = operation.kinds + operation.kinds[-1:] * (count - most)
        for argument, value, kind in zip(nodes, values, kinds, strict=False):
            self.demand(argument, (value,), (kind,), operation.usage)
        return tuple(values)

    def demand(
        self, node: syntax.Node, values: tuple[Any, ...], kinds: tuple[str, ...], usage: str
    ) -> None:
        """Refuse values of other kinds than those wanted."""
        for value, kind in zip(values, kinds, strict=False):
            if is_kind(value, kind):
                continue
            fix = usage
            if kind in ("any", "layout", "map") and is_tuple(value) and is_kind(value, "shape"):
                fix = f"make_layout({str(value).replace(' ', '')}) is compact; or shape:stride"
            self.fail(node, f"{WANTED[kind]} expected, not {described(value)}", fix)

    @staticmethod
    def nearest(name: str) -> str:
        """Return the operation whose name is nearest, or all of them."""
        near = get_close_matches(name, OPERATIONS, n=1) or get_close_matches(
            name.lower(), OPERATIONS, n=1
        )
        return f"did you mean {near[0]}?" if near else f"one of {', '.join(OPERATIONS)}"
