"""Floor 9: a kernel as vISA text: messages, DPAS and register moves as the document spells them."""

from __future__ import annotations

from pycute_xe.arch.lsc import Address, Block2DMessage, DataType, Message as Channels
from pycute_xe.emitting.instructions import (
    Access,
    Addition,
    Alu,
    Fencing,
    Instruction,
    Message,
    Multiply,
)
from pycute_xe.emitting.lowering import LOWERED
from pycute_xe.emitting.masking import lane_numbers
from pycute_xe.emitting.operands import Condition
from pycute_xe.emitting.registers import PREDICATE, Declared, Registers
from pycute_xe.emitting.sharing import shared_room
from pycute_xe.emitting.writer import Says, Writer, demand_said
from pycute_xe.kernel import (
    AtomicStore,
    BarrierArrive,
    BarrierWait,
    Convert,
    Fence,
    Fill,
    If,
    Kernel,
    Load,
    Loop,
    Map,
    Meanings,
    Mma,
    Part,
    Prefetch,
    Reduce,
    Reorder,
    SharedLoad,
    SharedStore,
    Statement,
    Store,
)
from pycute_xe.kernel.index import Index

__all__ = ["VISA", "visa"]

PLACE, INSIDE, FLAG, BOUND = "xe_place", "xe_inside", "xe_flag", "xe_bound"
"""What indices come to: an address of each work-item, those inside, a condition, a number."""

VISA: Meanings[Says] = Meanings("emit")
"""How each kind of statement is said in vISA."""


class VisaWriter(Writer):
    """A body in vISA, and the registers that it names."""

    def __init__(self, kernel: Kernel) -> None:
        """Start with nothing written."""
        super().__init__(kernel, VISA, level=0)
        self.registers = Registers(kernel)


@VISA.of(Loop, If)
def _(writer: Writer, statement: Loop | If) -> None:
    writer.inside(statement.body)


@VISA.of(
    Fill, Prefetch, Load, Store, Reorder, Part, Convert, Map, Reduce, Mma, AtomicStore, SharedLoad,
    SharedStore, Fence, BarrierArrive, BarrierWait,
)  # fmt: skip
def _(writer: VisaWriter, statement: Statement) -> None:
    for instruction in LOWERED[statement](writer.kernel, writer.registers, statement):
        writer.put(_text(instruction))


def _text(instruction: Instruction) -> str:
    if isinstance(instruction, Message):
        return _message(instruction)
    if isinstance(instruction, Multiply):
        return str(instruction.message)
    if isinstance(instruction, Alu):
        return _alu(instruction)
    if isinstance(instruction, Access):
        return _access(instruction)
    if isinstance(instruction, Addition):
        return _addition(instruction)
    if isinstance(instruction, Fencing):
        return "lsc_fence.slm.none.group"
    return f"sbarrier.{instruction.half}"


def _alu(instruction: Alu) -> str:
    text, notes = instruction.text, ""
    for number, scalar in enumerate(instruction.scalars):
        if isinstance(scalar, Condition):
            notes += f"  // {FLAG} = {scalar.index} < {scalar.below}"
            scalar = FLAG
        elif isinstance(scalar, Index):
            notes += f"  // {BOUND} = {scalar}"
            scalar = BOUND
        text = text.replace(f"%{number}(", f"{scalar}(")
    return text + notes


def _access(access: Access) -> str:
    message = Channels(
        "store" if access.stores else "load",
        "slm",
        access.lanes,
        DataType(access.size),
        Address("flat", 32, PLACE),
        exec_mask="M1_NM",
        **{"src1" if access.stores else "dst": access.register},
    )
    return f"{message}  // {PLACE} = {access.at}"


def _addition(addition: Addition) -> str:
    message = Channels(
        f"atomic_{addition.operation}",
        "ugm",
        addition.lanes,
        DataType(addition.size),
        Address("flat", 64, PLACE),
        src1=addition.register,
        predicate=INSIDE,
        exec_mask="M1_NM",
    )
    name = addition.surface.operand
    return f"{message}  // of {name}: byte {addition.x}, row {addition.y}"


def _message(message: Message) -> str:
    name, block = message.surface.operand, message.block
    seen = Block2DMessage(
        block,
        dst=message.register if block.op == "load" else None,
        src1=message.register if block.op == "store" else None,
        surface=(name, f"{name}_width", f"{name}_height", f"{name}_pitch"),
        x="x",
        y="y",
        exec_mask="M1",
    )
    return f"{seen}  // x = {message.x}, y = {message.y}"


def visa(kernel: Kernel) -> str:
    """Return a kernel as vISA text; loops, indices and surfaces are said in comments."""
    demand_said(kernel, VISA)
    writer = VisaWriter(kernel)
    writer.body(kernel.body)
    head = [f"// {text}" for text in str(kernel).splitlines()]
    declared = [_declared(d) for d in writer.registers.declared]
    notes = (
        "// Width, height and pitch are less one, as the message takes them; x counts elements of "
        "the block, y rows."
    )
    offsets, room = shared_room(kernel)
    lanes = [_text(instruction) for instruction in lane_numbers(writer.registers)]
    shared = [f"// Shared memory of {room} bytes: {offsets}"] if room else []
    return "\n".join([*head, notes, *shared, *declared, *lanes, *writer.lines, ""])


def _declared(variable: Declared) -> str:
    name, kind, count = variable.name, variable.kind, variable.count
    if kind == PREDICATE:
        return f".decl {name} v_type=P num_elts={count}"
    alias = f" alias=<{variable.of}, {variable.at}>" if variable.of else ""
    return f".decl {name} v_type=G type={kind} num_elts={count} align=wordx32{alias}"
