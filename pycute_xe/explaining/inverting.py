"""Floor 9: how `complement` and the inverses come to their results."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from pycute_xe.algebra.simplify import flat_modes, from_modes
from pycute_xe.basis import Basis
from pycute_xe.explaining.script import Script, mode_text, times
from pycute_xe.explaining.simplifying import tell_coalesced
from pycute_xe.int_tuple import product
from pycute_xe.layout import Layout, cosize, pair
from pycute_xe.typing import IntTuple, Mode
from pycute_xe.unknown import in_order

__all__ = ["tell_complement", "tell_gaps", "tell_left_inverse", "tell_right_inverse"]


def _demand_positive(script: Script, modes: list[Mode]) -> None:
    for s, d in modes:
        if isinstance(d, Basis):
            script.stop(f"{mode_text((s, d))} leads to coordinates, not to offsets")
        if d < 0:
            script.stop(f"{mode_text((s, d))} leads backwards")


def tell_complement(script: Script, layout: Layout, cotarget: IntTuple = 1) -> Layout:
    """Write which offsets the modes leave free, and whether those free suffice."""
    free, hole = tell_gaps(script, layout, cotarget)
    target = product(cotarget)
    if hole is not None:
        reached = cosize(pair(layout, free))
        if reached < target:
            script.stop(
                f"layout and complement end at {reached}, below {target}, with a hole in it"
            )
        script.say(f"layout and complement end at {reached}, not below {target}", free)
    return free


def tell_gaps(script: Script, layout: Layout, cotarget: IntTuple) -> tuple[Layout, Any]:
    """Write which offsets the modes leave free, smallest stride first; return the first hole."""
    modes = [(s, d) for s, d in flat_modes(layout) if s != 1 and d != 0]
    _demand_positive(script, modes)
    modes = [(s, d) for d, s in in_order([(d, s) for s, d in modes])]
    listed = ", ".join(map(mode_text, modes)) or "none"
    script.say(f"the modes of {layout} that move, smallest stride first: {listed}")
    free: list[Mode] = []
    reach: Any = 1
    hole: Any = None
    for s, d in modes:
        name = mode_text((s, d))
        where = f"begins at {d}, where the ones before end: nothing is free"
        if d % reach:
            if d < reach:
                script.stop(f"{name}: begins before {reach}, where the ones before end")
            first = d // reach * reach
            hole = first if hole is None else hole
            where = f"begins at {d}, not a multiple of {reach}: from {first} on a hole is left"
        end = f"it ends at {times(s, d)} = {d * s}"
        if d // reach == 1:
            script.say(f"{name}: {where}; {end}")
        else:
            where = where if d % reach else f"begins at {d}"
            free.append((d // reach, reach))
            text = f"{name}: {where}; {d // reach} places, {reach} apart, are free below it; {end}"
            script.say(text, from_modes(free[-1:]))
        reach = d * s
    target = product(cotarget)
    count = -(-target // reach)
    free.append((count, reach))
    text = f"to reach {target} it takes ⌈{target}/{reach}⌉ = {count} of what ends at {reach}"
    script.say(text, from_modes(free[-1:]))
    return _ended(script, free), hole


def _ended(script: Script, modes: list[Mode]) -> Layout:
    """Write how the modes that were found merge."""
    return from_modes(tell_coalesced(script, "these modes, coalesced", modes))


def tell_right_inverse(script: Script, layout: Layout) -> Layout:
    """Write which modes reach the offsets 0, 1, 2, … without a gap, and which index does."""
    modes = tell_coalesced(script, f"the modes of {layout}, coalesced", flat_modes(layout))
    _demand_positive(script, modes)
    found: list[Mode] = []
    starts: dict[Any, Mode] = {}
    where: Any = 1
    for s, d in modes:
        if d not in starts or s > starts[d][0]:
            starts[d] = (s, where)
        where = where * s
    reach: Any = 1
    while reach in starts:
        s, at = starts[reach]
        found.append((s, at))
        script.say(
            f"offset {reach} is reached by the mode {s}:{reach}, whose steps are {at} apart in the "
            "index",
            from_modes(found[-1:]),
        )
        reach = reach * s
    script.say(f"no mode has the stride {reach}: the offsets from 0 without a gap end there")
    return _ended(script, found)


def tell_left_inverse(script: Script, layout: Layout) -> Layout:
    """Write which part of the index each stride gives back, smallest stride first."""
    modes = tell_coalesced(script, f"the modes of {layout}, coalesced", flat_modes(layout))
    _demand_positive(script, [mode for mode in modes if mode[1] != 0])
    placed: list[tuple[Any, ...]] = []
    where: Any = 1
    for s, d in modes:
        if d == 0:
            script.stop(f"{mode_text((s, d))} never moves: its offset has {s} indices, not one")
        placed.append((d, s, where))
        where = where * s
    return _ended(script, _counted(script, in_order(placed)))


def _counted(script: Script, placed: list[tuple[Any, ...]]) -> list[Mode]:
    out: list[Mode] = []
    step: Any = 1
    if placed:
        step = placed[0][0]
        out.append((step, 0))
        text = f"offsets below the smallest stride {step} belong to index 0"
        script.say(text, from_modes(out))
    drift: Any = 0
    for (d, s, at), (following, more, _) in pairwise(placed):
        name = mode_text((s, d))
        if following < step * s:
            script.stop(f"{name} reaches {step * s}, beyond the next stride {following}: they meet")
        if following % step:
            drift += (more - 1) * (following % step)
            text = (
                f"{name}: the next stride {following} is not a multiple of {step}: offsets drift "
            )
            text += f"off their places by up to {drift}"
            if drift >= placed[0][0]:
                script.stop(f"{text}, into the next index")
            script.say(f"{text}, which stays inside an index")
        out.append((following // step, at))
        text = f"{name}: every {step} offsets, up to the next stride {following}, add {at}"
        script.say(text, from_modes(out[-1:]))
        step = step * (following // step)
    for d, s, at in placed[-1:]:
        out.append((s, at))
        text = f"{mode_text((s, d))}, the last: every {step} offsets add {at}"
        script.say(text, from_modes(out[-1:]))
    return out
