"""What fragments hold that are computed: maps, reductions, products."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite
from typing import assert_never

import numpy as np

from pycute_xe.converting import bounds, convert
from pycute_xe.errors import KernelError
from pycute_xe.holding.adding import lowest_bits
from pycute_xe.holding.contents import Follower, combined, nothing
from pycute_xe.holding.elements import Content, expanded, taken, whole
from pycute_xe.holding.likeness import alike, apart_by
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
    once,
    undecided,
)
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
from pycute_xe.kernel.ir.effects import Touched
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Expression,
    Rounded,
    Total,
    Where,
    leaves,
    parts,
)
from pycute_xe.kernel.spec.functions import (
    GREATEST_OR_LEAST,
    OF_INTEGERS,
    REDUCTION_OF,
    reduction,
)
from pycute_xe.numeric import Numeric, as_numeric, is_exact

__all__ = [
    "changed",
    "computed_in",
    "computed_integers",
    "follow_map",
    "follow_mma",
    "follow_reduce",
    "tested",
    "folded",
]

# ------------------------------------------------------------ folding
# Two sums over sets that are one set moved on, put together: what halves of a row are.


def folded(node: Node, fresh: Callable[[], str]) -> Node:
    """Return ``sum(x) + sum(y)``, or so of maxima, as one over a variable more; else the node.

    Every element of ``y`` must lie as far from that of ``x`` as all others do. The halves of the
    halves of a row come to one sum in this way, and not to a term for each lane.

    >>> from pycute_xe.kernel import Index
    >>> def row(start):
    ...     places = start + np.arange(4).reshape(1, 1, 4, 1)
    ...     leaf = Leaf("A", (Index("k"),), places, np.array([0]), ("r",))
    ...     return Summed("max", (("r", 4),), leaf)
    >>> found = folded(Call("max", (row(0), row(4))), lambda: "f")
    >>> found.over, found.body.table.ravel().tolist()
    ((('f', 2), ('r', 4)), [0, 1, 2, 3, 4, 5, 6, 7])
    """
    match node:
        case Call(function, (Summed(how, over, x) as first, Summed(other, beyond, y) as second)):
            if REDUCTION_OF.get(function) != how or how != other or over != beyond:
                return node
            if how == "sum" and not first.type == second.type == node.type:
                return node
        case _:
            return node
    if alike(x, y):
        return node
    name = fresh()
    body = _moved_on(x, y, name)
    if body is None:
        return node
    return replace(first, over=((name, 2), *over), body=body)


def _moved_on(x: Node, y: Node, name: str) -> Node | None:
    """Return a node that is one where a variable is 0 and the other where it is 1."""
    match x, y:
        case (Leaf(), Leaf()):
            return _leaf(x, y, name)
        case (Call(f, a), Call(g, b)) if f == g and x.type == y.type:
            parts = _all(a, b, name)
            return None if parts is None else replace(x, arguments=parts)
        case (Converted(f, a), Converted(g, b)) if f == g:
            body = _moved_on(a, b, name)
            return None if body is None else Converted(f, body)
        case (Summed(f, over, a), Summed(g, beyond, b)) if (f, over, x.type) == (g, beyond, y.type):
            body = _moved_on(a, b, name)
            return None if body is None else replace(x, body=body)
        case (Accumulated(f, a, terms), Accumulated(g, b, more)) if f == g:
            parts = _all((a, *terms), (b, *more), name)
            return None if parts is None else _accumulated(x, parts)
        case (Choice(i, j), Choice(k, m)) if i == k and j == m:
            sides = _all((x.then, x.otherwise), (y.then, y.otherwise), name)
            return None if sides is None else Choice(i, j, *sides)
        case (Picked(), Picked()):
            test = _leaf(x.test, y.test, name)
            sides = _all((x.then, x.otherwise), (y.then, y.otherwise), name)
            return None if test is None or sides is None else Picked(test, *sides)
        case _:
            return x if alike(x, y) else None


def _accumulated(x: Accumulated, parts: tuple[Node, ...]) -> Node | None:
    terms = tuple(part for part in parts[1:] if isinstance(part, Summed))
    return replace(x, start=parts[0], terms=terms) if len(terms) == len(x.terms) else None


def _all(xs: Sequence[Node], ys: Sequence[Node], name: str) -> tuple[Node, ...] | None:
    if len(xs) != len(ys):
        return None
    parts = [_moved_on(x, y, name) for x, y in zip(xs, ys, strict=True)]
    nodes = tuple(part for part in parts if part is not None)
    return nodes if len(nodes) == len(parts) else None


def _leaf(x: Leaf, y: Leaf, name: str) -> Leaf | None:
    """Return elements of one operand and, a variable on, those at one distance from them."""
    between = apart_by(x, y)
    if between is None:
        return None
    apart = between.reshape(-1, len(x.base))
    if not apart.size or (apart != apart[0]).any():
        return None
    if not apart[0].any():
        return x
    table = np.stack((x.table, x.table + apart[0]), axis=2)
    return replace(x, table=table, bound=(name, *x.bound))


# ------------------------------------------------------------ fitting
# Which expressions compute what their destination can hold: whole numbers, constants.

_MOST = {"f32": (2 - 2.0**-23) * 2.0**127, "f64": inf}
"""The largest number of a type in which an expression is computed."""


def check_map(kernel: Kernel, statement: Map) -> None:
    """Raise `UndecidableError` where no executor computes the value, or computes infinities."""
    to = kernel.fragment(statement.destination).value_type
    if to.kind != "float":
        if not _is_whole(kernel, statement.value):
            raise undecided(
                f"{statement.value} may be a fraction, {statement.destination} holds integers",
                "compute in f32 and convert",
            )
        for number in constants(statement.value):
            if not -(2.0**63) <= number < 2.0**63:
                raise undecided(f"{number:g} is not a number of s64", "use one that it has")
        return
    computed = "f64" if to.bits == 64 else "f32"
    for number in constants(statement.value):
        if isfinite(number) and abs(number) > _MOST[computed]:
            raise undecided(f"{number:g} is infinite in {computed}", "scale by what it can hold")


def _is_whole(kernel: Kernel, value: Expression) -> bool:
    def integers(numeric: Numeric) -> bool:
        return numeric.kind != "float"

    match value:
        case Const(number):
            return isfinite(number) and number.is_integer()
        case Slot(name):
            return integers(kernel.fragment(name).value_type)
        case Element(operand, at):
            return not at and integers(kernel.operand(operand).value_type)
        case Apply(function, arguments):
            return function in OF_INTEGERS and all(_is_whole(kernel, a) for a in arguments)
        case Rounded() | Where():
            return all(_is_whole(kernel, part) for part in parts(value))
        case Total():
            return False


def constants(value: Expression) -> list[float]:
    """Return the numbers that an expression is written with."""
    if isinstance(value, Const):
        return [value.value]
    return [number for part in parts(value) for number in constants(part)]


# ------------------------------------------------------------ computing

INTEGERS = as_numeric("s64")
"""What integers are computed in."""


def computed_in(to: Numeric) -> Numeric:
    """Return the type in which the elements of a fragment are computed."""
    if to.kind != "float":
        return INTEGERS
    return as_numeric("f64" if to.bits == 64 else "f32")


def _kept(node: Node, to: Numeric, fits: bool) -> Node:
    """What a type keeps of a result: floats round, integers keep the lowest bits.

    ``fits`` says that integers of 32 bits and more do not overflow.
    """
    if to == computed_in(to):
        return node
    if to.kind == "float":
        return converted(node, to)
    return node if fits and to.bits >= 32 else lowest_bits(node, to)


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


def computed_integers(kernel: Kernel) -> tuple[str, ...]:
    """Return the types of 32 bits and more in which a kernel computes integers that may overflow.

    >>> import pycute_xe as cx
    >>> computed_integers(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"))))
    ('s32',)
    """
    kinds: dict[str, None] = {}
    for statement in kernel.statements():
        for name in _computed(statement.touched):
            to = kernel.fragment(name).value_type
            if to.kind != "float" and to.bits >= 32:
                kinds[to.name] = None
    return tuple(kinds)


def _computed(effects: Touched) -> Iterator[str]:
    """Yield the fragments that sums and products go to: the rest moves, converts or compares."""
    yield from effects.updates
    if (elementwise := effects.elementwise) is not None and not _stays(elementwise.value):
        yield elementwise.destination
    if (move := effects.move) is not None and move.how == "sum":
        yield move.destination
    if (product := effects.product) is not None:
        yield product.accumulator


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
    fits = fits and (not walker.wraps or _stays(statement.value))

    def make(nodes: tuple[Node, ...]) -> Node:
        fragments = dict(zip(names, nodes, strict=True))
        if moves and isinstance(statement.value, Slot):
            return fragments[statement.value.fragment]
        if moves and isinstance(statement.value, Element):
            return Scalar(statement.value.operand)
        made = computation.of(statement.value, fragments)
        if moves and _chooses(statement.value, to):
            return made
        return _kept(folded(made, partial(walker.fresh, "f")), to, fits)

    if contents:
        walker.state[fragment.name] = combined(size, tuple(contents), make)
    else:
        walker.state[fragment.name] = whole(size, make(()))


def _chooses(value: Expression, to: Numeric) -> bool:
    """Whether a float is one of several of a type: nothing is left to round."""
    match value:
        case Const(number_):
            kept = convert(np.array([number_]), to).astype(np.float64)
            return to.kind == "float" and bool(kept[0] == number_)
        case Where():
            return _chooses(value.then, to) and _chooses(value.otherwise, to)
        case Slot() | Element():
            return to.kind == "float"
        case Apply() | Rounded() | Total():
            return False


def _fit(value: Expression, to: Numeric) -> bool:
    """Whether a type of integers holds every constant of an expression."""
    if to.kind == "float":
        return True
    low, high = bounds(to)
    return all(low <= number <= high for number in constants(value))


def _stays(value: Expression) -> bool:
    """Whether a value is one of what it is made of: integers that fit stay in their type."""
    match value:
        case Const() | Slot() | Element():
            return True
        case Apply(function, arguments):
            return function in GREATEST_OR_LEAST and all(map(_stays, arguments))
        case Where():
            return _stays(value.then) and _stays(value.otherwise)
        case Rounded() | Total():
            return False


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

    def of(self, value: Expression, fragments: dict[str, Node]) -> Node:
        """Return the node of an expression; ``fragments`` is what fragments hold."""

        def inner(part: Expression) -> Node:
            return once(self.of(part, fragments))

        match value:
            case Const(number_):
                return Number(number_, self.compute)
            case Slot(name):
                return _taken(fragments[name], self.kernel.fragment(name).value_type, self.compute)
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
            total = _kept(total, to, to.name != "u64" and not walker.wraps)
        case "greatest" | "least":
            if to.name == "u64":
                condition = f"a {row.noun} of u64 is taken of numbers of s64"
                raise undecided(condition, "use narrower integers")
        case _:
            assert_never(row.law)
    old = nothing(walker.kernel.fragment(statement.destination).elements)
    walker.state[statement.destination] = old.over(reached, whole(reached.size, total))


def follow_mma(walker: Follower, statement: Mma) -> None:
    """Add the product of two fragments to a third, depth by depth."""
    tables, op = multiplied(statement.mma), statement.mma.atom.op
    a, b = (_factor(walker, statement, side) for side in (statement.a, statement.b))
    name = walker.names.of(a, b, "q")
    rows, columns = tables.c.shape
    row_of, column_of = np.empty(rows * columns, np.int64), np.empty(rows * columns, np.int64)
    row_of[tables.c] = np.arange(rows)[:, None]
    column_of[tables.c] = np.arange(columns)
    left, right = expanded(a, tables.a, name), expanded(b, tables.b, name)
    product = Call("mul", (taken(left, row_of), taken(right, column_of)))
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


def _factor(walker: Follower, statement: Mma, fragment: str) -> Node:
    content = walker.read(statement, fragment)
    if content.single is None and any(isinstance(p.node, Undefined) for p in content.parts):
        return Undefined()  # what is multiplied with the rest of it tells nothing
    if content.single is None:
        raise undecided(f"{fragment} is multiplied, and several statements filled it")
    return content.single
