"""What `check` says of kernels, atoms and operations, against figures worked out by hand."""

from __future__ import annotations

import dataclasses

import pytest

import pycute_xe as cx
from pycute_xe.cutlass import get_atom
from pycute_xe.errors import CuteError, InputError, KernelError, TargetError


@pytest.fixture(scope="module")
def mma() -> cx.TiledMma:
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))


@pytest.mark.parametrize("target", ["pvc", "bmg", "lnl", "ptl"])
def test_the_row_major_gemm_is_legal_and_takes_224_registers(mma: cx.TiledMma, target: str) -> None:
    report = cx.check(cx.kernel.gemm(mma), target)
    assert report
    assert report.errors == ()
    # 32x64 f32, 32x32 and 32x64 bf16 a subgroup, 64 bytes a register.
    assert report.registers == (32 * 64 * 4 + 32 * 32 * 2 + 32 * 64 * 2) // 64 == 224
    assert "224 of 256" in str(report)


def test_all_hardware_threads_of_a_battlemage_core_are_taken(mma: cx.TiledMma) -> None:
    report = cx.check(cx.kernel.gemm(mma), "bmg")
    assert report.binds is not None
    # 8 vector engines × 4 threads with 256 registers.
    assert (report.binds.name, report.binds.used, report.binds.available) == (
        "hardware threads",
        32,
        32,
    )
    assert "binds: hardware threads" in str(report)


def test_a_reorder_that_moves_data_needs_registers_of_its_own(mma: cx.TiledMma) -> None:
    report = cx.check(cx.kernel.gemm(mma, a="col"), "bmg")
    assert report
    # 128 of accumulator, 32 of A, 64 of B, and two pieces of eight of the reordered A.
    assert report.registers == 240
    assert not report.warnings
    assert report.binds is not None
    assert report.binds.name == "hardware threads"


def test_registers_count_where_they_live_at_once(mma: cx.TiledMma) -> None:
    # A column-major D is stored through registers of its own, when A and B are no longer needed.
    report = cx.check(cx.kernel.gemm(mma, d="col"), "bmg")
    assert report.registers == 256
    assert [f.broken.rule for f in report.errors] == ["register-room"]


def test_full_registers_of_the_small_mode_ask_for_the_large_one(mma: cx.TiledMma) -> None:
    # 32 x 32 a subgroup: 64 registers of accumulator, 32 of A and 32 of B.
    tight = cx.workgroup_mma(mma.atom, (128, 128, 32), ((4, 4, 1), (4, 1, 0)))
    report = cx.check(cx.kernel.gemm(tight), "bmg")
    assert report.registers == 128
    assert {r.name: r.available for r in report.resources} == {
        "registers": 256,
        "hardware threads": 32,
    }


def test_too_many_registers_refuse(mma: cx.TiledMma) -> None:
    big = cx.workgroup_mma(mma.atom, (256, 256, 64))
    report = cx.check(cx.kernel.gemm(big), "bmg")
    assert not report
    assert report.registers == 320
    assert [f.broken.rule for f in report.errors] == ["register-file"]
    assert "use a smaller tile" in str(report)


def test_too_many_subgroups_refuse() -> None:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    wide = cx.workgroup_mma(op, (512, 512, 32), ((16, 8, 1), (8, 1, 0)))
    report = cx.check(cx.kernel.gemm(wide), "bmg")
    assert [f.broken.rule for f in report.errors] == ["threads"]
    assert "128 subgroups" in str(report)


def test_where_no_source_counts_threads_check_warns(mma: cx.TiledMma) -> None:
    report = cx.check(cx.kernel.gemm(mma), "ptl")
    assert [f.broken.rule for f in report.warnings] == ["threads"]


