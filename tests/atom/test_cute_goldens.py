"""Atoms and tilings against CuTe C++ (tests/data/README.md says where the data come from)."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from every import every
from golden import named, rows, to_layout, to_tiler
from sampling import sampled

import pycute_xe as cx
from pycute_xe.algebra import coalesce
from pycute_xe.atom import classify_reorder, in_register_order, is_identity
from pycute_xe.atom.selection import select_block_2d
from pycute_xe.cutlass import get_atom
from pycute_xe.errors import DivisibilityError
from pycute_xe.layout import Layout, size
from pycute_xe.tensor import Tensor

# C++ names eight-bit floats by the bits of their exponent and mantissa.
TYPES = {"e5m2": "f8e5m2", "e4m3": "f8e4m3"}


def offsets(layout: Layout, rank: int = 0) -> np.ndarray:
    """All values of a layout; with a rank, as coordinates of that many modes."""
    out = np.asarray(cx.table(layout))
    if not rank:
        return out
    out = out.reshape(len(out), -1)
    return np.pad(out, ((0, 0), (0, rank - out.shape[1])))


def same(got: Layout, want: dict[str, Any]) -> bool:
    expected = to_layout(want)
    sizes = [size(mode) for mode in expected] == [size(mode) for mode in got]
    return sizes and np.array_equal(offsets(got), offsets(expected))


def alike(got: Layout, want: dict[str, Any]) -> bool:
    """The same function, and the same layout once both are coalesced by mode."""
    return same(got, want) and coalesce(got, (1, 1)) == coalesce(to_layout(want), (1, 1))


# ------------------------------------------------------------------ MMA atoms


@every("row", rows("cute_mma_atoms"), ids=lambda r: r["name"])
@pytest.mark.long
def test_mma_atom(row: dict[str, Any]) -> None:
    atom = get_atom(row["name"])
    assert atom.legacy == (row["kind"] == "legacy")
    assert list(atom.shape_mnk) == row["shape_mnk"]
    assert [t.name for t in (atom.op.D, atom.op.A, atom.op.B, atom.op.C)] == row["types"]
    for operand in "ABC":
        assert alike(getattr(atom, f"tv_layout_{operand}"), row[operand]), operand
    assert atom.thr_id == Layout(16, 1)
    hides_packing = row["kind"] == "legacy" and row["types"][1] != "tf32"
    assert atom.faithful == (not hides_packing and row not in PAST_A)
    assert bool(atom.notes) != atom.faithful
    for operand, (bits, count) in row["registers"].items():
        # What C++ passes to the instruction, per work-item.
        picture = atom.registers(operand)
        assert -(-len(picture.slots) * picture.bits // (16 * bits)) == count, operand


# Odd rows of 8 dwords fill half of their last register; C++ deals it out whole.
PAST_A = [
    row
    for row in rows("cute_mma_atoms")
    if row["types"][1] == "tf32" and row["shape_mnk"][0] % 2 == 1
]


def test_cute_layouts_of_a_that_go_on_past_the_last_row_are_reported() -> None:
    assert [row["name"] for row in PAST_A] == [
        "XE_DPAS_TT<3,f,tf32,tf32,f>",
        "XE_DPAS_TT<7,f,tf32,tf32,f>",
    ]
    for row in PAST_A:
        m, _, k = row["shape_mnk"]
        atom = get_atom(row["name"])
        assert set(offsets(atom.tv_layout_A)) > set(range(m * k))
        assert "goes on past" in atom.notes[0]


def test_every_type_of_cute_is_there_with_every_m() -> None:
    found = {(*row["types"], row["shape_mnk"][0]) for row in rows("cute_mma_atoms")}
    types = {row[:4] for row in found}
    assert len(types) == 29
    for names in types:
        for m in range(1, 9):
            atom = cx.make_mma_atom(cx.XE_DPAS_TT(m, *names))
            assert [t.name for t in (atom.op.D, atom.op.A, atom.op.B, atom.op.C)] == list(names)


# ------------------------------------------------------------------ copy atoms


COPIES = rows("cute_copy_atoms_2d")["cases"]
each_kind = pytest.mark.parametrize("kind", sorted({row["kind"] for row in COPIES}))


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [row for row in COPIES if row["kind"] == kind]


def copy_atom_of(row: dict[str, Any]) -> cx.CopyAtom:
    sizes = [row["CopyBits"], row["Height"], row["Width"]]
    if row["kind"] in ("XE_LOAD_2D", "XE_LOAD_2D_VNNI"):
        sizes.append(row["BlockWidth"])
    return cx.make_copy_atom(getattr(cx, row["kind"])(*sizes), f"u{row['ValBits']}")


def copy_id(row: dict[str, Any]) -> str:
    block = f"{row['CopyBits']}b{row['Height']}x{row['Width']}w{row['BlockWidth']}"
    return f"{row['kind']}-{block}-v{row['ValBits']}"


@each_kind
def test_copy_atom(kind: str) -> None:
    for row in of_kind(kind):
        with named(copy_id(row)):
            atom = copy_atom_of(row)
            for name in ("Src", "Dst", "Ref"):
                lower = name.lower()
                assert alike(getattr(atom, f"layout_{lower}_tv"), row[f"ValLayout{name}"]), name
                in_bits = getattr(atom, f"layout_{lower}_tv_bits")
                assert alike(in_bits, row[f"{name}Layout_bits"]), name


@each_kind
def test_faithful_is_what_executing_the_message_shows(kind: str, image: Any) -> None:
    """``image`` executes tagged bytes on the machine: value of each (work-item, value) slot."""
    for row in sampled(of_kind(kind), 25):
        with named(copy_id(row)):
            atom = copy_atom_of(row)
            if atom.op.kind == "XE_PREFETCH_2D":
                assert atom.faithful
                continue
            claimed = offsets(to_layout(row["ValLayoutRef"]))
            moved = image(atom)
            dealt = by_work_item(moved, row["ValBits"])[: len(claimed)]
            assert atom.faithful == np.array_equal(dealt, claimed)
            assert bool(atom.notes) != atom.faithful


def by_work_item(slots: np.ndarray, bits: int) -> np.ndarray:
    """Register slots in the order of (work-item, value), work-items fastest: bytes are dealt."""
    per_byte = max(1, 8 // bits)
    return slots.reshape(-1, 16, per_byte).transpose(0, 2, 1).reshape(-1)


def test_cute_layouts_that_are_no_bijections_are_reported() -> None:
    """CuTe's layouts of four odd blocks reach past the block; they are kept, and told."""
    outside: list[tuple[str, int]] = []
    for row in COPIES:
        atom = copy_atom_of(row)
        if set(offsets(atom.layout_ref_tv)) != set(range(atom.width * atom.height)):
            outside.append((repr(atom.op), row["ValBits"]))
            assert not atom.faithful
            assert atom.notes
    assert sorted(outside) == [
        ("XE_LOAD_2D(16, 3, 16, 4)", 8),
        ("XE_LOAD_2D_TRANSPOSE(32, 12, 4)", 16),
        ("XE_LOAD_2D_TRANSPOSE(32, 24, 4)", 32),
        ("XE_LOAD_2D_TRANSPOSE(32, 24, 8)", 32),
    ]


