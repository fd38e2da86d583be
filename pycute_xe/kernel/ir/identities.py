"""A kernel whose names are identities: what it says does not depend on what it is called.

Operands, fragments and shared arrays become ``o_0``, ``f_0``, ``a_0`` in the order of their
declarations; extents ``n_0``, those of the outputs first; what the grid and loops bind ``v_0``, in
the order of the program; what claims and their sums bind ``i_0``, each binding apart. A reader that
makes names of its own makes none of these forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX, Atom, Index, Looked, Quotient
from pycute_xe.kernel.ir.barriers import NamedBarrier
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.ir.program import walk
from pycute_xe.kernel.ir.statements import Loop, Statement
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Slot,
    Total,
    Where,
)
from pycute_xe.kernel.spec.recurrences import Jump, Recurrence
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.specification import AnyClaim, Claim, Specification
from pycute_xe.kernel.spec.tables import Change

__all__ = ["Identities", "extents_of", "identified", "named", "renamed"]

THINGS = frozenset(
    {"fragment", "source", "destination", "accumulator", "a", "b", "operand", "array", "into"}
)
"""Fields of statements that name an operand, a fragment or a shared array."""

WORDS = frozenset({"how", "role"})
"""Fields of statements that are words of their own."""

OWN = {SUBGROUP_INDEX: SUBGROUP_INDEX, ELEMENT_INDEX: ELEMENT_INDEX}


@dataclass(frozen=True)
class Identities:
    """What a kernel calls its identities: operands, fragments and arrays; and variables.

    ``sizes`` are the identities of extents by name, ``names`` the names of all identities.
    """

    sizes: Mapping[str, str]
    names: Mapping[str, str]

    def text(self, text: str) -> str:
        """Return a text with the kernel's names for identities.

        >>> names = Identities({"M": "n_0"}, {"o_2": "D", "n_0": "M"})
        >>> names.text("o_2[0] is never written at n_0 = 1")
        'D[0] is never written at M = 1'
        >>> names.text("2n_0 >= 3")  # as isl writes a multiple
        '2*M >= 3'
        """

        def named(match: re.Match[str]) -> str:
            times, name = match.groups()
            known = self.names.get(name, name)
            return f"{times}*{known}" if times and name in self.names else f"{times}{known}"

        return re.sub(r"(?<![A-Za-z_\d])(\d*)([a-z]_\d+)\b", named, text)


def identified(kernel: Kernel) -> tuple[Kernel, Identities]:
    """Return a kernel with identities for names, and which is whose.

    Law: two kernels that differ in names alone give equal kernels, but for the title.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> alike, names = identified(gemm)
    >>> print(alike.computes, names.text("o_0"))
    o_2[i_0,i_1] = sum(i_2, o_0[i_0,i_2]*o_1[i_2,i_1], f32) A
    """
    groups = (("o", kernel.operands), ("f", kernel.fragments), ("a", kernel.shared))
    things = {x.name: f"{kind}_{i}" for kind, group in groups for i, x in enumerate(group)}
    bound = [name for name, _ in kernel.grid]
    bound += [s.var for s in walk(kernel.body) if isinstance(s, Loop)]
    sizes = {name: f"n_{i}" for i, name in enumerate(extents_of(kernel))}
    variables = sizes | {name: f"v_{i}" for i, name in enumerate(bound)}
    change = _Change(things, variables, numbered=True)
    made = change.kernel(kernel)
    both = (*things.items(), *variables.items())
    names = {identity: name for name, identity in both} | change.summed
    return made, Identities(sizes, names)


def renamed(kernel: Kernel, things: Mapping[str, str], variables: Mapping[str, str]) -> Kernel:
    """Return a kernel with other names for operands, fragments, arrays, extents and variables.

    Those of claims stay. Raises `KernelError` where a name would stand for two things.
    """
    return _Change(things, variables).kernel(kernel)


def named(statements: tuple[Statement, ...], entry: Looked, name: str) -> tuple[Statement, ...]:
    """Return statements in which a variable stands for an element that they look up."""
    change = _Named(entry, name)
    return tuple(change.statement(s, {}) for s in statements)


def extents_of(kernel: Kernel) -> tuple[str, ...]:
    """Return the extents, those of the outputs first, and those that are modes of their own.

    Their order depends on where they stand, not on what they are called.
    """
    modes = [mode for o in (*kernel.outputs, *kernel.operands) for mode in o.modes]
    modes.sort(key=lambda mode: not mode.is_simple)
    return tuple(dict.fromkeys(name for mode in modes for name in _in_order(mode)))


def _in_order(index: Index) -> list[str]:
    """Return the names of an index in the order of its terms."""
    out: list[str] = []
    for atom, _ in index.terms:
        match atom:
            case str():
                out.append(atom)
            case Quotient(inner):
                out += _in_order(inner)
            case Looked(_, at):
                out += [name for inner in at for name in _in_order(inner)]
    return out


class _Within(Change):
    """A change of names where some variables are in scope."""

    def __init__(self, change: _Change, scope: Mapping[str, str]) -> None:
        self.change, self.scope = change, scope

    def thing(self, name: str) -> str:
        return self.change.thing(name)

    def index(self, index: Index, *bound: str) -> Index:
        scope = {name: new for name, new in self.scope.items() if name not in bound}
        return self.change.index(index, scope)


class _Change:
    """Writes a kernel anew; ``scope`` says what names stand for where a part stands.

    ``summed`` are the names of what claims bind, by identity, where these are ``numbered``.
    """

    def __init__(
        self, things: Mapping[str, str], variables: Mapping[str, str], numbered: bool = False
    ) -> None:
        self.things, self.variables, self.numbered = things, {**variables, **OWN}, numbered
        self.summed: dict[str, str] = {}

    def kernel(self, kernel: Kernel) -> Kernel:
        scope, computes = self.variables, kernel.computes
        if computes is not None:
            claims = tuple(self.claim(claim, scope) for claim in computes.claims)
            defines = tuple(self.recurrence(one, scope) for one in computes.defines)
            jumps = tuple(self.jump(one, scope) for one in computes.jumps)
            tables = tuple(x.changed(_Within(self, scope)) for x in computes.tables)
            given = tuple(self.whole(one, scope) for one in computes.given)
            tickets = tuple(x.changed(_Within(self, scope)) for x in computes.tickets)
            computes = Specification(
                claims,
                computes.assumes,
                defines,
                tables,
                jumps,
                given,
                tickets,
                computes.real,
                computes.overflow,
            )
        return replace(
            kernel,
            operands=tuple(self.operand(o) for o in kernel.operands),
            fragments=tuple(replace(f, name=self.thing(f.name)) for f in kernel.fragments),
            shared=tuple(replace(a, name=self.thing(a.name)) for a in kernel.shared),
            grid=tuple((scope.get(n, n), self.index(c, scope)) for n, c in kernel.grid),
            body=tuple(self.statement(s, scope) for s in kernel.body),
            computes=computes,
            plan=kernel.plan and kernel.plan.renamed(self.things, scope),
        )

    def operand(self, operand: Operand) -> Operand:
        modes = tuple(self.index(mode, self.variables) for mode in operand.modes)
        name, numeric = self.thing(operand.name), operand.value_type
        return Operand(name, numeric, modes, operand.contiguous, operand.role)

    def bound(self, names: Iterable[str]) -> dict[str, str]:
        """Return what variables that a claim binds are called, each binding apart."""
        if not self.numbered:
            return {name: name for name in names}
        own = {name: f"i_{len(self.summed) + i}" for i, name in enumerate(names)}
        self.summed |= {identity: name for name, identity in own.items()}
        return own

    def thing(self, name: str) -> str:
        return self.things.get(name, name)

    def index(self, index: Index, scope: Mapping[str, str]) -> Index:
        terms = {self.atom(atom, scope): scale for atom, scale in index.terms}
        return Index.of(terms, index.offset)

    def atom(self, atom: Atom, scope: Mapping[str, str]) -> Atom:
        match atom:
            case str():
                return scope.get(atom, atom)
            case Quotient(inner, divisor):
                return Quotient(self.index(inner, scope), divisor)
            case Looked(operand, at):
                return Looked(self.thing(operand), tuple(self.index(i, scope) for i in at))

    def statement(self, statement: Statement, scope: Mapping[str, str]) -> Statement:
        changed: dict[str, Any] = {}
        for part in fields(statement):
            old = getattr(statement, part.name)
            new = self.part(statement, part.name, old, scope)
            if new is not old:
                changed[part.name] = new
        return replace(statement, **changed) if changed else statement

    def part(self, statement: Statement, name: str, value: Any, scope: Mapping[str, str]) -> Any:
        """Return a field of a statement; `KernelError` for a text that may be a name or not."""
        match value:
            case str() if name in THINGS:
                return self.thing(value)
            case str() if name == "var":
                return scope.get(value, value)
            case str() if name not in WORDS:
                raise self.unknown(statement, name)
            case Index():
                return self.index(value, scope)
            case NamedBarrier():
                return replace(value, number=self.index(value.number, scope))
            case Const() | Element() | Slot() | Apply() | Total() | Rounded() | Where():
                return self.expression(value, scope)
            case tuple():
                return tuple(self.entry(statement, name, x, scope) for x in value)  # pyright: ignore[reportUnknownVariableType]
            case _:
                return value

    def entry(self, statement: Statement, name: str, value: Any, scope: Mapping[str, str]) -> Any:
        """Return one entry of a field that has several."""
        match value:
            case Statement():
                return self.statement(value, scope)
            case Index():
                return self.index(value, scope)
            case (str(fragment), claim) if name == "holds":
                return self.thing(fragment), self.expression(claim, scope)
            case (str(fragment), layout) if name == "gathers":
                return self.thing(fragment), layout
            case str():
                raise self.unknown(statement, name)
            case tuple():
                return tuple(self.entry(statement, name, x, scope) for x in value)  # pyright: ignore[reportUnknownVariableType]
            case _:
                return value

    def unknown(self, statement: Statement, name: str) -> KernelError:
        """Return the refusal of a text that may be a name or not."""
        return KernelError(
            "identified",
            {"statement": type(statement).__name__, "field": name},
            f"whether {name} is a name is not known",
            "enter it in THINGS or in WORDS",
        )

    def recurrence(self, one: Recurrence, scope: Mapping[str, str]) -> Recurrence:
        own = self.bound(one.indices)
        extents = tuple(self.index(extent, scope) for extent in one.extents)
        values = (self.expression(x, {**scope, **own}) for x in (one.start, one.step))
        return Recurrence(self.thing(one.name), tuple(own.values()), extents, *values)

    def jump(self, one: Jump, scope: Mapping[str, str]) -> Jump:
        own = self.bound(one.indices)
        value = self.expression(one.value, {**scope, **own})
        return replace(one, name=self.thing(one.name), indices=(*own.values(),), value=value)

    def claim(self, claim: AnyClaim, scope: Mapping[str, str]) -> AnyClaim:
        output = self.thing(claim.output)
        match claim:
            case Claim():
                return self.whole(claim, scope)
            case Scatter(_, at, over, value, when):
                own = self.bound(name for name, _ in over)
                inner = {**scope, **own}
                spans = tuple((own[n], self.index(extent, inner)) for n, extent in over)
                places = tuple(self.index(i, inner) for i in at)
                pairs = ((self.index(i, inner), self.index(j, inner)) for i, j in when)
                return Scatter(output, places, spans, self.expression(value, inner), (*pairs,))

    def whole(self, claim: Claim, scope: Mapping[str, str]) -> Claim:
        """Return a claim of all elements of an output, or of an input."""
        own = self.bound(claim.indices)
        value = self.expression(claim.value, {**scope, **own})
        return Claim(self.thing(claim.output), (*own.values(),), value)

    def expression(self, value: Expression, scope: Mapping[str, str]) -> Expression:
        match value:
            case Const():
                return value
            case Element(operand, at):
                return Element(self.thing(operand), tuple(self.index(i, scope) for i in at))
            case Slot(fragment):
                return Slot(self.thing(fragment))
            case Apply(_, arguments):
                return replace(value, arguments=tuple(self.expression(a, scope) for a in arguments))
            case Rounded(_, body):
                return replace(value, body=self.expression(body, scope))
            case Where(index, below, then, otherwise):
                sides = (self.expression(side, scope) for side in (then, otherwise))
                return Where(self.index(index, scope), self.index(below, scope), *sides)
            case Total(_, over, body):
                own = self.bound(name for name, _ in over)
                spans = tuple((own[n], self.index(extent, scope)) for n, extent in over)
                return replace(value, over=spans, body=self.expression(body, {**scope, **own}))


class _Named(_Change):
    """A change of one element that is looked up for a variable."""

    def __init__(self, entry: Looked, name: str) -> None:
        super().__init__({}, {})
        self.looked, self.name = entry, name

    def atom(self, atom: Atom, scope: Mapping[str, str]) -> Atom:
        return self.name if atom == self.looked else super().atom(atom, scope)
