"""Floor 9: `run` and `replay`, the verbs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target, get_target
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import InputError
from pycute_xe.execute import fast, reference
from pycute_xe.execute.problem import Problem, demand_legal, is_legal, prepare
from pycute_xe.execute.report import Report
from pycute_xe.execute.rounding import rounded
from pycute_xe.kernel import Counterexample, Kernel
from pycute_xe.machine import Trace
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import shortly, typed

__all__ = ["Replay", "replay", "run"]

Executor = Literal["fast", "reference"]
Progress = Callable[[float], None]


@overload
def run(
    kernel: Kernel,
    A: Any,
    B: Any,
    *,
    executor: Executor = ...,
    target: str | Target = ...,
    strict: bool = ...,
    dtype: Numeric | str | None = ...,
    report: Literal[False] = False,
    progress: Progress | None = ...,
) -> NDArray[Any]: ...


@overload
def run(
    kernel: Kernel,
    A: Any,
    B: Any,
    *,
    executor: Executor = ...,
    target: str | Target = ...,
    strict: bool = ...,
    dtype: Numeric | str | None = ...,
    report: Literal[True],
    progress: Progress | None = ...,
) -> tuple[NDArray[Any], Report]: ...


@typed
def run(
    kernel: Kernel,
    A: Any,
    B: Any,
    *,
    executor: Executor = "fast",
    target: str | Target = "bmg",
    strict: bool = False,
    dtype: Numeric | str | None = None,
    report: bool = False,
    progress: Progress | None = None,
) -> NDArray[Any] | tuple[NDArray[Any], Report]:
    """Run a kernel on A (M, K) and B (K, N) and return D (M, N), with a `Report` if asked.

    ``executor`` "reference" moves every message and DPAS through the machine's registers; "fast"
    runs the same maps, compiled into array operations. Arrays of any layout work: they are copied
    onto legal surfaces in the order the kernel declares, which the report says; ``strict`` refuses
    those the target could not address as they lie. ``dtype`` asks for other element types to be
    rounded to nearest even; a RuntimeWarning counts those too large for the type. What the kernel
    leaves unwritten in D is NaN. An extent of zero gives what NumPy gives. ``progress`` is called
    with the fraction done.
    Raises `InputError`, `DTypeError`, `LegalityError` for inputs, `MachineError` for a kernel that
    does what hardware leaves undefined.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> C = run(gemm, np.ones((3, 5)), np.ones((5, 2)), dtype="bf16")
    >>> C.shape, C.dtype.name, float(C[2, 1])
    ((3, 2), 'float32', 5.0)
    """
    if not isinstance(kernel, Kernel):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            "run",
            {"kernel": type(kernel).__name__},
            "only kernels run",
            "build one with kernel.gemm(mma)",
        )
    if executor not in ("fast", "reference"):
        raise InputError(
            "run", {"executor": executor}, "no such executor", 'use "fast" or "reference"'
        )
    machine = get_target(target)
    problem = prepare(kernel, A, B, as_numeric(dtype) if dtype is not None else None)
    if strict:
        for name, array in problem.inputs.items():
            if array.size:
                demand_legal(kernel.operand(name), array, machine)
    start = perf_counter()
    trace = Trace()
    out = _execute(kernel, problem, machine, trace, executor, progress)
    if not report:
        return out
    return out, _report(kernel, problem, machine, trace, executor, perf_counter() - start)


def _execute(
    kernel: Kernel,
    problem: Problem,
    target: Target,
    trace: Trace,
    executor: Executor,
    progress: Progress | None,
) -> NDArray[Any]:
    if problem.empty:
        shape = problem.sizes["M"], problem.sizes["N"]
        return np.zeros(shape, dtype=numpy_dtype(kernel.operand("D").value_type))
    engine = reference.execute if executor == "reference" else fast.execute
    return engine(kernel, problem, target, trace, progress)


def _report(
    kernel: Kernel,
    problem: Problem,
    target: Target,
    trace: Trace,
    executor: Executor,
    seconds: float,
) -> Report:
    copied = tuple(
        name
        for name, array in problem.inputs.items()
        if array.size and not is_legal(kernel.operand(name), array, target)
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
    )


@dataclass(frozen=True, eq=False)
class Replay:
    """A counterexample run: what the kernel gives, what it should give, and where they differ."""

    counterexample: Counterexample
    actual: NDArray[Any]
    expected: NDArray[Any]

    @property
    def shows(self) -> bool:
        """Whether the output element that the counterexample names is wrong."""
        place = self.counterexample.output
        # Not equal also where the kernel left NaN.
        return bool(self.actual[place] != self.expected[place])

    def __str__(self) -> str:
        """The element, as it is and as it should be."""
        m, n = self.counterexample.output
        return (
            f"D[{m}, {n}] is {self.actual[m, n]:g}, should be {self.expected[m, n]:g}\n"
            f"{self.counterexample}"
        )


@typed
def replay(
    kernel: Kernel, counterexample: Counterexample, executor: Executor = "reference"
) -> Replay:
    """Run a counterexample on its own inputs.

    ``executor`` as for `run`. ``Replay.expected`` is the exact product. Raises `InputError` for
    what is not a kernel and its counterexample, and as `run` does.
    """
    if not isinstance(counterexample, Counterexample):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            "replay",
            {"counterexample": shortly(counterexample)},
            "only a counterexample can be replayed",
            "verify(kernel).counterexample is one, or None where the kernel is right",
        )
    if not isinstance(kernel, Kernel):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            "replay",
            {"kernel": shortly(kernel)},
            "only a kernel runs",
            "replay(kernel, counterexample)",
        )
    a, b = counterexample.inputs()
    types = kernel.operand("A").value_type, kernel.operand("B").value_type
    inputs = [rounded(x, numeric) for x, numeric in zip((a, b), types, strict=True)]
    actual = run(kernel, *inputs, executor=executor)
    return Replay(counterexample, actual, (a @ b).astype(actual.dtype))
