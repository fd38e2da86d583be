"""Judging quantities by rules that are rows of ``atoms/``.

A rule bounds one named quantity; which quantities there are is the business of whoever asks.
Nothing here knows a message or a surface.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from pycute_xe.errors import CuteError, LegalityError
from pycute_xe.facts import Row, rows_for

__all__ = ["Broken", "Level", "Rule", "errors", "judge", "nearest", "refuse", "rules"]

Level = Literal["error", "warning"]
Bound = int | str
"""A number, or the name of the quantity that bounds."""

_KINDS = ("at_least", "at_most", "multiple_of", "one_of")


@dataclass(frozen=True, slots=True)
class Broken:
    """One rule that does not hold: its id, level, the condition in numbers, who says so, a fix.

    Level "error" breaks the loosest limit that a document states, "warning" a tighter one.

    >>> print(Broken("base-64", "error", "base is 8, must be a multiple of 64", "a book", "use 64"))
    error base-64: base is 8, must be a multiple of 64 [a book]. Way out: use 64
    """

    rule: str
    level: Level
    condition: str
    source: str
    fix: str

    def __str__(self) -> str:
        """One line, level first."""
        said = f"{self.condition} [{self.source}]"
        return f"{self.level} {self.rule}: {said}. Way out: {self.fix}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of a rule table: ``quantity`` must be ``kind`` of ``bounds``, when ``conditions`` hold.

    ``kind`` is at_least, at_most or multiple_of with one bound, or one_of with any number.
    Raises `CuteError` when the row is malformed.
    """

    id: str
    level: Level
    quantity: str
    kind: str
    bounds: tuple[Bound, ...]
    conditions: tuple[tuple[str, tuple[int, ...]], ...]
    source: str

    def __post_init__(self) -> None:
        """Refuse rows that cannot be judged."""
        if self.level not in ("error", "warning") or self.kind not in _KINDS or not self.bounds:
            raise CuteError("Rule", {"id": self.id}, "malformed row", "correct the facts")

    def applies(self, quantities: Mapping[str, int]) -> bool:
        """Whether every condition of the rule holds; a quantity that is absent meets none."""
        for name, allowed in self.conditions:  # noqa: SIM110 (asked a dozen times of a message)
            if quantities.get(name) not in allowed:
                return False
        return True

    def holds(self, quantities: Mapping[str, int]) -> bool:
        """Whether the quantity is within the bounds."""
        value, bounds = quantities[self.quantity], self._numbers(quantities)
        if self.kind == "at_least":
            return value >= bounds[0]
        if self.kind == "at_most":
            return value <= bounds[0]
        if self.kind == "multiple_of":
            return value % bounds[0] == 0
        return value in bounds

    def nearest(self, quantities: Mapping[str, int]) -> int:
        """Return the value closest to the quantity that this rule allows, larger ones first."""
        value, bounds = quantities[self.quantity], self._numbers(quantities)
        if self.kind == "at_least":
            return max(value, bounds[0])
        if self.kind == "at_most":
            return min(value, bounds[0])
        if self.kind == "multiple_of":
            return -(-value // bounds[0]) * bounds[0]
        return min(bounds, key=lambda bound: (abs(bound - value), -bound))

    def broken(self, quantities: Mapping[str, int]) -> Broken:
        """Say how the rule is broken, in numbers."""
        value, bounds = quantities[self.quantity], self._numbers(quantities)
        name = self.quantity.replace("_", " ")
        wanted = " or ".join(map(str, bounds))
        named = f" ({self.bounds[0]})" if isinstance(self.bounds[0], str) else ""
        must = {"at_least": "at least", "at_most": "at most", "multiple_of": "a multiple of"}
        condition = f"{name} is {value}, must be {must.get(self.kind, '')} {wanted}{named}"
        fix = f"make {name} {self.nearest(quantities)}"
        return Broken(self.id, self.level, condition.replace("  ", " "), self.source, fix)

    def _numbers(self, quantities: Mapping[str, int]) -> tuple[int, ...]:
        for bound in self.bounds:
            if isinstance(bound, str):
                return tuple(quantities[b] if isinstance(b, str) else b for b in self.bounds)
        return self.bounds  # pyright: ignore[reportReturnType]


@cache
def rules(file: str, table: str, target: str, op: str = "") -> tuple[Rule, ...]:
    """Return the rules of a table that speak about a target and, if given, an operation.

    >>> [rule.id for rule in rules("block2d", "surface", "pvc")][:2]
    ['base-64', 'width-4']
    """
    found = rows_for(file, table, target)
    return tuple(_rule(row) for row in found if not op or op in _items(row.get("ops", op)))


def judge(found: Iterable[Rule], quantities: Mapping[str, int]) -> tuple[Broken, ...]:
    """Return the rules that the quantities break, errors first, else in the order of the rows.

    >>> judge(rules("block2d", "use", "pvc"), {"bits": 8, "x": 2, "surface_width": 64,
    ...     "element_bytes": 1, "transpose": 0})[0].condition
    'x is 2, must be a multiple of 4'
    """
    applicable = (rule for rule in found if rule.applies(quantities))
    broken = [rule.broken(quantities) for rule in applicable if not rule.holds(quantities)]
    return tuple(sorted(broken, key=lambda b: b.level == "warning"))


def nearest(found: Iterable[Rule], quantity: str, quantities: Mapping[str, int]) -> int:
    """Return the least value, not below the present one, that meets every rule on a quantity.

    Raises `LegalityError` when only a smaller value would.

    >>> nearest(rules("block2d", "surface", "pvc"), "base", {"base": 65})
    128
    """
    mine = [rule for rule in found if rule.quantity == quantity and rule.applies(quantities)]
    values = dict(quantities)
    for _ in range(8 * len(mine) + 1):
        broken = [rule for rule in mine if not rule.holds(values)]
        if not broken:
            return values[quantity]
        proposal = max(rule.nearest(values) for rule in broken)
        if proposal <= values[quantity]:
            break
        values[quantity] = proposal
    operands = {quantity: quantities[quantity]}
    raise refuse("nearest", operands, judge(mine, values))


def errors(broken: Iterable[Broken]) -> tuple[Broken, ...]:
    """Return the broken rules of level "error".

    >>> errors(())
    ()
    """
    return tuple(b for b in broken if b.level == "error")


def refuse(
    operation: str, operands: Mapping[str, object], broken: Iterable[Broken]
) -> LegalityError:
    """Make the error that reports broken rules: every condition with its source, every fix.

    >>> broken = Broken("base-64", "error", "base is 8, must be a multiple of 64", "a book", "")
    >>> print(refuse("load", {"base": 8}, [broken]))
    load(base=8): base is 8, must be a multiple of 64 [a book]
    """
    found = tuple(broken)
    condition = "; ".join(f"{b.condition} [{b.source}]" for b in found)
    return LegalityError(operation, operands, condition, "; ".join(b.fix for b in found if b.fix))


def _rule(row: Row) -> Rule:
    kinds = [kind for kind in _KINDS if kind in row]
    if len(kinds) != 1:
        raise CuteError("rules", {"id": row.get("id")}, "not one bound a row", "correct the facts")
    when = cast("Mapping[str, object]", row.get("when", {}))
    return Rule(
        id=cast("str", row["id"]),
        level=cast("Level", row["level"]),
        quantity=cast("str", row["quantity"]),
        kind=kinds[0],
        bounds=cast("tuple[Bound, ...]", _items(row[kinds[0]])),
        conditions=tuple((k, cast("tuple[int, ...]", _items(v))) for k, v in when.items()),
        source=cast("str", row["source"]),
    )


def _items(value: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
