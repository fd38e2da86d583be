"""DPAS text: vISA and assembly, both ways; what is broken, and what would be legal."""

from __future__ import annotations

import pytest
from every import every
from hypothesis import given, strategies as st

from pycute_xe.arch.dpas import Dpas, DpasMessage, Register, dpas_types, parse
from pycute_xe.errors import CoordError, CuteError, DTypeError, InputError, ShapeError, TargetError

V = [Register(f"V{i}") for i in range(1, 5)]
PRECISIONS = ["bf", "hf", "tf32", *(f"{s}{b}" for s in "su" for b in (8, 4, 2, 1))]
PRECISIONS += ["bf8", "hf8", "e2m1"]
MASKS = [f"M{i}{end}" for i in range(1, 9) for end in ("", "_NM")]

names = st.from_regex(r"%?[A-Za-z_][A-Za-z_0-9]{0,8}", fullmatch=True).filter(
    lambda name: name not in ("null", "%null", "V0")
)
registers = st.builds(Register, names, st.integers(0, 64).map(lambda n: 8 * n))


@st.composite
def messages(draw: st.DrawFn) -> DpasMessage:
    kinds = st.sampled_from(["f", "bf", "hf", "d", "ud", "w", "uw", "df"])
    typed = draw(st.booleans())
    return DpasMessage(
        draw(st.sampled_from(PRECISIONS)),
        draw(st.sampled_from(PRECISIONS)),
        draw(registers),
        draw(st.none() | registers),
        draw(registers),
        draw(registers),
        repeat=draw(st.integers(0, 12)),
        depth=draw(st.sampled_from([1, 2, 4, 8])),
        exec_size=draw(st.sampled_from([1, 8, 16, 32])),
        exec_mask=draw(st.sampled_from(MASKS)),
        dst_type=draw(kinds) if typed else None,
        src0_type=draw(kinds) if typed else None,
    )


@given(messages())
def test_what_is_printed_parses_back(message: DpasMessage) -> None:
    if message.src0 is None and message.dst_type:
        assert "null" in str(message)
    assert parse(str(message)) == message


@given(messages(), st.sampled_from(["pvc", "bmg", "lnl", "ptl"]))
def test_the_nearest_message_is_legal(message: DpasMessage, target: str) -> None:
    try:
        near = message.nearest(target)
    except DTypeError:
        assert any(b.rule.split("-")[-1] in RULES_OF_TYPES for b in message.check(target))
        return
    assert near.check(target) == ()
    assert near == message or message.check(target)


RULES_OF_TYPES = {"pair", "bit", "fp8", "fp4", "dst", "src0"}


@every("types", dpas_types(), ids="-".join)
@pytest.mark.long
def test_every_instruction_is_a_legal_message(types: tuple[str, str, str, str]) -> None:
    spelled = {"f32": "f", "bf16": "bf", "f16": "hf", "s32": "d", "u32": "ud"}
    spelled |= {"f8e5m2": "bf8", "f8e4m3": "hf8", "f4e2m1": "e2m1"}
    target = "cri" if types[1][:2] in ("f8", "f4") else "pvc"
    d, a, b, c = (spelled.get(t, t) for t in types)
    for m in range(1, 9):
        message = DpasMessage(b, a, *V, repeat=m, dst_type=d, src0_type=c)
        assert message.check(target) == ()
        assert message.instruction() == Dpas(m, *types)
        text = str(DpasMessage(b, a, *V, repeat=m))
        assert text.startswith(f"dpas.{b}.{a}.8.{m} (M1, 16) ")
        assert parse(text).instruction(types[0], types[3]) == Dpas(m, *types)


@pytest.mark.parametrize(
    "text",
    [  # the manual's examples, operands filled in
        "DPAS.u4.s8.8.8  (16) V1.0 V2.0 V3.0 V4(0,0)",
        "DPAS.bf.bf.8.8  (16) V1.0 V2.0 V3.0 V4(0,0)",
        "DPAS.hf.hf.8.8  (16) V1.0 V2.0 V3.0 V4(0,0)",
    ],
)
def test_examples_of_the_manual(text: str) -> None:
    message = parse(text)
    assert message.check("pvc") == ()
    kinds = text.split(".")[1:3]
    assert str(message) == f"dpas.{kinds[0]}.{kinds[1]}.8.8 (M1, 16) V1.0 V2.0 V3.0 V4(0,0)"


