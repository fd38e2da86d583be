"""Floor 8: what fragments hold that are computed: maps, reductions, products."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

import numpy as np

from pycute_xe.converting import bounds
from pycute_xe.errors import KernelError
from pycute_xe.exactness import is_exact
from pycute_xe.holding.contents import Content, combined, nothing, undecided, whole
from pycute_xe.holding.fitting import check_map, constants
from pycute_xe.holding.folding import folded
from pycute_xe.holding.follower import Follower
from pycute_xe.holding.nodes import (
    Accumulated,
    Call,
    Choice,
    Converted,
    Leaf,
    Node,
    Number,
    Picked,
    Scalar,
    Summed,
    Undefined,
)
from pycute_xe.holding.placing import expanded, taken
from pycute_xe.holding.tables import moved, multiplied
from pycute_xe.kernel import (
    Element,
    Kernel,
    Map,
    Mma,
    Reduce,
    Slot,
)
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX, Index
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Expression,
    Rounded,
    Total,
    Where,
    leaves,
)
from pycute_xe.kernel.spec.reductions import reduction
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["changed", "computed_in", "follow_map", "follow_mma", "follow_reduce", "tested"]


INTEGERS = as_numeric("s64")
"""What integers are computed in."""


def computed_in(to: Numeric) -> Numeric:
    """Return the type in which the elements of a fragment are computed."""
    if to.kind != "float":
        return INTEGERS
    return as_numeric("f64" if to.bits == 64 else "f32")


def _kept(node: Node, to: Numeric, fits: bool) -> Node:
    """What a type keeps of a result: floats round, integers keep the lowest bits.

    Integers of 32 bits and more that are made of such as ``fit`` do not overflow.
    """
    if to == computed_in(to):
        return node
    if to.kind == "float":
        return converted(node, to)
    return node if fits and to.bits >= 32 else lowest_bits(node, to)


def lowest_bits(node: Node, to: Numeric) -> Node:
    """Return the integer of a type that has the lowest bits of a node."""
    return Call(f"lowest bits of {to}", (node,))


def as_read(node: Node, source: Numeric) -> Node:
    """Return elements of a type as the numbers that they are computed with: 64-bit integers."""
    # closed: 64-bit integers hold those of every other type
    return lowest_bits(node, INTEGERS) if source.name == "u64" else node


def changed(node: Node, source: Numeric, to: Numeric) -> Node:
    """Return what a conversion makes of elements of a type."""
    return node if is_exact(source, to) else converted(as_read(node, source), to)


def converted(node: Node, to: Numeric) -> Node:
    """Return a node converted to a type, once."""
    return node if isinstance(node, Converted) and node.to == to else Converted(to, node)


def _taken(node: Node, source: Numeric, compute: Numeric) -> Node:
    """Return elements of a type as a computation takes them: floats are rounded to its own."""
    if is_exact(source, compute):
        return node
    if compute.kind != "float":
        return as_read(node, source)
    return converted(as_read(node, source), compute)


def follow_map(walker: Follower, statement: Map) -> None:
    """Compute a fragment element by element, rounded to what its type holds."""
    check_map(walker.kernel, statement)
    fragment = walker.kernel.fragment(statement.destination)
    gathers, size = dict(statement.gathers), fragment.elements
    contents: list[Content] = []
    for name in statement.sources:
        content = walker.read(statement, name)
        by = gathers.get(name)
        picked = np.arange(size) if by is None else moved(by)
        contents.append(content.at(picked))
    names, to = statement.sources, fragment.value_type
    computation = _Computation(walker.kernel, (walker.kernel.subgroups, size), computed_in(to))
    types = computation.types(statement.value)
    moves = all(is_exact(numeric, to) for numeric in types)
    fits = moves and _fit(statement.value, to)

    def make(nodes: tuple[Node, ...]) -> Node:
        held = dict(zip(names, nodes, strict=True))
        if moves and isinstance(statement.value, Slot):
            return held[statement.value.fragment]
        if moves and isinstance(statement.value, Element):
            return Scalar(statement.value.operand)
        made = computation.of(statement.value, held)
        return _kept(folded(made, partial(walker.fresh, "f")), to, fits)

    if contents:
        walker.state[fragment.name] = combined(size, tuple(contents), make)
    else:
        walker.state[fragment.name] = whole(size, make(()))


def _fit(value: Expression, to: Numeric) -> bool:
    """Whether a type of integers holds every constant of an expression."""
    if to.kind == "float":
        return True
    low, high = bounds(to)
    return all(low <= number <= high for number in constants(value))


@dataclass(frozen=True)
class _Computation:
    """An expression computed for the elements of a fragment, in a type."""

    kernel: Kernel
    shape: tuple[int, int]
    compute: Numeric

    def types(self, value: Expression) -> list[Numeric]:
        """Return the types of what an expression is made of."""
        return [
            self.kernel.fragment(leaf.fragment).value_type
            if isinstance(leaf, Slot)
            else self.kernel.operand(leaf.operand).value_type
            for leaf in leaves(value)
        ]

    def of(self, value: Expression, held: dict[str, Node]) -> Node:
        """Return the node of an expression; ``held`` is what fragments hold."""

        def inner(part: Expression) -> Node:
            return self.of(part, held)

        match value:
            case Const(number_):
                return Number(number_, self.compute)
            case Slot(name):
                return _taken(held[name], self.kernel.fragment(name).value_type, self.compute)
            case Element(operand, ()):
                numeric = self.kernel.operand(operand).value_type
                return _taken(Scalar(operand), numeric, self.compute)
            case Apply(function, arguments):
                return Call(function, tuple(map(inner, arguments)), self.compute)
            case Rounded(to, body):
                return _taken(converted(inner(body), to), to, self.compute)
            case Where(index, below, then, otherwise):
                if not (index.names | below.names) & {SUBGROUP_INDEX, ELEMENT_INDEX}:
                    return Choice(index, below, inner(then), inner(otherwise))
                test = tested(index - below, self.shape)
                return Picked(test, inner(then), inner(otherwise))
            case Total() | Element():
                raise KernelError(
                    "holding",
                    {"value": value},
                    f"{type(value).__name__} is not elementwise",
                    "load elements into a fragment, and use Reduce for sums",
                )


def tested(place: Index, shape: tuple[int, int]) -> Leaf:
    """Return the places of the elements of a fragment: what all share, and a table."""
    subgroups, elements = np.indices(shape)
    own = {SUBGROUP_INDEX: subgroups, ELEMENT_INDEX: elements}
    shared, table = Index(None, place.offset), np.zeros((*shape, 1), dtype=np.int64)
    for atom, scale in place.terms:
        part = Index.of({atom: scale}, 0)
        if not part.names & own.keys():
            shared = shared + part
        elif part.names <= own.keys() and not part.looked_up:
            table[..., 0] += part.at(own)  # pyright: ignore[reportArgumentType]
        else:
            raise undecided(f"{part} mixes an element's number with other variables")
    return Leaf("", (shared,), table, np.arange(shape[1]))


def follow_reduce(walker: Follower, statement: Reduce) -> None:
    """Combine the elements of a fragment that go to one place."""
    content, to = walker.read(statement, statement.source), moved(statement.slots)
    node = content.single
    if node is None:
        raise undecided(f"{statement.source} is reduced, and several statements filled it")
    reached, counts = np.unique(to, return_counts=True)
    if counts.min() != counts.max():
        raise undecided(f"{statement.destination} takes different numbers of elements")
    sources = np.argsort(to, kind="stable").reshape(reached.size, int(counts[0]))
    name = walker.fresh("r")
    body = expanded(node, sources, name)
    to = walker.kernel.fragment(statement.destination).value_type
    total: Node = Summed(statement.how, ((name, int(counts[0])),), body, computed_in(to))
    row = reduction(statement.how)
    match row.law:
        case "sum":
            total = _kept(total, to, to.name != "u64")
        case "greatest" | "least":
            if to.name == "u64":
                said = f"a {row.noun} of u64 is taken of numbers of s64"
                raise undecided(said, "use narrower integers")
        case _:
            assert_never(row.law)
    old = nothing(walker.kernel.fragment(statement.destination).elements)
    walker.state[statement.destination] = old.over(reached, whole(reached.size, total))


def follow_mma(walker: Follower, statement: Mma) -> None:
    """Add the product of two fragments to a third, depth by depth."""
    tables, op = multiplied(statement.mma), statement.mma.atom.op
    name = walker.fresh("q")
    sides: list[Node] = []
    for fragment, table in ((statement.a, tables.a), (statement.b, tables.b)):
        content = walker.read(statement, fragment)
        node = content.single
        if node is None and any(isinstance(p.node, Undefined) for p in content.parts):
            node = Undefined()  # what is multiplied with the rest of it tells nothing
        if node is None:
            raise undecided(f"{fragment} is multiplied, and several statements filled it")
        sides.append(expanded(node, table, name))
    rows, columns = tables.c.shape
    row_of, column_of = np.empty(rows * columns, np.int64), np.empty(rows * columns, np.int64)
    row_of[tables.c] = np.arange(rows)[:, None]
    column_of[tables.c] = np.arange(columns)
    product = Call("mul", (taken(sides[0], row_of), taken(sides[1], column_of)))
    depth = tables.a.shape[1]
    term = whole(rows * columns, Summed("sum", ((name, depth),), product))
    old = walker.read(statement, statement.accumulator)

    def make(nodes: tuple[Node, ...]) -> Node:
        start, added = nodes
        if not isinstance(added, Summed):
            raise undecided("a product that is not a sum is accumulated")
        if isinstance(start, Accumulated) and start.numeric == op.D:
            return replace(start, terms=(*start.terms, added))
        return Accumulated(op.D, start, (added,), tables.step)

    walker.state[statement.accumulator] = combined(old.count, (old, term), make)
