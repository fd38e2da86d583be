"""LSC messages as bytes and back: the vISA manual's Format and code tables, transcribed again."""

from __future__ import annotations

import re

import pytest
from every import every
from hypothesis import assume, given, strategies as st
from lsc_strategies import block_messages, messages

from pycute_xe.arch.lsc import Block2DMessage, Message, decode, encode, parse, sub_operations
from pycute_xe.errors import InputError, ShapeError

AnyMessage = Message | Block2DMessage
LOAD = "lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64"
BLOCK = "lsc_load_block2d.ugm V9:d16.2x16x32nn flat[V1,V2,V3,V4,V5,V6]"

FORMATS = {
    "lsc_apndctr_atomic_sub.ugm (M1,16) V1:d32 bti(4) V2": (
        "Opcode LscSubOp Exec_size Pred LscSFID CachingL1 CachingL3 AddrType DataSize DataOrder"
        " DataElemsPerAddr ChMask Surface DstData Src0Data"
    ),
    LOAD: (
        "Opcode LscSubOp Exec_size Pred LscSFID CachingL1 CachingL3 AddrType AddrScale"
        " AddrImmOffset AddrSize DataSize DataOrder DataElemsPerAddr ChMask Surface DstData"
        " Src0Addrs Src1Data Src2Data"
    ),
    BLOCK: (
        "Opcode LscSubOp Exec_size Pred LscSFID CachingL1 CachingL3 DataSize DataOrder Blocks"
        " BlockWidth BlockHeight VNNI DstData SurfaceBase SurfaceWidth SurfaceHeight SurfacePitch"
        " Src0AddrX Src0AddrY Src1Data"
    ),
    "lsc_store_strided.slm (M1,16) flat[V12,4]:a32 V13:d32": (
        "Opcode LscSubOp Exec_size Pred LscSFID CachingL1 CachingL3 AddrType AddrScale"
        " AddrImmOffset AddrSize DataSize DataOrder DataElemsPerAddr ChMask Surface DstData"
        " Src0AddrBase Src0AddrPitch Src1Data"
    ),
}
BYTES = {  # written out by hand from the tables of the manual, fields divided by blanks
    "lsc_load.ugm.uc.uc (M1,32) V13:d32 flat[V12+0x100]:a64": (
        "89 00 05 0000 00 01 01 01 0100 00010000 03 03 01 01 00 050000000000"
        " 0d0000000000 0c0000000000 000000000000 000000000000"
    ),
    "(!P3.all) lsc_store_quad.slm (M2_NM,16) flat[4*V12-0x10]:a16 V13.64:d32.xyz": (
        "89 06 94 03c0 03 00 00 01 0400 f0ffffff 01 03 01 00 07 050000000000"
        " 000000000000 0c0000000000 0d0000004000 000000000000"
    ),
    "lsc_load_strided.ugm.ca.ca (M1,8) V13:d16u32 bti(0x4)[V12,0x20]:a32": (
        "89 01 03 0000 00 02 02 04 0100 00000000 02 06 01 01 00 050004000000"
        " 0d0000000000 0c0000000000 050020000000 000000000000"
    ),
    "lsc_atomic_icas.ugm.uc.wb (M1,1) %null:d64 bss(V9(0,1)<0;1,0>)[V12]:a32 V1 V2": (
        "89 12 00 0000 00 01 03 02 0100 00000000 02 04 01 01 00 000900000000012101"
        " 000000000000 0c0000000000 010000000000 020000000000"
    ),
    "lsc_load_block2d.ugm.st.uc (M1_NM,1) V9:d8.2x16x32nt flat[0x1000,0x3f,V3,0x7f,-0x2,V6]": (
        "89 03 80 0000 00 05 01 01 01 02 1000 2000 01 090000000000 050b0010000000000000"
        " 05003f000000 000300000000000000 05007f000000 0501feffffff 000600000000000000 000000000000"
    ),
    "lsc_apndctr_atomic_add.ugm (M1,32) V40:d32 ss(0x7) V10": (
        "89 28 05 0000 00 00 00 03 03 01 01 00 050007000000 280000000000 0a0000000000"
    ),
}
SUB_OPERATIONS = """
    load 0x00 load_strided 0x01 load_quad 0x02 load_block2d 0x03 store 0x04 store_strided 0x05
    store_quad 0x06 store_block2d 0x07 atomic_iinc 0x08 atomic_idec 0x09 atomic_load 0x0A
    atomic_store 0x0B atomic_iadd 0x0C atomic_isub 0x0D atomic_smin 0x0E atomic_smax 0x0F
    atomic_umin 0x10 atomic_umax 0x11 atomic_icas 0x12 atomic_fadd 0x13 atomic_fsub 0x14
    atomic_fmin 0x15 atomic_fmax 0x16 atomic_fcas 0x17 atomic_and 0x18 atomic_or 0x19
    atomic_xor 0x1A load_status 0x1B store_uncompressed 0x1C apndctr_atomic_add 0x28
    apndctr_atomic_sub 0x29"""