def test_operands_and_their_offsets() -> None:
    """The compiler's own test: rows 8 to 15 of A start in register 4 of its variable."""
    message = parse("dpas.bf.bf.8.8 (M1, 16) V40.512 acc.256 V32.1024 V33(4,8)")
    assert message.dst == Register("V40", 512)
    assert message.src0 == Register("acc", 256)
    assert message.src1 == Register("V32", 1024)
    assert message.src2 == Register("V33", 4 * 64 + 8 * 4)


@every("null", ["null", "%null", "V0", "null.0", "%null.0", "V0.0"])
def test_spellings_of_the_null_operand(null: str) -> None:
    message = parse(f"dpas.hf.hf.8.8 (M1,16) V1.0 {null} V3.0 V4(0,0)")
    assert message.src0 is None
    assert str(message) == "dpas.hf.hf.8.8 (M1, 16) V1.0 %null.0 V3.0 V4(0,0)"


@every(
    ("text", "column", "says"),
    [
        ("dpass.bf.bf.8.8", 1, "expected dpas"),
        ("dpas.bf.xf.8.8 (M1, 16) V1.0 V2.0 V3.0 V4(0,0)", 9, "unknown precision"),
        ("dpas.bf.bf.8 (M1, 16) V1.0 V2.0 V3.0 V4(0,0)", 12, "expected a depth and a dot"),
        ("dpas.bf.bf.8.8.sat (M1, 16) V1.0 V2.0 V3.0 V4(0,0)", 15, "no modifier, saturation"),
        ("dpas.bf.bf.8.8 (M9, 16) V1.0 V2.0 V3.0 V4(0,0)", 16, "expected (mask, size)"),
        ("dpas.bf.bf.8.8 (M1, 16) null V2.0 V3.0 V4(0,0)", 25, "dst cannot be null"),
        ("dpas.bf.bf.8.8 (M1, 16) V1.0 V2.0 V0 V4(0,0)", 35, "src1 cannot be null"),
        ("dpas.bf.bf.8.8 (M1, 16) V1.0 V2.0 V3.0 V4.2", 40, "src2 starts at a dword"),
        ("dpas.bf.bf.8.8 (M1, 16) V1.0 V2.0 V3.0 7", 40, "expected src2"),
        ("dpas.bf.bf.8.8 (M1, 16) V1.0 V2.0 V3.0 V4(0,0) V5.0", 48, "ends here"),
        ("  (P1) dpas.bf.bf.8.8 (M1, 16) V1.0 V2.0 V3.0 V4(0,0)", 3, "no predicate"),
        ("dpasw.bf.bf.8.8 (M1, 16) V1.0 V2.0 V3.0 V4(0,0)", 1, "no target from PVC on"),
        ("bdpas.bf.bf.8.8 (M1, 16) V1.0 V2.0 V3.0 V4(0,0)", 1, "after Xe3"),
        ("dpas.8x8 (16|M2) r3:f r11:f r19:bf r27.0:bf", 15, "channels start at"),
        ("dpas.8x8 (16|M0) r3:f r11:f r19:x r27.0:bf", 33, "unknown precision"),
        ("dpas.8x8 (16|M0) r3 r11:f r19:bf r27.0:bf", 18, "expected dst"),
    ],
)
def test_errors_point_at_the_column(text: str, column: int, says: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.condition.startswith(f"column {column}: ")
    assert says in caught.value.condition


def test_all_broken_rules_are_listed_with_their_sources() -> None:
    text = "dpas.bf.hf.4.8 (M1, 8) V1.8 V2.0 V3.32 V4(0,2)"
    broken = parse(text).check("pvc")
    assert [b.rule for b in broken] == ["pair", "depth-8", "exec-size-16", "dst-grf", "src1-grf"]
    assert all(b.source for b in broken)


def test_a_of_8x8_starts_at_a_register_from_xe2_on() -> None:
    message = parse("dpas.bf.bf.8.8 (M1, 16) V1.0 V2.0 V3.0 V4(0,8)")
    assert message.check("pvc") == ()
    assert [(b.rule, b.level) for b in message.check("bmg")] == [("src2-grf-8x8", "warning")]
    assert parse("dpas.bf.bf.8.4 (M1, 16) V1.0 V2.0 V3.0 V4(0,8)").check("bmg") == ()


# A row has 16 elements of 4 bytes (f, d) or of 2 (bf, hf).
@every(
    ("of_a", "kind", "row"),
    [("bf", "f", 64), ("bf", "bf", 32), ("hf", "f", 64), ("hf", "hf", 32), ("s8", "d", 64)],
)
@every(("operand", "name"), [(0, "dst"), (1, "src0")])
def test_dst_and_src0_start_at_rows(
    of_a: str, kind: str, row: int, operand: int, name: str
) -> None:
    def said(offset: int) -> list[tuple[str, str]]:
        at = [Register(v.name, offset * (i == operand)) for i, v in enumerate(V)]
        message = DpasMessage(of_a, of_a, *at, dst_type=kind, src0_type=kind)
        return [(b.level, b.rule) for b in message.check("bmg")]

    inside, whole = ("error", f"{name}-row"), ("error", f"{name}-grf")
    assert said(0) == said(64) == []
    assert said(row // 2) == [inside, whole]
    assert said(row) == ([whole] if row < 64 else [])


@pytest.mark.parametrize(("b", "a", "row"), [("s4", "s8", 32), ("s8", "s4", 16), ("s4", "s4", 32)])
def test_a_row_of_a_is_as_deep_as_the_wider_operand_allows(b: str, a: str, row: int) -> None:
    """K is 32 as soon as one operand has 8 bits, and 64 when both have 4."""
    for offset, broken in ((row, []), (row // 2, ["src2-row"])):
        message = DpasMessage(b, a, *V[:3], Register("V4", offset), repeat=4)
        assert [rule.rule for rule in message.check("pvc")] == broken


def test_registers_of_the_destination() -> None:
    message = DpasMessage("bf", "bf", *V)
    assert [message.registers("pvc", d) for d in (None, "f32", "bf16")] == [8, 8, 4]
    assert parse("dpas.8x3 (16|M0) r3:bf r11:f r19:bf r27.0:bf").registers("bmg") == 2


@every(
    ("build", "error"),
    [
        (lambda: Register("1V"), CoordError),
        (lambda: Register("V0"), CoordError),
        (lambda: Register("V1", -1), CoordError),
        (lambda: DpasMessage("f32", "bf", *V), DTypeError),
        (lambda: DpasMessage("bf", "bf", *V, dst_type="f"), DTypeError),
        (lambda: DpasMessage("bf", "bf", *V, repeat="8"), ShapeError),
        (lambda: DpasMessage("bf", "bf", *V, exec_mask="M9"), ShapeError),
        (lambda: DpasMessage("bf", "bf", "V1", *V[1:]), CoordError),
        (lambda: DpasMessage("bf", "bf", None, *V[1:]), CoordError),
        (lambda: parse(""), InputError),
        (lambda: DpasMessage("bf", "bf", *V[:3], Register("V4", 2)), CoordError),
        (
            lambda: DpasMessage("bf", "bf", Register("r1", 2), *V[1:], dst_type="f", src0_type="f"),
            CoordError,
        ),
        (lambda: DpasMessage("bf", "bf", *V, depth=4).instruction(), ShapeError),
        (lambda: DpasMessage("bf", "hf", *V).instruction(), DTypeError),
        (lambda: DpasMessage("bf", "bf", *V).check("dg2"), CuteError),
    ],
)
def test_what_no_text_says_is_refused(build: object, error: type[CuteError]) -> None:
    with pytest.raises(error):
        build()


def test_a_machine_known_in_part_is_refused_with_the_reason() -> None:
    for ask in (DpasMessage("bf", "bf", *V).check, DpasMessage("bf", "bf", *V).nearest):
        with pytest.raises(TargetError, match=r"target=dg2.*8 lanes.*vISA manual"):
            ask("dg2")
