"""Floor 9: sums of products of windows that are computed when something asks for them.

Neighbouring windows are multiplied together: stretches of k of one tile, and tiles beside or below
one another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.executing.whole_matrices.nodes import Product, Source
from pycute_xe.numeric import Numeric

__all__ = ["Box", "Form", "Sum", "Term", "form_of", "joined", "matrices_of"]

Array: TypeAlias = NDArray[Any]

Box: TypeAlias = tuple[tuple[int, int], ...]
"""Where a window begins and ends, mode by mode."""


@dataclass(frozen=True)
class Form:
    """Which modes of two operands are multiplied: ``rows`` and ``depth`` are one mode of each."""

    names: tuple[str, str]
    axes: tuple[tuple[int, ...], tuple[int, ...]]
    rows: tuple[int, int]
    depth: tuple[int, int]
    types: tuple[Numeric, Numeric, Numeric]
    step: int


@dataclass(frozen=True)
class Term:
    """The product of a window of A and one of B: (rows of A, rows or columns of B)."""

    form: Form
    boxes: tuple[Box, Box]

    @property
    def shape(self) -> tuple[int, int]:
        """Its rows and columns."""
        (m, n), (a, b) = self.form.rows, self.boxes
        return a[m][1] - a[m][0], b[n][1] - b[n][0]


def form_of(
    node: Product, modes: Mapping[str, tuple[int | None, ...]], shapes: Mapping[str, Sequence[int]]
) -> Form | None:
    """Return the form of a product, None where it is more than one of two windows as they lie.

    ``modes`` are those along which an operand's tiles lie, ``shapes`` the windows' extents.
    """
    left, right = node.sides
    if not (isinstance(left, Source) and isinstance(right, Source)):
        return None
    if node.depth is not None or node.plus != 0 or node.types[2].bits != 32:
        return None
    names = left.operand, right.operand
    rows: list[int] = []
    for name, axes in zip(names, node.axes, strict=True):
        rest = [mode for mode in modes[name] if mode is not None and mode != axes[-1]]
        beside = (n for mode, n in enumerate(shapes[name]) if mode not in (*rest, axes[-1]))
        if len(rest) != 1 or any(n != 1 for n in beside):
            return None
        rows += rest
    depth = node.axes[0][-1], node.axes[1][-1]
    return Form(names, node.axes, (rows[0], rows[1]), depth, node.types, node.step)


def joined(one: Term, other: Term, modes: tuple[int, int] | None = None) -> Term | None:
    """Return two terms as one whose windows are together those of both, None where none does.

    Windows must continue along ``modes``, a mode of A and one of B; -1 for windows that are the
    same. Without, it is k, the second one after the first.
    """
    if one.form != other.form:
        return None
    boxes: list[Box] = []
    for mode, first, second in zip(modes or one.form.depth, one.boxes, other.boxes, strict=True):
        if mode < 0:
            if first != second:
                return None
            boxes.append(first)
            continue
        same = first[:mode] == second[:mode] and first[mode + 1 :] == second[mode + 1 :]
        if not same or first[mode][1] != second[mode][0]:
            return None
        boxes.append((*first[:mode], (first[mode][0], second[mode][1]), *first[mode + 1 :]))
    return replace(one, boxes=(boxes[0], boxes[1]))


def matrices_of(term: Term) -> tuple[Any, Any]:
    """Return names of the two matrices of which a term has windows: of a batch, one of them."""
    form, (a, b) = term.form, term.boxes
    kept = ((form.rows[i], form.depth[i]) for i in (0, 1))
    one, other = (
        (name, tuple(0 if mode in modes else x for mode, (x, _) in enumerate(box)))
        for name, modes, box in zip(form.names, kept, (a, b), strict=True)
    )
    return one, other


@dataclass(eq=False)
class Sum:
    """Terms of one shape, and who multiplies them; the matrix is kept."""

    terms: tuple[Term, ...]
    multiply: Callable[[Term, Array | None], Array]
    _found: list[Array] = field(default_factory=list[NDArray[Any]])

    @property
    def shape(self) -> tuple[int, int]:
        """Its rows and columns."""
        return self.terms[0].shape

    @property
    def numeric(self) -> Numeric:
        """The type of its elements."""
        return self.terms[0].form.types[2]

    @property
    def alone(self) -> Term | None:
        """Its only term, None where it has more or has been multiplied."""
        return self.terms[0] if len(self.terms) == 1 and not self._found else None

    def matrix(self) -> Array:
        """Return the sum."""
        if not self._found:
            first, *rest = self.terms
            whole = self.multiply(first, None)
            with np.errstate(over="ignore", invalid="ignore"):
                for term in rest:
                    np.add(whole, self.multiply(term, None), out=whole)
            self._found.append(whole)
        return self._found[0]

    def plus(self, other: Sum) -> Sum:
        """Return the sum of both: what continues a stretch of k becomes one product with it."""
        terms = list(self.terms)
        for new in other.terms:
            for i, old in enumerate(terms):
                both = joined(old, new) or joined(new, old)
                if both is not None:
                    terms.pop(i)
                    new = both
                    break
            terms.append(new)
        return replace(self, terms=tuple(terms), _found=[])
