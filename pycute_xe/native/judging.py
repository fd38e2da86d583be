"""A kernel beside what the compiler made of it: counts, bytes, registers, results.

Both run on sizes around each tile of the program, on numbers of the whole range of each type and on
its edges. Results must be equal byte for byte, but for functions that the compiler computes
otherwise than NumPy: `tolerance` says how far apart these may be, and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target, get_target
from pycute_xe.checking import check
from pycute_xe.converting import bounds, convert, host_dtype
from pycute_xe.errors import CuteError
from pycute_xe.executing.problem import Report
from pycute_xe.executing.runner import run as run_kernel
from pycute_xe.facts import rows
from pycute_xe.kernel import (
    AtomicStore,
    Kernel,
    Load,
    Map,
    Mma,
    Prefetch,
    Reduce,
    Statement,
    Store,
)
from pycute_xe.kernel.probes import edges
from pycute_xe.kernel.spec.expression import Apply, Expression, parts
from pycute_xe.kernel.spec.functions import CHOOSING, FUNCTIONS
from pycute_xe.native.comparison import run
from pycute_xe.native.compiler import compile
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.trials.problems import edge_sizes, looked_up

__all__ = ["DATA", "Comparison", "compare", "listed", "tolerance"]


@typed_fields
@dataclass(frozen=True)
class Comparison:
    """What is said of a kernel and what its binary does, by name: (said, found).

    ``compiler`` is the one that made it, with its version and the target; ``runs`` are the sizes
    and the data; ``static`` counts messages and DPAS in the listing and in the code, ``dynamic``
    those of all runs and of the executed binary with their bytes; ``registers`` are those that
    `check` counts and those of the mode; ``scratch`` is what a thread spills; ``apart`` says where
    results differ by more than ``allowed`` of the largest element, None where a binary spills and
    is not executed. Truthy when what is executed agrees: a loop that the compiler wrote out has
    more messages in the code, and as many executed. Cache hints and which memory prefetches touch
    are not compared.
    """

    kernel: str
    compiler: str
    runs: tuple[str, ...]
    static: dict[str, tuple[int, int]]
    dynamic: dict[str, tuple[int, int]]
    registers: tuple[int, int]
    scratch: int
    allowed: float
    apart: tuple[str, ...] | None

    @property
    def equal(self) -> bool | None:
        """Whether results are equal, within what is allowed; None where none were computed."""
        return None if self.apart is None else not self.apart

    def __bool__(self) -> bool:
        """Whether everything that is executed agrees."""
        return bool(self.equal) and all(a == b for a, b in self.dynamic.values())

    def __str__(self) -> str:
        """One line for each count."""
        verdict = "does what is said" if self else "spills" if self.scratch else "differs"
        lines = [f"{self.kernel}: the binary {verdict}"]
        for title, counts in (("in the code", self.static), ("executed", self.dynamic)):
            for name, (listed_, counted) in counts.items():
                mark = "=" if listed_ == counted else "≠"
                more = ", a loop is written out" if title == "in the code" and self else ""
                more = more if listed_ != counted else ""
                lines.append(f"  {title:11} {name:17} {listed_:>13,} {mark} {counted:>13,}{more}")
        used, mode = self.registers
        lines.append(f"  registers   {used} of {mode}, {self.scratch} bytes of scratch")
        exact = "equal, byte for byte"
        within = f"equal, within {self.allowed:.2g} of the largest element"
        results = {None: "not computed", True: within if self.allowed else exact, False: "differ"}
        lines.append(f"  results     {results[self.equal]}")
        lines += [f"    {words}" for words in self.apart or ()]
        lines += [f"  run at      {words}" for words in self.runs]
        lines.append(f"  compiler    {self.compiler}")
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


def tolerance(kernel: Kernel) -> float:
    """Return how far results may be apart, as a share of the largest element; 0 for equal bytes.

    It is the sum of what the rows of ``atoms/native.toml`` allow for each function that is used.
    """
    used = {f for s in kernel.statements() for f in _used(s)}
    if any(isinstance(s, Reduce) for s in kernel.statements()):
        used.add("reduce")
    known = {cast("str", row["function"]): row for row in rows("native", "tolerance")}
    return sum(2.0 ** -cast("int", known[name]["bits"]) for name in used & known.keys())


def _used(statement: Statement) -> Iterator[str]:
    if isinstance(statement, Map):
        yield from _functions(statement.value)


def _functions(value: Expression) -> Iterator[str]:
    if isinstance(value, Apply):
        yield from _made_of(value.function)
    for part in parts(value):
        yield from _functions(part)


def _made_of(term: object) -> Iterator[str]:
    """The functions that one is made of, or itself."""
    made = FUNCTIONS[term].of if isinstance(term, str) and term in FUNCTIONS else None
    if isinstance(term, tuple):
        name, *arguments = cast("tuple[object, ...]", term)
        yield from _made_of(name)
        for argument in arguments:
            yield from _made_of(argument)
    elif made is not None:
        yield from _made_of(made)
    elif isinstance(term, str):
        yield term


# ------------------------------------------------------------ problems
# What is run: sizes and data.

DATA = ("random numbers", "edges of each type")


def _problems(
    kernel: Kernel, sizes: Mapping[str, int] | None
) -> Iterator[tuple[dict[str, int], str]]:
    """Yield sizes, each with the name of its data."""
    chosen = [dict(sizes)] if sizes is not None else edge_sizes(kernel)
    exact = not tolerance(kernel)
    for number, each in enumerate(chosen):
        yield each, DATA[0]
        # Infinities swallow what is wrong beside them, and no function has a bound there.
        if exact and number == 0:
            yield each, DATA[1]


def _operands(kernel: Kernel, sizes: Mapping[str, int], data: str) -> dict[str, Any]:
    rng, looked = np.random.default_rng(len(data)), looked_up(kernel)
    out: dict[str, Any] = {name: size for name, size in sizes.items() if name in kernel.sizes}
    for operand in kernel.inputs:
        shape, kind = tuple(mode.at(sizes) for mode in operand.modes), operand.value_type
        if operand.name in looked:
            out[operand.name] = np.zeros(shape, host_dtype(kind))
        elif data == DATA[1]:
            values = edges(kind)
            out[operand.name] = convert(values[rng.integers(0, values.size, shape)], kind)
        else:
            out[operand.name] = convert(_spread(rng, kind, shape), kind)
    return out


def _spread(rng: np.random.Generator, kind: Numeric, shape: tuple[int, ...]) -> NDArray[Any]:
    """Random numbers of the whole range of integers, and floats around 1 with all their bits."""
    if kind.kind == "float":
        return rng.standard_normal(shape)
    low, high = bounds(kind)
    return rng.integers(low, high + 1, shape)


@typed
def compare(
    kernel: Kernel,
    sizes: Mapping[str, int] | None = None,
    registers: int = 256,
    target: str | Target = "pvc",
    compiler: str = "",
) -> Comparison:
    """Return what is said of a kernel beside what its binary for a target does.

    Both run at ``sizes``, or at one below, at and above each tile with trips enough for every
    statement. A binary that spills is compared without being executed. Raises as `compile` and
    `run` do.
    """
    name = get_target(target).name
    binary = compile(kernel, name, registers, compiler)
    made_by = f"{binary.toolchain.name} for {name}"
    code = {**binary.messages, "dpas": binary.dpas}
    expected_counts = listed(kernel)
    static = {n: (expected_counts.get(n, 0), code.get(n, 0)) for n in {**expected_counts, **code}}
    needed, allowed = (check(kernel, name).registers, binary.registers), tolerance(kernel)
    common = (static, needed, allowed)
    if binary.scratch:
        return _judgement(kernel, made_by, common, binary.scratch, (), Counter(), Counter(), None)
    asked: dict[str, Any] = {"registers": registers, "target": name, "compiler": compiler}
    runs: list[str] = []
    apart: list[str] = []
    reported: Counter[str] = Counter()
    did: Counter[str] = Counter()
    refused: CuteError | None = None
    for each, data in _problems(kernel, sizes):
        try:
            given = _operands(kernel, each, data)
            expected, report = run_kernel(
                kernel, **given, executor="reference", target=name, report=True
            )
        except CuteError as error:  # sizes that the kernel does not take
            refused = error
            continue
        outputs, done = run(kernel, **given, **asked, report=True)
        runs.append(f"{_words(each)}: {data}")
        reported.update(_counted(report))
        did.update(_counted(done))
        apart += [f"{runs[-1]}: {w}" for w in _apart(kernel, expected, outputs, allowed)]
    if not runs and refused is not None:
        raise refused
    return _judgement(kernel, made_by, common, 0, tuple(runs), reported, did, tuple(apart))


def _judgement(
    kernel: Kernel,
    made_by: str,
    common: tuple[dict[str, tuple[int, int]], tuple[int, int], float],
    scratch: int,
    runs: tuple[str, ...],
    reported: Mapping[str, int],
    did: Mapping[str, int],
    apart: tuple[str, ...] | None,
) -> Comparison:
    static, needed, allowed = common
    dynamic = {name: (reported.get(name, 0), did.get(name, 0)) for name in {**reported, **did}}
    return Comparison(kernel.name, made_by, runs, static, dynamic, needed, scratch, allowed, apart)


def _words(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def _apart(kernel: Kernel, expected: Any, outputs: Any, allowed: float) -> Iterator[str]:
    """Say of each output where it is apart; NaNs are equal, and rounding may go either way."""
    pairs = zip(kernel.outputs, _outputs(expected), _outputs(outputs), strict=True)
    # The greater of a NaN and a number is NaN to NumPy, and the number to vISA's max.
    chosen = any(f in CHOOSING for s in kernel.statements() for f in _used(s))
    for operand, a, b in pairs:
        same = (a == b) | ((a != a) & ((b != b) | chosen))
        if not allowed:
            wrong = ~same
        else:
            wide, other = (np.asarray(x, np.float64) for x in (a, b))
            largest = np.abs(wide[np.isfinite(wide)]).max(initial=0.0)
            step = np.abs(wide) * 2.0 ** -(operand.value_type.row.significand or 53)
            wrong = ~same & ~(np.abs(wide - other) <= allowed * largest + 2 * step)
        if count := int(np.count_nonzero(wrong)):
            at = tuple(int(i[0]) for i in np.nonzero(wrong))
            place = f"{operand.name}[{', '.join(map(str, at))}]"
            yield f"{count} of {a.size} elements differ, {place} is {b[at]} instead of {a[at]}"


def _outputs(outputs: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", outputs if isinstance(outputs, tuple) else (outputs,))


def _counted(report: Report) -> dict[str, int]:
    """What is counted of a run; of shared memory bytes alone: its messages are cut otherwise."""
    kinds = ("load", "prefetch", "store")
    counts = {
        **{f"{kind} messages": report.messages.get(kind, 0) for kind in kinds},
        **{f"{kind} bytes": report.bytes.get(kind, 0) for kind in kinds},
    }
    more = ("atomic", "shared load", "shared store")
    counts |= {f"{kind} bytes": report.bytes[kind] for kind in more if kind in report.bytes}
    return counts | {"dpas": report.dpas, "barriers": report.barriers}
