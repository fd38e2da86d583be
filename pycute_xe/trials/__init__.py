"""Answers that were tried: a prover's verdict, held against runs of the machine.

`verify` asks the prover and then runs the kernel on `problems` chosen to show a mistake: small
sizes, edges of tiles and types, the places where conditions turn (`verifier`). `replay` runs a
counterexample (`replays`). A contradiction makes a verdict undecided and asks for a report.
`needed_assumptions` verifies a kernel without each assumption on its tables (`needed`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycute_xe.deferring import deferred

if TYPE_CHECKING:
    from pycute_xe.trials.dispatch import verify
    from pycute_xe.trials.needed import Needed, NeededAssumptions, needed_assumptions
    from pycute_xe.trials.replays import Replay, replay

__getattr__ = deferred(__name__, __file__)

__all__ = [
    "Needed",
    "NeededAssumptions",
    "Replay",
    "needed_assumptions",
    "replay",
    "verify",
]
