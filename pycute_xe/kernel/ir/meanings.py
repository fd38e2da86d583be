"""Floor 7: a reader of kernels is a table from kinds of statements to meanings; no default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, cast

from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.statements import Statement
from pycute_xe.signatures import typed

__all__ = ["Meanings"]

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
