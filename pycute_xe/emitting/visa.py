"""Floor 9: a kernel as vISA text: messages, DPAS and register moves as the document spells them."""

from __future__ import annotations

from pycute_xe.arch.lsc import Block2DMessage
from pycute_xe.emitting.instructions import Alu, Instruction, Message, Multiply
from pycute_xe.emitting.lowering import LOWERED
from pycute_xe.emitting.registers import Registers
from pycute_xe.emitting.writer import Says, Writer, demand_said
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Convert,
    Fill,
    If,
    Kernel,
    Load,
    Loop,
    Map,
    Meanings,
    Mma,
    Prefetch,
    Reorder,
    Statement,
    Store,
)

__all__ = ["VISA", "visa"]

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


@VISA.of(Fill, Prefetch, Load, Store, Reorder, Convert, Map, Mma, BarrierArrive, BarrierWait)
def _(writer: VisaWriter, statement: Statement) -> None:
    for instruction in LOWERED[statement](writer.kernel, writer.registers, statement):
        writer.put(_text(instruction))


def _text(instruction: Instruction) -> str:
    if isinstance(instruction, Message):
        return _message(instruction)
    if isinstance(instruction, Multiply):
        return str(instruction.message)
    if isinstance(instruction, Alu):
        text = instruction.text
        for number, scalar in enumerate(instruction.scalars):
            text = text.replace(f"%{number}(", f"{scalar}(")
        return text
    return f"sbarrier.{instruction.half}"


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
    declared = [
        f".decl {d.name} v_type=G type={d.kind} num_elts={d.count} align=wordx32"
        + (f" alias=<{d.of}, {d.at}>" if d.of else "")
        for d in writer.registers.declared
    ]
    notes = (
        "// Width, height and pitch are less one, as the message takes them; x counts elements of "
        "the block, y rows."
    )
    return "\n".join([*head, notes, *declared, *writer.lines, ""])
