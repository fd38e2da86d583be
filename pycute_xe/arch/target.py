"""A target, the machine that a kernel is checked against, and the rules that hold for it.

A rule is a row of ``atoms/`` that bounds one named quantity; which quantities there are is the
business of whoever asks. Nothing here knows a message or a surface.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from pycute_xe.errors import CuteError, LegalityError, TargetError
from pycute_xe.facts import Row, rows, rows_for
from pycute_xe.signatures import typed, typed_fields

__all__ = [
    "Broken",
    "Level",
    "Rule",
    "errors",
    "judge",
    "nearest",
    "refuse",
    "rules",
    "SlmLimit",
    "Target",
    "get_target",
    "grf_bytes",
    "refuse_known_in_part",
    "targets",
]


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


@dataclass(frozen=True, slots=True)
class SlmLimit:
    """What one source says about the shared local memory of an Xe core, in bytes."""

    bytes: int
    level: Level
    source: str


@typed_fields
@dataclass(frozen=True, slots=True)
class Target:
    """A machine: register size and modes, hardware threads, execution size, shared local memory.

    ``threads`` pairs each register mode (registers a thread may use) with the hardware threads
    that one vector engine then keeps. ``vector_engines`` counts those of one Xe core, ``None``
    where no source says. Get one by name with `get_target`.

    >>> get_target("bmg").grf_modes
    (128, 256)
    """

    name: str
    product: str
    grf_bytes: int
    exec_size: int
    vector_engines: int | None
    threads: tuple[tuple[int, int], ...]
    slm: tuple[SlmLimit, ...]
    source: str

    def __post_init__(self) -> None:
        """Refuse a target that no thread could run on."""
        if self.grf_bytes < 1 or self.exec_size < 1 or not self.threads:
            raise TargetError("Target", {"name": self.name}, "incomplete", "correct the facts")

    def __str__(self) -> str:
        """The name, as it is written in calls."""
        return self.name

    @property
    def grf_modes(self) -> tuple[int, ...]:
        """Numbers of registers that a thread may be given, ascending."""
        return tuple(mode for mode, _ in self.threads)

    @typed
    def grf_mode(self, registers: int) -> int:
        """Return the smallest mode that holds so many registers; `TargetError` if none does.

        >>> get_target("pvc").grf_mode(224)
        256
        """
        fitting = [mode for mode in self.grf_modes if mode >= registers]
        if not fitting:
            most = max(self.grf_modes)
            raise TargetError(
                "grf_mode",
                {"target": self, "registers": registers},
                f"a thread has at most {most} registers",
                "use smaller fragments, or more threads for the same tile",
            )
        return min(fitting)

    @typed
    def threads_per_engine(self, grf_mode: int) -> int:
        """Return the hardware threads of a vector engine in a register mode.

        Raises `TargetError` for a mode that the target does not have.

        >>> get_target("pvc").threads_per_engine(256)
        4
        """
        found = dict(self.threads).get(grf_mode)
        if found is None:
            raise TargetError(
                "threads_per_engine",
                {"target": self, "grf_mode": grf_mode},
                f"the target has no mode of {grf_mode} registers",
                f"one of {', '.join(map(str, self.grf_modes))}",
            )
        return found

    @typed
    def threads_per_core(self, grf_mode: int) -> int:
        """Return the hardware threads of an Xe core in a register mode.

        Law: vector engines × threads of each. Raises `TargetError` where no source gives either.

        >>> get_target("bmg").threads_per_core(128)
        64
        """
        if self.vector_engines is None:
            raise TargetError(
                "threads_per_core",
                {"target": self},
                "no source gives the vector engines of its Xe core",
                "use threads_per_engine",
            )
        return self.vector_engines * self.threads_per_engine(grf_mode)

    @property
    def slm_bytes(self) -> int:
        """The largest shared local memory, in bytes, that a source allows an Xe core.

        >>> get_target("pvc").slm_bytes
        131072
        """
        return max(limit.bytes for limit in self.slm)

    @typed
    def slm_broken(self, nbytes: int) -> tuple[Broken, ...]:
        """Return the limits that so many bytes of shared local memory exceed, errors first.

        >>> [b.level for b in get_target("bmg").slm_broken(100_000)]
        ['warning']
        """
        over = [limit for limit in self.slm if nbytes > limit.bytes]
        return tuple(
            Broken(
                "slm-bytes",
                limit.level,
                f"shared local memory is {nbytes} bytes, must be at most {limit.bytes}",
                limit.source,
                f"use {limit.bytes} bytes or fewer",
            )
            for limit in sorted(over, key=lambda limit: limit.level == "warning")
        )


def get_target(target: str | Target) -> Target:
    """Return the target of a name; a `Target` is returned as it is.

    Raises `TargetError` for an unknown name, listing the known ones, and with the reason for
    machines that are known only in part.

    >>> get_target("lnl").grf_bytes
    64
    """
    if isinstance(target, Target):
        return target
    if type(target) is not str:
        known = ", ".join(targets())
        raise TargetError(
            "get_target",
            {"target": target},
            "a target must be a name or a Target",
            f"one of {known}",
        )
    found = _described().get(target)
    if found is None:
        refuse_known_in_part("get_target", target)
        known = ", ".join(targets())
        raise TargetError("get_target", {"target": target}, "unknown target", f"one of {known}")
    return found


def refuse_known_in_part(operation: str, target: str) -> None:
    """Raise `TargetError`, with the reason, for a machine whose limits are known only in part.

    >>> refuse_known_in_part("Dpas", "dg2")
    Traceback (most recent call last):
    pycute_xe.errors.TargetError: Dpas(target=dg2): 8 lanes ...
    """
    for row in rows("lsc", "refused"):
        if target in cast("tuple[str, ...]", row["names"]):
            condition = f"{row['condition']} [{row['source']}]"
            *most, last = targets()
            way_out = f"use {', '.join(most)} or {last}"
            raise TargetError(operation, {"target": target}, condition, way_out)


@cache
def targets() -> dict[str, Target]:
    """Return the targets on which atoms are judged and compared, by name.

    `get_target` knows one more, ``"cri"``, of which not all messages have rows.

    >>> sorted(targets())
    ['bmg', 'lnl', 'ptl', 'pvc']
    """
    listed = {str(row["name"]) for row in rows("arch", "target") if row.get("listed", True)}
    return {name: target for name, target in _described().items() if name in listed}


@cache
def _described() -> dict[str, Target]:
    """Every target that has a row."""
    return {target.name: target for target in map(_target, rows("arch", "target"))}


@cache
def grf_bytes() -> int:
    """Return the register size in bytes, which all described targets share.

    Positions in registers are the same on every target because of it. Raises `CuteError` should
    the facts ever hold targets that differ.

    >>> grf_bytes()
    64
    """
    sizes = {target.grf_bytes for target in _described().values()}
    if len(sizes) != 1:
        raise CuteError(
            "grf_bytes",
            {"sizes": sizes},
            "the targets have registers of different sizes",
            "name a target",
        )
    return sizes.pop()


def _target(row: object) -> Target:
    facts = cast("dict[str, object]", row)
    name = cast("str", facts["name"])
    threads = tuple(
        cast("tuple[int, int]", pair)
        for found in rows_for("arch", "threads", name)
        for pair in cast("tuple[object, ...]", found["modes"])
    )
    slm = tuple(
        SlmLimit(cast("int", r["bytes"]), cast("Level", r["level"]), cast("str", r["source"]))
        for r in rows_for("arch", "slm", name)
    )
    return Target(
        name=name,
        product=cast("str", facts["product"]),
        grf_bytes=cast("int", facts["grf_bytes"]),
        exec_size=cast("int", facts["exec_size"]),
        vector_engines=cast("int | None", facts.get("vector_engines")),
        threads=tuple(sorted(threads)),
        slm=slm,
        source=cast("str", facts["source"]),
    )
