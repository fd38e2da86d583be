"""LSC messages explained: each section against what the message and the machine say."""

from __future__ import annotations

import re

import pytest
from every import every
from hypothesis import given, strategies as st
from lsc_strategies import block_messages, messages

import pycute_xe as cx
from pycute_xe.arch.lsc import Address, Block2DMessage, DataType, Message, encode, parse
from pycute_xe.errors import InputError, TargetError
from pycute_xe.explaining.lsc_messages import explain_lsc

TARGETS = st.sampled_from(["pvc", "bmg", "lnl", "ptl"])


def told(text: str, target: str = "bmg") -> dict[str, str]:
    found = explain_lsc(parse(text), target)
    return {heading: " ".join(lines) for heading, lines in found.sections()}


@given(messages() | block_messages(), TARGETS)
def test_every_message_is_explained(message: Message | Block2DMessage, target: str) -> None:
    found = cx.explain(message, target)
    assert found.result is message
    assert found.title == str(message)
    text = str(found)
    unwrapped = re.sub(r"\n +", "", text)
    assert all(len(line) <= max(100, len(found.title)) for line in text.splitlines())
    broken = message.check(target)
    for rule in broken:
        assert f"({rule.rule})" in unwrapped
    assert (f"legal on {target}" in text) == (not broken)


@every(
    ("text", "heading", "said"),
    [
        ("lsc_load.ugm (M2,16) V1:d32 flat[V2]:a64", "channels", "channels 4 to 19"),
        ("lsc_load.ugm (M1_NM,1) V1:d32 flat[V2]:a64", "channels", "channel 0 .* on or off"),
        ("(!P1) lsc_load.ugm (M1,16) V1:d32 flat[V2]:a64", "channels", "bit of P1 is clear"),
        ("(P1.all) lsc_load.ugm (M1,16) V1:d32 flat[V2]:a64", "channels", "every bit of P1 is set"),
        (
            "lsc_load.ugm (M1,16) V1:d32 bti(4)[8*V2-0x10]:a32",
            "address",
            r"surface bti\(4\) \+ 8·V2\[n\] - 16 bytes, in 32 bits",
        ),
        ("lsc_load_strided.ugm (M1,16) V1:d32x2 flat[V2]:a64", "address", r"V2 \+ n·8 bytes"),
        ("lsc_load_strided.ugm (M1,16) V1:d32 flat[V2,0]:a64", "address", r"V2 \+ n·0 bytes"),
        ("lsc_load.ugm (M1,1) V1:d32x8t flat[V2]:a64", "address", "channel n: V2 bytes"),
        ("lsc_load.ugm (M1,1) V1:d32x8t flat[V2]:a64", "data", "side by side too"),
        ("lsc_load_quad.ugm (M1,16) V1:d32.xw flat[V2]:a64", "data", "xw, yz left out"),
        ("lsc_load.ugm (M1,16) V1:d16u32h flat[V2]:a64", "data", "upper part of 32"),
        ("lsc_load.ugm.st.ca (M1,16) V1:d32 flat[V2]:a64", "caching", "L1 streaming.*L3 cached"),
        ("lsc_load.ugm.ri.ca (M1,16) V1:d32 flat[V2]:a64", "caching", "last use"),
        ("lsc_load.ugm (M1,16) V1:d32 flat[V2]:a64", "caching", "MOCS"),
        ("lsc_store.ugm.wt.wb (M1,16) flat[V2]:a64 V1:d32", "caching", "through.*back"),
        ("lsc_load.slm (M1,16) V1:d32 flat[V2]:a32", "caching", "not cached"),
        ("lsc_atomic_isub.slm (M1,16) V1:d32 flat[V2]:a32 V3", "new value", "old - V3; .* V1"),
        ("lsc_atomic_icas.slm (M1,16) V0:d32 flat[V2]:a32 V3 V4", "new value", "V4 if old == V3"),
        ("lsc_apndctr_atomic_add.ugm (M1,16) V1:d32 bti(4) V3", "address", "counter"),
        ("lsc_load.ugm (M1,16) V1:d32 flat[V2]:a64", "send", "0x04100580"),
        ("lsc_load.ugm.wb.wb (M1,16) V1:d32 flat[V2]:a64", "send", "none: .* no number"),
        ("lsc_load.ugm (M1,16) V1:d32 bti(V9.64)[V2]:a32", "binary", "none: .* not bytes"),
        ("lsc_load.slm (M1,16) V1:d32 flat[V2]:a64", "rules", "error on bmg: .*address-a64-slm"),
        (
            "lsc_load_block2d.ugm V9:d8.8x8nt flat[64,63,7,127,-4,2]",
            "surface",
            "64 bytes wide, 8 rows",
        ),
        ("lsc_load_block2d.ugm V9:d8.8x8nt flat[64,63,7,V1,-4,2]", "surface", r"V1 \+ 1 bytes"),
        ("lsc_load_block2d.ugm V9:d8.8x8nt flat[64,63,7,127,-4,2]", "data", "4 rows packed"),
    ],
)
def test_what_is_said(text: str, heading: str, said: str) -> None:
    assert re.search(said, told(text)[heading]), told(text)[heading]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (
            "lsc_load.slm (M1,16) V1:d32x2 flat[V2]:a32",
            "Each of 16 channels loads 2 elements of 32 bits from shared local memory.",
        ),
        (
            "lsc_load.ugm (M1,1) V0:d64 flat[V2]:a64",
            "One channel prefetches 1 element of 64 bits from global memory.",
        ),
        (
            "lsc_load_block2d.ugm V9:d16.2x16x32nn flat[V1,V2,V3,V4,V5,V6]",
            "Loads 2 blocks side by side, each 32 rows of 16 elements of 16 bits.",
        ),
        (
            "lsc_load_status.ugm (M1,16) V1:d32 flat[V2]:a64",
            "Each of 16 channels asks whether memory is behind its address: one bit each.",
        ),
    ],
)
def test_the_sentence(text: str, rule: str) -> None:
    assert cx.explain(parse(text)).rule == rule


