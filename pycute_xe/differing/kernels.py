"""What is said of a kernel: each figure from the reader that counts it, statements as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from pycute_xe.arch import Target
from pycute_xe.arch.registers import occupancy
from pycute_xe.comparing.changes import NAMES, Difference, Row
from pycute_xe.costing import Cost, cost_of, facts_of
from pycute_xe.costing.device import get_device
from pycute_xe.costing.reasons import decides, figures
from pycute_xe.differing.sides import Fact, Line, Owned, Side, between, owned_by
from pycute_xe.differing.tilings import judged, operands_of
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.executing.problem import Problem
from pycute_xe.executing.runner import count_work
from pycute_xe.kernel import Index, Kernel, Operand, walk
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.effects import Touched
from pycute_xe.kernel.ir.identities import identified
from pycute_xe.kernel.ir.listing import line_in
from pycute_xe.kernel.ir.program import Program, chooses
from pycute_xe.kernel.ir.visiting import visit
from pycute_xe.machine import Trace

__all__ = ["differing_kernels", "work_of"]

_WIDE = 1 << 16
"""Extents of operands whose tiles are counted: no tile is clipped."""


def differing_kernels(
    one: Kernel, other: Kernel, target: Target, sizes: Mapping[str, int] | None = None
) -> Difference:
    """Return what differs between two kernels; where names alone do, the rows say which."""
    first = _side(one, target, sizes)
    names = _names(one, other)
    if names is None:
        difference = between(first, _side(other, target, sizes))
        return replace(difference, notes=(*difference.notes, *_deciding(one, other, target, sizes)))
    difference = between(first, replace(first, label=other.name))
    rows = (Row(NAMES, "", was, now) for was, now in ((one.name, other.name), *names) if was != now)
    return replace(difference, rows=(*difference.rows, *rows))


def _names(one: Kernel, other: Kernel) -> tuple[tuple[str, str], ...] | None:
    """Return the names of both for each thing, where names alone differ."""
    if one == other:
        return None
    try:
        (mine, names), (yours, theirs) = identified(one), identified(other)
    except KernelError:  # a kind of statement whose names are not known
        return None
    if replace(mine, name=yours.name) != yours:
        return None
    return tuple((name, theirs.names[x]) for x, name in names.names.items())


# ------------------------------------------------------------ side


def _side(kernel: Kernel, target: Target, sizes: Mapping[str, int] | None) -> Side:
    report = tuple(judged(kernel, target))
    facts: list[Fact] = [
        (NAMES, "kernel", kernel.name),
        ("grid", "axes", ", ".join(name for name, _ in kernel.grid)),
        *(("grid", name, str(count)) for name, count in kernel.grid),
        ("grid", "subgroups", kernel.subgroups),
        *_operands(kernel),
        *_claims(kernel),
        *work_of(kernel, target),
        *(("registers", f.name, str(f).removeprefix(f"{f.name} ")) for f in kernel.fragments),
        *(("shared memory", a.name, str(a).removeprefix(f"{a.name} ")) for a in kernel.shared),
        *report,
        *_cost(report, target),
        *_run(kernel, target, sizes),
        *_estimate(_priced(kernel, target, sizes)),
    ]
    lines = tuple(_lines(kernel))
    return Side("kernel", kernel.name, tuple(facts), _owners(kernel), lines)


def _operands(kernel: Kernel) -> Iterator[Fact]:
    yield "operands", "", ", ".join(o.name for o in kernel.operands)
    for operand in kernel.operands:
        yield "types", operand.name, str(operand.value_type)
        yield "operands", operand.name, f"[{','.join(map(str, operand.modes))}]"
        yield "operands", f"role of {operand.name}", operand.role
        if operand.layout_name:
            yield "order", operand.name, operand.layout_name


def _claims(kernel: Kernel) -> Iterator[Fact]:
    if kernel.computes is None:
        yield "claims", "", "none"
        return
    for claim in kernel.computes.claims:
        yield "claims", claim.output, str(claim)
    for part in fields(kernel.computes):
        if part.name != "claims":
            yield "claims", part.name, str(getattr(kernel.computes, part.name))


def _owners(kernel: Kernel) -> dict[str, Owned]:
    """Return who owns a tile's elements, as loads, stores and multiplications have it."""
    out: dict[str, Owned] = {}

    def enter(name: str, owned: Owned) -> None:
        number = sum(known.split(" (")[0] == name for known in out)
        out[f"{name} ({number + 1})" if number else name] = owned

    touched = [statement.touched for statement in walk(kernel.body)]
    for memory in dict.fromkeys(each.memory for each in touched):
        if memory is None or memory.prefetches:
            continue
        done = "loaded" if memory.fills else "stored"
        copy = memory.copy
        # Places count the modes of the operand, in its order.
        first, second = (mode if mode is not None else -1 for mode in memory.modes)
        turned = 0 <= second < first
        enter(f"{memory.operand} {done}", owned_by(copy.layout_tv_tiled, copy.tiler_mn, turned))
    products = (product for each in touched if (product := each.product) is not None)
    for mma in dict.fromkeys(product.mma for product in products):
        for name, owned in operands_of(mma).items():
            enter(f"{name} multiplied" if name != "C" else "C accumulated", owned)
    return out


