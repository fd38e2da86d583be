"""Floor 11: machine code as steps on a hardware thread, and a thread that takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.dpas.printing import element_bytes
from pycute_xe.arch.dpas.types import precisions, register_types
from pycute_xe.errors import MachineError
from pycute_xe.machine import BarrierArrive, BarrierWait, dpas
from pycute_xe.machine.workgroup import Meeting
from pycute_xe.native.arithmetic import arithmetic
from pycute_xe.native.assembly import Assembly, Immediate, Instruction, Reg
from pycute_xe.native.operands import State, refuse
from pycute_xe.native.sending import END, Around, send

__all__ = ["Steps", "barrier_number", "program", "thread"]

GRF = 64
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
        found = code[at](state, around)
        at += 1
        if found is None:
            continue
        if isinstance(found, int):
            if found == END:
                around.own.instruction(str(taken))
                return
            at = found
        else:
            yield found
            if around.slm is not None and isinstance(found, BarrierArrive):
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
