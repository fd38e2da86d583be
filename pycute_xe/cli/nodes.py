"""Floor 12: the parts of an expression of the layout algebra."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "Call",
    "Compose",
    "Group",
    "Index",
    "Keep",
    "Name",
    "Node",
    "Number",
    "Pair",
    "Product",
    "SwizzleText",
    "Tuple",
]


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression, and the column (from 1) where it begins."""

    column: int


@dataclass(frozen=True, slots=True)
class Number(Node):
    """An integer, or a basis element where there is a path, inside out as it is printed."""

    value: int
    path: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Keep(Node):
    """``_`` or ``None``: the mode stays whole."""


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name."""

    text: str


@dataclass(frozen=True, slots=True)
class SwizzleText(Node):
    """A swizzle as it prints."""

    numbers: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Tuple(Node):
    """Several expressions, or one followed by a comma."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group(Node):
    """One expression in brackets; next to a colon a tuple of one, as CuTe prints it."""

    item: Node


@dataclass(frozen=True, slots=True)
class Product(Node):
    """Factors; ``negative`` where the number of minus signs is odd."""

    factors: tuple[Node, ...]
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Pair(Node):
    """A shape and its strides."""

    shape: Node
    stride: Node


@dataclass(frozen=True, slots=True)
class Call(Node):
    """Something called with arguments, some of them by name."""

    callee: Node
    arguments: tuple[Node, ...]
    named: tuple[tuple[Name, Node], ...]


@dataclass(frozen=True, slots=True)
class Index(Node):
    """One mode of something."""

    of: Node
    mode: int


@dataclass(frozen=True, slots=True)
class Compose(Node):
    """Parts joined by ``o``."""

    parts: tuple[Node, ...]
