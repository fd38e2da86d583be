"""Data that show a slip: drawn from the constants, comparisons, masks and conversions of a kernel.

A slip is the kernel with one decision of a statement changed (`slips`). Random numbers show most of
them. For the others, `telling` tries data at which decisions matter (`regimes`): rows far from
zero, rows of zeros, numbers as small as a constant, ties, numbers beyond a narrow type, other
tables. It returns those on which most of the output changes, within a fixed number of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import bounds
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Fill, Kernel, Map, Statement, Touched
from pycute_xe.kernel.ir.effects import RegisterMove
from pycute_xe.kernel.probes import edges
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Expression,
    Rounded,
    Slot,
    Total,
    Where,
    apply,
    parts,
)
from pycute_xe.kernel.spec.functions import CHOOSING, COMPARING, MASKING
from pycute_xe.native.restated import as_map
from pycute_xe.numeric import Numeric

__all__ = ["Regime", "regimes", "slips", "telling"]

# ------------------------------------------------------------ slips


def slips(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Yield kernels with one decision changed, each with words for the change.

    Changed are constants (to 0, to the negative), the bounds of masks (by 1), the branches of
    masks, the arguments that a maximum or minimum chooses among, the first values of what is
    accumulated, and what a conversion does beyond half of a narrow type's range. Conditions on
    statements are left out: messages that are sent or missing show these. A statement that
    computes elements and does more is left as it is.
    """
    unclaimed, seen = kernel.without_claims(), set[str]()
    for statement in unclaimed.statements():
        for words, changed in _changes(unclaimed, statement):
            key = f"{', '.join(statement.touched.writes)}: {words}"
            if key in seen:
                continue
            seen.add(key)
            with suppress(CuteError):  # not a kernel any more
                yield key, unclaimed.replace(statement, changed)


def _changes(
    kernel: Kernel, statement: Statement
) -> Iterator[tuple[str, Statement | tuple[Statement, ...]]]:
    touched = statement.touched
    if touched.writes and touched == Touched(writes=touched.writes):  # it depends on nothing
        zeros = tuple(Fill(name, 0.0) for name in touched.writes)
        if zeros != (statement,):
            yield f"{statement} to 0", zeros
    elif (computing := as_map(statement)) is not None:
        for words, other in _bent(computing.value):
            read = {x.fragment for x in _within(other) if isinstance(x, Slot)}
            used = tuple(pair for pair in computing.gathers if pair[0] in read)
            yield words, replace(computing, value=other, gathers=used)
    elif (move := touched.move) is not None and (ends := _narrowed(kernel, move)) is not None:
        low, high = (end / 2 for end in ends)
        clamped = apply("max", apply("min", Slot(move.source), Const(high)), Const(low))
        yield f"{move.source} within {low} and {high}", (Map(move.source, clamped), statement)


def _narrowed(kernel: Kernel, move: RegisterMove) -> tuple[float, float] | None:
    """The ends of the type that a conversion in place goes to, if the source goes beyond them."""
    if move.slots is not None:
        return None
    to = kernel.fragment(move.destination).value_type
    ends, source = _ends(to), _ends(kernel.fragment(move.source).value_type)
    return ends if source[1] > ends[1] and ends[1] < 2.0**24 else None


def _ends(kind: Numeric) -> tuple[float, float]:
    """The least and the largest finite number of a type."""
    if kind.kind != "float":
        low, high = bounds(kind)
        return float(low), float(high)
    most = float(edges(kind).max())
    return -most, most


def _bent(value: Expression) -> Iterator[tuple[str, Expression]]:
    """Yield an expression with one decision of it changed, and words for the change."""
    yield from _changed_here(value)
    match value:
        case Apply(arguments=arguments):
            for at, part in enumerate(arguments):
                for words, other in _bent(part):
                    yield words, replace(value, arguments=_with(arguments, at, other))
        case Where(then=then, otherwise=otherwise):
            for words, other in _bent(then):
                yield words, replace(value, then=other)
            for words, other in _bent(otherwise):
                yield words, replace(value, otherwise=other)
        case Rounded(body=body) | Total(body=body):
            for words, other in _bent(body):
                yield words, replace(value, body=other)
        case _:
            return


