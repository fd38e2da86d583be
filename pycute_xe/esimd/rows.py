"""Blocks that threads stored to shared local memory and none has loaded yet, for lint PX215."""

from __future__ import annotations

from pycute_xe.esimd.threads import Rows, Thread

__all__ = ["forget", "overlapped"]


def forget(rows: Rows, start: int, end: int) -> None:
    """Drop the blocks that a load touches.

    >>> rows = {(0, "here"): (1, 64, [0, 64])}
    >>> forget(rows, 60, 70)
    >>> rows[0, "here"]
    (1, 64, [])
    """
    for key, (interval, nbytes, starts) in rows.items():
        kept = [at for at in starts if at + nbytes <= start or end <= at]
        rows[key] = (interval, nbytes, kept)


def overlapped(thread: Thread, start: int, nbytes: int) -> int | None:
    """Note a block; return where one starts that it overlaps in part, of this statement.

    Blocks of another size, and those before the last barrier, do not count.
    """
    rows, now = thread.group.rows, thread.progress.now
    key = (thread.index, thread.progress.label)
    interval, size, starts = rows.get(key, (now, nbytes, []))
    if (interval, size) != (now, nbytes):
        starts = []
    found = next((at for at in reversed(starts) if 0 < abs(at - start) < nbytes), None)
    rows[key] = (now, nbytes, [*starts, start])
    return found
