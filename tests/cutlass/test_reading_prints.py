"""Prints of CuTe are read as what C++ printed them from; golden data says what that was."""

from __future__ import annotations

import re
from typing import Any

import pytest
from cute_prints import (
    copy_text,
    layout_text,
    mma_text,
    tiled_copy_text,
    tiled_mma_text,
)
from golden import DATA, rows, to_layout, to_tiler
from sampling import sampled

import pycute_xe as cx
from pycute_xe.cutlass import catalogue

MMAS: dict[str, Any] = {row["name"]: row for row in rows("cute_mma_atoms")}
HALF = "XE_DPAS_TT<8,f,hf,hf,f>"
COPIES: list[dict[str, Any]] = rows("cute_copy_atoms_2d")["cases"]
OLDER: list[dict[str, Any]] = rows("cute_copy_atoms_legacy")["cases"]


def _op(row: dict[str, Any]) -> str:
    sizes = [row["CopyBits"], row["Height"], row["Width"]]
    # A prefetch takes a block width of 0 in C++, which means the whole width.
    if row["BlockWidth"] not in (row["Width"], 0):
        sizes.append(row["BlockWidth"])
    return f"{row['kind']}<{','.join(map(str, sizes))}>"


def test_layouts_are_read_as_golden() -> None:
    cases = rows("cute_layout_algebra")["cases"]
    layouts = [row["layout"] for row in cases if isinstance(row.get("layout"), dict)]
    assert len(layouts) > 200
    for layout in layouts:
        assert cx.from_cute(layout_text(layout)) == to_layout(layout)


def test_an_mma_atom_is_that_of_its_operation() -> None:
    for name, row in sampled(MMAS.items(), 20):
        atom = cx.from_cute(mma_text(row), op=name)
        assert [str(t) for t in (atom.op.D, atom.op.A, atom.op.B, atom.op.C)] == row["types"]
        assert atom.shape_mnk == tuple(row["shape_mnk"])
        assert atom.legacy == (row["kind"] == "legacy")


@pytest.mark.long
def test_candidates_are_all_atoms_that_print_so() -> None:
    row = MMAS[HALF]
    alike = [name for name, r in MMAS.items() if mma_text(r) == mma_text(row)]
    assert len(alike) > 3
    with pytest.raises(cx.CuteError, match="tell which, as op=") as refusal:
        cx.from_cute(mma_text(row))
    assert "XE_DPAS_TT<8,f32,f16,f16,f32>" in str(refusal.value)
    count = re.search(r"(\d+) MMA atoms have", str(refusal.value))
    assert count is not None
    assert int(count[1]) >= len(alike)
    for name in alike:
        assert cx.from_cute(mma_text(row), op=name) == cx.from_cute(f"MMA_Atom<{name}>")


def test_an_operation_that_prints_otherwise_is_refused() -> None:
    row = MMAS[HALF]
    with pytest.raises(cx.CuteError, match="has other layouts than those printed"):
        cx.from_cute(mma_text(row), op="XE_DPAS_TT<8,int32_t,int8_t>")
    with pytest.raises(cx.CuteError, match="not an MMA operation"):
        cx.from_cute(mma_text(row), op="XE_LOAD_2D<16,8,16>")


def test_tiled_mmas_are_those_of_golden() -> None:
    seen = 0
    for row in rows("cute_tiled_mma"):
        if row["atom"] not in MMAS:
            continue
        seen += 1
        mma = cx.from_cute(tiled_mma_text(row, MMAS[row["atom"]]), op=row["atom"])
        assert mma.tile_mnk == tuple(row["tile_mnk"])
        assert mma.thr_layout_vmnk == to_layout(row["thr_layout_vmnk"])
        # The stride of an extent of 1 is not printed as it was written.
        assert cx.functionally_equal(mma.atom_layout_mnk, to_layout(row["atom_layout"]))
        assert mma.permutation_mnk == tuple(map(to_tiler, row["permutation"]))
    assert seen > 30


