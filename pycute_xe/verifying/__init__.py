"""Proofs about kernels, for all problem sizes.

`prover` asks the `questions` (also `coverage`, `changes`, `faults`) at the `points` of each store.
What `pycute_xe.holding` says and what the specification claims become formulas (`translation`,
`formula`, `laws`), which `comparison` and `matching` hold against each other; `evaluation` and
`enumeration` try numbers and intervals. Sets of integers are
decided in `regions`, the only module with isl. What is left undecided goes through the
`strategies`, each of which asks the prover about another kernel. A `verdict` comes out;
`pycute_xe.trials` then tries it. `prefetches` asks the same of prefetches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycute_xe.deferring import deferred

if TYPE_CHECKING:
    from pycute_xe.verifying.prefetches import verify_prefetches
    from pycute_xe.verifying.prover import prove
    from pycute_xe.verifying.verdict import Proof, Verdict

__getattr__ = deferred(__name__, __file__)

__all__ = ["Proof", "Verdict", "prove", "verify_prefetches"]
