"""A kernel as plain OpenCL C, for devices without Intel's registers and messages.

The statements, loops, indices and names are those of `opencl`, and so are the calls of the
prelude; operands are written as C's arguments, where vISA has a notation of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycute_xe.arch.dpas import Register
from pycute_xe.emitting import instructions as asm
from pycute_xe.emitting.opencl import OpenCLWriter, message_call, opencl, prelude, scalar_text
from pycute_xe.emitting.payloads import Plan
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Loop

__all__ = ["portable"]


class PortableWriter(OpenCLWriter):
    """A body in plain OpenCL C, and the arrays that it names."""

    prelude = "portable.cl"
    subgroup = "get_local_id(0)"
    attributes = ()
    lanes = 1
    widened = "u32"

    def planned(self, loop: Loop, taken: int) -> Plan:
        """Return no payloads: messages are functions here."""
        del loop, taken
        return Plan()

    def call(self, instruction: asm.Instruction | asm.Begin) -> str:
        """Return an instruction as a call of the prelude."""
        call = _CALLS.get(type(instruction))
        return super().call(instruction) if call is None else call(self, instruction)


def portable(kernel: Kernel) -> str:
    """Return a kernel as plain OpenCL C, a work-item for each subgroup."""
    return opencl(kernel, PortableWriter)


def _message(writer: OpenCLWriter, message: asm.Message) -> str:
    block = message.block
    order = ("t" if block.transpose else "n") + ("t" if block.vnni else "n")
    shape = f"{block.bits}, {block.count}, {block.width}, {block.height}, {order}"
    return message_call(writer.kernel, message, shape)


def _multiply(writer: OpenCLWriter, instruction: asm.Multiply) -> str:
    dpas = instruction.message
    types = dpas.src1_type, dpas.src2_type
    kind = writer.registers.kinds[dpas.dst.name]
    if f"\nXE_MULTIPLIES({', '.join((*types, kind))})" not in prelude(writer.prelude):
        raise _unsaid(str(dpas), f"products of {' and '.join(types)} cannot be written in plain C")
    operands = [_at(dpas.dst, kind), _at(dpas.src0 or dpas.dst, kind)]
    operands += [_at(register, "ud") for register in (dpas.src1, dpas.src2)]
    return f"XE_DPAS({types[0]}, {types[1]}, {dpas.repeat}, {kind}, {', '.join(operands)});"


def _at(register: Register, kind: str) -> str:
    return f"{register.name}, {register.offset // asm.BYTES[kind]}"


def _alu(writer: OpenCLWriter, instruction: asm.Alu) -> str:
    op = instruction.op.replace(".", "_")
    if f"#define XE_OP_{op}(" not in prelude(writer.prelude):
        raise _unsaid(instruction.text, "the instruction cannot be written in plain C")
    operands = [_written(instruction.to)]
    if instruction.where is not None:
        operands.append(instruction.where.name)
    operands += map(_operand, instruction.sources)
    return f"XE_ALU({op}, {instruction.lanes}, {', '.join(operands)});"


_CALLS: dict[type[Any], Callable[[Any, Any], str]] = {
    asm.Message: _message,
    asm.Multiply: _multiply,
    asm.Alu: _alu,
}


def _written(to: asm.Place | asm.Flags) -> str:
    """Return a destination: ``tCrC_f(2,0)<1>`` is element 32 and on of ``tCrC_f``."""
    if isinstance(to, asm.Flags):
        return f"XE_TO(ub, {to.name}, 0, 1)"
    return f"XE_TO({to.kind}, {to.name}, {to.element}, {to.walk})"


def _operand(source: asm.Source) -> str:
    """Return a source: a region of a view, the bits of a number, or a scalar's name."""
    if isinstance(source, asm.Number):
        return f"XE_BITS_{source.kind}(0x{source.bits:x})"
    if isinstance(source, asm.Place):
        walk = str(source.walk).strip("<>").replace(";", ",").replace(",", ", ")
        read = f"XE_FROM({source.kind}, {source.name}, {source.element}, {walk})"
    else:
        read = f"({scalar_text(source.value)})"
    return {"": read, "abs": f"XE_ABS({read})", "-": f"XE_MINUS({read})"}[source.modifier]


def _unsaid(given: object, condition: str) -> KernelError:
    return KernelError(
        "emit", {"given": given}, condition, 'emit it for the device, without device="cpu"'
    )
