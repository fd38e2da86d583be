"""Floor 9: layouts as equations over the digits of a coordinate, one bounded integer per mode.

Where two numbers written in digits are equal and their radices fit, digits are split and identified
here, so that isl gets linear equations over few digits instead of quotients and remainders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from pycute_xe.algebra.simplify import flat_modes
from pycute_xe.basis import Basis
from pycute_xe.errors import KernelError
from pycute_xe.layout import Layout
from pycute_xe.verifying.regions import Names, Region

__all__ = ["Digits", "Equations", "Linear", "total"]


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of digits with integer weights.

    >>> str(Linear({0: 1, 3: 16}) + Linear({3: 2}) * 4)
    'd0 + 24*d3'
    """

    weights: Mapping[int, int] = field(default_factory=dict[int, int])

    def __add__(self, other: Linear) -> Linear:
        """Add digit by digit."""
        out = dict(self.weights)
        for digit, weight in other.weights.items():
            out[digit] = out.get(digit, 0) + weight
        return Linear({digit: weight for digit, weight in out.items() if weight})

    def __mul__(self, scale: int) -> Linear:
        """Scale every weight."""
        return Linear({digit: weight * scale for digit, weight in self.weights.items() if scale})

    def __str__(self) -> str:
        """As isl text."""
        parts = (f"{w}*d{d}" if w != 1 else f"d{d}" for d, w in self.weights.items())
        return " + ".join(parts) or "0"


@dataclass(frozen=True, slots=True)
class Digits:
    """The coordinate of a layout, one digit per mode: (digit, extent, stride)."""

    modes: tuple[tuple[int, int, object], ...]

    @property
    def index(self) -> Linear:
        """The coordinate as one number, first mode fastest."""
        reach, weights = 1, dict[int, int]()
        for digit, extent, _ in self.modes:
            weights[digit] = reach
            reach *= extent
        return Linear(weights)

    @property
    def offset(self) -> Linear:
        """The layout's value, where strides are integers."""
        return Linear({d: step for d, _, step in self.modes if isinstance(step, int) and step})

    def along(self, axis: int) -> Linear:
        """The layout's value along an axis, where strides are basis elements."""
        steps = ((digit, _step(stride, axis)) for digit, _, stride in self.modes)
        return Linear({digit: step for digit, step in steps if step})


def _step(stride: object, axis: int) -> int:
    if isinstance(stride, Basis):
        if len(stride.modes) == 1:
            return int(stride.value) if stride.modes[0] == axis else 0
    elif stride == 0:
        return 0
    raise KernelError(
        "verify",
        {"stride": str(stride)},
        "the stride is no step along one mode of a tile",
        "use layouts of plain (row, column) tiles",
    )


