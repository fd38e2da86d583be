"""Atoms and their tilings: who owns which element of which operand.

An operation (`block2d_op`, `linear_op`, or a row of DPAS in `mma_atom`) with a type of values is
an atom (`copy_atom`, `linear_copy`, `mma_atom`). Copies answer by `copy_answers` and
`register_picture`: what the layouts say, and what the messages leave in registers. A tiling
(`tiled_copy`, `tiled_mma`, made by `makers` and `block2d_copy` as `selection` chooses) gives a
work-item its share and a subgroup its registers (`subgroup_tensor`); `reordering` is the
permutation between two of them. Messages come from `pycute_xe.arch`, layouts from the algebra;
kernels are built of tilings. `cpp_text` and `spelling` write names and correct them.
"""

from __future__ import annotations

from pycute_xe.atom.block2d_copy import (
    make_block_2d_copy,
    make_block_2d_copy_A,
    make_block_2d_copy_B,
    make_block_2d_copy_C,
    make_block_2d_copy_D,
    make_block_2d_prefetch,
)
from pycute_xe.atom.block2d_op import (
    XE_LOAD_2D,
    XE_LOAD_2D_TRANSPOSE,
    XE_LOAD_2D_VNNI,
    XE_PREFETCH_2D,
    XE_STORE_2D,
    Block2DOp,
)
from pycute_xe.atom.copy_atom import CopyAtom, make_copy_atom
from pycute_xe.atom.linear_copy import LinearCopyAtom
from pycute_xe.atom.linear_op import (
    XE_1D_LDSM,
    XE_1D_LOAD_GLOBAL,
    XE_1D_STORE_GLOBAL,
    XE_1D_STSM,
    XE_ATOMIC,
    LinearOp,
    UniversalCopy,
    parse_linear_op,
)
from pycute_xe.atom.makers import (
    make_cotiled_copy,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_copy_C,
    make_tiled_copy_D,
    make_tiled_copy_S,
    make_tiled_copy_tv,
    make_tiled_mma,
    workgroup_mma,
)
from pycute_xe.atom.mma_atom import XE_DPAS_TT, MmaAtom, make_mma_atom
from pycute_xe.atom.reordering import (
    classify_reorder,
    in_register_order,
    is_identity,
    reorder,
    reorder_from_copy,
    reorder_to_copy,
)
from pycute_xe.atom.subgroup_tensor import Owner, SubgroupTensor, make_subgroup_tensor
from pycute_xe.atom.tiled_copy import ThrCopy, TiledCopy
from pycute_xe.atom.tiled_mma import ThrMma, TiledMma

__all__ = [
    "XE_1D_LDSM",
    "XE_1D_LOAD_GLOBAL",
    "XE_1D_STORE_GLOBAL",
    "XE_1D_STSM",
    "XE_ATOMIC",
    "XE_DPAS_TT",
    "XE_LOAD_2D",
    "XE_LOAD_2D_TRANSPOSE",
    "XE_LOAD_2D_VNNI",
    "XE_PREFETCH_2D",
    "XE_STORE_2D",
    "Block2DOp",
    "CopyAtom",
    "LinearCopyAtom",
    "LinearOp",
    "MmaAtom",
    "ThrCopy",
    "ThrMma",
    "Owner",
    "SubgroupTensor",
    "TiledCopy",
    "TiledMma",
    "UniversalCopy",
    "classify_reorder",
    "in_register_order",
    "is_identity",
    "make_block_2d_copy",
    "make_block_2d_copy_A",
    "make_block_2d_copy_B",
    "make_block_2d_copy_C",
    "make_block_2d_copy_D",
    "make_block_2d_prefetch",
    "make_copy_atom",
    "make_mma_atom",
    "make_subgroup_tensor",
    "make_cotiled_copy",
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_copy_tv",
    "make_tiled_mma",
    "parse_linear_op",
    "reorder",
    "reorder_from_copy",
    "reorder_to_copy",
    "workgroup_mma",
]
