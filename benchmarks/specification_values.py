"""The value of a specification by an evaluator of its own: what a claim means, once more.

It takes no meaning from the package: neither functions, nor roundings, nor sums, nor how sizes are
bound. Sums and maxima are followed term by term. Integers are exact, whatever their size; floats
are float64. Where a claim takes what has no value (an element outside an operand, scratch, the
old value of an output) it has no value there, and says so: `NoValueError`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from pycute_xe.kernel import Index, Kernel, Operand, Specification
from pycute_xe.kernel.index import Looked, Quotient
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Total,
    Where,
)

__all__ = ["NoValueError", "computed", "rounded", "sizes_of", "values"]

Array: TypeAlias = Any
NARROW_INTEGERS = ("int4", "uint4", "int2", "uint2")


class NoValueError(Exception):
    """A claim has no value at some element."""


# ---------------------------------------------------------------- roundings

FLOATS = {
    "f32": (24, -126, 2.0**128 - 2.0**104),
    "f16": (11, -14, 65504.0),
    "bf16": (8, -126, 2.0**128 - 2.0**120),
    "tf32": (11, -126, 2.0**128 - 2.0**117),
    "f8e4m3": (4, -6, 448.0),
    "f8e5m2": (3, -14, 57344.0),
    "f4e2m1": (2, 0, 6.0),
}
"""Digits, the least exponent of a normal number, and the largest finite number. Sources: IEEE 754;
OCP 8-bit floating point 1.0, table 1; OCP Microscaling Formats 1.0, table 1; vISA manual, FCVT."""


def rounded(x: Array, kind: str) -> Array:
    """Return numbers as those of a type: integers for integer types, else float64."""
    if kind[0] in "su" and kind[1:].isdigit():
        return _integers(x, kind)
    x = _float(x)
    if kind == "f64":
        return x
    if kind == "ue8m0":
        return _power_of_two(x)
    digits, least, most = FLOATS[kind]
    with np.errstate(all="ignore"):
        finite = np.where(np.isfinite(x), x, 0.0)
        exponent = np.maximum(np.frexp(finite)[1] - 1, least)
        exponent = np.where(finite == 0, least, exponent)
        unit = exponent - (digits - 1)
        near = np.ldexp(np.rint(np.ldexp(finite, -unit)), unit)
        near = np.copysign(near, x)
        if kind == "tf32":  # denormals are flushed
            near = np.where(np.abs(near) < 2.0**least, np.copysign(0.0, x), near)
        beyond = {"f8e4m3": np.nan, "f4e2m1": most}.get(kind, np.inf)
        large = (np.abs(near) > most) | np.isinf(x)
        near = np.where(large, np.copysign(beyond, x), near)
        return np.where(np.isnan(x), 0.0 if kind == "f4e2m1" else np.nan, near)


def _power_of_two(x: Array) -> Array:
    """The nearest power of two, the larger of two; nothing below 2^-127, and no other numbers."""
    with np.errstate(all="ignore"):
        part, exponent = np.frexp(np.where(np.isfinite(x) & (x > 0), x, 1.0))
        up = np.where(part >= 0.75, exponent, exponent - 1)
        found = np.ldexp(1.0, np.maximum(up, -127))
        return np.where(~(x >= 0) | (found > 2.0**127) | np.isinf(x), np.nan,
                        np.where(x == 0, 2.0**-127, found))  # fmt: skip


def _limits(kind: str) -> tuple[int, int]:
    bits = int(kind[1:])
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind[0] == "s" else (0, 2**bits - 1)


def _integers(x: Array, kind: str) -> Array:
    """Nearest even, saturated, a NaN to 0: one number after the other, as Python's integers."""
    low, high = _limits(kind)
    if x.dtype.kind == "f":
        flat = [_whole(float(v), low, high) for v in x.ravel()]
    else:
        flat = [min(max(int(v), low), high) for v in x.ravel()]
    return _tight(np.array(flat, dtype=object).reshape(x.shape))


def _whole(value: float, low: int, high: int) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(round(value), low), high)  # Python rounds halves to even


def _tight(x: Array) -> Array:
    """Integers as int64 where no sum or product of two of them leaves 64 bits."""
    if x.dtype != object:
        return x
    most = max((abs(int(v)) for v in x.ravel()), default=0)
    return x.astype(np.int64) if most < 2**62 else x


def _float(x: Array) -> Array:
    return np.asarray(x, np.float64) if x.dtype != object else x.astype(np.float64)


