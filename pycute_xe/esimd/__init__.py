"""Intel ESIMD in Python: kernels of threads that run on the machine, message by message.

Names and the order of arguments are those of ``sycl::ext::intel::esimd``; template arguments come
first, and those that have a default in C++ are keywords: ``lsc_load_2d(half, 16, 8, payload)``.
`launches` runs a function of an item for each of the `threads`, over vectors (`vectors`); where
threads meet, it yields: ``yield barrier()``. Accesses (`blocks`, `blocks2d`, `shared`, `atomics`)
pass through `messages`: each becomes the LSC message it stands for, held against the rules of the
target and executed. The pitfalls are lints with stable codes (`pycute_xe.esimd.lint`).
"""

from __future__ import annotations

from pycute_xe.arch.registers import occupancy
from pycute_xe.esimd import lint, xmx
from pycute_xe.esimd.atomics import fence, slm_atomic_update
from pycute_xe.esimd.blocks import block_load, block_store
from pycute_xe.esimd.blocks2d import (
    config_2d_mem_access,
    lsc_load_2d,
    lsc_prefetch_2d,
    lsc_store_2d,
)
from pycute_xe.esimd.launches import Item, Run, barrier, launch, nbarrier
from pycute_xe.esimd.lint import LINTS, EsimdError, Finding, Lint

# C++'s names of functions that Python has too: attributes, and not of ``import *``.
from pycute_xe.esimd.math import exp, hmax, hmin, max as max, min as min, sum as sum
from pycute_xe.esimd.props import (
    Pointer,
    alignment,
    cache_hint_L1,
    cache_hint_L2,
    cache_hint_L3,
    overaligned_tag,
    properties,
    reinterpret_cast,
)
from pycute_xe.esimd.reserving import slm_allocator, slm_init
from pycute_xe.esimd.shared import (
    gather,
    lsc_gather,
    lsc_scatter,
    lsc_slm_gather,
    lsc_slm_scatter,
    scatter,
    slm_block_load,
    slm_block_store,
)
from pycute_xe.esimd.types import (
    atomic_op,
    bfloat16,
    cache_hint,
    double,
    float_,
    half,
    int8_t,
    int16_t,
    int32_t,
    int64_t,
    lsc_data_size,
    nbarrier_role,
    uint8_t,
    uint16_t,
    uint32_t,
    uint64_t,
)
from pycute_xe.esimd.vectors import simd, simd_mask, simd_view

__all__ = [
    "LINTS",
    "EsimdError",
    "Finding",
    "Item",
    "Lint",
    "Pointer",
    "Run",
    "alignment",
    "atomic_op",
    "barrier",
    "bfloat16",
    "block_load",
    "block_store",
    "cache_hint",
    "cache_hint_L1",
    "cache_hint_L2",
    "cache_hint_L3",
    "config_2d_mem_access",
    "double",
    "exp",
    "fence",
    "float_",
    "gather",
    "half",
    "hmax",
    "hmin",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "launch",
    "lint",
    "lsc_data_size",
    "lsc_gather",
    "lsc_load_2d",
    "lsc_prefetch_2d",
    "lsc_scatter",
    "lsc_slm_gather",
    "lsc_slm_scatter",
    "lsc_store_2d",
    "nbarrier",
    "nbarrier_role",
    "occupancy",
    "overaligned_tag",
    "properties",
    "reinterpret_cast",
    "scatter",
    "simd",
    "simd_mask",
    "simd_view",
    "slm_allocator",
    "slm_atomic_update",
    "slm_block_load",
    "slm_block_store",
    "slm_init",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "xmx",
]
