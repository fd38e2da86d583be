"""Floor 9: how `composition` comes to its result.

The walks are told from the operands, mode by mode; the operation itself is not asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pycute_xe.algebra.compose import as_tiler, straight
from pycute_xe.algebra.simplify import flat_modes, from_modes
from pycute_xe.basis import Basis
from pycute_xe.explaining.script import Script, mode_text, times
from pycute_xe.explaining.simplifying import tell_coalesced
from pycute_xe.layout import Layout, get, make_layout
from pycute_xe.typing import Mode, Tiler, is_tuple
from pycute_xe.unknown import at_most

__all__ = ["tell_composition"]

Path = tuple[int, ...]


def tell_composition(script: Script, a: Layout, b: Tiler) -> Layout:
    """Write how each mode of ``b`` walks over the modes of ``a``; by mode for a tuple."""
    if is_tuple(b):
        return _by_mode(script, a, b)
    if b is None:
        script.say("_ keeps the mode", a)
        return a
    tiler = as_tiler(b)
    if not isinstance(b, Layout):
        script.say(f"the integer {b} stands for a layout", tiler)
    text = f"the modes of A = {a}, coalesced; the last has no end"
    modes = tell_coalesced(script, text, flat_modes(a), keep_last=True)
    walks = _Walks(script, a, {(): modes})
    out = Layout(*walks.tree(tiler.shape, tiler.stride))
    walks.check_carries()
    script.say(f"the walks, nested as B = {tiler} nests", out)
    return out


def _by_mode(script: Script, a: Layout, tiler: tuple[Any, ...]) -> Layout:
    if len(tiler) > len(a):
        script.stop(f"B has {len(tiler)} entries, A has {len(a)} modes")
    parts: list[Layout] = []
    for i, entry in enumerate(tiler):
        with script.within(f"mode {i} of A, {a[i]}, with entry {i} of B, {_named(entry)}"):
            parts.append(tell_composition(script, a[i], entry))
    if len(tiler) < len(a):
        script.say(f"B has {len(tiler)} entries: the other modes of A drop out")
    out = make_layout(*parts) if parts else Layout((), ())
    script.say("the modes together", out)
    return out


def _named(entry: Any) -> str:
    if is_tuple(entry):
        return f"({', '.join(map(_named, entry))})"
    return "_" if entry is None else str(entry)


@dataclass
class _Walks:
    """The walks of B's modes over A, or over the modes of A that basis strides point at."""

    script: Script
    a: Layout
    modes: dict[Path, list[Mode]]
    """The coalesced modes that are walked over, by the path to them in A."""
    ends: dict[Path, list[Any]] = field(default_factory=dict[Path, list[Any]])
    """Where the walks over them arrive last."""

    def tree(self, shape: Any, stride: Any) -> Mode:
        """Walk with every leaf of B; return the shape and stride of the result."""
        if not is_tuple(shape):
            return self.leaf(shape, stride)
        pairs = [self.tree(s, d) for s, d in zip(shape, stride, strict=True)]
        return tuple(s for s, _ in pairs), tuple(d for _, d in pairs)

    def leaf(self, extent: Any, step: Any) -> Mode:
        """Walk with one leaf of B."""
        script = self.script
        with script.within(f"mode {extent}:{step} of B takes {extent} elements of A, {step} apart"):
            if step == 0:
                script.say("it never moves", from_modes([(extent, 0)]))
                return extent, 0
            path: Path = ()
            if isinstance(step, Basis):
                path, step = step.modes, step.value
                self._open(path)
            modes = self.modes[path]
            if extent != 1 and len(modes) > 1:
                self.ends.setdefault(path, []).append((extent - 1) * step)
            out = _walk(script, modes, extent, step)
            if is_tuple(out[0]):
                script.say("together", Layout(*out))
            return out

    def _open(self, path: Path) -> None:
        where = ", ".join(map(str, path))
        if path not in self.modes:
            modes = flat_modes(get(self.a, *path))
            text = f"the stride points at mode {where} of A, coalesced"
            self.modes[path] = tell_coalesced(self.script, text, modes, keep_last=True)
        else:
            self.script.say(f"the stride points at mode {where} of A again")

    def check_carries(self) -> None:
        """Tell whether the modes of B together stay inside each mode of A that has an end."""
        for path, ends in self.ends.items():
            if len(ends) > 1:
                self._check(self.modes[path], ends)

    def _check(self, modes: list[Mode], last: list[Any]) -> None:
        for s, d in modes[:-1]:
            parts = [end % s for end in last]
            reached = sum(parts)
            text = f"in the mode {mode_text((s, d))} of A the modes of B together reach {reached}"
            if reached >= s:
                self.script.stop(f"{text}, over its end at {s}: the sum of the walks is not a walk")
            self.script.say(f"{text}, below its end at {s}")
            last = [end // s for end in last]


def _walk(script: Script, modes: list[Mode], extent: Any, step: Any) -> Mode:
    """Write how ``extent`` elements, ``step`` apart, lie in modes of which the last has no end."""
    if not modes:
        script.say("A has no modes: every element is the first")
        return extent, 0
    last = modes[-1][1]
    if len(modes) == 1:
        out = extent, step * last
        script.say(
            f"{mode_text(modes[0])}, which has no end: {times(step, last)} apart", Layout(*out)
        )
        return out
    if extent == 1:
        for s, _ in modes[:-1]:
            step = -(-step // s)
        script.say(f"a single element takes no step; CuTe prints {times(step, last)} for it")
        return 1, step * last
    return _walk_on(script, modes, extent, step)


def _walk_on(script: Script, modes: list[Mode], left: Any, step: Any) -> Mode:
    taken: list[Mode] = []
    for i, (s, d) in enumerate(modes[:-1]):
        name = mode_text((s, d))
        if at_most(s, step):
            further = _straight(script, modes[i:], left, step) if step % s else None
            if further is not None:
                return _gathered(taken + further)
            step = _passed(script, (s, d), step)
            continue
        here = -(-s // step) if step > 0 else 0
        if left > 0 and at_most(left, here):
            taken.append((left, step * d))
            script.say(
                f"{name}: all {left} fit in here, {times(step, d)} apart", from_modes(taken[-1:])
            )
            return _gathered(taken)
        uneven = here > 0 and (s % step or left % here)
        further = _straight(script, modes[i:], left, step) if uneven else None
        if further is not None:
            return _gathered(taken + further)
        _demand_even(script, (s, d), (here, step), left)
        taken.append((here, step * d))
        script.say(
            f"{name}: takes {here} of {left}, {times(step, d)} apart", from_modes(taken[-1:])
        )
        left, step = left // here, 1
    last = modes[-1]
    taken.append((left, step * last[1]))
    text = f"{mode_text(last)}, which has no end: takes {left}, {times(step, last[1])} apart"
    script.say(text, from_modes(taken[-1:]))
    return _gathered(taken)


def _passed(script: Script, mode: Mode, step: Any) -> Any:
    """Step over a whole mode; return the step that is left of it."""
    s = mode[0]
    if step % s:
        script.stop(
            f"{mode_text(mode)}: a step of {step} is not a whole number of its {s} elements"
        )
    count = step // s
    many = f"{count} times" if count != 1 else "just"
    script.say(f"{mode_text(mode)}: a step of {step} is {many} its {s} elements and passes it")
    return count


def _straight(script: Script, modes: list[Mode], left: Any, step: Any) -> list[Mode] | None:
    """Write how a walk steps in several modes at once, if it can."""
    taken = straight(modes, left, step)
    if taken is not None:
        name = mode_text(modes[0])
        script.say(
            f"{name}: steps of {step} go on in further modes too, and meet no end while every "
            "step adds the same",
            from_modes(taken),
        )
    return taken


def _demand_even(script: Script, mode: Mode, walk: tuple[Any, Any], left: Any) -> None:
    """Stop where a walk that goes on into the next mode would arrive there out of step."""
    here, step = walk
    s, name = mode[0], mode_text(mode)
    if here == 0:
        script.stop(f"{name}: a step of {step} leads backwards")
    if s % step:
        script.stop(f"{name}: a step of {step} does not divide its {s} elements")
    if left % here:
        script.stop(f"{name}: takes {here} of {left}, which do not come in groups of {here}")


def _gathered(taken: list[Mode]) -> Mode:
    merged = from_modes(taken)
    return merged.shape, merged.stride
