"""vISA text of LSC messages: both ways, both spellings, and errors that point at the column.

The examples are those of the vISA manual, LSC_UNTYPED.md.
"""

from __future__ import annotations

import re

import pytest
from every import every
from hypothesis import given, strategies as st
from lsc_strategies import block_messages, messages

from pycute_xe.arch import Block2D
from pycute_xe.arch.lsc import Address, Block2DMessage, DataType, Message, parse
from pycute_xe.errors import InputError

SURFACE = ("VSURF_BASE", "VSURF_W", "V_SURF_H", "SURF_P")
BLOCK_AT = "flat[VSURF_BASE,VSURF_W,V_SURF_H,SURF_P,OFF_X,OFF_Y]"
FLAT = Address("flat", 64, "V12")
FLAT_32 = Address("flat", 32, "V12")
BTI = Address("bti", 32, "V12", surface=4)
D32 = DataType("d32")


def block(block: Block2D) -> Block2DMessage:
    stored = block.op == "store"
    names = {"src1": "VDATA"} if stored else {"dst": "VDATA"}
    return Block2DMessage(block, surface=SURFACE, x="OFF_X", y="OFF_Y", **names)


EXAMPLES = [
    (
        "lsc_load.ugm.uc.uc (M1,32) V13:d32    flat[V12+0x100]:a64",
        Message(
            "load", "ugm", 32, D32, Address("flat", 64, "V12", offset=256), "V13", l1="uc", l3="uc"
        ),
    ),
    (
        "lsc_load.slm   (M1,32) V13:d32x4  flat[V12]:a16",
        Message("load", "slm", 32, DataType("d32", 4), Address("flat", 16, "V12"), "V13"),
    ),
    (
        "lsc_load.ugm  (M1,32) null:d32  flat[V12]:a64",
        Message("load", "ugm", 32, D32, FLAT),
    ),
    (
        "lsc_load.ugm  (M1,32) V0:d32    flat[V12]:a64 // V0 is the null register in vISA",
        Message("load", "ugm", 32, D32, FLAT),
    ),
    (
        "lsc_load.ugm          (M1_NM,1)  V13:d32x16t bti(0x4)[V12]:a32",
        Message("load", "ugm", 1, DataType("d32", 16, True), BTI, "V13", exec_mask="M1_NM"),
    ),
    (
        "lsc_load_strided.ugm  (M1_NM,16) V13:d32      bti(0x4)[V12]:a32",
        Message("load_strided", "ugm", 16, D32, BTI, "V13", exec_mask="M1_NM"),
    ),
    (
        "lsc_load_strided.ugm   (M1,32) V13:d32  flat[V12]:a32",
        Message("load_strided", "ugm", 32, D32, FLAT_32, "V13"),
    ),
    (
        "lsc_load_strided.ugm   (M1,32) V13:d32  flat[V12,0x100]:a32",
        Message("load_strided", "ugm", 32, D32, Address("flat", 32, "V12", pitch=256), "V13"),
    ),
    (
        "lsc_load_strided.slm   (M1,32) V13:d32  flat[V12,0x0]:a32",
        Message("load_strided", "slm", 32, D32, Address("flat", 32, "V12", pitch=0), "V13"),
    ),
    (
        "lsc_store.ugm     (M1,32) flat[V12]:a64  V13:d32",
        Message("store", "ugm", 32, D32, FLAT, src1="V13"),
    ),
    (
        "lsc_store.slm     (M1,32) flat[V12]:a32  V13:d32x4",
        Message("store", "slm", 32, DataType("d32", 4), FLAT_32, src1="V13"),
    ),
    (
        f"lsc_load_block2d.ugm  (M1_NM,1)  VDATA:d8.2x16x32nn    {BLOCK_AT}",
        block(Block2D("load", 8, height=32, width=16, count=2)),
    ),
    (
        f"lsc_load_block2d.ugm  (M1_NM,1) VDATA:d16.1x32x16tn   {BLOCK_AT}",
        block(Block2D("load", 16, height=16, width=32, transpose=True)),
    ),
    (
        f"lsc_load_block2d.ugm  (M1_NM,1) VDATA:d16.1x16x32nt   {BLOCK_AT}",
        block(Block2D("load", 16, height=32, width=16, vnni=True)),
    ),
    (
        f"lsc_store_block2d.ugm (M1_NM,1)  {BLOCK_AT}  VDATA:d16.16x32nn",
        block(Block2D("store", 16, height=32, width=16)),
    ),
    (
        "lsc_apndctr_atomic_add.ugm  (M1,32) VDATA:d32 bti(0xA0) V10:d32",
        Message(
            "apndctr_atomic_add",
            "ugm",
            32,
            D32,
            Address("bti", 32, None, surface=160),
            "VDATA",
            "V10",
        ),
    ),
]