def test_the_bytes_are_those_of_encode() -> None:
    load = parse("lsc_load.ugm (M1,16) V1:d32 flat[V2]:a64")
    shown = told(str(load))["binary"].split(":", 1)[1]
    assert bytes.fromhex(shown) == encode(load).code


@every(
    ("text", "target", "said"),
    [
        ("lsc_load.ugm (M1,16) V1:d32 flat[V2]:a64", "pvc", "size is 16, should be 32"),
        ("lsc_load.ugm (M1,32) V1:d32 flat[V2]:a64", "pvc", None),
        ("lsc_load.ugm (M1,16) V1:d32 flat[V2]:a64", "bmg", None),
        ("lsc_load.ugm (M1,1) V1:d32x8t flat[V2]:a64", "pvc", None),
        ("lsc_load_quad.ugm (M1,16) V1:d32.xy flat[V2]:a64", "bmg", "mask is xy, should be"),
        ("lsc_load_quad.ugm (M1,16) V1:d32.xw flat[V2]:a64", "bmg", None),
    ],
)
def test_advice(text: str, target: str, said: str | None) -> None:
    """Exec_size and the quads of the manual's description; no rule refuses any of these."""
    found = parse(text)
    assert isinstance(found, Message)
    assert not found.check(target)
    assert bool(found.advice(target)) == (said is not None)
    if said is None:
        assert "advice" not in told(text, target)
    else:
        assert said in told(text, target)["advice"]
        assert "LSC_UNTYPED.md" in told(text, target)["advice"]


def test_what_cannot_be_explained() -> None:
    load = Message("load", "ugm", 16, DataType("d32"), Address("flat", 64, "V1"), "V2")
    with pytest.raises(TargetError, match="mtl"):
        cx.explain(load, "mtl")
    with pytest.raises(InputError, match="takes a target"):
        cx.explain(load, "bmg", "A")
    with pytest.raises(InputError, match="DataType cannot be explained alone"):
        cx.explain(load.data)
    assert str(cx.explain(str(load))) == str(cx.explain(load))
