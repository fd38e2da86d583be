"""A kernel through Intel's graphics compiler, and what it made of it."""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, cast

from pycute_xe.arch import Target, get_target
from pycute_xe.emitting import emit
from pycute_xe.emitting.names import called
from pycute_xe.errors import InputError, MachineError, TargetError, ToolError
from pycute_xe.facts import rows
from pycute_xe.kernel import Kernel
from pycute_xe.naming.subjects import Named, kernel_of
from pycute_xe.native.assembly import Assembly, Reg, read_json
from pycute_xe.native.choosing import compiler_for
from pycute_xe.native.loops import InnerLoop, loops
from pycute_xe.native.messages import OPERATIONS, descriptor
from pycute_xe.native.toolchain import Toolchain, toolchain_for
from pycute_xe.signatures import typed, typed_fields

__all__ = [
    "Binary",
    "binary_of",
    "compile",
    "compile_text",
    "kernels_of",
    "options_of",
    "read_binary",
    "scratch_warning",
    "sections",
]

# ------------------------------------------------------------ ze info
# What the compiler says of a kernel in its ``.ze_info`` section.

Entry = dict[str, str]


@dataclass(frozen=True, slots=True)
class Argument:
    """Where the kernel finds something it is given: what it is, its place and its size in bytes.

    ``index`` is the number of a parameter of the source, -1 for what the launch itself gives.
    """

    kind: str
    offset: int
    size: int
    index: int


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """Register mode, scratch bytes of a thread, lanes, barriers and the payload of a kernel.

    ``private`` are the bytes of memory of its own that a thread has besides; ``inline`` those of
    the payload that the launch puts into a register.
    """

    registers: int
    scratch: int
    private: int
    lanes: int
    barriers: int
    slm: int
    arguments: tuple[Argument, ...]
    per_thread: tuple[str, ...]
    inline: int = 0


def kernel_info(text: str) -> KernelInfo:
    """Read the section: the part of YAML that the compiler writes. `InputError` for what is not.

    Document: intel/compute-runtime, Zebin, ZEInfo.
    """
    env: Entry = {}
    lists: dict[str, list[Entry]] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("kernels_misc_info"):
            break
        if match := re.fullmatch(r"    (\w+):", line):
            section = match[1]
        elif match := re.fullmatch(r"      (- |  )(\w+): +(.*)", line):
            entries = lists.setdefault(section, [])
            if match[1] == "- ":
                entries.append({})
            if entries:
                entries[-1][match[2]] = match[3]
            elif section == "execution_env":
                env[match[2]] = match[3]
        elif (match := re.fullmatch(r"      (\w+): +(.*)", line)) and section == "execution_env":
            env[match[1]] = match[2]
    if "grf_count" not in env or "simd_size" not in env:
        raise InputError("compile", {}, "the binary does not say how many registers it uses", "")
    buffers = lists.get("per_thread_memory_buffers", [])
    scratch = sum(int(b["size"]) for b in buffers if b.get("type") == "scratch")
    return KernelInfo(
        registers=int(env["grf_count"]),
        scratch=scratch,
        private=sum(int(b["size"]) for b in buffers) - scratch,
        lanes=int(env["simd_size"]),
        barriers=int(env.get("barrier_count", 0)),
        slm=int(env.get("slm_size", 0)),
        arguments=tuple(_argument(e) for e in lists.get("payload_arguments", [])),
        per_thread=tuple(
            e.get("arg_type", "") for e in lists.get("per_thread_payload_arguments", [])
        ),
        inline=int(env.get("inline_data_payload_size", 0)),
    )


def _argument(entry: Entry) -> Argument:
    kind = entry["arg_type"]
    if entry.get("addrmode") == "stateful":
        kind = "stateful"  # a binding table, which takes no room in the payload
    return Argument(kind, int(entry["offset"]), int(entry["size"]), int(entry.get("arg_index", -1)))


# ------------------------------------------------------------ elf
# The sections of an ELF file, which is what the compiler writes.


_SYMBOLS = "Intel_Symbol_Table_Void_Program"
"""A section of code that is not a kernel: a table of what is called by its address."""
_NOBITS = 8
"""The type of a section without contents in the file."""