# ------------------------------------------------------------ work


def work_of(kernel: Kernel, target: Target) -> tuple[Fact, ...]:
    """Return what a work-group does once and in a trip of each loop, by `count_work`.

    Messages by atom, bytes by operand, DPAS and barriers: "per k" is in a trip of the loop k. Tiles
    are whole, and a condition is taken as met unless it chooses subgroups by their numbers.
    """
    texts: dict[tuple[str, str], list[str]] = {}
    counts: dict[tuple[str, str], int] = {}
    for one in visit(kernel.body):
        statement, enclosing, effects = one
        if isinstance(statement, (ir.Loop, ir.If)):
            continue
        loops = ", ".join(loop.var for loop in one.loops)
        trip = f"per {loops}" if loops else "once"
        try:
            done = _counted(kernel, statement, enclosing, target)
        except KernelError as error:  # messages of another kind, which no reader counts
            moved = (*effects.from_memory, *effects.to_memory, *effects.prefetched)
            what = f"{type(statement).__name__} {' and '.join(dict.fromkeys(moved))} {trip}"
            texts.setdefault(("messages", what), []).append(f"not counted: {error.condition}")
            continue
        for kind, sent in done.messages.items():
            what = f"{kind} {_whose(effects)} {trip}"
            by = "" if effects.memory is None else f" × {effects.memory.copy.op}"
            texts.setdefault(("messages", what), []).append(f"{sent:,}{by}")
            key = "bytes", what
            counts[key] = counts.get(key, 0) + done.nbytes[kind]
        for section, number in (("DPAS", done.dpas), ("barriers", done.barriers)):
            if number:
                key = section, trip
                counts[key] = counts.get(key, 0) + number
    work = {key: " + ".join(parts) for key, parts in texts.items()}
    return tuple((section, what, v) for (section, what), v in {**work, **counts}.items())


def _whose(effects: Touched) -> str:
    """Return what the messages of a statement move to or from."""
    places = (effects.memory and effects.memory.operand, effects.shared and effects.shared.array)
    return " and ".join(place for place in places if place)


def _counted(
    kernel: Kernel, statement: ir.Statement, enclosing: tuple[ir.Loop | ir.If, ...], target: Target
) -> Trace:
    """Count one statement alone, done once by the subgroups that do it, on wide operands.

    Raises `KernelError` for messages that no reader counts.
    """
    touched = statement.touched
    if touched.memory is not None:
        at = touched.memory.at
        names = [f.name for f in fields(statement) if getattr(statement, f.name) is at]
        statement = replace(statement, **dict.fromkeys(names, (Index(),) * len(at)))
    moved = {*touched.from_memory, *touched.to_memory, *touched.prefetched}
    operands = tuple(_wide(operand) for operand in kernel.operands if operand.name in moved)
    for condition in reversed(enclosing):
        if isinstance(condition, ir.If) and chooses(condition):
            statement = replace(condition, body=(statement,))
    parts = (kernel.fragments, (), (statement,), None, kernel.shared)
    # A part of a kernel, which need not be one: what it reads is written elsewhere.
    alone = cast("Kernel", Program(kernel.name, kernel.subgroups, operands, *parts))
    trace = Trace()
    count_work(alone, Problem(alone, {}, {}), target, trace)
    return trace


