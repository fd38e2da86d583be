"""Message descriptors against those of 5,072 compiled messages, and against hand-made numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from compiler_rows import Row, compared
from every import every
from golden import rows
from hypothesis import assume, given, strategies as st
from lsc_strategies import block_messages, messages

from pycute_xe.arch.lsc import (
    Block2DMessage,
    Message,
    decode_descriptor,
    descriptor_of,
    encode_descriptor,
    parse,
)
from pycute_xe.arch.target import targets
from pycute_xe.errors import InputError, LegalityError, ShapeError

COUNTS = {
    "load_store": 882,
    "atomics": 358,
    "cache_hints": 90,
    "block2d_load": 3180,
    "block2d_store": 562,
}
LOAD = "lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64"


def compiled(name: str) -> list[tuple[Row, int]]:
    accepted = [row for row in compared(name) if row.verdict == "a"]
    return list(zip(accepted, rows("igc_descriptors")[name], strict=True))


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
@pytest.mark.long
def test_every_descriptor_of_the_compiler_decodes_to_its_message(name: str, count: int) -> None:
    """Each field against the message as it was written, lengths against the assembly's."""
    pairs = compiled(name)
    assert len(pairs) == count
    for row, desc in pairs:
        message, said = row.message, decode_descriptor(desc)
        assert (said.l1, said.l3) == (message.l1, message.l3), row
        if isinstance(message, Block2DMessage):
            block = message.block
            role = "store" if block.op == "store" else "load"
            assert said.op == f"{role}_block2d", row
            assert said.data.size == f"d{block.bits}", row
            assert (said.data.transpose, said.vnni) == (block.transpose, block.vnni), row
            assert (said.model, said.address_bits, said.address_registers) == ("flat", 64, 1), row
            if name == "block2d_load":
                assert said.dst_registers == row.registers[0], row
        else:
            assert (said.op, said.data) == (message.op, message.data), row
            assert (said.model, said.address_bits) == (
                message.address.model,
                message.address.bits,
            ), row
            places = {"load": (0, 1), "store": (None, 0), "atomic": (0, 1)}
            dst, address = places[message.operation.kind]
            assert said.dst_registers == (0 if dst is None else row.registers[dst]), row
            assert said.address_registers == row.registers[address], row


@pytest.mark.parametrize("name", COUNTS)
def test_every_message_is_encoded_as_the_compiler_does(name: str) -> None:
    for row, desc in compiled(name):
        assert encode_descriptor(row.message, "pvc").desc == desc, row


@given(messages() | block_messages(), st.sampled_from(sorted(targets())))
def test_what_is_encoded_is_decoded(message: Message | Block2DMessage, target: str) -> None:
    said = descriptor_of(message, target)
    if isinstance(message, Message):
        assume(said.surface is None or said.surface <= 255)
        assume(said.address_registers <= 15)
    if target != "pvc" and (message.l1, message.l3) == ("ri", "ca"):
        return
    try:
        words = encode_descriptor(message, target)
    except LegalityError:
        assert any(b.rule.startswith("caching") for b in message.check(target))
        return
    assert decode_descriptor(*words, target, message.sfid) == said
    assert encode_descriptor(said, target) == words


