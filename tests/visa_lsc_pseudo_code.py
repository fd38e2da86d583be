"""LSC_UNTYPED.md's pseudo-code, transcribed line by line: a second authority for `machine.lsc`.

Loads of 2D blocks are in `visa_pseudo_code`. Everything here is one element at a time on plain
bytes, and nothing is used by the package. ``Case`` is the message; its fields have the document's
meaning. Where the document contradicts itself the reading is the one that its text gives:
``AddrType [ AddrScale * Src0Addrs + AddrImmOffset ]``, Src1Data for the data of stores, vector
components in successive registers, blocks stored row by row.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

GRF_SIZE_BYTES = 64
MEMORY_BYTES = {"d8": 1, "d16": 2, "d32": 4, "d64": 8, "d8u32": 1, "d16u32": 2, "d16u32h": 2}
REGISTER_BYTES = MEMORY_BYTES | {"d8u32": 4, "d16u32": 4, "d16u32h": 4}
DST, SRC0, SRC1, SRC2 = 96 * 64, 0, 8 * 64, 48 * 64
"""Where the operands of every case start in its registers."""


@dataclass
class Case:
    """A message, with its channels resolved to ``ChEn``; addresses lie in ``grf`` at SRC0."""

    op: str
    ExecSize: int
    size: str
    ChEn: list[bool]
    vect_size: int = 1
    transposed: bool = False
    ChMask: str = ""
    addr_bytes: int = 8
    AddrScale: int = 1
    AddrImmOffset: int = 0
    Pitch: int | None = None
    Surface: int = 0
    Bounds: int | None = None
    """Bytes of the surface; None for flat memory."""
    null_dst: bool = False
    Counter: int = 0
    where: list[int] = field(default_factory=list)
    """Byte offset that each channel means; not for use here."""


class World:
    """Bytes of memory from address ``origin`` on, and bytes of registers."""

    def __init__(self, memory: bytes, grf: bytes, origin: int) -> None:
        self.memory, self.grf, self.origin = bytearray(memory), bytearray(grf), origin

    def read(self, case: Case, address: int) -> bytes:
        n = MEMORY_BYTES[case.size]
        if case.Bounds is not None and not 0 <= address <= case.Bounds - n:
            return bytes(n)
        at = case.Surface + address - self.origin
        assert 0 <= at <= len(self.memory) - n
        return bytes(self.memory[at : at + n])

    def write(self, case: Case, address: int, data: bytes) -> None:
        if case.Bounds is not None and not 0 <= address <= case.Bounds - len(data):
            return
        at = case.Surface + address - self.origin
        assert 0 <= at <= len(self.memory) - len(data)
        self.memory[at : at + len(data)] = data

    def address(self, case: Case, n: int) -> int:
        """AddrScale * Src0Addrs[n] + AddrImmOffset, in registers as wide as the address."""
        at = SRC0 + n * case.addr_bytes
        src0 = int.from_bytes(self.grf[at : at + case.addr_bytes], "little")
        return (case.AddrScale * src0 + case.AddrImmOffset) % (1 << 8 * case.addr_bytes)

    def elem(self, case: Case, operand: int, n: int, v: int) -> int:
        """The byte of DstData[v].elems[n], or of DstData[n].elems[v] if transposed."""
        size = REGISTER_BYTES[case.size]
        if case.transposed:
            registers = math.ceil(case.vect_size * size / GRF_SIZE_BYTES)
            return operand + n * registers * GRF_SIZE_BYTES + v * size
        registers = math.ceil(max(case.ExecSize, 16) * size / GRF_SIZE_BYTES)
        return operand + v * registers * GRF_SIZE_BYTES + n * size

    def put(self, case: Case, n: int, v: int, datum: bytes) -> None:
        """DstData: what is narrower in memory is extended with zeros, above or (h) below."""
        if case.null_dst:
            return
        zeros = bytes(REGISTER_BYTES[case.size] - len(datum))
        value = zeros + datum if case.size.endswith("h") else datum + zeros
        at = self.elem(case, DST, n, v)
        self.grf[at : at + len(value)] = value

    def get(self, case: Case, operand: int, n: int, v: int) -> bytes:
        """Src1Data or Src2Data: the part of an element that memory holds."""
        at = self.elem(case, operand, n, v)
        value = self.grf[at : at + REGISTER_BYTES[case.size]]
        part = MEMORY_BYTES[case.size]
        return bytes(value[-part:] if case.size.endswith("h") else value[:part])


def load(w: World, c: Case) -> None:
    size = MEMORY_BYTES[c.size]
    for n in range(c.ExecSize):
        if c.ChEn[n]:
            for v in range(c.vect_size):
                w.put(c, n, v, w.read(c, w.address(c, n) + v * size))


def load_quad(w: World, c: Case) -> None:
    size = MEMORY_BYTES[c.size]
    for n in range(c.ExecSize):
        if c.ChEn[n]:
            m = 0
            for v in range(4):
                if "xyzw"[v] in c.ChMask:
                    w.put(c, n, m, w.read(c, w.address(c, n) + v * size))
                    m += 1


def strided_address(w: World, c: Case, n: int) -> int:
    pitch = MEMORY_BYTES[c.size] * c.vect_size if c.Pitch is None else c.Pitch
    return (w.address(c, 0) + n * pitch) % (1 << 8 * c.addr_bytes)


def load_strided(w: World, c: Case) -> None:
    size = MEMORY_BYTES[c.size]
    for n in range(c.ExecSize):
        if c.ChEn[n]:
            for v in range(c.vect_size):
                w.put(c, n, v, w.read(c, strided_address(w, c, n) + v * size))


def load_status(w: World, c: Case) -> None:
    size, dest = MEMORY_BYTES[c.size], 0
    for n in range(c.ExecSize):
        s = 1
        if c.ChEn[n]:
            for v in range(c.vect_size):
                if s:
                    s = int(is_valid(w, c, w.address(c, n) + v * size, size))
        dest |= (int(c.ChEn[n]) & s) << n
    if not c.null_dst:
        w.grf[DST : DST + 4] = dest.to_bytes(4, "little")


def is_valid(w: World, c: Case, address: int, size: int) -> bool:
    if c.Bounds is not None and not 0 <= address <= c.Bounds - size:
        return False
    return 0 <= c.Surface + address - w.origin <= len(w.memory) - size


def store(w: World, c: Case) -> None:
    size = MEMORY_BYTES[c.size]
    for n in range(c.ExecSize):
        if c.ChEn[n]:
            for v in range(c.vect_size):
                w.write(c, w.address(c, n) + v * size, w.get(c, SRC1, n, v))


def store_quad(w: World, c: Case) -> None:
    size = MEMORY_BYTES[c.size]
    for n in range(c.ExecSize):
        if c.ChEn[n]:
            m = 0
            for v in range(4):
                if "xyzw"[v] in c.ChMask:
                    w.write(c, w.address(c, n) + v * size, w.get(c, SRC1, n, m))
                    m += 1


def store_strided(w: World, c: Case) -> None:
    size = MEMORY_BYTES[c.size]
    for n in range(c.ExecSize):
        if c.ChEn[n]:
            for v in range(c.vect_size):
                w.write(c, strided_address(w, c, n) + v * size, w.get(c, SRC1, n, v))


def number(data: bytes, kind: str) -> int | float:
    if kind == "f":
        return struct.unpack({2: "<e", 4: "<f", 8: "<d"}[len(data)], data)[0]
    return int.from_bytes(data, "little", signed=kind == "i")


def data_of(value: int | float, size: int, kind: str) -> bytes:
    if kind == "f":
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
    return (int(value) % (1 << 8 * size)).to_bytes(size, "little")


def smaller(old: float, a: float) -> float:
    return a if a < old or old != old else old


def larger(old: float, a: float) -> float:
    return a if a > old or old != old else old


ATOMICS: dict[str, tuple[str, int, Callable[..., int | float]]] = {
    "iinc": ("u", 0, lambda old: old + 1),
    "idec": ("u", 0, lambda old: old - 1),
    "load": ("u", 0, lambda old: old),
    "store": ("u", 1, lambda old, a: a),
    "iadd": ("u", 1, lambda old, a: old + a),
    "isub": ("u", 1, lambda old, a: old - a),
    "smin": ("i", 1, min),
    "smax": ("i", 1, max),
    "umin": ("u", 1, min),
    "umax": ("u", 1, max),
    "icas": ("u", 2, lambda old, a, b: b if old == a else old),
    "fadd": ("f", 1, lambda old, a: old + a),
    "fsub": ("f", 1, lambda old, a: old - a),
    "fmin": ("f", 1, smaller),
    "fmax": ("f", 1, larger),
    "fcas": ("f", 2, lambda old, a, b: b if old == a else old),
    "and": ("u", 1, lambda old, a: old & a),
    "or": ("u", 1, lambda old, a: old | a),
    "xor": ("u", 1, lambda old, a: old ^ a),
}
"""How operands are read, how many there are, and the new value (DWORD_ATOMIC.md)."""


def atomic(w: World, c: Case) -> None:
    kind, extra, new = ATOMICS[c.op.removeprefix("atomic_")]
    for n in range(c.ExecSize):
        if c.ChEn[n]:
            old = w.read(c, w.address(c, n))
            operands = [number(w.get(c, (SRC1, SRC2)[i], n, 0), kind) for i in range(extra)]
            value = new(number(old, kind), *operands)
            w.write(c, w.address(c, n), data_of(value, len(old), kind))
            w.put(c, n, 0, old)


def append_counter(w: World, c: Case) -> None:
    size, sign = MEMORY_BYTES[c.size], 1 if c.op.endswith("add") else -1
    at = c.Counter - w.origin
    for n in range(c.ExecSize):
        if c.ChEn[n]:
            old = bytes(w.memory[at : at + size])
            value = number(old, "u") + sign * number(w.get(c, SRC1, n, 0), "u")
            w.memory[at : at + size] = data_of(value, size, "u")
            w.put(c, n, 0, old)


def run(w: World, c: Case) -> None:
    """Execute a case."""
    if c.op.startswith("atomic_"):
        atomic(w, c)
    elif c.op.startswith("apndctr_"):
        append_counter(w, c)
    else:
        {"store_uncompressed": store}.get(c.op, globals().get(c.op))(w, c)


def store_block2d(bits: int, W: int, H: int) -> dict[tuple[int, int], int]:
    """STORE_BLOCK2D: (x, y) in the block → the register element that is stored there."""
    out: dict[tuple[int, int], int] = {}
    reg_pitch = 1
    while reg_pitch < W:
        reg_pitch *= 2
    for n in range(H):
        for v in range(W):
            out[v, n] = n * reg_pitch + v
    assert (max(out.values()) + 1) * bits <= 32 * GRF_SIZE_BYTES * 8
    return out