@every(("text", "message"), EXAMPLES)
def test_the_examples_of_the_manual(text: str, message: Message) -> None:
    assert parse(text) == message
    assert parse(str(message)) == message


@given(messages() | block_messages())
def test_what_is_printed_is_read_back(message: Message | Block2DMessage) -> None:
    assert parse(str(message)) == message


@given(messages() | block_messages(), st.data())
def test_blanks_and_comments_do_not_matter(
    message: Message | Block2DMessage, data: st.DataObject
) -> None:
    blank = data.draw(st.sampled_from(["  ", "\t", " // a comment, d32\n ", "\n"]))
    text = re.sub(r"[(),\[\]*:;<>]| ", lambda mark: blank + mark[0] + blank, str(message))
    assert parse(blank + text + blank) == message


@every(
    ("spelling", "text"),
    [
        ("V13:d8c32 flat[V12]:a64", "V13:d8u32 flat[V12]:a64"),
        ("V13:d16c32 flat[V12]:a64", "V13:d16u32 flat[V12]:a64"),
        ("V13:d16c32h flat[V12]:a64", "V13:d16u32h flat[V12]:a64"),
        ("V13:u8c32 flat[V12]:a64", "V13:d8u32 flat[V12]:a64"),
        ("V13:u32x2 flat[V12]:a64", "V13:d32x2 flat[V12]:a64"),
        ("V13:d32x1 flat[V12]:a64", "V13:d32 flat[V12]:a64"),
        ("V13:d32x16t flat[V12]:a64", "V13:d32x16t flat[V12]:a64"),
        ("V13:d32t flat[V12]:a64", "V13:d32x1t flat[V12]:a64"),
        ("V13:d32 [V12]:a64", "V13:d32 flat[V12]:a64"),
        ("V13:d32 flat[V12+256]:a64", "V13:d32 flat[V12+0x100]:a64"),
        ("V13:d32 flat[4*V12-0x10]:a64", "V13:d32 flat[4*V12-0x10]:a64"),
        ("V13:d32 bti(4:ud)[V12]:a32", "V13:d32 bti(0x4)[V12]:a32"),
        ("V13:d32 bss(V9 (0, 1))[V12]:a32", "V13:d32 bss(V9(0,1))[V12]:a32"),
        ("V13:d32 ss(V9(0,0)<0;1,0>)[V12]:a32", "V13:d32 ss(V9(0,0)<0;1,0>)[V12]:a32"),
        ("%null:d32 flat[V12]:a64", "%null:d32 flat[V12]:a64"),
        ("null.0:d32 flat[V12]:a64", "%null:d32 flat[V12]:a64"),
        ("%%null:d32 flat[%0]:a64", "%null:d32 flat[%0]:a64"),
    ],
)
def test_other_spellings(spelling: str, text: str) -> None:
    head = "lsc_load.ugm (M1,16) "
    assert str(parse(head + spelling)) == head + text


@every(
    ("spelling", "text"),
    [
        ("lsc_load_quad.slm (M1,16) V1:d32 . xzw flat[V2]:a32", "V1:d32.xzw flat[V2]:a32"),
        ("lsc_load_quad.slm (M1,16) V1:d16c32.w flat[V2]:a32", "V1:d16u32.w flat[V2]:a32"),
        ("lsc_atomic_iinc.slm (M1,16) V1:d32 flat[V2]:a32", "V1:d32 flat[V2]:a32 %null %null"),
        ("lsc_atomic_iadd.slm (M1,16) V0:d32 flat[V2]:a32 V3", "%null:d32 flat[V2]:a32 V3 %null"),
        ("lsc_apndctr_atomic_sub.ugm (M1,16) V1:d32 bss(V2) V3", "V1:d32 bss(V2) V3:d32"),
    ],
)
def test_operands_that_may_be_left_out(spelling: str, text: str) -> None:
    assert str(parse(spelling)).split(") ", 1)[1] == text


