"""Indices, the only arithmetic a kernel does on its own.

An index is quasi-affine: a constant plus integer multiples of names (extents, grid and loop
variables, ``subgroup``), of quotients by integers, and of elements of operands. Divisors are
integers, so that every index is a map that a proof can reason about.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from pycute_xe.errors import KernelError, quoted
from pycute_xe.identifiers import name_fault
from pycute_xe.signatures import STUMBLES, blame, typed

__all__ = [
    "ELEMENT_INDEX",
    "SUBGROUP_INDEX",
    "Atom",
    "Condition",
    "Index",
    "Quotient",
    "Tiles",
    "as_index",
]

# ------------------------------------------------------------ given
# The names and integers that indices are made of, checked where they are given.


def checked_name(name: object) -> None:
    """Raise `KernelError` unless a name is None or what `name_fault` takes for a name."""
    if name is None or (fault := name_fault(name)) is None:
        return
    wrong, fix = fault
    if not (isinstance(name, str) and name.isidentifier()):
        wrong = "the name of an index is an identifier"
        fix = 'write Index("k"), and compute with it: Index("k")*2'
    raise KernelError("Index", {"name": name}, wrong, fix)


def checked_integer(operation: str, value: object) -> int:
    """Return an integer as Python's own; `KernelError` for anything else."""
    if type(value) is int:
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError as error:
        raise KernelError(
            operation,
            {"value": value},
            f"{quoted(value)} is {type(value).__name__}, indices are integers",
            "use an integer",
        ) from error


# ------------------------------------------------------------ index

SUBGROUP_INDEX = "subgroup"
"""The name of a subgroup's number in its work-group, where an index needs it."""

ELEMENT_INDEX = "element"
"""The name of an element's number in its fragment, in conditions of `Map` and in claims."""


@dataclass(frozen=True, slots=True)
class Quotient:
    """``floor(index / divisor)``, a part of an index."""

    index: Index
    divisor: int

    def __str__(self) -> str:
        """As ``ceil_div`` where it is one."""
        up = self.index - (self.divisor - 1)
        if self.index.offset == self.divisor - 1 and up.terms:
            return f"ceil_div({up}, {self.divisor})"
        inner = str(self.index)
        return f"{inner if self.index.is_simple else f'({inner})'}/{self.divisor}"


@dataclass(frozen=True, slots=True)
class Looked:
    """An element of an operand taken as an index, such as an entry of a page table."""

    operand: str
    at: tuple[Index, ...]

    def __str__(self) -> str:
        """As in index notation."""
        return f"{self.operand}[{', '.join(map(str, self.at))}]"


Atom: TypeAlias = str | Quotient | Looked


