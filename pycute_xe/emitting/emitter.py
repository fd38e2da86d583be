"""`emit`, the verb."""

from __future__ import annotations

from collections.abc import Callable
from keyword import iskeyword
from typing import Any, Literal

from pycute_xe.arch.dpas import Register
from pycute_xe.arch.lsc import Address, Block2DMessage, DataType, Message as Channels
from pycute_xe.emitting import instructions as asm
from pycute_xe.emitting.cute import cute
from pycute_xe.emitting.lowering import LOWERED
from pycute_xe.emitting.masks import lane_numbers
from pycute_xe.emitting.opencl import (
    OPENCL,
    OpenCLWriter,
    check_names,
    message_call,
    opencl,
    parameters,
    prelude,
)
from pycute_xe.emitting.shared import shared_room
from pycute_xe.emitting.writer import Writer, Writes, demand_entries, launch_axes, plain_text
from pycute_xe.emitting.xegpu import xegpu
from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel import Kernel, Meanings
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.named import NamedArrive, NamedWait
from pycute_xe.signatures import shortly, typed

__all__ = ["Device", "Language", "emit", "host", "portable", "VISA", "visa"]

# ------------------------------------------------------------ visa
# A kernel as vISA text: messages, DPAS and register moves as the document spells them.

PLACE, INSIDE, FLAG, BOUND = "xe_place", "xe_inside", "xe_flag", "xe_bound"
"""What indices come to: an address of each work-item, those inside, a condition, a number."""

VISA: Meanings[Writes] = Meanings("emit")
"""How each kind of statement is said in vISA."""


class VisaWriter(Writer):
    """A body in vISA, and the registers that it names."""

    def __init__(self, kernel: Kernel) -> None:
        """Start with nothing written."""
        super().__init__(kernel, VISA, level=0)
        self.registers = asm.Registers(kernel)


@VISA.of(ir.Loop, ir.If)
def _(writer: Writer, statement: ir.Loop | ir.If) -> None:
    writer.inside(statement.body)


@VISA.of(*LOWERED)
def _(writer: VisaWriter, statement: ir.Statement) -> None:
    for instruction in LOWERED[statement](writer.kernel, writer.registers, statement):
        writer.put(_text(instruction))


def _text(instruction: asm.Instruction) -> str:
    if isinstance(instruction, asm.Message):
        return _visa_message(instruction)
    if isinstance(instruction, asm.Multiply):
        return str(instruction.message)
    if isinstance(instruction, asm.Alu):
        return _visa_alu(instruction)
    if isinstance(instruction, asm.Access):
        return _access(instruction)
    if isinstance(instruction, asm.Addition):
        return _addition(instruction)
    if isinstance(instruction, asm.Fencing):
        return "lsc_fence.slm.none.group"
    return f"sbarrier.{instruction.half}"


def _visa_alu(instruction: asm.Alu) -> str:
    text, notes = instruction.text, ""
    for number, scalar in enumerate(instruction.scalars):
        if isinstance(scalar, asm.Condition):
            notes += f"  // {FLAG} = {scalar.index} < {scalar.below}"
            scalar = FLAG
        elif isinstance(scalar, Index):
            notes += f"  // {BOUND} = {scalar}"
            scalar = BOUND
        text = text.replace(f"%{number}(", f"{scalar}(")
    return text + notes


def _access(access: asm.Access) -> str:
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


def _addition(addition: asm.Addition) -> str:
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


def _visa_message(message: asm.Message) -> str:
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
    demand_entries(kernel, VISA)
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


def _declared(variable: asm.Declared) -> str:
    name, kind, count = variable.name, variable.kind, variable.count
    if kind == asm.PREDICATE:
        return f".decl {name} v_type=P num_elts={count}"
    alias = f" alias=<{variable.of}, {variable.at}>" if variable.of else ""
    return f".decl {name} v_type=G type={kind} num_elts={count} align=wordx32{alias}"


