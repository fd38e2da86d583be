"""Judging quantities by rules that are rows of ``atoms/``.

A rule bounds one named quantity; which quantities there are is the business of whoever asks.
Nothing here knows a message or a surface.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import gcd, lcm, prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, cast

from pycute_xe.errors import CuteError, LegalityError, TargetError
from pycute_xe.facts import Row, rows, rows_for
from pycute_xe.signatures import checked_fields

__all__ = [
    "Broken",
    "Level",
    "Products",
    "Rule",
    "errors",
    "follow",
    "judge",
    "nearest",
    "refuse",
    "renamed",
    "rules",
    "settled",
]

Level = Literal["error", "warning"]
Bound = int | str
"""A number, or the name of the quantity that bounds."""

_KINDS = ("at_least", "at_most", "multiple_of", "one_of")


@checked_fields
@dataclass(frozen=True)
class Broken:
    """One rule that does not hold: its id, level, the condition in numbers, who says so, a fix.

    Level "error" breaks the loosest limit that a document states, "warning" a tighter one. Most who
    ask for broken rules never ask for the fix, which takes longest: see `with_fix`.

    >>> print(Broken("base-64", "error", "base is 8, must be a multiple of 64", "a book", "use 64"))
    error base-64: base is 8, must be a multiple of 64 [a book]. Way out: use 64
    """

    rule: str
    level: Level
    condition: str
    source: str
    fix: str

    def with_fix(self, later: Callable[[], str]) -> Broken:
        """Return the same with a fix that is worked out when it is first asked for."""
        put_off = replace(self)
        vars(put_off)["_later"] = later
        del vars(put_off)["fix"]
        return put_off

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> str:
            """Return the fix that was put off."""
            if name != "fix" or "_later" not in vars(self):
                raise AttributeError(name)
            return vars(self).setdefault("fix", vars(self).pop("_later")())

    def __str__(self) -> str:
        """One line, level first."""
        text = f"{self.condition} [{self.source}]"
        return f"{self.level} {self.rule}: {text}. Way out: {self.fix}"


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
        value, bounds = quantities[self.quantity], self.numbers(quantities)
        if self.kind == "at_least":
            return value >= bounds[0]
        if self.kind == "at_most":
            return value <= bounds[0]
        if self.kind == "multiple_of":
            return value % bounds[0] == 0
        return value in bounds

    def nearest(self, quantities: Mapping[str, int]) -> int:
        """Return the value closest to the quantity that this rule allows, larger ones first."""
        value, bounds = quantities[self.quantity], self.numbers(quantities)
        if self.kind == "at_least":
            return max(value, bounds[0])
        if self.kind == "at_most":
            return min(value, bounds[0])
        if self.kind == "multiple_of":
            return -(-value // bounds[0]) * bounds[0]
        return min(bounds, key=lambda bound: (abs(bound - value), -bound))

    def broken(self, quantities: Mapping[str, int]) -> Broken:
        """Say how the rule is broken, in numbers."""
        value, bounds = quantities[self.quantity], self.numbers(quantities)
        name = _named(self.quantity)
        wanted = " or ".join(map(str, bounds))
        named = f" ({self.bounds[0]})" if isinstance(self.bounds[0], str) else ""
        must = {"at_least": "at least", "at_most": "at most", "multiple_of": "a multiple of"}
        condition = f"{name} is {value}, must be {must.get(self.kind, '')} {wanted}{named}"
        return Broken(self.id, self.level, condition.replace("  ", " "), self.source, "")

    def numbers(self, quantities: Mapping[str, int]) -> tuple[int, ...]:
        """Return the bounds, those that are names as what they stand for."""
        for bound in self.bounds:
            if isinstance(bound, str):
                return tuple(quantities[b] if isinstance(b, str) else b for b in self.bounds)
        return self.bounds  # pyright: ignore[reportReturnType]


@cache
def rules(file: str, table: str, target: str, op: str = "") -> tuple[Rule, ...]:
    """Return the rules of a table that speak about a target and, if given, an operation.

    Raises `TargetError` for a target that a limit leaves out which each target has its own of.

    >>> [rule.id for rule in rules("block2d", "surface", "pvc")][:2]
    ['base-64', 'width-4']
    """
    listed = [row for row in rows_for(file, table, target) if _speaks_of(row, op)]
    own = Counter(
        row["id"] for row in rows(file, table) if "targets" in row and _speaks_of(row, op)
    )
    for limit in (limit for limit, count in own.items() if count > 1):
        if all(row["id"] != limit for row in listed):
            condition = f"each target has its own limit {limit}, and no row says that of {target}"
            fix = f"add {target} to a row {limit} of atoms/{file}.toml, or say what it is like"
            raise TargetError(file, {"target": target}, condition, fix)
    return tuple(map(_rule, listed))


def _speaks_of(row: Row, op: str) -> bool:
    return not op or op in _items(row.get("ops", op))


def judge(
    among: Iterable[Rule],
    quantities: Mapping[str, int],
    products: Products = MappingProxyType({}),
    beside: Iterable[Rule] = (),
) -> tuple[Broken, ...]:
    """Return the rules that the quantities break, errors first, else in the order of the rows.

    Rules on unknown quantities are passed over. ``beside`` are rules that others judge, which a
    way out keeps too. Law: with the figures of its ways out nothing is refused, and no warning is
    new.

    >>> broken = judge(rules("block2d", "surface", "pvc"), {"width": 130, "pitch": 128})
    >>> [(b.condition, b.fix) for b in broken][1]
    ('pitch is 128, must be at least 130 (width)', 'make pitch 144')
    """
    table = [rule for rule in among if _is_known(rule, quantities)]
    broken = [rule for rule in table if rule.applies(quantities) and not rule.holds(quantities)]
    if not broken:
        return ()
    table += [rule for rule in beside if _is_known(rule, quantities)]
    given = dict(quantities)
    fixes = cache(lambda: _ways_out(broken, table, given, products))
    breaches = [rule.broken(quantities).with_fix(lambda id=rule.id: fixes()[id]) for rule in broken]
    return tuple(sorted(breaches, key=lambda b: b.level == "warning"))


def nearest(among: Iterable[Rule], quantity: str, quantities: Mapping[str, int]) -> int:
    """Return the least value, not below the present one, that meets every rule on a quantity.

    Raises `LegalityError` when only a smaller value would.

    >>> nearest(rules("block2d", "surface", "pvc"), "base", {"base": 65})
    128
    """
    mine = [rule for rule in among if rule.quantity == quantity and rule.applies(quantities)]
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
    breaches = tuple(broken)
    condition = "; ".join(f"{b.condition} [{b.source}]" for b in breaches)
    return LegalityError(
        operation, operands, condition, "; ".join(b.fix for b in breaches if b.fix)
    )


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


# ------------------------------------------------------------ ways out
# Figures that break no rule, for what does: a way out is tried before it is offered.

Products = Mapping[str, tuple[tuple[str, ...], int]]
"""What follows from others: its factors, the one to change first, and what their product is
divided by."""


def settled(
    among: Iterable[Rule], quantities: Mapping[str, int], products: Products = MappingProxyType({})
) -> dict[str, int] | None:
    """Return the quantities with those changed that must be for every rule to hold.

    Larger values come first. ``None`` where changing one after the other does not lead there.

    >>> settled(rules("block2d", "surface", "pvc"), {"width": 130, "pitch": 128})
    {'width': 132, 'pitch': 144}
    """
    table = [rule for rule in among if _is_known(rule, quantities)]
    table.sort(key=lambda rule: rule.quantity in products)  # what follows from others comes last
    values = dict(quantities)
    for _ in range(2 * len(table) + 1):
        broken = [rule for rule in table if rule.applies(values) and not rule.holds(values)]
        if not broken:
            return values
        changes = (
            (lever, _nearest(table, rule, lever, values, products))
            for rule in broken
            for lever in _factors(rule.quantity, products)
        )
        change = next(((q, v) for q, v in changes if v is not None and v != values[q]), None)
        if change is None:
            return None
        values[change[0]] = change[1]
        values |= follow(values, products)
    return None


def follow(values: Mapping[str, int], products: Products) -> dict[str, int]:
    """Return what follows from quantities, at least 1.

    >>> follow({"width": 16, "bits": 16}, {"width_bytes": (("width", "bits"), 8)})
    {'width_bytes': 32}
    """
    return {
        name: max(1, prod(values[factor] for factor in factors) // divisor)
        for name, (factors, divisor) in products.items()
        if all(factor in values for factor in factors)
    }


def renamed(among: Iterable[Rule], names: Mapping[str, str]) -> tuple[Rule, ...]:
    """Return rules with other names for what they bound, and for what bounds it."""
    return tuple(
        replace(
            rule,
            quantity=names.get(rule.quantity, rule.quantity),
            bounds=tuple(names.get(b, b) if isinstance(b, str) else b for b in rule.bounds),
        )
        for rule in among
    )


def _is_known(rule: Rule, quantities: Mapping[str, int]) -> bool:
    """Whether every number that a rule compares is among the quantities."""
    names = (rule.quantity, *(bound for bound in rule.bounds if isinstance(bound, str)))
    return all(name in quantities for name in names)


def _factors(quantity: str, products: Products) -> tuple[str, ...]:
    return products[quantity][0] if quantity in products else (quantity,)


def _nearest(
    table: list[Rule], broken: Rule, lever: str, values: Mapping[str, int], products: Products
) -> int | None:
    """The value next to the present one that a rule allows, and all rules on this quantity.

    A rule on a product is one on its first factor.
    """
    least, most, step, choices = 0, 1 << 62, 1, None
    for rule in table:
        on = _factors(rule.quantity, products)[0] == lever or rule is broken
        if not on or not rule.applies(values):
            continue
        whole, parts = 1, 1
        if rule.quantity in products:
            factors, parts = products[rule.quantity]
            whole = prod(values[factor] for factor in factors if factor != lever)
        bounds = [bound * parts for bound in rule.numbers(values)]
        if rule.kind == "at_least":
            least = max(least, -(-bounds[0] // whole))
        elif rule.kind == "at_most":
            most = min(most, bounds[0] // whole)
        elif rule.kind == "multiple_of":
            step = lcm(step, bounds[0] // gcd(bounds[0], whole))
        else:
            here = {bound // whole for bound in bounds if bound % whole == 0}
            choices = here if choices is None else choices & here
    now = values[lever]
    if choices is not None:
        fitting = [c for c in choices if least <= c <= most and c % step == 0]
        return min(fitting, key=lambda c: (abs(c - now), -c), default=None)
    above, below = -(-max(now, least) // step) * step, min(now, most) // step * step
    return above if above <= most else below if below >= least else None


def _ways_out(
    broken: list[Rule], table: list[Rule], quantities: Mapping[str, int], products: Products
) -> dict[str, str]:
    """What to write instead, by the id of a broken rule.

    What refuses is changed so that no rule is broken that was not, what warns so that none is.
    """
    kept = [rule for rule in table if not rule.applies(quantities) or rule.holds(quantities)]
    out: dict[str, str] = {}
    for level in ("error", "warning"):
        mine = [rule for rule in broken if rule.level == level]
        if not mine:
            continue
        demands = [rule for rule in table if rule.level == "error"]
        wanted = (table if level == "warning" else [*demands, *kept], [*demands, *mine], demands)
        tried = (settled(rules_, quantities, products) for rules_ in wanted)
        values = next((solution for solution in tried if solution is not None), None)
        others = broken if level == "warning" else mine
        out |= _in_words(mine, others, quantities, values, products)
    return out


def _in_words(
    broken: list[Rule],
    others: list[Rule],
    quantities: Mapping[str, int],
    values: Mapping[str, int] | None,
    products: Products,
) -> dict[str, str]:
    """Each rule with the figures on what it speaks about, or with all if none tells one of them."""
    changed = {
        name: value
        for name, value in (values or {}).items()
        if name not in products and value != quantities[name]
    }
    own = {
        rule.id: [name for name in changed if name in _factors(rule.quantity, products)]
        for rule in others
    }
    untold = changed.keys() - {name for names in own.values() for name in names}
    figures = {rule.id: list(changed) if untold else own[rule.id] or changed for rule in broken}
    return {
        rule.id: _made({name: changed[name] for name in figures[rule.id]})
        or f"use another {_named(_factors(rule.quantity, products)[0])}"
        for rule in broken
    }


def _made(changed: Mapping[str, int]) -> str:
    """What to change, as an imperative; empty for nothing."""
    *first, last = [f"{_named(name)} {value}" for name, value in changed.items()] or [""]
    return f"make {', '.join(first)} and {last}" if first else f"make {last}" if last else ""


def _named(quantity: str) -> str:
    return quantity.replace("_", " ")