def plain(message: AnyMessage) -> AnyMessage:
    """The message with the positions (0,0) written that its bytes cannot tell from none."""
    return parse(re.sub(r"\(0,0\)(?!<)", "", re.sub(r"(?<=[A-Za-z0-9])<", "(0,0)<", str(message))))


def no_field_holds(message: AnyMessage) -> bool:
    """Whether an operand that is a number has an offset in bytes; then encode must refuse."""
    if isinstance(message, Block2DMessage):
        scalars = (*message.surface, message.x, message.y)
    else:
        scalars = (message.address.surface, message.address.pitch)
    return any(isinstance(value, str) and "." in value for value in scalars)


@given(messages() | block_messages())
def test_what_is_encoded_is_decoded(message: AnyMessage) -> None:
    if no_field_holds(message):
        with pytest.raises(ShapeError, match="counts rows and columns"):
            encode(message)
        return
    encoded = encode(message)
    found = decode(encoded)
    assert found == decode(encoded.code, encoded.names)
    assert plain(found) == plain(message)
    assert encode(found).code == encoded.code


@every("text", BYTES)
def test_the_bytes(text: str) -> None:
    message = parse(text)
    assert encode(message).code == bytes.fromhex(BYTES[text])
    assert decode(bytes.fromhex(BYTES[text])) == message


@pytest.mark.parametrize("text", FORMATS)
def test_the_fields_stand_in_the_order_of_the_document(text: str) -> None:
    encoded = encode(parse(text))
    assert [field.name for field in encoded.fields] == FORMATS[text].split()
    assert [line.split()[0] for line in str(encoded).splitlines()] == FORMATS[text].split()


def test_sub_operations() -> None:
    words = SUB_OPERATIONS.split()
    assert dict(sub_operations()) == {
        name: int(number, 16) for name, number in zip(words[::2], words[1::2], strict=True)
    }


def codes_of(field: str, texts: list[str]) -> list[int]:
    return [encode(parse(text))[field].code[0] for text in texts]


def test_codes_of_fields() -> None:
    """0x0 … of CachingL1, AddrType, AddrSize, DataSize, DataElemsPerAddr, Exec_size."""
    cachings = ("df", "uc", "ca", "wb", "wt", "st", "ri")
    assert codes_of("CachingL1", [LOAD.replace("ugm", f"ugm.{c}.uc") for c in cachings]) == [
        *range(7)
    ]
    assert codes_of("CachingL3", [LOAD.replace("ugm", f"ugm.uc.{c}") for c in cachings]) == [
        *range(7)
    ]
    models = ("flat", "bss(1)", "ss(1)", "bti(1)")
    assert codes_of("AddrType", [LOAD.replace("flat", m) for m in models]) == [1, 2, 3, 4]
    assert codes_of("AddrSize", [LOAD.replace("64", a) for a in ("16", "32", "64")]) == [1, 2, 3]
    sizes = ("d8", "d16", "d32", "d64", "d8u32", "d16u32", "d16u32h")
    assert codes_of("DataSize", [LOAD.replace("d32", d) for d in sizes]) == [*range(1, 8)]
    vectors = (1, 2, 3, 4, 8, 16, 32, 64)
    vector_texts = [LOAD.replace("d32", f"d32x{v}") for v in vectors]
    assert codes_of("DataElemsPerAddr", vector_texts) == [*range(1, 9)]
    masks = [f"M{i}{end}" for end in ("", "_NM") for i in range(1, 9)]
    sizes = (1, 2, 4, 8, 16, 32)
    texts = [LOAD.replace("M1,16", f"{m},{s}") for m in masks for s in sizes]
    assert codes_of("Exec_size", texts) == [m << 4 | s for m in range(16) for s in range(6)]
    assert codes_of("DataOrder", [LOAD, LOAD.replace("d32", "d32x8t")]) == [1, 2]
    units = ("ugm", "ugml", "slm")
    assert codes_of("LscSFID", [LOAD.replace("ugm", unit) for unit in units]) == [0, 1, 3]