class Equations:
    """Equations over named coordinates and the digits of layouts, collected one by one.

    >>> eq = Equations()
    >>> row, number = eq.digits(Layout((4, 2), (1, 8))), eq.digits(Layout((2, 4)))
    >>> eq.equal(row.index, number.index)
    >>> eq.name("at", row.offset)
    >>> eq.region(("at",)).within("at > 3").least()
    {'at': 8}
    """

    def __init__(self) -> None:
        self.extents: list[int | None] = []
        self.solved: dict[int, Linear] = {}
        self.constraints: list[tuple[str, tuple[Linear, ...]]] = []
        self.named: list[tuple[str, Linear]] = []

    def _digit(self, extent: int | None) -> int:
        self.extents.append(extent)
        return len(self.extents) - 1

    def digits(self, layout: Layout) -> Digits:
        """Introduce the digits of a layout's coordinate, each within its extent."""
        modes = ((int(s), d) for s, d in flat_modes(layout) if s != 1)
        return Digits(tuple((self._digit(extent), extent, step) for extent, step in modes))

    def unknown(self) -> Linear:
        """Introduce an integer of any value."""
        return Linear({self._digit(None): 1})

    def resolved(self, expression: Linear) -> Linear:
        """Write an expression in digits that are not yet expressed by others."""
        while any(digit in self.solved for digit in expression.weights):
            out = Linear()
            for digit, weight in expression.weights.items():
                out += self.solved.get(digit, Linear({digit: 1})) * weight
            expression = out
        return expression

    def demand(self, constraint: str, *expressions: Linear) -> None:
        """Demand a constraint: isl text with ``{}`` for each expression."""
        self.constraints.append((constraint, expressions))

    def name(self, name: str, expression: Linear) -> None:
        """Give an expression a name; names that come first are preferred to express the rest."""
        self.named.append((name, expression))

    def equal(self, left: Linear, right: Linear) -> None:
        """Demand that two expressions agree; identify their digits where the radices fit."""
        ours, theirs = self._number(left), self._number(right)
        fits = ours is not None and theirs is not None and self._identify(ours, theirs)
        if not fits:
            self.demand("{} = {}", left, right)

    def _identify(self, ours: list[int], theirs: list[int]) -> bool:
        """Identify digit by digit, lowest first; tell whether nothing was left over."""
        while ours and theirs:
            pair = self._matched(ours, theirs)
            if pair is None:
                return False
            if pair[0] != pair[1]:
                self.solved[pair[1]] = Linear({pair[0]: 1})
        return not ours and not theirs

    def _number(self, expression: Linear) -> list[int] | None:
        """Return the digits of a number in mixed radix, lowest first; ``None`` for another sum."""
        reach, out = 1, list[int]()
        weights = self.resolved(expression).weights
        for digit, weight in sorted(weights.items(), key=lambda item: item[1]):
            extent = self.extents[digit]
            if extent is None or weight != reach:
                return None
            out.append(digit)
            reach *= extent
        return out

    def _matched(self, ours: list[int], theirs: list[int]) -> tuple[int, int] | None:
        """Take a digit of the same extent off each number, splitting the larger one."""
        a, b = self.extents[ours[0]] or 1, self.extents[theirs[0]] or 1
        if ours[0] in self.solved or theirs[0] in self.solved:
            # A digit that both numbers hold was split under our hands.
            return None
        if a % b == 0:
            self._split_first(ours, b)
        elif b % a == 0:
            self._split_first(theirs, a)
        else:
            return None
        return ours.pop(0), theirs.pop(0)

    def _split_first(self, digits: list[int], low: int) -> None:
        extent = self.extents[digits[0]] or 1
        if extent != low:
            digits[:1] = self.split(digits[0], low)

    def split(self, digit: int, low: int) -> list[int]:
        """Write a digit as two: one below ``low``, which divides its extent, and the rest."""
        extent = self.extents[digit] or 1
        parts = [self._digit(low), self._digit(extent // low)]
        self.solved[digit] = Linear({parts[0]: 1, parts[1]: low})
        return parts

    def divided(self, expression: Linear, by: int) -> tuple[Linear, Linear]:
        """Return remainder and quotient of an expression that is never negative.

        >>> eq = Equations()
        >>> low, high = eq.divided(eq.digits(Layout((4, 16), (1, 4))).offset, 16)
        >>> eq.name("low", low); eq.name("high", high)
        >>> eq.region(("low", "high")).within("low > 12").least()
        {'low': 13, 'high': 0}
        """
        for digit, weight in list(self.resolved(expression).weights.items()):
            extent = self.extents[digit] or 1
            if weight < by < weight * extent and by % weight == 0 and extent % (by // weight) == 0:
                self.split(digit, by // weight)
        weights = self.resolved(expression).weights
        low = {digit: weight for digit, weight in weights.items() if weight % by}
        reach = sum(weight * ((self.extents[d] or by + 1) - 1) for d, weight in low.items())
        if reach < by and all(weight > 0 for weight in weights.values()):
            high = {digit: weight // by for digit, weight in weights.items() if digit not in low}
            return Linear(low), Linear(high)
        remainder, quotient = self.unknown(), self.unknown()
        self.demand(f"{{}} = {{}} + {by}*({{}})", expression, remainder, quotient)
        self.demand(f"0 <= {{}} < {by}", remainder)
        return remainder, quotient

    def region(self, names: Names) -> Region:
        """Return the values of the names for which the digits can satisfy everything."""
        known = self._read_off()
        text = {i: known.get(i, f"d{i}") for i in range(len(self.extents)) if i not in self.solved}

        def written(expression: Linear) -> str:
            weights = self.resolved(expression).weights
            return " + ".join(f"{weight}*({text[d]})" for d, weight in weights.items()) or "0"

        constraints = [f"{name} = {written(value)}" for name, value in self.named]
        constraints += [
            f"({form.format(*map(written, values))})" for form, values in self.constraints
        ]
        constraints += [f"0 <= {text[i]} < {n}" for i in text if (n := self.extents[i]) is not None]
        whole = " and ".join(constraints) or "true"
        hidden = ",".join(name for i, name in text.items() if i not in known)
        return Region.where(names, f"exists ({hidden} : {whole})" if hidden else whole)

    def _read_off(self) -> dict[int, str]:
        """Return digits as quotients and remainders of the names that are numbers in digits."""
        out: dict[int, str] = {}
        for name, value in self.named:
            weights = sorted((w, digit) for digit, w in self.resolved(value).weights.items())
            if not self._is_number(weights):
                continue
            for i, (weight, digit) in enumerate(weights):
                quotient = f"floor({name}/{weight})" if weight > 1 else name
                if i + 1 < len(weights):
                    above = weights[i + 1][0]
                    quotient += f" - {above // weight}*floor({name}/{above})"
                out.setdefault(digit, quotient)
        return out

    def _is_number(self, weights: list[tuple[int, int]]) -> bool:
        """Tell whether a sum of digits, weight and digit each, says what each digit is."""
        reach = 1
        for weight, digit in weights:
            extent = self.extents[digit]
            if extent is None or weight < reach:
                return False
            reach = weight * extent
        return all(high % low == 0 for (low, _), (high, _) in pairwise(weights))


def total(parts: Iterable[Linear]) -> Linear:
    """Return the sum of expressions."""
    out = Linear()
    for part in parts:
        out += part
    return out
