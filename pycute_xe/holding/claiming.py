"""Floor 8: what a loop claims to hold, as contents: an expression for each element of a fragment.

In a claim ``subgroup`` and ``element`` stand for the subgroup and the register element; a `Slot` is
the same element of a fragment that the loop does not write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.holding.computing import computed_in
from pycute_xe.holding.contents import Content, undecided, whole
from pycute_xe.holding.nodes import (
    Accumulated,
    Bound,
    Call,
    Choice,
    Converted,
    Leaf,
    Node,
    Number,
    Scalar,
    Summed,
)
from pycute_xe.kernel import Element, Index, Kernel, Loop, Slot
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX
from pycute_xe.kernel.spec.expression import Apply, Const, Expression, Rounded, Total, Where
from pycute_xe.numeric import Numeric

__all__ = ["claims_of"]

Ints: TypeAlias = NDArray[np.int64]


def claims_of(kernel: Kernel, loop: Loop, known: dict[str, Content]) -> dict[str, Content]:
    """Return what a loop claims fragments to hold when a trip begins.

    ``known`` is what the fragments hold that the loop does not write. Raises `UndecidableError` for
    claims about others, and for places that have no map.
    """
    out: dict[str, Content] = {}
    for name, value in loop.holds:
        count = kernel.fragment(name).elements
        computed = computed_in(kernel.fragment(name).value_type)
        out[name] = whole(count, _Claimed(kernel, known, count, computed).node(value, {}))
    return out


@dataclass(frozen=True)
class _Claimed:
    kernel: Kernel
    known: dict[str, Content]
    count: int
    compute: Numeric

    def node(self, value: Expression, names: dict[str, Index]) -> Node:
        match value:
            case Const(number):
                return Number(number, self.compute)
            case Slot(fragment):
                return self.slot(fragment)
            case Element(operand, ()):
                return Scalar(operand)
            case Element():
                return self.leaf(value, names)
            case Apply(function, arguments):
                parts = tuple(self.node(a, names) for a in arguments)
                return Call(function, parts, self.compute)
            case Rounded(to, body):
                return Converted(to, self.node(body, names))
            case Total():
                return self.total(value, names)
            case Where(index, below, then, otherwise):
                left, right = (self.uniform(i.substitute(names)) for i in (index, below))
                return Choice(left, right, self.node(then, names), self.node(otherwise, names))

    def slot(self, fragment: str) -> Node:
        content = self.known.get(fragment)
        node = content.single if content is not None and content.count == self.count else None
        if node is None:
            raise undecided(
                f"a loop claims something of {fragment}, which it writes, or several statements do",
                "claim it in terms of operands",
            )
        return node

    def total(self, value: Total, names: dict[str, Index]) -> Node:
        over: list[Bound] = []
        inner = dict(names)
        for name, extent in value.over:
            own = f"{name}_claimed"
            over.append((own, Index(), self.uniform(extent.substitute(names))))
            inner[name] = Index(own)
        summed = Summed(value.how, tuple(over), self.node(value.body, inner), self.compute)
        if value.accumulator is None or value.how != "sum":
            return summed
        return Accumulated(value.accumulator, Number(0.0), (summed,))

    def uniform(self, index: Index) -> Index:
        if index.names & {SUBGROUP_INDEX, ELEMENT_INDEX}:
            raise undecided(f"{index} differs from element to element", "claim it without")
        return index

    def leaf(self, value: Element, names: dict[str, Index]) -> Leaf:
        base: list[Index] = []
        shape = (self.kernel.subgroups, self.count)
        table = np.zeros((*shape, len(value.at)), dtype=np.int64)
        subgroups, elements = np.indices(shape)
        own = {SUBGROUP_INDEX: subgroups, ELEMENT_INDEX: elements}
        for mode, index in enumerate(value.at):
            shared = Index(None, index.offset)
            for atom, scale in index.substitute(names).terms:
                part = Index.of({atom: scale}, 0)
                if not part.names & own.keys():
                    shared = shared + part
                elif part.names <= own.keys() and not part.looked_up:
                    table[..., mode] += part.at(own)  # pyright: ignore[reportArgumentType]
                else:
                    raise undecided(f"{part} mixes an element's number with other variables")
            base.append(shared)
        return Leaf(value.operand, tuple(base), table, np.arange(self.count))
