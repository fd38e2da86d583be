"""`emit`, the verb."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pycute_xe.arch.lsc import Address, DataType, Message as Channels
from pycute_xe.emitting import instructions as asm
from pycute_xe.emitting.cute import cute
from pycute_xe.emitting.lowering import LOWERED
from pycute_xe.emitting.masks import lane_numbers
from pycute_xe.emitting.names import spelled
from pycute_xe.emitting.opencl import opencl
from pycute_xe.emitting.portable import portable
from pycute_xe.emitting.program import host, program
from pycute_xe.emitting.shared import shared_room
from pycute_xe.emitting.sycl import sycl
from pycute_xe.emitting.writer import Writer, Writes, demand_entries
from pycute_xe.emitting.xegpu import xegpu
from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel import Kernel, Meanings
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.naming.subjects import Named, kernel_of
from pycute_xe.signatures import shortly, typed

__all__ = ["Device", "Language", "emit", "VISA", "visa"]

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
        DataType(access.size, access.vector, access.vector > 1),
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
    return f"{asm.block_message(message)}  // x = {message.x}, y = {message.y}"


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


# ------------------------------------------------------------ emitter

Language = Literal["opencl", "visa", "cute", "host", "program", "sycl", "xegpu"]
Device = Literal["gpu", "cpu"]


def _spelled(write: Callable[[Kernel], str], mark: str = "//") -> Callable[[Kernel], str]:
    """Return what writes a kernel under names that the language takes, and says which changed."""

    def written(kernel: Kernel) -> str:
        renamed, changed = spelled(kernel)
        notes = [f"{mark} {old} is called {new} here.\n" for old, new in changed.items()]
        return "".join([*notes, write(renamed)])

    return written


_LANGUAGES: dict[Device, dict[str, Callable[[Kernel], str]]] = {
    "gpu": {
        "opencl": _spelled(opencl),
        "visa": _spelled(visa),
        "cute": _spelled(cute),
        "host": _spelled(lambda kernel: host(kernel, "gpu"), "#"),
        "program": lambda kernel: program(kernel, spelled(kernel)[0]),
        "sycl": lambda kernel: sycl(kernel, *spelled(kernel)),
        "xegpu": xegpu,
    },
    "cpu": {
        "opencl": _spelled(portable),
        "host": _spelled(lambda kernel: host(kernel, "cpu"), "#"),
    },
}


@typed
def emit(kernel: Kernel | Named, to: Language = "opencl", device: Device = "gpu") -> str:
    r"""Return a kernel as a text in another language, the listing at its head.

    ``kernel`` may be text that names one, or a file: "gemm", "kernel.json".
    ``"opencl"`` is OpenCL C for Intel's graphics compiler (``ocloc``): every fragment is a variable
    of vISA under the kernel's name, every message and DPAS one instruction of inline vISA. Widths
    and pitches are arguments of their own, in bytes. ``"visa"`` is the same in the manual's
    spelling, loops and indices in comments: `arch.lsc.parse` and `arch.dpas.parse` read its
    messages and DPAS back. ``"cute"`` is CuTe C++ for CUTLASS on Intel:
    the types of the tiled MMA, copies and fragments, a static assertion for each layout that the
    library claims of them, and the device function, with strides in elements. ``"host"`` is the
    Python that launches the OpenCL C through pyopencl. ``"program"`` is a whole Python file: the
    OpenCL C for GPUs and for CPUs, operands placed as messages demand, a comparison with NumPy, and
    timings, which `read_report` reads. ``"sycl"`` is such a file in C++ for DPC++ around the CuTe
    C++, with the line that compiles it. ``"xegpu"`` is a module of MLIR's XeGPU at the level of a
    work-group. A name that a language keeps for itself is another one in the text, which says so.

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
    write = _writer(to, device)
    kernel = kernel_of("emit", kernel)
    if not kernel.name.isidentifier():
        raise KernelError(
            "emit",
            {"kernel": kernel.name},
            "the name is not an identifier, and a text calls the kernel by it",
            "use letters, digits and _",
        )
    _demand_compiled(kernel)
    return write(kernel)


def _writer(to: str, device: Device) -> Callable[[Kernel], str]:
    if device not in _LANGUAGES:
        raise InputError(
            "emit", {"device": shortly(device)}, "the device is unknown", 'use "gpu" or "cpu"'
        )
    if to not in _LANGUAGES["gpu"]:
        known = ", ".join(f'"{name}"' for name in _LANGUAGES["gpu"])
        raise InputError(
            "emit", {"to": shortly(to)}, f"the language {shortly(to)} is unknown", f"use {known}"
        )
    if to not in _LANGUAGES[device]:
        raise InputError(
            "emit",
            {"to": to, "device": device},
            "a program has the texts of both" if to == "program" else f'"{to}" is for GPUs alone',
            'leave device= out, or use to="opencl" or to="host"',
        )
    return _LANGUAGES[device][to]


def _demand_compiled(kernel: Kernel) -> None:
    """Refuse what the compiler behind every language here gets wrong or cannot say."""
    for statement in kernel.statements():
        counter, named = statement.touched.counter, statement.touched.named
        if counter is not None and (counter.least is not None or not counter.into):
            raise KernelError(
                "emit",
                {"kernel": kernel.name, "statement": type(statement).__name__},
                "in no language here can a work-group wait for another one",
                "use scheduled(fixup=False), or split_k, which adds by atomics",
            )
        if named is not None:
            raise KernelError(
                "emit",
                {"kernel": kernel.name, "barrier": named.barrier},
                "the graphics compiler gives a kernel with named barriers a wrong number of them",
                "use BarrierArrive and BarrierWait, as slm_gemm does",
            )