@pytest.mark.long
def test_how_many_rows_of_cute_are_faithful() -> None:
    unfaithful = Counter(row["kind"] for row in COPIES if not copy_atom_of(row).faithful)
    assert unfaithful.keys() == {"XE_LOAD_2D", "XE_LOAD_2D_VNNI", "XE_LOAD_2D_TRANSPOSE"}
    assert (unfaithful.total(), len(COPIES)) == (77, 527)


@every(
    "row",
    rows("cute_copy_atoms_2d")["not_instantiable"],
    ids=lambda r: f"{r['op']}-v{r['ValBits']}",
)
def test_what_cute_cannot_instantiate_is_refused(row: dict[str, Any]) -> None:
    kind, sizes = row["op"].removesuffix(">").split("<")
    op = getattr(cx, kind)(*map(int, sizes.split(",")))
    with pytest.raises(DivisibilityError, match="nor has C\\+\\+ one"):
        cx.make_copy_atom(op, f"u{row['ValBits']}")


@each_kind
def test_x_and_y_modes_of_a_copy_of_one_atom(kind: str) -> None:
    """As C++ tiles one atom, by the mode that is contiguous."""
    modes = {"tiled_row_major": ("ld", 1), "tiled_col_major": (1, "ld")}
    for row, (key, stride) in product(of_kind(kind), modes.items()):
        with named(f"{copy_id(row)}-{key}"):
            atom = copy_atom_of(row)
            copy = cx.make_block_2d_copy(atom.op, stride, atom.value_type)
            assert list(copy.tiler_mn) == row[key]["Tiler_MN"]
            assert (copy.x_mode, copy.y_mode) == ((1, 0) if stride[1] == 1 else (0, 1))
            assert same(copy.layout_tv_tiled, row[key]["TV"])


