"""Slips in kernels that convert and scale their operands: each makes a wrong kernel of a right one.

A slip is refused when the kernel is built, or it is to be disproved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from mixed_forms import FORMS, made

from pycute_xe.kernel import (
    Convert,
    Element,
    Fragment,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Prefetch,
    Reorder,
    Statement,
)
from pycute_xe.kernel.kinds.parts import operand_copy
from pycute_xe.kernel.spec.expression import (
    Apply,
    Expression,
    Rounded,
    Slot,
    Total,
    rebuilt,
    rounded_to,
)
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import as_numeric

__all__ = ["FAULTS", "right"]

Fault: TypeAlias = Callable[[Kernel], Kernel]
BASES = {"s4 by rows": 9, "u4 by columns": 10, "e2m1": 11, "e4m3 twice": 12, "s2": 5}
BASES |= {"s4 zeros": 13, "u2 zeros": 14}


def right(base: str) -> Kernel:
    """A kernel without a slip."""
    return made(FORMS[BASES[base]], (16, 32, 32))


def load(kernel: Kernel, operand: str) -> Load:
    return next(s for s in kernel.statements() if isinstance(s, Load) and s.operand == operand)


def scaled(kernel: Kernel) -> Map:
    return next(s for s in kernel.statements() if isinstance(s, Map) and s.destination == "tCrB")


def moved(operand: str, change: Callable[[Index], Index], mode: int = 0) -> Fault:
    """Load an operand from elsewhere."""

    def fault(kernel: Kernel) -> Kernel:
        old = load(kernel, operand)
        at = tuple(change(x) if i == mode else x for i, x in enumerate(old.at))
        return kernel.replace(old, replace(old, at=at))

    return fault


def valued(change: Callable[..., Expression]) -> Fault:
    """Compute something else of the element, the zero point and the scale."""

    def fault(kernel: Kernel) -> Kernel:
        old = scaled(kernel)
        slots = [Slot(name) for name in old.sources]
        new = change(*slots)
        used = [str(x) for x in slots if str(x) in str(new)]
        gathers = tuple((n, by) for n, by in old.gathers if n in used)
        return kernel.replace(old, Map(old.destination, new, gathers))

    return fault


def gathered(change: Callable[[Layout], Layout], which: int) -> Fault:
    """Share a vector among the elements in another way."""

    def fault(kernel: Kernel) -> Kernel:
        old = scaled(kernel)
        gathers = tuple(
            (n, change(by) if i == which else by) for i, (n, by) in enumerate(old.gathers)
        )
        return kernel.replace(old, replace(old, gathers=gathers))

    return fault


def looped(var: str, change: Callable[[Loop], Loop]) -> Fault:
    def fault(kernel: Kernel) -> Kernel:
        old = kernel.loop(var)
        return kernel.replace(old, change(old))

    return fault


def once(operand: str) -> Fault:
    """Load a group's values before the loop over groups, and never again."""

    def fault(kernel: Kernel) -> Kernel:
        outer, old = kernel.loop("g"), load(kernel, operand)
        first = replace(old, at=tuple(x.substitute({"g": Index()}) for x in old.at))
        less = replace(outer, body=tuple(s for s in outer.body if s != old))
        return kernel.replace(outer, (first, less))

    return fault


def late(operand: str) -> Fault:
    """Load a group's values behind the tiles that need them."""

    def fault(kernel: Kernel) -> Kernel:
        outer, old = kernel.loop("g"), load(kernel, operand)
        rest = tuple(s for s in outer.body if s != old)
        return kernel.replace(outer, replace(outer, body=(*rest, old)))

    return fault


def once_too_few(operand: str) -> Fault:
    """Load nothing for the last group: what the group before had stays."""

    def fault(kernel: Kernel) -> Kernel:
        outer, old = kernel.loop("g"), load(kernel, operand)
        inner = kernel.loop("k")
        first = replace(old, at=tuple(x.substitute({"g": Index()}) for x in old.at))
        others = tuple(s for s in outer.body if s not in (old, inner))
        rest = (*(shifted(s, outer.stop - 1) for s in others), shifted(inner, outer.stop - 1))
        return kernel.replace(outer, (first, replace(outer, stop=outer.stop - 1), *rest))

    return fault


