"""Floor 9: proofs about kernels, for all problem sizes."""

from __future__ import annotations
