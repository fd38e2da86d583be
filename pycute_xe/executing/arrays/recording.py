"""A run as a list of steps on arrays: recorded once, played again on other numbers.

Sizes and tables decide which functions are applied to which arrays; that is looked at while a run
is recorded. A function that is `recorded` puts itself on the tape of the arrays it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from operator import itemgetter
from typing import Any, TypeVar, cast

import numpy as np

from pycute_xe.kernel.arrays import Array

__all__ = ["Changed", "Recorded", "Tape", "decided", "recorded", "shaped"]

F = TypeVar("F", bound=Callable[..., Any])

ROOM = 1 << 26
"""Bytes of the arrays that a tape keeps: places and masks, no numbers of operands."""


class Changed(Exception):
    """Numbers decide otherwise than they did when a run was recorded."""


class Recorded:
    """An array of a run that is recorded, and where a tape has it; only `recorded` functions go on.

    NumPy does not take it for an array: nothing is computed beside the tape.
    """

    __slots__ = ("array", "place", "shaped_of", "tape")
    __array_ufunc__ = None

    def __init__(self, tape: Tape, place: int, array: Array) -> None:
        """Take an array and its place; ``shaped_of`` is what it was before it was given a shape."""
        self.tape, self.place, self.array = tape, place, array
        self.shaped_of: Array | None = None

    def __array__(self, *_: object) -> Array:
        """Refuse to be an array that is not recorded."""
        raise TypeError("a recorded array is asked for its numbers")

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.array.shape

    @property
    def size(self) -> int:
        """How many elements it has."""
        return self.array.size

    @property
    def strides(self) -> tuple[int, ...]:
        """How many bytes apart its elements lie."""
        return self.array.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements."""
        return self.array.dtype


Step = tuple[Callable[..., Any], Any, int, tuple[int, ...]]
"""A function, the places of its arguments and of its result, and of what ends with it.

Where a tape is played there is in the stead of the places what takes values from there.
"""


@dataclass(eq=False)
class Tape:
    """Steps, in order, and the values that they begin with: those of arrays, and constants."""

    values: list[Any] = field(default_factory=list[Any])
    constants: dict[int, int] = field(default_factory=dict[int, int])
    steps: list[Step] = field(default_factory=list[Step])
    room: int = 0

    def input(self, array: Array) -> Array:
        """Return an array with which each run begins; they come before any step."""
        return cast("Array", Recorded(self, self._new(None), array))

    def _new(self, value: Any) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def _constant(self, value: Any) -> int:
        place = self.constants.get(id(value))
        if place is None:
            place = self.constants[id(value)] = self._new(value)
            self.room += _room(value)
        return place

    def note(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Apply a function to arguments, and note it."""
        result = function(*(x.array if isinstance(x, Recorded) else x for x in arguments))
        if result is None and not isinstance(arguments[0], Recorded):
            raise TypeError("an array that is no longer the same each time is changed")
        if self.room > ROOM:
            self.steps.clear()
            return None if result is None else Recorded(self, -1, result)
        places = tuple(x.place if isinstance(x, Recorded) else self._constant(x) for x in arguments)
        place = -1 if result is None else self._new(None)
        self.steps.append((function, places, place, ()))
        return None if result is None else Recorded(self, place, result)

    def ended(self) -> bool:
        """Leave out steps whose results no other takes; return whether the tape can be played."""
        if self.room > ROOM:
            return False
        wanted, steps = set[int](), list[Step]()
        keep = {place for place, value in enumerate(self.values) if value is not None}
        for function, places, place, _ in reversed(self.steps):
            if place >= 0 and place not in wanted:
                continue
            gone = tuple({*places} - wanted - keep)
            wanted.update(places)
            steps.append((function, _taker(places), place, gone))
        self.steps = steps[::-1]
        self.constants.clear()
        return True

    def play(self, arrays: list[Array]) -> None:
        """Do all steps on other arrays. Raises `Changed` where numbers decide otherwise."""
        values = [*self.values, None]  # the last one for steps that return nothing
        values[: len(arrays)] = arrays
        for function, take, place, gone in self.steps:
            values[place] = function(*take(values))
            for i in gone:
                values[i] = None


def _taker(places: tuple[int, ...]) -> Callable[[list[Any]], Any]:
    """Return what takes the values at some places, one or more."""
    first, *more = places
    return itemgetter(first, *more) if more else itemgetter(slice(first, first + 1))


def _room(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return cast("Array", value).nbytes
    return sum(map(_room, cast("tuple[Any, ...]", value))) if isinstance(value, tuple) else 0


def recorded(function: F) -> F:
    """Return a function that notes itself on the tape of the arrays it is given, if they have one.

    What it returns depends on its arguments alone. It returns an array, or nothing where it changes
    one that it is given.
    """

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        for x in arguments:
            if isinstance(x, Recorded):
                bound = partial(function, **named) if named else function
                return x.tape.note(bound, arguments)
        return function(*arguments, **named)

    return cast("F", call)


def shaped(array: Array, shape: tuple[int, ...]) -> Array:
    """Return an array with another shape: the array itself that had it before, if it had."""
    if isinstance(array, Recorded) and array.shaped_of is not None:
        array = array.shaped_of
    if array.shape == shape:
        return array
    out = _shaped(array, shape)
    if isinstance(out, Recorded):
        out.shaped_of = array
    return out


@recorded
def _shaped(array: Array, shape: tuple[int, ...]) -> Array:
    return array.reshape(shape)


def decided(test: Callable[[Array], bool], array: Array) -> bool:
    """Return what a test says of an array; a tape that decides by it ends where it says otherwise.

    >>> tape = Tape()
    >>> decided(lambda x: bool(x.all()), tape.input(np.ones(3)))
    True
    >>> tape.ended() and tape.play([np.zeros(3)])
    Traceback (most recent call last):
    pycute_xe.executing.arrays.recording.Changed
    """
    if not isinstance(array, Recorded):
        return test(array)
    answer = test(array.array)

    def demand(again: Array) -> None:
        if test(again) != answer:
            raise Changed

    array.tape.note(demand, (array,))
    return answer
