"""Which rules of a target a message breaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import cast

from pycute_xe.arch.block2d import SURFACE
from pycute_xe.arch.lsc.fields import known_target, laid_out_target
from pycute_xe.arch.lsc.parts import BlockParts, MessageParts
from pycute_xe.arch.rules import Broken, Level, Rule
from pycute_xe.arch.target import Target
from pycute_xe.errors import CuteError
from pycute_xe.facts import Row, rows_for

__all__ = [
    "advice_on",
    "block_facts",
    "broken_block_rules",
    "broken_rules",
    "decidable",
    "message_facts",
    "use_quantities",
    "Facts",
    "FieldRule",
    "field_rules",
]

# ------------------------------------------------------------ rows
# Rules about messages: rows of ``atoms/lsc.toml``, bounding numbers and names alike.

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

    def way_out(self, facts: Facts, table: Iterable[FieldRule]) -> str:
        """Return the values to use instead, with which no other rule is broken.

        Where no single field does it, several must change: ``nearest`` of a message does that.
        """
        others = [rule for rule in table if rule is not self]
        old = {rule.id for rule in others if rule.is_broken(facts)}
        values = [
            value
            for value in self.values
            if not {r.id for r in others if r.is_broken({**facts, self.quantity: value})} - old
        ]
        if not values and self.bound == "one_of":
            return "call nearest(target) of the message"
        return replace(self, values=tuple(values) or self.values).broken(facts).fix

    def is_broken(self, facts: Facts) -> bool:
        """Whether the rule speaks about a message and does not hold."""
        return self.applies(facts) and not self.holds(facts)


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
    known = field_rules(table, target)
    broken = [
        rule.broken(facts).with_fix(partial(rule.way_out, facts, known))
        for rule in known
        if rule.is_broken(facts)
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


# ------------------------------------------------------------ legality


def broken_rules(message: MessageParts, target: str | Target) -> tuple[Broken, ...]:
    """Return the rules that a message breaks, errors first."""
    known = known_target(target)
    return judge_fields("message", known.name, message_facts(message, known))


def advice_on(message: MessageParts, target: str | Target) -> tuple[Broken, ...]:
    """Return what a document recommends otherwise, though no rule demands it."""
    known = known_target(target)
    return judge_fields("advice", known.name, message_facts(message, known))


def message_facts(message: MessageParts, target: Target) -> dict[str, Fact]:
    """Return what the rules speak about, by name; numbers that are in registers are left out."""
    data, address, operation = message.data, message.address, message.operation
    facts: dict[str, Fact] = {
        "op": message.op,
        "kind": operation.kind,
        "sfid": message.sfid,
        "exec_size": message.exec_size,
        "last_channel": 4 * int(message.exec_mask[1]) - 5 + message.exec_size,
        "data_size": data.size,
        "vector": data.vector,
        "transpose": data.transpose,
        "model": address.model,
        "scale": address.scale,
        "offset": address.offset,
        "address_bits": address.bits,
        "caching": f"{message.l1}.{message.l3}",
        "prefetch": message.prefetch,
        "has_src1": message.src1 is not None,
        "has_src2": message.src2 is not None,
        "extra": operation.extra,
        "full_registers": _full_registers(message, target),
    }
    if data.mask is not None:
        facts["mask"] = data.mask
    for name in ("surface", "pitch"):
        value = getattr(address, name)
        if isinstance(value, int):
            facts[name] = value
    return facts


def broken_block_rules(message: BlockParts, target: str | Target) -> tuple[Broken, ...]:
    """Return the rules that a block-2D message breaks, errors first."""
    known = laid_out_target(target).name
    broken = (*_broken_size_rules(message, known), *_broken_use(message, known))
    return tuple(sorted(broken, key=lambda b: b.level == "warning"))


def _broken_size_rules(message: BlockParts, target: str) -> tuple[Broken, ...]:
    """Return the rules that a block-2D message breaks wherever it is used."""
    facts = block_facts(message)
    return (
        *message.block.broken_rules(target),
        *judge_fields("block", target, facts),
        *judge_fields("message", target, facts),
    )


def block_facts(message: BlockParts) -> dict[str, Fact]:
    """Return what the rules speak about, by name, wherever the message is used."""
    block = message.block
    kind = "store" if block.op == "store" else "load"
    return {
        **block.quantities,
        "op": f"{kind}_block2d",
        "kind": kind,
        "sfid": message.sfid,
        "caching": f"{message.l1}.{message.l3}",
        "prefetch": block.op == "prefetch",
    }


def _broken_use(message: BlockParts, target: str) -> tuple[Broken, ...]:
    """The rules on surface and position that their numbers break, as far as they are numbers."""
    known = use_quantities(message)
    at = {name: known["use"][name] for name in ("x", "y") if name in known["use"]}
    block, surface = message.block, known["surface"]
    return (*block.broken_surface(surface, target), *block.broken_use(surface, at, target))


def use_quantities(message: BlockParts) -> dict[str, dict[str, int]]:
    """Return the numbers of a use that are known, by the table of rules that judges them."""
    surface = {
        name: value + (name != "base")  # all but the base are stored minus 1
        for name, value in zip(SURFACE, message.surface, strict=True)
        if isinstance(value, int)
    }
    use = message.block.quantities | {f"surface_{n}": v for n, v in surface.items()}
    for name, value in (("x", message.x), ("y", message.y)):
        if isinstance(value, int):
            use[name] = value
    return {"surface": surface, "use": use}


def decidable(table: tuple[Rule, ...], quantities: dict[str, int]) -> list[Rule]:
    """Return the rules whose numbers are all known."""
    return [
        rule
        for rule in table
        if rule.quantity in quantities
        and all(bound in quantities for bound in rule.bounds if isinstance(bound, str))
    ]


def _full_registers(message: MessageParts, target: Target) -> int:
    """Registers that the channels in use fill: unlike `data_registers`, no whole units of 16."""
    data, nbytes = message.data, message.data.register_bits // 8
    if data.transpose:
        return max(1, data.elements * nbytes // target.grf_bytes)
    return data.elements * max(1, message.exec_size * nbytes // target.grf_bytes)
