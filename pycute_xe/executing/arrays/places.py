"""Floor 9: integers at each point of some axes: where the elements of operands lie.

A field is a sum of parts, each over the axes by which it changes, so that the place of an element
in a large matrix takes a row of numbers for its row and one for its column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.kernel.index import Index, Looked, Quotient

__all__ = [
    "Axis",
    "Env",
    "Field",
    "LookUp",
    "index_field",
    "joined",
    "run_of",
    "separated",
    "spread",
]

Ints: TypeAlias = NDArray[np.int64]
LookUp: TypeAlias = Callable[[str, tuple["Field", ...]], "Field"]


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis of arrays, the only one of its kind: so many points."""

    size: int


@dataclass(frozen=True, eq=False)
class Field:
    """An integer for each point of some axes: ``offset`` plus parts over axes."""

    offset: int = 0
    parts: tuple[tuple[tuple[Axis, ...], Ints], ...] = ()

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes by which it changes."""
        return tuple(dict.fromkeys(axis for axes, _ in self.parts for axis in axes))

    def __add__(self, other: Field) -> Field:
        """The sum; parts over the same axes become one."""
        if not self.parts or not other.parts:
            return Field(self.offset + other.offset, self.parts or other.parts)
        parts = dict(self.parts)
        for axes, numbers in other.parts:
            parts[axes] = parts[axes] + numbers if axes in parts else numbers
        return Field(self.offset + other.offset, tuple(parts.items()))

    def __mul__(self, scale: int) -> Field:
        """A multiple."""
        if scale == 1:
            return self
        if not scale:
            return Field()
        return Field(self.offset * scale, tuple((a, x * scale) for a, x in self.parts))

    def divided(self, divisor: int) -> Field:
        """Return the quotient, rounded down; multiples of the divisor stay parts of their own.

        >>> k, q = Axis(2), Axis(4)
        >>> place = Field(0, (((k,), np.array([0, 4])), ((q,), np.arange(4))))
        >>> place.divided(4).parts[0][1].tolist()
        [0, 1]
        """
        whole = [(a, x // divisor) for a, x in self.parts if not (x % divisor).any()]
        rest = [(a, x) for a, x in self.parts if (x % divisor).any()]
        first, offset = divmod(self.offset, divisor)
        out = Field(first, tuple(whole))
        if rest:
            inner = Field(offset, tuple(rest))
            out = out + Field(0, ((inner.axes, inner.over(inner.axes) // divisor),))
        return out

    def over(self, axes: Sequence[Axis]) -> Ints:
        """Return the numbers as an array with these axes, which it must not go beyond."""
        out: Any = np.full((1,) * len(axes), self.offset, np.int64)
        for own, numbers in self.parts:
            out = out + spread(numbers, own, axes)
        shape = tuple(axis.size for axis in axes)
        return out if out.shape == shape else np.broadcast_to(out, shape)

    def moved(self, change: Mapping[Axis, tuple[Axis, Ints]]) -> Field:
        """Return the field where points of axes are points of others: ``change[old]``."""
        if not any(axis in change for axes, _ in self.parts for axis in axes):
            return self
        out = Field(self.offset)
        for axes, numbers in self.parts:
            out = out + Field(0, (_moved(axes, numbers, change),))
        return out

    @property
    def is_whole(self) -> bool:
        """Whether it counts the points of one axis."""
        if self.offset or len(self.parts) != 1 or len(self.parts[0][0]) != 1:
            return False
        return run_of(self.parts[0][1]) == 0

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest number it may have, where no axis is empty."""
        lows = [int(x.min()) for _, x in self.parts]
        highs = [int(x.max()) for _, x in self.parts]
        return self.offset + sum(lows), self.offset + sum(highs)


def _moved(
    axes: tuple[Axis, ...], numbers: Ints, change: Mapping[Axis, tuple[Axis, Ints]]
) -> tuple[tuple[Axis, ...], Ints]:
    new = tuple(dict.fromkeys(change[axis][0] if axis in change else axis for axis in axes))
    places: list[Ints] = []
    for axis in axes:
        to, which = change.get(axis, (axis, np.arange(axis.size)))
        shape = [1] * len(new)
        shape[new.index(to)] = to.size
        places.append(which.reshape(shape))
    return new, numbers[tuple(places)]


def spread(array: NDArray[Any], own: Sequence[Axis], axes: Sequence[Axis]) -> NDArray[Any]:
    """Return an array over some axes as one over more of them, of extent 1 where it has none."""
    order = [own.index(axis) for axis in axes if axis in own]
    if order != sorted(order):
        array = array.transpose(order)
    return array.reshape([axis.size if axis in own else 1 for axis in axes])


def joined(groups: Iterable[Iterable[Axis]]) -> tuple[Axis, ...]:
    """Return the axes of several, each once, in the order in which they come."""
    return tuple(dict.fromkeys(axis for axes in groups for axis in axes))


def run_of(numbers: Ints) -> int | None:
    """Return the first of numbers that follow on one another, None where they do not."""
    if not numbers.size:
        return 0
    first, last = int(numbers[0]), int(numbers[-1])
    if last - first != numbers.size - 1:
        return None
    return first if numbers.size < 3 or bool((numbers[1:] - numbers[:-1] == 1).all()) else None


Env: TypeAlias = Mapping[str, Field]


def index_field(index: Index, env: Env, look_up: LookUp) -> Field:
    """Return an index at the points of the axes of its variables.

    >>> m, q = Axis(2), Axis(3)
    >>> env = {"m": Field(0, (((m,), np.arange(2)),)), "q": Field(0, (((q,), np.arange(3)),))}
    >>> place = index_field(Index("m") * 3 + Index("q"), env, lambda name, at: Field())
    >>> place.over((m, q)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    out = Field(index.offset)
    for atom, scale in index.terms:
        match atom:
            case str():
                part = env[atom]
            case Quotient(inner, divisor):
                part = index_field(inner, env, look_up).divided(divisor)
            case Looked(operand, at):
                part = look_up(operand, tuple(index_field(i, env, look_up) for i in at))
        out = out + part * scale
    return out


def separated(numbers: Ints) -> tuple[int, list[tuple[tuple[int, ...], Ints]]]:
    """Return an array as an offset and parts over few axes each: one axis each where that is so.

    Law: the parts, spread over all axes, and the offset add up to the array.

    >>> separated(np.array([[0, 1], [4, 5]]))[1]
    [((0,), array([0, 4])), ((1,), array([0, 1]))]
    """
    if not numbers.size:
        return 0, []
    corner = (0,) * numbers.ndim
    offset = int(numbers[corner])
    lines: list[tuple[tuple[int, ...], Ints]] = []
    total: Any = np.full((1,) * numbers.ndim, offset, np.int64)
    changing: list[int] = []
    for axis, count in enumerate(numbers.shape):
        line = np.moveaxis(numbers, axis, 0)[(slice(None), *corner[1:])] - offset
        if line.any():
            lines.append(((axis,), np.ascontiguousarray(line)))
            total = total + line.reshape([count if i == axis else 1 for i in range(numbers.ndim)])
        if count > 1:
            changing.append(axis)
    if np.array_equal(np.broadcast_to(total, numbers.shape), numbers):
        return offset, lines
    depends = [a for a in changing if (numbers != numbers.take([0], a)).any()]
    index = tuple(slice(None) if a in depends else 0 for a in range(numbers.ndim))
    return 0, [(tuple(depends), np.ascontiguousarray(numbers[index]))]
