"""A kernel beside what the compiler made of it: counts, bytes, registers, results.

Both run on sizes around each tile of the program, on numbers of the whole range of each type and on
its edges. Results must be equal byte for byte, but for functions that the compiler computes
otherwise than NumPy: `allowances` says how far apart outputs behind these may be, and why. Where
such a result is stored in a narrow type, its last rounding is judged by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pycute_xe.arch import Target, get_target
from pycute_xe.checking import check
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Statement
from pycute_xe.kernel.ir.effects import MemoryAccess
from pycute_xe.machine import Trace
from pycute_xe.naming.subjects import Named, kernel_of
from pycute_xe.native.allowing import allowances
from pycute_xe.native.compiler import compile, scratch_warning
from pycute_xe.native.differing import Difference
from pycute_xe.native.trying import Judge, Trial
from pycute_xe.signatures import typed, typed_fields

__all__ = ["NOT_COMPARED", "Comparison", "compare", "listed"]

NOT_COMPARED = (
    "registers in which values lie, and the order of instructions",
    "loads of arguments and of single elements, and their caching",
    "fences that order nothing here",
    "messages that touch nothing, but for their number and shape",
    "sizes, data and tables of places that were not run",
)
"""What a comparison says nothing of."""


@typed_fields
@dataclass(frozen=True)
class Comparison:
    """What is said of a kernel and what its binary does, by name: (said, found).

    ``compiler`` is the one that made it, with its version and the target; ``runs`` are the sizes
    and the data; ``static`` counts messages and DPAS in the listing and in the code, ``dynamic``
    those of all runs and of the executed binary with their bytes; ``registers`` are those that
    `check` counts and those of the mode; ``scratch`` is what a thread spills,
    ``loop_scratch`` the messages that a trip of a loop sends to or from it; ``equal`` whether
    results are within ``allowed`` of the largest element, None where a binary spills and is not
    executed; ``merged`` says which messages stand for several. ``differences`` are of the kinds of
    `KINDS`, each once. Truthy without any, once something was executed: a loop that the
    compiler wrote out has more messages in the code, and as many executed. `NOT_COMPARED` says
    what is left out.
    """

    kernel: str
    compiler: str
    runs: tuple[str, ...]
    static: dict[str, tuple[int, int]]
    dynamic: dict[str, tuple[int, int]]
    registers: tuple[int, int]
    scratch: int
    loop_scratch: int
    allowed: float
    equal: bool | None
    merged: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of differences, in the order of `KINDS`."""
        return tuple(dict.fromkeys(one.kind for one in self.differences))

    def __bool__(self) -> bool:
        """Whether everything that is executed agrees."""
        return bool(self.equal) and not self.differences

    def __str__(self) -> str:
        """One line for each count, and one for each kind of difference."""
        verdict = "does what is said" if self else "spills" if self.scratch else "differs"
        lines = [f"{scratch_warning(self.loop_scratch)}{self.kernel}: the binary {verdict}"]
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
        lines += [f"  merged      {words}" for words in self.merged]
        lines += [f"  {one}" for one in self.differences]
        lines += [f"  run at      {words}" for words in self.runs]
        lines.append(f"  compiler    {self.compiler}")
        return "\n".join(lines)


def listed(kernel: Kernel) -> dict[str, int]:
    """Return messages and DPAS of a kernel as they stand in its listing.

    Raises `KernelError` for a statement that moves what is in memory by messages of another kind.
    """
    out: dict[str, int] = dict.fromkeys(("load", "prefetch", "store", "dpas"), 0)
    for statement in kernel.statements():
        memory, product = statement.touched.memory, statement.touched.product
        if memory is not None:
            kind, count = _messages(memory)
            out[kind] = out.get(kind, 0) + count
        if product is not None:
            reps_m, reps_k = product.mma.repetitions("A")
            out["dpas"] += reps_m * reps_k * product.mma.repetitions("B")[0]
        _demand_counted(kernel, statement)
    return out


def _demand_counted(kernel: Kernel, statement: Statement) -> None:
    """Refuse a statement that names a tensor and does not declare what it sends."""
    touched = statement.touched
    moved = {*touched.from_memory, *touched.to_memory, *touched.prefetched}
    declared = touched.memory is not None or touched.counter is not None
    if not declared and any(kernel.operand(name).modes for name in moved):
        raise KernelError(
            "compare",
            {"statement": type(statement).__name__},
            "how many messages it sends is not known",
            "declare them in `touched`, as a MemoryAccess",
        )


def _messages(memory: MemoryAccess) -> tuple[str, int]:
    """Return what the messages of a tiled copy are called, and how many a subgroup sends."""
    if memory.adds:  # a message adds one register of 16 elements at most
        block = memory.copy.block
        return "atomic", memory.copy.messages * -(-block.width * block.height // 16)
    kind = "load" if memory.loads else "store" if memory.stores else "prefetch"
    return kind, memory.copy.messages


@typed
def compare(
    kernel: Kernel | Named,
    sizes: Mapping[str, int] | None = None,
    registers: int = 256,
    target: str | Target = "pvc",
    compiler: str = "",
) -> Comparison:
    """Return what is said of a kernel beside what its binary for a target does.

    Both run at ``sizes``, or at one below, at and above each tile with trips enough for every
    statement. A binary that spills is compared without being executed. Raises as `compile` and
    `run` do; what the machine refuses of a binary is a difference.
    """
    machine = get_target(target)
    kernel = kernel_of("compare", kernel)
    binary = compile(kernel, machine.name, registers, compiler)
    judge = Judge(kernel, binary, machine, allowances(kernel))
    trials = [] if binary.scratch else [*judge.trials(sizes)]
    code, lists = {**binary.messages, "dpas": binary.dpas}, listed(kernel)
    one, other = (
        (
            _counted(traces)
            for traces in zip(*((t.expected, t.executed) for t in trials), strict=True)
        )
        if trials
        else ({}, {})
    )
    return Comparison(
        kernel=kernel.name,
        compiler=f"{binary.toolchain.name} for {machine.name}",
        runs=tuple(t.words for t in trials),
        static={n: (lists.get(n, 0), code.get(n, 0)) for n in {**lists, **code}},
        dynamic={n: (one.get(n, 0), other.get(n, 0)) for n in {**one, **other}},
        registers=(check(kernel, machine.name).registers, binary.registers),
        scratch=binary.scratch,
        loop_scratch=binary.loop_scratch,
        allowed=max(judge.allowed.values(), default=0.0),
        equal=all(t.ended and not t.wrong for t in trials) if _anything(trials) else None,
        merged=tuple(dict.fromkeys(words for t in trials for words in t.merged)),
        differences=judge.differences(trials),
    )


def _anything(trials: list[Trial]) -> bool:
    """Whether any trial did something."""
    return any(t.expected.events for t in trials)


def _counted(traces: Iterable[Trace]) -> dict[str, int]:
    """What is counted of runs; of shared memory bytes alone: its messages are cut otherwise."""
    messages, nbytes = Counter[str](), Counter[str]()
    dpas = barriers = 0
    for trace in traces:
        messages, nbytes = messages + trace.messages, nbytes + trace.nbytes
        dpas, barriers = dpas + trace.dpas, barriers + trace.barriers
    kinds = ("load", "prefetch", "store")
    counts = {
        **{f"{kind} messages": messages[kind] for kind in kinds},
        **{f"{kind} bytes": nbytes[kind] for kind in kinds},
    }
    more = ("atomic", "shared load", "shared store")
    counts |= {f"{kind} bytes": nbytes[kind] for kind in more if nbytes[kind]}
    return counts | {"dpas": dpas, "barriers": barriers}
