"""Floor 9: the fast executor: statement by statement over all work-groups at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from pycute_xe.arch import Target
from pycute_xe.errors import KernelError
from pycute_xe.executing.problem import Problem
from pycute_xe.kernel import Kernel
from pycute_xe.machine import Trace

__all__ = ["execute"]


def execute(
    kernel: Kernel,
    problem: Problem,
    target: Target,
    trace: Trace,
    progress: Callable[[float], None] | None = None,
) -> dict[str, NDArray[Any]]:
    """Run a kernel and return its outputs by name. Raises `KernelError` for what it cannot do."""
    raise KernelError("run", {"kernel": kernel.name}, "not yet", 'use executor="reference"')
