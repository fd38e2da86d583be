"""`run`, the verb."""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from pycute_xe.arch import Target, get_target
from pycute_xe.atom import TiledCopy
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.clock import stopwatch
from pycute_xe.converting import convert
from pycute_xe.cutlass import as_atom
from pycute_xe.errors import (
    CuteError,
    InputError,
    KernelError,
    LegalityError,
    UndecidableError,
    UnfaithfulWarning,
)
from pycute_xe.executing import launch
from pycute_xe.executing.arrays.plans import run_on_arrays
from pycute_xe.executing.copies import run_copy
from pycute_xe.executing.counting import work_of
from pycute_xe.executing.problem import Asked, Problem, Report, prepare
from pycute_xe.executing.surfaces import demand_legal, is_legal
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.arrays import Array
from pycute_xe.kernel.ir.kernel import amount, weight
from pycute_xe.kernel.spec.evaluation import compute
from pycute_xe.machine import Trace
from pycute_xe.naming.subjects import Named, subject_of
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import STUMBLES, shortly, typed

__all__ = [
    "Executor",
    "Progress",
    "doubts",
    "outputs_of",
    "run",
    "execute",
    "count_work",
]

# ------------------------------------------------------------ counting


def count_work(kernel: Kernel, problem: Problem, target: Target, trace: Trace) -> None:
    """Add to a trace the messages, bytes, DPAS and barriers that running the kernel takes.

    Law: equal to what the reference executor's trace counts. Raises `KernelError` as `work_of`.
    """
    for work in work_of(kernel, problem.sizes, problem.inputs, target):
        trace.barriers += work.barriers
        trace.dpas += work.dpas
        if work.messages:
            trace.messages[work.sent] += work.messages
            trace.nbytes[work.sent] += work.nbytes


# ------------------------------------------------------------ fast
# The fast executor: what a kernel stores, as terms on whole arrays.
#
# What has no term, and what may fault, is run by the byte machine, which says so in the report.

Outputs: TypeAlias = dict[str, Array]
Progress: TypeAlias = Callable[[float], None]


def execute(
    kernel: Kernel,
    problem: Problem,
    target: Target,
    trace: Trace,
    progress: Progress | None = None,
) -> Outputs:
    """Run a kernel and return its outputs by name.

    Equal to the reference executor bit for bit in integers, and within K·2⁻²⁴·Σ|a||b| for each
    element of a float32 accumulator: sums may be taken in another order. Raises `KernelError` for
    a kind of statement without a meaning, `MachineError` for what a machine leaves undefined.
    """
    try:
        outputs = run_on_arrays(problem)
    except (UndecidableError, KernelError) as error:
        trace.why = error.condition
        return launch.execute(kernel, problem, target, trace, progress)
    if progress is not None:
        progress(1.0)
    return dict(outputs)


# ------------------------------------------------------------ surfacing
# Errors inside a run, told as what they are: no argument of the user's explains them.


@contextmanager
def surfaced(operation: str, kernel: Kernel, sizes: Mapping[str, int]) -> Generator[None]:
    """Raise errors that are not a `CuteError` as one that says what happened.

    `InputError` where memory does not suffice, and `CuteError` for what is a defect of the library.
    """
    try:
        yield
    except CuteError:
        raise
    except MemoryError as error:
        raise InputError(
            operation,
            {"kernel": kernel.name, **sizes},
            f"the operands take {amount(weight(kernel, sizes))}, and memory does not suffice",
            "use smaller sizes",
        ) from error
    except STUMBLES as error:
        raise CuteError(
            operation,
            {"kernel": kernel.name, **sizes},
            f"the run stopped at an inner error, {type(error).__name__}: {error}",
            "report it, with the kernel, as a defect of pycute_xe",
        ) from error


# ------------------------------------------------------------ runner

Executor = Literal["fast", "reference"]
_ENGINES = {"fast": execute, "reference": launch.execute}