def _wide(operand: Operand) -> Operand:
    modes = (Index(None, _WIDE),) * len(operand.modes)
    return Operand(operand.name, operand.value_type, modes, operand.contiguous, operand.role)


def _run(kernel: Kernel, target: Target, sizes: Mapping[str, int] | None) -> Iterator[Fact]:
    """Yield the work of a whole run at some sizes."""
    if sizes is None:
        return
    known = {name: n for name, n in sizes.items() if name in kernel.sizes}
    missing = [name for name in kernel.sizes if name not in known]
    if missing:
        yield "run", "", f"not counted: no size {missing[0]}"
        return
    trace = Trace()
    try:
        count_work(kernel, Problem(kernel, known, {}), target, trace)
    except CuteError as error:
        yield "run", "", f"not counted: {error.condition}"
        return
    for kind, sent in trace.messages.items():
        yield "run", f"{kind} messages", sent
        yield "run", f"{kind} bytes", trace.nbytes[kind]
    yield "run", "DPAS", trace.dpas
    yield "run", "barriers", trace.barriers


def _cost(report: tuple[Fact, ...], target: Target) -> Iterator[Fact]:
    """Yield how many work-groups an Xe core keeps at once."""
    known = {(section, what): value for section, what, value in report}
    threads, mode = known.get(("hardware threads", "in use")), known.get(("registers", "GRF mode"))
    used = known.get(("shared memory", "in use"), 0)
    if isinstance(threads, int) and isinstance(mode, int) and isinstance(used, int):
        with suppress(CuteError):
            groups = occupancy(used, threads, target, mode).groups
            yield "occupancy", "work-groups on an Xe core", groups


# ------------------------------------------------------------ lines


def _priced(kernel: Kernel, target: Target, sizes: Mapping[str, int] | None) -> Cost | str | None:
    """Return what a kernel costs at some sizes, or in words why that is not known."""
    if sizes is None:
        return None
    try:
        return cost_of(facts_of(kernel, target), get_device(target), sizes)
    except CuteError as error:
        return error.condition


def _estimate(priced: Cost | str | None) -> Iterator[Fact]:
    """The figures of an estimate: those that `costing.reasons` names."""
    if isinstance(priced, str):
        yield "cost", "", f"not known: {priced}"
    elif priced is not None:
        for name, (_, text) in figures(priced).items():
            yield "cost", name, text


def _deciding(
    one: Kernel, other: Kernel, target: Target, sizes: Mapping[str, int] | None
) -> Iterator[str]:
    """What decides between two kernels, where something does."""
    two = [_priced(kernel, target, sizes) for kernel in (one, other)]
    mine, yours = two
    if isinstance(mine, Cost) and isinstance(yours, Cost) and (resource := decides(mine, yours)):
        times = [f"{each.least * 1e3:.3g} to {each.most * 1e3:.3g} ms" for each in (mine, yours)]
        yield f"{resource} decides: {times[0]} → {times[1]} on {mine.device.name}, an estimate"


def _lines(kernel: Kernel) -> Iterator[Line]:
    """Yield the statements in order, each without what it contains."""
    for statement, enclosing, _ in visit(kernel.body):
        bare: Any = statement
        if isinstance(statement, (ir.Loop, ir.If)):
            bare = _Head(type(statement).__name__, tuple(_parts(statement)))
        text = "  " * len(enclosing) + line_in(kernel, statement)
        yield Line((len(enclosing), bare), text, tuple(_details(statement)))


@dataclass(frozen=True)
class _Head:
    """A loop or a condition without its body."""

    kind: str
    parts: tuple[Any, ...]


def _parts(statement: ir.Statement) -> Iterator[Any]:
    yield from (getattr(statement, f.name) for f in fields(statement) if f.name != "body")


def _details(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields of a statement, those of its copy or MMA one by one."""
    for part in fields(value):
        inner = getattr(value, part.name)
        if part.name == "body":
            continue
        whole = f"{name}.{part.name}".strip(".")
        if part.name in ("copy", "mma") and is_dataclass(inner):
            yield from _details(inner, whole)
        else:
            yield whole, str(inner)