def test_a_block_says_less_if_it_can() -> None:
    at = "flat[V1,V2,V3,V4,V5,V6]"
    full = parse(f"lsc_load_block2d.ugm (M1,1) V9:d32.1x8x8nn {at}")
    assert parse(f"lsc_load_block2d.ugm (1) V9:d32.8x8 {at}") == full
    assert parse(f"lsc_load_block2d.ugm V9:u32.8x8n {at}") == full
    inline = parse("lsc_load_block2d.ugm (M1_NM,1) V9:d16.1x16x16t flat[%0,%1,%2,%3,%4,%5]")
    assert str(inline).endswith("V9:d16.1x16x16tn flat[%0,%1,%2,%3,%4,%5]")
    prefetch = parse(f"lsc_load_block2d.ugm (M1,1) %null:d32.1x8x8nn {at}")
    assert isinstance(prefetch, Block2DMessage)
    assert prefetch.block.op == "prefetch"


def test_an_execution_size_left_out() -> None:
    """All channels of the machine, or one if a message is transposed (vISA manual, Exec_size)."""
    sizes = {
        "lsc_store.ugm flat[V12]:a64 V13:d32": 32,
        "lsc_load_strided.ugm V13:d32 flat[V12]:a64": 32,
        "lsc_load.ugm V13:d32x16t flat[V12]:a64": 1,
    }
    for text, size in sizes.items():
        message = parse(text)
        assert isinstance(message, Message)
        assert (message.exec_size, message.exec_mask) == (size, "M1")


def test_a_predicate() -> None:
    text = "lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64"
    for spelling in ("P1", "!P1", "! P1", " P1.any "):
        message = parse(f"({spelling}) {text}")
        assert message.predicate == spelling.replace(" ", "")


