"""Floor 4: what is assumed of a symbol, and the sympy terms that stand for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from keyword import iskeyword
from typing import Any, cast
from zlib import crc32

from pycute_xe.errors import InputError
from pycute_xe.symbolic.terms import Expr, sp

__all__ = ["Assumed", "Known", "joined", "relevant"]


@dataclass(frozen=True)
class Assumed:
    """A symbol: every multiple of ``multiple_of`` from ``at_least`` up to ``at_most``, if given.

    The sympy symbol `unit` stands for the value divided by ``multiple_of``, so that divisibility
    is arithmetic and needs no proof.
    """

    name: str
    multiple_of: int = 1
    at_least: int = 1
    at_most: Any = None  # an integer or a symbolic value

    def __post_init__(self) -> None:
        """Refuse texts that are not names and assumptions that nothing meets."""
        given = {k: v for k, v in vars(self).items() if v is not None}
        name = cast("object", self.name)
        is_name = isinstance(name, str) and name.isidentifier() and name.isascii()
        if not is_name or iskeyword(self.name):
            wanted = "a name must be letters, digits and _, and not a keyword of Python"
            raise InputError("symbol", given, wanted, 'symbol("M")')
        if type(self.multiple_of) is not int or self.multiple_of < 1:
            raise InputError("symbol", given, "multiple_of must be 1 or more", "multiple_of=32")
        if type(self.at_least) is not int:
            way_out = 'at_least=0; one that is at least M is M + symbol("more", at_least=0)'
            raise InputError("symbol", given, "at_least must be an integer", way_out)
        if type(self.at_most) is int and self.at_most // self.multiple_of < self.least:
            raise InputError("symbol", given, "no value meets all assumptions", "widen the bounds")

    @cached_property
    def unit(self) -> Expr:
        """The sympy symbol of the value divided by ``multiple_of``."""
        return sp.Symbol(self.name, integer=True)

    @property
    def least(self) -> int:
        """The least value of the unit."""
        return -(-self.at_least // self.multiple_of)

    @property
    def most(self) -> int | None:
        """The greatest value of the unit, where it is a number."""
        return self.at_most // self.multiple_of if type(self.at_most) is int else None

    def sample(self, most: int | None) -> int:
        """Return one value of the unit, the same in every process."""
        drawn = 3 + crc32(self.name.encode()) % 89
        return self.least + (drawn if most is None else drawn % (most - self.least + 1))

    def code(self, **changed: Any) -> str:
        """Return the Python text that makes the symbol, with some assumptions changed."""
        assumed: dict[str, Any] = {"multiple_of": self.multiple_of, "at_least": self.at_least}
        assumed |= {"at_most": self.at_most} | changed
        plain: dict[str, Any] = {"multiple_of": 1, "at_most": None}
        plain["at_least"] = assumed["multiple_of"]
        if 1 <= assumed["at_least"] <= assumed["multiple_of"]:
            assumed["at_least"] = plain["at_least"]  # the first multiple, as it is untold
        parts = [f"{k}={v}" for k, v in assumed.items() if v != plain[k]]
        return f"symbol({', '.join([repr(self.name), *parts])})".replace("'", '"')

    def __str__(self) -> str:
        """The assumptions in words."""
        factor = f"a multiple of {self.multiple_of}, " if self.multiple_of > 1 else ""
        limit = "" if self.at_most is None else f" and <= {self.at_most}"
        return f"{self.name} is {factor}>= {self.least * self.multiple_of}{limit}"


Known = Mapping[str, Assumed]
"""The symbols of a value by name."""


def joined(one: Known, other: Known) -> Known:
    """Return the symbols of both. Raises `InputError` where a name means two different symbols."""
    if one is other or not other:
        return one
    for name in one.keys() & other.keys():
        if one[name] is not other[name] and one[name] != other[name]:
            raise InputError(
                "symbol",
                {"one": one[name], "other": other[name]},
                f"{name} stands for two different symbols",
                "make each symbol once, or name them differently",
            )
    return {**one, **other}


def relevant(known: Known, terms: Iterable[Expr]) -> Known:
    """Return the symbols that occur in some terms, and those that bound them."""
    wanted = {s.name for term in terms for s in term.free_symbols if isinstance(s, sp.Symbol)}
    out: dict[str, Assumed] = {}
    while wanted:
        name = wanted.pop()
        out[name] = known[name]
        limit = known[name].at_most
        if limit is not None and type(limit) is not int:
            wanted |= limit.known.keys() - out.keys()
    return out
