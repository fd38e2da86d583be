"""Positions in registers and legality of block-2D messages, against two authorities.

The first is the LOAD_BLOCK2D pseudo-code of the vISA manual (tests/visa_pseudo_code.py). The
second is Intel's graphics compiler 1.0.12504.6, whose verdicts and destination register counts on
inline vISA are kept in tests/data/igc_block2d.json.gz.

What its verifier rejects, the rules reject, with one exception: it exchanges rows and columns of
transposed blocks, and so rejects the 32-bit transposes of more than 16 rows that the ESIMD manual,
the OpenCL extension and newer compilers allow. The rules warn there.

It is laxer than the documents in what LAXER lists: it checks no store heights, no element sizes of
transposed or packed loads, no widths of transposes, not the width of all blocks together, no least
width, nothing about packing a height that does not fill dwords, and it accepts transposed stores
and loads that both transpose and pack. Heights over 32 and stored rows over 64 bytes pass it only
in transposed messages, by the same exchange.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from every import every
from sampling import sampled

from pycute_xe.arch import Block2D, RegisterMap, Surface
from pycute_xe.bulk import table
from pycute_xe.errors import LegalityError, ShapeError, TargetError
from pycute_xe.layout import Layout, size

LAXER = {
    "load": {
        "load-height",
        "load-row-bytes",
        "transpose-bits",
        "transpose-d32-width",
        "transpose-d64-height",
        "transpose-d64-width",
        "transpose-count",
        "transpose-or-vnni",
        "vnni-bits",
        "vnni-height-dwords",
        "width-min-dword",
    },
    "store": {"store-height", "store-row-bytes", "store-transpose", "width-min-dword"},
}

Rows = dict[str, list[dict[str, Any]]]


def message(op: Any, row: dict[str, Any]) -> Block2D:
    transpose, vnni = (letter == "t" for letter in row["suffix"])
    return Block2D(op, row["bits"], row["height"], row["width"], row["count"], transpose, vnni)


def fills_dwords(m: Block2D) -> bool:
    return not m.vnni or (m.width if m.transpose else m.height) % m.per_dword == 0


def test_positions_follow_the_pseudo_code(igc: Rows, visa: ModuleType) -> None:
    messages = [message("load", row) for row in igc["load"] if row["verdict"] != "r"]
    packed = [m for m in messages if fills_dwords(m)]
    assert len(packed) > 2500
    for m in sampled(packed, 300):
        image = visa.load_block2d(m.bits, m.count, m.width, m.height, m.transpose, m.vnni)
        held = {found: index for index, found in image.items() if found is not None}
        across = m.width * m.count
        expected = [held[i % across, i // across] for i in range(across * m.height)]
        assert table(m.position).tolist() == expected, m
        assert len(image) == m.register_bytes("pvc") // m.element_bytes, m
        assert m.register_map.elements == -(-len(image) // 16) * 16, m


def test_register_counts_are_the_compiler_s(igc: Rows) -> None:
    """The field of the descriptor holds at most 31; packed heights that fill no dword are apart."""
    tried = 0
    for row in igc["load"]:
        m = message("load", row)
        if row["verdict"] == "a" and fills_dwords(m):
            assert min(31, m.registers("pvc")) == row["dst_regs"], m
            tried += 1
    assert tried > 2400


@pytest.mark.parametrize("op", ["load", "store"])
@pytest.mark.parametrize("target", ["pvc", "bmg", "lnl", "ptl"])
def test_what_the_verifier_rejects_is_rejected(op: str, target: str, igc: Rows) -> None:
    rejected = [row for row in igc[op] if row["verdict"] == "r"]
    assert len(rejected) > 1000
    for row in sampled(rejected, 400):
        m = message(op, row)
        broken = m.broken_rules(target)
        if not any(b.level == "error" for b in broken):
            # The compiler's exchange of rows and columns.
            assert [b.rule for b in broken if b.rule == "transpose-column-bytes"], m
            assert m.transpose
            assert m.bits == 32
            assert 16 < m.height <= 32


@pytest.mark.parametrize("op", ["load", "store"])
def test_where_the_compiler_is_laxer(op: str, igc: Rows) -> None:
    laxer: set[str] = set()
    for row in igc[op]:
        if row["verdict"] != "r":
            broken = message(op, row).broken_rules("pvc")
            laxer |= {b.rule for b in broken if b.level == "error"}
    assert laxer == LAXER[op]


@pytest.mark.long
def test_what_is_legal_compiles(igc: Rows) -> None:
    legal = 0
    for op in ("load", "store"):
        for row in igc[op]:
            if not message(op, row).broken_rules("pvc"):
                assert row["verdict"] != "r", row
                legal += 1
    assert legal > 300


@every(
    ("m", "text"),
    [
        (Block2D("load", 16, 32, 16, 2), "((16,2),32):((1,512),16)"),
        (Block2D("load", 16, 32, 16, 2, vnni=True), "((16,2),(2,16)):((2,512),(1,32))"),
        (Block2D("load", 32, 16, 8, transpose=True), "((8,1),16):((16,128),1)"),
        (Block2D("load", 8, 3, 5, 2), "((5,2),3):((1,64),8)"),
        (Block2D("store", 32, 8, 16), "((16,1),8):((1,128),16)"),
        (Block2D("store", 8, 2, 5), "((5,1),2):((1,16),8)"),
    ],
)
def test_positions_by_hand(m: Block2D, text: str) -> None:
    assert str(m.position) == text


def test_a_packed_height_that_fills_no_dword_is_rounded_up() -> None:
    m = Block2D("load", 16, 3, 32, vnni=True)
    assert str(m.position) == "((32,1),(2,2)):((2,128),(1,64))"
    assert m.registers("pvc") == 4
    assert [b.rule for b in m.broken_rules("bmg")] == ["vnni-height-dwords", "vnni-width"]


def test_sizes_in_registers() -> None:
    assert Block2D("load", 8, 1, 4).register_bytes("bmg") == 64
    assert Block2D("load", 8, 1, 4, 4).registers("bmg") == 4
    assert Block2D("store", 8, 1, 4).registers("bmg") == 1
    assert Block2D("store", 32, 8, 16).register_bytes("bmg") == 512
    assert Block2D("prefetch", 16, 32, 32).registers("bmg") == 0


@every(
    ("m", "text"),
    [
        (Block2D("load", 16, 32, 16, 2), "lsc_load_block2d.ugm (M1,1) V:d16.2x16x32nn"),
        (Block2D("load", 8, 32, 16, 4, vnni=True), "lsc_load_block2d.ugm (M1,1) V:d8.4x16x32nt"),
        (
            Block2D("load", 32, 16, 8, transpose=True),
            "lsc_load_block2d.ugm (M1,1) V:d32.1x8x16tn",
        ),
        (Block2D("store", 32, 8, 16), "lsc_store_block2d.ugm (M1,1) V:d32.1x16x8nn"),
        (Block2D("prefetch", 16, 8, 32), "lsc_load_block2d.ugm (M1,1) %null:d16.1x32x8nn"),
    ],
)
def test_text(m: Block2D, text: str) -> None:
    assert str(m) == text


def test_check_raises_with_every_source_and_returns_warnings() -> None:
    with pytest.raises(LegalityError, match=r"height is 16, must be at most 8 \[ESIMD"):
        Block2D("store", 16, 16, 16).check("bmg")
    (warning,) = Block2D("load", 64, 8, 4, transpose=True).check("bmg")
    assert warning.rule == "transpose-d64-width-below-4"
    assert Block2D("load", 16, 16, 32, vnni=True).check("pvc")[0].rule == "vnni-width-pvc"


@every(
    ("m", "rule"),
    [
        (Block2D("load", 16, 16, 16, transpose=True), "transpose-bits"),
        (Block2D("load", 32, 16, 16, transpose=True), "transpose-d32-width"),
        (Block2D("load", 64, 16, 4, transpose=True), "transpose-d64-height"),
        (Block2D("load", 32, 8, 8, vnni=True), "vnni-bits"),
        (Block2D("load", 16, 8, 32, 2), "load-row-bytes"),
        (Block2D("load", 8, 8, 16, 3), "count-d8-d16"),
        (Block2D("load", 8, 33, 16), "load-height"),
        (Block2D("prefetch", 16, 8, 16, vnni=True), "prefetch-vnni"),
        (Block2D("prefetch", 32, 8, 8, transpose=True), "prefetch-transpose"),
        (Block2D("store", 16, 8, 16, 2), "store-count"),
        (Block2D("store", 16, 8, 16, vnni=True), "store-vnni"),
        (Block2D("store", 32, 8, 8, transpose=True), "store-transpose"),
        (Block2D("store", 32, 8, 32), "store-row-bytes"),
    ],
)
def test_illegal_messages(m: Block2D, rule: str) -> None:
    for target in ("pvc", "bmg", "lnl", "ptl"):
        broken = m.broken_rules(target)
        assert rule in [b.rule for b in broken if b.level == "error"]


def test_use_on_a_surface() -> None:
    surface = Surface(0, 100, 8, 112)
    assert Block2D("load", 16, 8, 16).broken_rules_at(surface, 4, 0, "pvc") == ()
    at_1 = Block2D("load", 16, 8, 16).broken_rules_at(surface, 1, 0, "pvc")
    assert [(b.rule, b.level) for b in at_1] == [("x-d16", "error"), ("x-4", "warning")]
    at_2 = Block2D("load", 32, 8, 16).broken_rules_at(surface, 2, 0, "pvc")
    assert [b.rule for b in at_2] == ["x-4"]
    wide = Block2D("load", 64, 8, 4, transpose=True).broken_rules_at(surface, -4, 0, "pvc")
    assert [b.rule for b in wide] == ["x-transpose-d64", "surface-width-elements"]


def test_what_cannot_be_encoded_cannot_be_built() -> None:
    for bad in ((16, 0, 16), (16, 8, 0), (16, 8, 16, 0), (12, 8, 16)):
        with pytest.raises(ShapeError):
            Block2D("load", *bad)
    with pytest.raises(ShapeError):
        Block2D("gather", 16, 8, 16)
    with pytest.raises(TargetError):
        Block2D("load", 16, 8, 16).broken_rules("nowhere")


def test_messages_are_values() -> None:
    assert Block2D("load", 16, 8, 16) == Block2D("load", 16, 8, 16, 1, False, False)
    assert len({Block2D("load", 16, 8, 16), Block2D("load", 16, 8, 16)}) == 1


@every(
    "m",
    [
        Block2D("load", 16, 8, 16),
        Block2D("load", 16, 5, 12),
        Block2D("load", 8, 8, 16, 4, vnni=True),
        Block2D("load", 32, 4, 8, transpose=True),
        Block2D("load", 64, 8, 2, transpose=True),
        Block2D("load", 32, 1, 8, 2),
        Block2D("store", 16, 3, 12),
    ],
)
def test_ownership_of_a_message(m: Block2D) -> None:
    owners = m.register_map
    assert owners.values * 16 * m.element_bytes == m.register_bytes("pvc")
    for offset in range(size(m.position)):
        lane, value = owners.owner(offset)
        assert (lane, value) == (m.position(offset) % 16, m.position(offset) // 16)
        assert owners.element(lane, value) == offset
    slots = [owners.element(t, v) for v in range(owners.values) for t in range(16)]
    assert sorted(s for s in slots if s is not None) == list(range(size(m.position)))


def test_ownership_maps_are_the_register_map_of_the_position() -> None:
    m = Block2D("load", 16, 8, 16)
    assert m.register_map == RegisterMap(Layout(((16, 1), 8), ((1, 128), 16)), 16, elements=128)
