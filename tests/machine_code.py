"""Machine code in tests: instructions made by hand, a thread that runs them, bytes to compare."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from pycute_xe.machine import Memory, RegisterFile, Trace
from pycute_xe.native.assembly import Assembly, Immediate, Instruction, Reg, Walk
from pycute_xe.native.comparison import program, thread
from pycute_xe.native.messages import Around
from pycute_xe.native.operands import State

GRF, ROOM = 64, 16
FORMATS = {
    "ub": "B", "b": "b", "uw": "H", "w": "h", "ud": "I", "d": "i", "uq": "Q", "q": "q",
    "f": "f", "hf": "e", "df": "d",
}  # fmt: skip
INTEGERS = ("ub", "b", "uw", "w", "ud", "d")


def instruction(
    op: str, to: Reg | None, *sources: Reg | Immediate, size: int = 16, **more: Any
) -> Instruction:
    """An instruction with the usual fields."""
    fields: dict[str, Any] = {
        "number": 1, "op": op, "sub": "", "size": size, "first": 0, "unmasked": True,
        "condition": "", "predicate": "", "flag": -1, "saturate": False, "to": to,
        "sources": sources, "target": "", "options": (),
    }  # fmt: skip
    return Instruction(**(fields | more))


def grf(number: int, kind: str, walk: tuple[int, ...] | None = (1, 1, 0), **more: Any) -> Reg:
    """A register operand; a destination's walk is one stride."""
    region = None if walk is None else Walk(*(walk if len(walk) == 3 else (-1, 1, walk[0])))
    return Reg("r", number, more.get("element", 0), region, kind, more.get("modifier", ""))


NULL = Reg("null", 0, 0, None, "")


def sent(
    to: Reg, desc: int, data: Reg = NULL, at: int = 1, sub: str = "ugm", **more: object
) -> Instruction:
    """A send whose address or payload is in a register."""
    surface = str(more.pop("surface", "flat[0]"))
    numbers = (Immediate("0x0", ""), Immediate(hex(desc), ""))
    return instruction("send", to, Reg("r", at, 0, None, surface), data, *numbers, sub=sub, **more)


def ended() -> Instruction:
    end = (Reg("r", 0, 0, None, "flat[0]"), Reg("null", 0, 0, None, ""))
    numbers = (Immediate("0x0", ""), Immediate("0x02000010", ""))
    return instruction("send", None, *end, *numbers, sub="gtwy", options=("EOT",))


def after(
    data: bytes, *code: Instruction, labels: dict[str, int] | None = None, around: Any = None
) -> State:
    """The state of a thread whose first registers hold some bytes, after some instructions."""
    state = State(RegisterFile(272 * GRF, GRF))
    state.registers.write(0, np.frombuffer(data.ljust(ROOM * GRF, b"\0"), np.uint8), "test")
    around = around or Around(Memory(), None, Trace(), Trace())
    with np.errstate(all="ignore"):
        for _ in thread(program(Assembly((*code, ended()), labels or {})), state, around, 1000):
            pass
    return state


def held(state: State, data: bytes) -> bytes:
    return state.registers.read(0, len(data), "test").tobytes()


def element(data: bytes, number: int, kind: str, index: int) -> Any:
    """Element ``index`` counted from the start of a register."""
    size = struct.calcsize(FORMATS[kind])
    return struct.unpack_from("<" + FORMATS[kind], data, number * GRF + index * size)[0]


def stored(data: bytes, number: int, kind: str, places: dict[int, Any]) -> bytes:
    """The bytes with elements exchanged; integers keep their lowest bits."""
    out, size = bytearray(data), struct.calcsize(FORMATS[kind])
    for index, value in places.items():
        at = number * GRF + index * size
        if kind in ("f", "hf", "df"):
            out[at : at + size] = struct.pack("<" + FORMATS[kind], value)
        else:
            out[at : at + size] = (int(value) % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(out)


def ends(kind: str) -> tuple[int, int]:
    """The least and the greatest number of an integer type."""
    half = 1 << (8 * struct.calcsize(FORMATS[kind]) - 1)
    return (0, 2 * half - 1) if kind[0] == "u" else (-half, half - 1)