def _with(arguments: tuple[Expression, ...], at: int, part: Expression) -> tuple[Expression, ...]:
    return (*arguments[:at], part, *arguments[at + 1 :])


def _changed_here(value: Expression) -> Iterator[tuple[str, Expression]]:
    match value:
        case Const(number) if number:
            yield f"{number} to 0", Const(0.0)
            yield f"{number} negated", Const(-number)
        case Where(index, below, then, otherwise):
            for by in (-1, 1):
                yield f"{index} < {below}{by:+}", replace(value, below=below + by)
            yield f"{value} always", then
            yield f"{value} never", otherwise
        case Apply(name, (first, second)) if name in CHOOSING:
            yield f"{name} is its first argument", first
            yield f"{name} is its second argument", second
        case Apply("at_least", (first, second)):
            yield "at least becomes greater", 1 + -1 * apply("at_least", second, first)
        case Apply(name, (first, *_)) if name in MASKING:
            yield f"{name} masks nothing", first
        case Apply(name, (argument,)) if name in CHOOSING:
            yield f"{name} left out", argument
        case _:
            return


# ------------------------------------------------------------ regimes


@dataclass(frozen=True, slots=True)
class Regime:
    """How the arrays of a problem are drawn, all of them or one.

    ``far``: numbers around ``by``, and positive ones in the other arrays; ``zeros``: nothing but
    zeros; ``empty``: minus infinity, as of a row without any element; ``scaled``: random numbers
    times ``by``; ``ties``: -1, 0 and 1.
    """

    how: Literal["far", "zeros", "empty", "scaled", "ties"]
    operand: str = ""
    by: float = 0.0

    def __str__(self) -> str:
        """The data in words."""
        where = self.operand or "all"
        return {
            "far": f"{where} around {self.by:g}",
            "zeros": f"{where} zeros",
            "empty": f"{where} minus infinity",
            "scaled": f"{where} around {self.by:.2g} in size",
            "ties": "few numbers, many times",
        }[self.how]

    def draw(
        self, name: str, kind: Numeric, shape: tuple[int, ...], rng: np.random.Generator
    ) -> NDArray[Any] | None:
        """Return the numbers of an operand; None where they are any."""
        chosen, low, high = self.operand in ("", name), *_ends(kind)
        normal = rng.standard_normal(shape)
        if kind.kind != "float":
            normal = np.rint(4 * normal)
        match self.how:
            case "far":
                drawn = self.by + normal if chosen and shape else np.abs(normal)
            case "zeros":
                drawn = np.zeros(shape) if chosen and shape else None
            case "empty":
                if kind.kind != "float" or not (chosen and shape):
                    return None
                return np.full(shape, -inf if kind.bits >= 16 else low)
            case "scaled":
                drawn = self.by * rng.standard_normal(shape) if chosen and shape else None
            case "ties":
                drawn = rng.integers(-1, 2, shape) if shape else None
        return None if drawn is None else np.clip(drawn, low, high)


FAR = 200.0
"""exp(-200) is zero in f32: what a row that far from zero is compared with, or left out, shows."""
LEAST = 2.0**127
"""Half of the largest number of f32 and bf16; narrower types are given their own largest."""
_MOST_CONSTANTS = 3


