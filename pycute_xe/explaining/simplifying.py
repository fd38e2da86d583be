"""Floor 9: how `coalesce` comes to its result."""

from __future__ import annotations

from pycute_xe.algebra.simplify import flat_modes, from_modes
from pycute_xe.explaining.script import Script, mode_text, times
from pycute_xe.layout import Layout, make_layout
from pycute_xe.typing import IntTuple, Mode, is_tuple

__all__ = ["tell_coalesce", "tell_coalesced"]


def tell_coalesce(script: Script, layout: Layout, profile: IntTuple = None) -> Layout:
    """Write how the modes merge, left to right; by mode where there is a profile."""
    if profile is None or not is_tuple(profile):
        modes = flat_modes(layout)
        script.say("the leaves of the layout, left to right", from_modes(modes))
        out = from_modes(_merging(script, modes))
        script.say("what is left", out)
        return out
    if len(profile) > len(layout):
        script.stop(f"the profile has {len(profile)} modes, the layout {len(layout)}")
    parts: list[Layout] = []
    for i, part in enumerate(profile):
        with script.within(f"mode {i} by itself: {layout[i]}"):
            parts.append(tell_coalesce(script, layout[i], part))
    rest = [layout[i] for i in range(len(profile), len(layout))]
    if rest:
        script.say(f"the profile names {len(profile)} modes: the others stay")
    out = make_layout(*parts, *rest)
    script.say("the modes together", out)
    return out


def tell_coalesced(
    script: Script, text: str, modes: list[Mode], keep_last: bool = False
) -> list[Mode]:
    """Write what merges and drops out among modes on the way to something else.

    With ``keep_last`` the last mode never drops out.
    """
    aside = Script()
    out = _merging(aside, modes, keep_last, brief=True)
    if not aside.steps:
        script.say(text, from_modes(out))
        return out
    with script.within(f"{text}: {', '.join(map(mode_text, modes))}"):
        for step in aside.steps:
            script.say(step.text, step.value)
        script.say("what is left", from_modes(out))
    return out


def _merging(
    script: Script, modes: list[Mode], keep_last: bool = False, brief: bool = False
) -> list[Mode]:
    """Write what becomes of each mode; unless ``brief``, also of those that stay."""
    out: list[Mode] = []
    for i, (s, d) in enumerate(modes):
        name = mode_text((s, d))
        if s == 1 and not (keep_last and i == len(modes) - 1):
            script.say(f"{name} has one coordinate: it drops out")
            continue
        end = out[-1][0] * out[-1][1] if out else None
        if out and end == d:
            before = out.pop()
            out.append((before[0] * s, before[1]))
            product = f"{times(*before)} = {d}"
            text = f"{name} goes on where {mode_text(before)} ends ({product}): one mode"
            script.say(text, from_modes(out[-1:]))
            continue
        if out and not brief:
            last = out[-1]
            ends = f"{mode_text(last)} ends at {times(*last)} = {end}"
            script.say(f"{name} stays: {ends}, where the stride {d} does not go on")
        out.append((s, d))
    return out
