"""Floor 9: a block of work-groups whose fragments are tiles, and what its indices are."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pycute_xe.executing.tiled.axes import Held, NotTiled
from pycute_xe.executing.tiled.memory import Memory
from pycute_xe.kernel import Index, Kernel

__all__ = ["Block", "Kept"]

Array: TypeAlias = NDArray[Any]
_Found = TypeVar("_Found")


@dataclass(eq=False)
class Kept:
    """What is worked out of maps once, with what it was worked out of."""

    _found: dict[Hashable, tuple[Any, Any]] = field(default_factory=dict[Hashable, Any])

    def of(self, find: Any, *given: Any) -> Any:
        """Return what a function finds, asked once for the same objects."""
        key = (find, *(x if isinstance(x, int) else id(x) for x in given))
        if key not in self._found:
            self._found[key] = given, find(*given)
        return self._found[key][1]


@dataclass(eq=False)
class Block:
    """Work-groups that do every statement together: what their names and fragments hold.

    ``names`` binds extents and the loops' variables to numbers, and the grid's to numbers or to
    arrays with an axis for each of the grid. ``seen`` is what was found for the same numbers.
    """

    kernel: Kernel
    memory: Memory
    names: dict[str, Any]
    counts: tuple[int, ...]
    kept: Kept
    held: dict[str, Held] = field(default_factory=dict[str, Held])
    seen: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any])
    arrived: bool = False
    _free: dict[tuple[int, ...], list[Array]] = field(default_factory=dict[Any, Any])

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        sizes: Mapping[str, int],
        memory: Memory,
        part: tuple[slice, ...],
        kept: Kept,
    ) -> Block:
        """Return a part of the grid, with nothing in its registers."""
        names: dict[str, Any] = dict(sizes)
        rank = len(part)
        for i, ((name, _), one) in enumerate(zip(kernel.grid, part, strict=True)):
            shape = [-1 if j == i else 1 for j in range(rank)]
            numbers = np.arange(one.start, one.stop, dtype=np.int64)
            names[name] = int(one.start) if numbers.size == 1 else numbers.reshape(shape)
        counts = tuple(one.stop - one.start for one in part)
        return cls(kernel, memory, names, counts, kept)

    @property
    def rank(self) -> int:
        """The number of axes of the grid."""
        return len(self.counts)

    def get(self, name: str) -> Held:
        """Return what a fragment holds; `NotTiled` where nothing was written."""
        found = self.held.get(name)
        if found is None:
            raise NotTiled
        return found

    def put(self, name: str, new: Held) -> None:
        """Let a fragment hold something else; an array that nothing looks at is used again."""
        old, self.held[name] = self.held.get(name), new
        if old is not None and old.own and not np.may_share_memory(old.values, new.values):
            self.free(old.values)

    def room(self, shape: tuple[int, ...]) -> Array:
        """Return an array to write to."""
        found = self._free.get(shape)
        return found.pop() if found else np.empty(shape, np.float32)

    def free(self, array: Array) -> None:
        """Give an array back, its last two axes exchanged."""
        turned = array.swapaxes(-1, -2) if array.ndim > 1 else array
        if turned.flags.c_contiguous:
            self._free.setdefault(turned.shape, []).append(turned)

    def demand(self, arrived: bool) -> None:
        """Demand that all have arrived at a barrier, or that none has; `NotTiled` otherwise."""
        if self.arrived != arrived:
            raise NotTiled

    def number(self, index: Index) -> Any:
        """Return what an index is: a number, or an array with an axis for each of the grid."""
        if not index.terms:
            return index.offset
        return index.at(self.names, self.memory.look_up)

    def uniform(self, index: Index) -> int:
        """Return an index that must be the same for all work-groups and subgroups."""
        found = np.asarray(self.number(index)).reshape(-1)
        if (found != found[0]).any():
            raise NotTiled
        return int(found[0])