# ---------------------------------------------------------------- functions


def _pair(x: Array, y: Array) -> tuple[Array, Array]:
    """Both as integers, wide enough for their sum and product, or both as floats."""
    if x.dtype.kind == "f" or y.dtype.kind == "f":
        return _float(x), _float(y)
    if x.dtype != object and y.dtype != object and _most(x) < 2**31 and _most(y) < 2**31:
        return x, y
    return x.astype(object), y.astype(object)


def _most(x: Array) -> int:
    return max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0


def _larger(x: Array, y: Array) -> Array:
    x, y = _pair(x, y)
    return np.where((x >= y) | (x != x), x, y)


def _smaller(x: Array, y: Array) -> Array:
    x, y = _pair(x, y)
    return np.where((x <= y) | (x != x), x, y)


def _each(function: Any) -> Any:
    """What a function of one float makes of each element."""

    def whole(x: Array) -> Array:
        x = _float(x)
        return np.array([function(float(v)) for v in x.ravel()], np.float64).reshape(x.shape)

    return whole


def _sigmoid(x: float) -> float:
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    return math.exp(x) / (1 + math.exp(x))


def _quiet(function: Any) -> Any:
    def asked(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return asked


def _log(x: float) -> float:
    return -math.inf if x == 0 else math.log(x)


def _divided(x: Array, y: Array) -> Array:
    return np.divide(_float(x), _float(y))


MEANINGS: dict[str, Any] = {
    "add": lambda x, y: np.add(*_pair(x, y)),
    "mul": lambda x, y: np.multiply(*_pair(x, y)),
    "div": _divided,
    "max": _larger,
    "min": _smaller,
    "abs": lambda x: _larger(x, -x),
    "relu": lambda x: _larger(x, np.zeros_like(x)),
    "clamp": lambda x, low, high: _smaller(_larger(x, low), high),
    "exp": _each(_quiet(math.exp)),
    "exp2": _each(_quiet(lambda x: math.inf if x >= 1024 else 2.0**x)),
    "log": _each(_quiet(_log)),
    "sqrt": _each(_quiet(math.sqrt)),
    "rsqrt": _each(_quiet(lambda x: math.inf if x == 0 else 1 / math.sqrt(x))),
    "tanh": _each(math.tanh),
    "sigmoid": _each(_sigmoid),
    "silu": _each(lambda x: x * _sigmoid(x)),
    "gelu": _each(lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2)))),
    "at_least": lambda x, y: np.where(_float(x) >= _float(y), 1, 0),
    "below": lambda x, y: np.where(_float(x) < _float(y), _float(x), -np.inf),
}
"""What each function does, from the README's words for it."""

# ---------------------------------------------------------------- sizes


