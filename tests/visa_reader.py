"""A reader of emitted vISA text: messages and DPAS by the library's parsers, and a few ALU lines.

What it knows of ALU lines: mov, add, mul, min, max, and, or, shifts and rnde of f, d, ud, uw, w,
hf, bf, b and ub, with mov.sat, regions, immediates in hexadecimal and (abs), and the math functions
inv, exp, log, sqrt and rsqrt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from compiled_cases import KINDS, filled, listed

import pycute_xe as cx
from pycute_xe.arch import dpas as arch_dpas, get_target, lsc as arch_lsc
from pycute_xe.executing.surfaces import Placed, fetch, place, place_poison
from pycute_xe.kernel import If, Kernel, Loop, Mma, Statement
from pycute_xe.kernel.ir.listing import line_in
from pycute_xe.machine import Memory, RegisterFile, dpas, lsc

TYPES: dict[str, Any] = {
    "ud": np.uint32, "d": np.int32, "f": np.float32, "uw": np.uint16, "hf": np.float16,
    "bf": ml_dtypes.bfloat16, "ub": np.uint8, "b": np.int8, "w": np.int16,
}  # fmt: skip
OPERATIONS: dict[str, Any] = {
    "mov": lambda a: a,
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": np.minimum,
    "max": np.maximum,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,  # what it is written for has no sign
    "asr": lambda a, b: a >> b,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "rnde": np.round,
    "inv": lambda a: 1 / a,
    "exp": np.exp2,
    "log": np.log2,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
}
MATHEMATICAL = ("inv", "exp", "log", "sqrt", "rsqrt")
ALU = re.compile(r"(\w+)(\.sat)? \(M1_NM, (\d+)\) (\w+)\((\d+),(\d+)\)<(\d)> (.*)")
SOURCE = re.compile(r"(\(abs\)|\(-\))?(\w+)\((\d+),(\d+)\)<(\d+);(\d+),(\d+)>|(0x[0-9a-f]+):(\w+)")
MODIFIERS = {None: np.positive, "(abs)": np.abs, "(-)": np.negative}
DECLARED = re.compile(
    r"\.decl (\w+) v_type=G type=(\w+) num_elts=(\d+) align=wordx32(?: alias=<(\w+), (\d+)>)?"
)


def instructions(text: str) -> dict[str, list[str]]:
    """Lines of text by the line of the listing above them; equal ones have equal instructions."""
    out: dict[str, list[str]] = {}
    under = ""
    for stripped in map(str.strip, text.splitlines()):
        if stripped.startswith("//"):
            under = stripped[3:]
            out[under] = []
        elif not stripped.startswith(".decl"):
            out[under].append(stripped)
    return out


def not_parsed_back(kernel: Kernel) -> list[str]:
    """The messages and DPAS that do not parse back to what they came from, and wrong counts."""
    counts, wrong = dict.fromkeys((*KINDS, "dpas"), 0), []
    said = instructions(cx.emit(kernel, "visa"))
    for statement in kernel.statements():
        for text in said[line_in(kernel, statement)]:
            if text.startswith("lsc_"):
                message: Any = arch_lsc.parse(text)
                if message.block != statement.copy.op.message or message.check("pvc"):
                    wrong.append(text)
                counts[message.block.op] += 1
            elif text.startswith("dpas"):
                op = statement.mma.atom.op if isinstance(statement, Mma) else None
                if op is None or arch_dpas.parse(text).instruction(op.D.name, op.C.name) != op:
                    wrong.append(text)
                counts["dpas"] += 1
    found = {kind: count for kind, count in counts.items() if count}
    if found != listed(kernel):
        wrong.append(f"the text has {found}, the listing {listed(kernel)}")
    return wrong


@dataclass
class Thread:
    """One subgroup that runs parsed text: variables in registers, surfaces in memory."""

    kernel: Kernel
    memory: Memory
    placed: dict[str, Placed]
    names: dict[str, Any]
    registers: RegisterFile = field(default_factory=lambda: RegisterFile(512 * 64))
    at: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def declare(self, text: str) -> None:
        """Place variables one after the other, aliases where they say."""
        room = 0
        for name, kind, count, of, byte in DECLARED.findall(text):
            self.kinds[name] = kind
            self.at[name] = self.at[of] + int(byte) if of else room
            room += 0 if of else int(count) * np.dtype(TYPES[kind]).itemsize

    def run(self, text: str) -> None:
        """Execute a message, a DPAS or an ALU line; a half of the barrier has nothing to do."""
        if text.startswith("lsc_"):
            self.send(text)
        elif text.startswith("dpas"):
            self.multiply(text)
        elif not text.startswith("sbarrier."):
            self.compute(text)

    def multiply(self, text: str) -> None:
        m, statement = arch_dpas.parse(text), self.kernel.mma.atom.op
        op = m.instruction(statement.D.name, statement.C.name)
        dst, acc, b, a = (self.at[r.name] + r.offset for r in (m.dst, m.src0, m.src1, m.src2))
        dpas.execute(self.registers, op, dst, acc, b, a)

    def send(self, text: str) -> None:
        found = re.search(r"// x = (.*), y = (.*)", text)
        assert found is not None
        message: Any = arch_lsc.parse(text)
        placed = self.placed[message.surface[0]]
        matrix = len(placed.shape) > 1
        seen = placed.surface(1 - placed.operand.contiguous if matrix else None, (0, 0))
        sizes = (seen.base, seen.width - 1, seen.height - 1, seen.pitch - 1)
        known = {**self.names, "ceil_div": lambda a, b: -(-a // b)}
        places = [eval(index.replace("/", "//"), {}, known) for index in found.groups()]
        operands = dict(zip((*message.surface, "x", "y"), (*sizes, *places), strict=True))
        lsc.execute(
            message, memory=self.memory, registers=self.registers, operands={**self.at, **operands}
        )

    def compute(self, text: str) -> None:
        """An ALU line: floats in f32, integers whole."""
        found = ALU.fullmatch(text)
        assert found is not None, text
        op, saturate, count, name, row, column, stride, rest = found.groups()
        kind = self.kinds[name]
        sources = [self.source(s, int(count)) for s in rest.split(" ")]
        with np.errstate(all="ignore"):
            value = np.broadcast_to(OPERATIONS[op](*sources), (int(count),))
            size = np.dtype(TYPES[kind]).itemsize
            if np.dtype(TYPES[kind]).kind in "iu":
                limits = np.iinfo(TYPES[kind])
                if saturate:
                    value = np.clip(value.astype(np.float64), limits.min, limits.max)
                value = value.astype(np.int64)
            data = value.astype(TYPES[kind]).view(np.uint8).reshape(-1, size)
        first = self.at[name] + 64 * int(row) + size * int(column)
        where = first + size * int(stride) * np.arange(int(count))[:, None] + np.arange(size)
        self.registers.scatter(0, where.reshape(-1), data.reshape(-1))

    def source(self, text: str, count: int) -> Any:
        found = SOURCE.fullmatch(text)
        assert found is not None, text
        modifier, name, row, column, down, width, across, number, kind = found.groups()
        if number:
            bits = np.array([int(number, 16)], np.uint32)
            return bits.view(np.float32) if kind == "f" else bits.astype(np.int64)
        if name not in self.at:
            return np.array([self.names[name]]).astype(np.float32)
        kind = self.kinds[name]
        size = np.dtype(TYPES[kind]).itemsize
        lanes = np.arange(count)
        steps = lanes // int(width) * int(down) + lanes % int(width) * int(across)
        first = self.at[name] + 64 * int(row) + size * int(column)
        where = first + size * steps[:, None] + np.arange(size)
        raw = self.registers.gather(0, where.reshape(-1), text).view(TYPES[kind])
        wide = raw.astype(np.int64 if raw.dtype.kind in "iu" else np.float32)
        return MODIFIERS[modifier](wide)

    def body(self, body: tuple[Statement, ...], said: dict[str, list[str]]) -> None:
        """Walk the kernel's loops; what the straight statements do, the text says."""
        for statement in body:
            if isinstance(statement, Loop):
                start, stop = (i.at(self.names) for i in (statement.start, statement.stop))
                for value in range(start, stop):
                    self.names[statement.var] = value
                    self.body(statement.body, said)
            elif isinstance(statement, If):
                if statement.index.at(self.names) < statement.below.at(self.names):
                    self.body(statement.body, said)
            else:
                for text in said[line_in(self.kernel, statement)]:
                    self.run(text)


def computed(kernel: Kernel, sizes: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """What the parsed text leaves in D, and what a run does; one work-group must do for it."""
    text, given = cx.emit(kernel, "visa"), filled(kernel, sizes)
    memory, target = Memory(), get_target("pvc")
    placed = {o.name: place(memory, o, given[o.name], target) for o in kernel.inputs if o.modes}
    placed["D"] = place_poison(memory, kernel.operand("D"), sizes[:2], target)
    scalars = {o.name: given[o.name] for o in kernel.inputs if not o.modes}
    said = instructions(text)
    for subgroup in range(kernel.subgroups):
        names = {**dict(zip("MNK", sizes, strict=True)), "m": 0, "n": 0, "subgroup": subgroup}
        thread = Thread(kernel, memory, placed, names | scalars)
        thread.declare(text)
        thread.body(kernel.body, said)
    expected = cx.run(kernel, **given, executor="reference", target="pvc")
    return fetch(memory, placed["D"]), expected
