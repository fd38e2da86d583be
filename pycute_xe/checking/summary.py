"""A check at a glance: the verdict, what is used of how much, what binds, what is broken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pycute_xe.checking.report import Checked

__all__ = ["LINES", "WIDTH", "summary"]

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
