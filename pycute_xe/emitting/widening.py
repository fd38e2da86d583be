"""Floor 9: numbers of every element type as numbers of f32, and of f32 as those of tf32.

The types without instructions of their own are brought to a wider float whose bits look alike: the
sign, then exponent and significand at the place of that type, which is off by a power of two alone.
"""

from __future__ import annotations

from pycute_xe.emitting.operands import Place, modified, number
from pycute_xe.emitting.reading import Reading
from pycute_xe.errors import KernelError
from pycute_xe.numeric import Numeric, Row

__all__ = ["to_tf32", "widened"]

NAN, LEAST_NORMAL = number(0x7FC00000), number(0x00800000)


def widened(write: Reading, source: Place, numeric: Numeric) -> Place:
    """Return where a source can be read as f32."""
    row = numeric.row
    if row.visa == "f":
        return source
    if numeric.kind != "float" or not row.code:
        return _moved(write, source)
    if row.positive:
        return _power(write, source)
    return _upper(write, source) if row.exponent == 8 else _narrow(write, source, row)


def _moved(write: Reading, source: Place) -> Place:
    to, read = write.fresh()
    write.alu("mov", to, source)
    return read


def _upper(write: Reading, source: Place) -> Place:
    """The upper half of f32."""
    to, _ = write.fresh("ud")
    write.alu("shl", to, source, number(16, "uw"))
    return write.last("f")[1]


def _narrow(write: Reading, source: Place, row: Row) -> Place:
    """An f16 whose exponent has more bits, and a greater bias.

    Codes that stand for an infinity or a NaN carry beyond their exponent when one is added at its
    end, or at that of the significand: with all bits above set, they are that of f16 too.
    """
    more, own = 5 - row.exponent, row.bits - 1
    if more < 0 or row.significand > 11:
        raise KernelError(
            "emit", {"type": row.name}, f"{row.name} does not fit f16", "convert it before"
        )
    to, read = write.fresh("uw")
    signed_to, signed = write.last("w")
    half = write.last("hf")[1]
    if row.bits == 8:  # narrower ones lie at the upper end of a word already
        write.alu("shl", to, source, number(8, "uw"))
        source = signed
    if not more:
        return _moved(write, half)
    end = 15 - more - own  # the place of the last bit of the significand
    write.alu("asr", signed_to, source, number(more, "uw"))
    write.alu("and", to, read, number(0x8000 | ((1 << own) - 1) << end, "uw"))
    if row.top != "number":
        above, carried = write.fresh("uw")
        write.alu("add", above, read, number(1 << {"nan": end, "infinity": 10}[row.top], "uw"))
        write.alu("and", above, carried, number(1 << (10 + row.exponent), "uw"))
        write.alu("or", to, read, carried)
        for _ in range(more - 1):
            write.alu("shl", above, carried, number(1, "uw"))
            write.alu("or", to, read, carried)
    return _scaled(write, half, 16 - (1 << (row.exponent - 1)))


def _scaled(write: Reading, half: Place, power: int) -> Place:
    """Return an f16 as f32, times a power of two: denormals among them, without rounding."""
    read = _moved(write, half)
    write.alu("mul", write.last("f")[0], read, number((127 + power) << 23))
    return read


def _power(write: Reading, source: Place) -> Place:
    """The exponent of f32; its least is denormal there, and the largest a NaN."""
    to, read = write.fresh("ud")
    write.alu("shl", to, source, number(23, "uw"))
    write.alu("max", to, read, number(0x00400000, "ud"))
    flags = write.registers.flags()
    write.alu("cmp.ne", flags, source, number(255, "uw"))
    power_to, power = write.last("f")
    write.alu("sel", power_to, power, NAN, where=flags)
    return power


def to_tf32(write: Reading, at: int, to: Place) -> None:
    """Round a temporary of f32, given by its number, to nearest even in tf32.

    Denormals become zeros of their sign, and NaNs stay.
    """
    bits, value = write.seen(at, "ud")[1], write.seen(at, "f")[1]
    held, read = write.fresh("ud")
    rounded_to, rounded = write.last("f")
    write.alu("shr", held, bits, number(13, "uw"))
    write.alu("and", held, read, number(1, "ud"))
    write.alu("add", held, read, bits)
    write.alu("add", held, read, number(0xFFF, "ud"))
    write.alu("and", held, read, number(0xFFFFE000, "ud"))
    flags = write.registers.flags()
    write.alu("cmp.eq", flags, value, value)
    write.alu("sel", rounded_to, rounded, value, where=flags)
    zero_to, _ = write.fresh("ud")
    write.alu("and", zero_to, bits, number(0x80000000, "ud"))
    zero = write.last("f")[1]
    write.alu("cmp.lt", flags, modified(rounded, "abs"), LEAST_NORMAL)
    write.alu("sel", to, zero, rounded, where=flags)