@typed
def run(
    kernel: Kernel | CopyAnswers | TiledCopy | Named,
    *operands: Any,
    executor: Executor = "fast",
    target: str | Target = "bmg",
    strict: bool = False,
    dtype: Numeric | str | Mapping[str, Numeric | str] | None = None,
    report: bool = False,
    progress: Progress | None = None,
    **named: Any,
) -> Any:
    """Run a kernel on arrays, and return its output: one as an array, several as a named tuple.

    ``kernel`` may be text that names one, or a file: "gemm", "kernel.json".
    Inputs come by position, in the order of ``kernel.inputs``, or by name; scalars may be Python
    numbers. Sizes are bound by shapes. ``executor`` "reference" moves every message and DPAS
    through the machine's registers; "fast" evaluates statement by statement over all work-groups.
    Arrays of any layout work: they are copied onto legal surfaces in the order the kernel declares,
    which the report says; ``strict`` refuses those the target could not address as they lie.
    ``dtype`` asks for inputs to be rounded to nearest even: a type, or one for each operand by
    name; a RuntimeWarning counts elements too large for the type. What the kernel leaves unwritten
    is NaN, in integers the number whose bits are all ones. An extent of zero gives what NumPy
    gives. With ``report`` the result is (output, `Report`). ``progress`` is called with the
    fraction done. A kernel whose atoms do something else than their layouts say runs under an
    `UnfaithfulWarning`.
    Integers are the same bits on both executors: computed in 64 bits, and kept in the lowest bits
    of their type. Floats may differ in the last bits of sums of products, and where a sum leaves
    f32: "fast" adds in another order and rounds a product and a sum at once, so one executor may
    give infinity where the other gives a number near the largest. Atomic additions of floats, and
    the largest or the least of zeros of both signs, may differ in the sign of a zero.
    A copy atom, its name or a `TiledCopy` runs alone, on the machine: ``run(atom, A, at=(8, 16))``
    returns what each work-item holds of the block that begins there in memory, (lanes, values) or
    (subgroups, lanes, values), padding as zeros; ``run(store, held, into=D, at=(8, 16))`` returns D
    with the block in it. ``unit_bits`` is the width in which work-items read their registers
    (`CopyAnswers.unit_bits` without it). Where work-items address memory themselves, ``at`` is a
    place for each.
    Raises `InputError`, `DTypeError`, `LegalityError` for inputs, `MachineError` for a kernel that
    does what hardware leaves undefined.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> D = run(gemm, np.ones((3, 5)), B=np.ones((5, 2)), dtype="bf16", executor="reference")
    >>> D.shape, D.dtype.name, float(D[2, 1])
    ((3, 2), 'float32', 5.0)
    >>> A = np.arange(16 * 32).reshape(16, 32)
    >>> run("XE_2D_U16x8x16_LD_N", A, at=(8, 16))[3].tolist()  # column 16 + 3, rows 8 to 15
    [275, 307, 339, 371, 403, 435, 467, 499]
    """
    kernel = subject_of("run", kernel)
    if not isinstance(kernel, Kernel):
        given = (executor, strict, dtype, report, progress)
        if given != ("fast", False, None, False, None):
            wrong = "a copy has neither an executor, dtype, strict, report nor progress"
            raise InputError("run", {"copy": kernel}, wrong, "leave them out")
        return run_copy(_copy_of(kernel), operands, named, get_target(target))
    demand_executor("run", executor)
    machine = get_target(target)
    problem = prepare(kernel, operands, named, _asked(dtype))
    if strict:
        for name, array in problem.inputs.items():
            if array.size and array.ndim:
                demand_legal(kernel.operand(name), array, machine)
    doubted = doubts(kernel)
    if doubted:
        warnings.warn("; ".join(doubted), UnfaithfulWarning, stacklevel=2)
    elapsed = stopwatch()
    trace = Trace()
    outputs = outputs_of(problem, machine, trace, executor, progress)
    seconds = elapsed()
    out = _gathered(kernel, outputs)
    if not report:
        return out
    if executor == "fast" and not problem.empty and not trace.why:
        count_work(kernel, problem, machine, trace)
    return out, _report(problem, machine, trace, executor, seconds, doubted)


