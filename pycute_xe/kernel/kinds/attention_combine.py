"""Parts of attention put together: outputs over parts of the keys, by their lse."""

from __future__ import annotations

from pycute_xe.atom.block2d_copy import make_block_2d_copy_C, make_block_2d_copy_D
from pycute_xe.atom.reordering import reorder
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Operand
from pycute_xe.kernel.ir.statements import Convert, Fill, Load, Loop, Map, Reorder, Store
from pycute_xe.kernel.kinds.attention_form import F32, LOWEST, Rows
from pycute_xe.kernel.kinds.parts import gmem_stride
from pycute_xe.kernel.kinds.vectors import vector_copy
from pycute_xe.kernel.spec.expression import Element, Slot, apply, rounded_to, total
from pycute_xe.kernel.spec.specification import Claim, Specification
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots
from pycute_xe.layout import size
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed

__all__ = ["attention_combine"]


@typed
def attention_combine(mma: TiledMma, splits: int, *, out_type: Numeric | str = "f32") -> Kernel:
    """Return the kernel that puts the outputs of `attention` over ``splits`` parts together.

    ``O = sum(s, Os[s] · exp(lse[s])) / sum(s, exp(lse[s]))``, with the largest lse taken off. A
    work-group has a tile of C of ``mma``. Raises `KernelError` for tiles in which a subgroup does
    not have a multiple of 16 queries. C++: ``XeFMHAFwdSplitKVKernel``'s reduction.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 16), ((1, 1, 1), (1, 1, 1)))
    >>> print(*(str(operand) for operand in attention_combine(mma, 4).inputs), sep="; ")
    Os[4,B,H,M,E] f32 row-major; lse[4,B,H,M] f32 row-major
    """
    rows, numeric = Rows(mma, mma), as_numeric(out_type)
    if rows.count % 16:
        raise KernelError(
            "attention_combine",
            {"mma": mma},
            f"a subgroup has {rows.count} queries, lse is read 16 at a time",
            "use 16 queries for each subgroup",
        )
    load = make_block_2d_copy_C(mma, gmem_stride("C", "row"), F32)
    store = make_block_2d_copy_D(mma, gmem_stride("D", "row"), numeric)
    vector = vector_copy(mma, "m", F32)
    part, (m, e) = Index("s"), (Index("q") * mma.tile_mnk[0], Index("v") * mma.tile_mnk[1])
    at = (Index("b"), Index("h"), m, e)
    by_row = (("tFix", rows.of_scores), ("tNow", rows.of_scores))
    both = Slot("tAcc") * Slot("tFix") + Slot("tPart") * Slot("tNow")
    body = (
        Load(load, "Os", (part, *at), "tLoad", (3, 4)),
        Reorder("tLoad", "tPart", reorder(copy_slots(load), mma_slots(mma, "C"))),
        Load(vector, "lse", (part, *at[:-1]), "tLse", (None, 3)),
        Map("tNew", apply("max", Slot("tMax"), Slot("tLse"))),
        Map("tFix", apply("exp", Slot("tMax") - Slot("tNew"))),
        Map("tMax", Slot("tNew")),
        Map("tNow", apply("exp", Slot("tLse") - Slot("tMax"))),
        Map("tSum", Slot("tSum") * Slot("tFix") + Slot("tNow")),
        Map("tAcc", both, by_row),
    )
    end = (
        # Where no part has a key, the sum is 0; any other is 1 at least.
        Map("tAcc", Slot("tAcc") / apply("max", Slot("tSum"), 1.0), (("tSum", rows.of_scores),)),
        Convert("tAcc", "tOut"),
        Reorder("tOut", "tStore", reorder(mma_slots(mma, "C"), copy_slots(store))),
        Store(store, "O", at, "tStore", (2, 3)),
    )
    slots = size(mma.fragment("C")[1])
    vectors = ("tLse", "tMax", "tNew", "tFix", "tNow", "tSum")
    return Kernel(
        "attention_combine",
        mma.num_subgroups,
        (
            Operand("Os", F32, (splits, "B", "H", "M", "E")),
            Operand("lse", F32, (splits, "B", "H", "M")),
            Operand("O", numeric, ("B", "H", "M", "E"), role="out"),
        ),
        (
            *(rows.fragment(name) for name in vectors),
            *(Fragment(name, F32, slots) for name in ("tLoad", "tPart", "tAcc")),
            *(Fragment(name, numeric, slots) for name in ("tOut", "tStore")),
        ),
        (
            ("b", Index("B")),
            ("h", Index("H")),
            ("q", Tiles("M", mma.tile_mnk[0])),
            ("v", Tiles("E", mma.tile_mnk[1])),
        ),
        (
            Fill("tMax", LOWEST),
            Fill("tSum"),
            Fill("tAcc"),
            Loop("s", Index(), Index(None, splits), body),
            *end,
        ),
        _claim(splits, numeric),
    )


def _claim(splits: int, numeric: Numeric) -> Specification:
    b, h, m, e = map(Index, "bhme")
    parts, lse = Index("p"), Element("lse", (Index("p"), b, h, m))
    top = apply("max", LOWEST, total("t", splits, Element("lse", (Index("t"), b, h, m)), how="max"))
    weight = apply("exp", lse - top)
    above = total("p", splits, Element("Os", (parts, b, h, m, e)) * weight)
    value = above / apply("max", total("p", splits, weight), 1.0)
    claimed = value if numeric == F32 else rounded_to(numeric, value)
    return Specification((Claim("O", ("b", "h", "m", "e"), claimed),))
