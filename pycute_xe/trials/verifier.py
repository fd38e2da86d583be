"""`verify`, the verb: what a prover says, once it has been tried on the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import get_target
from pycute_xe.clock import stopwatch
from pycute_xe.converting import wrap
from pycute_xe.errors import CuteError, InputError, KernelError, MachineError
from pycute_xe.executing.launch import Part, perform
from pycute_xe.executing.problem import Problem
from pycute_xe.executing.reference import DOES
from pycute_xe.executing.space import Group, grid_space, sample, writers, writing_subgroups
from pycute_xe.executing.surfaces import fetch, fetch_part
from pycute_xe.executing.thread import Machine
from pycute_xe.holding.arithmetic import computed_integers
from pycute_xe.holding.patience import TooHardError, allowed, charge, work_left
from pycute_xe.kernel import Counterexample, Kernel
from pycute_xe.kernel.counterexample import entries_of
from pycute_xe.kernel.ir.effects import Touched
from pycute_xe.kernel.ir.kernel import groups_in
from pycute_xe.kernel.ir.reach import too_far
from pycute_xe.kernel.probes import allowed_off, is_moved, tolerance_of, wraps_alone
from pycute_xe.kernel.spec.arrivals import arrived
from pycute_xe.kernel.spec.evaluation import claimed_part, compute_part, kept_as
from pycute_xe.kernel.spec.expression import Apply, Expression, parts
from pycute_xe.kernel.spec.functions import CHOOSING, GREATEST_OR_LEAST
from pycute_xe.kernel.spec.roundings import watching
from pycute_xe.kernel.spec.unnamed import with_nan_behind
from pycute_xe.machine import Trace
from pycute_xe.machine.trace import DeadlockFault
from pycute_xe.trials.edge_tables import are_there_tables
from pycute_xe.trials.problems import (
    INEXACT,
    Asked,
    Data,
    behind,
    conditions,
    fields,
    looked_up,
    problems,
    small,
    terms_of,
    unmet,
)
from pycute_xe.trials.replays import shown, together
from pycute_xe.trials.work import work_of_subgroup
from pycute_xe.verifying.least import LONGEST
from pycute_xe.verifying.points import all_looked_up
from pycute_xe.verifying.prover import REAL, prove
from pycute_xe.verifying.verdict import BUDGET, UNITS, Proof, Run, Tried, Verdict

__all__ = ["REPORT", "trial", "verify_kernel"]

# ------------------------------------------------------------ trial
# A proof is run once: a kernel on the machine, beside what it claims.

Sizes: TypeAlias = Mapping[str, int]

MOST_TERMS = 1 << 25
"""Numbers that the evaluation of a claim may hold at once."""
AFTERWARDS = 2.0
"""The budget with which a kernel is run where nothing was decided."""
Among: TypeAlias = Literal["telling", "behind", "small"]
PROBLEMS: Mapping[Among, Callable[..., Iterator[tuple[dict[str, int], Data | None, int]]]] = {
    "telling": problems,
    "behind": partial(behind, draws=5),
    "small": small,
}
"""The problems among which a trial runs a kernel."""
LIMIT = 240_000
"""Work that a trial does at most, by `work_of_subgroup`."""


@dataclass(frozen=True)
class Contradiction:
    """A run that shows what a proof rules out: the output that is wrong, or none for a fault."""

    output: str
    words: str
    counterexample: Counterexample | None = None
    numbers: tuple[float, float] | None = None
    """What was found, and what is claimed."""
    rounding: str = ""
    """The rounding or the overflow that explains it, where real arithmetic is assumed."""
    refused: bool = False
    """Whether the simulator refused the kernel, and no hardware did anything."""


def trial(
    kernel: Kernel, fixed: Mapping[str, int], limit: int = LIMIT, among: Among = "telling"
) -> tuple[Tried, Contradiction | None]:
    """Run a kernel that is said to be right, and compare it with its specification.

    It runs at the smallest sizes, then with an interior and an edge tile in every tiled mode and
    two trips more than a loop has stages, then where conditions turn that did not before. Numbers
    are compared bit for bit where small ones leave everything exact. ``limit`` is in units of work.
    "behind" are sizes at which tables have several entries, with NaN where nothing is claimed;
    "small" are all sizes up to 4.
    """
    if kernel.computes is None or not (kernel.computes.claims or kernel.computes.tickets):
        return Tried((), "nothing is claimed of it"), None
    if why := _untold(kernel):
        return Tried((), why), None
    runs: list[Run] = []
    reasons: list[str] = []
    left = limit
    nan_behind = among == "behind"
    for sizes, data, seed in PROBLEMS[among](kernel, fixed):
        asked = _asked(kernel, sizes, data, seed, nan_behind)
        chosen = asked if isinstance(asked, str) else _chosen(asked, left)
        if isinstance(chosen, str) or isinstance(asked, str):
            reasons.append(str(chosen))
            continue
        left -= chosen.work
        try:
            charge(chosen.work)
        except TooHardError as error:
            reasons.append(error.condition)
            break
        try:
            words = _ran(asked, chosen)
        except CuteError as error:  # no surface or no layout that its messages can have
            reasons.append(error.condition)
            continue
        except MemoryError:
            reasons.append(f"the claim takes more memory than there is at {_at(sizes)}")
            continue
        if words is not None:
            return Tried(tuple(runs)), _explained(asked, chosen, words)
        of = groups_in(kernel, sizes)
        runs.append(Run(tuple(sizes.items()), asked.words, chosen.groups, of))
    why = [*filter(None, dict.fromkeys(reasons)), *(() if nan_behind else unmet(kernel, fixed))]
    return Tried(tuple(runs), "; ".join(why)), None


def _asked(
    kernel: Kernel, sizes: Sizes, data: Data | None, seed: int, nan_behind: bool
) -> Asked | str:
    """Return a problem of a trial, or why sizes have no trial: an empty text if no input is NaN."""
    if why := _too_large(kernel, sizes):
        return why
    for operand in kernel.outputs:
        if any(mode.at(sizes) < 1 for mode in operand.modes):
            return f"{operand.name} has no elements at {_at(sizes)}"
    try:
        inputs = fields(kernel, sizes, data, seed)
    except InputError as error:
        return error.condition
    if not nan_behind:
        return Asked(kernel, sizes, data, inputs)
    with_nan = with_nan_behind(kernel, inputs, sizes)
    return "" if with_nan == inputs else Asked(kernel, sizes, data, with_nan, behind=True)


def _untold(kernel: Kernel) -> str:
    """Say why a kernel is not run: it cannot be, or no inputs are known; empty where it is."""
    try:
        for statement in kernel.statements():
            DOES[statement]
    except KernelError as error:
        return error.condition
    assumed = kernel.computes.tables if kernel.computes is not None else ()
    known = {name for one in assumed for name in one.tables}
    tables = sorted((looked_up(kernel) & {o.name for o in kernel.inputs}) - known)
    if tables and not known:
        return f"it looks up elements of {', '.join(tables)}, of which any may be asked for"
    return ""


def _too_large(kernel: Kernel, sizes: Sizes) -> str:
    """Say which extent, or how many work-groups along an axis, are more than any surface has."""
    extents = {str(mode): mode for operand in kernel.operands for mode in operand.modes}
    for name, index in (*extents.items(), *kernel.grid):
        if index.names <= sizes.keys() and not index.looked_up and index.at(sizes) >= LONGEST:
            return f"{name} is {index.at(sizes):,} at {_at(sizes)}, and extents end at 2**24"
    return ""


@dataclass(frozen=True)
class _Chosen:
    """What is run: parts of the grid, each on a machine of its own; the work that it is.

    ``element`` is what is compared where other work-groups add to elements, too.
    """

    parts: tuple[tuple[Part, tuple[int, ...] | None], ...]
    groups: int
    work: int


# ---------------------------------------------------------------- what runs


def _chosen(asked: Asked, left: int) -> _Chosen | str:
    """Choose what runs: the whole grid, or work-groups of each kind; a reason where none fits."""
    kernel, sizes = asked.kernel, asked.sizes
    each, count = work_of_subgroup(kernel, sizes), groups_in(kernel, sizes)
    whole = each * count * kernel.subgroups
    if whole <= left:
        return _Chosen(((Part(), None),), count, whole)
    needs = f"it needs {whole:,} units of work, of which {left:,} are left"
    if together(kernel):
        return f"its work-groups only run together: {needs}"
    try:
        parts = _parts(asked)
    except CuteError as error:
        return f"{needs} ({error.condition})"
    # All kinds, the first and the last work-group, the last; then with some subgroups alone.
    for kept, some in product((slice(None), slice(2), slice(1, 2)), (False, True)):
        mine = tuple(_part(asked, part, some) for part in parts[kept] or parts[:1])
        runs = [(len(p.groups or ()), len(p.subgroups or range(kernel.subgroups))) for p, _ in mine]
        work = sum(groups * subgroups * each for groups, subgroups in runs)
        if work <= left:
            return _Chosen(mine, sum(groups for groups, _ in runs), work)
    return needs


def _part(
    asked: Asked, part: tuple[list[Group], tuple[int, ...] | None], some: bool
) -> tuple[Part, tuple[int, ...] | None]:
    """Return work-groups to run, with some of their subgroups alone where those can do without."""
    (groups, at), kernel = part, asked.kernel
    if not some or kernel.shared:  # what they share, they only do together
        return Part(tuple(groups)), at
    if at is None:
        return Part(tuple(groups), _some(kernel.subgroups)), at
    name = kernel.outputs[0].name
    mine = writing_subgroups(kernel, asked.sizes, asked.look_up, name, at)
    return Part(tuple(groups), mine or None), at


def _some(count: int) -> tuple[int, ...]:
    return tuple(sorted({0, count - 1, count // 2, count // 3}))


def _parts(asked: Asked) -> list[tuple[list[Group], tuple[int, ...] | None]]:
    """Return work-groups that are run together, and the element that is compared; None for all."""
    kernel, sizes = asked.kernel, asked.sizes
    if any(_may_add(s.touched) for s in kernel.statements()):
        out: list[tuple[list[Group], tuple[int, ...] | None]] = []
        for end in (0, 1):
            name = kernel.outputs[0].name
            shape = tuple(mode.at(sizes) for mode in kernel.outputs[0].modes)
            at = tuple(end * (extent - 1) for extent in shape)
            out.append((writers(kernel, sizes, asked.look_up, name, at, 64), at))
        return out
    names = [name for name, _ in kernel.grid]
    space = grid_space(kernel, sizes, asked.look_up)
    groups = {tuple(g.values()): g for g in sample(space, names)}
    if groups_in(kernel, sizes) <= 1 << 19:
        for _, inside, outside in conditions(kernel.body, space):
            for side in (inside, outside):
                groups |= {tuple(g.values()): g for g in list(sample(side, names))[:2]}
    return [([group], None) for group in list(groups.values())[:12]]


def _may_add(touched: Touched) -> bool:
    """Whether a statement adds to elements, or may do so where it does not declare what it stores.

    Of what several work-groups add to, no one alone shows the sum.
    """
    adds = touched.memory is not None and touched.memory.adds
    return adds or bool({*touched.unplaced} & {*touched.to_memory})


# ---------------------------------------------------------------- a run, and what it shows


def _ran(asked: Asked, chosen: _Chosen) -> Contradiction | None:
    """Run what was chosen; say where it differs from what is claimed."""
    kernel, sizes = asked.kernel, dict(asked.sizes)
    for part, at in chosen.parts:
        problem = Problem(kernel, sizes, dict(asked.inputs), pages=True)
        try:
            machine = perform(kernel, problem, get_target("bmg"), Trace(), part)
        except (MachineError, KernelError, InputError) as fault:
            words = f"at {_at(sizes)}, with {asked.words}: {fault.condition}"
            # What waits for ever stores nothing: other faults are of a message or a register.
            stuck = isinstance(fault, DeadlockFault)
            claim = f"{kernel.outputs[0].name} values" if stuck else "bounds"
            place = _place(asked, claim, fault.condition, "")
            return Contradiction("", words, place, refused=not isinstance(fault, MachineError))
        for operand in kernel.outputs:
            differing = _differs(asked, machine, operand.name, part, at)
            if differing is not None:
                words, index, numbers = differing
                place = f"at {_at(sizes)}, with {asked.words}"
                shown_at = _place(asked, f"{operand.name} values", words, operand.name, index)
                return Contradiction(operand.name, f"{place}: {words}", shown_at, numbers)
    return None


def _explained(asked: Asked, chosen: _Chosen, wrong: Contradiction) -> Contradiction:
    """Run a problem that came out wrong once more, and note what rounds or overflows in it."""
    if wrong.numbers is None:
        return wrong
    with watching() as roundings:
        again = _ran(asked, chosen)
    step = roundings.explaining(*wrong.numbers) if again is not None else None
    return wrong if step is None else replace(wrong, rounding=str(step))


def _place(
    asked: Asked, claim: str, words: str, output: str, index: tuple[int, ...] = ()
) -> Counterexample:
    """Return what a run showed as a counterexample, with the tables of the run."""
    sizes = {name: size for name, size in asked.sizes.items() if name in asked.kernel.sizes}
    looked = all_looked_up(asked.kernel)
    tables = {n: entries_of(asked.inputs[n].whole()) for n in asked.inputs if n in looked}
    return Counterexample(
        claim, words, sizes, operand=output, output=output, index=index, faults=not output,
        tables=tables,
    )  # fmt: skip


def _differs(
    asked: Asked, machine: Machine, name: str, part: Part, at: tuple[int, ...] | None
) -> tuple[str, tuple[int, ...], tuple[float, float] | None] | None:
    """Return in words where an output is wrong first, its index, and both numbers."""
    kernel = asked.kernel
    if kernel.computes is None:
        return None
    claim, numeric = kernel.computes.known(name), kernel.operand(name).value_type
    if asked.data is None and claim is not None and not _is_exact_at_edges(kernel, claim.value):
        return None
    window, kept = _window(machine, name, part, at)
    if window is None:
        return None
    terms = terms_of(claim, asked.sizes, window) if claim else prod(map(len, window))
    if terms > MOST_TERMS:
        at_once = f"{terms:,} numbers at once, at most {MOST_TERMS:,} are compared"
        raise InputError("trial", {"output": name}, f"what is claimed takes {at_once}", "")
    inputs = asked.inputs
    if kernel.computes.tickets:  # it runs as a whole: what counters deal out is done together
        drawn = [one.operand for one in kernel.computes.tickets]
        outputs = {n: fetch(machine.memory, machine.placed[n]) for n in drawn}
        inputs = arrived(kernel.computes, inputs, outputs)
    try:
        wanted = compute_part(kernel.computes, inputs, asked.sizes, name, window)
    except InputError as error:  # a place that is claimed twice, an element outside
        return (
            f"what is claimed has no value: {error.condition}",
            tuple(w.start for w in window),
            None,
        )
    expected = kept_as(kernel.computes, wanted, numeric).astype(np.float64)
    actual = fetch_part(machine.memory, machine.placed[name], window).astype(np.float64)
    claimed = claimed_part(kernel.computes, inputs, asked.sizes, name, window)
    wrong = _unequal(actual, expected, _tolerance(asked, numeric.bits)) & kept & claimed
    if numeric.kind != "float" and wanted.dtype.kind in "iu":
        wrong &= actual != wrap(wanted, numeric)  # what overflows is assumed not to, or wraps
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    index = tuple(w.start + i for w, i in zip(window, place, strict=True))
    element = ", ".join(map(str, index))
    numbers = float(actual[place]), float(expected[place])
    digits = "g" if f"{numbers[0]:g}" != f"{numbers[1]:g}" else ".17g"
    words = f"{name}[{element}] is {numbers[0]:{digits}}, claimed is {numbers[1]:{digits}}"
    return words + " (inputs are NaN where nothing is claimed)" * asked.behind, index, numbers


def _is_exact_at_edges(kernel: Kernel, value: Expression) -> bool:
    """Whether a claim is compared at edge values: it moves them, or wraps integers alone.

    The size of the least integer overflows, which is assumed not to happen.
    """
    if wraps_alone(kernel):
        return True
    kinds = {x.value_type.kind for x in (*kernel.operands, *kernel.fragments)}
    return is_moved(value) and (kinds == {"float"} or not _takes_sizes(value))


def _takes_sizes(value: Expression) -> bool:
    """Whether a function in an expression gives the size of a number."""
    own = isinstance(value, Apply) and value.function in CHOOSING - GREATEST_OR_LEAST
    return own or any(map(_takes_sizes, parts(value)))


def _window(
    machine: Machine, name: str, part: Part, at: tuple[int, ...] | None
) -> tuple[tuple[range, ...] | None, Any]:
    """Return what is compared of an output, and which of its elements; None for nothing."""
    placed = machine.placed[name]
    if part.groups is None:
        return tuple(map(range, placed.shape)), True
    if at is not None:
        # It was chosen in the first output; of the others nothing is compared.
        own = name == machine.kernel.outputs[0].name
        return (tuple(range(a, a + 1) for a in at) if own else None), True
    written = machine.spans[name].written()
    if not written.size:
        return None, True
    elements = placed.elements(written)
    elements = elements[(elements < np.array(placed.shape)).all(axis=1)]
    low, high = elements.min(axis=0), elements.max(axis=0)
    window = tuple(range(int(a), int(b) + 1) for a, b in zip(low, high, strict=True))
    kept = np.zeros(tuple(map(len, window)), np.bool_)
    kept[tuple((elements - low).T)] = True
    return window, kept


def _tolerance(asked: Asked, bits: int) -> float:
    """Return by how much of the largest number a right output may be off."""
    if asked.data is not INEXACT:
        return 0.0
    kernel = asked.kernel
    floats = [f.value_type for f in kernel.fragments if f.value_type.kind == "float"]
    floats += kernel.computes.real if kernel.computes is not None else ()
    return allowed_off(min([bits, *(kind.bits for kind in floats)]), "random")


def _unequal(actual: NDArray[Any], expected: NDArray[Any], tolerance: float) -> NDArray[np.bool_]:
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    if not tolerance:
        return ~same
    finite = np.isfinite(expected)  # what is not is not claimed
    largest = float(np.abs(expected[finite]).max(initial=0.0))
    with np.errstate(invalid="ignore"):
        near = np.abs(actual - expected) <= tolerance * largest
    return finite & ~near


def _at(sizes: Sizes) -> str:
    return " ".join(f"{name}={size}" for name, size in sizes.items())


# ------------------------------------------------------------ verifier

EXCLUDED = "the assumption of real arithmetic excludes"
REPORT = "please report this kernel as a defect of pycute_xe"
NO_TABLES = "no tables were found that meet what is assumed of them: assume less, or give sizes"


def verify_kernel(
    kernel: Kernel,
    params: Mapping[str, int] | None = None,
    *,
    budget: float = BUDGET,
    patience: int = 1,
    explain: bool = False,
) -> Verdict:
    """Prove that a kernel computes what it claims, and try the proof; see `verify`.

    ``patience`` is how many times as much as usually is run where nothing was decided.
    """
    elapsed = stopwatch()
    verdict = prove(kernel, params, budget=budget, explain=explain)
    with allowed(budget * UNITS):
        tried = _tried(kernel, dict(params or {}), verdict, patience)
    return replace(tried, seconds=elapsed())


def _tried(kernel: Kernel, fixed: dict[str, int], verdict: Verdict, patience: int) -> Verdict:
    """Return a verdict whose answers were tried."""
    if verdict.answer == "proved":
        return _proof_tried(kernel, fixed, verdict, int(min(LIMIT, work_left())))
    false = next((p.reason for p in verdict.proofs if p.property == "invariants"), "")
    proofs = tuple(_replayed(kernel, proof, false) for proof in verdict.proofs)
    if all(proof.answer in ("proved", "undecided") for proof in proofs):
        proofs = _undecided_tried(kernel, fixed, proofs, patience)
    kept = {proof.counterexample for proof in proofs} - {None}
    least = verdict.counterexample if verdict.counterexample in kept else None
    left = [proof.counterexample for proof in proofs if proof.counterexample is not None]
    return replace(verdict, proofs=proofs, counterexample=least or next(iter(left), None))


def _undecided_tried(
    kernel: Kernel, fixed: dict[str, int], proofs: tuple[Proof, ...], patience: int
) -> tuple[Proof, ...]:
    """Return proofs where nothing was decided, with what a run shows that differs."""
    if too_far(kernel) is not None:  # no run lists its points
        return proofs
    place, computes = None, kernel.computes
    tabled = computes is not None and bool(computes.tables or computes.defines)
    for among in PROBLEMS:
        with suppress(TooHardError), allowed(AFTERWARDS * patience * UNITS):
            _, wrong = trial(kernel, fixed, LIMIT * patience, among)
            # A rounding or an overflow that a proof would exclude shows nothing, nor a refusal.
            known = wrong is not None and (wrong.rounding or (wrong.refused and not tabled))
            place = None if known else _seen_place(kernel, wrong)
        if place is not None:
            break
    if place is None:
        return proofs
    left = [proof.property for proof in proofs if proof.answer == "undecided"]
    never = f"{place.output} coverage"  # where what is stored is right, it is not stored
    named = [n for n in left if n in (place.claim, never)]
    shown_by = named[-1:] or (left[-1:] if place.faults else [])
    return tuple(
        p.disproved_by(replace(place, claim=p.property)) if p.property in shown_by else p
        for p in proofs
    )


def _proof_tried(kernel: Kernel, fixed: dict[str, int], verdict: Verdict, limit: int) -> Verdict:
    """Return a verdict whose proof was run; undecided where the machine says otherwise."""
    if not are_there_tables(kernel, fixed):
        proofs = tuple(replace(p, answer="undecided", reason=NO_TABLES) for p in verdict.proofs)
        return replace(verdict, proofs=proofs, tried=Tried((), NO_TABLES))
    tried, wrong = trial(kernel, fixed, limit)
    if wrong is None:
        return _tried_behind(kernel, fixed, replace(verdict, tried=tried), limit)
    reason = f"the proof says it is right, the machine contradicts it {wrong.words}: {REPORT}"
    if wrong.rounding and any(one.startswith(REAL) for one in verdict.assumptions):
        reason = f"a run differs {wrong.words}; {wrong.rounding}, which {EXCLUDED}"
    undone = f"{wrong.output} values"
    proofs = tuple(
        replace(proof, answer="undecided", reason=reason)
        if not wrong.output or proof.property == undone
        else proof
        for proof in verdict.proofs
    )
    return replace(verdict, proofs=proofs, tried=Tried(tried.runs, reason))


def _tried_behind(kernel: Kernel, fixed: dict[str, int], verdict: Verdict, limit: int) -> Verdict:
    """Return a verdict whose proof was run with NaN behind lengths: it took inputs for finite."""
    if kernel.computes is None or not kernel.computes.tables:
        return verdict
    tried, wrong = trial(kernel, fixed, limit, "behind")
    why = "; ".join(dict.fromkeys(filter(None, (verdict.tried.reason, tried.reason))))
    if wrong is None:
        return replace(verdict, tried=Tried((*verdict.tried.runs, *tried.runs), why))
    place = _seen_place(kernel, wrong)

    def answered(proof: Proof) -> Proof:
        if wrong.output and proof.property != f"{wrong.output} values":
            return proof
        if place is not None:
            return proof.disproved_by(place)
        return replace(proof, answer="undecided", reason=f"a run is wrong {wrong.words}")

    return replace(verdict, proofs=tuple(map(answered, verdict.proofs)), counterexample=place)


def _seen_place(kernel: Kernel, wrong: Contradiction | None) -> Counterexample | None:
    """Return the counterexample of a run that went wrong, if a replay shows it."""
    place = wrong.counterexample if wrong is not None else None
    return place if place is not None and not _unseen(kernel, place) else None


def _replayed(kernel: Kernel, proof: Proof, false: str) -> Proof:
    """Return a proof whose counterexample was seen to be one, undecided where it was not.

    ``false`` says what is not so of what loops claim: what was concluded with it is worth nothing.
    """
    if proof.counterexample is None:
        return proof
    if not (why := _unseen(kernel, proof.counterexample)):
        return proof
    sizes = " ".join(f"{name}={size}" for name, size in proof.counterexample.sizes.items())
    reason = false or f"{proof.counterexample.message} at {sizes}, {why}"
    return replace(proof, answer="undecided", counterexample=None, condition="", reason=reason)


def _unseen(kernel: Kernel, counterexample: Counterexample) -> str:
    """Say why a replay does not show a counterexample; empty where it does."""
    try:
        if shown(kernel, counterexample):
            return ""
        overflow = "assumed" if kernel.computes is None else kernel.computes.overflow
        kinds = ", ".join(computed_integers(kernel))
        if kinds and overflow == "assumed":
            return (
                f"but a replay shows nothing, since {kinds} overflows: "
                'verify(kernel, overflow="wraps") decides what registers keep'
            )
        if wraps_alone(kernel):
            return "yet no numbers that were tried show it (specify it as it is computed)"
        if any(x.value_type.name == "u64" for x in (*kernel.operands, *kernel.fragments)):
            return (
                "but a replay shows nothing: a kernel reads u64 as integers of 64 bits with a sign "
                "(compute in s64)"
            )
        if _is_inexact(kernel, counterexample.output):
            return (
                "but a replay shows nothing: functions are rounded there, and what differs is less "
                "(claim it as it is computed)"
            )
        return f"but a replay shows nothing: {REPORT}"
    except CuteError as error:
        return f"which is not replayed: {error.condition}"


def _is_inexact(kernel: Kernel, output: str) -> bool:
    """Whether functions of a claim are rounded on every input, so that runs show less than it."""
    claim = None if kernel.computes is None else kernel.computes.known(output)
    return claim is not None and tolerance_of(claim.value, kernel.operand(output).value_type) > 0
