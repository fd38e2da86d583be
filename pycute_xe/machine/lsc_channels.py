"""Floor 8: which channels of a thread an LSC message acts on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import MachineError

__all__ = ["Channels", "Flags", "channels"]

Flags = NDArray[np.bool_] | Sequence[bool]
"""One yes or no for each channel."""


@dataclass(frozen=True, eq=False, slots=True)
class Channels:
    """The channels of one message that are on: predicate and channel enable together.

    ``lanes`` are their indices, ascending.

    >>> Channels(np.array([True, False, True])).lanes.tolist()
    [0, 2]
    """

    mask: NDArray[np.bool_]
    lanes: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        """Find the indices once."""
        object.__setattr__(self, "lanes", self.mask.nonzero()[0])


def channels(
    exec_size: int,
    exec_mask: str = "M1",
    enabled: Flags | None = None,
    predicate: Flags | None = None,
    inverted: bool = False,
) -> Channels:
    """Return the channels of a message of ``exec_size`` that are on.

    ``exec_mask`` M1 … M8 says at which channel of the thread, 0, 4 … 28, the message begins; with
    ``_NM`` the channels that the thread has enabled do not matter. ``enabled`` and ``predicate``
    count channels of the thread, ``None`` is all of them; ``inverted`` negates the predicate.
    Raises `MachineError` when either ends before the message does.
    Document: vISA manual, execution masks and predication.

    >>> channels(4, "M2", enabled=[True] * 6 + [False] * 2).mask.tolist()
    [True, True, False, False]
    >>> channels(4, "M2_NM", enabled=[False] * 8, predicate=[False] * 5 + [True] * 3).lanes.tolist()
    [1, 2, 3]
    """
    group, _, no_mask = exec_mask.partition("_")
    first = 4 * (int(group[1:]) - 1)
    mask = np.ones(exec_size, dtype=np.bool_)
    if enabled is not None and not no_mask:
        mask &= _part("enabled", enabled, first, exec_size)
    if predicate is not None:
        chosen = _part("predicate", predicate, first, exec_size)
        mask &= ~chosen if inverted else chosen
    return Channels(mask)


def _part(name: str, flags: Flags, first: int, count: int) -> NDArray[np.bool_]:
    found = np.asarray(flags, dtype=np.bool_)[first : first + count]
    if found.shape != (count,):
        raise MachineError(
            "channels",
            {name: len(flags), "first": first, "exec_size": count},
            "the message has channels beyond the last flag",
            f"give one flag for each of {first + count} channels",
        )
    return found
