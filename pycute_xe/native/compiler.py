"""A kernel through Intel's graphics compiler, and what it made of it."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from pycute_xe.arch import Target, get_target
from pycute_xe.emitting import emit
from pycute_xe.emitting.names import called
from pycute_xe.errors import InputError, MachineError, TargetError, ToolError
from pycute_xe.kernel import Kernel
from pycute_xe.native.assembly import Assembly, Reg, read_json
from pycute_xe.native.messages import OPERATIONS, descriptor
from pycute_xe.signatures import typed, typed_fields

__all__ = ["Binary", "compile", "compile_text", "sections", "assembled", "missing"]

# ------------------------------------------------------------ toolchain
# Intel's offline compiler and disassembler, found on PATH and run in a folder apart.

PACKAGES = "intel-opencl-icd libigc-tools"
"""The packages of Debian and Ubuntu that hold both programs."""

_SECONDS = 300


@typed
def missing() -> str:
    """Return one line that says what is not installed and how to install it; empty if nothing."""
    absent = [name for name in ("ocloc", "iga64") if shutil.which(name) is None]
    if not absent:
        return ""
    return f"{' and '.join(absent)} not found on PATH: apt-get install {PACKAGES}"


def assembled(text: str, device: str, options: str) -> bytes:
    """Return the binary that ``ocloc`` makes of OpenCL C.

    Raises `ToolError` where it is not installed, and with its words where it refuses.
    """
    with TemporaryDirectory() as folder:
        source = Path(folder, "kernel.cl")
        source.write_text(text, encoding="utf-8")
        output = _run(
            [
                *("ocloc", "compile", "-file", str(source), "-device", device),
                *("--format", "zebin", "-options", options, "-out_dir", folder),
            ],
            folder,
        )
        binaries = sorted(Path(folder).glob("*.bin"))
        if not binaries:
            raise ToolError(
                "compile",
                {"device": device},
                f"ocloc refuses the text: {_detail(folder) or _first(output)}",
                "emit(kernel) is the text it was given",
            )
        return binaries[0].read_bytes()


def disassembled(code: bytes, platform: str, *options: str) -> str:
    """Return machine code as text, or as the options say, by ``iga64``."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "kernel.isa")
        file.write_bytes(code)
        return _run(["iga64", "-p", platform, "-d", str(file), *options], folder)


def _run(command: list[str], folder: str) -> str:
    if shutil.which(command[0]) is None:
        raise ToolError("compile", {"program": command[0]}, missing(), f"install {PACKAGES}")
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            "compile",
            {"program": command[0]},
            f"{command[0]} does not end within {_SECONDS} seconds",
            "use a smaller tile",
        ) from error
    if command[0] == "iga64":
        if done.returncode:
            condition = f"iga64 cannot read the code: {_first(done.stderr)}"
            raise ToolError("compile", {"program": "iga64"}, condition, "use a newer libigc-tools")
        return done.stdout
    return done.stdout + done.stderr


def _detail(folder: str) -> str:
    """What the assembler of vISA says of the first wrong instruction; empty for nothing."""
    errors = Path(folder, "kernel.errors.txt")
    if not errors.is_file():
        return ""
    lines = [line.strip() for line in errors.read_text(encoding="utf-8").splitlines()]
    detail = [line for line in lines if line.startswith(("in instruction", "*"))]
    return " ".join(" ".join(detail[:2]).split())


def _first(output: str) -> str:
    """The first line that tells what is wrong, else the last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    wrong = [line for line in lines if "error" in line.lower()]
    return (wrong or lines or ["no reason was given"])[0 if wrong else -1]


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

    ``private`` are the bytes of memory of its own that a thread has besides.
    """

    registers: int
    scratch: int
    private: int
    lanes: int
    barriers: int
    slm: int
    arguments: tuple[Argument, ...]
    per_thread: tuple[str, ...]


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
    )


def _argument(entry: Entry) -> Argument:
    kind = entry["arg_type"]
    if entry.get("addrmode") == "stateful":
        kind = "stateful"  # a binding table, which takes no room in the payload
    return Argument(kind, int(entry["offset"]), int(entry["size"]), int(entry.get("arg_index", -1)))


# ------------------------------------------------------------ elf
# The sections of an ELF file, which is what the compiler writes.


def sections(data: bytes) -> dict[str, bytes]:
    """Return the contents of each section of a 64-bit little-endian ELF file, by name.

    Raises `InputError` for anything else.
    Document: System V ABI, chapter 4, object files.
    """
    if data[:6] != b"\x7fELF\x02\x01":
        raise InputError(
            "compile",
            {"bytes": data[:4].hex()},
            "the compiler did not write a 64-bit ELF file",
            "ask ocloc for --format zebin",
        )
    (start,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, start + size * i) for i in range(count)]
    text = _content(data, headers[names])
    out: dict[str, bytes] = {}
    for header in headers:
        name = text[header[0] : text.index(b"\0", header[0])].decode()
        out[name] = _content(data, header)
    return out


def _content(data: bytes, header: tuple[int, ...]) -> bytes:
    return data[header[4] : header[4] + header[5]]


# ------------------------------------------------------------ compiling

# What the compiler and the disassembler of Debian 12 call the targets they know.
_DEVICES = {"pvc": ("pvc", "xehpc")}
_MODES = {128: "", 256: " -cl-intel-256-GRF-per-thread"}


@typed_fields
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
    return compile_text(emit(kernel, "opencl"), called(kernel), target, registers, kernel)


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
    parts = sections(assembled(text, device, f"-cl-std=CL2.0{_MODES[registers]}"))
    code = parts.get(f".text.{name}")
    if code is None:
        known = ", ".join(n.removeprefix(".text.") for n in parts if n.startswith(".text."))
        raise ToolError(
            "compile", {"name": name}, "the text has no kernel of this name", f"use {known}"
        )
    assembly = read_json(disassembled(code, platform, "-Xprint-json", "-Xprint-hex-floats"))
    return Binary(
        kernel=kernel,
        target=target,
        text=text,
        size=len(code),
        info=kernel_info(parts[".ze_info"].decode()),
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
