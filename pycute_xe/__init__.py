"""pycute_xe: CuTe layouts, atoms and kernels for Intel Xe GPUs, in Python.

Describe a composition, check it against a target, verify it for all problem sizes, run it on NumPy
buffers, draw it. The algebra is imported at once and needs only the standard library; everything
above it is imported when its name is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pycute_xe.algebra import (
    blocked_product,
    coalesce,
    complement,
    composition,
    downcast,
    filter_zeros,
    flat_divide,
    flat_product,
    functionally_equal,
    greatest_common_domain,
    image,
    is_bijective,
    is_contiguous,
    is_injective,
    is_surjective,
    layout_add,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout_like,
    max_common_layout,
    max_common_vector,
    nullspace,
    raked_product,
    recast_layout,
    right_inverse,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    transform_layout,
    upcast,
    with_shape,
    zipped_divide,
    zipped_product,
)
from pycute_xe.algebra import filter as filter
from pycute_xe.algebra import sort as sort
from pycute_xe.algebra.swizzled import (
    append,
    cosize,
    flatten,
    get,
    group,
    prepend,
    select,
    slice_,
    slice_and_offset,
    take,
)
from pycute_xe.basis import Basis, E
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import (
    CongruenceError,
    CoordError,
    CuteError,
    DivisibilityError,
    DTypeError,
    InputError,
    KernelError,
    LegalityError,
    MachineError,
    RankError,
    ShapeError,
    TargetError,
    UndecidableError,
    UnfaithfulWarning,
)
from pycute_xe.f2 import F2, F2Layout, as_f2
from pycute_xe.int_tuple import (
    ceil_div,
    compatible,
    congruent,
    crd2crd,
    crd2idx,
    elem_less,
    elem_scale,
    idx2crd,
    inner_product,
    prefix_product,
    product,
    round_up,
    shape_div,
    transform_leaf,
    weakly_congruent,
)
from pycute_xe.layout import (
    Layout,
    coshape,
    depth,
    dice,
    make_identity_layout,
    make_layout,
    make_ordered_layout,
    rank,
    replace,
    shape,
    size,
    stride,
    unflatten,
)
from pycute_xe.swizzle import Swizzle, make_swizzle
from pycute_xe.unknown import register_source

if TYPE_CHECKING:
    from pycute_xe import atom, esimd, kernel
    from pycute_xe.arch import Target, get_target
    from pycute_xe.atom import (
        XE_1D_LDSM,
        XE_1D_LOAD_GLOBAL,
        XE_1D_STORE_GLOBAL,
        XE_1D_STSM,
        XE_ATOMIC,
        XE_DPAS_TT,
        XE_LOAD_2D,
        XE_LOAD_2D_TRANSPOSE,
        XE_LOAD_2D_VNNI,
        XE_PREFETCH_2D,
        XE_STORE_2D,
        CopyAtom,
        MmaAtom,
        TiledCopy,
        TiledMma,
        UniversalCopy,
        diff,
        feeds,
        get_atom,
        make_block_2d_copy,
        make_block_2d_copy_A,
        make_block_2d_copy_B,
        make_block_2d_copy_C,
        make_block_2d_copy_D,
        make_block_2d_prefetch,
        make_copy_atom,
        make_mma_atom,
        make_tiled_copy,
        make_tiled_mma,
        reorder,
        search_atoms,
        workgroup_mma,
    )
    from pycute_xe.bulk import table
    from pycute_xe.checking import check
    from pycute_xe.drawing import draw
    from pycute_xe.executing import replay, run
    from pycute_xe.explaining import Explanation, explain
    from pycute_xe.kernel import Counterexample, Kernel
    from pycute_xe.numeric import Numeric, as_numeric
    from pycute_xe.points import offsets
    from pycute_xe.printing import latex_math, layout_table, print_layout, to_latex
    from pycute_xe.symbolic import SymbolicInt, substitute, symbol, symbols
    from pycute_xe.tensor import (
        Tensor,
        local_partition,
        local_tile,
        make_identity_tensor,
        make_tensor,
    )
    from pycute_xe.verifying import verify

__version__ = "0.1.0"

# The names above the algebra, by the module they live in: imported when first used.
_LAZY = {
    "pycute_xe.arch": ("Target", "get_target"),
    "pycute_xe.atom": (
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
        "CopyAtom",
        "MmaAtom",
        "TiledCopy",
        "TiledMma",
        "UniversalCopy",
        "diff",
        "feeds",
        "get_atom",
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
        "reorder",
        "search_atoms",
        "workgroup_mma",
    ),
    "pycute_xe.symbolic": ("SymbolicInt", "substitute", "symbol", "symbols"),
    "pycute_xe.bulk": ("table",),
    "pycute_xe.checking": ("check",),
    "pycute_xe.drawing": ("draw",),
    "pycute_xe.executing": ("replay", "run"),
    "pycute_xe.explaining": ("Explanation", "explain"),
    "pycute_xe.kernel": ("Counterexample", "Kernel"),
    "pycute_xe.numeric": ("Numeric", "as_numeric"),
    "pycute_xe.printing": ("latex_math", "layout_table", "print_layout", "to_latex"),
    "pycute_xe.points": ("offsets",),
    "pycute_xe.tensor": (
        "Tensor",
        "local_partition",
        "local_tile",
        "make_identity_tensor",
        "make_tensor",
    ),
    "pycute_xe.verifying": ("verify",),
}
_HOME = {name: module for module, names in _LAZY.items() for name in names}

__all__ = [
    "Basis",
    "ComposedLayout",
    "CuteError",
    "CongruenceError",
    "CoordError",
    "DTypeError",
    "DivisibilityError",
    "InputError",
    "KernelError",
    "LegalityError",
    "MachineError",
    "RankError",
    "ShapeError",
    "TargetError",
    "UndecidableError",
    "UnfaithfulWarning",
    "E",
    "F2",
    "F2Layout",
    "Layout",
    "Swizzle",
    "append",
    "as_f2",
    "atom",
    "blocked_product",
    "ceil_div",
    "coalesce",
    "compatible",
    "complement",
    "composition",
    "congruent",
    "coshape",
    "cosize",
    "crd2crd",
    "crd2idx",
    "depth",
    "dice",
    "downcast",
    "esimd",
    "elem_less",
    "elem_scale",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "flatten",
    "functionally_equal",
    "get",
    "greatest_common_domain",
    "group",
    "idx2crd",
    "image",
    "inner_product",
    "is_bijective",
    "is_contiguous",
    "is_injective",
    "is_surjective",
    "kernel",
    "layout_add",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_identity_layout",
    "make_layout",
    "make_layout_like",
    "make_ordered_layout",
    "make_swizzle",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "prefix_product",
    "prepend",
    "product",
    "raked_product",
    "rank",
    "recast_layout",
    "replace",
    "right_inverse",
    "round_up",
    "select",
    "shape",
    "shape_div",
    "size",
    "slice_",
    "slice_and_offset",
    "stride",
    "take",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "transform_layout",
    "transform_leaf",
    "unflatten",
    "upcast",
    "weakly_congruent",
    "with_shape",
    "zipped_divide",
    "zipped_product",
    "CopyAtom",
    "Counterexample",
    "Explanation",
    "Kernel",
    "MmaAtom",
    "Numeric",
    "SymbolicInt",
    "Target",
    "Tensor",
    "TiledCopy",
    "TiledMma",
    "UniversalCopy",
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
    "as_numeric",
    "check",
    "diff",
    "draw",
    "explain",
    "feeds",
    "get_atom",
    "get_target",
    "latex_math",
    "layout_table",
    "local_partition",
    "local_tile",
    "make_block_2d_copy",
    "make_block_2d_copy_A",
    "make_block_2d_copy_B",
    "make_block_2d_copy_C",
    "make_block_2d_copy_D",
    "make_block_2d_prefetch",
    "make_copy_atom",
    "make_identity_tensor",
    "make_mma_atom",
    "make_tensor",
    "make_tiled_copy",
    "make_tiled_mma",
    "offsets",
    "print_layout",
    "reorder",
    "replay",
    "run",
    "search_atoms",
    "substitute",
    "symbol",
    "symbols",
    "table",
    "to_latex",
    "verify",
    "workgroup_mma",
]


def __getattr__(name: str) -> Any:
    """Import what a name needs when it is first used."""
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in ("atom", "esimd", "kernel"):
        value = import_module(f"pycute_xe.{name}")
    else:
        raise AttributeError(f"module 'pycute_xe' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Every public name, imported yet or not."""
    return sorted({*globals(), *__all__})


def _from_sympy(leaf: Any) -> Any:
    return import_module("pycute_xe.symbolic").from_sympy(leaf)


# Leaves of sympy enter the algebra, which does not know it, as symbolic values.
register_source("sympy", _from_sympy)

if "IPython" in sys.modules:
    # In a notebook the drawing reader registers itself, so that values show as pictures.
    import_module("pycute_xe.drawing")
