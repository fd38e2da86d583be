"""Checking against a target: which rules hold, which refuse, and who says so.

`check` (`checker`) takes a kernel, an atom, a message or text, and a target. `atoms` judges
messages and MMAs, `kernels` what a body does by its table `JUDGED`: registers, threads, shared
memory, fences. Rules and their sources are rows of ``atoms/``, read through `pycute_xe.arch`. What
was seen comes out as a `report`, with the demands on memory.
"""

from __future__ import annotations

from pycute_xe.checking.checker import check
from pycute_xe.checking.report import Bounds, Checked, Demand, Finding, Held, Resource

__all__ = ["Bounds", "Checked", "Demand", "Finding", "Held", "Resource", "check"]