# ------------------------------------------------------------ portable
# A kernel as plain OpenCL C, for devices without Intel's registers and messages.
#
# The statements, loops, indices and names are those of `opencl`, and so are the calls of the
# prelude; operands are written as C's arguments, where vISA has a notation of its own.


class PortableWriter(OpenCLWriter):
    """A body in plain OpenCL C, and the arrays that it names."""

    prelude = "portable.cl"
    subgroup = "get_local_id(0)"
    attributes = ()
    lanes = 1

    def call(self, instruction: asm.Instruction) -> str:
        """Return an instruction as a call of the prelude."""
        call = _CALLS.get(type(instruction))
        if call is None:
            raise _unsaid(instruction, f"{type(instruction).__name__} cannot be written in plain C")
        return call(self, instruction)


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


def _barrier(_writer: OpenCLWriter, instruction: asm.Barrier) -> str:
    return f"XE_BARRIER({instruction.half});"


_CALLS: dict[type[Any], Callable[[Any, Any], str]] = {
    asm.Message: _message,
    asm.Multiply: _multiply,
    asm.Alu: _alu,
    asm.Barrier: _barrier,
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
    elif isinstance(source.value, str):
        read = source.value
    else:
        raise _unsaid(source.value, "a condition on indices cannot be written in plain C")
    return {"": read, "abs": f"XE_ABS({read})", "-": f"XE_MINUS({read})"}[source.modifier]


def _unsaid(given: object, condition: str) -> KernelError:
    return KernelError(
        "emit", {"given": given}, condition, 'emit it for the device, without device="cpu"'
    )


# ------------------------------------------------------------ host
# The Python that launches a kernel's OpenCL C through pyopencl.

_NUMBERS = {"int": "np.int32", "long": "np.int64", "float": "np.float32"}
_HEAD = '''\
"""Launches {name}: buffers, the bytes of a row and the bytes from row to row, then the sizes.

A width is a multiple of 4 whatever the sizes are; `check` says what a target demands of pitches.
"""

import numpy as np
import pyopencl as cl

OPTIONS = "{options}"
'''
_OPTIONS = {"gpu": "-cl-std=CL2.0 -cl-intel-256-GRF-per-thread", "cpu": "-cl-std=CL2.0"}


def host(kernel: Kernel, device: str = "gpu") -> str:
    """Return a module of two functions: ``build`` the text of `emit`, ``launch`` what it builds."""
    for statement in kernel.statements():
        OPENCL[statement]
    check_names(kernel)
    known = parameters(kernel)
    taken = next((name for _, name in known if iskeyword(name)), None)
    if taken is not None:
        raise KernelError(
            "emit",
            {"kernel": kernel.name},
            f"{taken} cannot be a name in Python",
            "rename an operand or a size",
        )
    names = ", ".join(name for _, name in known)
    given = ", ".join(_given(kind, name) for kind, name in known)
    lanes = (16 if device == "gpu" else 1) * kernel.subgroups
    counts = [" * ".join(f"({plain_text(n)})" for _, n in axes) for axes in launch_axes(kernel)]
    shape = [f"{lanes} * {counts[0]}", *counts[1:]]
    local = [str(lanes), *("1" for _ in counts[1:])]
    lines = [_HEAD.format(name=kernel.name, options=_OPTIONS[device])]
    if any("xe_floor" in count for count in counts):
        lines.append("\ndef xe_floor(a, b):\n    return a // b\n")
    lines += [
        "",
        "def build(context, text):",
        f'    return cl.Kernel(cl.Program(context, text).build(OPTIONS), "{kernel.name}")',
        "",
        "",
        f"def launch(queue, kernel, {names}):",
        f"    kernel.set_args({given})",
        f"    groups = ({', '.join(shape)},)",
        f"    return cl.enqueue_nd_range_kernel(queue, kernel, groups, ({', '.join(local)},))",
        "",
    ]
    return "\n".join(lines)


def _given(kind: str, name: str) -> str:
    number = _NUMBERS.get(kind)
    return f"{number}({name})" if number else name


# ------------------------------------------------------------ emitter

Language = Literal["opencl", "visa", "cute", "host", "xegpu"]
Device = Literal["gpu", "cpu"]
_LANGUAGES: dict[str, Callable[[Kernel], str]] = {
    "opencl": opencl,
    "visa": visa,
    "cute": cute,
    "host": host,
    "xegpu": xegpu,
}


# What is not for Intel's GPUs alone.
_PORTABLE: dict[str, Callable[[Kernel], str]] = {
    "opencl": portable,
    "host": lambda kernel: host(kernel, "cpu"),
}


@typed
def emit(kernel: Kernel, to: Language = "opencl", device: Device = "gpu") -> str:
    r"""Return a kernel as a text in another language, the listing at its head.

    ``"opencl"`` is OpenCL C for Intel's graphics compiler (``ocloc``): every fragment is a variable
    of vISA under the kernel's name, every message and DPAS one instruction of inline vISA. Widths
    and pitches are arguments of their own, in bytes. ``"visa"`` is the same in the manual's
    spelling, loops and indices in comments: `arch.lsc.parse` and `arch.dpas.parse` read its
    messages and DPAS back. ``"cute"`` is CuTe C++ for CUTLASS on Intel:
    the types of the tiled MMA, copies and fragments, a static assertion for each layout that the
    library claims of them, and the device function, with strides in elements. ``"host"`` is the
    Python that launches the OpenCL C through pyopencl. ``"xegpu"`` is a module of MLIR's XeGPU at
    the level of a work-group.

    ``device="cpu"`` writes the OpenCL C, or the host program, for a CPU's OpenCL: the same
    statements call a prelude of plain C, and each subgroup is one work-item, its registers arrays.

    Law: the text depends on the kernel alone.
    Raises `KernelError` naming a statement, a function or a type that the language cannot say, and
    `InputError` for an unknown language or device, and one that the language is not for.
    Document: vISA manual; intel-graphics-compiler, inline vISA.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16),
    ...     ((1, 1, 1), (1, 1, 0))), stages=0)
    >>> print(*[line for line in emit(gemm).splitlines() if "  XE_DPAS(" in line], sep="\n")
        XE_DPAS(bf.bf.8.8, tCrC_f.0, tCrC_f.0, tCrB.0, tCrA(0,0));
    """
    if device not in ("gpu", "cpu"):
        raise InputError(
            "emit", {"device": shortly(device)}, "the device is unknown", 'use "gpu" or "cpu"'
        )
    language = _LANGUAGES.get(to)
    if language is None:
        known = ", ".join(f'"{name}"' for name in _LANGUAGES)
        raise InputError(
            "emit", {"to": shortly(to)}, f"the language {shortly(to)} is unknown", f"use {known}"
        )
    if device == "cpu" and to not in _PORTABLE:
        raise InputError(
            "emit",
            {"to": to, "device": device},
            f'"{to}" is for GPUs alone',
            'use to="opencl" or to="host"',
        )
    if not kernel.name.isidentifier():
        raise KernelError(
            "emit",
            {"kernel": kernel.name},
            "the name is not an identifier, and a text calls the kernel by it",
            "use letters, digits and _",
        )
    _demand_compiled(kernel)
    return _PORTABLE[to](kernel) if device == "cpu" else language(kernel)


def _demand_compiled(kernel: Kernel) -> None:
    """Refuse what the compiler behind every language here gets wrong or cannot say."""
    for statement in kernel.statements():
        if isinstance(statement, (ir.Await, ir.Signal)):
            raise KernelError(
                "emit",
                {"kernel": kernel.name, "statement": type(statement).__name__},
                "in no language here can a work-group wait for another one",
                "use scheduled(fixup=False), or split_k, which adds by atomics",
            )
        if isinstance(statement, (NamedArrive, NamedWait)):
            raise KernelError(
                "emit",
                {"kernel": kernel.name, "barrier": statement.barrier},
                "the graphics compiler gives a kernel with named barriers a wrong number of them",
                "use BarrierArrive and BarrierWait, as slm_gemm does",
            )
