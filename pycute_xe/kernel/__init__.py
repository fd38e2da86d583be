"""Floor 7: kernels as values."""

from __future__ import annotations

from pycute_xe.kernel.counterexample import Counterexample
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.kernel import Kernel, walk
from pycute_xe.kernel.mainloop import gemm, gmem_stride
from pycute_xe.kernel.statements import (
    BarrierArrive,
    BarrierWait,
    Fill,
    Fragment,
    Load,
    Loop,
    Mma,
    Operand,
    Order,
    Prefetch,
    Reorder,
    Statement,
    Store,
    When,
)

__all__ = [
    "BarrierArrive",
    "BarrierWait",
    "Counterexample",
    "Fill",
    "Fragment",
    "Index",
    "Kernel",
    "Load",
    "Loop",
    "Mma",
    "Operand",
    "Order",
    "Prefetch",
    "Reorder",
    "Statement",
    "Store",
    "Tiles",
    "When",
    "gemm",
    "gmem_stride",
    "walk",
]
