"""Rules about messages: rows of ``atoms/lsc.toml``, bounding numbers and names alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import cast

from pycute_xe.arch.rules import Broken, Level
from pycute_xe.errors import CuteError
from pycute_xe.facts import Row, rows_for

__all__ = ["Fact", "Facts", "FieldRule", "field_rules", "judge_fields"]

Fact = int | str | bool
Facts = Mapping[str, Fact]

_KINDS = ("at_least", "at_most", "one_of")


@dataclass(frozen=True, slots=True)
class FieldRule:
    """A row of a rule table: ``quantity`` must be ``bound`` of ``values`` when conditions hold.

    A rule says nothing about a message that lacks the quantity or one of the conditions'.
    Raises `CuteError` when the row is malformed.
    """

    id: str
    level: Level
    quantity: str
    bound: str
    values: tuple[Fact, ...]
    conditions: tuple[tuple[str, tuple[Fact, ...]], ...]
    source: str

    def __post_init__(self) -> None:
        """Refuse rows that cannot be judged."""
        numbers = all(type(value) is int for value in self.values)
        if self.level not in ("error", "warning") or not self.values:
            raise CuteError("FieldRule", {"id": self.id}, "malformed row", "correct the facts")
        if self.bound != "one_of" and not (numbers and len(self.values) == 1):
            raise CuteError("FieldRule", {"id": self.id}, "one number bounds", "correct the facts")

    def applies(self, facts: Facts) -> bool:
        """Whether the message has the quantity and every condition holds."""
        return self.quantity in facts and all(
            facts.get(name) in allowed for name, allowed in self.conditions
        )

    def holds(self, facts: Facts) -> bool:
        """Whether the quantity is within the bounds."""
        value, first = facts[self.quantity], self.values[0]
        if self.bound == "one_of" or isinstance(value, str) or isinstance(first, str):
            return value in self.values
        return value >= first if self.bound == "at_least" else value <= first

    def broken(self, facts: Facts) -> Broken:
        """Say how the rule is broken, and which values it takes."""
        wanted = " or ".join(map(_word, self.values))
        must = {"at_least": "at least ", "at_most": "at most "}.get(self.bound, "")
        name = self.quantity.replace("_", " ")
        condition = f"{name} is {_word(facts[self.quantity])}, must be {must}{wanted}"
        return Broken(self.id, self.level, condition, self.source, f"make {name} {must}{wanted}")


@cache
def field_rules(table: str, target: str) -> tuple[FieldRule, ...]:
    """Return the rules of a table of ``atoms/lsc.toml`` that speak about a target.

    >>> [rule.id for rule in field_rules("message", "pvc")][:2]
    ['counter-target', 'store-data']
    """
    return tuple(map(_rule, rows_for("lsc", table, target)))


def judge_fields(table: str, target: str, facts: Facts) -> tuple[Broken, ...]:
    """Return the rules that a message breaks, errors first, else in the order of the rows.

    >>> judge_fields("block", "pvc", {"sfid": "slm"})[0].condition
    'sfid is slm, must be ugm'
    """
    broken = [
        rule.broken(facts)
        for rule in field_rules(table, target)
        if rule.applies(facts) and not rule.holds(facts)
    ]
    return tuple(sorted(broken, key=lambda b: b.level == "warning"))


def _rule(row: Row) -> FieldRule:
    bounds = [kind for kind in _KINDS if kind in row]
    if len(bounds) != 1:
        raise CuteError("rules", {"id": row.get("id")}, "not one bound a row", "correct the facts")
    when = dict(cast("Mapping[str, object]", row.get("when", {})))
    for name in ("kind", "op"):
        if f"{name}s" in row:
            when[name] = row[f"{name}s"]
    return FieldRule(
        id=cast("str", row["id"]),
        level=cast("Level", row["level"]),
        quantity=cast("str", row["quantity"]),
        bound=bounds[0],
        values=_items(row[bounds[0]]),
        conditions=tuple((name, _items(value)) for name, value in when.items()),
        source=cast("str", row["source"]),
    )


def _items(value: object) -> tuple[Fact, ...]:
    return cast("tuple[Fact, ...]", value if isinstance(value, tuple) else (value,))


def _word(value: Fact) -> str:
    return {True: "given", False: "left out"}[value] if isinstance(value, bool) else str(value)
