"""What tests of compiled kernels share: when they skip, and how a binary is held against a run."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.converting import bounds, convert as cx_convert, host_dtype
from pycute_xe.kernel import Kernel

# What tests and pages record of the compiler was recorded with this version, for pvc.
RECORDED = "22.43"
_MISSING = cx.native.missing("pvc", RECORDED)
needs_compiler = pytest.mark.skipif(bool(_MISSING), reason=_MISSING)
# What Debian 12 has compiles for pvc alone.
_OLD = _MISSING or cx.native.missing("bmg")
needs_newer_compiler = pytest.mark.skipif(bool(_OLD), reason=_OLD)

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
        elif name == "atomicstore":
            added = statement.copy.messages * statement.copy.atom.values  # registers of 16 elements
            out["atomic"] = out.get("atomic", 0) + added
    return {kind: count for kind, count in out.items() if count}


def held_against_run(
    kernel: Kernel,
    given: dict[str, Any],
    ulps: int = 0,
    share: float = 0,
    unrolls: bool = False,
    made: tuple[str, str] = ("pvc", RECORDED),
) -> list[str]:
    """Run a kernel and its binary; say what differs, by more than so many ulps where allowed.

    ``share`` allows so much of the largest element instead; ``unrolls`` that the compiler writes a
    short loop out, so that the code holds more messages than the listing; ``made`` is the target
    and the version of the compiler.
    """
    target, version = made
    binary = cx.native.compile(kernel, target, compiler=version)
    wrong: list[str] = []
    static = {k: n for k, n in {**binary.messages, "dpas": binary.dpas}.items() if n}
    if static != listed(kernel) and not unrolls:
        wrong.append(f"the code has {static}, the listing {listed(kernel)}")
    out, done = cx.native.run(kernel, **given, report=True, target=target, compiler=version)
    expected, report = cx.run(kernel, **given, report=True, executor="reference", target=target)
    pairs = zip(outputs(out), outputs(expected), strict=True)
    wrong += [words for found, said in pairs if (words := apart(found, said, ulps, share))]
    for name in ("messages", "bytes", "dpas", "barriers"):
        found, said = (counted(getattr(r, name), name) for r in (done, report))
        if found != said:
            wrong.append(f"{name}: {found} executed, {said} run")
    return wrong


def asked_compilers(parser: ArgumentParser) -> tuple[Namespace, list[tuple[str, str]]]:
    """Read a command line, and which compilers it asks for: targets with versions.

    Leaves where there is none, with one line that says so.
    """
    parser.add_argument("--newest", action="store_true", help="what `make compilers` unpacked")
    parser.add_argument("--every", type=int, default=1, help="judge one in so many")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    if not asked.newest:
        if cx.native.missing("pvc", RECORDED):
            raise SystemExit(cx.native.missing("pvc", RECORDED))
        return asked, [("pvc", RECORDED)]
    unpacked = [t for t in cx.native.toolchains() if t.folder]
    if not unpacked:
        print("no compiler is unpacked beside the system: run `make compilers`")
        raise SystemExit(0)
    print(unpacked[0])
    return asked, [(target, unpacked[0].version) for target in ("pvc", "bmg")]


def outputs(out: Any) -> tuple[np.ndarray, ...]:
    """The outputs of a run, of which there may be one."""
    return out if isinstance(out, tuple) else (out,)


def apart(out: np.ndarray, expected: np.ndarray, ulps: int, share: float = 0) -> str:
    """Say where two arrays differ by more than so many ulps; empty where they do not."""
    if share and out.dtype == expected.dtype:
        ends = np.isinf(expected)  # infinities are the same ones
        if not np.array_equal(out[ends], expected[ends]):
            return "infinities differ"
        wide = expected[~ends].astype(np.float64)
        off = float(np.abs(out[~ends] - wide).max(initial=0) / np.abs(wide).max(initial=0))
        return "" if off <= share else f"{off:.2g} of the largest element apart"
    far = distance(out, expected) if out.dtype == expected.dtype else ulps + 1
    if far <= ulps:
        return ""
    count = int(np.count_nonzero(out != expected))
    return f"{count} of {out.size} elements differ, by {far} steps of their type at most"


def counted(found: Any, name: str) -> Any:
    """Counts that a binary shares with a run: a statement on shared memory is many messages."""
    if name != "messages":
        return found
    return {k: n for k, n in found.items() if not k.startswith(("shared", "atomic"))}


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
