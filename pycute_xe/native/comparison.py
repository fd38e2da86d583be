"""Compiled kernels executed: threads, launches, and `run` of a binary."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target, get_target
from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.dpas.message import element_bytes
from pycute_xe.arch.dpas.types import precisions, register_types
from pycute_xe.clock import stopwatch
from pycute_xe.emitting.opencl import parameters
from pycute_xe.errors import MachineError
from pycute_xe.executing.problem import Problem, Report, prepare
from pycute_xe.executing.runner import outputs_of
from pycute_xe.executing.surfaces import Placed, fetch, place, place_poison
from pycute_xe.facts import rows_for
from pycute_xe.kernel import Kernel
from pycute_xe.machine import (
    BarrierArrive as Arrive,
    BarrierWait as Wait,
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
from pycute_xe.signatures import typed

__all__ = ["Launch", "dpas_of", "execute", "operands_in", "program", "run", "run_group", "thread"]

# ------------------------------------------------------------ thread
# Machine code as steps on a hardware thread, and a thread that takes them.

Step = Callable[[State, Around], "Meeting | int | None"]


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
        outcome = code[at](state, around)
        at += 1
        if outcome is None:
            continue
        if isinstance(outcome, int):
            if outcome == END:
                around.own.instruction(str(taken))
                return
            at = outcome
        else:
            yield outcome
            if around.slm is not None and isinstance(outcome, Arrive):
                around.slm.arrived(state.progress)
    raise MachineError("native.run", {"at": at}, "the thread runs past its last instruction", "")


def _step(instruction: Instruction, assembly: Assembly) -> Step:
    if instruction.predicate not in ("", "+", "-"):
        raise refuse(instruction, f"the predicate .{instruction.predicate} is not modelled")
    if instruction.op == "send":
        return send(instruction, assembly.target)
    if instruction.op == "dpas":
        return _dpas(instruction)
    if instruction.op == "jmpi":
        return _jump(instruction, assembly)
    if instruction.op == "goto":
        return _go(instruction, assembly)
    if instruction.op in ("join", "nop") or _only_waits(instruction):
        return lambda _state, _around: None  # all lanes are on wherever they are let go on
    if instruction.op == "sync":
        return _sync(instruction)
    if instruction.op in ("or", "and", "xor") and _is_control(instruction, assembly.target):
        return lambda _state, _around: None
    step = arithmetic(instruction)
    return lambda state, _around: step(state)


def _only_waits(instruction: Instruction) -> bool:
    """Whether an instruction is there for its dependences alone: a move to nowhere."""
    to = instruction.to
    nowhere = instruction.op == "mov" and to is not None and to.file == "null"
    return nowhere and not instruction.condition


def _is_control(instruction: Instruction, target: str) -> bool:
    """Whether an instruction sets up the control register as every kernel does."""
    to = instruction.to
    if to is None or to.file != "cr":
        return False
    value = instruction.sources[1]
    # What a kernel sets at its start: denormals are kept, rounding is to nearest even.
    usual = sum(cast("int", row["bits"]) for row in rows_for("native", "control", target))
    if instruction.op != "or" or not isinstance(value, Immediate) or int(value.text, 0) != usual:
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
    """A jump of lanes, of all or none of them; of all where nothing is asked."""
    target = assembly.labels.get(instruction.target)
    if target is None or instruction.size != 16:
        raise refuse(instruction, "a goto without a label or 16 lanes is not modelled")
    if not instruction.predicate:
        return lambda _state, _around: target
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
        return Wait(named, label)

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
    op, to, accumulator, b, a = dpas_of(instruction)

    def multiply(state: State, around: Around) -> None:
        dpas.execute(state.registers, op, to, accumulator, b, a, around.trace)

    return multiply


def dpas_of(instruction: Instruction) -> tuple[Dpas, int, int | None, int, int]:
    """Return a DPAS and the first bytes of D, C (None for zero), B and A in the registers."""
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
    return op, _byte(to), None if c.file == "null" else _byte(c), _byte(b), _byte(a)


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
    compiler: str = "",
    **named: Any,
) -> Any:
    """Compile a kernel, execute the binary on the library's machine, and return its output.

    Operands, ``dtype``, ``report`` and the result are those of ``run``; so are the numbers: every
    instruction is executed as the documents describe it. ``target``, ``registers`` and ``compiler``
    are those of `compile`; a report names target and version. Raises `ToolError` without the
    compiler, `MachineError` for a binary that spills and for instructions that are not executed
    here.
    """
    asked = None if dtype is None else as_numeric(dtype)
    problem = prepare(kernel, operands, named, asked)
    machine = get_target(target)
    elapsed, trace, executor = stopwatch(), Trace(), "compiled"
    if problem.empty:
        outputs = outputs_of(problem, machine, trace, "fast")
    else:
        binary = compile(kernel, machine.name, registers, compiler)
        executor = f"compiled (ocloc {binary.toolchain.version}, {machine.name})"
        outputs = execute(binary, problem, trace, progress)
    arrays: list[Any] = [outputs[o.name] for o in kernel.outputs]
    out = arrays[0]
    if len(arrays) > 1:
        names = [operand.name for operand in kernel.outputs]
        made: Any = namedtuple("Outputs", names, rename=True)  # pyright: ignore[reportUntypedNamedTuple]
        out = made(*arrays)
    if not report:
        return out
    seconds = elapsed()
    return out, Report(
        executor=executor,
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
    launch = Launch(binary, problem)
    mine = own if own is not None else Trace()
    for done, group in enumerate(launch.groups, 1):
        around = Around(launch.memory, launch.shared(), trace, mine)
        run_group(launch, launch.steps, group, around)
        if progress is not None:
            progress(done / len(launch.groups))
    return launch.outputs()


class Launch:
    """A binary with the operands of a problem in memory: what its work-groups start from.

    ``groups`` are their places in the launch. Raises `MachineError` as `program` does, and for a
    binary that needs what is not modelled.
    """

    def __init__(self, binary: Binary, problem: Problem) -> None:
        """Place operands and arguments."""
        _demand_modelled(binary)
        kernel, self.problem, self.info = problem.kernel, problem, binary.info
        self.memory = Memory()
        self.placed = operands_in(self.memory, problem, get_target(binary.target))
        given = _payload(binary, problem, self.placed)
        self.first, inline = given[: self.info.inline], self.info.inline
        self.payload = self.memory.place(given[inline:])
        self.steps = program(binary.assembly)
        self.counts = [count.at(problem.sizes, _looked_up(problem)) for _, count in kernel.grid]
        self.groups = list(product(*map(range, self.counts)))

    def shared(self) -> FencedSlm | None:
        """Return the shared memory of a work-group, None without one."""
        return FencedSlm(self.info.slm) if self.info.slm else None

    def states(self, group: tuple[int, ...]) -> list[State]:
        """Return the threads of a work-group as they start."""
        count, place = self.problem.kernel.subgroups, _launched(group, self.counts)
        out: list[State] = []
        for index in range(count):
            state = State(RegisterFile(REGISTERS * GRF, GRF), progress=Progress(index, count))
            header = _header(index, count, self.payload, place)
            state.registers.write(0, header, "launch")
            if self.first.size:
                state.registers.write(GRF, self.first, "launch")
            out.append(state)
        return out

    def outputs(self) -> dict[str, NDArray[Any]]:
        """Return the outputs by name, as they are in memory."""
        return {
            o.name: fetch(self.memory, self.placed[o.name]) for o in self.problem.kernel.outputs
        }


def operands_in(memory: Memory, problem: Problem, target: Target) -> dict[str, Placed]:
    """Place the operands of a problem; in a memory of its own, always at the same addresses."""
    out: dict[str, Placed] = {}
    for o in (one for one in problem.kernel.operands if one.modes):
        if o.role in ("in", "inout"):  # closed: only inputs are given
            out[o.name] = place(memory, o, problem.inputs[o.name], target)
        elif o.is_counter:
            out[o.name] = place(memory, o, problem.blank(o.name), target)
        else:
            out[o.name] = place_poison(memory, o, problem.shape(o.name), target)
    return out


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


def run_group(launch: Launch, steps: Steps, group: tuple[int, ...], around: Around) -> None:
    """Run the threads of a work-group."""
    states = launch.states(group)
    threads = [thread(steps, state, around, MOST_STEPS) for state in states]
    # Infinities and NaNs are results like any other; hardware gives no warning.
    with np.errstate(all="ignore"):
        workgroup.run(threads, [state.progress for state in states], trace=around.trace)


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
    surface = placed[operand]
    if what == "width":
        number = surface.width
    else:
        rest = [m for m in range(len(surface.shape)) if m != surface.operand.contiguous]
        number = surface.pitches[int(what[5:]) if what != "pitch" else rest[0]]
    return np.array([number], np.int64).view(np.uint8)
