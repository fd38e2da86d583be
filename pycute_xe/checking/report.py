"""What a check found, as a value that prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import lcm
from textwrap import wrap

from pycute_xe.arch import Block2D, Broken, Target
from pycute_xe.arch.rules import Rule, judge, rules
from pycute_xe.errors import InputError, quoted
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import checked_fields
from pycute_xe.typing import shown

__all__ = [
    "Checked",
    "Finding",
    "Held",
    "Resource",
    "Bounds",
    "Demand",
    "demands_of",
    "Findings",
    "Use",
]

# ------------------------------------------------------------ demands
# What messages demand of the memory they are used on, whatever its figures are.

UNITS = {"base": "bytes", "width": "bytes", "height": "rows", "pitch": "bytes", "x": "elements"}


@checked_fields
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


@checked_fields
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
        ids[rule.id] = sources[_source_of(rule, quantity)] = None
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


def _source_of(rule: Rule, quantity: str) -> str:
    strength = "must" if rule.level == "error" else "should"
    bounds = " or ".join(str(bound).replace("_", " ") for bound in rule.bounds)
    kind = {"multiple_of": "a multiple of", "one_of": "one of"}.get(rule.kind)
    kind = kind or rule.kind.replace("_", " ")
    return (
        f"{quantity} ({UNITS[quantity]}) {strength} be {kind} {bounds}  ({rule.id}) [{rule.source}]"
    )


# ------------------------------------------------------------ report


@checked_fields
@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that something breaks: what breaks it, and the rule with its source and way out."""

    subject: str
    broken: Broken

    @property
    def is_error(self) -> bool:
        """Whether the rule refuses, rather than warns."""
        return self.broken.level == "error"

    def __str__(self) -> str:
        """One line: mark, subject, condition, source, way out."""
        mark = "✗" if self.is_error else "!"
        b = self.broken
        way_out = f". Way out: {b.fix}" if b.fix else ""
        return f"{mark} {self.subject}: {b.condition} ({b.rule}) [{b.source}]{way_out}"


@checked_fields
@dataclass(frozen=True, slots=True)
class Held:
    """A rule that was judged and holds; it ``binds`` where the next value up or down breaks it."""

    subject: str
    rule: str
    condition: str
    source: str
    binds: bool = False

    def __str__(self) -> str:
        """One line: mark, subject, condition, rule."""
        mark, room = ("=", ", which leaves no room") if self.binds else ("✓", "")
        return f"{mark} {self.subject}: {self.condition}{room} ({self.rule})"


@checked_fields
@dataclass(frozen=True, slots=True)
class Resource:
    """How much of something a work-group uses, of how much there is."""

    name: str
    used: int
    available: int
    detail: str

    @property
    def share(self) -> float:
        """The part in use."""
        return self.used / self.available

    def __str__(self) -> str:
        """Used, available, and what it is made of."""
        return f"{self.name}: {self.used} of {self.available} ({self.detail})"


