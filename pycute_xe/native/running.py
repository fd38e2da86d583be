"""Floor 11: `run` of compiled kernels: the binary on the machine, work-group by work-group."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target, get_target
from pycute_xe.emitting.opencl import parameters
from pycute_xe.errors import MachineError
from pycute_xe.executing.problem import Problem, prepare
from pycute_xe.executing.report import Report
from pycute_xe.executing.runner import outputs_of
from pycute_xe.executing.surfaces import Placed, fetch, place, place_poison
from pycute_xe.kernel import Kernel
from pycute_xe.machine import Memory, Progress, RegisterFile, Trace, workgroup
from pycute_xe.machine.fenced import FencedSlm
from pycute_xe.machine.workgroup import Meeting
from pycute_xe.native.compiling import Binary, compile
from pycute_xe.native.operands import REGISTERS, State
from pycute_xe.native.sending import Around
from pycute_xe.native.thread import Steps, barrier_number, program, thread
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed

__all__ = ["execute", "run"]

GRF = 64
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
    found: list[Any] = [outputs[o.name] for o in kernel.outputs]
    out = found[0]
    if len(found) > 1:
        names = [operand.name for operand in kernel.outputs]
        made: Any = namedtuple("Outputs", names, rename=True)  # pyright: ignore[reportUntypedNamedTuple]
        out = made(*found)
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
    if info.scratch:
        raise MachineError(
            "native.run",
            {"registers": info.registers, "scratch": info.scratch},
            "the binary spills to scratch memory, which is not modelled",
            "use a smaller tile, more subgroups or the mode of 256 registers",
        )
    if info.lanes != 16 or info.per_thread:
        raise MachineError(
            "native.run",
            {"lanes": info.lanes, "payload": ", ".join(info.per_thread)},
            "only threads of 16 lanes without a payload of their own are modelled",
            "emit the kernel by emit()",
        )
    if any(
        i.op == "sync" and i.sub == "bar" and barrier_number(i)
        for i in binary.assembly.instructions
    ):
        raise MachineError(
            "native.run",
            {"barriers": info.barriers},
            "the binary waits at named barriers, of which the compiler reserves too few",
            "use the barrier of the work-group",
        )
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
    found = placed[operand]
    if what == "width":
        number = found.width
    else:
        rest = [m for m in range(len(found.shape)) if m != found.operand.contiguous]
        number = found.pitches[int(what[5:]) if what != "pitch" else rest[0]]
    return np.array([number], np.int64).view(np.uint8)
