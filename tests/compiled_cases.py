"""What tests of compiled kernels share: when they skip, and how a binary is held against a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.converting import bounds, convert as cx_convert, host_dtype
from pycute_xe.kernel import Kernel

needs_compiler = pytest.mark.skipif(bool(cx.native.missing()), reason=cx.native.missing())

KINDS = ("load", "prefetch", "store")


def listed(kernel: Kernel) -> dict[str, int]:
    """Messages and DPAS as the listing has them, each statement counted where it stands."""
    out = dict.fromkeys((*KINDS, "dpas"), 0)
    for statement in kernel.statements():
        name = type(statement).__name__.lower()
        if name in KINDS:
            out[name] += statement.copy.messages
        elif name == "mma":
            m, k = statement.mma.repetitions("A")
            out["dpas"] += m * k * statement.mma.repetitions("B")[0]
    return {kind: count for kind, count in out.items() if count}


def held_against_run(kernel: Kernel, given: dict[str, Any], ulps: int = 0) -> list[str]:
    """Run a kernel and its binary; say what differs, by more than so many ulps where allowed."""
    binary = cx.native.compile(kernel)
    wrong: list[str] = []
    static = {**binary.messages, "dpas": binary.dpas}
    if static != listed(kernel):
        wrong.append(f"the code has {static}, the listing {listed(kernel)}")
    out, done = cx.native.run(kernel, **given, report=True)
    expected, report = cx.run(kernel, **given, report=True, executor="reference", target="pvc")
    far = distance(out, expected) if out.dtype == expected.dtype else ulps + 1
    if far > ulps:
        count = int(np.count_nonzero(out != expected))
        wrong.append(f"{count} of {out.size} elements differ, by {far} steps of their type at most")
    for name in ("messages", "bytes", "dpas", "barriers"):
        if getattr(done, name) != getattr(report, name):
            wrong.append(f"{name}: {getattr(done, name)} executed, {getattr(report, name)} run")
    return wrong


def distance(out: np.ndarray, expected: np.ndarray) -> int:
    """How many steps of their type two elements are apart at most; -0 and 0 are one."""
    code = f"i{out.dtype.itemsize}"
    steps: list[np.ndarray] = []
    for array in (out, expected):
        found = array.view(code).astype(np.int64)
        # Sign and magnitude become numbers that count steps.
        negative = np.iinfo(code).min - found - 1
        steps.append(found if array.dtype.kind in "iu" else np.where(found < 0, negative, found))
    return int(np.abs(steps[0] - steps[1]).max(initial=0))


def filled(kernel: Kernel, sizes: tuple[int, int, int], seed: int = 0) -> dict[str, Any]:
    """Arrays for every input at (M, N, K): floats that round, integers of the whole type."""
    rng = np.random.default_rng(seed)
    named = dict(zip("MNK", sizes, strict=True))
    out: dict[str, Any] = {}
    for operand in kernel.inputs:
        shape, numeric = tuple(mode.at(named) for mode in operand.modes), operand.value_type
        if numeric.kind == "float":
            out[operand.name] = cx_convert(rng.standard_normal(shape), numeric)
        else:
            low, high = bounds(numeric)
            out[operand.name] = rng.integers(max(low, -1000), min(high, 1000) + 1, shape).astype(
                host_dtype(numeric)
            )
    return out
