"""Names lowered to messages: the machine runs them, or rules with their sources forbid them."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from every import every
from golden import rows as golden
from sampling import WHOLE

from pycute_xe.arch import Surface
from pycute_xe.atom.copy_answers import PlacedMessage
from pycute_xe.cutlass import get_atom, parse_block2d_name, shipped_names
from pycute_xe.cutlass.legacy_lowering import broken_rules, nearest_names
from pycute_xe.cutlass.legacy_name import LARGEST_BLOCK
from pycute_xe.errors import LegalityError
from pycute_xe.facts import rows
from pycute_xe.machine import Memory, RegisterFile, block2d

TARGETS = ("pvc", "bmg", "lnl")
RULES = {row["id"]: row["source"] for row in rows("block2d", "message")}


def moved(part: PlacedMessage, memory: Memory, surface: Surface) -> np.ndarray:
    """What a load found at each place of its block, read from registers by the formula."""
    message, registers = part.message, RegisterFile(1 << 14)
    block2d.load(memory, registers, message, surface, part.x, part.y, 0)
    position = message.position
    data = registers.read(0, message.register_bytes("bmg"), "the test").view(
        f"u{message.element_bytes}"
    )
    width = message.width * message.count
    out = np.empty((message.height, width), data.dtype)
    for y, x in product(range(message.height), range(width)):
        out[y, x] = data[position((x % message.width, x // message.width), y)]
    return out.view(np.uint8)


def run(name: str, target: str) -> None:
    """Move random bytes through the machine with the messages of a name; all must arrive."""
    atom = get_atom(name)
    rows_, row = atom.memory_shape
    nbytes = row * atom.name.bits // 8
    content = np.random.default_rng(1).integers(1, 256, (rows_, nbytes), dtype=np.uint8)
    memory = Memory()
    got = np.zeros_like(content)
    base = memory.place(np.zeros_like(content) if atom.name.is_store else content)
    surface = Surface(base, nbytes, rows_, nbytes)
    for part in atom.messages(target):
        size = part.message.element_bytes
        top, left = part.y, part.x * size
        bottom = top + part.message.height
        right = left + part.message.width * part.message.count * size
        assert not got[top:bottom, left:right].any(), "moved twice"
        if part.message.op == "load":
            got[top:bottom, left:right] = moved(part, memory, surface)
            continue
        got[top:bottom, left:right] = content[top:bottom, left:right]
        if part.message.op == "store":
            registers = RegisterFile(1 << 14)
            pitch = 1 << (right - left - 1).bit_length()
            for y in range(top, bottom):
                registers.write((y - top) * pitch, content[y, left:right])
            block2d.store(memory, registers, part.message, surface, part.x, part.y, 0)
    assert np.array_equal(got, content)
    if atom.name.is_store:
        assert np.array_equal(memory.array(base, content.shape, np.dtype("u1")), content)


@every("name", shipped_names())
def test_every_shipped_name_lowers_to_messages_that_move_its_block(name: str) -> None:
    for target in TARGETS:
        run(name, target)


def some_names(count: int) -> list[str]:
    pick = random.Random(5)
    types = ("U4", "U8", "U16", "U32", "U64", "TF32", "Packed_U4", "Packed_U8", "Packed_U16")
    modes = ("LD_N", "LD_V", "LD_T", "ST_N")
    return [
        f"XE_2D_{pick.choice(types)}x{pick.randint(1, 64)}x{pick.randint(1, 64)}_"
        f"{pick.choice(modes)}"
        for _ in range(count)
    ]


def test_other_names_move_their_block_or_break_a_rule_that_has_a_source() -> None:
    lowered = refused = 0
    for name in some_names(400 if WHOLE else 100):
        broken = broken_rules(parse_block2d_name(name), "bmg")
        if not broken:
            run(name, "bmg")
            lowered += 1
            continue
        refused += 1
        with pytest.raises(LegalityError) as caught:
            get_atom(name).messages("bmg")
        for rule in broken:
            assert rule.source == RULES.get(rule.rule, rule.source)
            assert rule.source in str(caught.value)
        near = nearest_names(parse_block2d_name(name), "bmg")
        assert len(near) == 3
        for other in near:
            assert str(other) in str(caught.value)
            assert get_atom(str(other)).messages("bmg")
    assert lowered > (100 if WHOLE else 25)
    assert refused > (30 if WHOLE else 8)


@every(
    ("name", "rule"),
    [
        ("XE_2D_U32x16x16_LD_V", "vnni-bits"),
        ("XE_2D_U16x15x16_LD_V", "vnni-height-dwords"),
        ("XE_2D_U16x16x1_LD_T", "transpose-bits"),
        ("XE_2D_U64x4x4_LD_T", "transpose-d64-height"),
        ("XE_2D_U16x8x16_ST_T", "store-transpose"),
        ("XE_2D_U16x8x16_ST_V", "store-vnni"),
        ("XE_2D_U8x8x2_LD_N", "width-min-dword"),
        ("XE_2D_U4x8x17_LD_N", "whole-bytes"),
    ],
)
def test_the_rule_that_forbids_a_name_is_named(name: str, rule: str) -> None:
    assert rule in {broken.rule for broken in broken_rules(parse_block2d_name(name), "pvc")}
    with pytest.raises(LegalityError, match=rule):
        get_atom(name).messages("pvc")


def test_16_bit_transposes_are_32_bit_messages() -> None:
    (part,) = get_atom("XE_2D_U16x16x16_LD_T").messages("pvc")
    assert (part.message.bits, part.message.transpose) == (32, True)
    (part,) = get_atom("XE_2D_U8x16x32_LD_T").messages("pvc")
    assert (part.message.bits, part.message.height, part.message.width) == (32, 16, 8)


def test_blocks_of_16_columns_lie_side_by_side() -> None:
    (part,) = get_atom("XE_2D_Packed_U8x32x64_LD_N").messages("bmg")
    assert (part.message.width, part.message.count) == (32, 2)
    parts = get_atom("XE_2D_U16x16x16_ST_N").messages("bmg")
    assert [(part.y, part.message.height) for part in parts] == [(0, 8), (8, 8)]


def executed_owners(name: str) -> dict[tuple[int, int], tuple[int, int]]:
    """Load tagged elements and look which element of the registers each came to.

    A tag has two digits, so that a byte can hold either of them. 4-bit elements are tagged in
    pairs, the first of which lies in the low half of the byte.
    """
    atom = get_atom(name)
    rows_, row = atom.memory_shape
    bits = max(atom.name.bits, 8)
    row = row * atom.name.bits // bits
    tags = np.arange(1, rows_ * row + 1).reshape(rows_, row)
    digits: list[np.ndarray] = []
    for digit in (tags % 200 + 1, tags // 200 + 1):
        memory, registers, at = Memory(), RegisterFile(1 << 14), 0
        pitch = row * bits // 8
        surface = Surface(memory.place(digit.astype(f"u{bits // 8}")), pitch, rows_, pitch)
        for part in atom.messages("bmg"):
            block2d.load(memory, registers, part.message, surface, part.x, part.y, at)
            at += part.message.register_bytes("bmg")
        digits.append(registers.read(0, at, "the test").view(f"u{bits // 8}").astype(int))
    found: dict[tuple[int, int], tuple[int, int]] = {}
    packed = bits // atom.name.bits
    for index, (low, high) in enumerate(zip(*digits, strict=True)):
        if high == 0:
            continue  # padding
        (y,), (x,) = np.nonzero((tags % 200 + 1 == low) & (tags // 200 + 1 == high))
        for half in range(packed):
            place = (int(y), int(x) * packed + half)
            place = place[::-1] if atom.name.mode == "T" else place
            found[place] = (index % 16, index // 16 * packed + half)
    return found


LOADS = [name for name in shipped_names() if "_LD_" in name and "PREFETCH" not in name]


@pytest.mark.parametrize("name", LOADS)
def test_who_owns_what_in_registers_is_what_the_machine_shows(name: str) -> None:
    atom = get_atom(name)
    shown = executed_owners(name)
    assert atom.registers().owners() == shown
    said = {p: (t, v) for t, held in enumerate(atom.ownership()) for v, p in enumerate(held)}
    repeated = len(said) < 16
    holds = said == shown and not repeated
    assert any("registers of a work-item" in note for note in atom.notes) != holds
    swapped = any("sides exchanged" in note for note in atom.notes)
    assert atom.faithful == (holds and not swapped)


def test_how_many_shipped_loads_are_faithful() -> None:
    faithful = {name for name in LOADS if get_atom(name).faithful}
    assert "XE_2D_U16x32x16_LD_N" in faithful
    assert not any("_LD_V" in name for name in faithful)
    assert (len(faithful), len(LOADS)) == (25, 76)


def test_intels_compiler_takes_every_message_of_a_shipped_name() -> None:
    verdicts = {}
    for op in ("load", "store"):
        table = golden("igc_block2d")[op]
        columns = (table[key] for key in ("bits", "count", "width", "height", "suffix"))
        for *row, verdict in zip(*columns, table["verdict"], strict=True):
            verdicts[(op, *row)] = verdict
    seen = 0
    for name in shipped_names():
        for message in (part.message for part in get_atom(name).messages("pvc")):
            suffix = "tn"[not message.transpose] + "tn"[not message.vnni]
            key = (message.op, message.bits, message.count, message.width, message.height, suffix)
            seen += key in verdicts
            assert verdicts.get(key) != "r", (name, str(message))
    assert seen > 50


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("XE_2D_U8x32x24_LD_V", [16, 8]),
        ("XE_2D_U16x16x24_LD_V", [16, 8]),
        ("XE_2D_U8x32x40_LD_V", [16, 16, 8]),
    ],
)
def test_packed_rows_are_cut_at_16_elements(name: str, parts: list[int]) -> None:
    """A channel of a subgroup holds one column: PVC packs 16 columns, not 24."""
    assert [sent.message.width for sent in get_atom(name).messages("bmg")] == parts


@pytest.mark.parametrize(
    "name", ["XE_2D_U16x15x16_LD_V", "XE_2D_U8x12x2_LD_N", "XE_2D_U32x3x6_LD_V"]
)
def test_the_nearest_names_need_the_fewest_doublings(name: str) -> None:
    """Doublings of two sizes add up as their ratios multiply; another mode counts as a factor 2."""
    asked = parse_block2d_name(name)
    sizes = {2**i for i in range(7)}
    legal: dict[str, Fraction] = {}
    for rows_, cols, mode in product({*sizes, asked.rows}, {*sizes, asked.cols}, "NV"):
        other = f"XE_2D_{asked.data_type}x{rows_}x{cols}_LD_{mode}"
        if mode not in (asked.mode, "N") or rows_ * cols * asked.bits > 8 * LARGEST_BLOCK:
            continue
        if not broken_rules(parse_block2d_name(other), "bmg"):
            ratios = (Fraction(rows_, asked.rows), Fraction(cols, asked.cols))
            down, right = (max(ratio, 1 / ratio) for ratio in ratios)
            legal[other] = down * right * (1 if mode == asked.mode else 2)
    near = [legal[str(other)] for other in nearest_names(asked, "bmg", 12)]
    assert near == sorted(legal.values())[:12]
