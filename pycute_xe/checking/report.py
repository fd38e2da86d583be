"""Floor 9: what a check found, as a value that prints."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.arch import Broken, Target

__all__ = ["Checked", "Finding", "Resource"]


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


@dataclass(frozen=True)
class Checked:
    """The verdict of a check against a target; falsy when a rule refuses.

    ``passed`` counts the rules that were judged and hold; ``requirements`` are the rules on arrays
    that only a run can judge, each with its source.
    """

    subject: str
    target: Target
    passed: int
    findings: tuple[Finding, ...]
    resources: tuple[Resource, ...]
    requirements: tuple[str, ...]

    def __bool__(self) -> bool:
        """Whether no rule refuses."""
        return not self.errors

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What refuses."""
        return tuple(f for f in self.findings if f.is_error)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What is legal by some source and not by another, or leaves no room."""
        return tuple(f for f in self.findings if not f.is_error)

    @property
    def registers(self) -> int:
        """Registers a thread needs for its fragments; 0 where there are none."""
        return next((r.used for r in self.resources if r.name == "registers"), 0)

    @property
    def binds(self) -> Resource | None:
        """The resource that is used most, which a larger tile would run out of first."""
        return max(self.resources, key=lambda r: r.share, default=None)

    def __str__(self) -> str:
        """The verdict, the findings, the resources, what binds, and what arrays must satisfy."""
        verdict = "legal" if self else f"refused by {len(self.errors)} of its rules"
        lines = [f"{self.subject} on {self.target.name} ({self.target.product}): {verdict}"]
        lines += [f"  {finding}" for finding in self.findings]
        lines.append(f"  ✓ {self.passed} rules hold")
        lines += [f"  {resource}" for resource in self.resources]
        if self.binds is not None:
            b = self.binds
            lines.append(f"  binds: {b.name}, {b.used} of {b.available}")
        if self.requirements:
            lines.append("  of every array in memory, as a surface:")
            lines += [f"    {requirement}" for requirement in self.requirements]
        return "\n".join(lines)
