"""Parts of attention put together: outputs over parts of the keys, by their lse."""

from __future__ import annotations

from dataclasses import replace

from pycute_xe.atom.block2d_copy import make_block_2d_copy_C, make_block_2d_copy_D
from pycute_xe.atom.block2d_op import XE_STORE_2D
from pycute_xe.atom.copy_atom import make_copy_atom
from pycute_xe.atom.reordering import reorder
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Operand
from pycute_xe.kernel.ir.statements import (
    Convert,
    Fill,
    If,
    Load,
    Loop,
    Map,
    Reorder,
    Statement,
    Store,
)
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
def attention_combine(
    mma: TiledMma, splits: int, *, out_type: Numeric | str = "f32", lse: bool = False
) -> Kernel:
    """Return the kernel that puts the outputs of `attention` over ``splits`` parts together.

    ``O = sum(s, Os[s] · exp(lse[s])) / sum(s, exp(lse[s]))``, with the largest lse taken off. A
    work-group has a tile of C of ``mma``. With ``lse`` the second output ``logs`` is the lse of all
    parts. Packed outputs (splits, H, T, E) are those of one batch. Raises `KernelError` for tiles
    in which a subgroup does not have a multiple of 16 queries. C++: ``XeFMHAFwdSplitKVKernel``'s
    reduction, vLLM's ``merge_attn_states``.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 16), ((1, 1, 1), (1, 1, 1)))
    >>> print(*(str(operand) for operand in attention_combine(mma, 4).inputs), sep="; ")
    Os[4,B,H,M,E] f32 row-major; lse[4,B,H,M] f32 row-major
    """
    rows, numeric = Rows(mma, mma), as_numeric(out_type)
    if splits < 1:
        wrong = f"{splits} parts have nothing to put together"
        raise KernelError("attention_combine", {"splits": splits}, wrong, "use splits=2")
    if rows.count % 16:
        raise KernelError(
            "attention_combine",
            {"mma": mma},
            f"a subgroup has {rows.count} queries, lse is read 16 at a time",
            "use 16 queries for each subgroup",
        )
    out = Operand("O", numeric, ("B", "H", "M", "E"), role="out")
    logs = (Operand("logs", F32, ("B", "H", "M"), role="out"),) if lse else ()
    queries, columns, _ = mma.tile_mnk
    return Kernel(
        "attention_combine",
        mma.num_subgroups,
        (
            Operand("Os", F32, (splits, *out.modes)),
            Operand("lse", F32, (splits, *out.modes[:-1])),
            out,
            *logs,
        ),
        _fragments(mma, rows, numeric),
        (
            ("b", Index("B")),
            ("h", Index("H")),
            ("q", Tiles("M", queries)),
            ("v", Tiles("E", columns)),
        ),
        _body(mma, rows, splits, numeric, lse),
        _claim(splits, numeric, lse),
    )


def _fragments(mma: TiledMma, rows: Rows, numeric: Numeric) -> tuple[Fragment, ...]:
    """Return the registers."""
    slots, vectors = size(mma.fragment("C")[1]), ("tLse", "tMax", "tNew", "tFix", "tNow", "tSum")
    return (
        *(rows.fragment(name) for name in vectors),
        *(Fragment(name, F32, slots) for name in ("tLoad", "tPart", "tAcc")),
        *(Fragment(name, numeric, slots) for name in ("tOut", "tStore")),
    )


def _body(
    mma: TiledMma, rows: Rows, splits: int, numeric: Numeric, lse: bool
) -> tuple[Statement, ...]:
    """Return the loop over parts, and what is stored behind it."""
    load = make_block_2d_copy_C(mma, gmem_stride("C", "row"), F32)
    store = make_block_2d_copy_D(mma, gmem_stride("D", "row"), numeric)
    vector, (m, e) = vector_copy(mma, "m", F32), mma.tile_mnk[:2]
    at = (Index("b"), Index("h"), Index("q") * m, Index("v") * e)
    by_row = (("tFix", rows.of_scores), ("tNow", rows.of_scores))
    both = Slot("tAcc") * Slot("tFix") + Slot("tPart") * Slot("tNow")
    body = (
        Load(load, "Os", (Index("s"), *at), "tLoad", (3, 4)),
        Reorder("tLoad", "tPart", reorder(copy_slots(load), mma_slots(mma, "C"))),
        Load(vector, "lse", (Index("s"), *at[:-1]), "tLse", (None, 3)),
        Map("tNew", apply("max", Slot("tMax"), Slot("tLse"))),
        Map("tFix", apply("exp", Slot("tMax") - Slot("tNew"))),
        Map("tMax", Slot("tNew")),
        Map("tNow", apply("exp", Slot("tLse") - Slot("tMax"))),
        Map("tSum", Slot("tSum") * Slot("tFix") + Slot("tNow")),
        Map("tAcc", both, by_row),
    )
    put: tuple[Statement, ...] = ()
    if lse:
        op = XE_STORE_2D(32, 1, vector.op.message.width)
        logs = Store(
            replace(vector, atom=make_copy_atom(op, F32)), "logs", at[:-1], "tLse", (None, 2)
        )
        put = (Map("tLse", Slot("tMax") + apply("log", Slot("tSum"))),)
        put = (*put, If(Index("v"), Index(None, 1), (logs,)))
    return (
        Fill("tMax", LOWEST),
        Fill("tSum"),
        Fill("tAcc"),
        Loop("s", Index(), Index(None, splits), body),
        *put,
        # Where no part has a key, the sum is 0; any other is 1 at least.
        Map("tAcc", Slot("tAcc") / apply("max", Slot("tSum"), 1.0), (("tSum", rows.of_scores),)),
        Convert("tAcc", "tOut"),
        Reorder("tOut", "tStore", reorder(mma_slots(mma, "C"), copy_slots(store))),
        Store(store, "O", at, "tStore", (2, 3)),
    )


def _claim(splits: int, numeric: Numeric, logs: bool) -> Specification:
    b, h, m, e = map(Index, "bhme")
    parts, lse = Index("p"), Element("lse", (Index("p"), b, h, m))
    top = apply("max", LOWEST, total("t", splits, Element("lse", (Index("t"), b, h, m)), how="max"))
    weight = apply("exp", lse - top)
    above = total("p", splits, Element("Os", (parts, b, h, m, e)) * weight)
    value = above / apply("max", total("p", splits, weight), 1.0)
    claimed = value if numeric == F32 else rounded_to(numeric, value)
    out = [Claim("O", ("b", "h", "m", "e"), claimed)]
    if logs:
        every = top + apply("log", total("p", splits, weight))
        out.append(Claim("logs", ("b", "h", "m"), every))
    return Specification(tuple(out))
