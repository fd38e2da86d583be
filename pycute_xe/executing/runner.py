"""Floor 9: `run`, the verb."""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target, get_target
from pycute_xe.converting import convert
from pycute_xe.errors import InputError, LegalityError, UnfaithfulWarning
from pycute_xe.executing import fast, launching
from pycute_xe.executing.counting import count_work
from pycute_xe.executing.problem import Problem, prepare
from pycute_xe.executing.report import Report
from pycute_xe.executing.rounding import Asked
from pycute_xe.executing.surfaces import demand_legal, is_legal
from pycute_xe.executing.surfacing import surfaced
from pycute_xe.kernel import AtomicStore, Kernel, Load, Mma, Store
from pycute_xe.kernel.spec.computing import compute
from pycute_xe.machine import Trace
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import shortly, typed

__all__ = ["Executor", "Progress", "doubts", "outputs_of", "run"]

Executor = Literal["fast", "reference"]
Progress: TypeAlias = Callable[[float], None]
_ENGINES = {"fast": fast.execute, "reference": launching.execute}


@typed
def run(
    kernel: Kernel,
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
    Raises `InputError`, `DTypeError`, `LegalityError` for inputs, `MachineError` for a kernel that
    does what hardware leaves undefined.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> D = run(gemm, np.ones((3, 5)), B=np.ones((5, 2)), dtype="bf16", executor="reference")
    >>> D.shape, D.dtype.name, float(D[2, 1])
    ((3, 2), 'float32', 5.0)
    """
    if not isinstance(kernel, Kernel):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            "run",
            {"kernel": type(kernel).__name__},
            "only kernels run",
            "build one with kernel.gemm(mma)",
        )
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
    start = perf_counter()
    trace = Trace()
    outputs = outputs_of(problem, machine, trace, executor, progress)
    seconds = perf_counter() - start
    out = _gathered(kernel, outputs)
    if not report:
        return out
    if executor == "fast" and not problem.empty:
        count_work(kernel, problem, machine, trace)
    return out, _report(problem, machine, trace, executor, seconds, doubted)


def doubts(kernel: Kernel) -> tuple[str, ...]:
    """Return what is wrong with atoms of a kernel that do not do what their layouts say."""
    said: dict[str, None] = {}
    for statement in kernel.statements():
        if isinstance(statement, Mma) and not statement.mma.atom.by_registers.faithful:
            # The older layouts hide what the registers hold, which the kernel does not look at.
            said[f"{statement.mma.atom}: {'; '.join(statement.mma.atom.notes)}"] = None
        elif isinstance(statement, (Load, Store, AtomicStore)) and not _faithful(statement):
            said[f"{statement.copy.atom} does not hold what its layout says"] = None
    return tuple(said)


def _faithful(statement: Load | Store | AtomicStore) -> bool:
    try:
        return statement.copy.atom.faithful
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
) -> dict[str, NDArray[Any]]:
    """Return the outputs of a problem by name; the reference counts its work in the trace."""
    kernel = problem.kernel
    if problem.empty and kernel.computes is not None:
        found = compute(kernel.computes, kernel.operands, problem.inputs, problem.sizes)
        return {o.name: convert(found[o.name], o.value_type) for o in kernel.outputs}
    if problem.empty and not any(np.prod(problem.shape(o.name)) for o in kernel.outputs):
        return {o.name: problem.blank(o.name) for o in kernel.outputs}
    with surfaced("run", kernel, problem.sizes):
        return _ENGINES[executor](kernel, problem, target, trace, progress)


def _gathered(kernel: Kernel, outputs: dict[str, NDArray[Any]]) -> Any:
    names = [operand.name for operand in kernel.outputs]
    if len(names) == 1:
        return outputs[names[0]]
    # The names are known only here, so that no class can be declared beforehand.
    made: Any = namedtuple("Outputs", names, rename=True)  # pyright: ignore[reportUntypedNamedTuple]
    return made(*(outputs[name] for name in names))


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