@every(
    ("text", "column", "condition"),
    [
        ("lsc_load.ugm (M1,16) V13:d33 flat[V12]:a64", 26, "expected a data size"),
        ("lsc_load.ugm (M1,16) V13:d32x5 flat[V12]:a64", 30, "unknown vector size"),
        ("lsc_load.ugm (M1,16) V13:d32 flat[V12]:a48", 40, "expected an address size"),
        ("lsc_lode.ugm (M1,16) V13:d32 flat[V12]:a64", 1, "unknown operation"),
        ("lsc_load.tgm (M1,16) V13:d32 flat[V12]:a64", 10, "expected a unit"),
        ("lsc_load.ugm.cc (M1,16) V13:d32 flat[V12]:a64", 14, "expected a caching"),
        ("lsc_load.ugm (M9,16) V13:d32 flat[V12]:a64", 15, "expected an execution mask"),
        ("lsc_load.ugm (M1,64) V13:d32 flat[V12]:a64", 18, "expected an execution size"),
        ("lsc_load.ugm (M1,16) V13:d32 flat(1)[V12]:a64", 34, "expected an address"),
        ("lsc_load.ugm (M1,16) V13:d32 flat[V0]:a64", 35, "the null register holds no address"),
        ("lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64 V14", 44, "expected the end"),
        ("lsc_load.ugm (M1,16) V13:d32 flat[V12,4]:a64", 38, "only strided operations"),
        ("lsc_load_quad.ugm (M1,16) V13:d32.xx flat[V12]:a64", 35, "malformed channel mask"),
        ("lsc_store_quad.ugm (M1,16) flat[V12]:a64 V13:d32", 46, "expected a data size"),
        ("lsc_apndctr_atomic_add.ugm (M1,16) V1:d32 flat[V2] V3", 47, "expected a register"),
        ("lsc_apndctr_atomic_add.ugm (M1,16) V1:d32 bti(1) V3:d64", 50, "the destination is d32"),
        ("lsc_apndctr_atomic_add.ugm (M1,16) V1:d32 V3:d32", 43, "expected a surface"),
        (
            "lsc_load_block2d.ugm (M1,16) V1:d8.1x8x8nn flat[V1,V2,V3,V4,V5,V6]",
            26,
            "block-2D messages have execution size 1",
        ),
        (
            "lsc_load_block2d.ugm (M1,1) V1:d8.1x8x8nn flat[V1,V2,V3,V4,V5]",
            62,
            "expected a comma and the y",
        ),
        ("lsc_load_block2d.ugm (M1,1) V1:d8.0x8x8nn flat[V1,V2,V3,V4,V5,V6]", 35, "count is 0"),
        ("lsc_load_block2d.ugm (M1,1) V1:d16.8x0nn flat[V1,V2,V3,V4,V5,V6]", 38, "height is 0"),
        ("lsc_load_block2d.ugm (M1,1) V1:d8.70000x8 flat[V1,V2,V3,V4,V5,V6]", 35, "cannot hold"),
        (
            "lsc_load_block2d.ugm (M1,1) V1:d8.8x8 flat[V1,V2,V3,V4,0x80000000,V6]",
            56,
            "cannot hold",
        ),
        ("lsc_load_block2d.ugm (M1,1) V1:d8.8x8 flat[V1,V2,-1,V4,V5,V6]", 50, "cannot hold"),
        ("lsc_store_block2d.ugm (M1,1) flat[V1,V2,V3,V4,V5,V6] V0:d8.8x8", 54, "a store reads"),
        ("lsc_load.ugm (M1,16) V2:d32 flat[V1+0x100000000]:a64", 37, "cannot hold"),
        ("lsc_load.ugm (M1,16) V2:d32 flat[70000*V1]:a64", 34, "cannot hold"),
        ("lsc_load.ugm (M1,16) V2:d32 bti(-1)[V1]:a32", 33, "cannot hold"),
        ("lsc_load_strided.ugm (M1,16) V2:d32 flat[V1,0x100000000]:a64", 45, "cannot hold"),
        ("", 1, "expected an operation"),
    ],
)
def test_an_error_points_at_the_column(text: str, column: int, condition: str) -> None:
    with pytest.raises(InputError, match=f"column {column}: .*{condition}") as refused:
        parse(text)
    line, caret = str(refused.value).split("\n")[-2:]
    assert line.removeprefix("    ") == text
    assert caret.index("^") - 4 == column - 1


@every(
    "text",
    [
        None,
        7,
        b"lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64",
        f"lsc_load.ugm (M1,16) V13:d32 flat[V12+{'9' * 5000}]:a64",
        f"lsc_load.ugm (M1,16) V13:d32x{'9' * 5000} flat[V12]:a64",
        f"lsc_load_block2d.ugm (M1,1) V1:d8.1x{'9' * 5000}x8nn flat[V1,V2,V3,V4,V5,V6]",
        "lsc_load_block2d.ugm (M1,1) V1:d8.1x8x8nn flat[V1,V2,V3,V4,-V5,V6]",
        "lsc_load.ugm (M1,16) V13:d32 bti(-1)[V12]:a32",
    ],
)
def test_what_is_no_message(text: str) -> None:
    with pytest.raises(InputError):
        parse(text)


def test_an_error_in_several_lines_names_the_line() -> None:
    with pytest.raises(InputError, match="line 2, column 9: expected a data size") as refused:
        parse("lsc_load.ugm (M1,16) // a gather\n    V13:d3\n    flat[V12]:a64")
    assert str(refused.value).endswith("\n        V13:d3\n            ^")


@given(messages() | block_messages(), st.data())
def test_nothing_but_an_input_error(message: Message | Block2DMessage, data: st.DataObject) -> None:
    """Whatever a text lacks or has too much, the refusal is one that says where."""
    text = str(message)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from(["", " ", "]", "0", "x", ":", "é", "999999999999999999999"]))
    try:
        found = parse(text[:place] + other + text[place + 1 :])
    except InputError as refused:
        found, said = message, str(refused)
    else:
        said = "column 1: no error"
    assert re.search(r"column \d+: ", said)
    assert parse(str(found)) == found
