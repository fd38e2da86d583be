"""DPAS.md of the vISA manual, transcribed line by line: a second authority for all of DPAS.

Numbers are Python's: integers are exact, and a float result is rounded to binary32 by packing it.
Nothing here is used by the package. What the manual leaves open is settled as the package says it
settles it: dot products are added up one product at a time, in the order of their elements.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

GRF_SIZE_BYTES = 64
BITS = {"tf32": 32, "bf16": 16, "f16": 16, "f32": 32, "s32": 32, "u32": 32}
BITS |= {f"{sign}{bits}": bits for sign in "su" for bits in (8, 4, 2)}
# Bits of the exponent and of the significand: OCP 8-bit and MX specifications.
NARROW = {"f8e5m2": (5, 2), "f8e4m3": (4, 3), "f4e2m1": (2, 1)}
BITS |= {kind: 1 + sum(parts) for kind, parts in NARROW.items()}

Product = tuple[int, int, int, tuple[int, int, int]]
"""Row and channel of the result, element of Src2, and of Src1: (register, dword, element of it)."""


def products(src1: str, src2: str, RC: int, SD: int = 8, Exec_size: int = 16) -> Iterator[Product]:
    """Every multiply-add, in the order in which a result adds them up."""
    src1_bits, src2_bits = BITS[src1], BITS[src2]
    if src1 == "tf32":
        OPS_PER_CHAN = 1
    elif src1_bits == 16:
        OPS_PER_CHAN = 2
    elif src1_bits == 8 or src2_bits == 8:
        OPS_PER_CHAN = 4
    else:
        OPS_PER_CHAN = 8
    SRC1_OPERANDS_PER_CHAN = 32 // (OPS_PER_CHAN * src1_bits)

    k = 0
    for r in range(RC):
        for d in range(SD):
            m = d // SRC1_OPERANDS_PER_CHAN
            n = (d % SRC1_OPERANDS_PER_CHAN) * OPS_PER_CHAN
            for i in range(Exec_size):
                for o in range(OPS_PER_CHAN):
                    yield r, i, k + o, (m, i, n + o)
            k += OPS_PER_CHAN


def element(data: bytes, kind: str, index: int) -> int | float:
    """A number in operand bytes: element ``index`` from the lowest bit of the first byte."""
    bits = BITS[kind]
    code = int.from_bytes(data, "little") >> (index * bits) & ((1 << bits) - 1)
    if kind == "tf32":
        return binary32(code >> 13 << 13)
    if kind == "f32":
        return binary32(code)
    if kind == "bf16":
        return binary32(code << 16)
    if kind == "f16":
        return struct.unpack("<e", code.to_bytes(2, "little"))[0]
    if kind in NARROW:
        return narrow(code, kind)
    return code - (1 << bits) if kind[0] == "s" and code >> (bits - 1) else code


def narrow(code: int, kind: str) -> float:
    """A float of 8 or 4 bits; the largest exponent of E5M2 alone is kept for infinity and NaN."""
    wide, digits = NARROW[kind]
    exponent, rest = code >> digits & ((1 << wide) - 1), code & ((1 << digits) - 1)
    sign = -1 if code >> (wide + digits) else 1
    if kind == "f8e5m2" and exponent == 31:
        return math.nan if rest else sign * math.inf
    if kind == "f8e4m3" and code & 0x7F == 0x7F:
        return math.nan
    power = max(exponent, 1) - (1 << (wide - 1)) + 1 - digits
    return sign * math.ldexp(rest + ((1 << digits) if exponent else 0), power)


def binary32(code: int) -> float:
    return struct.unpack("<f", code.to_bytes(4, "little"))[0]


def rounded(value: float) -> float:
    """To the nearest binary32, ties to even. Both sums and products of two are exact enough."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def stored(value: float, kind: str) -> bytes:
    """A result in its type: integers by their lowest 32 bits, floats to nearest, ties to even."""
    if kind in ("s32", "u32"):
        return (int(value) & 0xFFFFFFFF).to_bytes(4, "little")
    if kind == "f16":
        try:
            return struct.pack("<e", value)
        except OverflowError:
            return struct.pack("<e", math.copysign(math.inf, value))
    code = int.from_bytes(struct.pack("<f", value), "little")
    if kind == "f32":
        return code.to_bytes(4, "little")
    if math.isnan(value):
        return b"\xc0\x7f"
    return ((code + 0x7FFF + (code >> 16 & 1)) >> 16).to_bytes(2, "little")


def dpas(
    types: tuple[str, str, str, str], RC: int, src0: bytes | None, src1: bytes, src2: bytes
) -> bytes:
    """The bytes of Dst. ``types`` are those of D, A, B, C; A is Src2, B is Src1."""
    D, A, B, C = types
    rows = [
        [0 if src0 is None else element(src0, C, r * 16 + i) for i in range(16)] for r in range(RC)
    ]
    dwords = GRF_SIZE_BYTES // 4
    per_dword = 32 // BITS[B]
    a = [element(src2, A, e) for e in range(8 * len(src2) // BITS[A])]
    b = [element(src1, B, e) for e in range(8 * len(src1) // BITS[B])]
    for r, i, k, (m, dword, n) in products(B, A, RC):
        term = a[k] * b[(m * dwords + dword) * per_dword + n]
        total = rows[r][i]
        if D in ("s32", "u32"):
            rows[r][i] = total + term
        else:
            rows[r][i] = rounded(total + rounded(term))
    return b"".join(stored(value, D) for row in rows for value in row)
