"""Floor 12: what a check found, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pycute_xe.cli.json_text import json_text

if TYPE_CHECKING:
    from pycute_xe.checking import Bounds, Checked, Demand, Finding, Held

__all__ = ["CheckOutcome"]


@dataclass(frozen=True)
class CheckOutcome:
    """What was asked, and the verdict."""

    asked: str
    checked: Checked

    def to_json(self) -> str:
        """Return everything, for programs."""
        checked = self.checked
        broken = [_broken(finding) for finding in checked.findings]
        return json_text(
            {
                "asked": self.asked,
                "subject": checked.subject,
                "target": checked.target.name,
                "legal": bool(checked),
                "rules": [*broken, *map(_held, checked.held)],
                "resources": [
                    {"name": r.name, "used": r.used, "available": r.available}
                    for r in checked.resources
                ],
                "demands": list(map(_demand, checked.demands)),
            }
        )

    def show(self, verbose: bool) -> None:
        """Print the verdict, what is broken, what binds, and what memory must be."""
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False)
        lines = [*self.checked.lines()]
        if verbose:
            lines = str(self.checked).splitlines()
            lines += ["  these rules hold:", *(f"    {held}" for held in self.checked.held)]
        for number, line in enumerate(lines):
            console.print(Text(line), soft_wrap=True, style="" if number else "bold")


def _broken(finding: Finding) -> dict[str, Any]:
    b = finding.broken
    rule = {"subject": finding.subject, "rule": b.rule, "level": b.level, "state": "broken"}
    return {**rule, "condition": b.condition, "source": b.source, "way_out": b.fix}


def _held(held: Held) -> dict[str, Any]:
    rule = {"subject": held.subject, "rule": held.rule}
    state = "binds" if held.binds else "holds"
    return {**rule, "state": state, "condition": held.condition, "source": held.source}


def _demand(demand: Demand) -> dict[str, Any]:
    return {
        "subject": demand.subject,
        "quantity": demand.quantity,
        "unit": demand.unit,
        "must": _bounds(demand.must),
        "better": _bounds(demand.better),
        "not_below_width": demand.at_least_width,
        "rules": list(demand.rules),
    }


def _bounds(bounds: Bounds) -> dict[str, int | None]:
    return {
        "at_least": bounds.at_least,
        "at_most": bounds.at_most,
        "multiple_of": bounds.multiple_of,
    }