def _copy_of(given: object) -> CopyAnswers | TiledCopy:
    """Return the copy that is run alone; refuse what is neither a kernel nor a copy."""
    copy = as_atom(given)
    if isinstance(copy, (CopyAnswers, TiledCopy)):
        return copy
    raise InputError(
        "run",
        {"kernel": type(copy).__name__},
        "only kernels, copy atoms and tiled copies run",
        "build one with kernel.gemm(mma), or name a copy: run('XE_2D_U16x8x16_LD_N', A)",
    )


@lru_cache(maxsize=128)
def doubts(kernel: Kernel) -> tuple[str, ...]:
    """Return what is wrong with atoms of a kernel that do not do what their layouts say."""
    reasons: dict[str, None] = {}
    for statement in kernel.statements():
        product, memory = statement.touched.product, statement.touched.memory
        if product is not None and not product.mma.atom.by_registers.faithful:
            # The older layouts hide what the registers hold, which the kernel does not look at.
            reasons[f"{product.mma.atom}: {'; '.join(product.mma.atom.notes)}"] = None
        if memory is not None and not memory.prefetches and not _faithful(memory.copy):
            reasons[f"{memory.copy.atom} does not hold what its layout says"] = None
    return tuple(reasons)


def _faithful(copy: TiledCopy) -> bool:
    try:
        return copy.atom.faithful
    except LegalityError:
        return False


def _asked(dtype: Numeric | str | Mapping[str, Numeric | str] | None) -> Asked:
    if dtype is None:
        return None
    if isinstance(dtype, Mapping):
        return {name: as_numeric(kind) for name, kind in dtype.items()}
    return as_numeric(dtype)


def demand_executor(operation: str, executor: object) -> None:
    """Refuse what is not the name of an executor."""
    if not isinstance(executor, str) or executor not in _ENGINES:
        raise InputError(
            operation,
            {"executor": shortly(executor)},
            f"the executor {shortly(executor)} is unknown",
            'use "fast" or "reference"',
        )


def outputs_of(
    problem: Problem,
    target: Target,
    trace: Trace,
    executor: Executor,
    progress: Progress | None = None,
) -> dict[str, Array]:
    """Return the outputs of a problem by name; the reference counts its work in the trace."""
    kernel = problem.kernel
    if problem.empty and kernel.computes is not None and kernel.computes.claims:
        outputs = compute(kernel.computes, kernel.operands, problem.inputs, problem.sizes)
        return {o.name: convert(outputs[o.name], o.value_type) for o in kernel.outputs}
    if problem.empty and not any(np.prod(problem.shape(o.name)) for o in kernel.outputs):
        return {o.name: problem.blank(o.name) for o in kernel.outputs}
    with surfaced("run", kernel, problem.sizes):
        return _ENGINES[executor](kernel, problem, target, trace, progress)


def _gathered(kernel: Kernel, outputs: dict[str, Array]) -> Any:
    names = [operand.name for operand in kernel.outputs]
    if len(names) == 1:
        return outputs[names[0]]
    return _outputs(*names)(*(outputs[name] for name in names))


@lru_cache(maxsize=128)
def _outputs(*names: str) -> Any:
    """Return the class of outputs: their names are known only in a run."""
    return namedtuple("Outputs", names, rename=True)  # pyright: ignore[reportUntypedNamedTuple]


def _report(
    problem: Problem,
    target: Target,
    trace: Trace,
    executor: Executor,
    seconds: float,
    doubted: tuple[str, ...],
) -> Report:
    copied = tuple(
        name
        for name, array in problem.inputs.items()
        if array.size and array.ndim and not is_legal(problem.kernel.operand(name), array, target)
    )
    return Report(
        executor=executor,
        sizes=problem.sizes,
        messages=dict(trace.messages),
        bytes=dict(trace.nbytes),
        dpas=trace.dpas,
        barriers=trace.barriers,
        copies=copied,
        seconds=seconds,
        doubts=doubted,
        why=trace.why,
    )
