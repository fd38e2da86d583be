"""Floor 9: operands as tiles see them: numbers with zeros behind the last, and what was stored."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from pycute_xe.executing.numbers import widened
from pycute_xe.executing.tiled.axes import NotTiled
from pycute_xe.kernel import Kernel

__all__ = ["Memory", "Reach"]

Array: TypeAlias = NDArray[Any]
Reach: TypeAlias = "tuple[tuple[int, tuple[int, ...], int], ...]"
"""For each mode: where the first work-group begins, the steps of the grid, the tile's extent."""

# Elements of an operand that are kept as numbers beside it.
_ROOM = 1 << 27
# Elements that any operand may grow to.
_NEAR = 1 << 22


class Memory:
    """The operands of a problem. What is loaded is never stored, and an element is stored once."""

    def __init__(
        self, kernel: Kernel, inputs: Mapping[str, Array], outputs: Mapping[str, Array]
    ) -> None:
        """Take the inputs, and the outputs as they are before."""
        self.kernel, self.inputs = kernel, inputs
        self.outputs = outputs
        self._new = dict(outputs)
        self._stored = {name: np.zeros(array.shape, np.bool_) for name, array in outputs.items()}
        self._wide: dict[str, Array] = {}

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the extents of an operand."""
        return (self.outputs if name in self.outputs else self.inputs)[name].shape

    def look_up(self, name: str, at: tuple[Any, ...]) -> Any:
        """Return elements that indices name; `NotTiled` where one is outside."""
        array = self.inputs[name]
        for place, extent in zip(at, array.shape, strict=True):
            if np.min(place) < 0 or np.max(place) >= extent:
                raise NotTiled
        return array[at].astype(np.int64)

    def window(self, name: str, reach: Reach, counts: tuple[int, ...]) -> Array:
        """Return tiles of an input as a view: (the grid, modes)."""
        array = self._numbers(name, _ends(reach, counts))
        return _window(array, reach, counts)

    def chosen(self, name: str, at: tuple[Array, ...]) -> Array:
        """Return elements of an input by an index for each mode; those outside are zero."""
        array = self._numbers(name, self.inputs[name].shape)
        inside, places = np.True_, list[Array]()
        for place, extent in zip(at, array.shape, strict=True):
            inside = inside & (place >= 0) & (place < extent)
            places.append(np.clip(place, 0, extent - 1))
        return np.where(inside, array[tuple(places)], np.zeros((), array.dtype))

    def store(self, name: str, reach: Reach, counts: tuple[int, ...], values: Array) -> None:
        """Store tiles, none of which overlap; `NotTiled` where an element is stored again."""
        if not _apart(reach, counts):
            raise NotTiled
        ends = _ends(reach, counts)
        seen = _window(self._grown(self._stored, name, ends), reach, counts)
        if seen.any():
            raise NotTiled
        seen[...] = True
        _window(self._grown(self._new, name, ends), reach, counts)[...] = values

    def output(self, name: str) -> Array:
        """Return an output."""
        return np.ascontiguousarray(self._new[name][tuple(map(slice, self.shape(name)))])

    def _grown(self, arrays: dict[str, Array], name: str, ends: tuple[int, ...]) -> Array:
        """Return an array with room for what is behind its last elements; `NotTiled` if far."""
        array = arrays[name]
        more = [max(0, n - have) for n, have in zip(ends, array.shape, strict=True)]
        if any(more):
            wanted = prod(n + have for n, have in zip(more, array.shape, strict=True))
            if wanted > max(4 * array.size, _NEAR):
                raise NotTiled
            arrays[name] = np.pad(array, [(0, n) for n in more])
        return arrays[name]

    def _numbers(self, name: str, ends: tuple[int, ...]) -> Array:
        """Return an input as numbers, with as many zeros behind it as are asked for."""
        if name not in self._wide:
            array = self.inputs[name]
            if array.size > _ROOM:
                raise NotTiled
            numeric = self.kernel.operand(name).value_type
            self._wide[name] = widened(np.ascontiguousarray(array), numeric)
        return self._grown(self._wide, name, ends)


def _ends(reach: Reach, counts: tuple[int, ...]) -> tuple[int, ...]:
    """Return the end of what is reached along each mode; `NotTiled` where it begins before 0."""
    out: list[int] = []
    for first, steps, extent in reach:
        ways = [step * (n - 1) for step, n in zip(steps, counts, strict=True)]
        if first + sum(x for x in ways if x < 0) < 0:
            raise NotTiled
        out.append(first + sum(x for x in ways if x > 0) + extent)
    return tuple(out)


def _window(array: Array, reach: Reach, counts: tuple[int, ...]) -> Array:
    """View tiles; axes of the grid along which nothing moves are of extent 1."""
    begin = array[tuple(slice(first, None) for first, _, _ in reach)]
    moves = [
        sum(steps[i] * stride for (_, steps, _), stride in zip(reach, array.strides, strict=True))
        for i in range(len(counts))
    ]
    still = [all(not steps[i] for _, steps, _ in reach) for i in range(len(counts))]
    grid = tuple(1 if alike else n for n, alike in zip(counts, still, strict=True))
    shape = (*grid, *(extent for _, _, extent in reach))
    return as_strided(begin, shape, (*moves, *array.strides))


def _apart(reach: Reach, counts: tuple[int, ...]) -> bool:
    """Whether no two work-groups reach the same element."""
    left = {i for i, n in enumerate(counts) if n > 1}
    for _, steps, extent in reach:
        # Which tile an index is in tells the number along these axes, if no two tiles overlap.
        end, told = extent, sorted((steps[i], i) for i in left if steps[i])
        for step, i in told:
            if step < end:
                break
            end += step * (counts[i] - 1)
        else:
            left -= {i for _, i in told}
    return not left