@dataclass(frozen=True, slots=True)
class Index:
    """An integer that depends on names: ``offset`` plus multiples of names and quotients.

    Supports ``+``, ``-``, ``*`` by an integer, ``//`` and ``%`` by a positive integer. Two indices
    are equal when they are written alike after collecting terms.

    >>> k = Index("k")
    >>> print(32 * (k + 2), (k * 5 + 3) // 8, Tiles("K", 32) - 1)
    32*k+64 (5*k+3)/8 ceil_div(K, 32)-1
    """

    terms: tuple[tuple[Atom, int], ...]
    offset: int

    def __init__(self, name: str | None = None, offset: int = 0) -> None:
        """Make a name plus a constant, or the constant alone."""
        checked_name(name)
        object.__setattr__(self, "terms", ((name, 1),) if name is not None else ())
        object.__setattr__(self, "offset", checked_integer("Index", offset))

    @classmethod
    @typed
    def of(cls, terms: Mapping[Atom, int], offset: int) -> Index:
        """Return the index with these multiples; zeros are dropped."""
        multiples = {atom: checked_integer("Index", c) for atom, c in terms.items()}
        return _collected(multiples, checked_integer("Index", offset))

    @classmethod
    @typed
    def element(cls, operand: str, *at: Index | int) -> Index:
        """Return the element of an integer operand, looked up at run time."""
        return cls.of({Looked(operand, tuple(map(as_index, at))): 1}, 0)

    @property
    def is_constant(self) -> bool:
        """Whether no name occurs."""
        return not self.terms

    @property
    def is_simple(self) -> bool:
        """Whether it prints without an operator."""
        if not self.terms:
            return self.offset >= 0
        return self.offset == 0 and len(self.terms) == 1 and self.terms[0][1] == 1

    @property
    def names(self) -> frozenset[str]:
        """The names that occur, also inside quotients and looked-up places."""
        out: set[str] = set()
        for atom, _ in self.terms:
            if isinstance(atom, str):
                out.add(atom)
            elif isinstance(atom, Quotient):
                out |= atom.index.names
            else:
                out.update(*(index.names for index in atom.at))
        return frozenset(out)

    @property
    def looked_up(self) -> tuple[Looked, ...]:
        """The elements of operands that occur."""
        out: list[Looked] = []
        for atom, _ in self.terms:
            if isinstance(atom, Looked):
                out += [atom, *(inner for index in atom.at for inner in index.looked_up)]
            elif isinstance(atom, Quotient):
                out += atom.index.looked_up
        return tuple(dict.fromkeys(out))

    def at(
        self,
        values: Mapping[str, int],
        look_up: Callable[[str, tuple[int, ...]], int] | None = None,
    ) -> int:
        """Return the number for given names. Raises `KernelError` for a name without a value.

        >>> Index("k", 2).at({"k": 5}), Tiles("K", 32).at({"K": 33})
        (7, 2)
        """
        try:
            return self.offset + sum(c * _value(a, values, look_up) for a, c in self.terms)
        except STUMBLES as error:
            blame(Index.at, (self, values, look_up), error)
            raise

    @typed
    def substitute(self, values: Mapping[str, Index]) -> Index:
        """Return the index with names replaced by indices.

        >>> print((32 * Index("k")).substitute({"k": Index("j", 1)}))
        32*j+32
        """
        terms, offset = dict[Atom, int](), self.offset
        for atom, c in self.terms:
            if isinstance(atom, str):
                if (new := values.get(atom)) is None:
                    terms[atom] = terms.get(atom, 0) + c
                    continue
            elif isinstance(atom, Quotient):
                new = atom.index.substitute(values) // atom.divisor
            else:
                new = Index.element(atom.operand, *(i.substitute(values) for i in atom.at))
            offset += c * new.offset
            for inner, d in new.terms:
                terms[inner] = terms.get(inner, 0) + c * d
        return _collected(terms, offset)

    def __add__(self, other: Index | int) -> Index:
        """The sum."""
        more = as_index(other)
        terms = dict(self.terms)
        for atom, c in more.terms:
            terms[atom] = terms.get(atom, 0) + c
        return _collected(terms, self.offset + more.offset)

    __radd__ = __add__

    def __sub__(self, other: Index | int) -> Index:
        """The difference."""
        return self + as_index(other) * -1

    def __rsub__(self, other: int) -> Index:
        """The difference."""
        return as_index(other) - self

    def __mul__(self, scale: int) -> Index:
        """A multiple; `KernelError` for a factor that is not an integer."""
        scale = checked_integer("Index", scale)
        return _collected({a: c * scale for a, c in self.terms}, self.offset * scale)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Index:
        """The quotient, rounded down; `KernelError` unless the divisor is a positive integer."""
        divisor = checked_integer("Index", divisor)
        if divisor < 1:
            raise KernelError(
                "Index", {"divisor": divisor}, "a divisor is 1 or more", "divide by an integer"
            )
        whole = {a: c // divisor for a, c in self.terms if c % divisor == 0}
        rest = _collected({a: c for a, c in self.terms if c % divisor}, self.offset % divisor)
        out = _collected(whole, self.offset // divisor)
        return out if rest.is_constant else out + _collected({Quotient(rest, divisor): 1}, 0)

    def __truediv__(self, divisor: object) -> Index:
        """Refuse: the quotient of an index is rounded down, and is written so."""
        wrong = "an index is divided with //, which rounds down"
        fix = f"write // {divisor}"
        raise KernelError("Index", {"index": self, "divisor": divisor}, wrong, fix)

    def __mod__(self, divisor: int) -> Index:
        """The remainder, never negative."""
        return self - (self // divisor) * divisor

    def __lt__(self, other: Index | int) -> Condition:
        """The condition that this index is below another, for `KernelBuilder.when`."""
        return Condition(self, as_index(other))

    def __le__(self, other: Index | int) -> Condition:
        """The condition that this index is at most another."""
        return Condition(self, as_index(other) + 1)

    def __gt__(self, other: Index | int) -> Condition:
        """The condition that this index is above another."""
        return Condition(as_index(other), self)

    def __ge__(self, other: Index | int) -> Condition:
        """The condition that this index is at least another."""
        return Condition(as_index(other), self + 1)

    def __str__(self) -> str:
        """The formula, names first."""
        out = ""
        for atom, c in self.terms:
            sign = "-" if c < 0 else "+" if out else ""
            scale = "" if abs(c) == 1 else f"{abs(c)}*"
            text = str(atom)
            out += f"{sign}{scale}{f'({text})' if scale and '/' in text else text}"
        if self.offset or not out:
            out += f"{self.offset:+d}" if out else str(self.offset)
        return out

    def __repr__(self) -> str:
        """As a call where it is a name plus a constant, else as text."""
        if len(self.terms) == 1 and isinstance(self.terms[0][0], str) and self.terms[0][1] == 1:
            name = self.terms[0][0]
            return f"Index({name!r}, {self.offset})" if self.offset else f"Index({name!r})"
        return f"Index({self})" if self.terms else f"Index(None, {self.offset})"


@dataclass(frozen=True, slots=True)
class Condition:
    """``index < below``, which only a run decides.

    >>> print(Index("k") + 2 <= Tiles("K", 32))
    k+2 < ceil_div(K, 32)+1
    """

    index: Index
    below: Index

    def __bool__(self) -> bool:
        """Refuse to be decided by Python, as ``if`` and ``0 <= k < 4`` would."""
        raise KernelError(
            "Index",
            {"condition": self},
            f"{self} has no truth value before a run",
            "write `with builder.when(condition):`, one condition at a time",
        )

    def __str__(self) -> str:
        """As a comparison."""
        return f"{self.index} < {self.below}"


@typed
def Tiles(extent: str, tile: int, plus: int = 0) -> Index:
    """Return how many tiles cover an extent: ``ceil_div(extent, tile) + plus``.

    Raises `KernelError` unless ``tile`` is a positive integer.

    >>> count = Tiles("K", 32)
    >>> str(count - 1), count.at({"K": 100})
    ('ceil_div(K, 32)-1', 4)
    """
    if type(tile) is not int or tile < 1:
        raise KernelError(
            "Tiles",
            {"extent": extent, "tile": tile},
            "a tile is 1 or more elements of an extent",
            'write Tiles("K", 32)',
        )
    return (Index(extent) + (tile - 1)) // tile + plus


def as_index(value: Index | int | str) -> Index:
    """Return an index; an integer stands for itself, a text for a name.

    >>> as_index(3), as_index("k")
    (Index(None, 3), Index('k'))
    """
    if isinstance(value, Index):
        return value
    if isinstance(value, str):
        return Index(value)
    return Index(None, value)


def _value(
    atom: Atom,
    values: Mapping[str, int],
    look_up: Callable[[str, tuple[int, ...]], int] | None,
) -> int:
    if isinstance(atom, Quotient):
        return atom.index.at(values, look_up) // atom.divisor
    if isinstance(atom, Looked):
        if look_up is None:
            raise KernelError("Index", {"index": atom}, "its value is known only in a run", "")
        return look_up(atom.operand, tuple(i.at(values, look_up) for i in atom.at))
    if atom not in values:
        raise KernelError(
            "Index", {"index": atom}, f"no loop binds {atom}", "bind it by the grid or a loop"
        )
    return values[atom]


def _collected(terms: Mapping[Atom, int], offset: int) -> Index:
    """Return the index of these multiples of atoms, which are known to be right."""
    kept = [term for term in terms.items() if term[1]]
    if len(kept) > 1:
        kept.sort(key=lambda term: _order(term[0]))
    made = object.__new__(Index)
    object.__setattr__(made, "terms", tuple(kept))
    object.__setattr__(made, "offset", offset)
    return made


@lru_cache(maxsize=4096)
def _order(atom: Atom) -> tuple[int, str]:
    return (0 if isinstance(atom, str) else 1, str(atom))
