"""What is said of plans, of schedules, which make them, and of the parts of a GEMM's recipe."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pycute_xe.differing.sides import Fact, Owned, Side
from pycute_xe.errors import CuteError, InputError
from pycute_xe.kernel.schedules import Counts, Plan, timeline

__all__ = ["COUNTS", "of_parts", "of_plan", "of_schedule"]

COUNTS: tuple[Counts, ...] = ((8, 8, 64),)
"""Tiles along M, N and K of the problem that schedules deal out where no other is given."""

MOST = 1 << 20
"""Tiles of K that are compared one by one."""

_NOUNS = ("work-group", "turn")


def of_plan(plan: Plan) -> Side:
    """Return what is said of a plan, and which work-group computes each tile of K, and when.

    Raises `InputError` for a plan of more than `MOST` tiles of K.
    """
    if plan.work > MOST:
        raise InputError(
            "diff",
            {"plan": plan},
            f"the plan has {plan.work:,} tiles of K, at most {MOST:,} are compared",
            "compare plans of fewer tiles",
        )
    facts: list[Fact] = [
        ("problems", "tiles along M, N and K", ", ".join(map(_times, plan.groups))),
        ("pieces", "", plan.pieces),
        ("work-groups", "", len(plan.units)),
        ("work", "tiles of K", plan.work),
        ("fix-up", "", plan.fixup),
        ("names", "", plan.name),
    ]
    try:
        steps = timeline(plan)
        facts += [("steps", "in all", steps.length), ("steps", "waited", steps.waited)]
    except CuteError as error:
        facts += [("steps", "in all", f"unknown: {error.condition}")]
    for what, value in _waits(plan).items():
        facts.append(("counters", what, value))
    owned = _owned(plan)
    return Side("plan", str(plan), tuple(facts), {"tiles of K": owned} if owned else {})


def _times(counts: Counts) -> str:
    return "x".join(map(str, counts))


def _waits(plan: Plan) -> dict[str, int | str]:
    """What pieces wait for and give: how many do, and how they are told apart."""
    pieces = [piece for unit in plan.units for piece in unit]
    links = sorted((p.tile, p.start, p.needs, p.gives, p.turn, p.parts) for p in pieces)
    waiting = sum(p.needs > 0 for p in pieces)
    return {"pieces that wait": waiting, "needs and gives": _digest(links)}


def _digest(links: list[Any]) -> str:
    """Return which needs and gives there are, each once."""
    kinds = dict.fromkeys((needs, gives) for _, _, needs, gives, _, _ in links)
    few = [f"({needs}, {gives})" for needs, gives in kinds][:6]
    return ", ".join(few) + (f" and {len(kinds) - 6} more" if len(kinds) > 6 else "")


def _owned(plan: Plan) -> Owned | None:
    """Return which work-group computes a tile of K, (group, m, n, k), and as which piece of its."""
    entries = [
        ((p.group, p.m, p.n, k), unit, turn)
        for unit, pieces in enumerate(plan.units)
        for turn, p in enumerate(pieces)
        for k in range(p.start, p.stop)
    ]
    if not entries:
        return None
    places, units, turns = zip(*entries, strict=True)
    return Owned(places, units, turns, _NOUNS)


def of_schedule(schedule: Any, counts: tuple[Counts, ...]) -> Side:
    """Return what is said of a schedule: its parameters, and the plan that it makes."""
    plan = of_plan(schedule.plan(*counts))
    facts = (*_parameters(schedule), *plan.facts)
    label = f"{type(schedule).__name__} of {', '.join(map(_times, counts))} tiles"
    return Side("schedule", label, facts, plan.owners)


def _parameters(value: Any) -> tuple[Fact, ...]:
    kind: Fact = ("parameters", "", type(value).__name__)
    return (kind, *(("parameters", f.name, str(getattr(value, f.name))) for f in fields(value)))


def of_parts(value: Any) -> Side:
    """Return what is said of a main loop, an epilogue or a schedule of a recipe: its fields."""
    return Side(type(value).__name__, type(value).__name__, _parameters(value)[1:])
