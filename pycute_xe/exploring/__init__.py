"""Which of many GEMMs costs least: `explore`.

`space` lists candidates as values, `rules` refuses by arithmetic before a kernel is built,
`pricing` bounds what a candidate costs and prices its kernel, `search` takes the best
first and keeps a log; `reasons` of `costing` says why one estimate is before another.
"""

from __future__ import annotations

from pycute_xe.costing.reasons import reasons
from pycute_xe.exploring.search import Explored, Priced, explore
from pycute_xe.exploring.space import Candidate, Space

__all__ = ["Candidate", "Explored", "Priced", "Space", "explore", "reasons"]
