"""Floor 9: what messages demand of the memory they are used on, whatever its figures are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import lcm

from pycute_xe.arch import Block2D, Target
from pycute_xe.arch.rules import Rule, rules
from pycute_xe.numeric import Numeric

__all__ = ["Bounds", "Demand", "demands_of"]

UNITS = {"base": "bytes", "width": "bytes", "height": "rows", "pitch": "bytes", "x": "elements"}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a quantity must be: at least, at most, a multiple of; ``None`` leaves it open.

    >>> print(Bounds(32, 64, 4), "|", Bounds(multiple_of=64), "|", Bounds(at_least=1))
    a multiple of 4, 32 to 64 | a multiple of 64 | at least 1
    """

    at_least: int | None = None
    at_most: int | None = None
    multiple_of: int = 1

    def within(self, kind: str, bound: int) -> Bounds:
        """Return what is left when one more rule must hold."""
        least, most, step = self.at_least, self.at_most, self.multiple_of
        if kind == "at_least":
            least = bound if least is None else max(least, bound)
        elif kind == "at_most":
            most = bound if most is None else min(most, bound)
        else:
            step = lcm(step, bound)
        return Bounds(least, most, step)

    def counted(self, bits: int, unit_bits: int) -> Bounds:
        """Return the same in another unit: a number of ``bits`` each, not of ``unit_bits``.

        >>> print(Bounds(32, 1 << 24, 4).counted(16, 8), "|", Bounds(multiple_of=4).counted(4, 8))
        a multiple of 2, 16 to 8388608 | a multiple of 8
        """
        least, most, step = self.at_least, self.at_most, self.multiple_of * unit_bits
        return Bounds(
            None if least is None else -(-least * unit_bits // bits),
            None if most is None else most * unit_bits // bits,
            lcm(step, bits) // bits,
        )

    def __str__(self) -> str:
        """In words."""
        words = [f"a multiple of {self.multiple_of}"] if self.multiple_of > 1 else []
        if self.at_least is not None and self.at_most is not None:
            words.append(f"{self.at_least} to {self.at_most}")
        elif self.at_least is not None:
            words.append(f"at least {self.at_least}")
        elif self.at_most is not None:
            words.append(f"at most {self.at_most}")
        return ", ".join(words) or "any"


@dataclass(frozen=True, slots=True)
class Demand:
    """What one quantity must be: ``must`` by the loosest limits, ``better`` by all documents.

    ``unit`` is bytes, rows or elements of a message; ``values`` says the same of ``must`` in values
    of ``value_type``, where that differs. ``at_least_width``: the pitch covers the width.
    """

    subject: str
    quantity: str
    unit: str
    must: Bounds
    better: Bounds
    at_least_width: bool = False
    value_type: Numeric | None = None
    values: Bounds | None = None
    rules: tuple[str, ...] = ()
    sources: tuple[str, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """One line: quantity, unit, what must hold, what is better."""
        text = f"{self.quantity:7}{self.must}"
        text += f" {self.unit}" if str(self.must) != "any" else ""
        text += ", not below the width" if self.at_least_width else ""
        if self.values is not None:
            text += f" ({self.values} of {self.value_type})"
        if self.better != self.must:
            text += f"; better {self.better}"
        return text


def demands_of(
    subject: str, messages: Iterable[Block2D], target: Target, value_type: Numeric | None = None
) -> tuple[Demand, ...]:
    """Return what messages on one surface demand of it and of the place where they start.

    >>> from pycute_xe.arch import get_target
    >>> bmg = get_target("bmg")
    >>> print(demands_of("A", [Block2D("load", 8, 8, 32)], bmg)[-1])
    x      a multiple of 4 elements of 8 bits
    """
    used = tuple(dict.fromkeys(messages))
    return tuple(_demand(subject, name, used, target, value_type) for name in UNITS)


def _demand(
    subject: str,
    quantity: str,
    messages: tuple[Block2D, ...],
    target: Target,
    value_type: Numeric | None,
) -> Demand:
    must = better = Bounds()
    covers, ids, sources = False, dict[str, None](), dict[str, None]()
    for rule, bound in _bounds(quantity, messages, target):
        ids[rule.id] = sources[_said(rule, quantity)] = None
        if isinstance(bound, str):
            covers = covers or bound == "width"
            continue
        better = better.within(rule.kind, bound)
        if rule.level == "error":
            must = must.within(rule.kind, bound)
    unit, bits = UNITS[quantity], 8
    if quantity == "x":
        bits = min((message.bits for message in messages), default=8)
        unit = f"elements of {bits} bits"
    values = None
    if value_type is not None and quantity in ("width", "pitch", "x") and value_type.bits != bits:
        values = must.counted(value_type.bits, bits)
    given = (tuple(ids), tuple(sources))
    kind = value_type if values is not None else None
    return Demand(subject, quantity, unit, must, better, covers, kind, values, *given)


def _bounds(
    quantity: str, messages: tuple[Block2D, ...], target: Target
) -> Iterator[tuple[Rule, int | str]]:
    """The rules on a quantity, each with a number or the name of another quantity."""
    for rule in rules("block2d", "surface", target.name):
        if rule.quantity == quantity:
            yield rule, rule.bounds[0]
    wanted = quantity if quantity == "x" else f"surface_{quantity}"
    for message in messages:
        for rule in rules("block2d", "use", target.name, message.op):
            if rule.quantity == wanted and rule.applies(message.quantities):
                bound = rule.bounds[0]
                yield rule, message.quantities[bound] if isinstance(bound, str) else bound


def _said(rule: Rule, quantity: str) -> str:
    strength = "must" if rule.level == "error" else "should"
    bounds = " or ".join(str(bound).replace("_", " ") for bound in rule.bounds)
    kind = {"multiple_of": "a multiple of", "one_of": "one of"}.get(rule.kind)
    kind = kind or rule.kind.replace("_", " ")
    return (
        f"{quantity} ({UNITS[quantity]}) {strength} be {kind} {bounds}  ({rule.id}) [{rule.source}]"
    )