def shifted(statement: Statement, group: Index) -> Statement:
    """A statement of a trip over groups, done for one group."""
    names = {"g": group, "k": Index("k_last")}
    match statement:
        case Loop():
            body = tuple(shifted(s, group) for s in statement.body)
            return replace(statement, var="k_last", body=body)
        case If(index, below, body):
            return If(index.substitute(names), below, tuple(shifted(s, group) for s in body))
        case Load() | Prefetch():
            return replace(statement, at=tuple(x.substitute(names) for x in statement.at))
        case _:
            return statement


def inner_load(operand: str) -> Fault:
    """Load another group's values for each tile, as if a group were a tile."""

    def fault(kernel: Kernel) -> Kernel:
        outer, old = kernel.loop("g"), load(kernel, operand)
        inner = kernel.loop("k")
        by_tile = Index("g") * 2 + Index("k")
        new = replace(old, at=tuple(by_tile if "g" in x.names else x for x in old.at))
        within = replace(inner, body=(new, *inner.body))
        body = tuple(within if s == inner else s for s in outer.body if s != old)
        return kernel.replace(outer, replace(outer, body=body))

    return fault


def reordered(change: Callable[[Layout], Layout]) -> Fault:
    def fault(kernel: Kernel) -> Kernel:
        old = next(s for s in kernel.statements() if isinstance(s, Reorder) and "B" in s.source)
        return kernel.replace(old, replace(old, slots=change(old.slots)))

    return fault