@pytest.mark.long
def test_a_copy_atom_is_found_by_its_layouts() -> None:
    listed = set(catalogue())
    found = 0
    for row in sampled([row for row in COPIES if _op(row) in listed], 6):
        text = copy_text(row, row["ValBits"])
        kind = f"u{row['ValBits']}"
        named = False
        try:
            atom = cx.from_cute(text, value_type=kind)
        except cx.CuteError as refusal:
            named = "op=" in refusal.fix
            atom = cx.from_cute(text, op=_op(row) if named else None, value_type=kind)
        found += not named
        assert str(atom) == _op(row)
        assert str(atom.value_type) == kind
    assert found


def test_copy_atoms_of_a_named_operation() -> None:
    for row in sampled(COPIES, 50):
        atom = cx.from_cute(copy_text(row, row["ValBits"]), op=_op(row), value_type=_type(row))
        assert atom.to_cpp().startswith(f"Copy_Atom<Copy_Traits<{_op(row)},")


@pytest.mark.long
def test_older_copy_atoms_of_a_named_operation() -> None:
    for row in sampled(OLDER, 16):
        text = copy_text(row, cx.as_numeric(row["ValType"]).bits)
        known: Any = cx.get_atom(row["name"], row["ValType"])
        if known.is_artefact:
            # CUTLASS's traits do not map onto the block; the library's layouts do.
            with pytest.raises(cx.CuteError, match="other layouts than those printed"):
                cx.from_cute(text, op=row["name"], value_type=row["ValType"])
        else:
            atom = cx.from_cute(text, op=row["name"], value_type=row["ValType"])
            assert str(atom) == row["name"]


def _type(row: dict[str, Any]) -> str:
    return {4: "s4", 8: "f8e4m3", 16: "bf16", 32: "f32", 64: "f64"}[row["ValBits"]]


def test_the_type_of_the_values_must_be_told() -> None:
    row = next(row for row in COPIES if _op(row) == "XE_LOAD_2D<16,16,16>" and row["ValBits"] == 16)
    text = copy_text(row, 16)
    with pytest.raises(cx.CuteError, match='give value_type= one of "u16", "f16", "bf16"'):
        cx.from_cute(text, op=_op(row))
    with pytest.raises(cx.DTypeError, match="f32 has 32 bits, the printed values have 16"):
        cx.from_cute(text, op=_op(row), value_type="float")


def test_tiled_copies_are_those_of_golden() -> None:
    for row in sampled(COPIES, 25):
        for order, modes in (("row", (1, 0)), ("col", (0, 1))):
            tiled = row[f"tiled_{order}_major"]
            text = tiled_copy_text(tiled, row, row["ValBits"])
            copy = cx.from_cute(text, op=_op(row), value_type=_type(row))
            assert (copy.x_mode, copy.y_mode) == modes
            assert copy.layout_tv_tiled == to_layout(tiled["TV"])
            assert copy.tiler_mn == tuple(tiled["Tiler_MN"])
            assert str(copy.op) == _op(row)


def test_the_tile_tells_candidates_apart() -> None:
    row = next(row for row in COPIES if _op(row) == "XE_LOAD_2D<16,16,16>" and row["ValBits"] == 16)
    tiled = row["tiled_row_major"]
    with pytest.raises(cx.CuteError, match=r"XE_LOAD_2D<16,16,16>, ") as atom:
        cx.from_cute(copy_text(row, 16), value_type="f16")
    with pytest.raises(cx.CuteError, match=r"XE_LOAD_2D<16,16,16>, ") as tiling:
        cx.from_cute(tiled_copy_text(tiled, row, 16), value_type="f16")
    # 8 rows of 32 values print alike as an atom, but make no tile of 16 x 16.
    assert "XE_LOAD_2D<16,8,32>" in str(atom.value)
    assert "XE_LOAD_2D<16,8,32>" not in str(tiling.value)


def test_tiled_copies_of_operands_are_those_of_golden() -> None:
    atoms = {(_op(row), row["ValBits"]): row for row in COPIES}
    seen = 0
    for row in rows("cute_block_2d_copy"):
        tiled = row["copy"]
        held = {"e5m2": "f8e5m2", "e4m3": "f8e4m3"}.get(row["mem_type"], row["mem_type"])
        atom = atoms.get((_op(tiled), cx.as_numeric(held).bits))
        if atom is None:
            continue
        seen += 1
        text = tiled_copy_text(tiled, atom, atom["ValBits"])
        copy = cx.from_cute("copy_a: " + text, op=_op(tiled), value_type=held)
        assert (copy.x_mode, copy.y_mode) == (tiled["XMode"], tiled["YMode"])
        assert copy.layout_tv_tiled == to_layout(tiled["TV"])
    assert seen > 20