def sections(data: bytes) -> dict[str, bytes]:
    """Return the contents of each section of a 64-bit little-endian ELF file, by name.

    Raises `InputError` for anything else, and for a file that is cut off or damaged.
    Document: System V ABI, chapter 4, object files.
    """
    if data[:6] != b"\x7fELF\x02\x01":
        raise InputError(
            "compile",
            {"bytes": data[:4].hex()},
            "the compiler did not write a 64-bit ELF file",
            "ask ocloc for --format zebin",
        )
    try:
        (start,) = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        headers = [struct.unpack_from("<IIQQQQ", data, start + size * i) for i in range(count)]
        text = _content(data, headers[names])
        return {_name(text, header[0]): _content(data, header) for header in headers}
    except (struct.error, ValueError, IndexError) as error:
        wrong = "the ELF file is cut off or damaged"
        raise InputError("compile", {"bytes": len(data)}, wrong, "compile it again") from error


def kernels_of(data: bytes) -> dict[str, bytes]:
    """Return the machine code of each kernel of a zebin, by its name. Raises as `sections`."""
    begins = ".text."
    every = {n.removeprefix(begins): p for n, p in sections(data).items() if n.startswith(begins)}
    return {name: code for name, code in every.items() if name != _SYMBOLS}


def _name(text: bytes, at: int) -> str:
    return text[at : text.index(b"\0", at)].decode()


def _content(data: bytes, header: tuple[int, ...]) -> bytes:
    nobits = header[1] == _NOBITS
    if not nobits and header[4] + header[5] > len(data):
        raise IndexError(header[4] + header[5])
    return b"" if nobits else data[header[4] : header[4] + header[5]]


# ------------------------------------------------------------ compiling

_MODES = {128: "", 256: " -cl-intel-256-GRF-per-thread"}


@typed_fields
@dataclass(frozen=True, eq=False)
class Binary:
    """Machine code of a kernel: size in bytes, registers and scratch of a thread, instructions.

    ``scratch`` are the bytes that a thread spills to memory, 0 where everything fits. ``messages``
    counts block-2D messages by kind as they stand in the code, ``dpas`` the multiplications;
    ``toolchain`` made it, and ``disassembly`` is the code as text.
    """

    kernel: Kernel | None
    target: str
    text: str
    size: int
    info: KernelInfo
    messages: dict[str, int]
    dpas: int
    barriers: int
    toolchain: Toolchain
    code: bytes = field(repr=False)
    assembly: Assembly = field(repr=False)

    @cached_property
    def disassembly(self) -> str:
        """The code as text."""
        return self.toolchain.disassembled(self.code, self.target)

    @cached_property
    def loops(self) -> tuple[InnerLoop, ...]:
        """The innermost loops of the code, and what a trip is made of."""
        return loops(self.assembly)

    @property
    def loop_scratch(self) -> int:
        """Messages to and from scratch in a trip of an innermost loop, of the worst one."""
        return max((loop.scratch for loop in self.loops), default=0)

    @property
    def registers(self) -> int:
        """Registers of a thread in the mode it was compiled for."""
        return self.info.registers

    @property
    def scratch(self) -> int:
        """Bytes of memory a thread spills to."""
        return self.info.scratch

    @property
    def instructions(self) -> dict[str, int]:
        """How often each operation stands in the code."""
        return dict(Counter(i.op for i in self.assembly.instructions))

    def __str__(self) -> str:
        """Size, registers, scratch, messages."""
        counted = ", ".join(f"{n} × {kind}" for kind, n in self.messages.items())
        return (
            f"{scratch_warning(self.loop_scratch)}{self.size:,} bytes for {self.target}, "
            f"{len(self.assembly.instructions)} instructions, {self.registers} registers, "
            f"{self.scratch:,} bytes of scratch\n"
            f"  {counted}, {self.dpas} × dpas, {self.barriers} × barrier\n"
            f"  by {self.toolchain.name}"
        )


def scratch_warning(messages: int) -> str:
    """Return a line that warns of so many messages to scratch; an empty text for none."""
    if not messages:
        return ""
    return f"warning: each trip of a loop sends {messages} messages to or from scratch\n"


