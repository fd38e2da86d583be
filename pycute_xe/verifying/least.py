"""The least point of a region, at which a disproof is shown."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from pycute_xe.holding.patience import DeadlineError, TooHardError, at_most
from pycute_xe.verifying.making import tables_at, with_tables
from pycute_xe.verifying.points import Naming
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Region

__all__ = ["LONGEST", "closing", "has_no_tables", "is_nothing", "smallest"]

CLOSING = 400_000
"""Units of work for what laws say of more elements of tables than those that matter."""
_closing: ContextVar[bool] = ContextVar("_closing", default=False)
LONGEST = 1 << 24
"""An extent from which on no surface has it."""


def smallest(region: Region, naming: Naming) -> dict[str, int] | None:
    """Return the least point of a region: by the sum of the sizes, then in order of the names.

    Raises `UndecidableError` where every point has an extent that no surface has.
    """
    if region.lookups and region.is_empty:
        return None
    point = _shortest(region.completed(), naming)
    made = point and tables_at(point)
    if made is None and point is not None:  # there may be none: more is asked of its elements
        try:
            with at_most(CLOSING):
                point = _shortest(region.closed(), naming)
        except DeadlineError:
            raise
        except TooHardError:
            pass
        made = point and with_tables(point)
    return made


@contextmanager
def closing() -> Generator[None]:
    """Let `is_nothing` ask what laws say of more elements of tables than regions name."""
    token = _closing.set(True)
    try:
        yield
    finally:
        _closing.reset(token)


def is_nothing(region: Region) -> bool:
    """Whether a region is empty; inside of `closing`, also whether no tables have its points."""
    return region.is_empty or (_closing.get() and has_no_tables(region))


def has_no_tables(region: Region) -> bool:
    """Whether no tables that meet what is assumed of them have the elements of any point."""
    if not region.lookups:
        return False
    try:
        with at_most(CLOSING):
            return region.closed().is_empty
    except DeadlineError:
        raise
    except TooHardError:
        return False


def _shortest(region: Region, naming: Naming) -> dict[str, int] | None:
    point = _least(region, naming)
    if point is None or all(point[size] < LONGEST for size in naming.sizes):
        return point
    within = " and ".join(f"{size} < {LONGEST}" for size in naming.sizes)
    point = _least(region.within(within), naming)
    if point is None:
        raise undecided(
            "it fails only where an extent is 2**24 or more, which surfaces do not have",
            "leave out what is done at such sizes",
        )
    return point


def _least(region: Region, naming: Naming) -> dict[str, int] | None:
    sizes = naming.sizes
    rest = tuple(n for n in region.names if n not in sizes)
    total = " + ".join(sizes) or "0"
    return region.to(("T", *region.names), f"T = {total}").least(("T", *sizes, *rest))
