"""Shared local memory where a barrier alone does not wait for stores: fences do.

ESIMD's barrier() fences by itself, so that `Slm` needs no fence; a split barrier's halves do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.machine.slm import Slm
from pycute_xe.machine.trace import Progress

__all__ = ["FencedSlm"]


class FencedSlm(Slm):
    """Shared local memory whose stores are over for others behind a fence and then a barrier.

    Law: a store without a fence before its thread's next arrival counts as made after the arrival.
    Source: the row ``fence`` of ``atoms/arch.toml``.

    >>> slm, one, two = FencedSlm(4), Progress(0, 2), Progress(1, 2)
    >>> slm.write(0, np.array([5], dtype=np.uint8), one)
    >>> two.acquire(one.release())
    >>> slm.arrived(one)
    >>> slm.read(0, 1, two)
    Traceback (most recent call last):
    pycute_xe.machine.trace.RaceFault: Slm.read(thread=1): race: thread 0 wrote these bytes (0)...
    """

    def __init__(self, nbytes: int) -> None:
        """Reserve the bytes, none of them stored to."""
        super().__init__(nbytes)
        self._unfenced: dict[int, NDArray[np.bool_]] = {}
        self._late: NDArray[np.bool_] = np.zeros(nbytes, dtype=np.bool_)

    def grow(self, nbytes: int) -> None:
        """Add unwritten bytes at the end, up to a size."""
        before = self.nbytes
        super().grow(nbytes)
        more = (0, self.nbytes - before)
        self._late = np.pad(self._late, more)
        self._unfenced = {who: np.pad(mine, more) for who, mine in self._unfenced.items()}

    def _record(self, part: Any, thread: Progress, does: Any) -> None:
        super()._record(part, thread, does)
        if does == "writes":
            blank = np.zeros(self.nbytes, dtype=np.bool_)
            self._unfenced.setdefault(thread.index, blank)[part] = True

    def fence(self, thread: Progress) -> None:
        """Let the next arrival of a thread count for its stores so far."""
        self._unfenced.pop(thread.index, None)

    def arrived(self, thread: Progress) -> None:
        """Let the stores that no fence waited for count as made after a thread's arrival."""
        mine = self._unfenced.get(thread.index)
        if mine is not None:
            late = mine & (self._writer == thread.index)
            self._writes.when[late] = thread.now
            self._wrote[thread.index] = thread.now
            self._late |= late

    def missing(self, thread: int, where: NDArray[np.int64]) -> tuple[str, str]:
        """Return what would put a thread's access in order before another's, and the way out."""
        if not self._late[where].any():
            return super().missing(thread, where)
        return (
            "no barrier with a fence before it lies between",
            "put Fence(), BarrierArrive() and BarrierWait() between the two, in this order",
        )
