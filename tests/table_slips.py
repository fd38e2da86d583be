"""Kernels that look up the wrong element of a table: a right one with one place changed.

A slip is what people do: the next start for this one, a length off by one, page and offset swapped,
a slot of another token, the end of an expert for its start, another head, a mask left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

from pycute_xe.errors import CuteError
from pycute_xe.kernel import FetchAdd, If, Index, Kernel, Load, Map, Prefetch, Statement, Store
from pycute_xe.kernel.index import Looked, Quotient
from pycute_xe.kernel.ir.identities import _Change  # pyright: ignore[reportPrivateUsage]
from pycute_xe.kernel.spec.expression import Apply, Expression, Rounded, Where

__all__ = ["Slip", "changed", "looked_up_as", "slips"]

Lookup = Callable[[Looked], Index | None]


class _Slip(_Change):
    """Changes indices of statements, each occurrence by its number."""

    def __init__(self, change: Callable[[Index, int], Index]) -> None:
        super().__init__({}, {})
        self.change, self.number = change, -1

    def index(self, index: Index, scope: Mapping[str, str]) -> Index:
        self.number += 1
        return self.change(index, self.number)

    def statement(self, statement: Statement, scope: Mapping[str, str]) -> Statement:
        """Return a statement changed; what is only fetched ahead tells no value."""
        return statement if isinstance(statement, Prefetch) else super().statement(statement, scope)


def _with(kernel: Kernel, change: Callable[[Index, int], Index]) -> Kernel:
    slip = _Slip(change)
    return replace(kernel, body=tuple(slip.statement(s, {}) for s in kernel.body))


def changed(kernel: Kernel, change: Callable[[Index], Index]) -> Kernel:
    """Return a kernel with the indices of its statements changed; what it claims stays."""
    return _with(kernel, lambda index, _: change(index))


def looked_up_as(change: Lookup) -> Callable[[Index], Index]:
    """Return a change of lookups: of those for which something is given, inner ones first."""

    def of(index: Index) -> Index:
        out = Index(None, index.offset)
        for atom, scale in index.terms:
            match atom:
                case str():
                    part = Index(atom)
                case Quotient(inner, divisor):
                    part = of(inner) // divisor
                case Looked(operand, at):
                    own = Looked(operand, tuple(map(of, at)))
                    found = change(own)
                    part = Index.of({own: 1}, 0) if found is None else found
            out = out + part * scale
        return out

    return of


# ------------------------------------------------------------ every slip of a kernel


@dataclass(frozen=True, eq=False)
class Slip:
    """What is wrong, in words, and what makes the kernel."""

    words: str
    make: Callable[[], Kernel]

    @cached_property
    def kernel(self) -> Kernel | None:
        """The wrong kernel; None where it is refused when it is built."""
        try:
            return self.make()
        except CuteError:
            return None


def slips(kernel: Kernel) -> Iterator[Slip]:
    """Yield each way in which a slip changes one place of a kernel; some change nothing."""
    for words, make in (*_of_indices(kernel), *_of_statements(kernel)):
        yield Slip(words, make)


Made = Iterator[tuple[str, Callable[[], Kernel]]]


def _of_indices(kernel: Kernel) -> Made:
    found: list[Index] = []
    _with(kernel, lambda index, _: found.append(index) or index)
    for number, index in enumerate(found):
        for one in index.looked_up:
            for words, other in _others(kernel, one):
                yield f"{words}, in {index}", _at(kernel, number, one, other)


def _at(kernel: Kernel, number: int, one: Looked, other: Index) -> Callable[[], Kernel]:
    put = looked_up_as(lambda looked: other if looked == one else None)
    return lambda: _with(kernel, lambda index, n: put(index) if n == number else index)


def _others(kernel: Kernel, one: Looked) -> Iterator[tuple[str, Index]]:
    """Yield what may be looked up for an element of a table by mistake."""
    here, at = Index.of({one: 1}, 0), one.at
    modes = kernel.operand(one.operand).modes

    def element(places: tuple[Index, ...]) -> Index:
        return Index.element(one.operand, *places)

    yield f"{here} one too large", here + 1
    yield f"{here} one too small", here - 1
    if not at:
        return
    *outer, last = at
    yield f"the one behind {here}", element((*outer, last + 1))
    yield f"the one before {here}", element((*outer, last - 1))
    yield f"the first one for {here}", element((*outer, Index()))
    yield f"the last one for {here}", element((*outer, modes[-1] - 1))
    yield f"the entry from the end for {here}", element((*outer, modes[-1] - 1 - last))
    if outer:
        yield f"the row behind {here}", element((outer[0] + 1, *outer[1:], last))
    for operand in kernel.operands:
        table = operand.value_type.kind != "float" and operand.role == "in"
        if table and operand.name != one.operand and len(operand.modes) == len(at):
            yield f"{operand.name} for {here}", Index.element(operand.name, *at)


def _of_statements(kernel: Kernel) -> Made:
    heads = {name for name, _ in kernel.grid if name in ("g", "h", "e", "n")}
    for statement in kernel.statements():
        for words, new in _instead(statement, heads):
            yield words, lambda old=statement, new=new: kernel.replace(old, new)


Instead = Iterator[tuple[str, "Statement | tuple[Statement, ...]"]]


def _instead(statement: Statement, heads: set[str]) -> Instead:
    match statement:
        case If(index, below, body) if _looks(index) or _looks(below):
            yield f"{index} < {below} not asked", body
            yield f"{index} < {below}+1 asked", replace(statement, below=below + 1)
            yield f"{index} < {below}-1 asked", replace(statement, below=below - 1)
        case Load() | Store() if any(map(_looks, statement.at)):
            yield from _moved(statement, heads)
        case Map(_, value) if any(True for _ in _masks(value)):
            for words, new in _masks(value):
                yield words, replace(statement, value=new)
        case FetchAdd(by=by):
            yield "every second ticket", replace(statement, by=by + 1)
            yield "one ticket for all", replace(statement, by=by - 1)
        case _:
            return


def _looks(index: Index) -> bool:
    return bool(index.looked_up)


def _moved(statement: Any, heads: set[str]) -> Instead:
    """Yield a copy with two modes swapped that look up one element, and at another head."""
    at, name = statement.at, type(statement).__name__.lower()
    for i, j in combinations(range(len(at)), 2):
        same = {*at[i].looked_up} & {*at[j].looked_up}
        if same:
            other = (*at[:i], at[j], *at[i + 1 : j], at[i], *at[j + 1 :])
            words = f"{at[i]} and {at[j]} swapped in the {name} of {statement.operand}"
            yield words, replace(statement, at=other)
    for i, index in enumerate(at):
        if index.names & heads and not _looks(index):
            where = f"in the {name} of {statement.operand}"
            for words, new in (
                (f"{index}+1", index + 1),
                ("0", Index()),
                (f"{index}/2", index // 2),
            ):
                other = (*at[:i], new, *at[i + 1 :])
                yield f"head {words} for {index} {where}", replace(statement, at=other)


def _masks(value: Expression) -> Iterator[tuple[str, Expression]]:
    """Yield an expression with a mask that tables tell left out, or one off."""
    match value:
        case Where(index, below, then, otherwise):
            if _looks(index) or _looks(below):
                yield f"{index} < {below} not masked", then
                yield f"masked at {index} < {below}+1", replace(value, below=below + 1)
                yield f"masked at {index} < {below}-1", replace(value, below=below - 1)
            for words, new in _masks(then):
                yield words, replace(value, then=new)
            for words, new in _masks(otherwise):
                yield words, replace(value, otherwise=new)
        case Apply(_, arguments):
            for number, argument in enumerate(arguments):
                for words, new in _masks(argument):
                    others = (*arguments[:number], new, *arguments[number + 1 :])
                    yield words, replace(value, arguments=others)
        case Rounded(_, body):
            for words, new in _masks(body):
                yield words, replace(value, body=new)
        case _:
            return