@checked_fields
@dataclass(frozen=True, repr=False)
class Checked:
    """The verdict of a check against a target; falsy when a rule refuses.

    ``findings`` are the rules that are broken, ``held`` those that were judged and hold, and
    ``demands`` what base, width, height, pitch and offset must be wherever it is used.
    """

    subject: str
    target: Target
    findings: tuple[Finding, ...]
    held: tuple[Held, ...]
    resources: tuple[Resource, ...]
    demands: tuple[Demand, ...]

    _repr_mimebundle_ = shown

    def __bool__(self) -> bool:
        """Whether no rule refuses."""
        return not self.errors

    @property
    def passed(self) -> int:
        """How many rules were judged and hold."""
        return len(self.held)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What refuses."""
        return tuple(f for f in self.findings if f.is_error)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What is legal by some source and not by another, or leaves no room."""
        return tuple(f for f in self.findings if not f.is_error)

    @property
    def binding(self) -> tuple[Held, ...]:
        """The rules that hold and leave no room: the next larger or smaller size breaks them."""
        return tuple(rule for rule in self.held if rule.binds)

    @property
    def reorders(self) -> tuple[Held, ...]:
        """The reorders that move elements and that no copy makes unnecessary, with their moves."""
        return tuple(rule for rule in self.held if rule.rule == "reorder")

    @property
    def requirements(self) -> tuple[str, ...]:
        """The rules behind the demands, one line each, with who says so."""
        lines = {line: None for demand in self.demands for line in demand.sources}
        return tuple(lines)

    @property
    def registers(self) -> int:
        """Registers a thread needs for its fragments; 0 without fragments."""
        return next((r.used for r in self.resources if r.name == "registers"), 0)

    @property
    def grf_mode(self) -> int | None:
        """The registers a thread is given, which `occupancy` takes; ``None`` without fragments."""
        return next((r.available for r in self.resources if r.name == "registers"), None)

    @property
    def binds(self) -> Resource | None:
        """The resource that is used most, which a larger tile would run out of first."""
        return max(self.resources, key=lambda r: r.share, default=None)

    def __repr__(self) -> str:
        """The verdict."""
        return f"<Checked {summary(self)[0]}>"

    def __str__(self) -> str:
        """The verdict, what is used of how much, what binds and what is broken, on a screen."""
        return "\n".join(summary(self))

    def full(self) -> str:
        """Return all that was found: findings, what binds, resources, demands and their sources.

        >>> from pycute_xe.checking import check
        >>> checked = check("XE_LOAD_2D<16,8,16>", "bmg")
        >>> len(str(checked).splitlines()) < 25 < len(checked.full().splitlines())
        True
        """
        lines = list(self._lines())
        if self.requirements:
            lines.append("  these are the rules behind the demands:")
            lines += [f"    {requirement}" for requirement in self.requirements]
        return "\n".join(lines)

    def _lines(self) -> Iterator[str]:
        """Yield the report without the sources of the demands."""
        count = len(self.errors)
        verdict = "legal" if self else f"refused by {count} rule{'s'[: count > 1]}"
        yield f"{self.subject} on {self.target.name} ({self.target.product}): {verdict}"
        yield from (f"  {finding}" for finding in self.findings)
        yield f"  ✓ {self.passed} rule{'s'[: self.passed != 1]} hold{'s'[: self.passed == 1]}"
        yield from (f"  {rule}" for rule in self.binding)
        yield from (f"  {resource}" for resource in self.resources)
        yield from (f"  {rule}" for rule in self.reorders)
        if self.binds is not None:
            b = self.binds
            yield f"  binds: {b.name}, {b.used} of {b.available}"
        for subjects, demands in self.alike():
            verb = "demand" if len(subjects) > 1 else "demands"
            yield f"  {', '.join(subjects)} {verb} of memory:"
            yield from (f"    {demand}" for demand in demands)

    def alike(self) -> list[tuple[list[str], tuple[Demand, ...]]]:
        """Return the demands by subject; subjects that demand the same stand together."""
        by_subject: dict[str, tuple[Demand, ...]] = {}
        for demand in self.demands:
            by_subject[demand.subject] = (*by_subject.get(demand.subject, ()), demand)
        groups: dict[tuple[str, ...], tuple[list[str], tuple[Demand, ...]]] = {}
        for subject, demands in by_subject.items():
            groups.setdefault(tuple(map(str, demands)), ([], demands))[0].append(subject)
        return list(groups.values())


# ------------------------------------------------------------ findings
# What has been judged so far, and the figures that are given for it.


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


