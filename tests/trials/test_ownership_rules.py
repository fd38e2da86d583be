"""Every rule by which ownership is derived, broken once: `verify` says where the machine differs.

A rule is replaced while a value is made and asked; what the machine moved is asked again without.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.algebra import composition
from pycute_xe.algebra.compose import scaled
from pycute_xe.arch import get_target
from pycute_xe.atom import Block2DOp, MmaAtom, TiledCopy, TiledMma, copy_atom, linear_copy, mma_atom
from pycute_xe.atom.linear_copy import LinearCopyAtom
from pycute_xe.cutlass import LegacyCopyAtom, legacy_copy, legacy_name
from pycute_xe.executing.copies import moved_places
from pycute_xe.holding import tables
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.machine import RegisterFile
from pycute_xe.machine.dpas import execute
from pycute_xe.trials.product_kernels import owned_places

Patch = Callable[[], AbstractContextManager[pytest.MonkeyPatch]]
Change = Callable[..., Any]


class Rule(NamedTuple):
    """A function or property, what it says instead (given what is right), and a value it makes."""

    owner: Any
    name: str
    change: Change
    make: Callable[[], Any]


def broken(patch: pytest.MonkeyPatch, rule: Rule) -> None:
    """Replace what a function or a property answers."""
    right = vars(rule.owner)[rule.name]
    if isinstance(right, (property, cached_property)):
        ask: Any = right.fget if isinstance(right, property) else right.func
        patch.setattr(rule.owner, rule.name, property(lambda self: rule.change(ask(self), self)))
    else:
        patch.setattr(rule.owner, rule.name, lambda *given: rule.change(right(*given), *given))


# ------------------------------------------------------------ what is said instead


def columns_first(_: Layout, op: Block2DOp) -> Layout:
    return Layout((op.height, op.width), (op.width, 1))


def rows_first(_: Layout, op: Block2DOp) -> Layout:
    return Layout((op.width, op.height), (1, op.width))


def across_the_blocks(_: Layout, op: Block2DOp) -> Layout:
    shape = (op.block_width, op.block_count, op.height)
    return Layout(shape, (1, op.block_width, op.width))


def pairs_across_the_blocks(_: Layout, op: Block2DOp) -> Layout:
    w, bw = op.width, op.block_width
    return Layout((2, bw, op.block_count, op.height // 2), (w, 1, bw, 2 * w))


def four_rows_together(_: Layout, op: Block2DOp) -> Layout:
    return Layout((4, op.width, op.height // 4), (op.width, 1, 4 * op.width))


def in_runs(_: Layout, order: Layout, count: int) -> Layout:
    return composition(order, Layout((16, count // 16), (count // 16, 1)))


def parts_last(_: Layout, layout: Layout, n: int) -> Layout:
    return make_layout(scaled(layout, n), Layout(n)) if n > 1 else layout


def nibbles_last(_: Layout, tv: Layout, n: int) -> Layout:
    return make_layout(scaled(tv[0], n), make_layout(scaled(tv[1], n), Layout(n)))


def lanes_permuted(steps: Any, name: object) -> Any:
    """Work-item 1 gets what is 8 work-items further."""
    ((extent, y, x), *rest), values = steps
    assert extent == 16
    return ((2, 8 * y, 8 * x), (8, y, x), *rest), values


def not_transposed(steps: Any, name: Any) -> Any:
    return ((16, 1, 0),), ((name.logical_shape[1], 0, 1),)


def row_by_row(steps: Any, name: object) -> Any:
    return ((16, 0, 1),), ((2, 1, 0),)


def neighbours_last(steps: Any, name: object) -> Any:
    lanes, (first, *others) = steps
    return lanes, (*others, first)


def turned(steps: Any, *_: object) -> Any:
    return steps[::-1]


def even_rows_first(steps: Any, name: object, rows: int, across: Any) -> Any:
    return (rows // 2, 2, 0), (2, 1, 0), across


def lanes_turned(steps: Any, *_: object) -> Any:
    return steps[0][::-1], steps[1]


def values_exchanged(owned: Any, _: object) -> Any:
    return tuple(tuple(held[v ^ 1] for v in range(len(held))) for held in owned)


def work_items_exchanged(owned: Any, _: object) -> Any:
    return tuple(owned[t ^ 1] for t in range(len(owned)))


def traits_exchanged(traits: Layout, *_: object) -> Layout:
    stride = traits.stride[0]  # of the work-items, in bits
    return make_layout(Layout((2, 8), (8 * stride, stride)), traits[1]) if stride else traits


def a_work_item_at_a_time(slots: Any, data: Any, part: int) -> Any:
    return iter(sorted(slots))


def padding_first(slots: Any, data: Any, part: int) -> Any:
    pairs = [*slots]
    return iter([pairs[i ^ 1] for i in range(len(pairs))])


def mma_lanes_permuted(tv: Layout, _: object) -> Layout:
    return make_layout(in_halves(tv[0]), tv[1])


def every_second_row(_: Layout, op: Block2DOp) -> Layout:
    return Layout((op.width, op.height), (1, 2 * op.width))


def without_packing(_: Layout, atom: MmaAtom) -> Layout:
    return Layout(atom.shape_mnk[1:])


def nibble_by_nibble(_: Layout, position: Layout, bits: int, unit_bits: int = 8) -> Layout:
    return right_dealt(position, bits, bits)


right_dealt = mma_atom._dealt  # pyright: ignore[reportPrivateUsage]


def of_operand(letter: str, change: Callable[[Layout], Layout]) -> Change:
    def wrong(right: Layout, _: object, operand: str, *more: object) -> Layout:
        return change(right) if operand == letter else right

    return wrong


def in_halves(right: Layout) -> Layout:
    """The first of the first half, the first of the second, the second of the first, …"""
    half = size(right) // 2
    return composition(right, Layout((2, half), (half, 1)))


def values_turned(right: Layout) -> Layout:
    lanes, values = right
    return make_layout(lanes, in_halves(values))


def messages_turned(anchors: Layout, _: object) -> Layout:
    subgroups, messages = anchors
    return make_layout(subgroups, in_halves(messages))


def subgroups_turned(anchors: Layout, _: object) -> Layout:
    subgroups, messages = anchors
    return make_layout(in_halves(subgroups), messages)


# ------------------------------------------------------------ rules


def template(make: Callable[..., Block2DOp], *sizes: int, of: str) -> Callable[[], Any]:
    return lambda: cx.make_copy_atom(make(*sizes), of)


def older(name: str, of: str | None = None) -> Callable[[], Any]:
    def make() -> Any:
        atom: Any = cx.get_atom(name, of)
        return replace(atom)  # what an atom has answered is kept in it

    return make


def tiling() -> TiledMma:
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))


def permuted() -> TiledMma:
    """Columns 0 to 15 and 32 to 47 go to the first subgroup."""
    order = Layout((16, 2, 2), (1, 32, 16))
    return cx.make_tiled_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), Layout((1, 2, 1)), (8, order, 16))


def unpermuted(right: Layout, mma: TiledMma, operand: str, layout: Layout) -> Layout:
    plain = replace(mma, permutation_mnk=mma.tile_mnk)
    return right_atoms(plain, operand, layout) if operand == "B" else right


right_atoms = TiledMma._atoms  # pyright: ignore[reportPrivateUsage]


COPIES: dict[str, Rule] = {
    "rows": Rule(
        Block2DOp, "packed_order", columns_first, template(cx.XE_LOAD_2D, 16, 8, 16, of="bf16")
    ),
    "several blocks": Rule(
        Block2DOp,
        "packed_order",
        across_the_blocks,
        template(cx.XE_LOAD_2D, 16, 8, 32, 16, of="bf16"),
    ),
    "VNNI": Rule(
        Block2DOp,
        "packed_order",
        four_rows_together,
        template(cx.XE_LOAD_2D_VNNI, 16, 16, 16, of="bf16"),
    ),
    "VNNI of several blocks": Rule(
        Block2DOp,
        "packed_order",
        pairs_across_the_blocks,
        template(cx.XE_LOAD_2D_VNNI, 16, 16, 32, 16, of="bf16"),
    ),
    "transposed": Rule(
        Block2DOp,
        "packed_order",
        rows_first,
        template(cx.XE_LOAD_2D_TRANSPOSE, 32, 16, 8, of="u32"),
    ),
    "stores": Rule(
        Block2DOp, "packed_order", columns_first, template(cx.XE_STORE_2D, 32, 8, 16, of="f32")
    ),
    "dealing": Rule(copy_atom, "dealt", in_runs, template(cx.XE_LOAD_2D, 16, 8, 16, of="bf16")),
    "narrow values": Rule(
        copy_atom, "widened", parts_last, template(cx.XE_LOAD_2D, 16, 8, 16, of="u8")
    ),
    "values below a byte": Rule(
        copy_atom, "recast_values", nibbles_last, template(cx.XE_LOAD_2D, 8, 8, 16, of="u4")
    ),
    "LD_N": Rule(legacy_copy, "register_steps", lanes_permuted, older("XE_2D_U16x8x16_LD_N")),
    "ST_N": Rule(legacy_copy, "register_steps", lanes_permuted, older("XE_2D_U32x8x16_ST_N")),
    "groups of columns": Rule(legacy_name, "_down", turned, older("XE_2D_U8x8x32_ST_N")),
    "packed U8": Rule(
        legacy_copy, "register_steps", neighbours_last, older("XE_2D_Packed_U8x8x32_LD_N")
    ),
    "packed U8, columns": Rule(
        legacy_name, "adjacent_columns", lambda n, _: 2 * n, older("XE_2D_Packed_U8x4x64_LD_N")
    ),
    "packed U16": Rule(
        legacy_copy, "register_steps", lanes_permuted, older("XE_2D_Packed_U16x16x32_LD_N")
    ),
    "packed U4": Rule(
        legacy_copy, "register_steps", lanes_permuted, older("XE_2D_Packed_U4x1x128_LD_N")
    ),
    "packed U4, values": Rule(
        legacy_copy, "register_steps", neighbours_last, older("XE_2D_Packed_U4x8x64_LD_N")
    ),
    "rows before columns": Rule(
        legacy_copy,
        "register_steps",
        lambda steps, _: (steps[0], (steps[1][0], *steps[1][:0:-1])),
        older("XE_2D_Packed_U8x4x64_LD_N"),
    ),
    "LD_V of 16 bits": Rule(legacy_name, "_down", even_rows_first, older("XE_2D_U16x16x16_LD_V")),
    "LD_V of 8 bits": Rule(legacy_name, "_down", turned, older("XE_2D_U8x32x32_LD_V")),
    "LD_T": Rule(legacy_copy, "register_steps", not_transposed, older("XE_2D_U16x16x16_LD_T")),
    "narrow blocks": Rule(legacy_name, "_narrow", lanes_turned, older("XE_2D_TF32x4x8_LD_N")),
    "dealt by eight": Rule(
        legacy_copy, "register_steps", row_by_row, older("XE_2D_TF32x2x16_LD_N")
    ),
    "narrow values of LD_N": Rule(
        LegacyCopyAtom, "_owned", values_exchanged, older("XE_2D_U16x8x16_LD_N", "u8")
    ),
    "narrow values of LD_T": Rule(
        LegacyCopyAtom, "_owned", values_exchanged, older("XE_2D_U16x16x16_LD_T", "u8")
    ),
    "wide values": Rule(
        LegacyCopyAtom, "_owned", work_items_exchanged, older("XE_2D_Packed_U8x8x32_LD_N", "bf16")
    ),
    "linear loads": Rule(
        LinearCopyAtom, "_traits", traits_exchanged, older("XE_1D_LOAD_GLOBAL<u32,u64>")
    ),
    "linear stores": Rule(
        LinearCopyAtom, "_traits", traits_exchanged, older("XE_1D_STORE_GLOBAL<u32>")
    ),
    "gathers in dwords": Rule(
        linear_copy, "_slots", a_work_item_at_a_time, older("XE_1D_LDSM<u64>")
    ),
    "scatters in dwords": Rule(
        linear_copy, "_slots", a_work_item_at_a_time, older("XE_1D_STSM<u64>")
    ),
    "gathers of part of a dword": Rule(
        linear_copy, "_slots", padding_first, older("XE_1D_LDSM<u16>")
    ),
    "messages of a tiled copy": Rule(
        TiledCopy,
        "anchors",
        messages_turned,
        lambda: cx.make_block_2d_copy_C(tiling(), ("ld", 1), op=cx.XE_LOAD_2D(32, 8, 16)),
    ),
    "subgroups of a tiled copy": Rule(
        TiledCopy, "anchors", subgroups_turned, lambda: cx.make_block_2d_copy_A(tiling(), ("ld", 1))
    ),
    "values of a tiled copy": Rule(
        copy_atom.CopyAtom,
        "layout_ref_tv",
        lambda tv, _: values_turned(tv),
        lambda: cx.make_block_2d_copy_B(tiling(), (1, "ld")),
    ),
    "messages of a tiled store": Rule(
        TiledCopy, "anchors", messages_turned, lambda: cx.make_block_2d_copy_D(tiling(), ("ld", 1))
    ),
}


PUT = {name for name in COPIES if name.startswith(("gathers", "scatters", "messages", "subgroups"))}
"""Rules of where values are put: what is said of a value stays right, and another one is there."""


def forget() -> None:
    """Ask the machine again of what it has moved."""
    for kept in (moved_places, tables.anchors):
        kept.cache_clear()


def machine(copy: Any, unit: int) -> np.ndarray:
    """What each value of each work-item is, as the machine moves it, as `ownership` counts it."""
    held = moved_places(copy, get_target("bmg"), unit)
    turned = isinstance(copy, LegacyCopyAtom) and copy.place_in_memory(0, 1) == (1, 0)
    return held[..., ::-1] if turned else held


@pytest.mark.whole
@pytest.mark.parametrize("rule", COPIES)
@pytest.mark.long
def test_a_wrong_rule_of_a_copy_is_disproved_where_the_machine_differs(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_rule = COPIES[rule]
    right = broken_rule.make()
    assert cx.verify(right), rule
    with monkeypatch.context() as patch:
        broken(patch, broken_rule)
        forget()
        wrong = broken_rule.make()
        verdict = cx.verify(wrong, order="registers")
        atom = wrong.atom if isinstance(wrong, TiledCopy) else wrong
        unit = max(atom.unit_bits, atom.value_type.bits)
    forget()
    assert verdict.answer == "disproved", f"{rule}: {verdict}"
    values = next(p for p in verdict.proofs if p.property == "values")
    shown = values.counterexample
    assert shown is not None, str(verdict)
    t = 16 * (shown.subgroup or 0) + shown.lane
    held = machine(right, unit)
    there = tuple(held[t, shown.value].tolist()) if shown.value < held.shape[1] else (-1, -1)
    assert shown.found != shown.element
    if rule in PUT:
        assert there == shown.element, rule
    else:
        assert there == (shown.found or (-1, -1)), rule


# ------------------------------------------------------------ prefetches
# Nothing reaches registers: what is proved is that each element is brought once.


@pytest.mark.parametrize("tiled", [False, True])
def test_a_wrong_rule_of_a_prefetch_is_disproved(
    tiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make() -> Any:
        if tiled:
            return cx.make_block_2d_prefetch(cx.make_block_2d_copy_A(tiling(), ("ld", 1)))
        return cx.make_copy_atom(cx.XE_PREFETCH_2D(16, 8, 32), "bf16")

    assert cx.verify(make())
    with monkeypatch.context() as patch:
        broken(patch, Rule(Block2DOp, "packed_order", every_second_row, make))
        verdict = cx.verify(make())
    (proof,) = verdict.proofs
    assert (proof.property, proof.answer) == ("owners", "disproved")
    assert proof.counterexample is not None
    assert "outside" in proof.counterexample.message


# ------------------------------------------------------------ MMAs

MMAS: dict[str, Rule] = {
    "A": Rule(MmaAtom, "tv_layout_A", mma_lanes_permuted, tiling),
    "B": Rule(MmaAtom, "tv_layout_B", mma_lanes_permuted, tiling),
    "C and D": Rule(MmaAtom, "tv_layout_C", mma_lanes_permuted, tiling),
    "A of the older names": Rule(
        MmaAtom, "tv_layout_A", mma_lanes_permuted, older("XE_8x16x8_F32TF32TF32F32_TT")
    ),
    "bytes of narrow values": Rule(
        mma_atom,
        "_dealt",
        nibble_by_nibble,
        lambda: cx.make_mma_atom(cx.XE_DPAS_TT(8, "s32", "u4", "s4")),
    ),
    "subgroups of A": Rule(TiledMma, "operand_subgroups", of_operand("A", in_halves), tiling),
    "values of B": Rule(TiledMma, "_tv_tiled", of_operand("B", values_turned), tiling),
    "values of C": Rule(TiledMma, "_tv_tiled", of_operand("C", values_turned), tiling),
    "permutation of N": Rule(TiledMma, "_atoms", unpermuted, permuted),
}


Claims = dict[str, np.ndarray]
"""Of each operand, (work-item, value) → its coordinate: A counts (m, k), B (n, k), C (m, n)."""


def claims(made: Any) -> tuple[TiledMma, Claims]:
    """What an MMA says of its registers now."""
    mma = made if isinstance(made, TiledMma) else cx.make_tiled_mma(made)
    return mma, {operand: owned_places(mma, operand) for operand in "ABC"}


def in_registers(numbers: np.ndarray, bits: int, kind: str) -> np.ndarray:
    """The bytes that (work-item, value) numbers are: lanes side by side, whole bytes each."""
    lanes, values = numbers.shape
    per = max(1, 8 // bits)
    ordered = numbers.reshape(lanes, values // per, per).transpose(1, 0, 2).reshape(-1)
    ones = {"bf16": 0x3F80, "tf32": 0x3F800000}.get(kind, 1)
    coded = (ordered * ones)[:, None] >> np.arange(bits) & 1
    return np.packbits(coded.astype(np.uint8).reshape(-1), bitorder="little")


def multiplied(mma: TiledMma, of: Claims, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(work-item, value) → what the machine leaves in D, A and B put where they are said to be.

    Registers go to instructions as CuTe counts fragments: values, then M or N, then K or N.
    """
    op, (tiles_m, tiles_n, tiles_k) = mma.atom.op, mma.atom_layout_mnk.shape
    down = mma.tile_mnk[0] // (op.M * tiles_m)
    right = mma.tile_mnk[1] // (16 * tiles_n)
    deep = mma.tile_mnk[2] // (op.K * tiles_k)
    out: list[np.ndarray] = []
    for subgroup in range(mma.num_subgroups):
        lanes = slice(16 * subgroup, 16 * subgroup + 16)
        held = {
            name: in_registers(x[tuple(of[name][lanes].T)].T, kind.bits, kind.name)
            for name, x, kind in (("A", a, op.A), ("B", b, op.B))
        }
        file, at_b, at_c = RegisterFile(1 << 15), 1 << 13, 1 << 14
        file.write(0, held["A"])
        file.write(at_b, held["B"])
        file.write(at_c, np.zeros(down * right * op.bytes_D, np.uint8))
        for m, n, k in itertools.product(range(down), range(right), range(deep)):
            d = at_c + (m + down * n) * op.bytes_D
            src1 = at_b + (n + right * k) * op.bytes_B
            execute(file, op, d, d, src1, (m + down * k) * op.bytes_A)
        left = file.read(at_c, down * right * op.bytes_D, "the test").tobytes()
        out.append(np.frombuffer(left, "<f4" if op.D.name == "f32" else "<i4").reshape(-1, 16).T)
    return np.concatenate(out)


