"""`prove`: four answers, within a budget, which `pycute_xe.trials` then tries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from pycute_xe.clock import deadline, stopwatch
from pycute_xe.errors import CuteError, InputError, KernelError, MachineError, UndecidableError
from pycute_xe.holding.following import demand_reach
from pycute_xe.holding.nodes import loops_in_the_way
from pycute_xe.holding.patience import (
    DeadlineError,
    TooHardError,
    allowed,
    at_most,
    work_done,
    work_left,
)
from pycute_xe.kernel import Counterexample, Kernel, Loop
from pycute_xe.kernel.ir.identities import Identities, extents_of, identified
from pycute_xe.kernel.ir.reach import too_far
from pycute_xe.kernel.spec.recurrences import unfolded
from pycute_xe.signatures import typed
from pycute_xe.verifying.assumptions import (
    CLIPPED,
    COUNTERS,
    FINITE,
    INVARIANT,
    NO_WRAP,
    PAIRED,
    RACES,
    REAL,
    SHARED,
    SURFACES,
    WHOLE_ELEMENTS,
    WRITTEN,
    assumed_of_numbers,
)
from pycute_xe.verifying.changes import counts_plainly
from pycute_xe.verifying.points import Space, computes_of_entries
from pycute_xe.verifying.questions import Questions
from pycute_xe.verifying.regions import Region, session
from pycute_xe.verifying.strategies import STRATEGIES, Strategy
from pycute_xe.verifying.tickets import undrawn
from pycute_xe.verifying.verdict import (
    BUDGET,
    UNITS,
    Answer,
    Attempt,
    Failure,
    Proof,
    Verdict,
    demand_budget,
)

__all__ = ["BUDGET", "REAL", "prove", "verify_here"]

# ------------------------------------------------------------ wording
# A verdict on identities, in the words of the kernel whose they are.


def in_words_of(kernel: Kernel, names: Identities, verdict: Verdict) -> Verdict:
    """Return a verdict with the kernel's names in the place of its identities.

    What the kernel's specification assumes is a text of its own, and stays.
    """
    own = kernel.computes.assumes if kernel.computes is not None else ()

    def proof(one: Proof) -> Proof:
        return replace(
            one,
            property=names.text(one.property),
            statement=names.text(one.statement),
            assumptions=tuple(a if a in own else names.text(a) for a in one.assumptions),
            condition=names.text(one.condition),
            reason=names.text(one.reason),
            loops=tuple(map(names.text, one.loops)),
            counterexample=one.counterexample and _of_names(names, one.counterexample),
        )

    return replace(
        verdict,
        scope=names.text(verdict.scope),
        proofs=tuple(map(proof, verdict.proofs)),
        counterexample=verdict.counterexample and _of_names(names, verdict.counterexample),
    )


def _of_names(names: Identities, place: Counterexample) -> Counterexample:
    return replace(
        place,
        claim=names.text(place.claim),
        message=names.text(place.message),
        sizes={names.text(name): size for name, size in place.sizes.items()},
        operand=names.text(place.operand),
        where={names.text(name): number for name, number in place.where.items()},
        output=names.text(place.output),
        filled={names.text(name): number for name, number in place.filled.items()},
        tables={names.text(name): entries for name, entries in place.tables.items()},
    )


# ------------------------------------------------------------ conditions
# When a kernel is right for some sizes: the condition on them, if it is worth saying.

DIVISIONS = 4
"""More of them make a condition that is too long to read, and that takes isl minutes to find."""


def condition_of(failure: Failure, space: Space, every: Space) -> Region | None:
    """Return the sizes, by a condition on all, at which a failure in a part does not occur.

    None where no condition is known. Only one that arbitrarily large problems of every size
    satisfy, such as ``M mod 256 = 0``, is a condition; a kernel that is right for small sizes alone
    is wrong.
    """
    if failure.points is None:
        return None
    sizes = space.naming.sizes
    all_sizes = Region.where(sizes, " and ".join(every.sizes))
    bad = failure.points.to(sizes)
    if bad.wide or bad.lookups or bad.divisions > DIVISIONS:
        return None
    good = Region.where(sizes, " and ".join(space.sizes)) - bad
    if good.is_empty:
        return None
    large = " and ".join(f"{name} >= T" for name in sizes)
    reach = good.to(("T", *sizes), f"T >= 1 and {large}").to(("T",))
    if reach.is_bounded:
        return None
    condition = good.beyond(all_sizes)
    return condition if condition.text else None


CONDITION_WORK = 1_000_000
"""Units, and half of what is left at most, for the condition under which a property holds."""
ROUNDS = 3
"""How often a property is asked under a condition before it is called wrong."""


def condition_for(
    failure: Failure, find: Callable[[Questions], Failure | None], questions: Questions
) -> str:
    """Return the condition under which a property holds, which is asked again; empty where none."""
    part, naming = questions, questions.space.naming
    for _ in range(ROUNDS):
        with at_most(min(CONDITION_WORK, work_left() / 2)):
            condition = condition_of(failure, part.space, questions.space)
        if condition is None:
            return ""
        part = questions.within(condition.text)
        again = find(part)
        if again is None:
            return condition.with_names(tuple(naming.size_of)).text
        failure = again
    return ""


# ------------------------------------------------------------ prover


@typed
def prove(
    kernel: Kernel,
    params: Mapping[str, int] | None = None,
    *,
    budget: float = BUDGET,
    seconds: float | None = None,
    explain: bool = False,
) -> Verdict:
    """Prove that a kernel computes what it claims for all sizes >= 1, or find where it does not.

    The proofs follow the statements: what messages put into registers, what instructions take them
    for, what is summed and what is stored, and compare that with ``kernel.computes``; they do not
    trust what the layouts of copies claim. ``params`` fixes some of the sizes, by name; ``budget``
    is an amount of counted work, infinity for no end: 1 allows 600,000 units, about a third of a
    second on an idle machine. What is decided is the same on every machine under any load.
    ``seconds`` sets a deadline besides: what it leaves undecided names the deadline as the reason.
    With ``explain`` the verdict lists the strategies that were tried, what each asked and answered,
    and how much work it took. Raises `KernelError` for what is not a kernel and for statements
    without a meaning here, `InputError` for other params.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> bool(prove(gemm))
    True
    >>> import dataclasses
    >>> loop = gemm.loop("k")
    >>> short = gemm.replace(loop, dataclasses.replace(loop, stop=loop.stop - 1))
    >>> print(str(prove(short).counterexample).splitlines()[0])
    D values: D[0, 0]: A·B is not summed
    """
    if not isinstance(kernel, Kernel):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise KernelError(
            "verify",
            {"kernel": type(kernel).__name__},
            "only kernels are verified",
            "build one with kernel.gemm(mma)",
        )
    given = _checked(kernel, params)
    demand_budget(budget)
    elapsed = stopwatch()
    alike, names = identified(opened(kernel))
    fixed = {names.sizes[name]: size for name, size in given.items()}
    try:
        with deadline("verify", seconds), allowed(budget * UNITS):
            verdict = verify_here(alike, fixed)
    except RecursionError as error:
        raise KernelError(
            "verify",
            {"kernel": kernel.name},
            "what its statements compute one after the other nests too deep to be followed",
            "compute it in fewer steps, or store what is between",
        ) from error
    attempts = verdict.attempts if explain else ()
    verdict = replace(in_words_of(kernel, names, verdict), seconds=elapsed())
    return replace(verdict, attempts=_in_words_of(names, attempts))


def _in_words_of(names: Identities, attempts: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
    return tuple(
        replace(
            one,
            asks=names.text(one.asks),
            answers=tuple((names.text(name), answer) for name, answer in one.answers),
            within=_in_words_of(names, one.within),
        )
        for one in attempts
    )


def opened(kernel: Kernel) -> Kernel:
    """Return a kernel to which states are inputs, of which a claim knows how they follow."""
    computes = kernel.computes
    if computes is None or not computes.defines:
        return kernel
    states = tuple(one.operand for one in computes.defines)
    claims = tuple(
        replace(c, value=unfolded(c.value, computes.rules, frozenset(c.variables)))
        for c in computes.claims
    )
    seen = replace(kernel, operands=(*kernel.operands, *states), computes=computes)
    try:
        return replace(seen, computes=replace(computes, claims=claims))
    except KernelError:  # by a form that reaches out of an operand: that it is so is asked first
        return seen


def verify_here(kernel: Kernel, fixed: Mapping[str, int]) -> Verdict:
    """Return the verdict as far as the account of work reaches."""
    elapsed, before = stopwatch(), work_done()
    proofs: list[Proof] = []
    failures: list[tuple[Failure, Counterexample]] = []
    with session():
        questions = Questions(kernel, fixed)
        for asked in _asked(kernel):
            proof, failure = _answered(asked, questions)
            proofs.append(proof)
            if failure is not None and proof.counterexample is not None:
                failures.append((failure, proof.counterexample))
    least = min(failures, key=lambda pair: pair[0].rank, default=None)
    shown = least[1] if least else None
    spent = elapsed()
    computes = kernel.computes
    overflow = "assumed" if computes is None else computes.overflow
    words = _words(kernel, fixed)
    answers: Answers = tuple((proof.property, proof.answer) for proof in proofs)
    asked = Attempt("statements", ASKS.format(words), answers, int(work_done() - before))
    verdict = Verdict(
        kernel.name, words, tuple(proofs), shown, spent, overflow=overflow, attempts=(asked,)
    )
    if too_far(kernel) is not None:  # whatever it is written as
        return verdict
    for strategy in STRATEGIES:
        if verdict.answer == "undecided":
            verdict = _tried(strategy, kernel, fixed, verdict)
    return verdict


ASKS = "what the statements do, {}"
Answers: TypeAlias = tuple[tuple[str, Answer], ...]


def _tried(
    strategy: Strategy, kernel: Kernel, fixed: Mapping[str, int], verdict: Verdict
) -> Verdict:
    """Return a verdict with what a strategy decides, and the attempt, if it asked anything."""
    within: list[Attempt] = []
    before = work_done()

    def again(other: Kernel, sizes: Mapping[str, int]) -> Verdict:
        answer = verify_here(other, sizes)
        within.extend(answer.attempts)
        return answer

    after = strategy.attempt(kernel, fixed, verdict, again)
    pairs = zip(verdict.proofs, after.proofs, strict=True)
    changed = (new for old, new in pairs if old.answer != new.answer)
    answers: Answers = tuple((new.property, new.answer) for new in changed)
    units = int(work_done() - before)
    attempt = Attempt(strategy.name, strategy.asks, answers, units, tuple(within))
    return replace(after, attempts=(*verdict.attempts, *([attempt] if within else [])))


@dataclass(frozen=True)
class _Asked:
    """A property, what it says, what it takes for granted, and the question that decides it."""

    name: str
    statement: str
    assumptions: tuple[str, ...]
    find: Callable[[Questions], Failure | None]


def _asked(kernel: Kernel) -> tuple[_Asked, ...]:
    tables = _assumed_of_tables(kernel)
    out = [
        _Asked("barriers", SHARED if kernel.shared else PAIRED, (), Questions.barriers),
        _Asked("registers", WRITTEN, (), Questions.registers),
        _Asked("bounds", WHOLE_ELEMENTS, (SURFACES, *tables), Questions.bounds),
    ]
    if any(isinstance(s, Loop) and s.holds for s in kernel.statements()):
        out.append(_Asked("invariants", INVARIANT, (FINITE,), Questions.invariants))
    if counts_plainly(kernel):
        out.append(_Asked("counters", COUNTERS, (), Questions.counters))
    drawn = kernel.computes.tickets if kernel.computes is not None else ()
    for operand in kernel.outputs:
        name = operand.name
        if mine := next((one for one in drawn if one.operand == name), None):
            out += [
                _Asked(f"{name} coverage", f"every one of {name} is written", tables, undrawn),
                _Asked(f"{name} values", f"{mine}", (RACES, *tables), undrawn),
            ]
            continue
        claim = kernel.computes.known(name) if kernel.computes is not None else None
        index = claim.place if claim else ",".join(map(str, operand.modes))
        assumed = kernel.computes.granted if kernel.computes is not None else ()
        out += [
            _Asked(
                f"{name} coverage",
                f"every {name}[{index}] is written",
                (CLIPPED, SURFACES, *tables),
                partial(Questions.coverage, output=name),
            ),
            _Asked(
                f"{name} values",
                f"what is written to {name} is what is claimed",
                (*assumed_of_numbers(kernel, bool(tables[1:])), RACES, *assumed, *tables),
                partial(Questions.values, output=name),
            ),
        ]
    return tuple(out)


def _assumed_of_tables(kernel: Kernel) -> tuple[str, ...]:
    """Return what is assumed of tables, and of what indices compute of them, in words."""
    tables = kernel.computes.tables if kernel.computes is not None else ()
    return (*map(str, tables), NO_WRAP) if tables or computes_of_entries(kernel) else ()


def _needed(assumptions: tuple[str, ...], questions: Questions) -> tuple[str, ...]:
    """Return assumptions without those on tables of which a proof said nothing so far."""
    tables, used = _assumed_of_tables(questions.kernel), questions.space.tables.used
    wraps = bool(used & {*tables}) or computes_of_entries(questions.kernel)
    left = {*tables} - used - ({NO_WRAP} if wraps else set())
    return tuple(one for one in assumptions if one not in left)


def _answered(asked: _Asked, questions: Questions) -> tuple[Proof, Failure | None]:
    elapsed = stopwatch()
    reason, failure = "", None
    condition, loops = "", tuple[str, ...]()
    questions.real.clear()
    try:
        demand_reach(questions.kernel)
        failure = asked.find(questions)
        if failure is not None:
            condition = _condition(failure, asked, questions)
    except TooHardError as error:
        reason, failure = error.condition, None
    except UndecidableError as error:
        reason = f"{error.condition}" + (f" ({error.fix})" if error.fix else "")
        loops = loops_in_the_way(error)
    except (KernelError, InputError):
        raise
    except MachineError as error:
        failure = Failure(
            asked.name,
            error.condition,
            dict.fromkeys(questions.space.naming.size_of, 1),
            {},
            faults=True,
        )
    except CuteError as error:  # a copy without a layout: every reader stops there
        reason = str(error)
    seconds = elapsed()
    shown = _counterexample(failure) if failure is not None else None
    answer = "undecided" if reason else "proved"
    if failure is not None:
        answer = "needs" if condition else "disproved"
    real = (REAL + ", ".join(sorted(questions.real)),) if questions.real else ()
    assumptions = (*real, *asked.assumptions)
    if answer == "proved":
        assumptions = _needed(assumptions, questions)
    proof = Proof(
        asked.name, answer, asked.statement, assumptions, seconds, shown, condition, reason, loops
    )
    return proof, failure


def _condition(failure: Failure, asked: _Asked, questions: Questions) -> str:
    """Return under which condition a property holds, if it is found soon: it is wrong either way.

    Raises `DeadlineError`: what a deadline leaves open is not said of a kernel.
    """
    try:
        with at_most(work_left() / 2):
            return condition_for(failure, asked.find, questions)
    except DeadlineError:
        raise
    except (TooHardError, UndecidableError):
        return ""


def _counterexample(failure: Failure) -> Counterexample:
    lane, value = failure.lane_and_value
    return Counterexample(
        claim=failure.claim,
        message=failure.message,
        sizes=dict(failure.sizes),
        operand=failure.operand,
        where=dict(failure.variables),
        subgroup=failure.subgroup,
        lane=lane,
        value=value,
        element=failure.element,
        found=failure.found,
        output=failure.output,
        index=failure.index,
        faults=failure.faults,
        filled=dict(failure.filled),
        tables=dict(failure.tables),
    )


def _checked(kernel: Kernel, params: object) -> dict[str, int]:
    """Check the sizes that are fixed."""
    if params is None:
        return {}

    def refused(given: object, wrong: str) -> InputError:
        example = f'verify(kernel, {{"{next(iter(kernel.sizes), "K")}": 64}})'
        return InputError("verify", {"params": given}, wrong, example)

    if not isinstance(params, Mapping):
        raise refused(params, f"{type(params).__name__} does not name sizes")
    out: dict[str, int] = {}
    for name, value in params.items():  # pyright: ignore[reportUnknownVariableType]
        if name not in kernel.sizes:
            raise refused(f"{name}: {value!r}", f"the sizes are {', '.join(kernel.sizes)}")
        if type(value) is not int or value < 1:  # pyright: ignore[reportUnknownArgumentType]
            raise refused(f"{name}: {value!r}", f"{value!r} is not a size of 1 or more")
        out[str(name)] = value  # pyright: ignore[reportUnknownArgumentType]
    return out


def _words(kernel: Kernel, params: Mapping[str, int]) -> str:
    free = ", ".join(name for name in extents_of(kernel) if name not in params)
    fixed = ", ".join(f"{name} = {value}" for name, value in params.items())
    return " with ".join(filter(None, (f"for all {free} >= 1" if free else "", fixed)))
