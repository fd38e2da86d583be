"""Elementwise statements and conversions, as instructions on registers of 16 elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pycute_xe.arch.regions import passes
from pycute_xe.bulk import table
from pycute_xe.converting import convert
from pycute_xe.emitting.instructions import (
    Alu,
    Flags,
    Number,
    Place,
    Registers,
    Scalar,
    Source,
    f32_bits,
    modified,
    number,
    place,
)
from pycute_xe.emitting.masks import LANES, Reading, compared, kind_of
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Convert, Element, Expression, Fill, Kernel, Map, Slot
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.ir.effects import Elementwise, RegisterMove
from pycute_xe.kernel.spec.expression import Apply, Const, Rounded, Where
from pycute_xe.kernel.spec.functions import SEQUENCE, function
from pycute_xe.numeric import Numeric, Row, as_numeric, is_exact

__all__ = ["converted", "filled", "mapped", "SEQUENCES", "apply"]

# ------------------------------------------------------------ functions
# The scalar functions of epilogues as instructions of vISA on registers of f32.
#
# Sums, products, minimum and maximum are exact to the last bit. The functions that use a `math`
# instruction are as exact as the hardware makes it; `tanh` and `gelu`, which have no instruction,
# add errors of their own, stated where they are written.

ZERO, ONE, MINUS_INFINITY = number(0), number(0x3F800000), number(0xFF800000)
LOG2_E, LN_2 = number(0x3FB8AA3B), number(0x3F317218)
MINUS_LOG2_E = number(0xBFB8AA3B)

Register = Place | Scalar
Value = Source | float | Callable[[Place], None]
"""Where a number can be read, the number, or what writes it to a place."""


@dataclass(frozen=True)
class Emit:
    """How a formula writes: an instruction, a temporary to write and to read, flags."""

    alu: Callable[..., None]
    fresh: Callable[[], tuple[Place, Place]]
    flags: Callable[[], Flags]

    def binary(self, op: str, to: Place, a: Source, b: Source) -> None:
        """Write an instruction of two sources, of which only the second may be a number."""
        if isinstance(a, Number) and not isinstance(b, Number):
            a, b = b, a
        self.alu(op, to, _in_register(self, a), b)

    def polynomial(self, at: Place, coefficients: tuple[Number, ...]) -> Place:
        """Write a polynomial, the highest coefficient first; return where its value can be read."""
        acc, read = self.fresh()
        self.alu("mov", acc, coefficients[0])
        for coefficient in coefficients[1:]:
            self.alu("mul", acc, read, at)
            self.alu("add", acc, read, coefficient)
        return read

    def choose(
        self, to: Place, compare: tuple[str, Source, Source], then: Source, otherwise: Source
    ) -> None:
        """Write one of two sources, by a comparison ``("lt", a, b)`` of registers."""
        condition, a, b = compare
        flags = self.flags()
        self.alu(f"cmp.{condition}", flags, a, b)
        self.alu("sel", to, then, otherwise, where=flags)


def apply(emit: Emit, name: str, to: Place, *values: Value) -> None:
    """Write a function of values into a destination; one that is made of others as these.

    Raises `KernelError` for a function that has no instructions.
    """
    row = function(name, len(values))
    sources = [_source(emit, value) for value in values]
    if row.of is not None:
        row.unfolded(partial(_later, emit), *sources)(to)
        return
    if len(sources) == 1:
        sources = [_in_register(emit, sources[0])]
    if row.visa == SEQUENCE:
        SEQUENCES[name](emit, to, *sources)
    elif row.visa and len(sources) == 2:
        emit.binary(row.visa, to, *sources)
    elif row.visa:
        emit.alu(row.visa, to, *sources)
    else:
        raise KernelError(
            "emit",
            {"function": name},
            f"{name} cannot be written as instructions on registers",
            "use a function that has an instruction, or is made of others that have",
        )


def _later(emit: Emit, name: str, *values: Value) -> Callable[[Place], None]:
    return lambda to: apply(emit, name, to, *values)


def _source(emit: Emit, value: Value) -> Source:
    if isinstance(value, (int, float)):
        return immediate(float(value))
    if not callable(value):
        return value
    to, read = emit.fresh()
    value(to)
    return read


def immediate(value: float) -> Number:
    """Return a number as an immediate of f32.

    >>> print(immediate(1.0))
    0x3f800000:f
    """
    return number(int(f32_bits(value), 16))


def _absolute(emit: Emit, to: Place, a: Register) -> None:
    emit.alu("mov", to, modified(a, "abs"))


def _at_least(emit: Emit, to: Place, a: Source, b: Source) -> None:
    emit.choose(to, ("ge", _in_register(emit, a), b), _in_register(emit, ONE), ZERO)


def _below(emit: Emit, to: Place, a: Source, b: Source) -> None:
    a = _in_register(emit, a)
    emit.choose(to, ("lt", a, b), a, MINUS_INFINITY)


def _in_register(emit: Emit, source: Source) -> Register:
    """Return where a source can be read first: a number is moved to a register."""
    if not isinstance(source, Number):
        return source
    register, read = emit.fresh()
    emit.alu("mov", register, source)
    return read


def _divide(emit: Emit, to: Place, a: Source, b: Source) -> None:
    inverse, read = emit.fresh()
    emit.alu("inv", inverse, b)
    emit.binary("mul", to, a, read)


def _exp(emit: Emit, to: Place, a: Register) -> None:
    scaled, read = emit.fresh()
    emit.binary("mul", scaled, a, LOG2_E)
    emit.alu("exp", to, read)


def _log(emit: Emit, to: Place, a: Register) -> None:
    log2, read = emit.fresh()
    emit.alu("log", log2, a)
    emit.binary("mul", to, read, LN_2)


def _sigmoid(emit: Emit, to: Place, a: Register) -> None:
    scaled, read = emit.fresh()
    emit.binary("mul", scaled, a, MINUS_LOG2_E)
    emit.alu("exp", scaled, read)
    emit.binary("add", scaled, read, ONE)
    emit.alu("inv", to, read)


# tanh(x) / x = 1 + z q(z), z = x²: the polynomial through the Chebyshev nodes of z below 0.625²,
# fitted to NumPy's tanh in binary64; it is off by less than 2^-25 of the value.
_NEAR_ZERO = number(0x3F200000)
_TANH = tuple(map(number, (0xBBC80BFF, 0x3CAC0FD3, 0xBD5C9470, 0x3E088717, 0xBEAAAAA9)))
TWICE_LOG2_E, MINUS_TWO = number(0x4038AA3B), number(0xC0000000)


def _tanh(emit: Emit, to: Place, a: Register) -> None:
    """1 - 2 / (exp(2x) + 1), and a polynomial near zero, where few bits of that would be left.

    Within 8 units in the last place, if `math` is rounded correctly.
    """
    square, z = emit.fresh()
    emit.alu("mul", square, a, a)
    q = emit.polynomial(z, _TANH)
    emit.alu("mul", square, z, q)
    emit.alu("add", square, z, ONE)
    emit.alu("mul", square, z, a)
    far, read = emit.fresh()
    emit.alu("mul", far, a, TWICE_LOG2_E)
    emit.alu("exp", far, read)
    emit.alu("add", far, read, ONE)
    emit.alu("inv", far, read)
    emit.alu("mul", far, read, MINUS_TWO)
    emit.alu("add", far, read, ONE)
    emit.choose(to, ("lt", modified(a, "abs"), _NEAR_ZERO), z, read)


# erf(z) = 1 - t P(t) exp(-z²), t = 1 / (1 + p z), z ≥ 0, off by 1.5e-7 at most. Source:
# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26. With z = |x| / √2 = √2 w,
# w = |x| / 2: √2 p, and -2 log2(e) for the power of two.
_ERF_SCALE, _ERF_POWER = number(0x3EED3388), number(0xC038AA3B)
_ERF = tuple(map(number, (0x3F87DC22, 0xBFBA00E3, 0x3FB5F0E3, 0xBE91A98E, 0x3E827906)))
_EIGHT, HALF = number(0x41000000), number(0x3F000000)


def _gelu(emit: Emit, to: Place, a: Register) -> None:
    """x/2 + |x|/2 - w t P(t) exp(-x²/2), w = |x|/2 up to 8, beyond which the power is zero.

    Off by 2^-21 |x| at most, if `math` is rounded correctly.
    """
    half, h = emit.fresh()
    emit.alu("mul", half, a, HALF)
    low, w = emit.fresh()
    emit.alu("min", low, modified(h, "abs"), _EIGHT)
    emit.alu("add", half, h, modified(h, "abs"))
    temporary, t = emit.fresh()
    emit.alu("mul", temporary, w, _ERF_SCALE)
    emit.alu("add", temporary, t, ONE)
    emit.alu("inv", temporary, t)
    p = emit.polynomial(t, _ERF)
    emit.alu("mul", temporary, t, p)
    emit.alu("mul", temporary, t, w)
    emit.alu("mul", low, w, w)
    emit.alu("mul", low, w, _ERF_POWER)
    emit.alu("exp", low, w)
    emit.alu("mul", temporary, t, w)
    emit.alu("add", to, h, modified(t, "-"))


SEQUENCES: dict[str, Callable[..., None]] = {
    "div": _divide,
    "abs": _absolute,
    "exp": _exp,
    "log": _log,
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "gelu": _gelu,
    "at_least": _at_least,
    "below": _below,
}
"""By name: what writes a function of several instructions into a destination."""


# ------------------------------------------------------------ widening
# Numbers of every element type as numbers of f32, and of f32 as those of tf32.
#
# The types without instructions of their own are brought to a wider float whose bits look alike:
# the sign, then exponent and significand at the place of that type, which is off by a power of two
# alone.

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
    temporary, read = write.fresh("ud")
    rounded_to, rounded = write.last("f")
    write.alu("shr", temporary, bits, number(13, "uw"))
    write.alu("and", temporary, read, number(1, "ud"))
    write.alu("add", temporary, read, bits)
    write.alu("add", temporary, read, number(0xFFF, "ud"))
    write.alu("and", temporary, read, number(0xFFFFE000, "ud"))
    flags = write.registers.flags()
    write.alu("cmp.eq", flags, value, value)
    write.alu("sel", rounded_to, rounded, value, where=flags)
    zero_to, _ = write.fresh("ud")
    write.alu("and", zero_to, bits, number(0x80000000, "ud"))
    zero = write.last("f")[1]
    write.alu("cmp.lt", flags, modified(rounded, "abs"), LEAST_NORMAL)
    write.alu("sel", to, zero, rounded, where=flags)


# ------------------------------------------------------------ elementwise


def filled(registers: Registers, statement: Fill, pattern: int) -> Iterator[Alu]:
    """Yield moves that repeat 32 bits over a fragment."""
    fragment = registers.fragment(statement.fragment)
    dwords, name = -(-fragment.bytes // 4), registers.view(statement.fragment, "ud")
    at = 0
    while at < dwords:
        count = next(n for n in (32, 16, 8, 4, 2, 1) if n <= dwords - at)
        to = place(name, "ud", at, None)
        yield Alu("mov", count, to, (number(pattern, "ud"),))
        at += count


def converted(
    registers: Registers, statement: Convert | RegisterMove, to: Ints
) -> Iterator[list[Alu]]:
    """Yield the instructions of a conversion for 16 elements each: nearest even, saturated.

    Element ``i`` of the source goes to ``to[i]`` without moves of its own: see `passes`.
    Raises `KernelError` where no regions do that.
    """
    source = registers.fragment(statement.source)
    target = registers.fragment(statement.destination)
    kind = kind_of(target.value_type, target.name)
    view, types = registers.view(target.name, kind), (source.value_type, target.value_type)
    groups = passes(to.tolist(), source.value_type.bits, target.value_type.bits)
    if not groups:
        raise KernelError(
            "emit",
            {"from": source, "to": target},
            f"no region takes {LANES} elements at a time from {source.name} to {target.name}",
            "convert into a fragment of its own, and reorder that",
        )
    for places, into in groups:
        write, step = _Write(registers), into[1] - into[0]
        value = write.read(source.name, source.value_type, np.array(places))
        write.narrow(value, *types, place(view, kind, into[0], None, step))
        yield write.out


def mapped(
    kernel: Kernel, registers: Registers, statement: Map | Elementwise
) -> Iterator[list[Alu]]:
    """Yield the instructions of an elementwise statement, 16 elements at a time.

    Raises `KernelError` for destinations other than f32, for functions without a formula here, and
    for gathers that no region reads.
    """
    target = registers.fragment(statement.destination)
    numeric = target.value_type
    kind = numeric.row.visa
    if kind not in ("f", "hf", "bf"):
        raise KernelError(
            "emit",
            {"fragment": target},
            f"elementwise statements are emitted in f32, {target.name} is {numeric}",
            "compute in f32 and convert",
        )
    gathers = {name: table(by) for name, by in statement.gathers}
    for at in range(0, target.elements, LANES):
        places = {
            name: gathers[name][at : at + LANES] if name in gathers else np.arange(at, at + LANES)
            for name in statement.sources
        }
        write = _Write(registers, kernel, places, at)
        to = place(registers.view(target.name, kind), kind, at, None)
        mask = _mask(registers, statement.value, numeric)
        if mask is not None:
            write.masked(*mask, place(registers.view(target.name, "uw"), "uw", at, None))
        elif is_exact(as_numeric("f32"), numeric):
            write.into(statement.value, to)
        else:
            write.rounding(statement.value, numeric, to)
        yield write.out


def _mask(
    registers: Registers, value: Expression, numeric: Numeric
) -> tuple[Where, str, Number] | None:
    """Return a mask of a fragment of 16 bits: its elements need not be widened; None for others."""
    match value:
        case Where(_, _, Slot(name), Const(given)) if numeric.bits == 16:
            kept = convert(np.array([given]), numeric)
            if registers.fragment(name).value_type != numeric or kept.astype(float)[0] != given:
                return None
            return value, name, number(int(kept.view(np.uint16)[0]), "uw")
        case _:
            return None


class _Write(Reading):
    """The instructions that compute one register of 16 elements."""

    def rounding(self, value: Expression, numeric: Numeric, to: Place) -> None:
        """Compute an expression in f32 and round it once into a destination."""
        at, (temporary, read) = self.used, self.fresh()
        self.into(value, temporary)
        if numeric.row.denormal:
            self.alu("mov", to, read)
        else:
            to_tf32(self, at, to)

    def into(self, value: Expression, to: Place) -> None:
        """Compute an expression into a destination."""
        if isinstance(value, Apply):
            before, emit = self.used, Emit(self.alu, self.fresh, self.registers.flags)
            apply(emit, value.function, to, *(self.source(a) for a in value.arguments))
            self.used = before
        elif isinstance(value, Where):
            before = self.used
            self.chosen(value, to)
            self.used = before
        elif isinstance(value, Rounded):
            before = self.used
            self.rounded(value, to)
            self.used = before
        else:
            self.alu("mov", to, self.source(value))

    def readable(self, source: Source) -> Place | Scalar:
        """Return where a source can be read with a modifier: a number is moved to a register."""
        if not isinstance(source, Number):
            return source
        to, read = self.fresh()
        self.alu("mov", to, source)
        return read

    def masked(self, value: Where, name: str, otherwise: Number, to: Place) -> None:
        """Write elements of a fragment of 16 bits, or a number, by a condition."""
        read = self.read(name, self.registers.fragment(name).value_type, self.places[name])
        flags = self.registers.flags()
        self.out.append(compared(self.registers, value, self.first))
        then = replace(read, name=self.registers.view(name, "uw"), kind="uw")
        self.alu("sel", to, then, otherwise, where=flags)

    def chosen(self, value: Where, to: Place) -> None:
        """Write one of two values by a condition, lane by lane where it names the element."""
        then, otherwise = self.readable(self.source(value.then)), self.source(value.otherwise)
        flags = self.registers.flags()
        self.out.append(compared(self.registers, value, self.first))
        self.alu("sel", to, then, otherwise, where=flags)

    def rounded(self, value: Rounded, to: Place) -> None:
        """Write a value rounded to a narrower float and widened again."""
        kind = kind_of(value.to, str(value))
        source = self.source(value.body)
        if value.to.kind != "float":
            raise KernelError(
                "emit",
                {"value": value},
                "elementwise statements are emitted in f32, an integer has another type",
                "convert into a fragment of integers",
            )
        if value.to.name == "f32":
            self.alu("mov", to, source)
            return
        if value.to.name == "tf32":
            at = self.used
            self.alu("mov", self.fresh()[0], source)
            to_tf32(self, at, to)
            return
        source = self.readable(source)
        temporary, _ = self.fresh(kind)
        self.alu("mov", temporary, source)
        read = self.last("uw" if kind == "bf" else kind)[1]
        self.alu("mov", to, widened(self, read, value.to))

    def source(self, value: Expression) -> Source:
        """Return where an expression can be read, computing it where it has to be."""
        if isinstance(value, Const):
            return immediate(value.value)
        if isinstance(value, Slot):
            numeric = self.registers.fragment(value.fragment).value_type
            operand = self.read(value.fragment, numeric, self.places[value.fragment])
            return widened(self, operand, numeric)
        if isinstance(value, Element) and not value.at:
            return Scalar(value.operand)
        if isinstance(value, (Apply, Where, Rounded)):
            to, read = self.fresh()
            self.into(value, to)
            return read
        raise KernelError(
            "emit",
            {"value": value},
            f"{type(value).__name__} cannot be written as instructions on registers",
            "use functions of fragments, scalars and numbers",
        )

    def narrow(self, source: Place, given: Numeric, wanted: Numeric, to: Place) -> None:
        """Convert a source of one type into a destination of another."""
        if wanted.kind == "float":
            if given.name == wanted.name:
                self.alu("mov", to, source)
            elif wanted.name == "tf32" and not _kept(given):
                at, (temporary, _) = self.used, self.fresh()
                self.alu("mov", temporary, widened(self, source, given))
                to_tf32(self, at, to)
            elif wanted.name != "f32" and not is_exact(given, as_numeric("f32")):
                raise _twice(given, wanted)
            else:
                self.alu("mov", to, widened(self, source, given))
            return
        if given.kind == "float":
            wide, read = self.fresh()
            self.alu("rnde", wide, widened(self, source, given))
            whole = "ud" if wanted.kind == "unsigned" else "d"
            if wanted.bits == 32:
                self.alu("mov.sat", to, read)
                return
            wide, source = self.fresh(whole)
            self.alu("mov.sat", wide, read)
        self.alu("mov.sat", to, source)


def _kept(given: Numeric) -> bool:
    """Whether tf32 holds every value of a type, and none of them as a denormal."""
    return is_exact(given, as_numeric("tf32")) and given.name not in ("bf16", "ue8m0")


def _twice(given: Numeric, wanted: Numeric) -> KernelError:
    return KernelError(
        "emit",
        {"from": given, "to": wanted},
        f"{given} becomes {wanted} by way of f32 and would be rounded twice",
        "convert to f32, or to an integer",
    )