# ------------------------------------------------------------------ tiled MMA


def mma_atom_of(name: str) -> Any:
    atom = get_atom(name)
    assert isinstance(atom, cx.MmaAtom)
    return atom


def mma_of(spec: dict[str, Any]) -> cx.TiledMma:
    return cx.workgroup_mma(
        mma_atom_of(spec["atom"]), tuple(spec["wg_tile"]), to_layout(spec["atom_layout"])
    )


def tiled_id(row: dict[str, Any]) -> str:
    return f"{row['atom']}-{row['built']}-{row['wg_tile']}-{row['atom_layout']['shape']}"


@every("row", rows("cute_tiled_mma"), ids=tiled_id)
def test_tiled_mma(row: dict[str, Any]) -> None:
    permutation = tuple(map(to_tiler, row["permutation"]))
    mma = cx.make_tiled_mma(mma_atom_of(row["atom"]), to_layout(row["atom_layout"]), permutation)
    assert list(mma.tile_mnk) == row["tile_mnk"]
    assert mma.thr_layout_vmnk == to_layout(row["thr_layout_vmnk"])
    assert same(mma.tv_layout_A_tiled, row["A"])
    assert same(mma.tv_layout_B_tiled, row["B"])
    if row not in PAST_C:
        assert same(mma.tv_layout_C_tiled, row["C"])
    m, n, _ = row["tile_mnk"]
    assert set(offsets(mma.tv_layout_C_tiled)) == set(range(m * n))


# Where several subgroups share an element of C, C++ numbers them past the tile.
PAST_C = [
    row
    for row in rows("cute_tiled_mma")
    if cx.cosize(to_layout(row["C"])) > row["tile_mnk"][0] * row["tile_mnk"][1]
]


def test_cute_layouts_of_c_that_go_past_the_tile_are_those_of_subgroups_along_k() -> None:
    assert [(row["atom"], row["tile_mnk"]) for row in PAST_C] == [
        ("XE_DPAS_TT<8,f,bf,bf,f>", [16, 32, 32]),
        ("XE_DPAS_TT<8,f,bf,bf,f>", [16, 32, 32]),
        ("XE_8x16x32_S32S8S8S32_TT", [16, 32, 64]),
        ("XE_DPAS_TT<8,f,tf32,tf32,f>", [16, 32, 16]),
        ("XE_DPAS_TT<8,f,tf32,tf32,f>", [16, 32, 16]),
        ("XE_DPAS_TT<8,f,bf,bf,f>", [32, 32, 32]),
    ]
    along_k = [row for row in rows("cute_tiled_mma") if row["atom_layout"]["shape"][2] > 1]
    assert len(along_k) == 8
    assert all(row in along_k for row in PAST_C)