def test_every_rule_on_arrays_is_listed_with_its_source(mma: cx.TiledMma) -> None:
    text = cx.check(cx.kernel.gemm(mma), "pvc").full()
    for quantity in (
        "base (bytes) must be a multiple of 64",
        "pitch (bytes) should be a multiple of 16",
    ):
        line = next(line for line in text.splitlines() if quantity in line)
        assert line.rstrip().endswith("]")


def test_an_unfaithful_atom_is_refused_unless_told_otherwise() -> None:
    padded = cx.make_copy_atom(cx.XE_LOAD_2D(32, 12, 8, 8), "u32")
    transposed = cx.make_copy_atom(cx.XE_LOAD_2D_TRANSPOSE(32, 12, 4), "bf16")
    assert padded.faithful
    assert not transposed.faithful
    report = cx.check(transposed, "bmg")
    assert "faithful" in [f.broken.rule for f in report.errors]
    assert "faithful" not in [
        f.broken.rule for f in cx.check(transposed, "bmg", allow_unfaithful=True).errors
    ]


def test_a_tiling_of_an_older_mma_atom_says_how_its_registers_are_read(mma: cx.TiledMma) -> None:
    older = get_atom("XE_8x16x16_F32BF16BF16F32_TT")
    tiled = dataclasses.replace(mma, atom=older)
    report = cx.check(tiled, "bmg")
    assert [f.broken.rule for f in report.warnings] == ["faithful"]
    assert not report.errors
    assert "B in elements of 32 bits" in report.warnings[0].broken.fix
    assert cx.check(tiled, "bmg", allow_unfaithful=True).findings == ()


@pytest.mark.parametrize(
    ("tile", "grid"),
    [((256, 256, 32), (8, 4)), ((512, 256, 32), (8, 4)), ((512, 512, 32), (2, 2)),
     ((64, 64, 32), (8, 4)), ((256, 256, 32), (8, 8)), ((256, 256, 64), (8, 4))],
)  # fmt: skip
@pytest.mark.parametrize("target", ["pvc", "ptl"])
def test_a_tiled_mma_takes_the_registers_of_its_kernel(
    tile: tuple[int, int, int], grid: tuple[int, int], target: str
) -> None:
    """One tile of A, B and C in registers: the same count, the same rule, the same words."""
    m, n = grid
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), tile, ((m, n, 1), (n, 1, 0)))
    alone, kernel = cx.check(mma, target), cx.check(cx.kernel.gemm(mma), target)
    values = tile[0] * tile[1] * 4 + (tile[0] * n + tile[1] * m) * tile[2] * 2
    assert alone.registers == kernel.registers == values // (m * n * 64)
    assert alone.grf_mode in (kernel.grf_mode, 128)  # a kernel has address payloads too
    for found in (alone.errors, kernel.errors):
        wrong = [f.broken for f in found if f.broken.rule == "register-file"]
        assert [b.condition for b in wrong] == [
            f"fragments need {alone.registers} registers, a thread has at most 256"
        ] * (alone.registers > 256)
    assert bool(alone) == bool(kernel)


def test_types_from_cpp_are_counted() -> None:
    text = (
        "TiledMMA<MMA_Atom<XE_DPAS_TT<8,float,bfloat16_t>>,"
        "Layout<Shape<_2,_2,_1>>,Tile<_512,_512,_32>>"
    )
    checked = cx.check(cx.from_cute(text), "pvc")
    assert [finding.broken.rule for finding in checked.errors] == ["register-file"]
    assert checked.registers == 4096 + 256 + 256