def sizes_of(
    operands: Iterable[Operand],
    inputs: Mapping[str, Array],
    known: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return the sizes that the shapes of inputs say, and those that are told."""
    found = dict(known or {})
    for operand in operands:
        if operand.name in inputs:
            for mode, extent in zip(operand.modes, np.shape(inputs[operand.name]), strict=True):
                if mode.offset == 0 and len(mode.terms) == 1:
                    ((atom, scale),) = mode.terms
                    if isinstance(atom, str) and scale == 1:
                        found.setdefault(atom, extent)
    return found


# ---------------------------------------------------------------- expressions


@dataclass
class _Reader:
    """Evaluates expressions of one claim: an axis for each index of the output.

    A summed variable is a number, which changes from term to term. Each part of an expression is
    remembered for the numbers that it depends on. A value goes with a mask of where it has none.
    """

    arrays: Mapping[str, Array]
    axes: dict[str, Array]
    sizes: Mapping[str, int]
    rank: int
    memory: dict[Any, tuple[Array, Array]] = field(default_factory=dict[Any, Any])
    free: dict[int, tuple[str, ...]] = field(default_factory=dict[int, Any])

    def value(self, part: Expression, terms: dict[str, int]) -> tuple[Array, Array]:
        """Return the value and where it is missing, of arrays that broadcast over the output."""
        key = (id(part), tuple(terms[n] for n in self.depends(part) if n in terms))
        if key not in self.memory:
            self.memory[key] = self.evaluated(part, terms)
        return self.memory[key]

    def depends(self, part: Expression) -> tuple[str, ...]:
        if id(part) not in self.free:
            self.free[id(part)] = tuple(sorted(_names(part)))
        return self.free[id(part)]

    def evaluated(self, part: Expression, terms: dict[str, int]) -> tuple[Array, Array]:
        match part:
            case Const(value):
                whole = math.isfinite(value) and value == int(value)
                if value == 0 and math.copysign(1, value) < 0:
                    whole = False
                return self.lifted(int(value) if whole else value), self.nowhere
            case Element(operand, at):
                return self.element(operand, [self.index(i, terms) for i in at])
            case Apply(function, arguments):
                found = [self.value(a, terms) for a in arguments]
                missing = self.nowhere
                for _, none in found:
                    missing = missing | none
                return MEANINGS[function](*(x for x, _ in found)), missing
            case Rounded(to, body):
                inner, missing = self.value(body, terms)
                return rounded(inner, to.name), missing
            case Where(index, below, then, otherwise):
                return self.chosen(index, below, (then, otherwise), terms)
            case Total():
                return self.total(part, terms)
        raise NoValueError(f"{type(part).__name__} has no value in a claim")

    @property
    def nowhere(self) -> Array:
        return np.zeros((1,) * self.rank, bool)

    def lifted(self, number: Any) -> Array:
        wide = isinstance(number, int) and abs(number) >= 2**62
        return np.array(number, dtype=object if wide else None).reshape((1,) * self.rank)

    def index(self, index: Index, terms: dict[str, int]) -> tuple[Array, Array]:
        """Return an index at every element, and where it has no value."""
        found, missing = self.lifted(index.offset), self.nowhere
        for atom, scale in index.terms:
            value, none = self.atom(atom, terms)
            found, missing = found + value * scale, missing | none
        return found, missing

    def atom(self, atom: Any, terms: dict[str, int]) -> tuple[Array, Array]:
        if isinstance(atom, Quotient):
            value, none = self.index(atom.index, terms)
            return value // atom.divisor, none  # rounded down, as Python does
        if isinstance(atom, Looked):
            return self.element(atom.operand, [self.index(i, terms) for i in atom.at])
        if atom in terms:
            return self.lifted(terms[atom]), self.nowhere
        if atom in self.axes:
            return self.axes[atom], self.nowhere
        if atom not in self.sizes:
            raise NoValueError(f"{atom} is not bound")
        return self.lifted(self.sizes[atom]), self.nowhere

    def element(self, name: str, at: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        if name not in self.arrays:
            return self.lifted(0), ~self.nowhere  # scratch, or what an output was before
        array, missing = self.arrays[name], self.nowhere
        places: list[Array] = []
        for (place, none), extent in zip(at, array.shape, strict=True):
            missing = missing | none | (place < 0) | (place >= extent)
            places.append(np.clip(place, 0, max(extent - 1, 0)))
        if not array.size:
            return self.lifted(0), ~self.nowhere
        return (array[tuple(places)] if places else self.lifted(array[()])), missing

    def chosen(
        self, index: Index, below: Index, branches: tuple[Expression, ...], terms: dict[str, int]
    ) -> tuple[Array, Array]:
        (left, none), (right, other) = self.index(index, terms), self.index(below, terms)
        here = left < right
        (then, no_then), (rest, no_rest) = (self.value(b, terms) for b in branches)
        if "f" in (then.dtype.kind, rest.dtype.kind):
            then, rest = _float(then), _float(rest)
        value = np.where(here, then, rest)
        return value, none | other | np.where(here, no_then, no_rest)

    def total(self, part: Total, terms: dict[str, int]) -> tuple[Array, Array]:
        """Follow a sum or a maximum term by term; each element has as many as its extents say."""
        starts_float = part.how == "max"
        found = self.lifted(-math.inf if starts_float else 0)
        missing, any_term = self.nowhere, self.nowhere
        for here, inside, none in self.terms(part.over, terms):
            missing = missing | none
            if not inside.any():
                continue
            value, no_value = self.value(part.body, here)
            missing = missing | (inside & no_value)
            if part.how == "sum":
                new = MEANINGS["add"](found, value)
            else:
                new = value if not any_term.any() else MEANINGS["max"](found, value)
                any_term = any_term | inside
            found = new if inside.all() else _kept(inside, new, found)
        kind = part.accumulator
        if kind is not None and kind.kind != "float" and found.dtype.kind != "f":
            found = _wrapped(found, kind.name)
        return found, missing

    def terms(self, over: tuple[tuple[str, Index], ...], outer: dict[str, int]) -> Any:
        """Yield the numbers of each term, and where the extents reach it."""
        names = [name for name, _ in over]
        limits = [self.index(extent, outer) for _, extent in over]
        none = self.nowhere
        for _, missing in limits:
            none = none | missing
        counts = [int(limit.max()) if limit.size else 0 for limit, _ in limits]
        yield dict(outer), self.nowhere, none
        for numbers in np.ndindex(*(max(count, 0) for count in counts)):
            inside = ~self.nowhere
            for number, (limit, _) in zip(numbers, limits, strict=True):
                inside = inside & (number < limit)
            yield {**outer, **dict(zip(names, map(int, numbers), strict=True))}, inside, none


def _kept(inside: Array, new: Array, old: Array) -> Array:
    if "f" in (new.dtype.kind, old.dtype.kind):
        new, old = _float(new), _float(old)
    return np.where(inside, new, old)


def _wrapped(x: Array, kind: str) -> Array:
    """Only the lowest bits, as registers of integers keep them."""
    low, high = _limits(kind)
    flat = [(int(v) - low) % (high - low + 1) + low for v in x.ravel()]
    return _tight(np.array(flat, dtype=object).reshape(x.shape))


def _names(part: Any) -> set[str]:
    """The names that the value of an expression or an index depends on."""
    match part:
        case Index():
            return {n for atom, _ in part.terms for n in _names(atom)}
        case str():
            return {part}
        case Quotient(index, _):
            return _names(index)
        case Looked(_, at) | Element(_, at):
            return {n for index in at for n in _names(index)}
        case Apply(_, arguments):
            return {n for a in arguments for n in _names(a)}
        case Rounded(_, body):
            return _names(body)
        case Where(index, below, then, otherwise):
            return _names(index) | _names(below) | _names(then) | _names(otherwise)
        case Total(_, over, body):
            inner = _names(body) - {name for name, _ in over}
            return inner | {n for _, extent in over for n in _names(extent)}
        case _:
            return set()


# ---------------------------------------------------------------- specifications


def values(
    specification: Specification,
    operands: Iterable[Operand],
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
) -> dict[str, Array]:
    """Return what each output should be; integers where only integers are involved.

    ``inputs`` are arrays by operand. Raises `NoValueError` where a claim takes what has no value.
    """
    declared = {operand.name: operand for operand in operands}
    given = {
        name: _read(value)
        for name, value in inputs.items()
        if name in declared and declared[name].role in ("in", "inout")
    }
    known = sizes_of(declared.values(), given, sizes)
    out: dict[str, Array] = {}
    for claim in specification.claims:
        with np.errstate(all="ignore"):
            found, missing, shape = _claimed(claim, declared[claim.output], given, known)
        if np.broadcast_to(missing, shape).any():
            place = np.argwhere(np.broadcast_to(missing, shape))[0].tolist()
            raise NoValueError(f"{claim.output}{place} has no value")
        out[claim.output] = np.array(np.broadcast_to(found, shape))
    return out


def _claimed(
    claim: Any, operand: Operand, given: Mapping[str, Array], known: Mapping[str, int]
) -> tuple[Array, Array, tuple[int, ...]]:
    rank = len(operand.modes)
    empty = _Reader(given, {}, known, 0)
    shape = tuple(int(empty.index(mode, {})[0]) for mode in operand.modes)
    axes = {
        name: np.arange(extent).reshape([-1 if i == axis else 1 for i in range(rank)])
        for axis, (name, extent) in enumerate(zip(claim.indices, shape, strict=True))
    }
    return *_Reader(given, axes, known, rank).value(claim.value, {}), shape


def _read(value: Any) -> Array:
    """An input as exact integers or as float64."""
    array = np.asarray(value)
    if array.dtype.name in NARROW_INTEGERS or array.dtype.kind in "bi":
        return array.astype(np.int64)
    if array.dtype.kind == "u":
        return _tight(np.array([int(v) for v in array.ravel()], object).reshape(array.shape))
    return array.astype(np.float64)


def computed(
    kernel: Kernel, inputs: Mapping[str, Array], sizes: Mapping[str, int] | None = None
) -> dict[str, Array]:
    """Return what a kernel's specification says of inputs, by output."""
    if kernel.computes is None:
        raise NoValueError(f"nothing is claimed of {kernel.name}")
    return values(kernel.computes, kernel.operands, inputs, sizes)