@typed
def compile(
    kernel: Kernel | Named, target: str | Target = "pvc", registers: int = 256, compiler: str = ""
) -> Binary:
    """Return what Intel's graphics compiler makes of a kernel: machine code, read back.

    ``registers`` is the register mode, 128 or 256; ``compiler`` how the version begins, of those
    that `toolchains` finds. Left out, the first that knows the target and takes the kernel by the
    rules of `check`. Raises `ToolError` where no compiler is found or it refuses, `TargetError` for
    a target or mode without machine code here, and what `emit` raises.
    """
    return _compiled(kernel_of("compile", kernel), get_target(target).name, registers, compiler)


@lru_cache(maxsize=32)
def _compiled(kernel: Kernel, target: str, registers: int, compiler: str) -> Binary:
    text = emit(kernel, "opencl")
    return compile_text(text, called(kernel), target, registers, kernel, compiler)


@typed
def compile_text(
    text: str,
    name: str,
    target: str = "pvc",
    registers: int = 256,
    kernel: Kernel | None = None,
    compiler: str = "",
) -> Binary:
    """Return what the compiler makes of a text of OpenCL C; ``name`` is the kernel in it."""
    known = tuple(cast("str", row["target"]) for row in rows("native", "platform"))
    if target not in known:
        condition = f"machine code for {target} is not read here"
        raise TargetError("compile", {"target": target}, condition, f"use {', '.join(known)}")
    if registers not in _MODES:
        raise TargetError(
            "compile", {"registers": registers}, "the register mode is unknown", "use 128 or 256"
        )
    made_by = (
        toolchain_for(target, compiler)
        if kernel is None
        else compiler_for(kernel, target, compiler)
    )
    binary = made_by.assembled(text, target, options_of(registers))
    return read_binary(binary, text, name, target, made_by, kernel)


def options_of(registers: int) -> str:
    """Return the options of the compiler for a register mode."""
    return f"-cl-std=CL2.0{_MODES[registers]}"


def read_binary(
    binary: bytes, text: str, name: str, target: str, made_by: Toolchain, kernel: Kernel | None
) -> Binary:
    """Return the machine code of a kernel in what the compiler wrote, read back.

    Raises `ToolError` where it has no kernel of this name.
    """
    parts, kernels = sections(binary), kernels_of(binary)
    code = kernels.get(name)
    if code is None:
        wrong, fix = "the text has no kernel of this name", f"use {', '.join(kernels)}"
        raise ToolError("compile", {"name": name}, wrong, fix)
    made_by.confirm(binary, name, code, target)
    listing = made_by.disassembled(code, target, "-Xprint-json", "-Xprint-hex-floats")
    return binary_of(kernel, text, made_by, target, code, parts[".ze_info"].decode(), listing)


def binary_of(
    kernel: Kernel | None,
    text: str,
    made_by: Toolchain,
    target: str,
    code: bytes,
    info: str,
    listing: str,
) -> Binary:
    """Return a binary by what the compiler says of it, and its listing by the disassembler."""
    assembly = read_json(listing, target)
    return Binary(
        kernel=kernel,
        target=target,
        text=text,
        size=len(code),
        info=kernel_info(info),
        toolchain=made_by,
        code=code,
        assembly=assembly,
        **_counts(assembly),
    )


def _counts(assembly: Assembly) -> dict[str, Any]:
    messages: Counter[str] = Counter()
    barriers = 0
    for instruction in assembly.instructions:
        if instruction.op == "sync" and instruction.sub == "bar":
            barriers += 1
        if instruction.op == "send" and instruction.sub == "ugm":
            try:
                kind = descriptor(instruction)[1] & 0x3F
            except MachineError:
                continue  # not a message of ours; executing it is refused
            if kind == 7:
                messages["store"] += 1
            elif kind == 3:
                into = cast("Reg", instruction.to)
                messages["prefetch" if into.file == "null" else "load"] += 1
            elif OPERATIONS.get(kind, "").startswith("atomic"):
                messages["atomic"] += 1
    dpas = sum(i.op == "dpas" for i in assembly.instructions)
    return {"messages": dict(messages), "dpas": dpas, "barriers": barriers}
