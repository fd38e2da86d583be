"""vISA text: every message and DPAS parses back, and the machine runs what was parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from compiled_cases import KINDS, filled, listed

import pycute_xe as cx
from pycute_xe.arch import dpas as arch_dpas, get_target, lsc as arch_lsc
from pycute_xe.executing.surfaces import Placed, fetch, place, place_poison
from pycute_xe.kernel import If, Kernel, Loop, Mma, Statement
from pycute_xe.kernel.ir.listing import line
from pycute_xe.machine import Memory, RegisterFile, dpas, lsc

GRID = ((2, 2, 1), (2, 1, 0))
BYTES = {"ud": 4, "d": 4, "f": 4, "uw": 2, "ub": 1}


def gemm(d: str, a: str, b: str, orders: str, tile: tuple[int, int, int]) -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, d, a, b), tile, GRID)
    order = {"r": "row", "c": "col"}
    return cx.kernel.gemm(mma, order[orders[0]], order[orders[1]])


CASES = {
    "bf16 by rows": gemm("f32", "bf16", "bf16", "rr", (32, 64, 32)),
    "f16 by columns": gemm("f32", "f16", "f16", "cc", (32, 64, 32)),
    "tf32": gemm("f32", "tf32", "tf32", "rc", (32, 64, 16)),
    "u8 by s8": gemm("s32", "u8", "s8", "rr", (32, 64, 64)),
}


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


@pytest.mark.parametrize("name", CASES)
def test_messages_and_dpas_parse_back_to_what_they_came_from(name: str) -> None:
    kernel, counts = CASES[name], dict.fromkeys((*KINDS, "dpas"), 0)
    said = instructions(cx.emit(kernel, "visa"))
    for statement in kernel.statements():
        for text in said[line(statement)]:
            if text.startswith("lsc_"):
                message = arch_lsc.parse(text)
                assert message.block == statement.copy.op.message
                assert message.check("pvc") == ()
                counts[message.block.op] += 1
            elif text.startswith("dpas"):
                assert isinstance(statement, Mma)
                op = statement.mma.atom.op
                assert arch_dpas.parse(text).instruction(op.D.name, op.C.name) == op
                counts["dpas"] += 1
    assert {kind: count for kind, count in counts.items() if count} == listed(kernel)


@dataclass
class Thread:
    """One subgroup that runs parsed text: variables in registers, surfaces in memory."""

    memory: Memory
    placed: dict[str, Placed]
    names: dict[str, int]
    registers: RegisterFile = field(default_factory=lambda: RegisterFile(256 * 64))
    at: dict[str, int] = field(default_factory=dict)

    def declare(self, text: str) -> None:
        """Place variables one after the other, aliases where they say."""
        room = 0
        head = r"\.decl (\w+) v_type=G type=(\w+) num_elts=(\d+) align=wordx32"
        pattern = head + r"(?: alias=<(\w+), (\d+)>)?"
        for name, kind, count, of, byte in re.findall(pattern, text):
            self.at[name] = self.at[of] + int(byte) if of else room
            room += 0 if of else int(count) * BYTES[kind]

    def run(self, text: str) -> None:
        """Execute a message, a DPAS or a move."""
        if text.startswith("lsc_"):
            self.send(text)
        elif text.startswith("dpas"):
            m = arch_dpas.parse(text)
            op = m.instruction("s32" if "8" in m.src1_type else "f32")
            dst, acc, b, a = (self.at[r.name] + r.offset for r in (m.dst, m.src0, m.src1, m.src2))
            dpas.execute(self.registers, op, dst, acc, b, a)
        elif text.startswith("mov"):
            self.move(text)
        else:
            assert text.startswith("sbarrier.")

    def send(self, text: str) -> None:
        x, y = re.search(r"// x = (.*), y = (.*)", text).groups()
        message: Any = arch_lsc.parse(text)
        placed = self.placed[message.surface[0]]
        seen = placed.surface(1 - placed.operand.contiguous, (0, 0))
        sizes = (seen.base, seen.width - 1, seen.height - 1, seen.pitch - 1)
        places = [eval(index.replace("/", "//"), {}, self.names) for index in (x, y)]
        operands = dict(zip((*message.surface, "x", "y"), (*sizes, *places), strict=True))
        lsc.execute(
            message, memory=self.memory, registers=self.registers, operands={**self.at, **operands}
        )

    def move(self, text: str) -> None:
        """mov (M1_NM, n) V(row,column)<stride> from a number, or from V(row,column)<v;w,h>."""
        place = r"(\w+)\((\d+),(\d+)\)"
        found = re.fullmatch(rf"mov \(M1_NM, (\d+)\) {place}<(\d)> (.*)", text)
        count, name, row, column, stride, source = found.groups()
        size = 4 if source.endswith(":ud") else BYTES[name.rpartition("_")[2]]
        values = [int(source.partition(":")[0], 16) if size == 4 else 0] * int(count)
        if not source.endswith(":ud"):
            parts = re.fullmatch(rf"{place}<(\d+);(\d+),(\d+)>", source).groups()
            r, c, v, w, h = map(int, parts[1:])
            for i in range(int(count)):
                where = self.at[parts[0]] + 64 * r + size * (c + i // w * v + i % w * h)
                raw = self.registers.read(where, size, "mov").tobytes()
                values[i] = int.from_bytes(raw, "little")
        for i, value in enumerate(values):
            where = self.at[name] + 64 * int(row) + size * (int(column) + i * int(stride))
            data = np.frombuffer(value.to_bytes(size, "little"), np.uint8)
            self.registers.write(where, data)

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
                for text in said[line(statement)]:
                    self.run(text)


@pytest.mark.parametrize("name", ["bf16 by rows", "f16 by columns", "u8 by s8"])
def test_the_parsed_program_computes_what_the_kernel_does(name: str) -> None:
    kernel, text = CASES[name], cx.emit(CASES[name], "visa")
    m, n, k = 29, 61, 2 * kernel.mma.tile_mnk[2] + 5
    given, memory, target = filled(kernel, (m, n, k)), Memory(), get_target("pvc")
    placed = {o: place(memory, kernel.operand(o), given[o], target) for o in "AB"}
    placed["D"] = place_poison(memory, kernel.operand("D"), (m, n), target)
    for subgroup in range(kernel.subgroups):
        names = {"M": m, "N": n, "K": k, "m": 0, "n": 0, "subgroup": subgroup}
        thread = Thread(memory, placed, names)
        thread.declare(text)
        thread.body(kernel.body, instructions(text))
    expected = cx.run(kernel, **given, executor="reference", target="pvc")
    assert fetch(memory, placed["D"]).tobytes() == expected.tobytes()
