"""A kernel beside what the compiler made of it: counts, bytes, registers, results."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target, get_target
from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.dpas.message import element_bytes
from pycute_xe.arch.dpas.types import precisions, register_types
from pycute_xe.checking import check
from pycute_xe.converting import convert
from pycute_xe.emitting.opencl import parameters
from pycute_xe.errors import MachineError
from pycute_xe.executing.problem import Problem, Report, prepare
from pycute_xe.executing.runner import outputs_of, run as run_kernel
from pycute_xe.executing.surfaces import Placed, fetch, place, place_poison
from pycute_xe.kernel import AtomicStore, Kernel, Load, Mma, Prefetch, Store
from pycute_xe.machine import (
    BarrierArrive,
    BarrierWait,
    Memory,
    Progress,
    RegisterFile,
    Trace,
    dpas,
    workgroup,
)
from pycute_xe.machine.slm import FencedSlm
from pycute_xe.machine.workgroup import Meeting
from pycute_xe.native.arithmetic import arithmetic
from pycute_xe.native.assembly import Assembly, Immediate, Instruction, Reg
from pycute_xe.native.compiler import Binary, compile
from pycute_xe.native.messages import END, Around, send
from pycute_xe.native.operands import GRF, REGISTERS, State, refuse
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed, typed_fields

__all__ = ["Comparison", "compare", "listed", "execute", "run", "program", "thread"]

# ------------------------------------------------------------ thread
# Machine code as steps on a hardware thread, and a thread that takes them.

Step = Callable[[State, Around], "Meeting | int | None"]
# What a kernel sets at its start: denormals are kept in all widths, rounding is to nearest even.
_CONTROL = 0x4C0


@dataclass(frozen=True)
class Steps:
    """A program: a step for each instruction; a step returns where to go on, None for the next."""

    steps: tuple[Step, ...]


def program(assembly: Assembly) -> Steps:
    """Return the steps of machine code.

    Raises `MachineError` naming the first instruction that is not executed here: divergent control
    flow, registers that are not modelled, unknown messages.
    """
    return Steps(tuple(_step(i, assembly) for i in assembly.instructions))


def thread(steps: Steps, state: State, around: Around, limit: int) -> Iterator[Meeting]:
    """Take steps until the thread ends, yielding where it meets the others.

    Raises `MachineError` past the last instruction and after ``limit`` steps.
    """
    at, taken, code = 0, 0, steps.steps
    while 0 <= at < len(code):
        taken += 1
        if taken > limit:
            raise MachineError(
                "native.run", {"steps": taken}, "the thread does not end", "raise the limit"
            )
        step = code[at](state, around)
        at += 1
        if step is None:
            continue
        if isinstance(step, int):
            if step == END:
                around.own.instruction(str(taken))
                return
            at = step
        else:
            yield step
            if around.slm is not None and isinstance(step, BarrierArrive):
                around.slm.arrived(state.progress)
    raise MachineError("native.run", {"at": at}, "the thread runs past its last instruction", "")


def _step(instruction: Instruction, assembly: Assembly) -> Step:
    if instruction.predicate not in ("", "+", "-"):
        raise refuse(instruction, f"the predicate .{instruction.predicate} is not modelled")
    if instruction.op == "send":
        return send(instruction)
    if instruction.op == "dpas":
        return _dpas(instruction)
    if instruction.op == "jmpi":
        return _jump(instruction, assembly)
    if instruction.op == "goto":
        return _go(instruction, assembly)
    if instruction.op == "join":  # all lanes are on wherever they are let go on
        return lambda _state, _around: None
    if instruction.op == "sync":
        return _sync(instruction)
    if instruction.op in ("or", "and", "xor") and _is_control(instruction):
        return lambda _state, _around: None
    step = arithmetic(instruction)
    return lambda state, _around: step(state)


def _is_control(instruction: Instruction) -> bool:
    """Whether an instruction sets up the control register as every kernel does."""
    to = instruction.to
    if to is None or to.file != "cr":
        return False
    value = instruction.sources[1]
    if instruction.op != "or" or not isinstance(value, Immediate) or int(value.text, 0) != _CONTROL:
        raise refuse(instruction, "rounding modes other than to nearest even are not modelled")
    return True


def _jump(instruction: Instruction, assembly: Assembly) -> Step:
    target = assembly.labels.get(instruction.target)
    if target is None:
        raise refuse(instruction, "the jump has no label")
    if not instruction.predicate:
        return lambda _state, _around: target
    bit, inverted = 16 * instruction.flag, instruction.predicate == "-"
    return lambda state, _around: target if state.flags[bit] ^ inverted else None


def _go(instruction: Instruction, assembly: Assembly) -> Step:
    """A jump of lanes, of all or none of them."""
    target = assembly.labels.get(instruction.target)
    if target is None or instruction.size != 16 or not instruction.predicate:
        raise refuse(instruction, "a goto without a label, a predicate or 16 lanes is not modelled")
    first, inverted = 16 * instruction.flag, instruction.predicate == "-"

    def go(state: State, _around: Around) -> int | None:
        lanes = state.flags[first : first + 16] ^ inverted
        if lanes.any() != lanes.all():
            raise refuse(instruction, "lanes that go different ways are not modelled")
        return target if lanes.all() else None

    return go


def _sync(instruction: Instruction) -> Step:
    if instruction.sub == "bar":
        return _wait(instruction)
    if instruction.sub not in ("nop", "allrd", "allwr"):
        raise refuse(instruction, f"sync.{instruction.sub} is not modelled")
    # Registers are written at once here, so that there is nothing to wait for.
    return lambda _state, _around: None


def _wait(instruction: Instruction) -> Step:
    """A wait at the barrier of the work-group, or at a named one that the thread arrived at."""
    number, label = barrier_number(instruction), str(instruction)

    def wait(state: State, _around: Around) -> Meeting:
        state.progress.label = label
        named = state.barriers.get(number)
        if number and named is None:
            raise refuse(instruction, f"the thread waits at barrier {number} without arriving")
        return BarrierWait(named, label)

    return wait


def barrier_number(instruction: Instruction) -> int:
    """Return the number of the barrier that an instruction waits at; `MachineError` if unknown."""
    for source in instruction.sources:
        if isinstance(source, Immediate):
            return int(source.text, 0)
        if source.file != "null":
            raise refuse(instruction, "the number of a barrier in a register is not modelled")
    return 0


def _dpas(instruction: Instruction) -> Step:
    depth, _, repeat = instruction.sub.partition("x")
    to, c, b, a = (cast("Reg", o) for o in (instruction.to, *instruction.sources))
    types = {spelled: name for name, spelled in register_types().items()}
    narrow = {spelled: name for name, spelled in precisions("assembly").items()}
    try:
        op = Dpas(int(repeat), types[to.kind], narrow[a.kind], narrow[b.kind], types[c.kind])  # pyright: ignore[reportArgumentType]
    except KeyError as error:
        raise refuse(instruction, f"dpas with elements of type {error} is not modelled") from error
    if op.depth != int(depth):
        raise refuse(instruction, f"the depth must be {op.depth}")
    at = [_byte(r) for r in (to, c, b, a)]
    accumulator = None if c.file == "null" else at[1]

    def multiply(state: State, around: Around) -> None:
        dpas.execute(state.registers, op, at[0], accumulator, at[2], at[3], around.trace)

    return multiply


def _byte(register: Reg) -> int:
    return register.number * GRF + register.element * element_bytes(register.kind)


# ------------------------------------------------------------ running
# `run` of compiled kernels: the binary on the machine, work-group by work-group.

MOST_STEPS = 1_000_000
"""Instructions of one thread after which it is taken for endless."""


@typed
def run(
    kernel: Kernel,
    *operands: Any,
    target: str | Target = "pvc",
    registers: int = 256,
    dtype: Numeric | str | None = None,
    report: bool = False,
    progress: Callable[[float], None] | None = None,
    **named: Any,
) -> Any:
    """Compile a kernel, execute the binary on the library's machine, and return its output.

    Operands, ``dtype``, ``report`` and the result are those of ``run``; so are the numbers: every
    instruction is executed as the documents describe it. Raises `ToolError` without the compiler,
    `MachineError` for a binary that spills and for instructions that are not executed here.
    """
    asked = None if dtype is None else as_numeric(dtype)
    problem = prepare(kernel, operands, named, asked)
    machine = get_target(target)
    start, trace = perf_counter(), Trace()
    if problem.empty:
        outputs = outputs_of(problem, machine, trace, "fast")
    else:
        outputs = execute(compile(kernel, machine.name, registers), problem, trace, progress)
    arrays: list[Any] = [outputs[o.name] for o in kernel.outputs]
    out = arrays[0]
    if len(arrays) > 1:
        names = [operand.name for operand in kernel.outputs]
        made: Any = namedtuple("Outputs", names, rename=True)  # pyright: ignore[reportUntypedNamedTuple]
        out = made(*arrays)
    if not report:
        return out
    seconds = perf_counter() - start
    return out, Report(
        executor="compiled",
        sizes=problem.sizes,
        messages=dict(trace.messages),
        bytes=dict(trace.nbytes),
        dpas=trace.dpas,
        barriers=trace.barriers,
        copies=(),
        seconds=seconds,
    )


def execute(
    binary: Binary,
    problem: Problem,
    trace: Trace,
    progress: Callable[[float], None] | None = None,
    own: Trace | None = None,
) -> dict[str, NDArray[Any]]:
    """Run every work-group of a binary and return the outputs by name.

    ``trace`` counts what a run counts; ``own`` what the binary does besides: one instruction
    for each thread's end, and the loads of arguments.
    """
    kernel, info = problem.kernel, binary.info
    _demand_modelled(binary)
    memory, target = Memory(), get_target(binary.target)
    placed = {
        o.name: place(memory, o, problem.inputs[o.name], target)
        if o.role in ("in", "inout")  # closed: only inputs have values before
        else place_poison(memory, o, problem.shape(o.name), target)
        for o in kernel.operands
        if o.modes
    }
    payload = memory.place(_payload(binary, problem, placed))
    steps = program(binary.assembly)
    counts = [count.at(problem.sizes, _looked_up(problem)) for _, count in kernel.grid]
    mine = own if own is not None else Trace()
    groups = list(product(*map(range, counts)))
    for done, group in enumerate(groups, 1):
        shared = FencedSlm(info.slm) if info.slm else None
        around = Around(memory, shared, trace, mine)
        _run_group(steps, kernel, payload, _launched(group, counts), around)
        if progress is not None:
            progress(done / len(groups))
    return {o.name: fetch(memory, placed[o.name]) for o in kernel.outputs}


def _demand_modelled(binary: Binary) -> None:
    """Refuse a binary that needs what is not modelled."""
    info, given, condition = binary.info, dict[str, object](), ""
    syncs = [i for i in binary.assembly.instructions if i.op == "sync" and i.sub == "bar"]
    if info.scratch:
        given = {"registers": info.registers, "scratch": info.scratch}
        condition = "the binary spills to scratch memory, which is not modelled"
        fix = "use a smaller tile, more subgroups or the mode of 256 registers"
    elif info.lanes != 16 or info.per_thread:
        given = {"lanes": info.lanes, "payload": ", ".join(info.per_thread)}
        condition = "only threads of 16 lanes without a payload of their own are modelled"
        fix = "emit the kernel by emit()"
    elif any(map(barrier_number, syncs)):
        given = {"barriers": info.barriers}
        condition = "the binary waits at named barriers, of which the compiler reserves too few"
        fix = "use the barrier of the work-group"
    else:
        return
    raise MachineError("native.run", given, condition, fix)


def _looked_up(problem: Problem) -> Callable[[str, tuple[int, ...]], int]:
    return lambda name, at: int(problem.inputs[name][at])


def _launched(group: tuple[int, ...], counts: list[int]) -> tuple[int, int, int]:
    """Return the place of a work-group in a launch, whose third axis all others share."""
    last = 0
    for axis in reversed(range(2, len(group))):
        last = last * counts[axis] + group[axis]
    x, y = (*group, 0)[:2]
    return x, y, last


def _run_group(
    steps: Steps,
    kernel: Kernel,
    payload: int,
    group: tuple[int, ...],
    around: Around,
) -> None:
    threads: list[Iterator[Meeting]] = []
    watched = [Progress(i, kernel.subgroups) for i in range(kernel.subgroups)]
    for mine in watched:
        state = State(RegisterFile(REGISTERS * GRF, GRF), progress=mine)
        header = _header(mine.index, kernel.subgroups, payload, group)
        state.registers.write(0, header, "launch")
        threads.append(thread(steps, state, around, MOST_STEPS))
    # Infinities and NaNs are results like any other; hardware gives no warning.
    with np.errstate(all="ignore"):
        workgroup.run(threads, watched, trace=around.trace)


def _header(subgroup: int, count: int, payload: int, group: tuple[int, ...]) -> NDArray[np.uint8]:
    """The first register of a thread: where its arguments lie, its group, its number.

    Document: Bspec, "R0 header" of GPGPU threads; intel-graphics-compiler, how r0 is read.
    """
    header = np.zeros(16, np.uint32)
    header[0], header[1], header[6], header[7] = payload, *group
    header[2] = subgroup | count << 24
    return header.view(np.uint8)


def _payload(binary: Binary, problem: Problem, placed: Mapping[str, Placed]) -> NDArray[np.uint8]:
    """The arguments of a kernel as the compiler wants them to lie, padded to whole loads."""
    values = [_value(name, problem, placed) for _, name in parameters(problem.kernel)]
    room = max((a.offset + a.size for a in binary.info.arguments), default=0)
    out = np.zeros(-(-room // GRF) * GRF + 2 * GRF, np.uint8)
    groups = problem.kernel.subgroups * 16
    launch = {"local_size": (groups, 1, 1), "enqueued_local_size": (groups, 1, 1)}
    for argument in binary.info.arguments:
        if argument.kind in ("arg_bypointer", "arg_byvalue"):
            data = values[argument.index][: argument.size]
        elif argument.kind in ("global_id_offset", "local_size", "enqueued_local_size"):
            numbers = launch.get(argument.kind, (0, 0, 0))
            data = np.array(numbers, np.uint32).view(np.uint8)
        elif argument.size == 0 or argument.kind == "stateful":
            continue
        elif argument.kind == "private_base_stateless" and not binary.info.private:
            continue  # the place of memory that no thread has
        else:
            raise MachineError(
                "native.run",
                {"argument": argument.kind},
                "the launch is not modelled to give this",
                "emit the kernel by emit()",
            )
        out[argument.offset : argument.offset + data.size] = data
    return out


def _value(name: str, problem: Problem, placed: Mapping[str, Placed]) -> NDArray[np.uint8]:
    """The bytes of a parameter."""
    if name in placed:
        return np.array([placed[name].base], np.uint64).view(np.uint8)
    if name in problem.inputs:
        whole = problem.inputs[name].dtype.kind in "iu"
        kind = np.int32 if whole else np.float32
        return np.atleast_1d(problem.inputs[name]).astype(kind).view(np.uint8)
    if name in problem.sizes:
        return np.array([problem.sizes[name]], np.int32).view(np.uint8)
    operand, _, what = name.rpartition("_")
    array = placed[operand]
    if what == "width":
        number = array.width
    else:
        rest = [m for m in range(len(array.shape)) if m != array.operand.contiguous]
        number = array.pitches[int(what[5:]) if what != "pitch" else rest[0]]
    return np.array([number], np.int64).view(np.uint8)


# ------------------------------------------------------------ comparing


@typed_fields
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
        outcome = "does what is said" if self else "spills" if self.scratch else "differs"
        lines = [f"{self.kernel}: the binary {outcome}"]
        for title, counts in (("in the code", self.static), ("executed", self.dynamic)):
            for name, (claimed, actual) in counts.items():
                mark = "=" if claimed == actual else "≠"
                lines.append(f"  {title:11} {name:17} {claimed:>13,} {mark} {actual:>13,}")
        claimed, mode = self.registers
        lines.append(f"  registers   {claimed} of {mode}, {self.scratch} bytes of scratch")
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
    in_listing = listed(kernel)
    static = {n: (in_listing.get(n, 0), code.get(n, 0)) for n in {**in_listing, **code}}
    needed = (check(kernel, "pvc").registers, binary.registers)
    if binary.scratch:
        return Comparison(kernel.name, static, {}, needed, binary.scratch, None)
    given = _operands(kernel, sizes or _sizes(kernel))
    expected, report = run_kernel(kernel, **given, executor="reference", target="pvc", report=True)
    result, done = run(kernel, **given, registers=registers, report=True)
    counted, did = _counted(report), _counted(done)
    dynamic = {name: (counted.get(name, 0), did.get(name, 0)) for name in {**counted, **did}}
    return Comparison(kernel.name, static, dynamic, needed, 0, _bytes(expected) == _bytes(result))


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
    counts = {
        **{f"{kind} messages": report.messages.get(kind, 0) for kind in kinds},
        **{f"{kind} bytes": report.bytes.get(kind, 0) for kind in kinds},
    }
    more = ("atomic", "shared load", "shared store")
    counts |= {f"{kind} bytes": report.bytes[kind] for kind in more if kind in report.bytes}
    return counts | {"dpas": report.dpas, "barriers": report.barriers}


def _bytes(outputs: Any) -> bytes:
    parts = cast("tuple[Any, ...]", outputs if isinstance(outputs, tuple) else (outputs,))
    return b"".join(part.tobytes() for part in parts)
