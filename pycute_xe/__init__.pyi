"""The public names, each written once: `pycute_xe` imports them when they are first used."""

from pycute_xe import (
    atom as atom,
    comparing as comparing,
    cutlass as cutlass,
    dialects as dialects,
    esimd as esimd,
    files as files,
    kernel as kernel,
    native as native,
)
from pycute_xe.algebra import (
    BitMatrix as BitMatrix,
    append_ones as append_ones,
    bit_matrix as bit_matrix,
    blocked_product as blocked_product,
    coalesce as coalesce,
    coalesce_z as coalesce_z,
    common_coarsening as common_coarsening,
    common_refinement as common_refinement,
    complement as complement,
    composition as composition,
    downcast as downcast,
    filter as filter,
    filter_zeros as filter_zeros,
    flat_divide as flat_divide,
    flat_product as flat_product,
    from_bit_matrix as from_bit_matrix,
    functionally_equal as functionally_equal,
    get_nonswizzle_portion as get_nonswizzle_portion,
    get_swizzle_portion as get_swizzle_portion,
    greatest_common_domain as greatest_common_domain,
    hier_unzip as hier_unzip,
    image as image,
    is_bijective as is_bijective,
    is_contiguous as is_contiguous,
    is_injective as is_injective,
    is_surjective as is_surjective,
    layout_add as layout_add,
    left_inverse as left_inverse,
    logical_divide as logical_divide,
    logical_product as logical_product,
    make_layout_image_mask as make_layout_image_mask,
    make_layout_like as make_layout_like,
    make_layout_tv as make_layout_tv,
    max_common_layout as max_common_layout,
    max_common_vector as max_common_vector,
    nullspace as nullspace,
    prepend_ones as prepend_ones,
    raked_product as raked_product,
    recast_layout as recast_layout,
    right_inverse as right_inverse,
    sort as sort,
    tile_to_shape as tile_to_shape,
    tiled_divide as tiled_divide,
    tiled_product as tiled_product,
    tiler_to_layout as tiler_to_layout,
    transform_layout as transform_layout,
    upcast as upcast,
    with_shape as with_shape,
    zipped_divide as zipped_divide,
    zipped_product as zipped_product,
)
from pycute_xe.algebra.swizzled import (
    append as append,
    cosize as cosize,
    flatten as flatten,
    get as get,
    group as group,
    prepend as prepend,
    select as select,
    slice_ as slice_,
    slice_and_offset as slice_and_offset,
    take as take,
)
from pycute_xe.analysing import (
    analysis as analysis,
    best_swizzle as best_swizzle,
)
from pycute_xe.arch import (
    Target as Target,
    get_target as get_target,
)
from pycute_xe.atom import (
    XE_1D_LDSM as XE_1D_LDSM,
    XE_1D_LOAD_GLOBAL as XE_1D_LOAD_GLOBAL,
    XE_1D_STORE_GLOBAL as XE_1D_STORE_GLOBAL,
    XE_1D_STSM as XE_1D_STSM,
    XE_ATOMIC as XE_ATOMIC,
    XE_DPAS_TT as XE_DPAS_TT,
    XE_LOAD_2D as XE_LOAD_2D,
    XE_LOAD_2D_TRANSPOSE as XE_LOAD_2D_TRANSPOSE,
    XE_LOAD_2D_VNNI as XE_LOAD_2D_VNNI,
    XE_PREFETCH_2D as XE_PREFETCH_2D,
    XE_STORE_2D as XE_STORE_2D,
    CopyAtom as CopyAtom,
    MmaAtom as MmaAtom,
    Owner as Owner,
    SubgroupTensor as SubgroupTensor,
    TiledCopy as TiledCopy,
    TiledMma as TiledMma,
    UniversalCopy as UniversalCopy,
    make_block_2d_copy as make_block_2d_copy,
    make_block_2d_copy_A as make_block_2d_copy_A,
    make_block_2d_copy_B as make_block_2d_copy_B,
    make_block_2d_copy_C as make_block_2d_copy_C,
    make_block_2d_copy_D as make_block_2d_copy_D,
    make_block_2d_prefetch as make_block_2d_prefetch,
    make_copy_atom as make_copy_atom,
    make_cotiled_copy as make_cotiled_copy,
    make_mma_atom as make_mma_atom,
    make_subgroup_tensor as make_subgroup_tensor,
    make_tiled_copy as make_tiled_copy,
    make_tiled_copy_A as make_tiled_copy_A,
    make_tiled_copy_B as make_tiled_copy_B,
    make_tiled_copy_C as make_tiled_copy_C,
    make_tiled_copy_D as make_tiled_copy_D,
    make_tiled_copy_S as make_tiled_copy_S,
    make_tiled_copy_tv as make_tiled_copy_tv,
    make_tiled_mma as make_tiled_mma,
    reorder as reorder,
    workgroup_mma as workgroup_mma,
)
from pycute_xe.basis import (
    Basis as Basis,
    E as E,
)
from pycute_xe.bulk import (
    offsets as offsets,
    table as table,
)
from pycute_xe.chained import (
    Chained as Chained,
    make_composed_layout as make_composed_layout,
)
from pycute_xe.checking import (
    check as check,
)
from pycute_xe.comparing import (
    ElementOwner as ElementOwner,
    element_at as element_at,
    feeds as feeds,
    owner as owner,
    search_atoms as search_atoms,
)
from pycute_xe.composed import (
    ComposedLayout as ComposedLayout,
)
from pycute_xe.costing import (
    cost as cost,
)
from pycute_xe.cutlass import (
    from_cute as from_cute,
    get_atom as get_atom,
    template_of as template_of,
)
from pycute_xe.differing import (
    diff as diff,
)
from pycute_xe.drawing import (
    draw as draw,
)
from pycute_xe.emitting import (
    emit as emit,
)
from pycute_xe.errors import (
    CongruenceError as CongruenceError,
    CoordError as CoordError,
    CuteError as CuteError,
    DivisibilityError as DivisibilityError,
    DTypeError as DTypeError,
    InputError as InputError,
    KernelError as KernelError,
    LegalityError as LegalityError,
    MachineError as MachineError,
    RankError as RankError,
    ShapeError as ShapeError,
    TargetError as TargetError,
    ToolError as ToolError,
    UndecidableError as UndecidableError,
    UnfaithfulWarning as UnfaithfulWarning,
)
from pycute_xe.executing import (
    run as run,
)
from pycute_xe.explaining import (
    Explanation as Explanation,
    explain as explain,
)
from pycute_xe.exploring import (
    Space as Space,
)
from pycute_xe.f2 import (
    F2 as F2,
    F2Layout as F2Layout,
    as_f2 as as_f2,
)
from pycute_xe.files import (
    from_json as from_json,
    read_report as read_report,
    to_json as to_json,
)
from pycute_xe.int_tuple import (
    ceil_div as ceil_div,
    colex_less as colex_less,
    compatible as compatible,
    congruent as congruent,
    crd2crd as crd2crd,
    crd2idx as crd2idx,
    elem_less as elem_less,
    elem_scale as elem_scale,
    fold as fold,
    idx2crd as idx2crd,
    increment_coord as increment_coord,
    inner_product as inner_product,
    lex_less as lex_less,
    prefix_product as prefix_product,
    product as product,
    product_each as product_each,
    product_like as product_like,
    repeat_like as repeat_like,
    round_up as round_up,
    shape_div as shape_div,
    shape_mod as shape_mod,
    suffix_product as suffix_product,
    transform_leaf as transform_leaf,
    weakly_congruent as weakly_congruent,
)
from pycute_xe.kernel import (
    Counterexample as Counterexample,
    Kernel as Kernel,
)
from pycute_xe.layout import (
    Layout as Layout,
    coshape as coshape,
    depth as depth,
    dice as dice,
    is_major as is_major,
    leading_dim as leading_dim,
    make_identity_layout as make_identity_layout,
    make_layout as make_layout,
    make_ordered_layout as make_ordered_layout,
    rank as rank,
    replace as replace,
    shape as shape,
    size as size,
    stride as stride,
    unflatten as unflatten,
)
from pycute_xe.numeric import (
    Numeric as Numeric,
    as_numeric as as_numeric,
)
from pycute_xe.printing import (
    latex_math as latex_math,
    layout_table as layout_table,
    print_layout as print_layout,
    to_latex as to_latex,
)
from pycute_xe.ranking import (
    explore as explore,
)
from pycute_xe.swizzle import (
    Swizzle as Swizzle,
    make_swizzle as make_swizzle,
)
from pycute_xe.symbolic import (
    SymbolicInt as SymbolicInt,
    assume as assume,
    get_divisibility as get_divisibility,
    substitute as substitute,
    symbol as symbol,
    symbols as symbols,
)
from pycute_xe.tensor import (
    Tensor as Tensor,
    domain_offset as domain_offset,
    local_partition as local_partition,
    local_tile as local_tile,
    make_identity_tensor as make_identity_tensor,
    make_tensor as make_tensor,
    recast as recast,
)
from pycute_xe.trials import (
    needed_assumptions as needed_assumptions,
    replay as replay,
    verify as verify,
)
from pycute_xe.verifying import (
    verify_prefetches as verify_prefetches,
)

__version__: str
__all__: list[str]
