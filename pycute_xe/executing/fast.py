"""Floor 9: the fast executor: what a kernel stores, as terms on whole arrays.

What has no term, and what may fault, is run by the byte machine, which says so in the report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from numpy.typing import NDArray

from pycute_xe.arch import Target
from pycute_xe.errors import KernelError, UndecidableError
from pycute_xe.executing import launching
from pycute_xe.executing.arrays.planning import run_on_arrays
from pycute_xe.executing.problem import Problem
from pycute_xe.kernel import Kernel
from pycute_xe.machine import Trace

__all__ = ["execute"]

Outputs: TypeAlias = dict[str, NDArray[Any]]
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
        found = run_on_arrays(problem)
    except (UndecidableError, KernelError) as error:
        trace.why = error.condition
        return launching.execute(kernel, problem, target, Trace(), progress)
    if progress is not None:
        progress(1.0)
    return dict(found)
