"""Floor 9: `prove`: four answers, within a budget, which `pycute_xe.trials` then tries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

from pycute_xe.errors import CuteError, InputError, KernelError, MachineError, UndecidableError
from pycute_xe.kernel import Counterexample, Kernel, Loop
from pycute_xe.kernel.ir.identities import extents_of, identified
from pycute_xe.signatures import typed
from pycute_xe.verifying.conditions import condition_of
from pycute_xe.verifying.counting import counts_plainly
from pycute_xe.verifying.failures import Failure
from pycute_xe.verifying.patience import ClockError, TooHardError, allowed, at_most, work_left
from pycute_xe.verifying.planned import given_a_plan
from pycute_xe.verifying.questions import Questions
from pycute_xe.verifying.regions import session
from pycute_xe.verifying.unrolling import given_few_trips, given_sizes
from pycute_xe.verifying.verdict import Proof, Verdict
from pycute_xe.verifying.wording import in_words_of

__all__ = ["BUDGET", "WORK_A_SECOND", "prove", "verify_here"]

CLIPPED = "outside a surface loads give zero and stores are dropped, value by value"
SURFACES = (
    "surfaces as their messages need them: base, width and pitch legal for the target, extents "
    "below 2**24 (`run` copies operands onto such surfaces)"
)
REAL = "sums and products are those of real numbers, in any order, roundings where they are said: "
FINITE = (
    "inputs are finite, and so is every number that is computed, also of the zeros that pad a "
    "surface: nothing overflows its type and nothing is divided by zero, so that zero times a "
    "number is zero"
)
RACES = "nothing else writes to the outputs meanwhile, and outputs do not overlap inputs"
PAIRED = "the two halves of every barrier are done alternately, by all subgroups, on every path"
SHARED = (
    f"{PAIRED}, and one, after a fence where the first is a store, lies between uses of an element "
    "of a shared array by two subgroups"
)
COUNTERS = "a counter is stored and loaded in an order with the signals of other work-groups"
INVARIANT = "what loops claim to hold is so at their starts and after every trip"

BUDGET = 10.0
WORK_A_SECOND = 600_000
"""Units of work for each second of a budget: an idle machine takes a third of the time."""
CONDITION_WORK = 1_000_000
"""Units, and half of what is left at most, for the condition under which a property holds."""


@typed
def prove(
    kernel: Kernel, params: Mapping[str, int] | None = None, *, budget: float = BUDGET
) -> Verdict:
    """Prove that a kernel computes what it claims for all sizes >= 1, or find where it does not.

    The proofs follow the statements: what messages put into registers, what instructions take them
    for, what is summed and what is stored, and compare that with ``kernel.computes``; they do not
    trust what the layouts of copies claim. ``params`` fixes some of the sizes, by name; ``budget``
    is a time in seconds, infinity for no end. It stands for an amount of work that an idle machine
    does in a third of it: what is decided, and what is left undecided, is the same however busy the
    machine is. Where it is too slow even so, the clock stops what is left, which is said.
    Raises `KernelError` for what is not a kernel and for statements without a meaning here,
    `InputError` for other params.

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
    if not _is_time(budget):
        raise InputError("verify", {"budget": budget}, "a budget is a time in seconds", "use 10")
    start = perf_counter()
    alike, names = identified(kernel)
    fixed = {names.sizes[name]: size for name, size in given.items()}
    try:
        with allowed(budget * WORK_A_SECOND, budget):
            found = verify_here(alike, fixed)
    except RecursionError as error:
        raise KernelError(
            "verify",
            {"kernel": kernel.name},
            "what its statements compute one after the other nests too deep to be followed",
            "compute it in fewer steps, or store what is between",
        ) from error
    return replace(in_words_of(kernel, names, found), seconds=perf_counter() - start)


def verify_here(kernel: Kernel, fixed: Mapping[str, int]) -> Verdict:
    """Return the verdict as far as the account of work reaches."""
    start = perf_counter()
    proofs: list[Proof] = []
    failures: list[tuple[Failure, Counterexample]] = []
    with session():
        questions = Questions(kernel, fixed)
        for asked in _asked(kernel, questions):
            proof, failure = _answered(asked, questions)
            proofs.append(proof)
            if failure is not None and proof.counterexample is not None:
                failures.append((failure, proof.counterexample))
    least = min(failures, key=lambda pair: pair[0].rank, default=None)
    shown = least[1] if least else None
    spent = perf_counter() - start
    found = Verdict(kernel.name, _words(kernel, fixed), tuple(proofs), shown, spent)
    planned = given_a_plan(kernel, fixed, found, verify_here)
    written = given_few_trips(kernel, fixed, planned, verify_here)
    return given_sizes(kernel, fixed, written, verify_here)