@every(
    ("text", "target", "desc", "ext"),
    [
        # 16 addresses of 64 bits in two registers, one register back, d32, a64
        (LOAD, "pvc", 2 << 25 | 1 << 20 | 2 << 9 | 3 << 7, 0),
        # the binding table entry in the highest byte; model 3; 16 elements are code 5
        (
            "lsc_load.ugm (M1_NM,1) V13:d32x16t bti(0x4)[V12]:a32",
            "pvc",
            3 << 29 | 1 << 25 | 1 << 20 | 1 << 15 | 5 << 12 | 2 << 9 | 2 << 7,
            4 << 24,
        ),
        # cachings begin one bit lower from Xe2 on
        (LOAD.replace("ugm", "ugm.st.ca"), "pvc", 0x4100580 | 6 << 17, 0),
        (LOAD.replace("ugm", "ugm.st.ca"), "bmg", 0x4100580 | 12 << 16, 0),
        (LOAD.replace("ugm", "ugm.ri.ri"), "bmg", 0x4100580 | 14 << 16, 0),
        # offsets: instructions before the send on pvc; 20 bits on Xe2, multiples of 4
        (LOAD.replace("V12", "V12-0x10"), "pvc", 0x4100580, 0),
        (LOAD.replace("V12", "V12-0x10"), "bmg", 0x4100580, 0xFFFF0000),
        (LOAD.replace("V12", "V12+0x7fffc"), "lnl", 0x4100580, 0x7FFFC000),
        (LOAD.replace("V12", "V12+0x80000"), "lnl", 0x4100580, 0),
        (LOAD.replace("V12", "V12+2"), "lnl", 0x4100580, 0),
        (
            "lsc_load.ugm (M1,16) V13:d32 bti(9)[V12-4]:a32",
            "ptl",
            3 << 29 | 1 << 25 | 1 << 20 | 2 << 9 | 2 << 7,
            9 << 24 | 0xFFC << 12,
        ),
        # a register holds the surface, and the extended descriptor with it
        (
            "lsc_load.ugm (M1,16) V13:d32 bss(V9)[V12+8]:a32",
            "bmg",
            1 << 29 | 1 << 25 | 1 << 20 | 2 << 9 | 2 << 7,
            0,
        ),
        # xzw are bits 0, 2 and 3
        (
            "lsc_load_quad.slm (M1,16) V13:d32.xzw flat[V12]:a16",
            "bmg",
            1 << 25 | 3 << 20 | 13 << 12 | 2 << 9 | 1 << 7 | 2,
            0,
        ),
        (
            "lsc_apndctr_atomic_add.ugm (M1,16) V1:d32 bti(0xA0) V10",
            "bmg",
            3 << 29 | 1 << 25 | 1 << 20 | 2 << 9 | 0x28,
            0xA0 << 24,
        ),
        # 32 registers are written as 31
        (
            "lsc_load_block2d.ugm V9:d16.2x16x32nt flat[V1,V2,V3,V4,V5,V6]",
            "bmg",
            1 << 25 | 31 << 20 | 1 << 9 | 1 << 7 | 3,
            0,
        ),
    ],
)
def test_the_bits(text: str, target: str, desc: int, ext: int) -> None:
    assert encode_descriptor(parse(text), target) == (desc, ext)
    assert decode_descriptor(desc, ext, target, parse(text).sfid) == descriptor_of(
        parse(text), target
    )


def test_read_invalidate_has_one_number_from_xe2_on() -> None:
    both = [
        encode_descriptor(parse(LOAD.replace("ugm", f"ugm.{pair}")), "bmg")
        for pair in ("ri.ca", "ri.ri")
    ]
    assert both[0] == both[1]
    found = decode_descriptor(*both[0], "bmg")
    assert (found.l1, found.l3) == ("ri", "ri")


@every(
    ("desc", "ext", "condition"),
    [
        (0x1F, 0, "the operation 0x1f"),
        (0x4100580 | 1 << 6, 0, "bits outside"),
        (0x4100580 | 1 << 31, 0, "bits outside"),
        (0x4100580 | 1 << 16, 0, "bits outside"),
        (0x4100580, 4, "bits outside"),
        (0x4100400, 0, "addr_size 0"),
        (0x4100580 | 7 << 9, 0, "data_size 7"),
        (0x2, 0, "no channel"),
        (0x410058C | 3 << 17, 0, "caching 3 has no meaning for atomic_iadd"),
    ],
)
def test_bits_without_a_meaning_are_refused(desc: int, ext: int, condition: str) -> None:
    with pytest.raises(InputError, match=condition):
        decode_descriptor(desc, ext)


def test_what_no_number_stands_for_is_refused() -> None:
    with pytest.raises(LegalityError, match=r"no number for caching wb\.wb"):
        encode_descriptor(parse(LOAD.replace("ugm", "ugm.wb.wb")))
    with pytest.raises(ShapeError, match="surface is 256, and the descriptor has 8 bits"):
        encode_descriptor(parse(LOAD.replace("flat", "bti(256)").replace("a64", "a32")))


@every(
    ("changed", "error"),
    [
        ({"op": "fence"}, ShapeError),
        ({"model": "arg"}, ShapeError),
        ({"address_bits": 48}, ShapeError),
        ({"data": "d32"}, InputError),
        ({"dst_registers": "1"}, InputError),
        ({"dst_registers": 32}, ShapeError),
        ({"address_registers": -1}, ShapeError),
    ],
)
def test_a_descriptor_that_no_send_has(changed: dict[str, object], error: type[Exception]) -> None:
    said = descriptor_of(parse(LOAD), "pvc")
    with pytest.raises(error):
        encode_descriptor(replace(said, **changed), "pvc")


def test_arguments_of_other_kinds() -> None:
    with pytest.raises(InputError, match="desc"):
        decode_descriptor("0x4100580")
    with pytest.raises(InputError, match="message"):
        encode_descriptor(LOAD)
