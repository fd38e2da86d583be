"""Floor 5: how many work-groups an Xe core keeps at once, by shared local memory and by threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from pycute_xe.arch.target import Target, get_target
from pycute_xe.errors import TargetError
from pycute_xe.facts import rows_for
from pycute_xe.signatures import typed

__all__ = ["Occupancy", "Room", "occupancy"]

_MANY = 1 << 16
"""Where no source gives a limit."""


@dataclass(frozen=True, slots=True)
class Room:
    """Work-groups of an Xe core at once, by one limit, and who says so."""

    groups: int
    by: str
    source: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.groups} by {self.by} [{self.source}]"


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Work-groups that an Xe core keeps at once, by every limit that a source gives.

    ``reserved`` are the bytes that the hardware sets aside for a work-group. `groups` is what the
    tightest limit leaves, `most` what remains where sources disagree and the larger one is right.
    """

    reserved: int
    slm: tuple[Room, ...]
    threads: Room | None

    @property
    def groups(self) -> int:
        """Work-groups by the tightest limit of all sources.

        >>> occupancy(32 * 1024, 16, "bmg").groups
        2
        """
        return min((room.groups for room in self._rooms()), default=_MANY)

    @property
    def most(self) -> int:
        """Work-groups where the most generous source on shared local memory is right.

        >>> occupancy(32 * 1024, 16, "bmg").most
        4
        """
        by_slm = [max((room.groups for room in self.slm), default=_MANY)]
        return min(*by_slm, _MANY if self.threads is None else self.threads.groups)

    def _rooms(self) -> tuple[Room, ...]:
        return self.slm if self.threads is None else (*self.slm, self.threads)

    def __str__(self) -> str:
        """One line for each limit."""
        first = f"{self.groups} work-groups on an Xe core, {self.reserved:,} bytes set aside each"
        return "\n  ".join([first, *map(str, self._rooms())])


@typed
def occupancy(
    slm_bytes: int, threads: int, target: str | Target = "bmg", grf_mode: int = 128
) -> Occupancy:
    """Return how many work-groups of so many threads and bytes an Xe core keeps at once.

    Law: by shared local memory ``core bytes div reserved``, where reserved is the next size that
    the hardware can set aside; by threads ``threads of the core div threads``. 0 is a work-group
    that does not fit. Where no source gives the vector engines of a core, threads do not limit.
    Raises `TargetError` for negative sizes, no threads, and a register mode that does not exist.
    Document: Intel ESIMD LSC SLM guide, SLM size limits.

    >>> found = occupancy(40_000, 8, "pvc", 256)
    >>> found.reserved, found.groups
    (49152, 2)
    """
    known = get_target(target)
    if slm_bytes < 0 or threads < 1:
        given = {"slm_bytes": slm_bytes, "threads": threads}
        raise TargetError(
            "occupancy", given, "a work-group must have at least one thread and 0 bytes", "use more"
        )
    reserved = _reserved(known, slm_bytes)
    by_slm = tuple(
        Room(limit.bytes // reserved, f"{limit.bytes:,} bytes of SLM", limit.source)
        for limit in known.slm
        if reserved
    )
    return Occupancy(reserved, by_slm, _by_threads(known, threads, grf_mode))


def _reserved(target: Target, slm_bytes: int) -> int:
    """The bytes set aside; what no size holds is kept as it is."""
    (row,) = rows_for("arch", "slm_sizes", target.name)
    sizes = (0, *cast("tuple[int, ...]", row["bytes"]))
    return next((size for size in sizes if size >= slm_bytes), slm_bytes)


def _by_threads(target: Target, threads: int, grf_mode: int) -> Room | None:
    each = target.threads_per_engine(grf_mode)
    if target.vector_engines is None:
        return None
    in_all = target.vector_engines * each
    (row,) = rows_for("arch", "threads", target.name)
    by = f"{in_all} threads of {grf_mode} registers"
    return Room(in_all // threads, by, f"{row['source']}; {target.source}")
