"""Floor 9: barriers of many work-groups at once: how much of what others did a subgroup knows.

Statements are done in the order of the program: a wait for what comes later is found at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import MachineError
from pycute_xe.kernel.ir.named import ROLES, Role

__all__ = ["Meetings"]

Counts = NDArray[np.int32]
Bools = NDArray[np.bool_]


@dataclass(eq=False)
class _Named:
    """One named barrier in each work-group: who has arrived, what they knew, and what has fired.

    ``stamps`` are the epochs of those who have arrived, ``last`` those of the round before.
    """

    here: Bools
    owes: Bools
    knew: Counts
    passed_on: Counts
    ready: Bools
    produced: Counts
    consumed: Counts
    stamps: Counts
    last: Counts
    counts: tuple[int, int] = (0, 0)


@dataclass(eq=False)
class Meetings:
    """What the subgroups of work-groups know of one another.

    ``epoch`` is (work-groups, subgroups): arrivals so far, at whatever barrier. ``known`` is
    (work-groups, subgroup, other): up to which epoch of the other all is over.
    """

    shape: tuple[int, int]
    epoch: Counts = field(init=False)
    known: Counts = field(init=False)
    arrived: Counts = field(init=False)
    named: dict[int, _Named] = field(default_factory=dict[int, _Named])

    def __post_init__(self) -> None:
        """Nothing has been met."""
        groups, subgroups = self.shape
        self.epoch = np.zeros(self.shape, np.int32)
        self.known = np.zeros((groups, subgroups, subgroups), np.int32)
        self.arrived = np.zeros((groups, subgroups, subgroups), np.int32)

    def arrive(self, active: Bools) -> None:
        """Count an arrival at the barrier of the work-group."""
        met: Bools = np.asarray(active.any(axis=1), np.bool_)
        self.epoch += met.reshape(-1, 1)
        knows = self._knows()
        self.arrived[met] = np.broadcast_to(knows.max(axis=1, keepdims=True), knows.shape)[met]

    def wait(self, active: Bools) -> None:
        """Let all subgroups know what those knew who arrived."""
        met: Bools = np.asarray(active.any(axis=1), np.bool_)
        self.known[met] = np.maximum(self.known, self.arrived)[met]

    def _knows(self) -> Counts:
        """What each subgroup knows, its own epoch among it."""
        out = self.known.copy()
        own = np.arange(self.shape[1])
        out[:, own, own] = self.epoch
        return out

    # ------------------------------------------------------------------ named barriers

    def signal(
        self, numbers: NDArray[np.int64], active: Bools, role: Role, counts: tuple[int, int]
    ) -> None:
        """Count arrivals at named barriers; `MachineError` where one comes twice in a round."""
        self.epoch += active
        knows = self._knows()
        for number in np.unique(numbers[active]).tolist():
            mine = active & (numbers == number)
            barrier = self._barrier(number)
            counted = barrier.counts if barrier.here.any() else counts
            barrier.counts = counts
            if counted != counts:
                raise _misused(number, f"subgroups count {counted} and {counts} who arrive")
            if (barrier.here & mine).any():
                raise _misused(number, "a subgroup arrives again before the barrier has fired")
            if (mine[:, :, None] & self._unseen(barrier.last)).any():
                raise _misused(number, "a subgroup may arrive again before the barrier has fired")
            if ROLES[role].consumes:
                if (barrier.owes & mine).any():
                    raise _misused(number, "a subgroup arrives twice without waiting")
                barrier.owes |= mine
                barrier.ready &= ~mine
            barrier.here |= mine
            barrier.stamps = np.where(mine, self.epoch, barrier.stamps)
            newly = np.where(mine[:, :, None], knows, 0).max(axis=1)
            barrier.knew = np.maximum(barrier.knew, newly)
            came = mine.sum(axis=1).astype(np.int32)
            barrier.produced += came * ROLES[role].produces
            barrier.consumed += came * ROLES[role].consumes
            if (barrier.produced > counts[0]).any() or (barrier.consumed > counts[1]).any():
                raise _misused(number, "more subgroups arrive than the barrier counts")
            self._fire(barrier, (barrier.produced == counts[0]) & (barrier.consumed == counts[1]))

    def _unseen(self, last: Counts) -> Bools:
        """Whose arrivals a subgroup does not know to be over: (work-groups, subgroup, other)."""
        own = np.eye(self.shape[1], dtype=np.bool_)
        return (self.known < last[:, None, :]) & ~own

    def _fire(self, barrier: _Named, fires: Bools) -> None:
        """Pass on what those knew who arrived, in the work-groups where all have come."""
        owing = barrier.owes & barrier.here & fires[:, None]
        barrier.passed_on = np.where(owing[:, :, None], barrier.knew[:, None, :], barrier.passed_on)
        barrier.ready |= owing
        barrier.here &= ~fires[:, None]
        barrier.last[fires] = barrier.stamps[fires]
        barrier.stamps[fires] = 0
        barrier.knew[fires] = 0
        barrier.produced[fires] = 0
        barrier.consumed[fires] = 0

    def wait_for(self, numbers: NDArray[np.int64], active: Bools) -> None:
        """Let subgroups go on; `MachineError` where their barrier has not fired."""
        for number in np.unique(numbers[active]).tolist():
            mine = active & (numbers == number)
            barrier = self._barrier(number)
            if (mine & ~barrier.owes).any():
                raise _misused(number, "a subgroup waits without arriving as a consumer")
            if (mine & ~barrier.ready).any():
                raise _misused(
                    number, "a subgroup waits for arrivals that come later in the program, or never"
                )
            told = np.maximum(self.known, barrier.passed_on)
            self.known = np.where(mine[:, :, None], told, self.known)
            barrier.owes &= ~mine
            barrier.ready &= ~mine

    def close(self) -> None:
        """Refuse arrivals, at the end, at a barrier that never fired."""
        for number, barrier in self.named.items():
            if barrier.here.any():
                raise _misused(number, "a subgroup arrived, and the barrier never fired")

    def _barrier(self, number: int) -> _Named:
        if not 1 <= number <= 31:
            raise _misused(number, "named barriers are numbered 1 to 31")
        if number not in self.named:
            groups, subgroups = self.shape
            bools = [np.zeros(self.shape, np.bool_) for _ in range(3)]
            self.named[number] = _Named(
                bools[0],
                bools[1],
                np.zeros((groups, subgroups), np.int32),
                np.zeros((groups, subgroups, subgroups), np.int32),
                bools[2],
                np.zeros(groups, np.int32),
                np.zeros(groups, np.int32),
                np.zeros(self.shape, np.int32),
                np.zeros(self.shape, np.int32),
            )
        return self.named[number]


def _misused(number: int, wrong: str) -> MachineError:
    return MachineError(
        "run",
        {"barrier": f"named barrier {number}"},
        wrong,
        'let producers and consumers alternate, or use executor="reference"',
    )
