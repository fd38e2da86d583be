"""Floor 6: atoms and their tilings: who owns which element of which operand."""

from __future__ import annotations

from pycute_xe.atom.atom_record import AtomRecord, describe_atom
from pycute_xe.atom.block2d_copy import (
    make_block_2d_copy,
    make_block_2d_copy_A,
    make_block_2d_copy_B,
    make_block_2d_copy_C,
    make_block_2d_copy_D,
    make_block_2d_prefetch,
)
from pycute_xe.atom.block2d_name import Block2DName, parse_block2d_name, shipped_names
from pycute_xe.atom.block2d_op import (
    XE_LOAD_2D,
    XE_LOAD_2D_TRANSPOSE,
    XE_LOAD_2D_VNNI,
    XE_PREFETCH_2D,
    XE_STORE_2D,
    Block2DOp,
)
from pycute_xe.atom.copy_atom import CopyAtom, make_copy_atom
from pycute_xe.atom.differing import AtomDiff, diff
from pycute_xe.atom.feeding import Feed, feeds
from pycute_xe.atom.known_names import catalogue
from pycute_xe.atom.legacy_copy import LegacyCopyAtom
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
from pycute_xe.atom.mma_atom import XE_DPAS_TT, MmaAtom, make_mma_atom
from pycute_xe.atom.mma_makers import make_tiled_mma, workgroup_mma
from pycute_xe.atom.names import get_atom
from pycute_xe.atom.reordering import (
    classify_reorder,
    in_register_order,
    is_identity,
    reorder,
    reorder_from_copy,
    reorder_to_copy,
)
from pycute_xe.atom.searching import search_atoms
from pycute_xe.atom.tiled_copy import ThrCopy, TiledCopy, make_tiled_copy
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
    "AtomRecord",
    "AtomDiff",
    "Block2DName",
    "Block2DOp",
    "CopyAtom",
    "Feed",
    "LegacyCopyAtom",
    "LinearCopyAtom",
    "LinearOp",
    "MmaAtom",
    "ThrCopy",
    "ThrMma",
    "TiledCopy",
    "TiledMma",
    "UniversalCopy",
    "classify_reorder",
    "diff",
    "feeds",
    "catalogue",
    "describe_atom",
    "get_atom",
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
    "make_tiled_copy",
    "make_tiled_mma",
    "parse_block2d_name",
    "parse_linear_op",
    "reorder",
    "reorder_from_copy",
    "reorder_to_copy",
    "search_atoms",
    "shipped_names",
    "workgroup_mma",
]
