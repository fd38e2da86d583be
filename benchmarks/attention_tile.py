"""One tile of keys of attention: two products and a softmax between, in registers."""

from __future__ import annotations

from pycute_xe.atom.block2d_copy import (
    make_block_2d_copy_A,
    make_block_2d_copy_B,
    make_block_2d_copy_D,
)
from pycute_xe.atom.reordering import reorder
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Operand
from pycute_xe.kernel.ir.statements import (
    Convert,
    Fill,
    Load,
    Loop,
    Map,
    Mma,
    Reduce,
    Reorder,
    Statement,
    Store,
)
from pycute_xe.kernel.kinds.parts import gmem_stride
from pycute_xe.kernel.kinds.vectors import vector_gather
from pycute_xe.kernel.spec.expression import Element, Slot, apply, rounded_to, total
from pycute_xe.kernel.spec.specification import Claim, Specification
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots, subgroup_tv
from pycute_xe.layout import Layout, size

__all__ = ["attention_tile"]


def attention_tile(qk: TiledMma, pv: TiledMma) -> Kernel:
    """Return softmax(scale · Q Kᵀ) V over one tile of keys, without a running maximum.

    ``qk`` multiplies Q (queries, D) by K (keys, D) and ``pv`` the weights by V (keys, V); both
    share the queries out over subgroups alike, and each subgroup has all keys of its queries. The
    weights go from the one's accumulator to the other's A operand by a reorder, in registers.
    Raises `KernelError` for tilings that do not fit. C++: ``xe_fmha_fwd_mainloop.hpp``, one block.

    >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
    >>> op, grid = XE_DPAS_TT(8, "f32", "bf16"), ((4, 1, 1), (1, 1, 1))
    >>> kernel = attention_tile(
    ...     workgroup_mma(op, (64, 32, 16), grid), workgroup_mma(op, (64, 32, 32), grid)
    ... )
    >>> print(str(kernel.computes).partition("=")[0])
    O[q,v]
    """
    queries, keys, depth = qk.tile_mnk
    _check(qk, pv)
    kind = qk.atom.op.A
    operands = (
        Operand("Q", kind, ("M", "D")),
        Operand("K", kind, (keys, "D")),
        Operand("V", pv.atom.op.B, (keys, "N")),
        Operand("scale", "f32", ()),
        Operand("O", pv.atom.op.D, ("M", "N"), role="out"),
    )
    copies = {
        "Q": make_block_2d_copy_A(qk, gmem_stride("A", "row")),
        "K": make_block_2d_copy_B(qk, gmem_stride("B", "col")),
        "V": make_block_2d_copy_B(pv, gmem_stride("B", "row")),
        "O": make_block_2d_copy_D(pv, gmem_stride("D", "row")),
    }
    rows = vector_gather(qk, "m")
    body = (
        Fill("tSrS"),
        Loop("d", Index(), Tiles("D", depth), _scores(qk, copies)),
        Map("tSrS", apply("exp", Slot("tSrS") * Element("scale"))),
        Reduce("sum", "tSrS", "tSrSum", rows),
        Convert("tSrS", "tSrP"),
        Reorder("tSrP", "tOrP", _weights(qk, pv)),
        Load(copies["V"], "V", (Index(), Index("v") * pv.tile_mnk[1]), "tVrV", (1, 0)),
        Reorder("tVrV", "tOrV", reorder(copy_slots(copies["V"]), mma_slots(pv, "B"))),
        Fill("tOrO"),
        Mma(pv, "tOrO", "tOrP", "tOrV"),
        Map("tOrO", Slot("tOrO") / Slot("tSrSum"), (("tSrSum", vector_gather(pv, "m")),)),
        *_stored(pv, copies["O"], queries),
    )
    grid = (("q", Tiles("M", queries)), ("v", Tiles("N", pv.tile_mnk[1])))
    return Kernel(
        "attention_tile",
        qk.num_subgroups,
        operands,
        _fragments(qk, pv, copies),
        grid,
        body,
        _claim(qk, keys),
    )