def test_an_encoding_is_a_value() -> None:
    first, second = (encode(parse(LOAD)) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert first != encode(parse(BLOCK))


def test_names_get_places_of_their_own() -> None:
    """Places of V<n> and P<n> are their numbers; other names take the next that are free."""
    text = "(P0) lsc_load.ugm (M1,16) VDATA:d32 ss(V32)[x.64]:a32"
    encoded = encode(parse(text))
    assert dict(encoded.names.variables) == {"V32": 32, "VDATA": 33, "x": 34}
    assert dict(encoded.names.predicates) == {"P0": 1}
    assert str(decode(encoded)) == text
    assert str(decode(encoded.code)) == text.replace("P0", "P1").replace("VDATA", "V33").replace(
        "x.64", "V34.64"
    )


@every(
    ("text", "condition"),
    [
        ("lsc_load.ugm (M1,16) V13.70000:d32 flat[V12]:a64", "at most 65535"),
        ("lsc_load.ugm (M1,16) V13:d32 ss(V9(256,0))[V12]:a32", "at most 255"),
        ("lsc_load.ugm (M1,16) V13:d32 ss(V9(0,0)<3;1,0>)[V12]:a32", "no number 3"),
        ("lsc_load.ugm (M1,16) V13:d32 ss(V9.64)[V12]:a32", "counts rows and columns"),
        ("lsc_load_strided.ugm (M1,16) V13:d32 flat[V12,V0]:a32", "the null register"),
    ],
)
def test_what_no_field_holds_is_refused(text: str, condition: str) -> None:
    with pytest.raises(ShapeError, match=condition):
        encode(parse(text))
    with pytest.raises(ShapeError, match="must be a Message"):
        encode(text)


@every(
    ("place", "value", "condition"),
    [
        (0, 0x8B, "the opcode is 0x8b"),
        (1, 0x1D, "unknown sub-operation 0x1d"),
        (2, 0x06, "exec_size is 6"),
        (3, b"\1\x10", "bit 12 of a predicate"),
        (4, 0x20, "bit 12 of a predicate"),
        (3, b"\1\x60", "combine is 3"),
        (5, 2, "LscSFID is 2"),
        (6, 7, "Caching is 7"),
        (8, 5, "AddrType is 5"),
        (9, 0, "scale=0"),
        (15, 0, "AddrSize is 0"),
        (16, 8, "DataSize is 8"),
        (17, 0, "DataOrder is 0"),
        (18, 9, "DataElemsPerAddr is 9"),
        (18, 0, "must be one of the two"),
        (19, 16, "ChMask is 16"),
        (19, 3, "must be one of the two"),
        (20, 3, "operand_class is 3"),
        (21, 7, "type is 7"),
        (22, 1, "flat addresses have no surface"),
        (32, 0, "need one"),
        (38, 5, "has no data operand"),
        (42, 1, "the null register has an offset"),
    ],
)
def test_bytes_without_a_meaning_are_refused(
    place: int, value: int | bytes, condition: str
) -> None:
    wrong = value if isinstance(value, bytes) else bytes([value])
    good = encode(parse(LOAD)).code
    with pytest.raises(InputError, match=condition):
        decode(good[:place] + wrong + good[place + len(wrong) :])


@pytest.mark.parametrize("change", [b"", b"\x00"])
def test_bytes_missing_or_left_over(change: bytes) -> None:
    whole = encode(parse(BLOCK)).code
    wrong = whole + change if change else whole[:-1]
    with pytest.raises(InputError, match=r"bytes (end|follow)"):
        decode(wrong)


@given(messages() | block_messages(), st.data())
def test_no_other_bytes_are_taken_for_the_same(message: AnyMessage, data: st.DataObject) -> None:
    """Whatever byte is changed: refused, or another message, whose bytes they are."""
    assume(not no_field_holds(message))
    code = bytearray(encode(message).code)
    place = data.draw(st.integers(0, len(code) - 1))
    code[place] ^= data.draw(st.integers(1, 255))
    try:
        found = decode(bytes(code))
    except InputError:
        return
    assert decode(encode(found)) == found


def test_a_form_without_a_field_says_which_it_has() -> None:
    encoded = encode(parse(LOAD))
    assert encoded["Src0Addrs"].meaning == "V12"
    with pytest.raises(ShapeError, match=r"unknown field.*Src0Addrs, Src1Data, Src2Data"):
        encoded["BlockWidth"]
