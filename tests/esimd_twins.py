"""Kernels in pairs: a bad one is found by its code, its good twin is silent and right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe import esimd
from pycute_xe.esimd import EsimdError

Kernel = Callable[..., Any]
Array = NDArray[Any]

ROWS, COLS = 64, 256
WIDTH, HEIGHT = COLS * 2 - 1, ROWS - 1


def matrix() -> Array:
    return (np.arange(ROWS * COLS) % 2039).astype(np.float16).reshape(ROWS, COLS)


def found(kernel: Kernel, *arguments: Any, **options: Any) -> tuple[str, str]:
    """The code that a kernel is stopped with, or the first it is recorded with; and the message."""
    try:
        run = esimd.launch(kernel, *arguments, **options)
    except EsimdError as error:
        return error.code, str(error)
    assert run.findings, "the mistake was not found"
    return run.findings[0].code, str(run.findings[0])


def clean(
    kernel: Kernel, *arguments: Any, allow: tuple[str, ...] = (), **options: Any
) -> esimd.Run:
    """Run a good twin: nothing may be recorded but what it allows."""
    run = esimd.launch(kernel, *arguments, **options)
    assert set(run.codes) <= set(allow), run.findings
    return run
