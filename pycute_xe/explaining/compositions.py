"""How `composition` comes to its result.

The walks are told from the operands, mode by mode; the operation itself is not asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

from pycute_xe.algebra import swizzled
from pycute_xe.algebra.compose import as_tiler, flat_modes, from_modes, straight
from pycute_xe.basis import Basis, BasisSum, basis_sum
from pycute_xe.composed import ComposedLayout
from pycute_xe.explaining.explanation import Script, mode_text, times
from pycute_xe.int_tuple import product
from pycute_xe.layout import Layout, cosize, get, make_layout, pair
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import IntTuple, Mode, Tiler, at_most, in_order, is_tuple

__all__ = [
    "explain_composition",
    "explain_coalesce",
    "explain_coalesced",
    "beneath",
    "explain_any_composition",
    "through_inverse",
    "explain_complement",
    "explain_gaps",
    "explain_left_inverse",
    "explain_right_inverse",
]

# ------------------------------------------------------------ simplifying
# How `coalesce` comes to its result.


def explain_coalesce(script: Script, layout: Layout, profile: IntTuple = None) -> Layout:
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
            parts.append(explain_coalesce(script, layout[i], part))
    rest = [layout[i] for i in range(len(profile), len(layout))]
    if rest:
        script.say(f"the profile names {len(profile)} modes: the others stay")
    out = make_layout(*parts, *rest)
    script.say("the modes together", out)
    return out


def explain_coalesced(
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


# ------------------------------------------------------------ composing

Path = tuple[int, ...]


def explain_composition(script: Script, a: Layout, b: Tiler) -> Layout:
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
    modes = explain_coalesced(script, text, flat_modes(a), keep_last=True)
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
            parts.append(explain_composition(script, a[i], entry))
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
            if isinstance(step, BasisSum):
                return self._along_axes(extent, step)
            return self._along_axis(extent, step)

    def _along_axes(self, extent: Any, step: BasisSum) -> Mode:
        """Walk along each axis that a sum of basis elements names, and add the strides."""
        script, total = self.script, cast("Any", 0)
        for term in step.terms:
            with script.within(f"along {term}"):
                count, stride = self._along_axis(extent, term)
                if is_tuple(count):
                    script.stop(
                        f"the walk along {term} takes several modes of A, one after another"
                    )
            total = total + stride
        out = extent, basis_sum(total) if is_tuple(total) else total
        script.say("every step moves along all of these axes: the strides add", from_modes([out]))
        return out

    def _along_axis(self, extent: Any, step: Any) -> Mode:
        """Walk over A, or over the mode of A that a basis element points at."""
        path: Path = ()
        if isinstance(step, Basis):
            path, step = step.modes, step.value
            self._open(path)
        modes = self.modes[path]
        if extent != 1 and len(modes) > 1:
            self.ends.setdefault(path, []).append((extent - 1) * step)
        out = _walk(self.script, modes, extent, step)
        if is_tuple(out[0]):
            self.script.say("together", Layout(*out))
        return out

    def _open(self, path: Path) -> None:
        where = ", ".join(map(str, path))
        if path not in self.modes:
            modes = flat_modes(get(self.a, *path))
            text = f"the stride points at mode {where} of A, coalesced"
            self.modes[path] = explain_coalesced(self.script, text, modes, keep_last=True)
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


# ------------------------------------------------------------ swizzling
# What the operations do where a swizzle takes part.

Explainer = Callable[..., Any]


def beneath(explainer: Explainer) -> Explainer:
    """Tell an operation that rearranges the domain: a swizzle stays outside."""

    def explained(script: Script, layout: Any, *operands: Any) -> Any:
        if not isinstance(layout, ComposedLayout):
            return explainer(script, layout, *operands)
        with script.within(f"the swizzle stays outside: on the layout beneath, {layout.layout}"):
            inner = explainer(script, layout.layout, *operands)
        out = layout.with_layout(inner)
        script.say("under the swizzle again", out)
        return out

    return explained


def explain_any_composition(script: Script, a: Any, b: Any, c: Any = None) -> Any:
    """Tell `composition` of layouts, tilers and swizzles."""
    if isinstance(a, Swizzle):
        return _of_a_swizzle(script, a, b, c)
    if isinstance(a, Layout) and isinstance(b, Swizzle):
        return _through(script, a, b)
    if isinstance(a, Layout) and isinstance(b, ComposedLayout):
        if b.offset:
            script.stop(f"B begins at offset {b.offset}: only a swizzle from 0 on can be moved")
        with script.within(f"A with the swizzle of B, {b.swizzle}"):
            outer = _through(script, a, b.swizzle)
        return beneath(explain_composition)(script, outer, b.layout)
    return beneath(explain_composition)(script, a, b)


def _of_a_swizzle(script: Script, a: Swizzle, b: Any, c: Any) -> Any:
    if isinstance(b, Swizzle):
        script.say(
            f"A reads the bits {a.yyy_mask:#b} and changes {a.zzz_mask:#b}, "
            f"B reads {b.yyy_mask:#b} and changes {b.zzz_mask:#b}"
        )
        out = swizzled.composition(a, b)
        script.say("bits that both read, or both change, cancel; what is left is a swizzle", out)
        return out
    offset, inner = (0, b) if c is None else (b, c)
    out = swizzled.composition(a, offset, inner)
    if a.bits:
        script.say(f"{a} acts on the offsets of {inner}, {offset} added: it stays outside", out)
    else:
        script.say(f"{a} changes no bits", out)
    return out


def _through(script: Script, a: Layout, b: Swizzle) -> ComposedLayout:
    script.say(f"{b} reads the bits {b.yyy_mask:#b} of an index and changes {b.zzz_mask:#b}")
    out: Any = swizzled.composition(a, b)
    script.say(
        f"{a} moves them to the bits {out.swizzle.yyy_mask:#b} and {out.swizzle.zzz_mask:#b} of an "
        "offset, and all others as they are: a swizzle of its offsets does the same",
        out,
    )
    return out


def through_inverse(explainer: Explainer, invert: Callable[[Layout], Layout]) -> Explainer:
    """Tell an inverse: of a swizzled layout, the inverse beneath, read through the swizzle."""

    def explained(script: Script, layout: Any) -> Any:
        if not isinstance(layout, ComposedLayout):
            return explainer(script, layout)
        if layout.offset:
            script.stop(f"the layout begins at offset {layout.offset}, not at 0")
        with script.within(f"beneath the swizzle, {layout.layout}"):
            explainer(script, layout.layout)
        script.say(f"{layout.swizzle} undoes itself: the inverse is composed with it")
        return _through(script, invert(layout.layout), layout.swizzle)

    return explained


# ------------------------------------------------------------ inverting
# How `complement` and the inverses come to their results.


def _demand_positive(script: Script, modes: list[Mode]) -> None:
    for s, d in modes:
        if isinstance(d, Basis):
            script.stop(f"{mode_text((s, d))} leads to coordinates, not to offsets")
        if d < 0:
            script.stop(f"{mode_text((s, d))} leads backwards")


def explain_complement(script: Script, layout: Layout, cotarget: IntTuple = 1) -> Layout:
    """Write which offsets the modes leave free, and whether those free suffice."""
    free, hole = explain_gaps(script, layout, cotarget)
    target = product(cotarget)
    if hole is not None:
        reached = cosize(pair(layout, free))
        if reached < target:
            script.stop(
                f"layout and complement end at {reached}, below {target}, with a hole in it"
            )
        script.say(f"layout and complement end at {reached}, not below {target}", free)
    return free


def explain_gaps(script: Script, layout: Layout, cotarget: IntTuple) -> tuple[Layout, Any]:
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
    return from_modes(explain_coalesced(script, "these modes, coalesced", modes))


def explain_right_inverse(script: Script, layout: Layout) -> Layout:
    """Write which modes reach the offsets 0, 1, 2, … without a gap, and which index does."""
    modes = explain_coalesced(script, f"the modes of {layout}, coalesced", flat_modes(layout))
    _demand_positive(script, modes)
    chain: list[Mode] = []
    starts: dict[Any, Mode] = {}
    where: Any = 1
    for s, d in modes:
        if d not in starts or s > starts[d][0]:
            starts[d] = (s, where)
        where = where * s
    reach: Any = 1
    while reach in starts:
        s, at = starts[reach]
        chain.append((s, at))
        script.say(
            f"offset {reach} is reached by the mode {s}:{reach}, whose steps are {at} apart in the "
            "index",
            from_modes(chain[-1:]),
        )
        reach = reach * s
    script.say(f"no mode has the stride {reach}: the offsets from 0 without a gap end there")
    return _ended(script, chain)


def explain_left_inverse(script: Script, layout: Layout) -> Layout:
    """Write which part of the index each stride gives back, smallest stride first."""
    modes = explain_coalesced(script, f"the modes of {layout}, coalesced", flat_modes(layout))
    _demand_positive(script, [mode for mode in modes if mode[1] != 0])
    placed: list[tuple[Any, ...]] = []
    where: Any = 1
    for s, d in modes:
        if d == 0:
            script.say(f"{mode_text((s, d))} never moves: of its {s} indices the first counts")
        else:
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
