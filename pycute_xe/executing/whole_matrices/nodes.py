"""Floor 9: whole matrices in the place of registers: what a plan says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.kernel import Expression
from pycute_xe.numeric import Numeric

__all__ = ["Elementwise", "Node", "Product", "Source", "Spread", "Storing", "Turned"]

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Source:
    """An operand as it lies in memory."""

    operand: str


@dataclass(frozen=True, eq=False)
class Turned:
    """A node with its axes in another order, and new ones of extent 1 where it says None."""

    node: Node
    axes: tuple[int | None, ...]

    def view(self, array: Array) -> Array:
        """Return the array so."""
        kept = [axis for axis in self.axes if axis is not None]
        turned = array.transpose(kept)
        return turned[tuple(None if axis is None else slice(None) for axis in self.axes)]


@dataclass(frozen=True, eq=False)
class Spread:
    """A node of which each index along an axis stands for ``group`` of them, cut at ``extent``."""

    node: Node
    axis: int
    group: int
    extent: int

    def places(self, rows: slice) -> Array:
        """Return the index in the node of some of the indices along the axis."""
        return np.arange(self.extent)[rows] // self.group


@dataclass(frozen=True, eq=False)
class Product:
    """``plus + sum(k, A[batch, rows, k] * B[batch, columns, k])`` in the accumulator's type.

    ``axes`` order the axes of A and of B: ``batch`` shared ones, then their own, then k. ``depth``
    says which k are summed, in which order: None for all of them. ``plus`` is a node of the same
    axes or a number.
    """

    sides: tuple[Node, Node]
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    axes: tuple[tuple[int, ...], tuple[int, ...]]
    batch: int
    depth: NDArray[np.int64] | None
    types: tuple[Numeric, Numeric, Numeric]
    step: int
    plus: Node | float


@dataclass(frozen=True, eq=False)
class Elementwise:
    """A function of nodes that lie over one another, broadcast, and of scalars.

    ``value`` is an expression over the names of ``inputs``, or None for a mere conversion of the
    only one.
    """

    value: Expression | None
    inputs: tuple[tuple[str, Node, Numeric], ...]
    to: Numeric


Node: TypeAlias = "Source | Turned | Spread | Product | Elementwise"


@dataclass(frozen=True, eq=False)
class Storing:
    """A node that becomes an operand, its axes in the operand's order."""

    operand: str
    node: Turned
