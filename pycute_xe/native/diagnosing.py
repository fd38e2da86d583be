"""What wrong values look like: another sign, another lane, a rounding, fewer bits.

Each kind is a hypothesis about the elements that are wrong, and about these alone: the first that
explains all of them names the difference. Where none does, values differ, and no more is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Expression,
    Rounded,
    apply,
    parts,
)
from pycute_xe.native.differing import Difference
from pycute_xe.native.restated import as_map
from pycute_xe.numeric import Numeric

__all__ = ["Wrong", "diagnosed"]

Array: TypeAlias = NDArray[Any]
Again: TypeAlias = Callable[[Kernel, Mapping[str, Any]], Mapping[str, Array]]
"""What a kernel makes of operands."""


@dataclass(frozen=True)
class Wrong:
    """An output: its type, what is expected, what is there, and where that is wrong.

    ``allowed`` is how far it may be apart as a share of its largest element.
    """

    name: str
    kind: Numeric
    expected: Array
    got: Array
    where: NDArray[np.bool_]
    allowed: float = 0.0

    @property
    def element(self) -> str:
        """The first wrong element."""
        return f"{self.name}[{', '.join(str(int(i[0])) for i in np.nonzero(self.where))}]"

    @property
    def words(self) -> str:
        """How many elements are wrong, and what the first is."""
        count, at = int(np.count_nonzero(self.where)), tuple(i[0] for i in np.nonzero(self.where))
        first = f"{self.got[at]} instead of {self.expected[at]}"
        return f"{count} of {self.got.size} elements differ, {self.element} is {first}"

    def numbers(self) -> tuple[Array, Array]:
        """What is expected at the wrong elements, and what is there."""
        return tuple(x[self.where].astype(np.float64) for x in (self.expected, self.got))  # pyright: ignore[reportReturnType]

    def explained(self, instead: Array) -> bool:
        """Whether these are what is there at the wrong elements, as near as is allowed."""
        values, there = instead.astype(np.float64), self.got[self.where].astype(np.float64)
        same = (values == there) | ((values != values) & (there != there))
        if self.allowed:
            step = np.abs(there) * 2.0 ** (1 - _bits(self.kind))
            with np.errstate(invalid="ignore"):
                same |= np.abs(values - there) <= self.allowed * _largest(self) + step
        return bool(same.all())


def diagnosed(
    kernel: Kernel, given: Mapping[str, Any], wrong: list[Wrong], again: Again
) -> Difference:
    """Return the kind of wrong values, with the first of them."""
    first = wrong[0]
    for kind, why in _hypotheses(kernel, given, wrong, again):
        return Difference(kind, first.element, f"{first.words}; {why}")
    return Difference("values", first.element, first.words)


def _hypotheses(
    kernel: Kernel, given: Mapping[str, Any], wrong: list[Wrong], again: Again
) -> Iterator[tuple[str, str]]:
    if all(map(_negative, wrong)):
        yield "sign", "each is the negative of what it should be"
    negated = () if all(map(_one_number, wrong)) else _negated(kernel, given, again)
    for what, outputs in negated:
        if all(one.explained(outputs[one.name][one.where]) for one in wrong):
            yield "sign", f"each is what it is with {what} negated"
    if all(one.kind.kind != "float" and _within(one, 1) for one in wrong):
        yield "rounding", "none by more than 1"
    for one in wrong:
        if (axis := _lanes(one)) is not None:
            yield "lanes", axis
    yield from _of_bits(kernel, wrong)


def _of_bits(kernel: Kernel, wrong: list[Wrong]) -> Iterator[tuple[str, str]]:
    """Tell fewer bits, and what a rounding leaves, by how far wrong elements are off."""
    for bits in (8, 11, 16):
        if all(_has_only(one, bits) for one in wrong):
            yield "precision", f"each has {bits} bits at most"
    kinds = {one.kind for one in wrong} | _rounded_to(kernel)
    for kind in sorted(kinds, key=lambda k: -_bits(k)):
        if all(_within(one, _step(one, kind)) for one in wrong):
            yield "rounding", f"none by more than a step of {kind}"
    for bits in range(22, 4, -1):
        if all(_within(one, 2.0**-bits * _largest(one)) for one in wrong):
            on_the_way = any(_bits(kind) <= bits < _bits(wrong[0].kind) for kind in kinds)
            name = "rounding" if on_the_way else "precision"
            yield name, f"none by more than 2^-{bits} of the largest element"


def _has_only(one: Wrong, bits: int) -> bool:
    """Whether several wrong floats all have so few bits, fewer than their type, and none should."""
    if one.kind.kind != "float" or bits >= _bits(one.kind):
        return False
    short, long = (_bits_used(x) <= bits for x in reversed(one.numbers()))
    return short.size > 1 and bool(short.all()) and not bool(long.all())


def _bits_used(values: Array) -> NDArray[np.int64]:
    """How many bits the significand of each number takes, 0 for what is not finite."""
    significand, _ = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = np.abs(significand * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1]
    return np.where(whole == 0, 0, 54 - lowest)


def _negative(one: Wrong) -> bool:
    expected, _ = one.numbers()
    return one.explained(-expected)


def _one_number(one: Wrong) -> bool:
    """Whether several wrong elements are all one number: a sign leaves more than that."""
    values = np.unique(one.numbers()[1])
    return values.size == 1 and int(np.count_nonzero(one.where)) > 1


def _within(one: Wrong, allowed: Any) -> bool:
    expected, got = one.numbers()
    with np.errstate(invalid="ignore"):
        return bool(np.all(np.abs(expected - got) <= allowed))


def _bits(kind: Numeric) -> int:
    return kind.row.significand or kind.bits


def _step(one: Wrong, kind: Numeric) -> Any:
    """The distance of neighbours of a type, at each wrong element; 1 for integers."""
    if kind.kind != "float":
        return 1.0
    expected, got = one.numbers()
    larger = np.maximum(np.abs(expected), np.abs(got))
    with np.errstate(divide="ignore", invalid="ignore"):
        return 2.0 ** (np.floor(np.log2(larger)) + 1 - _bits(kind))


def _largest(one: Wrong) -> float:
    wide = np.abs(one.expected.astype(np.float64))
    return float(wide[np.isfinite(wide)].max(initial=0.0))


def _rounded_to(kernel: Kernel) -> set[Numeric]:
    """The types that a kernel rounds to on its way."""
    out: set[Numeric] = set()
    for statement in kernel.statements():
        move, elementwise = statement.touched.move, statement.touched.elementwise
        if move is not None and move.slots is None:
            out.add(kernel.fragment(move.destination).value_type)
        if elementwise is not None:
            expressions = _within_expression(elementwise.value)
            out.update(x.to for x in expressions if isinstance(x, Rounded))
    return out


def _within_expression(value: Expression) -> Iterator[Expression]:
    yield value
    for part in parts(value):
        yield from _within_expression(part)


# ------------------------------------------------------------ lanes

LANES = 16


def _lanes(one: Wrong) -> str | None:
    """Say along which mode the values are those of other work-items, or wrong in some alone."""
    for axis, extent in enumerate(one.got.shape):
        if extent < LANES:
            continue
        lanes = set((np.nonzero(one.where)[axis] % LANES).tolist())
        run = max(lanes) - min(lanes) + 1
        if 1 < len(lanes) == run < LANES and _fill(one, axis, run):
            return f"all in lanes {min(lanes)} to {max(lanes)} of 16 along mode {axis}"
        if len(lanes) > 1 and _of_neighbours(one, axis):
            return f"each is that of another lane along mode {axis}"
    return None


def _of_neighbours(one: Wrong, axis: int) -> bool:
    """Whether each wrong element is one that should be beside it, in the same 16 of a mode."""
    expected, got = (np.moveaxis(x, axis, -1) for x in (one.expected, one.got))
    where = np.moveaxis(one.where, axis, -1)
    whole = expected.shape[-1] // LANES * LANES
    groups = expected[..., :whole].reshape(*expected.shape[:-1], -1, LANES)
    mine = got[..., :whole].reshape(groups.shape)
    wrong = where[..., :whole].reshape(groups.shape)
    there = (mine[..., :, None] == groups[..., None, :]).any(axis=-1)
    count = np.count_nonzero(wrong)
    return bool(count > 1 and there[wrong].all())


def _fill(one: Wrong, axis: int, count: int) -> bool:
    """Whether so many lanes are wrong in most 16 elements of a mode of which any is wrong."""
    where = np.moveaxis(one.where, axis, -1)
    whole = where.shape[-1] // LANES * LANES
    wrong = where[..., :whole].reshape(-1, LANES).sum(axis=-1)
    return bool(wrong.any()) and float(wrong[wrong > 0].mean()) > 0.75 * count


# ------------------------------------------------------------ signs


def _negated(
    kernel: Kernel, given: Mapping[str, Any], again: Again
) -> Iterator[tuple[str, Mapping[str, Array]]]:
    """Yield what is left with an input, or a part of what a map computes, negated."""
    changed: list[tuple[str, Kernel, Mapping[str, Any]]] = []
    for operand in kernel.inputs:
        if operand.value_type.kind != "unsigned":
            with np.errstate(over="ignore"):
                other = dict(given) | {operand.name: np.negative(given[operand.name])}
            changed.append((operand.name, kernel, other))
    for statement in kernel.statements():
        if (computing := as_map(statement)) is not None:
            changed += [
                (str(part), kernel.replace(statement, replace(computing, value=value)), given)
                for part, value in _with_one_negated(computing.value)
            ]
    for what, one, operands in changed[:MOST_SIGNS]:
        try:
            yield what, again(one.without_claims(), operands)
        except CuteError:
            continue  # not a kernel any more


MOST_SIGNS = 24
"""Signs that are tried."""


def _with_one_negated(value: Expression) -> Iterator[tuple[Expression, Expression]]:
    """Yield each part of an expression, with the whole that has its sign changed."""
    if isinstance(value, Apply):
        for i, argument in enumerate(value.arguments):
            for part, other in _with_one_negated(argument):
                new = (*value.arguments[:i], other, *value.arguments[i + 1 :])
                yield part, replace(value, arguments=new)
    yield value, Const(-value.value) if isinstance(value, Const) else apply("mul", -1.0, value)
