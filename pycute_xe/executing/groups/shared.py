"""Floor 9: shared arrays of many work-groups at once, with a memory of who touched what when.

Every subgroup is at the same statement, so that two accesses are in order exactly where a barrier
was arrived at after the one and waited for before the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import host_dtype
from pycute_xe.errors import MachineError
from pycute_xe.executing.groups.meeting import Meetings
from pycute_xe.kernel import Shared

__all__ = ["SharedArray"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class SharedArray:
    """An array in the shared memory of each work-group, unwritten at the start.

    ``wrote`` and ``read`` are (work-groups, subgroups, elements): one more than the number of
    barriers that a subgroup had arrived at when it last touched an element, 0 before it has. A
    store that no fence came behind before an arrival counts as made after it: ``unfenced`` is of
    the same shape.
    ``meetings`` says what each subgroup knows of the others' arrivals.
    """

    def __init__(self, shared: Shared, shape: tuple[int, int], meetings: Meetings) -> None:
        """Reserve the elements for (work-groups, subgroups)."""
        if shared.value_type.bits < 8:
            raise MachineError(
                "run",
                {"array": shared},
                "elements narrower than a byte cannot be addressed",
                "share them in a wider type",
            )
        self.shared, self.shape = shared, shape
        room = (*shape, shared.elements)
        self.values = np.zeros((shape[0], shared.elements), host_dtype(shared.value_type))
        self.wrote: NDArray[np.int32] = np.zeros(room, np.int32)
        self.read: NDArray[np.int32] = np.zeros(room, np.int32)
        self.unfenced: Bools = np.zeros(room, np.bool_)
        self.meetings = meetings

    def arrived(self, active: Bools) -> None:
        """Count stores of those who have arrived, and did no fence before, as made afterwards."""
        late = self.unfenced & active[:, :, None]
        np.copyto(self.wrote, self.meetings.epoch[:, :, None] + 1, where=late)

    def fence(self, active: Bools) -> None:
        """Let the stores of the subgroups that do it be seen behind their next barrier."""
        self.unfenced[active] = False

    def load(self, places: Ints, active: Bools) -> NDArray[Any]:
        """Return the elements at places (work-groups, subgroups, elements).

        Raises `MachineError` for places outside, unwritten, or written with no barrier between.
        """
        group, subgroup, place = self._chosen(places, active)
        if not self.wrote[group, :, place].any(axis=1).all():
            raise self._fault("load", "an element was never written", "write it first")
        self._ordered("load", self.wrote, group, subgroup, place)
        self.read[group, subgroup, place] = self.meetings.epoch[group, subgroup] + 1
        kept = np.clip(places, 0, self.shared.elements - 1)
        return self.values[np.arange(self.shape[0])[:, None, None], kept]

    def store(self, places: Ints, values: NDArray[Any], active: Bools) -> None:
        """Write elements; `MachineError` as `load`, and where others read unordered."""
        group, subgroup, place = self._chosen(places, active)
        self.wrote[group, subgroup, place] = self.meetings.epoch[group, subgroup] + 1
        self.unfenced[group, subgroup, place] = True
        for touched in (self.wrote, self.read):
            self._ordered("store", touched, group, subgroup, place)
        self.values[group, place] = values[active].reshape(-1)

    def _chosen(self, places: Ints, active: Bools) -> tuple[Ints, Ints, Ints]:
        """The work-group, subgroup and place of each access."""
        if ((places < 0) | (places >= self.shared.elements))[active].any():
            raise self._fault("access", "a place is outside", "correct the map or its offset")
        group, subgroup = np.nonzero(active)
        count = places.shape[2]
        return np.repeat(group, count), np.repeat(subgroup, count), places[active].reshape(-1)

    def _ordered(
        self, doing: str, touched: NDArray[np.int32], group: Ints, subgroup: Ints, place: Ints
    ) -> None:
        """Refuse accesses to what another subgroup touched, unless it was met since."""
        late = touched[group, :, place] > self.meetings.known[group, subgroup]
        late[np.arange(group.size), subgroup] = False
        if late.any():
            first = np.argwhere(late)[0]
            other, mine = int(first[1]), int(subgroup[first[0]])
            element = int(place[first[0]])
            unfenced = self.unfenced[group[first[0]], other, element]
            unfenced = unfenced and self.meetings.known[0].any()
            missing = "no barrier with a fence before it" if unfenced else "no barrier"
            raise self._fault(
                doing,
                f"race: subgroups {mine} and {other} touch element {element}, and {missing} lies "
                "between",
                "let both arrive at a barrier and wait in between, behind a Fence after a store",
            )

    def _fault(self, doing: str, wrong: str, fix: str) -> MachineError:
        return MachineError(f"shared {doing}", {"array": self.shared}, wrong, fix)
