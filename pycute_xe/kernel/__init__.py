"""Kernels as values: a program, and what it should compute.

A `Kernel` is made by a kind (`kinds`: `gemm`, `attention`, …) or line by line (`building`). It has
a program of statements (`ir`), placed by quasi-affine indices (`index`), over fragments as tiles
lie in registers (`tiles`), and a claim in index notation (`spec`); `schedules` deal its tiles out.
Nothing here executes, proves or draws: the readers of a kernel are packages of their own, and
`counterexample` and `probes` are what they share. `owning` says which work-item moves an element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycute_xe.deferring import deferred

if TYPE_CHECKING:
    from pycute_xe.kernel.building.builder import KernelBuilder
    from pycute_xe.kernel.counterexample import Counterexample
    from pycute_xe.kernel.index import Index, Tiles
    from pycute_xe.kernel.ir.barriers import NamedBarrier
    from pycute_xe.kernel.ir.effects import Touched
    from pycute_xe.kernel.ir.kernel import Kernel
    from pycute_xe.kernel.ir.named import NamedArrive, NamedWait
    from pycute_xe.kernel.ir.operands import Fragment, Operand, Order, Shared, matrix
    from pycute_xe.kernel.ir.program import Meanings, walk
    from pycute_xe.kernel.ir.statements import (
        AtomicStore,
        Await,
        BarrierArrive,
        BarrierWait,
        Convert,
        Fence,
        FetchAdd,
        Fill,
        If,
        Load,
        Loop,
        Map,
        Mma,
        Part,
        Prefetch,
        Reduce,
        Reorder,
        SharedLoad,
        SharedStore,
        Signal,
        Statement,
        Store,
    )
    from pycute_xe.kernel.kinds.attention import attention
    from pycute_xe.kernel.kinds.attention_combine import attention_combine
    from pycute_xe.kernel.kinds.chained_gemm import chained_gemm
    from pycute_xe.kernel.kinds.configured import from_cutlass
    from pycute_xe.kernel.kinds.gemms import (
        dual_gemm,
        gemm,
        scheduled,
        slm_gemm,
        specialised_gemm,
        split_k,
    )
    from pycute_xe.kernel.kinds.parts import gmem_stride
    from pycute_xe.kernel.kinds.recipe import Epilogue, Input, Mainloop, Schedule, Step, kernel
    from pycute_xe.kernel.kinds.top_k import softmax_gemm, top_k_gemm
    from pycute_xe.kernel.owning import Moved, owner_of
    from pycute_xe.kernel.schedules.dealt_tiles import dealt_tiles
    from pycute_xe.kernel.schedules.whole_tiles import whole_tiles
    from pycute_xe.kernel.serving.argmax_rows import argmax_rows
    from pycute_xe.kernel.serving.causal_conv import causal_conv
    from pycute_xe.kernel.serving.convolution import convolution
    from pycute_xe.kernel.serving.dealt import dealt_gemm
    from pycute_xe.kernel.serving.delta_rule import delta_rule
    from pycute_xe.kernel.serving.dequantize import dequantize_groups
    from pycute_xe.kernel.serving.embedding import embedding
    from pycute_xe.kernel.serving.gates import gated_rows
    from pycute_xe.kernel.serving.grouped_routing import grouped_routing
    from pycute_xe.kernel.serving.kv_cache_gather import kv_cache_gather
    from pycute_xe.kernel.serving.kv_cache_write import kv_cache_write
    from pycute_xe.kernel.serving.linear_attention import linear_attention
    from pycute_xe.kernel.serving.lora import sgmv
    from pycute_xe.kernel.serving.mla_cache_write import mla_cache_write
    from pycute_xe.kernel.serving.moe import moe_gemm
    from pycute_xe.kernel.serving.moe_routing import moe_counts, moe_routing
    from pycute_xe.kernel.serving.moe_rows import moe_combine, moe_permute
    from pycute_xe.kernel.serving.mqa_logits import mqa_logits
    from pycute_xe.kernel.serving.norms import add_rms_norm, layer_norm, rms_norm
    from pycute_xe.kernel.serving.quantize_rows import quantize_groups, quantize_rows
    from pycute_xe.kernel.serving.rope import rope
    from pycute_xe.kernel.serving.scaled_gemm import block_scaled_gemm
    from pycute_xe.kernel.serving.selective_scan import selective_scan
    from pycute_xe.kernel.serving.softmax_rows import softmax_rows
    from pycute_xe.kernel.serving.solve_tril import solve_tril
    from pycute_xe.kernel.spec.expression import (
        Element,
        Expression,
        Slot,
        apply,
        rounded_to,
        total,
    )
    from pycute_xe.kernel.spec.reading import read_specification
    from pycute_xe.kernel.spec.scatters import Scatter
    from pycute_xe.kernel.spec.specification import Claim, Specification
    from pycute_xe.kernel.spec.tables import (
        Assumption,
        AtMost,
        Bins,
        Distinct,
        InRange,
        Permutation,
        Rising,
        Runs,
        Sorted,
        Tickets,
    )
    from pycute_xe.kernel.tiles.spread import Share

__getattr__ = deferred(__name__, __file__)

__all__ = [
    "Assumption",
    "AtMost",
    "Bins",
    "AtomicStore",
    "Await",
    "BarrierArrive",
    "BarrierWait",
    "Claim",
    "Convert",
    "Distinct",
    "Epilogue",
    "Counterexample",
    "Element",
    "Expression",
    "Fence",
    "FetchAdd",
    "Fill",
    "Fragment",
    "If",
    "InRange",
    "Index",
    "Input",
    "Kernel",
    "KernelBuilder",
    "Load",
    "Loop",
    "Mainloop",
    "Map",
    "Meanings",
    "Mma",
    "NamedArrive",
    "NamedBarrier",
    "NamedWait",
    "Moved",
    "Operand",
    "Order",
    "Part",
    "Permutation",
    "Prefetch",
    "Reduce",
    "Reorder",
    "Rising",
    "Runs",
    "Scatter",
    "Share",
    "Schedule",
    "Shared",
    "SharedLoad",
    "SharedStore",
    "Signal",
    "Slot",
    "Sorted",
    "Specification",
    "Statement",
    "Step",
    "Store",
    "Tickets",
    "Tiles",
    "Touched",
    "apply",
    "attention",
    "attention_combine",
    "chained_gemm",
    "dual_gemm",
    "from_cutlass",
    "gemm",
    "gmem_stride",
    "kernel",
    "matrix",
    "owner_of",
    "read_specification",
    "rounded_to",
    "slm_gemm",
    "softmax_gemm",
    "specialised_gemm",
    "scheduled",
    "split_k",
    "add_rms_norm",
    "argmax_rows",
    "causal_conv",
    "convolution",
    "dealt_gemm",
    "dealt_tiles",
    "dequantize_groups",
    "embedding",
    "gated_rows",
    "grouped_routing",
    "kv_cache_gather",
    "kv_cache_write",
    "mla_cache_write",
    "moe_gemm",
    "mqa_logits",
    "layer_norm",
    "rms_norm",
    "quantize_groups",
    "quantize_rows",
    "rope",
    "block_scaled_gemm",
    "selective_scan",
    "sgmv",
    "softmax_rows",
    "solve_tril",
    "linear_attention",
    "delta_rule",
    "moe_counts",
    "moe_routing",
    "moe_combine",
    "moe_permute",
    "top_k_gemm",
    "total",
    "walk",
    "whole_tiles",
]
