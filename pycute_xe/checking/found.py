"""Floor 9: what has been judged so far, and the figures that are given for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pycute_xe.arch import Block2D, Broken, Target
from pycute_xe.arch.rules import Rule, rules
from pycute_xe.checking.demands import Demand, demands_of
from pycute_xe.checking.report import Finding, Held, Resource
from pycute_xe.errors import InputError, quoted
from pycute_xe.numeric import Numeric

__all__ = ["Found", "Use"]


@dataclass(frozen=True, slots=True)
class Use:
    """The figures of a use that are known: a surface in bytes and rows, a start in elements, rows.

    Raises `InputError` for anything but integers, and for sizes below zero.

    >>> Use(pitch=66).surface
    {'pitch': 66}
    """

    base: int | None = None
    width: int | None = None
    height: int | None = None
    pitch: int | None = None
    x: int | None = None
    y: int | None = None

    def __post_init__(self) -> None:
        """Check the figures."""
        for name in self.__slots__:
            value = getattr(self, name)
            if value is None:
                continue
            if type(value) is not int:
                condition = f"{name} is {quoted(value)}, not an integer"
                raise InputError("check", {name: value}, condition, f"{name}=64, in whole units")
            if value < 0 and name not in "xy":
                raise InputError("check", {name: value}, f"{name} is negative", "use 0 or more")

    @property
    def surface(self) -> dict[str, int]:
        """What is known of the surface."""
        known = {name: getattr(self, name) for name in ("base", "width", "height", "pitch")}
        return {name: value for name, value in known.items() if value is not None}

    @property
    def given(self) -> bool:
        """Whether anything is known."""
        return self != Use()


class Found:
    """What has been judged so far. Each rule counts once for each subject."""

    def __init__(self, target: Target, allow_unfaithful: bool, use: Use) -> None:
        self.target, self.allow_unfaithful, self.use = target, allow_unfaithful, use
        self.use_taken = False
        self.resources: list[Resource] = []
        self.demands: list[Demand] = []
        self._held: dict[tuple[str, str], Held] = {}
        self._findings: dict[tuple[str, str], Finding] = {}

    @property
    def held(self) -> tuple[Held, ...]:
        """The rules that hold, wherever they were judged."""
        return tuple(held for key, held in self._held.items() if key not in self._findings)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The rules that are broken, errors first."""
        return tuple(sorted(self._findings.values(), key=lambda f: not f.is_error))

    def hold(self, subject: str, rule: str, condition: str, source: str) -> None:
        """Note that something holds which is not a row of a table."""
        self._held.setdefault((subject, rule), Held(subject, rule, condition, source))

    def refuse(self, subject: str, broken: Iterable[Broken], fix: str = "") -> None:
        """Note broken rules, with a better way out where there is one."""
        for b in broken:
            told = replace(b, fix=fix) if fix else b
            self._findings.setdefault((subject, b.rule), Finding(subject, told))

    def judge(
        self, subject: str, found: Iterable[Rule], quantities: Mapping[str, int], fix: str = ""
    ) -> None:
        """Judge the rules that apply and whose numbers are all known."""
        for rule in found:
            needed = (rule.quantity, *(b for b in rule.bounds if isinstance(b, str)))
            if not all(name in quantities for name in needed) or not rule.applies(quantities):
                continue
            said = rule.broken(quantities)
            if not rule.holds(quantities):
                self.refuse(subject, (said,), fix)
                continue
            held = Held(subject, rule.id, said.condition, rule.source, _binds(rule, quantities))
            before = self._held.get((subject, rule.id))
            if before is None or held.binds:
                self._held[subject, rule.id] = held

    def message(self, subject: str, message: Block2D, fix: str = "") -> None:
        """Judge the sizes of a message."""
        table = rules("block2d", "message", self.target.name, message.op)
        self.judge(subject, table, message.quantities, fix)

    def surface(self, subject: str, message: Block2D, known: Mapping[str, int]) -> None:
        """Judge what is known of a surface that a message is used on."""
        self.judge(subject, rules("block2d", "surface", self.target.name), known)
        on = {f"surface_{name}": value for name, value in known.items()}
        self.judge(subject, self._use_rules(message), message.quantities | on)

    def start(self, subject: str, message: Block2D, x: int) -> None:
        """Judge the x at which a message starts, in its elements."""
        self.judge(subject, self._use_rules(message), message.quantities | {"x": x})

    def _use_rules(self, message: Block2D) -> tuple[Rule, ...]:
        return rules("block2d", "use", self.target.name, message.op)

    def demand(
        self, subject: str, messages: Iterable[Block2D], value_type: Numeric | None = None
    ) -> None:
        """Note what messages demand of the memory they are used on."""
        self.demands += demands_of(subject, messages, self.target, value_type)


def _binds(rule: Rule, quantities: Mapping[str, int]) -> bool:
    """Whether the next value, in the direction that the rule bounds, breaks it."""
    value = quantities[rule.quantity]
    if any(isinstance(bound, str) for bound in rule.bounds):
        return False  # two figures of one use, not a limit of the machine
    if rule.kind == "one_of":
        most = max(bound for bound in rule.bounds if isinstance(bound, int))
        return rule.quantity == "count" and value == most > 1
    step = {"at_most": 1, "at_least": -1}.get(rule.kind, 0)
    return bool(step) and not rule.holds({**quantities, rule.quantity: value + step})