class Findings:
    """What has been judged so far. Each rule counts once for each subject."""

    def __init__(self, target: Target, allow_unfaithful: bool, use: Use) -> None:
        self.target, self.allow_unfaithful, self.use = target, allow_unfaithful, use
        self.use_taken = False
        self.resources: list[Resource] = []
        self.demands: list[Demand] = []
        self._kept: dict[tuple[str, str], Held] = {}
        self._broken: dict[tuple[str, str], Finding] = {}

    @property
    def kept(self) -> tuple[Held, ...]:
        """The rules that hold, wherever they were judged."""
        return tuple(rule for key, rule in self._kept.items() if key not in self._broken)

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The rules that are broken, errors first."""
        return tuple(sorted(self._broken.values(), key=lambda f: not f.is_error))

    def hold(self, subject: str, rule: str, condition: str, source: str) -> None:
        """Note that something holds which is not a row of a table."""
        self._kept.setdefault((subject, rule), Held(subject, rule, condition, source))

    def refuse(self, subject: str, broken: Iterable[Broken], fix: str = "") -> None:
        """Note broken rules, with a better way out where there is one."""
        for b in broken:
            better = replace(b, fix=fix) if fix else b
            self._broken.setdefault((subject, b.rule), Finding(subject, better))

    def judge(
        self, subject: str, among: Iterable[Rule], quantities: Mapping[str, int], fix: str = ""
    ) -> None:
        """Judge the rules that apply and whose numbers are all known."""
        table = tuple(among)
        self._sort(subject, table, quantities, judge(table, quantities), fix)

    def _sort(
        self,
        subject: str,
        table: Iterable[Rule],
        quantities: Mapping[str, int],
        broken: Iterable[Broken],
        fix: str = "",
    ) -> None:
        """Note which rules are broken, and of the others which apply and so hold."""
        self.refuse(subject, broken, fix)
        wrong = {b.rule for b in broken}
        for rule in table:
            needed = (rule.quantity, *(b for b in rule.bounds if isinstance(b, str)))
            if not all(name in quantities for name in needed) or not rule.applies(quantities):
                continue
            if rule.id in wrong:
                continue
            condition = rule.broken(quantities).condition
            kept = Held(subject, rule.id, condition, rule.source, _binds(rule, quantities))
            before = self._kept.get((subject, rule.id))
            if before is None or kept.binds:
                self._kept[subject, rule.id] = kept

    def message(self, subject: str, message: Block2D, fix: str = "") -> None:
        """Judge the sizes of a message."""
        table = rules("block2d", "message", self.target.name, message.op)
        self._sort(subject, table, message.quantities, message.broken_rules(self.target), fix)

    def surface(self, subject: str, message: Block2D, known: Mapping[str, int]) -> None:
        """Judge what is known of a surface that a message is used on."""
        table = rules("block2d", "surface", self.target.name)
        self._sort(subject, table, known, message.broken_surface(known, self.target))
        on = {f"surface_{name}": value for name, value in known.items()} | message.quantities
        self._use(subject, message, on, message.broken_use(known, {}, self.target))

    def start(self, subject: str, message: Block2D, x: int) -> None:
        """Judge the x at which a message starts, in its elements."""
        broken = message.broken_use({}, {"x": x}, self.target)
        self._use(subject, message, message.quantities | {"x": x}, broken)

    def _use(
        self, subject: str, message: Block2D, known: Mapping[str, int], broken: Iterable[Broken]
    ) -> None:
        table = rules("block2d", "use", self.target.name, message.op)
        self._sort(subject, table, known, broken)

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


# ------------------------------------------------------------ at a glance
# The verdict, what is used of how much, what binds, what is broken.

LINES, WIDTH = 25, 100
"""What a summary fits."""
_ROOM, _MEMORY = 5, 4  # lines at most of rules without room left, and of demands of memory


def summary(checked: Checked) -> list[str]:
    """Return a check in `LINES` lines of `WIDTH` columns, the verdict first.

    What does not fit is counted; `Checked.full` says all.
    """
    count = len(checked.errors)
    verdict = "legal" if checked else f"refused by {count} rule{'s'[: count > 1]}"
    target = f"{checked.target.name} ({checked.target.product})"
    head = [f"{checked.subject} on {target}: {verdict}"]
    resources = sorted(checked.resources, key=lambda resource: resource.name != "registers")
    head += (f"  {resource}" for resource in resources)
    head += (f"  {rule}" for rule in checked.reorders)
    if checked.binds is not None:
        b = checked.binds
        head.append(f"  binds: {b.name}, {b.used} of {b.available}")
    tail = ["  full(), or --full, says every rule with its source"]
    broken = [line for finding in checked.findings for line in _wrapped(str(finding))]
    rules = _rules(checked)
    left = LINES - len(head) - len(rules) - len(tail)
    whole = _whole_memory(checked)
    memory = whole if len(broken) + len(whole) <= left else _memory(checked)
    left, rest = left - len(memory), [*rules, *memory]
    if len(broken) > left:
        broken = [*broken[: left - 1], f"    … and {len(broken) - left + 1} lines more"]
    return [_cut(line) for line in (*head, *broken, *rest, *tail)]


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    return wrap(text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    ")


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 2].rstrip()} …"


def _limited(lines: Sequence[str], most: int) -> list[str]:
    rest = len(lines) - most
    return [*lines[:most], f"    … and {rest} more"] if rest > 1 else list(lines)


def _rules(checked: Checked) -> list[str]:
    """How many rules hold, and those that leave no room, each with what it holds for."""
    hold = f"  ✓ {checked.passed} rule{'s'[: checked.passed != 1]} hold{'s'[: checked.passed == 1]}"
    binding: dict[str, dict[str, None]] = {}
    for rule in checked.binding:
        condition = f"{rule.condition} ({rule.rule})"
        binding.setdefault(condition, {})[rule.subject.partition(" by ")[0]] = None
    if not binding:
        return [hold]
    lines = [f"    = {condition}: {_listed(subjects)}" for condition, subjects in binding.items()]
    return [f"{hold}, {len(checked.binding)} without room left:", *_limited(lines, _ROOM)]


def _whole_memory(checked: Checked) -> list[str]:
    """What memory must be, a quantity after the other."""
    lines: list[str] = []
    for subjects, demands in checked.alike():
        verb = "demand" if len(subjects) > 1 else "demands"
        lines += _wrapped(f"{_listed(subjects)} {verb} of memory:")
        lines += (line for demand in demands for line in _wrapped(str(demand), "    "))
    return lines


def _memory(checked: Checked) -> list[str]:
    """What base, width, pitch and offset must be multiples of, by array."""
    alike: dict[str, list[str]] = {}
    for subjects, demands in checked.alike():
        steps = ((demand.quantity, demand.must.multiple_of) for demand in demands)
        multiples = ", ".join(f"{name} {step}" for name, step in steps if step > 1)
        alike.setdefault(multiples, []).extend(subjects)
    lines = [
        f"    {_listed(subjects)}: {multiples}"
        for multiples, subjects in alike.items()
        if multiples
    ]
    return ["  memory must be at multiples of:", *_limited(lines, _MEMORY)] if lines else []


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