def test_occupancy_takes_the_registers_that_a_check_counts() -> None:
    """Work-groups of an Xe core by its threads, of the mode that `check` says the kernel needs."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    for subject in (mma, cx.kernel.gemm(mma)):
        checked = cx.check(subject, "pvc")
        (threads,) = (r for r in checked.resources if r.name == "hardware threads")
        found = cx.arch.occupancy(0, threads.used, "pvc", checked.grf_mode)
        assert found.groups == threads.available // threads.used == 1


def test_operations_and_messages_are_judged_by_the_message_rules() -> None:
    tall = cx.check(cx.XE_STORE_2D(16, 16, 32), "pvc")
    assert [f.broken.condition for f in tall.errors] == ["height is 16, must be at most 8"]
    assert cx.check(cx.XE_STORE_2D(16, 8, 32).message, "pvc")
    assert cx.check(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "f16"))).mma, "lnl")


def test_copies_are_judged_where_their_messages_start(mma: cx.TiledMma) -> None:
    copy = cx.make_block_2d_copy_A(mma, ("ld", 1))
    assert cx.check(copy, "bmg")
    # 8-bit blocks of 2 columns: x is not a multiple of 4 elements.
    narrow = cx.make_block_2d_copy(
        cx.XE_LOAD_2D(8, 32, 2), ("ld", 1), "u8", (1, 2), cx.Layout((2, 1))
    )
    report = cx.check(narrow, "bmg")
    assert "x-d8" in [f.broken.rule for f in report.errors]


def test_unknown_targets_and_things_without_rules(mma: cx.TiledMma) -> None:
    with pytest.raises(TargetError, match="bmg"):
        cx.check(cx.kernel.gemm(mma), "a770")
    with pytest.raises(CuteError, match="`check` has no rules for this type"):
        cx.check(cx.Layout(4), "bmg")


def test_tilings_of_which_all_that_were_compiled_spilled_are_rejected() -> None:
    """Counts of rows, each of which names the compiler; below them nothing is said."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    full = cx.check(cx.kernel.gemm(mma, d="col"))
    assert not full
    assert [(f.subject, f.broken.rule) for f in full.errors] == [("registers", "register-room")]
    roomy = cx.check(cx.kernel.gemm(mma))
    assert roomy
    assert not roomy.findings
    from pycute_xe.facts import rows

    for row in rows("arch", "spilled"):
        assert 0 <= int(str(row["spilled"])) <= int(str(row["compiled"]))
        assert "ocloc" in str(row["source"])


@pytest.mark.parametrize(
    ("registers", "payloads", "rules"),
    [
        (224, 3, []),
        (240, 3, []),
        (244, 3, [("spills", "warning")]),
        (250, 3, [("spills", "warning")]),
        (250, 6, [("register-room", "error")]),
        (252, 2, [("spills", "error")]),
        (256, 3, [("register-room", "error")]),
        (257, 3, [("register-file", "error")]),
    ],
)
def test_registers_are_judged_by_what_compilers_made_of_as_many(
    registers: int, payloads: int, rules: list[tuple[str, str]]
) -> None:
    for target in ("pvc", "bmg"):
        found = cx.get_target(target).grf_mode_of(registers, payloads)[1]
        assert [(b.rule, b.level) for b in found] == rules


def test_a_reorder_that_no_move_does_is_judged_all_the_same() -> None:
    """`emit` refuses B's halves of bytes that part; how many registers it takes is known."""
    op = cx.XE_DPAS_TT(8, "s32", "u4")
    for grid, rule in (((8, 4, 1), "register-file"), ((4, 8, 1), "register-room")):
        layout = cx.Layout(grid, (grid[1], 1, 0))
        kernel = cx.kernel.gemm(cx.workgroup_mma(op, (256, 256, 128), layout))
        assert [f.broken.rule for f in cx.check(kernel, "bmg").errors] == [rule]
        with pytest.raises(KernelError, match="share a byte"):
            cx.emit(kernel)


def test_a_kernel_without_sizes_is_checked() -> None:
    fixed = cx.kernel.Kernel(
        "fixed",
        operands=(),
        fragments=(cx.kernel.Fragment("T1", "f32", 1),),
        grid=(),
        subgroups=1,
        body=(cx.kernel.Fill("T1"),),
    )
    assert cx.check(fixed)
    with pytest.raises(InputError, match="fixed has no sizes, not M"):
        cx.check(fixed, sizes={"M": 3})