@dataclass(frozen=True)
class _Asked:
    """A property, what it says, what it takes for granted, and the question that decides it."""

    name: str
    statement: str
    assumptions: tuple[str, ...]
    find: Callable[[], Failure | None]


def _asked(kernel: Kernel, questions: Questions) -> tuple[_Asked, ...]:
    out = [
        _Asked("barriers", SHARED if kernel.shared else PAIRED, (), questions.barriers),
        _Asked(
            "registers",
            "no statement reads a register that was never written",
            (),
            questions.registers,
        ),
        _Asked(
            "bounds",
            "messages start on whole elements and whole registers",
            (SURFACES,),
            questions.bounds,
        ),
    ]
    if any(isinstance(s, Loop) and s.holds for s in kernel.statements()):
        out.append(_Asked("invariants", INVARIANT, (FINITE,), questions.invariants))
    if counts_plainly(kernel):
        out.append(_Asked("counters", COUNTERS, (), questions.counters))
    for operand in kernel.outputs:
        name = operand.name
        claim = kernel.computes.of(name) if kernel.computes is not None else None
        index = ",".join(claim.indices if claim else map(str, operand.modes))
        assumed = kernel.computes.assumes if kernel.computes is not None else ()
        out += [
            _Asked(
                f"{name} coverage",
                f"every {name}[{index}] is written",
                (CLIPPED, SURFACES),
                partial(questions.coverage, name),
            ),
            _Asked(
                f"{name} values",
                f"what is written to {name} is what is claimed",
                (FINITE, RACES, *assumed),
                partial(questions.values, name),
            ),
        ]
    return tuple(out)


def _answered(asked: _Asked, questions: Questions) -> tuple[Proof, Failure | None]:
    start = perf_counter()
    reason, failure = "", None
    condition = ""
    questions.real.clear()
    try:
        failure = asked.find()
        if failure is not None:
            condition = _condition(failure, questions)
    except TooHardError as error:
        reason, failure = error.condition, None
    except UndecidableError as error:
        reason = f"{error.condition}" + (f" ({error.fix})" if error.fix else "")
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
    seconds = perf_counter() - start
    found = _counterexample(failure) if failure is not None else None
    answer = "undecided" if reason else "proved"
    if failure is not None:
        answer = "needs" if condition else "disproved"
    real = (REAL + ", ".join(sorted(questions.real)),) if questions.real else ()
    assumptions = (*real, *asked.assumptions)
    proof = Proof(
        asked.name, answer, asked.statement, assumptions, seconds, found, condition, reason
    )
    return proof, failure


def _condition(failure: Failure, questions: Questions) -> str:
    """Return when the failure does not occur, where that is found soon: it is wrong either way.

    Raises `ClockError`: what the clock decides is not said of a kernel.
    """
    try:
        with at_most(min(CONDITION_WORK, work_left() / 2)):
            return condition_of(failure, questions.space)
    except ClockError:
        raise
    except TooHardError:
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
    )


def _is_time(budget: object) -> bool:
    return isinstance(budget, (int, float)) and not isinstance(budget, bool) and budget > 0


def _checked(kernel: Kernel, params: object) -> dict[str, int]:
    """Check the sizes that are fixed."""
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise InputError(
            "verify",
            {"params": params},
            f"{type(params).__name__} does not name sizes",
            'verify(kernel, {"K": 64})',
        )
    out: dict[str, int] = {}
    for name, value in params.items():  # pyright: ignore[reportUnknownVariableType]
        known = name in kernel.sizes
        if not known or type(value) is not int or value < 1:  # pyright: ignore[reportUnknownArgumentType]
            sizes = ", ".join(kernel.sizes)
            raise InputError(
                "verify",
                {"params": f"{name}: {value!r}"},
                f"{value!r} is not a size of 1 or more" if known else f"the sizes are {sizes}",
                'verify(kernel, {"K": 64})',
            )
        out[str(name)] = value  # pyright: ignore[reportUnknownArgumentType]
    return out


def _words(kernel: Kernel, params: Mapping[str, int]) -> str:
    free = ", ".join(name for name in extents_of(kernel) if name not in params)
    fixed = ", ".join(f"{name} = {value}" for name, value in params.items())
    return " with ".join(filter(None, (f"for all {free} >= 1" if free else "", fixed)))
