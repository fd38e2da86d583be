"""Running kernels on NumPy arrays.

`run` (`runner`) makes a `problem` of the user's arrays: checked, rounded, bound to operands.
`arrays` evaluates it on whole arrays where it can; all else goes to the `reference` executor, which
does statement by statement what its table `DOES` says, a `thread` for each subgroup of a grid
(`launch`), through `surfaces` on the byte machine. `space` lists the points of a statement, at
which `counting` counts its work; `tickets` are known beforehand. Arrays and a `Report` come out.
"""

from __future__ import annotations

from pycute_xe.executing.problem import Report
from pycute_xe.executing.runner import run

__all__ = ["Report", "run"]
