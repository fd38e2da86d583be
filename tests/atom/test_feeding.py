"""Which copies feed which MMA: the machine runs the messages, then DPAS on what they left."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import pytest
from every import every
from fed_products import (
    is_free_on_the_machine,
    messages,
    operand_block,
    product_is_right_after_slots,
    same_work_items,
)
from sampling import sampled

import pycute_xe as cx
from pycute_xe.comparing import Feed
from pycute_xe.cutlass import get_atom, shipped_names
from pycute_xe.errors import CuteError, LegalityError, ShapeError

BF16 = "XE_DPAS_TT<8,f32,bf16>"
S8 = "XE_8x16x32_S32S8S8S32_TT"
TF32 = "XE_8x16x8_F32TF32TF32F32_TT"
WIDTHS = (8, 16, 32)
MMAS = (
    BF16,
    "XE_DPAS_TT<1,f32,f16>",
    "XE_DPAS_TT<4,bf16,bf16,bf16,bf16>",
    TF32,
    "XE_DPAS_TT<3,f32,tf32>",
    S8,
    "XE_DPAS_TT<8,s32,u8,s4,s32>",
    "XE_DPAS_TT<2,s32,u4>",
)
TEMPLATES = (
    cx.XE_LOAD_2D(8, 8, 32),
    cx.XE_LOAD_2D(8, 8, 64, 32),
    cx.XE_LOAD_2D(8, 32, 16),
    cx.XE_LOAD_2D(8, 32, 48),
    cx.XE_LOAD_2D(16, 8, 16),
    cx.XE_LOAD_2D(16, 16, 24),
    cx.XE_LOAD_2D(16, 32, 32, 16),
    cx.XE_LOAD_2D(16, 32, 32, 8),
    cx.XE_LOAD_2D(16, 2, 16),
    cx.XE_LOAD_2D(32, 8, 8),
    cx.XE_LOAD_2D(32, 8, 12),
    cx.XE_LOAD_2D(32, 24, 16),
    cx.XE_LOAD_2D(32, 4, 16, 8),
    cx.XE_LOAD_2D(64, 8, 8),
    cx.XE_LOAD_2D_VNNI(8, 32, 16),
    cx.XE_LOAD_2D_VNNI(8, 32, 32, 16),
    cx.XE_LOAD_2D_VNNI(16, 16, 32, 16),
    cx.XE_LOAD_2D_VNNI(16, 32, 16, 8),
    cx.XE_LOAD_2D_TRANSPOSE(32, 16, 8),
    cx.XE_LOAD_2D_TRANSPOSE(32, 32, 4),
    cx.XE_LOAD_2D_TRANSPOSE(32, 8, 8),
    cx.XE_LOAD_2D_TRANSPOSE(64, 8, 2),
    cx.XE_STORE_2D(8, 8, 64),
    cx.XE_STORE_2D(16, 8, 16),
    cx.XE_STORE_2D(32, 8, 16),
    cx.XE_STORE_2D(32, 3, 16),
    cx.XE_STORE_2D(64, 8, 8),
    cx.XE_PREFETCH_2D(16, 8, 32),
)
UNSHIPPED = (
    "XE_2D_U16x32x16_LD_T",
    "XE_2D_U16x12x24_LD_N",
    "XE_2D_U8x64x32_LD_V",
    "XE_2D_U32x16x16_LD_V",
    "XE_2D_U16x16x32_ST_N",
    "XE_2D_U32x16x16_ST_N",
)
COPIES: tuple[Any, ...] = (*shipped_names(), *UNSHIPPED, *TEMPLATES)


@cache
def feed_of(copy: Any, mma: str, operand: Any) -> Feed:
    return cx.feeds(copy, mma, operand)


def all_feeds(mma: str, operand: str) -> list[Feed]:
    return [feed_of(copy, mma, operand) for copy in COPIES]


pairs = pytest.mark.parametrize(("mma", "operand"), [(m, o) for m in MMAS for o in "ABCD"])


@pairs
def test_free_is_what_the_machine_multiplies_as_it_stands(mma: str, operand: str) -> None:
    possible = [feed for feed in all_feeds(mma, operand) if feed.kind != "impossible"]
    assert possible
    some = sampled(possible, 5)
    wrong = [f for f in some if (f.kind == "free") != is_free_on_the_machine(f)]
    assert list(map(str, wrong)) == []


@pairs
def test_products_are_right_after_moving_along_slots(mma: str, operand: str) -> None:
    possible = [feed for feed in all_feeds(mma, operand) if feed.kind != "impossible"]
    wrong = [f for f in sampled(possible, 6) if not product_is_right_after_slots(f)]
    assert list(map(str, wrong)) == []


@pairs
def test_impossible_ones_say_why(mma: str, operand: str) -> None:
    height, width = get_atom(mma).operand_shape(operand)
    for feed in all_feeds(mma, operand):
        if feed.kind != "impossible":
            continue
        assert (feed.tiles, feed.places, feed.slots, feed.units, feed.movement) == (
            (),
            (),
            (),
            None,
            "",
        )
        if "must be converted" in feed.reason:
            assert feed.copy.value_type.bits != feed.mma.operand_type(operand).bits
        elif "its block" in feed.reason:
            rows, cols = operand_block(feed)
            assert rows % height or cols % width
            assert ("smaller" in feed.reason) == (rows < height or cols < width)
        elif "no target takes" in feed.reason:
            assert messages(feed.copy) == ()
        else:
            way = feed.reason.split()[1]
            assert way in ("prefetch", "load", "store")
            assert way == "prefetch" or (way == "load") == (operand == "D")


@pairs
def test_work_items_of_values(mma: str, operand: str) -> None:
    for feed in all_feeds(mma, operand):
        if feed.kind == "reorder" and feed.units:
            assert feed.movement == "within work-items"
            assert same_work_items(feed, *feed.units)
            if feed.units[0] != feed.units[1]:  # one width is preferred
                assert not any(same_work_items(feed, width, width) for width in WIDTHS)
        elif feed.kind == "reorder":
            assert feed.movement == "across work-items"
            assert not any(same_work_items(feed, *units) for units in product(WIDTHS, repeat=2))


@pytest.mark.parametrize("order", ["row", "col"])
@pytest.mark.parametrize("operand", ["A", "B", "C", "D"])
@pytest.mark.parametrize("mma", [BF16, "XE_8x16x32_S32S8S8S32_TT"])
def test_either_order_in_memory(mma: str, operand: Any, order: Any) -> None:
    kinds = set()
    names = ("XE_2D_U16x16x16_LD_T", "XE_2D_U8x32x32_LD_V", "XE_2D_U32x16x8_ST_N")
    for copy in (*TEMPLATES, *names):
        feed = cx.feeds(copy, mma, operand, order)
        kinds.add(feed.kind)
        assert feed.order == order
        if feed.kind != "impossible":
            assert (feed.kind == "free") == is_free_on_the_machine(feed), str(feed)
            assert product_is_right_after_slots(feed), str(feed)
    assert len(kinds) > 1


@every(
    ("copy", "mma", "operand", "kind", "tiles"),
    [
        (cx.XE_LOAD_2D(16, 32, 32, 16), BF16, "A", "free", 8),
        (cx.XE_LOAD_2D_VNNI(16, 16, 32, 16), BF16, "B", "free", 2),
        ("XE_2D_U16x32x16_LD_V", BF16, "B", "free", 2),
        ("XE_2D_U16x32x16_LD_N", BF16, "B", "reorder", 2),
        ("XE_2D_U16x16x16_LD_T", BF16, "B", "free", 1),
        ("XE_2D_U16x16x16_LD_T", BF16, "A", "reorder", 2),
        ("XE_2D_Packed_U8x8x32_LD_N", S8, "A", "free", 1),
        ("XE_2D_U8x8x32_LD_N", S8, "A", "reorder", 1),
        ("XE_2D_U8x32x32_LD_V", S8, "B", "free", 2),
        ("XE_2D_U32x8x16_LD_N", TF32, "B", "free", 1),
        ("XE_2D_U32x8x16_LD_N", BF16, "C", "free", 1),
        ("XE_2D_U32x8x16_ST_N", BF16, "D", "free", 1),
        ("XE_2D_U16x8x16_ST_N", BF16, "D", "impossible", 0),
        ("XE_2D_U16x4x16_LD_N", BF16, "A", "impossible", 0),
    ],
)
def test_what_is_known(copy: Any, mma: str, operand: Any, kind: str, tiles: int) -> None:
    feed = feed_of(copy, mma, operand)
    assert (feed.kind, len(feed.tiles)) == (kind, tiles)


def test_shipped_copies_that_feed_bf16() -> None:
    found = {
        operand: [feed_of(name, BF16, operand) for name in shipped_names()] for operand in "ABCD"
    }
    possible = {o: sum(f.kind != "impossible" for f in feeds) for o, feeds in found.items()}
    assert possible == {"A": 31, "B": 22, "C": 9, "D": 1}
    assert {str(f.copy) for f in found["B"] if f.kind == "free"} == {
        "XE_2D_U16x16x16_LD_V",
        "XE_2D_U16x32x16_LD_V",
        "XE_2D_U16x16x32_LD_V",
        "XE_2D_U16x32x32_LD_V",
        "XE_2D_U16x16x16_LD_T",
        "XE_2D_U32x16x8_LD_T",
    }


@every(
    ("copy", "mma", "operand", "pattern", "movement"),
    [
        ("XE_2D_U16x16x16_LD_N", BF16, "B", "UV", "within work-items"),
        ("XE_2D_U16x16x16_LD_V", BF16, "A", "VU", "within work-items"),
        ("XE_2D_U16x16x16_LD_V", BF16, "B", "UU", "none"),
        (cx.XE_LOAD_2D(16, 8, 32), BF16, "A", "UU_Universal", "within work-items"),
        (cx.XE_LOAD_2D(16, 16, 32, 8), BF16, "B", "Generic", "across work-items"),
        (cx.XE_LOAD_2D(8, 32, 48), S8, "B", "", "within work-items"),
    ],
)
def test_kinds_of_reorders(copy: Any, mma: str, operand: Any, pattern: str, movement: str) -> None:
    feed = cx.feeds(copy, mma, operand)
    assert (feed.pattern, feed.movement) == (pattern, movement)


def test_rules_that_forbid_a_copy_are_quoted() -> None:
    feed = cx.feeds("XE_2D_U32x16x16_LD_V", "XE_8x16x8_F32TF32TF32F32_TT", "B")
    assert feed.kind == "impossible"
    with pytest.raises(LegalityError) as error:
        feed.copy.messages("bmg")
    assert "vnni-bits" in feed.reason
    assert error.value.condition in feed.reason


def test_values_of_another_type_are_told() -> None:
    as_f16 = cx.make_copy_atom(cx.XE_LOAD_2D(16, 8, 16), "f16")
    assert cx.feeds(as_f16, BF16, "A").reason.endswith("; bits of f16 are taken for bf16")
    assert "taken for" not in cx.feeds("XE_2D_U16x8x16_LD_N", BF16, "A").reason
    stored = cx.make_copy_atom(cx.XE_STORE_2D(32, 8, 16), "s32")
    assert cx.feeds(stored, BF16, "D").reason.endswith("; bits of f32 are taken for s32")


def test_names_carry_the_type_of_the_operand_where_they_may() -> None:
    assert cx.feeds("XE_2D_U16x8x16_LD_N", S8, "A").copy.value_type.name == "s8"
    assert cx.feeds("XE_2D_U8x32x16_LD_V", BF16, "B").copy.value_type.name == "u8"
    assert cx.feeds(cx.XE_LOAD_2D(8, 8, 32), BF16, "A").copy.value_type.name == "u8"


def test_atoms_operations_and_names_are_taken_alike() -> None:
    op, dpas = cx.XE_LOAD_2D(16, 8, 16), cx.XE_DPAS_TT(8, "f32", "bf16")
    want = cx.feeds(op, BF16, "A")
    assert cx.feeds(cx.make_copy_atom(op, "bf16"), cx.make_mma_atom(dpas), "A") == want
    assert cx.feeds(op, dpas, "A", "row") == want
    assert hash(want) == hash(cx.feeds(op, dpas, "A"))


def test_tiles_that_begin_inside_a_register_must_be_moved() -> None:
    short = "XE_DPAS_TT<1,bf16,bf16,bf16,bf16>"
    feed = cx.feeds("XE_2D_U16x2x16_ST_N", short, "D")
    assert (feed.kind, [places[0] * 2 for places in feed.places]) == ("reorder", [0, 32])
    assert [(b.level, b.rule) for b in feed.warnings] == [("error", "dst-grf")]
    # D of the second DPAS begins at the second register, 32 elements on.
    assert isinstance(feed.slots, tuple)
    assert feed.slots[:17] == (*range(16), None)
    assert feed.slots[32:] == (*range(16, 32),)
    assert "dst is 32, must be a multiple of 64" in feed.reason
    assert "Dst is GRF aligned" in feed.reason
    loaded = cx.feeds("XE_2D_U16x2x16_LD_N", short, "C")
    assert (loaded.kind, loaded.moves) == ("reorder", 2)
    assert cx.feeds("XE_2D_U16x1x16_ST_N", short, "D").warnings == ()
    assert cx.feeds("XE_2D_U16x2x16_ST_N", short.replace("<1", "<2"), "D").warnings == ()


@pairs
def test_free_operands_warn_where_a_result_starts_inside_a_register(mma: str, operand: str) -> None:
    for feed in all_feeds(mma, operand):
        bits = feed.mma.operand_type(feed.operand).bits
        starts = [places[0] * bits // 8 for places in feed.places]
        warns = feed.kind == "free" and operand in "CD" and any(at % 64 for at in starts)
        assert bool(feed.warnings) == warns, str(feed)
        assert ("legal by" in feed.reason) == warns


@pytest.mark.long
def test_it_prints_in_100_columns() -> None:
    texts = [str(feed_of(c, mma, operand)) for c in COPIES for mma in MMAS for operand in "ABD"]
    assert max(len(line) for text in texts for line in text.split("\n")[1:]) <= 100
    assert any(text.count("\n") > 1 for text in texts)


@every(
    ("arguments", "error", "says"),
    [
        ((BF16, BF16, "A"), CuteError, "MmaAtom is not a block-2D copy atom"),
        (("XE_2D_U16x8x16_LD_N", "XE_2D_U16x8x16_LD_N", "A"), CuteError, "is not an MMA atom"),
        ((7, BF16, "A"), CuteError, "int is not a block-2D copy atom"),
        (("XE_2D_U16x8x16_LD_N", BF16, "E"), ShapeError, "feeds.*U16x8x16.*unknown operand"),
        (("XE_2D_U16x8x16_LD_N", BF16, "a"), ShapeError, "feeds.*U16x8x16.*unknown operand"),
        (("XE_2D_U16x8x16_LD_N", BF16, ["A"]), ShapeError, "feeds.*U16x8x16.*unknown operand"),
        (("XE_2D_U16x8x16_LD_N", BF16, None), ShapeError, "feeds.*U16x8x16.*unknown operand"),
        (("XE_2D_U16x8x16_LD_N", BF16, "A", "diagonal"), ShapeError, "unknown order"),
        ((cx.XE_DPAS_TT(8, "f32", "bf16"), BF16, "A"), CuteError, "Dpas is not a block-2D copy"),
        (("XE_2D_U16x8x16_LD", BF16, "A"), CuteError, "did you mean"),
    ],
)
def test_refusals(arguments: tuple[Any, ...], error: type[CuteError], says: str) -> None:
    with pytest.raises(error, match=says):
        cx.feeds(*arguments)


def _spellings(name: str) -> tuple[Any, ...]:
    """A copy by its name, its atom without a type, and what a template is made of."""
    atom = get_atom(name)
    return (name, atom, atom.op) if isinstance(atom, cx.CopyAtom) else (name, atom)


@pytest.mark.parametrize("operand", ["A", "B", "C", "D"])
def test_all_spellings_of_a_copy_get_one_answer(operand: Any) -> None:
    """An atom without a type of its own is no other copy than its name and its operation."""
    for name in map(str, COPIES):
        found = [cx.feeds(copy, BF16, operand) for copy in _spellings(name)]
        assert len({(feed.kind, feed.places, feed.reason) for feed in found}) == 1, name


def test_a_type_of_its_own_is_kept() -> None:
    """Floats of 32 bits are not pairs of bf16; bits of 32 are what they are wanted as."""
    op = cx.XE_LOAD_2D_TRANSPOSE(32, 16, 8)
    assert cx.feeds(cx.make_copy_atom(op, "f32"), BF16, "B").kind == "impossible"
    assert cx.feeds(cx.make_copy_atom(op, "u32"), BF16, "B").kind == "free"