def swapped_early(kernel: Kernel) -> Kernel:
    """Exchange neighbours that share bytes before they are converted."""
    kinds = (Convert, Reorder)
    old = next(s for s in kernel.statements() if isinstance(s, kinds) and s.source == "tBrB")
    source = kernel.fragment("tBrB")
    count = source.elements
    swap = Reorder("tBrB", "tBsB", Layout((2, 2, count // 4), (2, 1, 4)))
    more = replace(kernel, fragments=(*kernel.fragments, replace(source, name="tBsB")))
    return more.replace(old, (swap, replace(old, source="tBsB")))


def unconverted(kernel: Kernel) -> Kernel:
    """Multiply what was loaded as it is: no register has another type."""
    loaded = kernel.fragment("tBrB").value_type
    made = {s.destination for s in kernel.statements() if isinstance(s, (Convert, Reorder))}
    own = (
        replace(f, value_type=loaded) if f.name in made and "B" in f.name else f
        for f in kernel.fragments
    )
    return replace(kernel, fragments=tuple(own))


def unscaled(kernel: Kernel) -> Kernel:
    """Multiply what was converted, and never scaled."""
    return kernel.replace(scaled(kernel), None)


def narrowed(kind: str) -> Fault:
    """Convert by way of a narrower type."""

    def fault(kernel: Kernel) -> Kernel:
        old = next(s for s in kernel.statements() if isinstance(s, Convert) and s.source == "tBrB")
        source = kernel.fragment("tBrB")
        middle = Fragment("tBsB", kind, source.slots)
        more = replace(kernel, fragments=(*kernel.fragments, middle))
        return more.replace(old, (Convert("tBrB", "tBsB"), Convert("tBsB", old.destination)))

    return fault


def declared(operand: str, kind: str) -> Fault:
    """Read the bits of an operand as another type."""

    def fault(kernel: Kernel) -> Kernel:
        copy = operand_copy(kernel.mma, "B", "row", as_numeric(kind))
        old = load(kernel, operand)
        return kernel.replace(old, replace(old, copy=copy))

    return fault


def claimed(change: Callable[[Expression], Expression]) -> Fault:
    """Claim something else: the kernel does not do that."""

    def fault(kernel: Kernel) -> Kernel:
        spec = kernel.computes
        assert spec is not None
        (claim,) = spec.claims
        return replace(
            kernel, computes=replace(spec, claims=(replace(claim, value=change(claim.value)),))
        )

    return fault


def other_groups(value: Expression) -> Expression:
    def leaf(x: object) -> Expression:
        if not isinstance(x, Element) or x.operand != "scale":
            return x
        at = tuple(Index("k") // 128 if "k" in i.names else i for i in x.at)
        return Element("scale", at)

    return rebuilt(value, leaf)


def unrounded(value: Expression) -> Expression:
    match value:
        case Total():
            return replace(value, body=unrounded(value.body))
        case Apply():
            return replace(value, arguments=tuple(map(unrounded, value.arguments)))
        case Rounded():
            return value.body
        case _:
            return value


def evenly(layout: Layout) -> Layout:
    """The same value for every element."""
    return Layout(size(layout), 0)


def in_a_row(layout: Layout) -> Layout:
    """Neighbours share in runs of 16, whatever lies in them."""
    return Layout((16, size(layout) // 16), (0, 1) if size(layout) <= 256 else (0, 0))


def halved(layout: Layout) -> Layout:
    """A value for each pair of lanes."""
    return Layout((2, 8, size(layout) // 16), (0, 1, 0))


def identity(layout: Layout) -> Layout:
    return Layout(size(layout))


def turned(layout: Layout) -> Layout:
    return Layout((size(layout) // 16, 16), (16, 1))


def swapped(layout: Layout) -> Layout:
    """Neighbours in a register change places after the reorder."""
    count = size(layout)
    return Layout((2, 2, count // 4), (2, 1, 4))


def zeros_at(change: Callable[[Index], Index]) -> Fault:
    """Claim that the zero points lie in memory in another order than they are taken in."""

    def value(x: Expression) -> Expression:
        def leaf(one: Element | Slot) -> Expression:
            if not isinstance(one, Element) or one.operand != "zero":
                return one
            return replace(one, at=(*one.at[:-1], change(one.at[-1])))

        return rebuilt(x, leaf)

    return claimed(value)


def zeros_moved(slots: Callable[[Layout], Layout]) -> Fault:
    """Exchange zero points before they are widened."""

    def fault(kernel: Kernel) -> Kernel:
        old = next(s for s in kernel.statements() if isinstance(s, Convert) and "zero" in s.source)
        source = kernel.fragment(old.source)
        move = Reorder(old.source, "tSszero", slots(Layout(source.elements, 1)))
        more = replace(kernel, fragments=(*kernel.fragments, replace(source, name="tSszero")))
        return more.replace(old, (move, replace(old, source="tSszero")))

    return fault


PACKED: dict[str, Fault] = {
    "neighbours in a byte of zero points swapped": zeros_at(lambda n: n + 1 - 2 * (n % 2)),
    "bytes of zero points swapped": zeros_at(lambda n: n + 2 - 4 * (n // 2 % 2)),
    "every second zero point": zeros_at(lambda n: 2 * (n // 2)),
    "zero points moved among bytes": zeros_moved(swapped),
    "zero points turned": zeros_moved(turned),
}
"""Slips in zero points of which several share a byte."""

ZEROED: dict[str, Fault] = {
    "the zero point is subtracted after the scale": valued(lambda b, z, s: b * s - z),
    "the zero point is added": valued(lambda b, z, s: (b + z) * s),
    "no zero point": valued(lambda b, z, s: b * s),
    "no scale": valued(lambda b, z, s: b - z),
    "divided by the scale": valued(lambda b, z, s: (b - z) / s),
    "scaled twice": valued(lambda b, z, s: (b - z) * s * s),
    "the zero point scaled twice": valued(lambda b, z, s: (b - z * s) * s),
    "scale and zero point exchanged": valued(lambda b, z, s: (b - s) * z),
    "the scale rounded to a power of two": valued(lambda b, z, s: (b - z) * rounded_to("ue8m0", s)),
    "the zero point of the next group": moved("zero", lambda g: g + 1),
    "the zero point of the first group": moved("zero", lambda g: g * 0),
    "the zero point of the group before": moved("zero", lambda g: g - 1),
    "the zero point of the tile beside": moved("zero", lambda n: n + 32, 1),
    "the zero point loaded once": once("zero"),
    "the zero point loaded once too few": once_too_few("zero"),
    "the zero point loaded late": late("zero"),
    "the same zero point everywhere": gathered(evenly, 0),
    "zero points in runs": gathered(in_a_row, 0),
}
GROUPED: dict[str, Fault] = {
    "the scale of the next group": moved("scale", lambda g: g + 1),
    "the scale of the first group": moved("scale", lambda g: g * 0),
    "the scale of the group before": moved("scale", lambda g: g - 1),
    "the scale of every second group": moved("scale", lambda g: g // 2),
    "the scale of the double group": moved("scale", lambda g: g * 2),
    "the scale of the tile beside": moved("scale", lambda n: n + 32, 1),
    "the scale loaded once": once("scale"),
    "the scale loaded late": late("scale"),
    "a scale for each tile": inner_load("scale"),
    "a group of one tile": looped("k", lambda x: replace(x, stop=x.stop - 1)),
    "a group of three tiles": looped("k", lambda x: replace(x, stop=x.stop + 1)),
    "a group too few": looped("g", lambda x: replace(x, stop=x.stop - 1)),
    "groups from the second on": looped("g", lambda x: replace(x, start=x.start + 1)),
    "claimed in groups of 128": claimed(other_groups),
    "conversion missing": unconverted,
    "scaling missing": unscaled,
    "neighbours in a byte swapped": swapped_early,
    "neighbours in a register swapped": reordered(swapped),
    "the reorder moves nothing": reordered(identity),
    "the reorder transposes": reordered(turned),
}
TWICE: dict[str, Fault] = {
    "the scale of A's next group": moved("sa", lambda g: g + 1, 1),
    "the scale of B's next group": moved("sb", lambda g: g + 1),
    "the scale of A by the row beside": moved("sa", lambda m: m + 16),
    "A's scale loaded once": once("sa"),
    "B's scale loaded once": once("sb"),
    "B's scale in the place of the square": valued(lambda b, s: b * s * s),
    "no scale of B": valued(lambda b, s: b + 0 * s),
    "the same scale of B everywhere": gathered(evenly, 0),
    "a scale of B for each pair of lanes": gathered(halved, 0),
}
PLAIN: dict[str, Fault] = {
    "the scale of the tile beside": moved("scale", lambda n: n + 32),
    "the same scale everywhere": gathered(evenly, 0),
    "a scale for each pair of lanes": gathered(halved, 0),
    "scale added": valued(lambda b, s: b + s),
    "neighbours in a byte swapped": swapped_early,
    "conversion missing": unconverted,
}
FAULTS: dict[tuple[str, str], Fault] = {
    **{("s4 by rows", name): fault for name, fault in (ZEROED | GROUPED).items()},
    **{("u4 by columns", name): fault for name, fault in ZEROED.items()},
    **{("u4 by columns", name): fault for name, fault in PACKED.items()},
    **{("s4 zeros", name): fault for name, fault in (ZEROED | PACKED).items()},
    **{("u2 zeros", name): fault for name, fault in PACKED.items()},
    **{("e2m1", name): fault for name, fault in GROUPED.items()},
    **{("e4m3 twice", name): fault for name, fault in TWICE.items()},
    **{("s2", name): fault for name, fault in PLAIN.items()},
    ("e2m1", "the scale loaded once too few"): once_too_few("scale"),
    ("s4 by rows", "rounded to e4m3 before the scale"): valued(
        lambda b, z, s: rounded_to("f8e4m3", b - z) * s
    ),
    ("s4 by rows", "claimed without a rounding"): claimed(unrounded),
    ("e4m3 twice", "claimed without a rounding"): claimed(unrounded),
    ("s4 by rows", "by way of two bits"): narrowed("s2"),
    ("u4 by columns", "by way of s4"): narrowed("s4"),
    ("e2m1", "by way of two bits"): narrowed("s2"),
    ("e4m3 twice", "by way of e5m2"): narrowed("f8e5m2"),
    ("s4 by rows", "read as u4"): declared("B", "u4"),
    ("s4 by rows", "read as bytes"): declared("B", "s8"),
}
"""By the kernel and what is wrong with it."""