@pytest.mark.parametrize("row", sampled(rows("cute_tiled_mma"), 8), ids=tiled_id)
def test_partitions_of_a_tiled_mma(row: dict[str, Any]) -> None:
    permutation = tuple(map(to_tiler, row["permutation"]))
    mma = cx.make_tiled_mma(mma_atom_of(row["atom"]), to_layout(row["atom_layout"]), permutation)
    m, n, k = row["wg_tile"]
    tiles = {"A": (m, k), "B": (n, k), "C": (m, n)}
    assert row["threads"]
    for thread in row["threads"]:
        part = mma.get_slice(thread["thread"])
        assert list(part.thr_vmnk) == thread["thr_vmnk"]
        for operand, tile in tiles.items():
            got = getattr(part, f"partition_{operand}")(cx.make_identity_tensor(tile))
            assert_partition(got, thread[operand])


def assert_partition(got: Tensor, want: dict[str, Any]) -> None:
    expected = to_layout(want["layout"])
    assert size(got.layout) == size(expected)
    left = offsets(got.layout, 3) + np.array((*got.base, 0, 0)[:3])
    right = offsets(expected, 3) + np.array((*want["base"], 0, 0)[:3])
    assert np.array_equal(left, right)


# ------------------------------------------------------------------ block-2D tiled copies


def block_id(row: dict[str, Any]) -> str:
    tile = "x".join(map(str, row["mma"]["wg_tile"]))
    strides = "x".join(map(str, row["gmem_stride"]))
    return f"{row['mma']['atom']}-{tile}-{row['operand']}-{row['mem_type']}-{strides}"


def block_copy_of(row: dict[str, Any]) -> cx.TiledCopy:
    strides = tuple("ld" if d == -1 else d for d in row["gmem_stride"])
    make = getattr(cx, f"make_block_2d_copy_{row['operand']}")
    return make(mma_of(row["mma"]), strides, TYPES.get(row["mem_type"], row["mem_type"]))


def assert_copy(copy: cx.TiledCopy, want: dict[str, Any]) -> None:
    op = copy.op
    assert (op.kind, op.bits, op.height, op.width) == (
        want["kind"],
        want["CopyBits"],
        want["Height"],
        want["Width"],
    )
    # C++ gives prefetches the block width 0: they have none.
    assert op.block_width == (want["BlockWidth"] or op.width)
    assert (copy.x_mode, copy.y_mode) == (want["XMode"], want["YMode"])
    assert list(copy.tiler_mn) == want["Tiler_MN"]
    if want["covers_tile"]:
        assert same(copy.layout_tv_tiled, want["TV"])
        for thread in want["threads"]:
            part = copy.get_slice(thread["thread"])
            for side in "SD":
                if side in thread:
                    got = getattr(part, f"partition_{side}")
                    assert_partition(got(cx.make_identity_tensor(copy.tiler_mn)), thread[side])


@every("row", sampled(rows("cute_block_2d_copy"), 40), ids=block_id)
def test_block_2d_copy(row: dict[str, Any]) -> None:
    copy = block_copy_of(row)
    assert_copy(copy, row["copy"])
    assert copy.atom.faithful
    if "prefetch" in row:
        assert_copy(cx.make_block_2d_prefetch(copy), row["prefetch"])


def test_rows_of_every_type_are_there() -> None:
    tiled = {row["atom"] for row in rows("cute_tiled_mma")}
    copied = rows("cute_block_2d_copy")
    assert (len(rows("cute_tiled_mma")), len(tiled)) == (45, 20)
    assert len(copied) == 96
    assert {row["mem_type"] for row in copied} == {
        *("f32", "tf32", "bf16", "f16", "e5m2", "s32", "s8", "u8", "s4", "u4"),
    }


