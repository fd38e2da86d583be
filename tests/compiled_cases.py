"""What tests of compiled kernels share: when they skip, and how a binary is held against a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pycute_xe as cx
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


def held_against_run(kernel: Kernel, given: dict[str, Any]) -> list[str]:
    """Run a kernel and its binary; say what differs, nothing where nothing does."""
    binary = cx.native.compile(kernel)
    wrong: list[str] = []
    static = {**binary.messages, "dpas": binary.dpas}
    if static != listed(kernel):
        wrong.append(f"the code has {static}, the listing {listed(kernel)}")
    out, done = cx.native.run(kernel, **given, report=True)
    expected, report = cx.run(kernel, **given, report=True, executor="reference", target="pvc")
    if out.dtype != expected.dtype or out.tobytes() != expected.tobytes():
        count = int(np.count_nonzero(out != expected))
        wrong.append(f"{count} of {out.size} elements differ")
    for name in ("messages", "bytes", "dpas", "barriers"):
        if getattr(done, name) != getattr(report, name):
            wrong.append(f"{name}: {getattr(done, name)} executed, {getattr(report, name)} run")
    return wrong
