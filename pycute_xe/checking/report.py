"""Floor 9: what a check found, as a value that prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pycute_xe.arch import Broken, Target
from pycute_xe.checking.demands import Demand
from pycute_xe.signatures import held_fields

__all__ = ["Checked", "Finding", "Held", "Resource"]


@held_fields
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


@held_fields
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


@held_fields
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


@held_fields
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
        return tuple(held for held in self.held if held.binds)

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
    def binds(self) -> Resource | None:
        """The resource that is used most, which a larger tile would run out of first."""
        return max(self.resources, key=lambda r: r.share, default=None)

    def __repr__(self) -> str:
        """The first line of the report."""
        return f"<Checked {next(self.lines())}>"

    def __str__(self) -> str:
        """The verdict, the findings, what binds, the resources, the demands and their sources."""
        lines = list(self.lines())
        if self.requirements:
            lines.append("  these are the rules behind the demands:")
            lines += [f"    {requirement}" for requirement in self.requirements]
        return "\n".join(lines)

    def lines(self) -> Iterator[str]:
        """Yield the report without the sources of the demands."""
        count = len(self.errors)
        verdict = "legal" if self else f"refused by {count} rule{'s'[: count > 1]}"
        yield f"{self.subject} on {self.target.name} ({self.target.product}): {verdict}"
        yield from (f"  {finding}" for finding in self.findings)
        yield f"  ✓ {self.passed} rule{'s'[: self.passed != 1]} hold{'s'[: self.passed == 1]}"
        yield from (f"  {held}" for held in self.binding)
        yield from (f"  {resource}" for resource in self.resources)
        if self.binds is not None:
            b = self.binds
            yield f"  binds: {b.name}, {b.used} of {b.available}"
        for subjects, demands in self._alike():
            verb = "demand" if len(subjects) > 1 else "demands"
            yield f"  {', '.join(subjects)} {verb} of memory:"
            yield from (f"    {demand}" for demand in demands)

    def _alike(self) -> list[tuple[list[str], tuple[Demand, ...]]]:
        """The demands by subject; subjects that demand the same stand together."""
        by_subject: dict[str, tuple[Demand, ...]] = {}
        for demand in self.demands:
            by_subject[demand.subject] = (*by_subject.get(demand.subject, ()), demand)
        groups: dict[tuple[str, ...], tuple[list[str], tuple[Demand, ...]]] = {}
        for subject, demands in by_subject.items():
            groups.setdefault(tuple(map(str, demands)), ([], demands))[0].append(subject)
        return list(groups.values())
