"""Floor 9: numbers of every element type as numbers of f32, and of f32 as those of tf32.

The types without instructions of their own are brought to a wider float whose bits look alike: the
sign, then exponent and significand at the place of that type, which is off by a power of two alone.
"""

from __future__ import annotations

from collections.abc import Callable

from pycute_xe.emitting.operands import Place, modified, number
from pycute_xe.emitting.reading import Reading
from pycute_xe.numeric import Numeric

__all__ = ["to_tf32", "widened"]

NAN, LEAST_NORMAL = number(0x7FC00000), number(0x00800000)


def widened(write: Reading, source: Place, numeric: Numeric) -> Place:
    """Return where a source can be read as f32."""
    if numeric.name in ("f32", "tf32"):
        return source
    return _WIDENED.get(numeric.name, _moved)(write, source)


def _moved(write: Reading, source: Place) -> Place:
    to, read = write.fresh()
    write.alu("mov", to, source)
    return read


def _bf16(write: Reading, source: Place) -> Place:
    """The upper half of f32."""
    to, _ = write.fresh("ud")
    write.alu("shl", to, source, number(16, "uw"))
    return write.last("f")[1]


def _e5m2(write: Reading, source: Place) -> Place:
    """The upper byte of f16."""
    to, _ = write.fresh("uw")
    write.alu("shl", to, source, number(8, "uw"))
    return _moved(write, write.last("hf")[1])


def _e4m3(write: Reading, source: Place) -> Place:
    """An f16 whose exponent has one bit more, and a bias greater by 8.

    The largest code is a NaN: alone it carries into the highest bit of the exponent when one is
    added, and with that bit it is a NaN of f16 too.
    """
    to, read = write.fresh("uw")
    signed_to, signed = write.last("w")
    write.alu("shl", to, source, number(8, "uw"))
    write.alu("asr", signed_to, signed, number(1, "uw"))
    write.alu("and", to, read, number(0xBFFF, "uw"))
    half = write.last("hf")[1]
    above, carried = write.fresh("uw")
    write.alu("add", above, read, number(0x80, "uw"))
    write.alu("and", above, carried, number(0x4000, "uw"))
    write.alu("or", to, read, carried)
    return _scaled(write, half, 8)


def _e2m1(write: Reading, source: Place) -> Place:
    """An f16 whose exponent has three bits more, and a bias greater by 14."""
    to, _ = write.fresh("w")
    write.alu("asr", to, source, number(3, "uw"))
    word_to, word = write.last("uw")
    write.alu("and", word_to, word, number(0x8E00, "uw"))
    return _scaled(write, write.last("hf")[1], 14)


def _scaled(write: Reading, half: Place, power: int) -> Place:
    """Return an f16 as f32, times a power of two: denormals among them, without rounding."""
    read = _moved(write, half)
    write.alu("mul", write.last("f")[0], read, number((127 + power) << 23))
    return read


def _ue8m0(write: Reading, source: Place) -> Place:
    """The exponent of f32; its least is denormal there, and the largest a NaN."""
    to, read = write.fresh("ud")
    write.alu("shl", to, source, number(23, "uw"))
    write.alu("max", to, read, number(0x00400000, "ud"))
    flags = write.registers.flags()
    write.alu("cmp.ne", flags, source, number(255, "uw"))
    power_to, power = write.last("f")
    write.alu("sel", power_to, power, NAN, where=flags)
    return power


_WIDENED: dict[str, Callable[[Reading, Place], Place]] = {
    "bf16": _bf16,
    "f8e5m2": _e5m2,
    "f8e4m3": _e4m3,
    "f4e2m1": _e2m1,
    "ue8m0": _ue8m0,
}


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
