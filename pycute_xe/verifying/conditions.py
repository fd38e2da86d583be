"""Floor 9: when a kernel is right for some sizes: the condition on them, if it is worth saying."""

from __future__ import annotations

from pycute_xe.verifying.failures import Failure
from pycute_xe.verifying.points import Space
from pycute_xe.verifying.regions import Region

__all__ = ["condition_of"]


DIVISIONS = 4
"""More of them make a condition that is too long to read, and that takes isl minutes to find."""


def condition_of(failure: Failure, space: Space) -> str:
    """Return the condition on the sizes under which a failure does not occur; empty where none.

    Only a condition that arbitrarily large problems of every size satisfy, such as ``M mod 256 =
    0``, is one; a kernel that is right for small sizes alone is wrong.
    """
    if failure.points is None:
        return ""
    sizes = space.naming.sizes
    all_sizes = Region.where(sizes, " and ".join(space.sizes))
    bad = failure.points.to(sizes)
    if bad.divisions > DIVISIONS:
        return ""
    good = all_sizes - bad
    if good.is_empty:
        return ""
    large = " and ".join(f"{name} >= T" for name in sizes)
    reach = good.to(("T", *sizes), f"T >= 1 and {large}").to(("T",))
    if reach.is_bounded:
        return ""
    return good.told(all_sizes, "S_")
