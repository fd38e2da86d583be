"""What the accesses of a layout cost: banks, segments, gaps, aliases, permutations.

`accesses` cuts a layout into accesses of a subgroup and counts banks and segments, `places` looks
at the offsets as a set and as a permutation, `searching` looks for the swizzle that removes bank
conflicts, and `report` is the verb `analysis`, which gathers all of it. No GPU is known here: the
count and width of banks, the lanes and the segment are arguments.
"""

from __future__ import annotations

from pycute_xe.analysing.accesses import Access
from pycute_xe.analysing.places import Aliasing, Footprint, Permutation
from pycute_xe.analysing.report import Analysis, analysis
from pycute_xe.analysing.searching import best_swizzle

__all__ = [
    "Access",
    "Aliasing",
    "Analysis",
    "Footprint",
    "Permutation",
    "analysis",
    "best_swizzle",
]