def test_shared_memory_swizzles_count_elements() -> None:
    # composed over bytes by hand: element i of 16 bits lies at byte 2 * i
    swizzle = cx.Swizzle(3, 4, 3)
    layout = cx.Layout((8, 64), (64, 1))
    read = cx.from_cute("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)")
    assert [read(i) for i in range(512)] == [swizzle(2 * layout(i)) // 2 for i in range(512)]
    assert cx.from_cute("Sw<3,4,3> o _0 o (8,64):(64,1)") == cx.ComposedLayout(swizzle, 0, layout)


PRINTED = {
    name: (spelled.strip(), shown)
    for name, spelled, shown in re.findall(
        r"^=== (\w+)\n(.*?)\n---\n(.*?)(?=^===|\Z)",
        (DATA / "cute_prints.txt").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
}
TOLD: dict[str, dict[str, Any]] = {
    "tiled_mma": {"op": "XE_DPAS_TT<8,float,bfloat16_t>"},
    "tiled_mma_s8": {"op": "XE_DPAS_TT<4,int,signed char>"},
    **{
        name: {"value_type": "bfloat16_t"}
        for name in ("copy_a", "copy_a_col", "copy_b", "prefetch_a")
    },
    "copy_d": {"value_type": "float"},
}
MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
EXPECTED = {
    "layout": cx.Layout(((2, 4), 33), ((1, 16), -2)),
    "basis": cx.Layout((4, (3, 5)), (cx.E(1), (3 * cx.E(0, 1), cx.E(0)))),
    "tiled_mma": MMA,
    "tiled_mma_s8": cx.make_tiled_mma(cx.XE_DPAS_TT(4, "s32", "s8"), (2, 2, 1)),
    "copy_a": cx.make_block_2d_copy_A(MMA, ("ld", 1)),
    "copy_a_col": cx.make_block_2d_copy_A(MMA, (1, "ld")),
    "copy_b": cx.make_block_2d_copy_B(MMA, (1, "ld")),
    "copy_d": cx.make_block_2d_copy_D(MMA, ("ld", 1)),
}


def test_what_a_program_printed_is_read_as_its_types() -> None:
    assert len(PRINTED) == 11
    for name, (spelled, shown) in PRINTED.items():
        value = cx.from_cute(shown, **TOLD.get(name, {}))
        assert value == cx.from_cute(spelled), name
        wanted: Any = EXPECTED.get(name)
        if isinstance(wanted, cx.TiledCopy):
            assert (value.op, value.tiler_mn) == (wanted.op, wanted.tiler_mn)
            assert (value.x_mode, value.y_mode) == (wanted.x_mode, wanted.y_mode)
            assert cx.functionally_equal(value.layout_tv_tiled, wanted.layout_tv_tiled)
        elif wanted is not None:
            assert value == wanted


def test_a_print_that_names_its_operation_is_held_to_it() -> None:
    shown = PRINTED["copy_a"][1]
    told = {"value_type": "bf16"}
    with pytest.raises(cx.CuteError, match="has other layouts than those printed"):
        cx.from_cute(shown.replace("Height:       32", "Height:       16"), **told)
    swapped = shown.replace("XMode:        _1", "XMode:        _0")
    with pytest.raises(cx.CuteError, match="does not begin with one block"):
        cx.from_cute(swapped.replace("YMode:        _0", "YMode:        _1"), **told)
    with pytest.raises(cx.CuteError, match="BlockWidth expected"):
        cx.from_cute(shown.replace("  BlockWidth:   16\n", ""), **told)
    with pytest.raises(cx.CuteError, match="a block-2D operation expected, not 'XE_LOAD_3D'"):
        cx.from_cute(shown.replace("XE_LOAD_2D", "XE_LOAD_3D"), **told)
    with pytest.raises(cx.CuteError, match="has other layouts than those printed"):
        cx.from_cute(shown, op="XE_LOAD_2D<16,16,16>", **told)