def _check(qk: TiledMma, pv: TiledMma) -> None:
    wrong = ""
    if qk.tile_mnk[0] != pv.tile_mnk[0] or qk.tile_mnk[1] != pv.tile_mnk[2]:
        wrong = f"the scores are {qk.tile_mnk[:2]}, the weights {pv.tile_mnk[::2]}"
    elif size(qk.atom_layout_mnk[1]) > 1 or size(pv.atom_layout_mnk[1]) > 1:
        wrong = "a row of scores is shared by several subgroups"
    elif qk.num_subgroups != pv.num_subgroups:
        wrong = f"{qk.num_subgroups} subgroups are followed by {pv.num_subgroups}"
    if wrong:
        raise KernelError(
            "attention_tile", {"qk": qk, "pv": pv}, wrong, "share queries alike, keys not at all"
        )
    rows = qk.tile_mnk[0] // qk.num_subgroups
    if rows % 16:  # the sums of rows fill registers of 16 lanes
        raise KernelError(
            "attention_tile",
            {"qk": qk, "subgroups": qk.num_subgroups},
            f"each subgroup has {rows} rows of scores, which is not a multiple of 16",
            f"use a tile of {16 * qk.num_subgroups} queries",
        )


def _weights(qk: TiledMma, pv: TiledMma) -> Layout:
    bits = pv.atom.op.A.bits
    return reorder(subgroup_tv(qk.fragment("C"), bits), subgroup_tv(pv.fragment("A"), bits))


def _scores(qk: TiledMma, copies: dict[str, TiledCopy]) -> tuple[Statement, ...]:
    queries, _, depth = qk.tile_mnk
    at = Index("d") * depth
    out: list[Statement] = []
    for name, role, place in (("Q", "A", (Index("q") * queries, at)), ("K", "B", (Index(), at))):
        slots = reorder(copy_slots(copies[name]), mma_slots(qk, role))
        out += [
            Load(copies[name], name, place, f"t{name}r{name}"),
            Reorder(f"t{name}r{name}", f"tSr{name}", slots),
        ]
    return (*out, Mma(qk, "tSrS", "tSrQ", "tSrK"))


def _stored(pv: TiledMma, copy: TiledCopy, queries: int) -> tuple[Statement, ...]:
    at = (Index("q") * queries, Index("v") * pv.tile_mnk[1])
    slots = reorder(mma_slots(pv, "C"), copy_slots(copy))
    return (Reorder("tOrO", "tOrD", slots), Store(copy, "O", at, "tOrD"))


def _fragments(qk: TiledMma, pv: TiledMma, copies: dict[str, TiledCopy]) -> tuple[Fragment, ...]:
    scores, out = size(qk.fragment("C")[1]), size(pv.fragment("C")[1])
    rows = qk.tile_mnk[0] // qk.num_subgroups
    made = [
        Fragment("tSrS", qk.atom.op.D, scores),
        Fragment("tSrSum", qk.atom.op.D, -(-rows // 16)),
        Fragment("tSrP", pv.atom.op.A, scores),
        Fragment("tOrP", pv.atom.op.A, size(pv.fragment("A")[1])),
        Fragment("tOrO", pv.atom.op.D, out),
        Fragment("tOrD", pv.atom.op.D, out),
    ]
    for name, mma, read, role in (
        ("Q", qk, "tSrQ", "A"),
        ("K", qk, "tSrK", "B"),
        ("V", pv, "tOrV", "B"),
    ):
        copy = copies[name]
        slots = copy.messages * copy.atom.values
        made.append(Fragment(f"t{name}r{name}", copy.value_type, slots))
        made.append(Fragment(read, copy.value_type, size(mma.fragment(role)[1])))
    return tuple(made)


def _claim(qk: TiledMma, keys: int) -> Specification:
    q, v, k, d = map(Index, "qvkd")
    scores = total("d", "D", Element("Q", (q, d)) * Element("K", (k, d)))
    weight = apply("exp", scores * Element("scale"))
    weighted = rounded_to(qk.atom.op.A, weight) * Element("V", (k, v))
    value = total("k", keys, weighted) / total("k", keys, weight)
    return Specification((Claim("O", ("q", "v"), value),))
