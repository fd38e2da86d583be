"""Floor 11: a kernel through Intel's graphics compiler, and what it made of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, cast

from pycute_xe.arch import Target, get_target
from pycute_xe.emitting import emit
from pycute_xe.errors import MachineError, TargetError, ToolError
from pycute_xe.kernel import Kernel
from pycute_xe.native.assembly import Assembly, Reg, read_json
from pycute_xe.native.elf import sections
from pycute_xe.native.sending import OPERATIONS, descriptor
from pycute_xe.native.toolchain import assembled, disassembled
from pycute_xe.native.ze_info import KernelInfo, kernel_info
from pycute_xe.signatures import typed

__all__ = ["Binary", "compile", "compile_text"]

# What the compiler and the disassembler of Debian 12 call the targets they know.
_DEVICES = {"pvc": ("pvc", "xehpc")}
_MODES = {128: "", 256: " -cl-intel-256-GRF-per-thread"}


@dataclass(frozen=True, eq=False)
class Binary:
    """Machine code of a kernel: size in bytes, registers and scratch of a thread, instructions.

    ``scratch`` are the bytes that a thread spills to memory, 0 where everything fits. ``messages``
    counts block-2D messages by kind as they stand in the code, ``dpas`` the multiplications;
    ``disassembly`` is the code as text.
    """

    kernel: Kernel | None
    target: str
    text: str
    size: int
    info: KernelInfo
    messages: dict[str, int]
    dpas: int
    barriers: int
    code: bytes = field(repr=False)
    assembly: Assembly = field(repr=False)

    @cached_property
    def disassembly(self) -> str:
        """The code as text."""
        return disassembled(self.code, _DEVICES[self.target][1])

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
            f"{self.size:,} bytes for {self.target}, {len(self.assembly.instructions)} "
            f"instructions, {self.registers} registers, {self.scratch:,} bytes of scratch\n"
            f"  {counted}, {self.dpas} × dpas, {self.barriers} × barrier"
        )


@typed
def compile(kernel: Kernel, target: str | Target = "pvc", registers: int = 256) -> Binary:
    """Return what Intel's graphics compiler makes of a kernel: machine code, read back.

    ``registers`` is the register mode, 128 or 256. Needs ``ocloc`` and ``iga64`` on PATH (Debian:
    intel-opencl-icd, libigc-tools). Raises `ToolError` where they are missing or refuse,
    `TargetError` for a target or mode that they do not have, and what `emit` raises.
    """
    return _compiled(kernel, get_target(target).name, registers)


@lru_cache(maxsize=32)
def _compiled(kernel: Kernel, target: str, registers: int) -> Binary:
    return compile_text(emit(kernel, "opencl"), kernel.name, target, registers, kernel)


@typed
def compile_text(
    text: str, name: str, target: str = "pvc", registers: int = 256, kernel: Kernel | None = None
) -> Binary:
    """Return what the compiler makes of a text of OpenCL C; ``name`` is the kernel in it."""
    if target not in _DEVICES:
        raise TargetError(
            "compile",
            {"target": target},
            f"the compiler has no device for {target}",
            f"use {', '.join(_DEVICES)}",
        )
    if registers not in _MODES:
        raise TargetError(
            "compile", {"registers": registers}, "the register mode is unknown", "use 128 or 256"
        )
    device, platform = _DEVICES[target]
    found = sections(assembled(text, device, f"-cl-std=CL2.0{_MODES[registers]}"))
    code = found.get(f".text.{name}")
    if code is None:
        known = ", ".join(n.removeprefix(".text.") for n in found if n.startswith(".text."))
        raise ToolError(
            "compile", {"name": name}, "the text has no kernel of this name", f"use {known}"
        )
    assembly = read_json(disassembled(code, platform, "-Xprint-json", "-Xprint-hex-floats"))
    return Binary(
        kernel=kernel,
        target=target,
        text=text,
        size=len(code),
        info=kernel_info(found[".ze_info"].decode()),
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
