"""Files of `emit(kernel, "sycl")` on a host without SYCL: compiled, run, and what they launched.

`sycl_host` stands for SYCL's headers: memory is real, launches are written down. With a device
function of a test's own a file needs no CuTe; with a checkout of intel/sycl-tla it is compiled as
it stands.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from pycute_xe.kernel import Kernel, Operand

HERE = Path(__file__).parent / "sycl_host"
FLAGS = ("-std=c++17", "-w", "-DSYCL_INTEL_TARGET", "-DCUTLASS_ENABLE_SYCL", f"-I{HERE}")
WITHOUT_CUTE = (f"-I{HERE / 'without_cute'}", "-DSTUB_RUNS")

FIELDS = """
template <class Kernel> void stub_fields(std::FILE *log, Kernel const &kernel) {{
{lines}
}}
"""


@dataclass(frozen=True)
class Launch:
    """A launch: its ranges, subgroups, registers, and the fields of its kernel."""

    over: tuple[int, ...]
    local: tuple[int, ...]
    subgroup: int
    registers: int
    fields: dict[str, int]


def with_device(text: str, function: str) -> str:
    """Return a file whose types, claims and device function are others."""
    space = re.search(r"^namespace (\w+_xe) \{$", text, re.MULTILINE)
    assert space is not None
    end = f"}} // namespace {space[1]}\n"
    tail = text[text.index(end) :]
    return f"{text[: space.start()]}{space[0]}\nusing namespace cute;\n{function}\n{tail}"


def recording(text: str, kernel: Kernel) -> str:
    """Return a file with what writes down the pointers, strides and sizes that are launched."""
    names: list[tuple[str, str]] = []
    for operand in kernel.operands:
        if operand.modes:
            rest = [m for m in range(len(operand.modes)) if m != operand.contiguous]
            names.append((operand.name, "(long long)"))
            single = len(rest) == 1
            names += [(f"{operand.name}_{'ld' if single else f'stride{m}'}", "") for m in rest]
    names += [(size, "") for size in kernel.sizes]
    lines = [
        f'  std::fprintf(log, "field {name} %lld\\n", (long long){cast}kernel.{name});'
        for name, cast in names
    ]
    return text + FIELDS.format(lines="\n".join(lines))


def unlike(kernel: Kernel, sizes: dict[str, int], program: Path, *options: str) -> str:
    """Return what a program launches otherwise than its kernel says; nothing where all is equal."""
    given = ",".join(f"{name}={sizes[name]}" for name in kernel.sizes)
    done, launches, memory = ran(program, "--size", given, "--repeat", "1", *options)
    if len(launches) != 3 or any(launch != launches[0] for launch in launches):
        return f"{len(launches)} launches: {done.stderr}"
    launch = launches[0]
    counts = [count.at(sizes) for _, count in kernel.grid]
    groups = (prod(counts[2:]), counts[1] if len(counts) > 1 else 1, counts[0])
    lanes = 16 * kernel.subgroups
    wanted = (groups[0], groups[1], groups[2] * lanes), (1, 1, lanes), 16, 256
    found = launch.over, launch.local, launch.subgroup, launch.registers
    if found != wanted:
        return f"ranges, subgroup and registers are {found}, not {wanted}"
    if any(launch.fields[name] != sizes[name] for name in kernel.sizes):
        return f"sizes are {launch.fields}"
    matrices = [operand for operand in kernel.operands if operand.modes]
    if [launch.fields[operand.name] for operand in matrices] != list(memory):
        return f"pointers are {launch.fields}, of {memory}"
    return next(filter(None, (_ill_placed(o, sizes, launch, memory) for o in matrices)), "")


def _ill_placed(
    operand: Operand, sizes: dict[str, int], launch: Launch, memory: dict[int, int]
) -> str:
    """Return what is wrong with how an operand lies in memory."""
    extents, bits = [mode.at(sizes) for mode in operand.modes], operand.value_type.bits
    width = extents[operand.contiguous] * bits // 8
    behind, bytes_ = 1, memory[launch.fields[operand.name]]
    rest = [m for m in range(len(extents)) if m != operand.contiguous]
    for mode in reversed(rest):
        name = f"{operand.name}_ld" if len(rest) == 1 else f"{operand.name}_stride{mode}"
        pitch = launch.fields[name] * bits // 8
        # Of the messages' rules those that a row, and a matrix of several, must keep.
        legal = pitch % (64 if behind > 1 else 16) == 0 and pitch >= max(64, width) * behind
        if not legal or bytes_ != pitch * prod(extents[m] for m in rest if m <= mode):
            return f"{name} is {pitch} bytes, of {bytes_} and a width of {width}"
        behind *= extents[mode]
    return "" if rest or bytes_ == width else f"{operand.name} has {bytes_} bytes, not {width}"


def compiled(text: str, folder: Path, *flags: str) -> tuple[Path, str]:
    """Compile a file; return the program, and what the compiler objected to."""
    file, program = folder / "program.cpp", folder / "program"
    file.write_text(text, encoding="utf-8")
    program.unlink(missing_ok=True)
    command = ["g++", *FLAGS, *flags, str(file), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return program, done.stderr if done.returncode else ""


def ran(program: Path, *options: str, **stub: str) -> tuple[Any, list[Launch], dict[int, int]]:
    """Run a program; return its process, its launches, and the bytes at each address it took."""
    log = program.with_name("launches.txt")
    log.unlink(missing_ok=True)
    variables = os.environ | {"STUB_LOG": str(log)} | stub
    done = subprocess.run(
        [str(program), *options], env=variables, capture_output=True, text=True, check=False
    )
    launches: list[Launch] = []
    memory: dict[int, int] = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        kind, *words = line.split()
        if kind == "memory":
            if words[2] != "64":
                raise ValueError(f"operands are aligned to {words[2]} bytes")
            memory[int(words[0], 16)] = int(words[1])
        elif kind == "launch":
            numbers = tuple(map(int, words))
            launches.append(Launch(numbers[:3], numbers[3:6], numbers[6], numbers[7], {}))
        elif kind == "field":
            launches[-1].fields[words[0]] = int(words[1])
        else:
            raise ValueError(line)
    return done, launches, memory
