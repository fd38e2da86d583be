"""Triton's encodings against the bases that its own unit tests expect, and against DPAS atoms."""

from __future__ import annotations

import tomllib
from itertools import product
from pathlib import Path

import pytest

import pycute_xe as cx
from pycute_xe.dialects import DotOperand, DpasEncoding, LinearLayout, parse

DATA = Path(__file__).parents[1] / "data" / "triton_layouts.toml"
ROWS = tomllib.loads(DATA.read_text())["layout"]
PLACES = ("register", "lane", "warp", "block")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["test"].split(": ")[1])
def test_bases_are_those_that_triton_expects(row: dict[str, object]) -> None:
    linear = parse(str(row["text"])).linear(tuple(row["shape"]))  # type: ignore[arg-type]
    assert {name: [list(v) for v in linear.basis(name)] for name in PLACES} == {
        name: row[name] for name in PLACES
    }
    assert linear.shape == tuple(row["shape"])  # type: ignore[arg-type]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["test"].split(": ")[1])
def test_text_is_read_as_it_is_written(row: dict[str, str]) -> None:
    encoding = parse(row["text"])
    assert parse(str(encoding)) == encoding
    assert hash(parse(str(encoding))) == hash(encoding)


TYPES = [("tf32", 1), ("bf16", 2), ("f16", 2), ("s8", 4), ("u8", 4)]


def registers_of(linear: LinearLayout, unit: int, lanes: int) -> list[tuple[int, ...]]:
    """The element at each place of the registers, lanes being side by side unit by unit."""
    return [
        linear(register=word * unit + part, lane=lane)
        for word, lane, part in product(
            range(linear.size("register") // unit), range(lanes), range(unit)
        )
    ]


@pytest.mark.parametrize(("kind", "ops"), TYPES)
@pytest.mark.parametrize(("rows", "lanes"), [(8, 16), (8, 32), (4, 16), (4, 32)])
def test_registers_are_those_of_the_atom(kind: str, ops: int, rows: int, lanes: int) -> None:
    """Triton's packed units and CuTe's elements are one image of the register file."""
    result = "s32" if ops == 4 else "f32"
    atom = cx.make_mma_atom(cx.XE_DPAS_TT(rows, result, kind))
    dpas = DpasEncoding(rows, 8, 16, ops, lanes, (1, 1), (1, 1))
    for part in ("A", "B"):
        operand = DotOperand(0 if part == "A" else 1, dpas, dpas.k_width(part))
        linear = operand.linear(dpas.instruction(part))
        image = registers_of(linear, dpas.k_width(part), lanes)
        assert image == list(atom.registers(part).slots)
    assert registers_of(dpas.linear((rows, 16)), 1, lanes) == list(atom.registers("C").slots)


def test_ownership_of_16_bit_a_and_of_c_is_cutes() -> None:
    atom = cx.make_mma_atom(cx.XE_DPAS_TT(8, "f32", "bf16"))
    dpas = DpasEncoding(8, 8, 16, 2, 16, (1, 1), (1, 1))
    a, c = DotOperand(0, dpas, 1).linear((8, 16)), dpas.linear((8, 16))
    assert a.as_layout() == atom.tv_layout_A
    assert c.as_layout() == atom.tv_layout_C
    # CuTe deals elements of B out singly, Triton in dwords.
    assert DotOperand(1, dpas, 2).linear((16, 16)).as_layout() != atom.tv_layout_B


def test_older_names_are_read() -> None:
    new = (
        "#ttg.dot_op<{opIdx = 0, parent = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, "
        "executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [4, 1], "
        "repCluster = [4, 1], A = [32, 16], B = [16, 16], C = [32, 16]}>, kWidth = 1}>"
    )
    old = new.replace("ttg.", "triton_gpu.").replace("ttig.", "triton_intel_gpu.")
    assert parse(old) == parse(new)
    assert str(parse(old)) == new


def test_aliases_may_stand_above() -> None:
    text = (
        "#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], "
        "warpsPerCTA = [1, 1], order = [1, 0]}>\n#s = #ttg.slice<{dim = 0, parent = #b}>"
    )
    assert parse(text).linear((16,)).basis("register") == ((1,), (2,))
    assert parse(text + "\n#s") == parse(text)


@pytest.mark.parametrize(
    ("bits", "height", "width", "count"),
    [
        (16, 32, 16, 2),
        (16, 32, 32, 1),
        (16, 8, 16, 1),
        (16, 16, 16, 2),
        (8, 32, 32, 1),
        (8, 16, 32, 2),
        (32, 8, 16, 1),
        (32, 32, 8, 2),
        (32, 16, 8, 1),
    ],
)
def test_block_loads_leave_what_the_messages_do(
    bits: int, height: int, width: int, count: int
) -> None:
    atom = cx.make_copy_atom(cx.XE_LOAD_2D(bits, height, width * count, width), f"u{bits}")
    layout = cx.dialects.Subgroup2DBlock((height, width), count, (1, 0), bits // 8, 16, (1, 1))
    unit = max(1, width // 16)
    image = registers_of(layout.linear((height, width * count)), unit, 16)
    assert image == list(atom.registers().slots)


@pytest.mark.parametrize(("bits", "height", "count"), [(16, 32, 2), (16, 16, 1), (8, 32, 2)])
def test_packed_loads_of_b_leave_what_the_messages_do(bits: int, height: int, count: int) -> None:
    atom = cx.make_copy_atom(cx.XE_LOAD_2D_VNNI(bits, height, 16 * count, 16), f"u{bits}")
    layout = cx.dialects.Subgroup2DBlock((height, 16), count, (0, 1), bits // 8, 16, (1, 1))
    image = registers_of(layout.linear((height, 16 * count)), 32 // bits, 16)
    assert image == list(atom.registers().slots)
