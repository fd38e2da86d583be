"""Floor 8: which channels of a thread an LSC message acts on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
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
    combine: str = "",
) -> Channels:
    """Return the channels of a message of ``exec_size`` that are on.

    ``exec_mask`` M1 … M8 says at which channel of the thread, 0, 4 … 28, the message begins; with
    ``_NM`` the channels that the thread has enabled do not matter. ``enabled`` and ``predicate``
    count channels of the thread, ``None`` is all of them. ``combine``, "any" or "all", gives every
    channel of the message what is true of any or all of its predicate bits, those of channels that
    are off too; ``inverted`` negates the predicate after that.
    Raises `MachineError` when either is not a list of flags, or ends before the message does.
    Document: vISA manual, 3_execution_model.md and 5_operands.md, Predication.

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
        if combine:
            chosen = np.full_like(chosen, chosen.any() if combine == "any" else chosen.all())
        mask &= ~chosen if inverted else chosen
    return Channels(mask)


def _part(name: str, flags: Flags, first: int, count: int) -> NDArray[np.bool_]:
    found = _flags(name, flags)[first : first + count]
    if found.shape != (count,):
        raise MachineError(
            "channels",
            {name: len(flags), "first": first, "exec_size": count},
            "the message has channels beyond the last flag",
            f"give one flag for each of {first + count} channels",
        )
    return found


def _flags(name: str, flags: object) -> NDArray[np.bool_]:
    """One flag for each channel; anything but a list of flags is refused."""
    found = None
    with suppress(ValueError, TypeError):  # ragged lists
        found = np.asarray(flags)
    if found is None or found.ndim != 1 or (found.size and found.dtype.kind not in "biu"):
        raise MachineError(
            "channels",
            {name: flags},
            f"{name} is not a list of flags",
            "give one True or False for each channel of the thread",
        )
    return found.astype(np.bool_)
