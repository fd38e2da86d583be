"""Operands that memory holds in another type than the MMA multiplies, scaled on the way.

A transform is an expression of what is loaded, of scalars, of a value for each row or column, and
of a value for each group along K: ``(B - zero[k/128,n]) * scale[k/128,n]``. It is computed in the
registers' order of the MMA, behind the reorder.
"""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Quotient, Tiles, as_index
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.ir.statements import Map
from pycute_xe.kernel.kinds.epilogue import Frame
from pycute_xe.kernel.kinds.scalars import demand_scalars
from pycute_xe.kernel.kinds.vectors import Vector, vector_copy, vector_gather
from pycute_xe.kernel.spec.equations import parse
from pycute_xe.kernel.spec.expression import (
    Element,
    Expression,
    Slot,
    leaves,
    rebuilt,
)

__all__ = ["Transform"]

LETTERS = {"A": "m", "B": "n"}


@dataclass(frozen=True)
class Transform:
    """What becomes of an operand before it is multiplied: an expression, and what it reads."""

    name: str
    value: Expression
    vectors: tuple[Vector, ...]
    scalars: tuple[Operand, ...]

    @classmethod
    def read(cls, frame: Frame, name: str, text: str) -> Transform:
        """Return the transform that a text says, of A or B. Raises `KernelError` for what it can't.

        Indices are those of the operand: ``m`` or ``n``, and ``k`` divided by the size of a group.
        """
        letter, lead = LETTERS[name[0]], frame.indices[:-2]
        operation = f"transform_{name.lower()}"
        value = parse(text, frozenset({name}), (*lead, letter), ("k",), operation)
        demand_scalars(operation, value, (name,), declared=frame.types)
        vectors: dict[str, Vector] = {}
        scalars: dict[str, Operand] = {}
        seen: dict[str, tuple[Index, ...]] = {}
        for leaf in leaves(value):
            if isinstance(leaf, Slot):
                continue
            if seen.setdefault(leaf.operand, leaf.at) != leaf.at:
                raise _refused(
                    operation, text, f"{leaf.operand} is indexed in two ways", "index it alike"
                )
            if not leaf.at:
                scalars[leaf.operand] = Operand(leaf.operand, frame.type_of(leaf.operand), ())
            elif leaf.operand not in vectors:
                vectors[leaf.operand] = _vector(frame, name, leaf, operation, text)
        return cls(name, value, tuple(vectors.values()), tuple(scalars.values()))

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands that it reads, vectors first."""
        return (*(vector.operand for vector in self.vectors), *self.scalars)

    @property
    def groups(self) -> frozenset[int]:
        """The sizes of its groups along K."""
        return frozenset(v.group for v in self.vectors if v.group is not None)

    def into(self, source: str, destination: str) -> Map:
        """Return the statement that computes it from a fragment."""
        fragments = {vector.operand.name: vector.read for vector in self.vectors}

        def leaf(x: Element | Slot) -> Expression:
            if isinstance(x, Slot):
                return Slot(source)
            return Slot(fragments[x.operand]) if x.at else x

        mapped = rebuilt(self.value, leaf)
        return Map(destination, mapped, tuple((v.read, v.gather) for v in self.vectors))


def _vector(frame: Frame, name: str, leaf: Element, operation: str, text: str) -> Vector:
    """Return how a subgroup gets the part of a vector, or of a group's vector, that it needs."""
    letter, lead = LETTERS[name[0]], frame.indices[:-2]
    divisors = {index: _divisor(index) for index in leaf.at}
    groups = [size for size in divisors.values() if size is not None]
    batch = tuple(index for index in leaf.at if str(index) in lead)
    rest = leaf.at[len(batch) :]
    if Index(letter) not in rest:
        wrong = f"{leaf} is not indexed by {letter}, and so does not say which {name} it belongs to"
        raise _refused(operation, text, wrong, f"write {leaf.operand}[{letter}]")
    if leaf.at[: len(batch)] != batch or len(rest) != 1 + len(groups) or len(groups) > 1:
        wrong = f"{leaf} has indices that it cannot be loaded by"
        raise _refused(operation, text, wrong, f"write {leaf.operand}[k/128,{letter}]")
    for group in groups:
        _demand_whole_groups(frame.mma, operation, text, leaf, group)
    modes = tuple(_extent(frame, index, divisors[index]) for index in leaf.at)
    axis = leaf.at.index(Index(letter))
    _demand_side_by_side(frame, operation, text, leaf, axis)
    operand = Operand(leaf.operand, frame.type_of(leaf.operand), modes, axis)
    first = (i for i, at in zip(frame.first, lead, strict=True) if Index(at) in batch)
    corner = (*first, frame.corner["mn".index(letter)])
    copy = vector_copy(frame.mma, letter, operand.value_type)
    gather = vector_gather(frame.mma, letter, name[0])
    return Vector(operand, copy, corner, groups[0] if groups else None, gather)


def _demand_side_by_side(frame: Frame, operation: str, text: str, leaf: Element, axis: int) -> None:
    """Refuse an order in which the values of a group do not lie side by side."""
    order = "row" if axis == len(leaf.at) - 1 else "col"
    declared = frame.orders.get(leaf.operand, order)
    if declared != order and len(leaf.at) > 1:
        stored = "columns" if declared == "col" else "rows"
        wrong = (
            f"{leaf} is stored by {stored}, where the values of "
            "one group, which one message loads, do not lie side by side"
        )
        raise _refused(operation, text, wrong, f'use orders={{"{leaf.operand}": "{order}"}}')


def _demand_whole_groups(
    mma: TiledMma, operation: str, text: str, leaf: Element, group: int
) -> None:
    depth = mma.tile_mnk[2]
    if group % depth:
        raise _refused(
            operation,
            text,
            f"a group of {group} along k is not a multiple of the {depth} k of a tile: a tile "
            f"would need parts of several rows of {leaf.operand}",
            f"use groups of {depth * -(-group // depth)}, or a tile of which K divides {group}",
        )


def _extent(frame: Frame, index: Index, group: int | None) -> Index:
    if group is not None:
        return Tiles("K", group)
    rows, columns = frame.extents
    return as_index({"m": rows, "n": columns}.get(str(index), str(index).upper()))


def _divisor(index: Index) -> int | None:
    """The size of the groups that an index counts; None for an index that is a name."""
    if index == Index("k"):
        return 1
    atom = index.terms[0][0]
    return atom.divisor if isinstance(atom, Quotient) else None


def _refused(operation: str, text: str, wrong: str, fix: str) -> KernelError:
    return KernelError(operation, {"text": text}, wrong, fix)