def probed(mma: TiledMma, of: Claims, at: tuple[int, ...]) -> np.ndarray:
    """(k, work-item, value): D where nothing but the factors at k of C's element is 1."""
    a, b = (np.zeros(mma.operand_tile(name), np.int64) for name in "AB")
    out: list[np.ndarray] = []
    for k in range(a.shape[1]):
        a[:], b[:] = 0, 0
        a[at[0], k] = b[at[1], k] = 1
        out.append(multiplied(mma, of, a, b))
    return np.stack(out)


@pytest.mark.whole
@pytest.mark.parametrize("rule", MMAS)
@pytest.mark.long
def test_a_wrong_rule_of_an_mma_is_disproved_where_the_machine_differs(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_rule = MMAS[rule]
    assert cx.verify(broken_rule.make()), rule
    right = claims(broken_rule.make())
    with monkeypatch.context() as patch:
        broken(patch, broken_rule)
        verdict = cx.verify(broken_rule.make())
        wrong = claims(broken_rule.make())
    assert verdict.answer == "disproved", f"{rule}: {verdict}"
    shown = verdict.counterexample
    assert shown is not None
    assert shown.element is not None
    t, v, at = 16 * (shown.subgroup or 0) + shown.lane, shown.value, shown.element
    if shown.operand != "C":  # the value of C that needs a factor which its subgroup does not hold
        named = re.match(r"C\[(\d+), (\d+)\] of subgroup (\d+) needs", shown.message)
        assert named is not None
        m, n, subgroup = map(int, named.groups())
        mine = wrong[1]["C"][16 * subgroup : 16 * subgroup + 16]
        (lane, v), *_ = np.argwhere((mine == (m, n)).all(axis=2)).tolist()
        assert at[0] == {"A": m, "B": n}[shown.operand]
        t, at = 16 * subgroup + lane, (m, n)
        assert not probed(*wrong, at)[shown.element[1], t, v]
    assert tuple(wrong[1]["C"][t, v]) == at
    # What is said to be this element gets no product of the factors that are said to be its own,
    # at some k at least; as it is, each value that owns the element gets each of them, once.
    assert (probed(*wrong, at)[:, t, v] != 1).any(), rule
    owned = (right[1]["C"] == at).all(axis=2)
    assert (probed(*right, at) == owned).all(), rule


@pytest.mark.filterwarnings("ignore::pycute_xe.errors.UnfaithfulWarning")
def test_a_layout_of_b_without_packing_is_that_of_its_dwords(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken(monkeypatch, Rule(MmaAtom, "tv_layout_B", without_packing, tiling))
    verdict = cx.verify(tiling())
    assert verdict
    assert "of B in elements of 32 bits" in str(verdict)
