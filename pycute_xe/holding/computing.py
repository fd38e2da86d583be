"""Floor 8: what fragments hold that are computed: maps, reductions, products."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from pycute_xe.errors import KernelError
from pycute_xe.exactness import is_exact
from pycute_xe.holding.contents import Content, combined, nothing, undecided, whole
from pycute_xe.holding.fitting import check_map
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
    Map,
    Mma,
    Reduce,
    Slot,
)
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX, Index
from pycute_xe.kernel.spec.expression import Apply, Const, Expression, Rounded, Total, Where
from pycute_xe.numeric import Numeric

__all__ = ["converted", "follow_map", "follow_mma", "follow_reduce", "tested"]


def _kept(node: Node, to: Numeric) -> Node:
    """What a type keeps of a result: narrow floats round, narrow integers keep the lowest bits."""
    if to.kind == "float":
        return converted(node, to) if to.bits < 32 or to.name == "tf32" else node
    return Call(f"lowest bits of {to}", (node,)) if to.bits < 32 else node


def _copied(node: Node, source: Numeric, to: Numeric) -> Node:
    """What a type keeps of what another holds."""
    if is_exact(source, to):
        return node
    return converted(node, to) if to.kind == "float" else Call(f"lowest bits of {to}", (node,))


def converted(node: Node, to: Numeric) -> Node:
    """Return a node converted to a type, once."""
    return node if isinstance(node, Converted) and node.to == to else Converted(to, node)


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
    names = statement.sources

    def make(nodes: tuple[Node, ...]) -> Node:
        held = dict(zip(names, nodes, strict=True))
        made = _expressed(statement.value, held, (walker.kernel.subgroups, size))
        made = folded(made, partial(walker.fresh, "f"))
        if isinstance(statement.value, Slot):
            return _copied(made, walker.kernel.fragment(names[0]).value_type, fragment.value_type)
        return _kept(made, fragment.value_type)

    if contents:
        walker.state[fragment.name] = combined(size, tuple(contents), make)
    else:
        walker.state[fragment.name] = whole(size, make(()))


def _expressed(value: Expression, held: dict[str, Node], shape: tuple[int, int]) -> Node:
    def inner(part: Expression) -> Node:
        return _expressed(part, held, shape)

    match value:
        case Const(number_):
            return Number(number_)
        case Slot(name):
            return held[name]
        case Element(operand, ()):
            return Scalar(operand)
        case Apply(function, arguments):
            return Call(function, tuple(map(inner, arguments)))
        case Rounded(to, body):
            return converted(inner(body), to)
        case Where(index, below, then, otherwise):
            if not (index.names | below.names) & {SUBGROUP_INDEX, ELEMENT_INDEX}:
                return Choice(index, below, inner(then), inner(otherwise))
            return Picked(tested(index - below, shape), inner(then), inner(otherwise))
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
    total: Node = Summed(statement.how, ((name, int(counts[0])),), body)
    if statement.how == "sum":
        total = _kept(total, walker.kernel.fragment(statement.destination).value_type)
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
        return Accumulated(op.D, start, (added,))

    walker.state[statement.accumulator] = combined(old.count, (old, term), make)
