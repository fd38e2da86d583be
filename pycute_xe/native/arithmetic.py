"""Instructions on registers: what each computes, lane by lane.

A product of 32 by 32 bits takes two: `mul` leaves the product by the lowest 16 bits in the
accumulator, `mach` and `macl` add that by the others, and give the upper or the lower half.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pycute_xe.native.assembly import Instruction, Reg
from pycute_xe.native.operands import DTYPES, Read, State, Write, chosen, reader, refuse, writer

__all__ = ["OPERATIONS", "arithmetic", "read_of", "result_flags"]

# ------------------------------------------------------------ booleans
# Functions of three bits, as `bfn` spells them.

Values = NDArray[Any]


def boolean(instruction: Instruction) -> Callable[..., Values]:
    """The function of three bits that the variant spells: s0, s1, s2 with ~, &, ^, | and ()."""
    tokens = re.findall(r"s[012]|[~&^|()]", instruction.sub)
    if "".join(tokens) != instruction.sub:
        raise refuse(instruction, f"the function {instruction.sub} cannot be read")
    tree = _Boolean(tokens)
    function = tree.parsed(0)
    if tree.tokens or not tree.complete:
        raise refuse(instruction, f"the function {instruction.sub} cannot be read")
    return lambda *sources: function(sources)


class _Boolean:
    """Reads a function of bits; ``|`` binds least, then ``^``, ``&`` and ``~``.

    What is read is ``complete`` unless an operand or a closing parenthesis was missing.
    """

    LEVELS = (("|", np.bitwise_or), ("^", np.bitwise_xor), ("&", np.bitwise_and))

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = list(tokens)
        self.complete = True

    def taken(self, *expected: str) -> str:
        """Take the next token, which must be one of those expected."""
        token = self.tokens.pop(0) if self.tokens else ""
        self.complete &= token in expected
        return token

    def parsed(self, level: int) -> Callable[[Any], Any]:
        """Read operands joined at a level of precedence."""
        if level == len(self.LEVELS):
            return self.operand()
        sign, join = self.LEVELS[level]
        function = self.parsed(level + 1)
        while self.tokens and self.tokens[0] == sign:
            self.tokens.pop(0)
            function = self.joined(join, function, self.parsed(level + 1))
        return function

    @staticmethod
    def joined(
        join: Callable[[Any, Any], Any], a: Callable[[Any], Any], b: Callable[[Any], Any]
    ) -> Callable[[Any], Any]:
        """Return the function that joins two."""
        return lambda sources: join(a(sources), b(sources))

    def operand(self) -> Callable[[Any], Any]:
        """Read a source, a negation or a part in parentheses."""
        token = self.taken("~", "(", "s0", "s1", "s2")
        if token == "~":
            inner = self.operand()
            return lambda sources: ~inner(sources)
        if token == "(":
            inner = self.parsed(0)
            self.taken(")")
            return inner
        number = int(token[1:] or 0) if self.complete else 0
        return lambda sources: sources[number]


# ------------------------------------------------------------ flags
# Flags as operands, which the compiler keeps in registers where it runs out of them.

_BITS = {"uw": 16, "ud": 32}
_AGAINST_ZERO: dict[str, Callable[[Values], Values]] = {
    "eq": lambda value: value == 0,
    "ne": lambda value: value != 0,
}


def _bits(instruction: Instruction, flag: Reg) -> slice:
    """Return which flags an operand is: the bits of a number, the lowest lane first."""
    width = _BITS.get(flag.kind)
    logical = instruction.op in ("mov", "not", "and", "or", "xor")
    if width is None or not logical or instruction.size != 1 or instruction.predicate:
        raise refuse(instruction, "flags are read and written whole, 16 or 32 of them")
    start = 32 * flag.number + width * flag.element
    return slice(start, start + width)


def read_of(instruction: Instruction, operand: Any) -> Read:
    """Return what reads a source, flags among them."""
    if not isinstance(operand, Reg) or operand.file != "f":
        return reader(instruction, operand)
    bits = _bits(instruction, operand)
    kind = DTYPES[operand.kind]
    return lambda state: (
        np.packbits(state.flags[bits], bitorder="little").view(kind).astype(np.int64)
    )


def write_of(instruction: Instruction) -> Write:
    """Return what writes a result, flags among the destinations."""
    to = instruction.to
    if to is None or to.file != "f":
        return writer(instruction)
    bits = _bits(instruction, to)
    width: int = bits.stop - bits.start
    places: Values = np.arange(width)

    def write(state: State, values: Values) -> None:
        state.flags[bits] = np.asarray(values).astype(np.int64).reshape(-1)[0] >> places & 1

    return write


def result_flags(instruction: Instruction, write: Write) -> Write:
    """Return what writes a result and, where the instruction has a condition, compares it with 0.

    Raises `MachineError` for conditions other than of integers, equal or not.
    """
    if not instruction.condition:
        return write
    holds, to = _AGAINST_ZERO.get(instruction.condition), instruction.to
    logical = instruction.op in ("and", "or", "xor")
    if holds is None or not logical or instruction.predicate or to is None:
        raise refuse(instruction, f"{instruction.op}.{instruction.condition} is not modelled")
    start = 16 * instruction.flag + instruction.first
    stop = start + instruction.size

    def both(state: State, values: Values) -> None:
        state.flags[start:stop] = holds(values)
        write(state, values)

    return both


# ------------------------------------------------------------ long products
# Products of 32 by 32 bits, which take two instructions and the accumulator.

_NARROW = ("w", "uw")
_WHOLE = ("d", "ud")


def long_multiplication(instruction: Instruction) -> Callable[[State], None]:
    """Return what ``mul`` into the accumulator, ``mach`` or ``macl`` of integers does.

    Raises `MachineError` for other types than the compiler uses.
    Document: Bspec, "mach" and "macl": multiply accumulate high and low.
    """
    first, second = (source.kind for source in instruction.sources)
    if instruction.op == "mul":
        return _begun(instruction, first, second)
    if first not in _WHOLE or second not in _WHOLE or cast("Reg", instruction.to).file != "r":
        raise refuse(instruction, f"{instruction.op} of {first} and {second} is not modelled")
    a, b, write = *(reader(instruction, s) for s in instruction.sources), writer(instruction)
    shift = 32 if instruction.op == "mach" else 0

    def finish(state: State) -> None:
        if state.products is None or state.products.size != instruction.size:
            raise refuse(instruction, "no mul has left its products in the accumulator")
        # The upper half of b, with its sign where it has one.
        state.products = state.products + (a(state) * (b(state) >> 16) << 16)
        write(state, state.products >> shift & 0xFFFFFFFF)

    return finish


def _begun(instruction: Instruction, first: str, second: str) -> Callable[[State], None]:
    """A product of which the accumulator keeps all bits, and shows the lowest 32."""
    to = cast("Reg", instruction.to)
    if to.element or first not in _WHOLE or second not in _NARROW:
        raise refuse(instruction, f"a product of {first} and {second} in acc{to.number}")
    a, b = (reader(instruction, source) for source in instruction.sources)
    write = writer(instruction)

    def begin(state: State) -> None:
        product = a(state) * b(state)
        write(state, product)
        if to.number == 0:
            state.products = product

    return begin


# ------------------------------------------------------------ arithmetic

Step = Callable[[State], None]


def _both_float(a: Values, b: Values) -> bool:
    return a.dtype.kind == "f" or b.dtype.kind == "f"


def _wide(*values: Values) -> tuple[Values, ...]:
    """Bring operands to the type they are computed in: float64, float32 or int64."""
    if any(v.dtype == np.float64 for v in values):
        return tuple(v.astype(np.float64) for v in values)
    if any(v.dtype.kind == "f" for v in values):
        return tuple(v.astype(np.float32) for v in values)
    return values


def _add(a: Values, b: Values) -> Values:
    a, b = _wide(a, b)
    return a + b


def _same(a: Values) -> Values:
    return a


def _add3(a: Values, b: Values, c: Values) -> Values:
    return _add(_add(a, b), c)


def _mul(a: Values, b: Values) -> Values:
    a, b = _wide(a, b)
    return a * b


def _mad(c: Values, a: Values, b: Values) -> Values:
    """The first source plus the product of the others, rounded once."""
    if not any(v.dtype.kind == "f" for v in (a, b, c)):
        return c + a * b
    product, wide = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + wide
    # What the sum in 53 bits lost; rounding it to odd keeps the second rounding right.
    kept = total - product
    lost = (product - (total - kept)) + (wide - kept)
    up = np.nextafter(total, np.where(lost > 0, np.inf, -np.inf))
    odd = total.view(np.int64) & 1 == 1
    return np.where((lost == 0) | odd | ~np.isfinite(total), total, up).astype(np.float32)


def _shift_left(a: Values, b: Values) -> Values:
    return a << (b & 31)


def _long_shift_left(a: Values, b: Values) -> Values:
    return a << (b & 63)


def _arithmetic_right(a: Values, b: Values) -> Values:
    return a >> (b & 31)


def _smaller(a: Values, b: Values) -> Values:
    a, b = _wide(a, b)
    return np.fmin(a, b)


def _greater(a: Values, b: Values) -> Values:
    a, b = _wide(a, b)
    return np.fmax(a, b)


def _math(of: Callable[[Values], Values]) -> Callable[[Values], Values]:
    """A function of the extended math unit, here rounded correctly."""

    def apply(a: Values) -> Values:
        return of(a.astype(np.float64)).astype(np.float32)

    return apply


MATH: dict[str, Callable[[Values], Values]] = {
    "inv": _math(lambda x: 1 / x),
    "exp": _math(np.exp2),
    "log": _math(np.log2),
    "sqt": _math(np.sqrt),
    "rsqt": _math(lambda x: 1 / np.sqrt(x)),
}

OPERATIONS: dict[str, Callable[..., Values]] = {
    "mov": _same,
    "add": _add,
    "add3": _add3,
    "mul": _mul,
    "mad": _mad,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shl": _shift_left,
    "asr": _arithmetic_right,
    "rnde": np.rint,
    "rndd": np.floor,
    "rndu": np.ceil,
    "rndz": np.trunc,
}
"""What each operation computes of its sources; ``shr``, ``sel``, ``cmp``, ``bfn`` stand apart."""

_INTEGER = frozenset({"and", "or", "xor", "not", "shl", "asr", "shr", "bfn", "add3"})
_INTEGERS = ("b", "ub", "w", "uw", "d", "ud")
_COMPARE: dict[str, Callable[[Values, Values], Any]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def arithmetic(instruction: Instruction) -> Step:
    """Return what an instruction on registers does. Raises `MachineError` for unknown ones."""
    _check(instruction)
    if instruction.op in ("mach", "macl") or _is_partial(instruction):
        return long_multiplication(instruction)
    reads = [read_of(instruction, source) for source in instruction.sources]
    if instruction.op == "cmp":
        return _compared(instruction, reads)
    if instruction.op == "sel":
        return _selected(instruction, reads)
    compute = _meaning(instruction)
    write = result_flags(instruction, write_of(instruction))
    return _stepped(reads, compute, write)


def _stepped(reads: list[Read], compute: Callable[..., Values], write: Write) -> Step:
    """Return the step that reads one, two or three sources."""
    if len(reads) == 1:
        (a,) = reads
        return lambda state: write(state, compute(a(state)))
    if len(reads) == 2:
        a, b = reads
        return lambda state: write(state, compute(a(state), b(state)))
    return lambda state: write(state, compute(*(read(state) for read in reads)))


def _is_partial(instruction: Instruction) -> bool:
    """Whether an instruction leaves a product of integers in the accumulator."""
    to = instruction.to
    return instruction.op == "mul" and to is not None and to.file == "acc" and to.kind in _WHOLE


def _meaning(instruction: Instruction) -> Callable[..., Values]:
    if instruction.op == "math":
        function = MATH.get(instruction.sub)
        kinds = {cast("Reg", s).kind for s in (instruction.to, *instruction.sources)}
        if function is None or kinds != {"f"}:
            raise refuse(instruction, f"math.{instruction.sub} of {kinds} is not modelled")
        return function
    if instruction.op == "bfn":
        return boolean(instruction)
    if instruction.op == "shr":
        return _logical_right(instruction)
    if instruction.op == "mov":
        return _moved(instruction)
    if instruction.op == "shl" and cast("Reg", instruction.to).kind in ("q", "uq"):
        return _long_shift_left
    function = OPERATIONS.get(instruction.op)
    if function is None:
        raise refuse(instruction, f"{instruction.op} is not an instruction that is executed here")
    return function


def _check(instruction: Instruction) -> None:
    """Refuse what none of the operations below means."""
    lanes = instruction.first + instruction.size
    if not instruction.unmasked and lanes > 16:
        raise refuse(instruction, "lanes beyond the 16 that are on")
    kinds = {s.kind for s in instruction.sources}
    if instruction.to is not None and instruction.to.file != "null":
        kinds.add(instruction.to.kind)
    if instruction.op in _INTEGER and kinds & {"f", "hf", "bf", "df"}:
        raise refuse(instruction, f"{instruction.op} of floats")
    narrow = {"hf", "bf"} & {s.kind for s in instruction.sources}
    if narrow and instruction.op not in ("mov",):
        raise refuse(instruction, f"arithmetic in {narrow.pop()} is not modelled")
    if kinds & {"q", "uq"} and instruction.op not in ("mov", "add", "and", "or", "xor", "shl"):
        raise refuse(instruction, f"{instruction.op} of 64-bit integers is not modelled")
    if instruction.saturate and instruction.op not in ("mov", "add", "mul", "mad"):
        raise refuse(instruction, f"saturation of {instruction.op} is not modelled")


def _moved(instruction: Instruction) -> Callable[[Values], Values]:
    """A conversion, or a copy of bits: a copy keeps those of a NaN."""
    source, to = instruction.sources[0], cast("Reg", instruction.to)
    if source.kind in ("uq", "q") and to.kind in ("f", "hf", "bf", "df"):
        raise refuse(instruction, "64-bit integers to floats are not modelled")
    return _same


def _logical_right(instruction: Instruction) -> Callable[[Values, Values], Values]:
    size = {"ub": 8, "b": 8, "uw": 16, "w": 16}.get(instruction.sources[0].kind, 32)
    return lambda a, b: (a & ((1 << size) - 1)) >> (b & 31)


def _compared(instruction: Instruction, reads: list[Read]) -> Step:
    compare = _COMPARE.get(instruction.condition)
    if compare is None:
        raise refuse(instruction, f"the condition {instruction.condition} is not modelled")
    to = cast("Reg", instruction.to)
    if to.file != "null" and to.kind not in _INTEGERS:
        raise refuse(instruction, f"cmp into {to.kind} is not modelled")
    # A register gets all ones where the condition holds, and zeros elsewhere.
    write = writer(instruction)
    start = 16 * instruction.flag + instruction.first
    stop, lanes = start + instruction.size, chosen(instruction)

    def step(state: State) -> None:
        a, b = (read(state) for read in reads)
        if _both_float(a, b):
            a, b = _wide(a, b)
        result = compare(a, b)
        # Flags of lanes that a predicate leaves off stay.
        old = state.flags[start:stop]
        state.flags[start:stop] = result if lanes is None else np.where(lanes(state), result, old)
        write(state, -np.asarray(result).astype(np.int64))

    return step


def _selected(instruction: Instruction, reads: list[Read]) -> Step:
    write = writer(instruction)
    if instruction.condition:
        choose = {"lt": _smaller, "ge": _greater}.get(instruction.condition)
        if choose is None or instruction.predicate:
            raise refuse(instruction, f"sel.{instruction.condition} is not modelled")
        return lambda state: write(state, choose(*(read(state) for read in reads)))
    start, inverted = 16 * instruction.flag + instruction.first, instruction.predicate == "-"

    def step(state: State) -> None:
        a, b = (read(state) for read in reads)
        write(state, np.where(state.flags[start : start + instruction.size] ^ inverted, a, b))

    return step