def test_b_of_4_bits_takes_whole_bytes_along_n() -> None:
    """Worked out by hand from CUTLASS's rule: two rows of a byte first, then the work-items."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s4", "s4"), (256, 256, 128))
    copy = cx.make_block_2d_copy_B(mma, (1, "ld"))
    assert (copy.op.kind, copy.op.bits, copy.op.height, copy.op.width) == ("XE_LOAD_2D", 8, 32, 32)
    first = offsets(copy.layout_tv_tiled).reshape(-1, 512)[:, :16]
    assert sorted(first.flat) == sorted(n + 256 * k for n in range(64) for k in range(128))
    assert cx.check(copy, "bmg")


def test_packed_rows_without_further_ones_count_once_more_at_the_end() -> None:
    """Worked out by hand from CUTLASS's rule: two packed rows of E(0), then 16 columns."""
    bf16 = cx.as_numeric("bf16")
    pairs = Layout((2, 16), (cx.E(0), cx.E(1)))
    # The packed mode leads still: along y it asks for a transpose, along x for VNNI.
    assert select_block_2d(pairs, bf16, bf16, x=1, y=0).kind == "XE_LOAD_2D_TRANSPOSE"
    assert select_block_2d(pairs, bf16, bf16, x=0, y=1).kind == "XE_LOAD_2D_VNNI"
    with pytest.raises(DivisibilityError, match="16 values do not fill the bytes of 16 work-items"):
        select_block_2d(Layout(16, cx.E(0)), *2 * (cx.as_numeric("s4"),), x=0, y=1)


def test_column_major_d_covers_the_tile_where_cute_does_not() -> None:
    """C++ leaves out half of a column-major D; the tiled copy here stores every element."""
    partial = [row for row in rows("cute_block_2d_copy") if not row["copy"]["covers_tile"]]
    found = [(row["mma"]["atom"], row["operand"], row["gmem_stride"]) for row in partial]
    assert found == [
        ("XE_DPAS_TT<8,f,bf,bf,f>", "D", [1, -1]),
        ("XE_DPAS_TT<8,d,s4,s4,d>", "D", [1, -1]),
        ("XE_DPAS_TT<8,d,s8,s8,d>", "D", [1, -1]),
        ("XE_DPAS_TT<8,f,hf,hf,f>", "D", [1, -1]),
    ]
    for row in partial:
        copy = block_copy_of(row)
        m, n = copy.tiler_mn
        assert set(offsets(to_layout(row["copy"]["TV"]))) < set(range(m * n))
        assert sorted(offsets(copy.layout_tv_tiled)) == list(range(m * n))


# ------------------------------------------------------------------ reorder


def reorder_id(row: dict[str, Any]) -> str:
    return f"{row['class']}-{row['src_type']}-{row['dst_type']}"


@every("row", rows("cute_reorder"), ids=reorder_id)
def test_reorder(row: dict[str, Any]) -> None:
    source, destination = width_of(row["src_type"]), width_of(row["dst_type"])
    slots = cx.reorder(
        in_register_order(to_layout(row["src_tv"]), source),
        in_register_order(to_layout(row["dst_tv"]), destination),
    )
    assert slots == to_layout(row["reorder_layout"])
    assert classify_reorder(slots, source, destination) == row["class"]


def width_of(cxx_type: str) -> int:
    """Bits of a type by its C++ name: the number in it, or those of a sign, exponent, mantissa."""
    parts = [int(digits) for digits in re.findall(r"\d+", cxx_type)]
    return 1 + sum(parts) if cxx_type.startswith("e") else parts[0]


def test_reorders_of_every_class_and_width_are_among_them() -> None:
    found = Counter(row["class"] for row in rows("cute_reorder"))
    assert found == {"UU": 36, "UU_Universal": 18, "UV": 25, "VU": 22, "VV": 10, "Generic": 96}
    assert {width_of(row["src_type"]) for row in rows("cute_reorder")} == {4, 8, 16, 32}


def test_work_items_cannot_share_a_byte() -> None:
    with pytest.raises(DivisibilityError, match="1 values of 4 bits do not fill the bytes"):
        in_register_order(Layout((16, 1)), 4)


def test_only_column_major_a_moves_registers() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    for a in ("row", "col"):
        for b in ("row", "col"):
            found = {
                s.source: is_identity(s.slots)
                for s in cx.kernel.gemm(mma, a, b).statements()
                if isinstance(s, cx.kernel.Reorder)
            }
            assert found == {"tArA": a == "row", "tBrB": True}
