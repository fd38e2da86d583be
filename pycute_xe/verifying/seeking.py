"""Floor 9: further points at which two formulas differ, where the smallest shows nothing.

At the smallest sizes a wrong kernel is often right by chance: a sum has one term, a softmax one
key. Larger problems and other places of an output then tell.
"""

from __future__ import annotations

from collections.abc import Iterator

from pycute_xe.errors import UndecidableError
from pycute_xe.verifying.failures import smallest
from pycute_xe.verifying.naming import Naming
from pycute_xe.verifying.regions import Names, Region

__all__ = ["narrowed"]

LEAST = (2, 3, 9, 17, 33)
"""From where on the sizes of a problem are tried; each alone only from the first and the last."""
LONG = 70
"""A size that each has alone: two trips of a loop over 32 elements are full then."""


def narrowed(region: Region, naming: Naming) -> Iterator[tuple[Region, dict[str, int]]]:
    """Yield parts of a region, each with its smallest point: first the whole of it.

    The others are of larger sizes, or the last point at the sizes of one before. A point comes
    once. Raises `UndecidableError` where every point has an extent that no surface has.
    """
    seen: list[dict[str, int]] = []
    for condition in ("", *_conditions(naming)):
        part = region.within(condition) if condition else region
        try:
            point = smallest(part, naming)
        except UndecidableError:
            if not condition:
                raise
            continue
        if point is None or point in seen:
            continue
        seen.append(point)
        yield part, point
        last = part.within(_at(point, naming.sizes)).greatest()
        if last is not None and last not in seen:
            seen.append(last)
            yield part.within(_at(last, part.names)), last


def _at(point: dict[str, int], names: Names) -> str:
    return " and ".join(f"{name} = {point[name]}" for name in names) or "true"


def _conditions(naming: Naming) -> Iterator[str]:
    """Yield what is asked of sizes: of one alone, then of all."""
    for ones, everyone in ((LEAST[:1], LEAST[:1]), ((LEAST[-1], LONG), LEAST[1:])):
        yield from (f"{size} >= {least}" for least in ones for size in naming.sizes)
        yield from (" and ".join(f"{n} >= {least}" for n in naming.sizes) for least in everyone)