def regimes(kernel: Kernel) -> list[Regime]:
    """Return the regimes that the values of a kernel call for, those that tell most first."""
    arrays = [o.name for o in kernel.inputs if o.modes and o.value_type.kind == "float"]
    effects = [statement.touched for statement in kernel.statements()]
    maps = [t.elementwise.value for t in effects if t.elementwise is not None]
    expressions = [part for value in maps for part in _within(value)]
    numbers = sorted({abs(x.value) for x in expressions if isinstance(x, Const)})
    numbers = [x for x in numbers if isfinite(x) and (0 < x < 0.1 or 4 < x < 2.0**24)]
    out = [Regime("far", "", -FAR)]
    out += [Regime("far", name, -FAR) for name in arrays if len(arrays) > 1]
    out += [Regime("zeros")]
    out += [Regime("empty", name) for name in arrays]
    out += [Regime("far", name, -LEAST) for name in arrays]
    for number in numbers[:_MOST_CONSTANTS]:
        names = ["", *arrays] if len(arrays) > 1 else [""]
        out += [Regime("scaled", name, by) for name in names for by in (sqrt(number), number)]
    if any(
        isinstance(x, Apply) and x.function in COMPARING | MASKING | CHOOSING for x in expressions
    ):
        out += [Regime("ties")]
    moves = [t.move for t in effects if t.move is not None]
    ends = {ends[1] for move in moves if (ends := _narrowed(kernel, move)) is not None}
    out += [Regime("scaled", "", 2 * high) for high in sorted(ends)]
    out += [Regime("far", "", FAR)]
    out += [Regime("zeros", name) for name in arrays if len(arrays) > 1]
    return out


def _within(value: Expression) -> Iterator[Expression]:
    yield value
    for part in parts(value):
        yield from _within(part)


# ------------------------------------------------------------ choice

Outputs: TypeAlias = "Mapping[str, NDArray[Any]]"
Try: TypeAlias = "Callable[[Kernel, Regime | None], Outputs]"
"""What a kernel makes of a regime's data; of random numbers for None."""
Differing: TypeAlias = "Callable[[Outputs, Outputs], Mapping[str, NDArray[np.bool_]]]"
"""Which elements of what is expected and of what is there differ, by output."""

MOST_RUNS = 120
"""Runs that may be spent on the choice."""
ENOUGH = 1 / 8
"""The share of an output that must change: a slip may be in one of 16 rows or lanes."""


def telling(kernel: Kernel, attempt: Try, differing: Differing) -> tuple[Regime, ...]:
    """Return the regimes that show slips which random numbers do not, each slip by the best of all.

    Regimes that give a NaN, and those that the kernel refuses, are left out.
    """
    runs = _Runs(attempt, differing)
    expected = runs.expected(kernel, None)
    if expected is None:
        return ()
    best: dict[str, tuple[float, Regime | None]] = {}
    hidden: dict[str, Kernel] = {}
    for words, changed in slips(kernel):
        if runs.left <= 0:
            break
        share = runs.share(changed, None, expected)
        best[words] = share, None
        if share < ENOUGH:
            hidden[words] = changed
    for regime in regimes(kernel) if hidden else ():
        if runs.left <= len(hidden) or not hidden:
            break
        expected = runs.expected(kernel, regime)
        for words, changed in [*hidden.items()] if expected is not None else ():
            share = runs.share(changed, regime, expected)
            if share > 2 * best[words][0]:
                best[words] = share, regime
            if share >= ENOUGH:
                del hidden[words]
    return tuple(dict.fromkeys(regime for _, regime in best.values() if regime is not None))


@dataclass
class _Runs:
    """Runs of kernels on regimes, counted."""

    attempt: Try
    differing: Differing
    left: int = MOST_RUNS

    def expected(self, kernel: Kernel, regime: Regime | None) -> Outputs | None:
        """Return what the kernel gives; None where it refuses, or gives a NaN."""
        self.left -= 1
        try:
            out = self.attempt(kernel, regime)
        except CuteError:
            return None
        return None if any(bool((x != x).any()) for x in out.values()) else out

    def share(self, changed: Kernel, regime: Regime | None, expected: Any) -> float:
        """Return the largest share of an output that a slip changes; 1 for what is refused."""
        self.left -= 1
        try:
            there = self.attempt(changed, regime)
        except CuteError:
            return 1.0
        different = self.differing(expected, there)
        return max((float(where.mean()) for where in different.values() if where.size), default=0.0)
