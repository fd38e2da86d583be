"""What `check` answers about copies with strides, atoms by name, messages, and their memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from every import every

import pycute_xe as cx
from pycute_xe.arch import Block2D, Surface
from pycute_xe.atom import MmaAtom, make_block_2d_prefetch
from pycute_xe.checking import Bounds, Checked
from pycute_xe.cutlass import catalogue, get_atom
from pycute_xe.errors import (
    CuteError,
    DTypeError,
    InputError,
    KernelError,
    LegalityError,
    MachineError,
)
from pycute_xe.machine import Memory, RegisterFile
from pycute_xe.machine.block2d import load


@pytest.fixture(scope="module")
def mma() -> cx.TiledMma:
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))


def refusing(report: Checked) -> set[str]:
    return {finding.broken.rule for finding in report.errors}


# ------------------------------------------------------------------ strides and tensors


@pytest.mark.parametrize(
    ("stride", "rules"),
    [
        ((33, 1), {"pitch-4"}),  # 66 bytes
        ((1, 1), {"pitch-4", "pitch-min-32"}),  # 2 bytes
        ((7, 1), {"pitch-4", "pitch-min-32"}),  # 14 bytes
        ((31, 1), {"pitch-4"}),  # 62 bytes
        ((12, 1), {"pitch-min-32"}),  # 24 bytes
        ((2**30, 1), {"pitch-max"}),
        ((1, 33), {"pitch-4"}),
        ((0, 1), {"pitch-min-32"}),
        ((34, 1), set()),  # 68 bytes, of the loosest documents
        ((4096, 1), set()),
        (("ld", 1), set()),
    ],
)
def test_a_copy_is_judged_by_the_stride_it_was_given(
    mma: cx.TiledMma, stride: tuple[Any, ...], rules: set[str]
) -> None:
    copy = cx.make_block_2d_copy_A(mma, stride)
    assert refusing(cx.check(copy, "bmg")) == rules
    assert refusing(cx.check(make_block_2d_prefetch(copy), "bmg")) == rules


def test_pitches_some_document_warns_of_are_warned_of(mma: cx.TiledMma) -> None:
    copy = cx.make_block_2d_copy_A(mma, (34, 1))
    assert [f.broken.rule for f in cx.check(copy, "pvc").warnings] == ["pitch-8", "pitch-16"]
    assert [f.broken.rule for f in cx.check(copy, "lnl").warnings] == ["pitch-16"]


def test_rows_of_half_bytes_are_refused() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s4"), (256, 256, 128))
    odd = cx.check(cx.make_block_2d_copy_A(mma, (129, 1)), "bmg")
    assert refusing(odd) == {"whole-bytes"}
    # 136 values are 68 bytes.
    assert cx.check(cx.make_block_2d_copy_A(mma, (136, 1)), "bmg")


def test_a_tensor_is_judged_by_its_strides_and_its_shape(mma: cx.TiledMma) -> None:
    def of(shape: tuple[int, ...], stride: tuple[int, ...]) -> set[str]:
        tensor = cx.make_tensor(None, cx.Layout(shape, stride))
        return refusing(cx.check(cx.make_block_2d_copy_A(mma, tensor), "bmg"))

    assert of((300, 64), (64, 1)) == set()
    assert of((300, 61), (64, 1)) == {"width-4"}  # 122 bytes
    assert of((300, 8), (64, 1)) == {"width-min-32"}
    assert of((2**24 + 1, 64), (64, 1)) == {"height-max"}
    assert of((300, 128), (64, 1)) == {"pitch-covers-width"}


def test_further_modes_move_the_base_by_aligned_steps(mma: cx.TiledMma) -> None:
    def of(stride: tuple[Any, ...]) -> set[str]:
        return refusing(cx.check(cx.make_block_2d_copy_A(mma, stride), "bmg"))

    assert of((64, 1, 64 * 300)) == set()
    assert of((64, 1, 64 * 300 + 2)) == {"base-64"}
    assert of((64, 1, 0)) == set()
    alone = cx.make_tensor(None, cx.Layout((300, 64, 1), (64, 1, 19202)))
    assert cx.check(cx.make_block_2d_copy_A(mma, alone), "bmg")


def test_a_tensor_of_another_type_is_not_taken_for_the_operand(mma: cx.TiledMma) -> None:
    def tensor(dtype: Any) -> cx.Tensor:
        return cx.make_tensor(np.zeros(256 * 64, dtype), cx.Layout((256, 64), (64, 1)))

    assert cx.make_block_2d_copy_A(mma, tensor(ml_dtypes.bfloat16)).value_type.name == "bf16"
    # C++ takes the tensor's value_type; the kernel then refuses the copy.
    copy = cx.make_block_2d_copy_A(mma, tensor(np.float32))
    assert copy.value_type.name == "f32"
    with pytest.raises(KernelError, match="moves f32, A holds bf16"):
        cx.kernel.gemm(mma, copy_a=copy)
    with pytest.raises(DTypeError, match="the tensor holds f32, 32 bits each, not bf16"):
        cx.make_block_2d_copy_A(mma, tensor(np.float32), "bf16")
    # Bits under another name are asked for by name.
    assert cx.make_block_2d_copy_A(mma, tensor(np.uint16), "bf16").value_type.name == "bf16"


def test_slips_of_a_block_2d_copy_are_named(mma: cx.TiledMma) -> None:
    with pytest.raises(KernelError, match="Dpas is not a tiled MMA"):
        cx.make_block_2d_copy_A(mma.atom.op, ("ld", 1))
    for gmem in (1, (1,), cx.make_tensor(None, cx.Layout(8))):
        with pytest.raises(KernelError, match="tensor of two modes or more"):
            cx.make_block_2d_copy_A(mma, gmem)
    for stride in ((True, 1), (None, 1), (2.5, 1), (np.zeros(2), 1)):
        with pytest.raises(KernelError, match="neither an integer nor a name"):
            cx.make_block_2d_copy_A(mma, stride)
    with pytest.raises(KernelError, match="int is not a tiled copy"):
        make_block_2d_prefetch(3)
    with pytest.raises(cx.CuteError, match="'D' is not an operand of a tiled MMA"):
        mma.fragment("D")
    for part in (mma, cx.make_block_2d_copy_A(mma, ("ld", 1))):
        with pytest.raises(cx.CuteError, match="is not one of the 512 work-items"):
            part.get_slice((1, 1))


def test_numbers_of_other_libraries_count_as_strides(mma: cx.TiledMma) -> None:
    copy = cx.make_block_2d_copy_A(mma, (np.int64(33), 1))
    assert refusing(cx.check(copy, "bmg")) == {"pitch-4"}


@every(
    ("blocks", "numbers", "said"),
    [
        (3, None, "not a tuple of positive integers"),
        ((1, 0), None, "not a tuple of positive integers"),
        ((1,), None, "atom_shape has 1 modes, the strides have 2"),
        ((1, 2), 7, "sv_layout is not a layout but int"),
        ((1, 2), cx.Layout(2), "sv_layout has 1 modes"),
    ],
)
def test_blocks_of_a_copy_are_counted_by_mode(blocks: Any, numbers: Any, said: str) -> None:
    with pytest.raises(KernelError, match=said):
        cx.make_block_2d_copy(cx.XE_LOAD_2D(8, 32, 16), ("ld", 1), "u8", blocks, numbers)


@pytest.mark.parametrize("permutation", [7, (None,), ("64", None, None), (0, None, None)])
def test_permutations_are_extents_or_layouts(mma: cx.TiledMma, permutation: Any) -> None:
    with pytest.raises(cx.CuteError, match=r"three modes M, N, K|not an extent of the tile"):
        cx.make_tiled_mma(mma.atom, (1, 1, 1), permutation)


# ------------------------------------------------------------------ registers


def test_messages_that_start_inside_a_register_are_refused() -> None:
    op = cx.XE_DPAS_TT(1, "f32", "bf16")
    thin = cx.workgroup_mma(op, tile=(3, 48, 16), subgroups=((1, 3, 1), (1, 1, 0)))
    report = cx.check(cx.kernel.gemm(thin), "bmg")
    assert [(f.subject, f.broken.rule) for f in report.errors] == [
        ("load A by XE_LOAD_2D<16,1,16>", "register-start")
    ]
    assert "register byte is 32, must be a multiple of 64" in str(report)
    # A row of f32 fills a register: the stores are right.
    assert cx.check(cx.make_block_2d_copy_D(thin, ("ld", 1)), "bmg")


def test_the_machine_refuses_such_a_message_too() -> None:
    memory, registers = Memory(), RegisterFile(4 * 64)
    surface = Surface(memory.place(np.zeros(4096, np.uint8)), 64, 64, 64)
    row = Block2D("load", 16, 1, 16)
    with pytest.raises(MachineError):
        load(memory, registers, row, surface, x=0, y=1, dst=32)


def test_where_dpas_finds_repetitions_is_judged_by_the_rows_of_each_operand() -> None:
    # 16 bf16 of D are half a register, and no compiler takes a D that begins inside one.
    half = cx.workgroup_mma(cx.XE_DPAS_TT(1, "bf16", "bf16"), (2, 16, 16), ((1, 1, 1), (1, 1, 0)))
    report = cx.check(half, "bmg")
    assert not report
    assert {f.broken.rule for f in report.errors} == {"dst-grf", "src0-grf"}
    # One row of A is 32 bytes, a row that src2 may start at.
    single = cx.workgroup_mma(cx.XE_DPAS_TT(1, "f32", "bf16"), (2, 16, 16), ((1, 1, 1), (1, 1, 0)))
    assert cx.check(single, "bmg").findings == ()


def test_an_mma_whose_layouts_go_on_past_a_is_refused_in_words() -> None:
    odd = cx.make_tiled_mma(cx.XE_DPAS_TT(3, "f32", "tf32"))
    assert refusing(cx.check(odd, "bmg")) == {"faithful"}


# ------------------------------------------------------------------ names, messages, demands


@pytest.mark.long
@pytest.mark.parametrize("target", ["pvc", "ptl"])
def test_every_name_is_legal_where_its_messages_are(target: str) -> None:
    wrong: list[str] = []
    for name in catalogue()[::7]:
        atom = get_atom(name)
        legal = True
        if isinstance(atom, MmaAtom):
            legal = not atom.op.broken_rules(target)
        else:
            try:
                atom.messages(target)
            except LegalityError:
                legal = False
        if bool(cx.check(atom, target, allow_unfaithful=True)) != legal:
            wrong.append(name)
    assert wrong == []


def test_layouts_of_older_names_that_registers_do_not_show_are_warned_of() -> None:
    packed = cx.check("XE_2D_U16x32x16_LD_V", "bmg")
    assert packed
    assert [f.broken.fix for f in packed.warnings] == ["read the registers in elements of 32 bits"]
    assert cx.check("XE_2D_U16x32x16_LD_V", "bmg", allow_unfaithful=True).warnings == ()
    assert cx.check("XE_2D_U16x32x16_LD_N", "bmg").warnings == ()


def test_a_refused_name_is_told_the_names_that_work() -> None:
    odd = cx.check("XE_2D_U16x15x16_LD_V", "bmg", pitch=66)
    assert refusing(odd) == {"vnni-height-dwords", "pitch-4"}
    assert "XE_2D_U16x16x16_LD_V" in next(
        f.broken.fix for f in odd.errors if f.broken.rule == "vnni-height-dwords"
    )
    assert refusing(cx.check("XE_2D_U4x8x1_LD_N", "bmg")) == {"whole-bytes"}


@every(
    ("use", "rules"),
    [
        ({}, set()),
        ({"pitch": 66}, {"pitch-4"}),
        ({"width": 62}, {"width-4"}),
        ({"width": 128, "pitch": 64}, {"pitch-covers-width"}),
        ({"base": 32}, {"base-64"}),
        ({"height": 0}, {"height-min"}),
        ({"x": 3}, {"x-d16"}),
        ({"x": -2, "y": -1}, set()),
        ({"base": 64, "width": 128, "height": 9, "pitch": 128, "x": 8, "y": 3}, set()),
    ],
)
@every(
    "asked",
    [
        "XE_LOAD_2D<16,32,32,16>",
        "XE_2D_U16x32x32_LD_N",
        cx.XE_LOAD_2D(16, 32, 32, 16),
        cx.XE_LOAD_2D(16, 32, 32, 16).message,
        cx.make_copy_atom(cx.XE_LOAD_2D(16, 32, 32, 16), "bf16"),
        cx.make_block_2d_copy(cx.XE_LOAD_2D(16, 32, 32, 16), ("ld", 1), "bf16"),
    ],
    ids=["template", "name", "operation", "message", "atom", "copy"],
)
def test_figures_of_a_use_are_judged(asked: Any, use: dict[str, int], rules: set[str]) -> None:
    assert refusing(cx.check(asked, "bmg", **use)) == rules


def test_text_of_messages_is_read() -> None:
    block = "lsc_load_block2d.ugm (M1,1) V13:d16.2x16x32nn flat[V1,63,V3,{},V5,V6]"
    assert cx.check(block.format(63), "bmg")
    assert refusing(cx.check(block.format(65), "bmg")) == {"pitch-4"}  # the text has pitch - 1
    assert cx.check("lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64", "bmg").passed == 1
    assert cx.check("dpas.bf.bf.8.8 (M1, 16) V1.0 V2.0 V3.0 V4(0,0)", "bmg")
    bad = cx.check("dpas.bf.hf.8.8 (M1, 16) V1.0 V2.0 V3.0 V4(0,0)", "bmg")
    assert refusing(bad) == {"pair"}
    assert refusing(cx.check(cx.XE_STORE_2D(16, 16, 32), "pvc")) == {"store-height"}


def test_what_binds_leaves_no_room() -> None:
    full = cx.check(cx.XE_LOAD_2D(16, 32, 32, 16), "bmg")
    assert {held.rule for held in full.binding} == {"load-row-bytes", "load-height"}
    assert not cx.check(cx.XE_LOAD_2D(16, 33, 32, 16), "bmg")
    assert cx.check(cx.XE_LOAD_2D(16, 8, 16), "bmg").binding == ()
    assert {h.rule for h in cx.check("XE_LOAD_2D<8,8,16,4>", "bmg").binding} == {
        "count-d8-d16",
        "width-min-dword",
    }


def test_demands_are_those_of_the_documents() -> None:
    """Worked out by hand from the restrictions that the documents list."""
    demands = {d.quantity: d for d in cx.check(cx.XE_LOAD_2D(64, 8, 8), "bmg").demands}
    assert demands["base"].must == Bounds(multiple_of=64)
    assert demands["width"].must == Bounds(32, 1 << 24, 8)  # whole elements of 8 bytes
    assert demands["width"].better == Bounds(64, (1 << 24) - 1, 8)
    assert demands["height"].must == Bounds(1, 1 << 24)
    assert demands["pitch"].must == Bounds(32, 1 << 24, 4)
    assert demands["pitch"].better == Bounds(64, (1 << 24) - 1, 16)
    assert demands["pitch"].at_least_width
    assert demands["x"].must == Bounds()
    assert demands["x"].better == Bounds(multiple_of=4)


def test_demands_are_told_in_values_of_the_type() -> None:
    copy = cx.make_block_2d_copy(cx.XE_LOAD_2D(8, 32, 64, 32), ("ld", 1), "s4")
    values = {d.quantity: d.values for d in cx.check(copy, "bmg").demands}
    # 4 bytes are 8 values of 4 bits; x counts bytes, in fours.
    assert values["width"] == Bounds(64, 1 << 25, 8)
    assert values["pitch"] == Bounds(64, 1 << 25, 8)
    assert values["x"] == Bounds(multiple_of=8)


@pytest.mark.parametrize(
    "name", ["XE_LOAD_2D<8,8,32>", "XE_LOAD_2D<16,8,16>", "XE_STORE_2D<32,8,8>"]
)
def test_what_meets_the_demands_is_legal_and_what_does_not_is_refused(name: str) -> None:
    report = cx.check(name, "bmg")
    for demand in report.demands:
        step, least, most = (
            demand.must.multiple_of,
            demand.must.at_least,
            demand.must.at_most,
        )
        fitting = [v for v in (least, most, 64 * step) if v is not None]
        missing = [v for v in (least and least - step, most and most + step) if v is not None]
        missing += [64 * step + 1] if step > 1 else []
        for value in fitting:
            assert cx.check(name, "bmg", **{demand.quantity: value}), (demand.quantity, value)
        for value in missing:
            assert not cx.check(name, "bmg", **{demand.quantity: value}), (demand.quantity, value)


# ------------------------------------------------------------------ kernels with sizes


def test_a_kernel_is_judged_on_the_arrays_asked_about(mma: cx.TiledMma) -> None:
    gemm = cx.kernel.gemm(mma)
    assert cx.check(gemm, "bmg", sizes={"M": 300, "N": 200, "K": 64})
    odd = cx.check(gemm, "bmg", sizes={"M": 300, "N": 200, "K": 61})
    # Rows of A are 122 bytes; those of B are 400.
    assert {(f.subject, f.broken.rule) for f in odd.errors} == {("A", "width-4"), ("A", "pitch-4")}
    spaced = cx.check(gemm, "bmg", sizes={"M": 300, "N": 200, "K": 64}, strides={"B": 201})
    assert {(f.subject, f.broken.rule) for f in spaced.errors} == {("B", "pitch-4")}
    by_column = cx.kernel.gemm(mma, a="col")
    assert refusing(cx.check(by_column, "bmg", sizes={"M": 301, "N": 200, "K": 64})) == {
        "width-4",
        "surface-width-elements",  # a transpose moves dwords
        "pitch-4",
    }
    assert "A (M rows of K)" in str(odd)
    assert "A (K rows of M)" in str(cx.check(by_column, "bmg"))


# ------------------------------------------------------------------ questions that make no sense


@pytest.mark.parametrize(
    ("asked", "given", "said"),
    [
        ("XE_DPAS_TT<8,f32,bf16>", {"pitch": 64}, "is not used on a surface"),
        ("XE_1D_LDSM<u32,u128>", {"x": 4}, "is not used on a surface"),
        ("XE_LOAD_2D<16,8,16>", {"pitch": 64.0}, "pitch is 64.0, not an integer"),
        ("XE_LOAD_2D<16,8,16>", {"width": True}, "width is True, not an integer"),
        ("XE_LOAD_2D<16,8,16>", {"base": -64}, "base is negative"),
        ("XE_LOAD_2D<16,8,16>", {"sizes": {"M": 8}}, "has no sizes M, N, K"),
    ],
)
def test_figures_that_mean_nothing_are_refused(asked: str, given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        cx.check(asked, "bmg", **given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sizes": {"P": 8}}, "gemm has M, K, N, not P"),
        ({"sizes": {"K": 0}}, "K is 0, not a positive integer"),
        ({"sizes": {"K": "32"}}, "K is '32', not a positive integer"),
        ({"strides": {"C": 8}}, "gemm has A, B, D, not C"),
        ({"sizes": ["K"]}, "sizes is list, not a mapping from names to integers"),
    ],
)
def test_sizes_of_a_kernel_are_checked(mma: cx.TiledMma, given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        cx.check(cx.kernel.gemm(mma), "bmg", **given)


def test_swapped_arguments_and_unknown_names_are_named(mma: cx.TiledMma) -> None:
    with pytest.raises(CuteError, match="bmg is a target, and the target comes second") as error:
        cx.check("bmg", cx.kernel.gemm(mma))
    assert len(str(error.value)) < 200
    with pytest.raises(CuteError, match="no atom has this name"):
        cx.check("XE_LOAD_3D", "bmg")
