"""Floor 9: a kernel as plain OpenCL C, for devices without Intel's registers and messages.

The statements, loops, indices and names are those of `opencl`, and so are the calls of the prelude;
operands are written as C's arguments, where vISA has a notation of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycute_xe.arch.dpas import Register
from pycute_xe.emitting.indices import c_text
from pycute_xe.emitting.instructions import Alu, Barrier, Instruction, Message, Multiply
from pycute_xe.emitting.opencl import OpenCLWriter, opencl, prelude, surface_of
from pycute_xe.emitting.operands import BYTES, Flags, Number, Place, Source
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel

__all__ = ["PortableWriter", "portable"]


class PortableWriter(OpenCLWriter):
    """A body in plain OpenCL C, and the arrays that it names."""

    prelude = "portable.cl"
    subgroup = "get_local_id(0)"
    attributes = ()
    lanes = 1

    def call(self, instruction: Instruction) -> str:
        """Return an instruction as a call of the prelude."""
        call = _CALLS.get(type(instruction))
        if call is None:
            raise _unsaid(instruction, f"{type(instruction).__name__} cannot be written in plain C")
        return call(self, instruction)


def portable(kernel: Kernel) -> str:
    """Return a kernel as plain OpenCL C, a work-item for each subgroup."""
    return opencl(kernel, PortableWriter)


def _message(writer: OpenCLWriter, message: Message) -> str:
    block = message.block
    order = ("t" if block.transpose else "n") + ("t" if block.vnni else "n")
    shape = f"{block.bits}, {block.count}, {block.width}, {block.height}, {order}"
    place = f"{c_text(message.x)}, {c_text(message.y)}"
    surface = surface_of(writer.kernel.operand(message.surface.operand), message.surface)
    if block.op == "load":
        return f"XE_LOAD_2D({message.register}, {shape}, {surface}, {place});"
    if block.op == "store":
        return f"XE_STORE_2D({surface}, {place}, {message.register}, {shape});"
    return f"XE_PREFETCH_2D({shape}, {surface}, {place});"


def _multiply(writer: OpenCLWriter, instruction: Multiply) -> str:
    dpas = instruction.message
    types = dpas.src1_type, dpas.src2_type
    kind = writer.registers.kinds[dpas.dst.name]
    if f"\nXE_MULTIPLIES({', '.join((*types, kind))})" not in prelude(writer.prelude):
        raise _unsaid(str(dpas), f"products of {' and '.join(types)} cannot be written in plain C")
    operands = [_at(dpas.dst, kind), _at(dpas.src0 or dpas.dst, kind)]
    operands += [_at(register, "ud") for register in (dpas.src1, dpas.src2)]
    return f"XE_DPAS({types[0]}, {types[1]}, {dpas.repeat}, {kind}, {', '.join(operands)});"


def _at(register: Register, kind: str) -> str:
    return f"{register.name}, {register.offset // BYTES[kind]}"


def _alu(writer: OpenCLWriter, instruction: Alu) -> str:
    op = instruction.op.replace(".", "_")
    if f"#define XE_OP_{op}(" not in prelude(writer.prelude):
        raise _unsaid(instruction.text, "the instruction cannot be written in plain C")
    operands = [_written(instruction.to)]
    if instruction.where is not None:
        operands.append(instruction.where.name)
    operands += map(_operand, instruction.sources)
    return f"XE_ALU({op}, {instruction.lanes}, {', '.join(operands)});"


def _barrier(_writer: OpenCLWriter, instruction: Barrier) -> str:
    return f"XE_BARRIER({instruction.half});"


_CALLS: dict[type[Any], Callable[[Any, Any], str]] = {
    Message: _message,
    Multiply: _multiply,
    Alu: _alu,
    Barrier: _barrier,
}


def _written(to: Place | Flags) -> str:
    """Return a destination: ``tCrC_f(2,0)<1>`` is element 32 and on of ``tCrC_f``."""
    if isinstance(to, Flags):
        return f"XE_TO(ub, {to.name}, 0, 1)"
    return f"XE_TO({to.kind}, {to.name}, {to.element}, {to.walk})"


def _operand(source: Source) -> str:
    """Return a source: a region of a view, the bits of a number, or a scalar's name."""
    if isinstance(source, Number):
        return f"XE_BITS_{source.kind}(0x{source.bits:x})"
    if isinstance(source, Place):
        walk = str(source.walk).strip("<>").replace(";", ",").replace(",", ", ")
        read = f"XE_FROM({source.kind}, {source.name}, {source.element}, {walk})"
    elif isinstance(source.value, str):
        read = source.value
    else:
        raise _unsaid(source.value, "a condition on indices cannot be written in plain C")
    return {"": read, "abs": f"XE_ABS({read})", "-": f"XE_MINUS({read})"}[source.modifier]


def _unsaid(given: object, condition: str) -> KernelError:
    return KernelError(
        "emit", {"given": given}, condition, 'emit it for the device, without device="cpu"'
    )
