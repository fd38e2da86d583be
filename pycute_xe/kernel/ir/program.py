"""The parts of a kernel, which its construction, its listing and its paths are about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Fragment, Operand, Shared
from pycute_xe.kernel.ir.statements import If, Loop, Statement
from pycute_xe.kernel.spec.specification import Specification
from pycute_xe.signatures import typed

__all__ = ["Program", "walk", "Meanings"]

# ------------------------------------------------------------ meanings
# A reader of kernels is a table from kinds of statements to meanings; no default.

Meaning = TypeVar("Meaning", bound=Callable[..., Any])
# A meaning takes the kind that it is entered for, which is narrower than any statement.
Narrow = TypeVar("Narrow", bound=Callable[..., Any])


class Meanings(Generic[Meaning]):
    """What each kind of statement means to one reader; a kind without a meaning is refused by name.

    A kind inherits no meaning: each has an entry of its own.

    >>> from pycute_xe.kernel.ir.statements import Fence, Fill
    >>> effects = Meanings[Callable[[Statement], str]]("tell")
    >>> @effects.of(Fill)
    ... def _(statement): return f"sets {statement.fragment}"
    >>> effects[Fill("tCrC")](Fill("tCrC"))
    'sets tCrC'
    >>> effects[Fence()]
    Traceback (most recent call last):
    pycute_xe.errors.KernelError: tell(statement=Fence): this reader has no meaning for Fence...
    """

    def __init__(self, reader: str) -> None:
        """Name the reader; the table is empty."""
        self.reader = reader
        self._table: dict[type[Statement], Meaning] = {}

    @typed
    def of(self, *kinds: type[Statement]) -> Callable[[Narrow], Narrow]:
        """Enter a function as the meaning of some kinds."""

        def enter(meaning: Narrow) -> Narrow:
            for kind in kinds:
                self._table[kind] = cast("Any", meaning)
            return meaning

        return enter

    def __getitem__(self, statement: Statement) -> Meaning:
        """Return the meaning of a statement; `KernelError` where its kind has none."""
        meaning = self._table.get(type(statement))
        if meaning is None:
            name = type(statement).__name__
            raise KernelError(
                self.reader,
                {"statement": name},
                f"this reader has no meaning for {name}",
                "enter one in its table, or leave the statement out",
            )
        return meaning

    def __iter__(self) -> Iterator[type[Statement]]:
        """The kinds that have a meaning."""
        return iter(tuple(self._table))

    def without(self, kind: type[Statement]) -> Meaning | None:
        """Remove and return an entry, as tests of a table do."""
        return self._table.pop(kind, None)


# ------------------------------------------------------------ walking
# The statements of a body in order, inner ones included.


@typed
def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement of a body, outer before inner, in order."""
    return _walk(iter(body))


def _walk(body: Iterator[Statement]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        if isinstance(statement, (Loop, If)):
            yield from _walk(iter(statement.body))


# ------------------------------------------------------------ program


@dataclass(frozen=True)
class Program:
    """The parts of a kernel by name; `Kernel` checks that they fit."""

    name: str
    subgroups: int
    operands: tuple[Operand, ...]
    fragments: tuple[Fragment, ...]
    grid: tuple[tuple[str, Index], ...]
    body: tuple[Statement, ...]
    computes: Specification | None = None
    shared: tuple[Shared, ...] = ()

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """The names of the extents that a problem binds, in the order of the operands."""
        return tuple(
            dict.fromkeys(n for o in self.operands for mode in o.modes for n in mode.names)
        )

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """The operands that a run is given, in the order of the listing."""
        return tuple(o for o in self.operands if o.role in ("in", "inout"))

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """The operands that a run returns, in the order of the listing."""
        return tuple(o for o in self.operands if o.role in ("out", "inout"))

    @typed
    def operand(self, name: str) -> Operand:
        """Return an operand by name; `KernelError` for an unknown one."""
        return _named(self, "operand", self.operands, name)

    @typed
    def fragment(self, name: str) -> Fragment:
        """Return a fragment by name; `KernelError` for an unknown one."""
        return _named(self, "fragment", self.fragments, name)

    @typed
    def shared_array(self, name: str) -> Shared:
        """Return a shared array by name; `KernelError` for an unknown one."""
        return _named(self, "shared array", self.shared, name)

    def statements(self) -> Iterator[Statement]:
        """Yield every statement, outer before inner, in order."""
        return walk(self.body)


T = TypeVar("T", Operand, Fragment, Shared)


def _named(kernel: Program, what: str, entries: tuple[T, ...], name: str) -> T:
    for entry in entries:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in entries)
    raise KernelError(
        what, {"kernel": kernel.name, "name": name}, f"there is no {what} {name}", f"use {known}"
    )
