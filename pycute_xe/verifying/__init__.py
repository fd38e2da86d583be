"""Proofs about kernels, for all problem sizes."""

from __future__ import annotations

from pycute_xe.verifying.prefetching import verify_prefetches
from pycute_xe.verifying.prover import prove
from pycute_xe.verifying.verdict import Proof, Verdict

__all__ = ["Proof", "Verdict", "prove", "verify_prefetches"]
