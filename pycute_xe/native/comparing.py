"""Floor 11: a kernel beside what the compiler made of it: counts, bytes, registers, results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from pycute_xe.checking import check
from pycute_xe.converting import convert
from pycute_xe.executing.report import Report
from pycute_xe.executing.runner import run as run_kernel
from pycute_xe.kernel import AtomicStore, Kernel, Load, Mma, Prefetch, Store
from pycute_xe.native.compiling import compile
from pycute_xe.native.running import run
from pycute_xe.signatures import typed

__all__ = ["Comparison", "compare", "listed"]


@dataclass(frozen=True)
class Comparison:
    """What is said of a kernel and what its binary does, by name: (said, found).

    ``static`` counts messages and DPAS in the listing and in the code, ``dynamic`` those of a run
    and of the executed binary with their bytes; ``registers`` are those that `check` counts and
    those of the mode; ``scratch`` is what a thread spills; ``equal`` tells whether the results are,
    None where a binary spills and is not executed. Truthy when counts and results agree.
    """

    kernel: str
    static: dict[str, tuple[int, int]]
    dynamic: dict[str, tuple[int, int]]
    registers: tuple[int, int]
    scratch: int
    equal: bool | None

    def __bool__(self) -> bool:
        """Whether everything agrees."""
        counts = (*self.static.values(), *self.dynamic.values())
        return bool(self.equal) and all(a == b for a, b in counts)

    def __str__(self) -> str:
        """One line for each count."""
        told = "does what is said" if self else "spills" if self.scratch else "differs"
        lines = [f"{self.kernel}: the binary {told}"]
        for title, counts in (("in the code", self.static), ("executed", self.dynamic)):
            for name, (said, found) in counts.items():
                mark = "=" if said == found else "≠"
                lines.append(f"  {title:11} {name:17} {said:>13,} {mark} {found:>13,}")
        said, mode = self.registers
        lines.append(f"  registers   {said} of {mode}, {self.scratch} bytes of scratch")
        results = {None: "not computed", True: "equal, byte for byte", False: "differ"}
        lines.append(f"  results     {results[self.equal]}")
        return "\n".join(lines)


def listed(kernel: Kernel) -> dict[str, int]:
    """Return messages and DPAS of a kernel as they stand in its listing."""
    kinds = {Load: "load", Prefetch: "prefetch", Store: "store"}
    out = dict.fromkeys((*kinds.values(), "dpas"), 0)
    for statement in kernel.statements():
        if isinstance(statement, (Load, Prefetch, Store)):
            out[kinds[type(statement)]] += statement.copy.messages
        elif isinstance(statement, AtomicStore):
            # A message adds one register of 16 elements at most.
            atom = statement.copy.block
            rows = -(-atom.width * atom.height // 16)
            out["atomic"] = out.get("atomic", 0) + statement.copy.messages * rows
        elif isinstance(statement, Mma):
            reps_m, reps_k = statement.mma.repetitions("A")
            out["dpas"] += reps_m * reps_k * statement.mma.repetitions("B")[0]
    return out


@typed
def compare(
    kernel: Kernel, sizes: Mapping[str, int] | None = None, registers: int = 256
) -> Comparison:
    """Return what is said of a kernel beside what its binary for pvc does.

    Both run on the same small integers, at ``sizes`` or a little more than a tile and three of K.
    A binary that spills is compared without being executed. Raises as `compile` and `run` do.
    """
    binary = compile(kernel, "pvc", registers)
    code = {**binary.messages, "dpas": binary.dpas}
    told = listed(kernel)
    static = {n: (told.get(n, 0), code.get(n, 0)) for n in {**told, **code}}
    needed = (check(kernel, "pvc").registers, binary.registers)
    if binary.scratch:
        return Comparison(kernel.name, static, {}, needed, binary.scratch, None)
    given = _operands(kernel, sizes or _sizes(kernel))
    expected, report = run_kernel(kernel, **given, executor="reference", target="pvc", report=True)
    found, done = run(kernel, **given, registers=registers, report=True)
    said, did = _counted(report), _counted(done)
    dynamic = {name: (said.get(name, 0), did.get(name, 0)) for name in {**said, **did}}
    return Comparison(kernel.name, static, dynamic, needed, 0, _bytes(expected) == _bytes(found))


def _sizes(kernel: Kernel) -> dict[str, int]:
    m, n, k = kernel.mma.tile_mnk
    return {"M": m + 1, "N": n - 3, "K": 3 * k + 5}


def _operands(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    out: dict[str, Any] = {name: size for name, size in sizes.items() if name in kernel.sizes}
    for operand in kernel.inputs:
        low = 0 if operand.value_type.kind == "unsigned" else -2
        shape = tuple(mode.at(sizes) for mode in operand.modes)
        out[operand.name] = convert(rng.integers(low, 3, shape), operand.value_type)
    return out


def _counted(report: Report) -> dict[str, int]:
    """What is counted of a run; of shared memory bytes alone: its messages are cut otherwise."""
    kinds = ("load", "prefetch", "store")
    found = {
        **{f"{kind} messages": report.messages.get(kind, 0) for kind in kinds},
        **{f"{kind} bytes": report.bytes.get(kind, 0) for kind in kinds},
    }
    more = ("atomic", "shared load", "shared store")
    found |= {f"{kind} bytes": report.bytes[kind] for kind in more if kind in report.bytes}
    return found | {"dpas": report.dpas, "barriers": report.barriers}


def _bytes(outputs: Any) -> bytes:
    parts = cast("tuple[Any, ...]", outputs if isinstance(outputs, tuple) else (outputs,))
    return b"".join(part.tobytes() for part in parts)
