"""What each LSC operation and each caching does, against a transcription of the vISA manual."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations

import pytest
from every import every

from pycute_xe.arch.lsc import Message, parse
from pycute_xe.arch.lsc.fields import data_registers, operations
from pycute_xe.explaining.lsc_messages import explain_lsc

# LSC_UNTYPED.md, LscSubOp and Semantics: what is done, in the manual's words, and what memory
# holds afterwards of (old, src1, src2). A signed operation is tried with numbers below 0.
MASK = 2**32 - 1
Does = Callable[[int, int, int], int]
MANUAL: dict[str, tuple[str, Does | None]] = {
    "load": ("load", None),
    "load_strided": ("load.*distance", None),
    "load_quad": ("load.*xz of the four", None),
    "store": ("store", None),
    "store_strided": ("store.*distance", None),
    "store_quad": ("store.*xy of the four", None),
    "atomic_iinc": ("increment", lambda old, _a, _b: old + 1),
    "atomic_idec": ("decrement", lambda old, _a, _b: old - 1),
    "atomic_load": ("atomically load", lambda old, _a, _b: old),
    "atomic_store": ("atomically store", lambda _old, a, _b: a),
    "atomic_iadd": ("add.*integer", lambda old, a, _b: old + a),
    "atomic_isub": ("subtract.*integer", lambda old, a, _b: old - a),
    "atomic_smin": (" signed min", lambda old, a, _b: min(old, a)),
    "atomic_smax": (" signed max", lambda old, a, _b: max(old, a)),
    "atomic_umin": ("unsigned min", lambda old, a, _b: min(old & MASK, a & MASK)),
    "atomic_umax": ("unsigned max", lambda old, a, _b: max(old & MASK, a & MASK)),
    "atomic_icas": ("compare.*swap.*integer", lambda old, a, b: b if old == a else old),
    "atomic_fadd": ("add.*float", lambda old, a, _b: old + a),
    "atomic_fsub": ("subtract.*float", lambda old, a, _b: old - a),
    "atomic_fmin": ("float.*min", lambda old, a, _b: min(old, a)),
    "atomic_fmax": ("float.*max", lambda old, a, _b: max(old, a)),
    "atomic_fcas": ("compare.*swap.*float", lambda old, a, b: b if old == a else old),
    "atomic_and": (" and", lambda old, a, _b: old & a),
    "atomic_or": (" or", lambda old, a, _b: old | a),
    "atomic_xor": ("exclusive or", lambda old, a, _b: old ^ a),
    "load_status": ("asks whether", None),
    "store_uncompressed": ("store.*uncompressed", None),
    "apndctr_atomic_add": ("^Each of 16 channels adds.*counter", lambda old, a, _b: old + a),
    "apndctr_atomic_sub": ("^Each of 16 channels subtracts.*counter", lambda old, a, _b: old - a),
}


def text_of(op: str) -> str:
    """A message of an operation, from its operands in the manual's table."""
    data = {"load_quad": "d32.xz", "store_quad": "d32.xy"}.get(op, "d32")
    if op.startswith("store"):
        return f"lsc_{op}.ugm (M1,16) flat[V2]:a64 V1:{data}"
    if op.startswith("apndctr"):
        return f"lsc_{op}.ugm (M1,16) V1:d32 bti(4) V3"
    extra = operations()[op].extra
    return f"lsc_{op}.ugm (M1,16) V1:{data} flat[V2]:a64 {' '.join(('V3', 'V4')[:extra])}"


def told(text: str) -> dict[str, str]:
    found = explain_lsc(parse(text))
    return {heading: " ".join(lines) for heading, lines in found.sections()} | {"rule": found.rule}


def test_every_operation_is_transcribed() -> None:
    assert MANUAL.keys() == {name for name, op in operations().items() if not op.block2d}


@every("op", MANUAL)
def test_what_an_operation_does(op: str) -> None:
    words, new = MANUAL[op]
    sections = told(text_of(op))
    assert re.search(words, sections["rule"]), sections["rule"]
    assert ("new value" in sections) == (new is not None)
    if new is None:
        return
    line = sections["new value"]
    assert line.endswith("; the old value goes to V1")
    assert ("keeps its value" in line) == (op == "atomic_load")
    said = re.sub(r",? (unsigned|signed|floating point)| \(.*\)", "", line.partition(";")[0])
    said = re.sub(r"(V4) if (.*), else (.*)", r"\1 if \2 else \3", said)
    mask = MASK if "unsigned" in line else -1
    for old, a, b in ((5, 3, 9), (3, 5, 9), (7, 7, 2), (-4, 3, 1), (6, -2, 8)):
        values = {"old": old & mask, "V3": a & mask, "V4": b, "min": min, "max": max}
        assert eval(said, {"__builtins__": {}}, values) == new(old, a, b), (line, old, a, b)


def test_no_two_operations_are_told_alike() -> None:
    """Operations differ in meaning, so do their sentences; spellings of one message do not."""
    rules = {op: told(text_of(op))["rule"] for op in MANUAL}
    for first, second in combinations(rules, 2):
        assert rules[first] != rules[second], (first, second)
    texts = [text_of("load"), "lsc_load.ugm (M1,16) V1:d32x1 flat[1*V2+0]:a64"]
    assert told(texts[0]) == told(texts[1])


# LSC_UNTYPED.md, CachingL1: what each pair does in L1 and in L3, and what it applies to.
CACHING = {
    "df.df": ("both", "default", "default.*MOCS"),
    "uc.uc": ("both", "bypass", "bypass"),
    "st.uc": ("both", "streaming", "bypass"),
    "uc.ca": ("loads", "bypass", "cache"),
    "ca.uc": ("loads", "cache", "bypass"),
    "ca.ca": ("loads", "cache", "cache"),
    "st.ca": ("loads", "streaming", "cache"),
    "ri.ca": ("loads", "invalidate.*last use", "cache"),
    "uc.wb": ("stores", "bypass", "written back"),
    "wt.uc": ("stores", "written through", "bypass"),
    "wt.wb": ("stores", "written through", "written back"),
    "st.wb": ("stores", "streaming", "written back"),
    "wb.wb": ("stores", "written back", "written back"),
}
ADDRESSES = ("flat[V2]:a64", "bti(4)[V2]:a32", "ss(V8)[V2]:a32")


@every("pair", CACHING)
def test_what_a_caching_does(pair: str) -> None:
    """Nothing of a surface where the message has none, and of MOCS in L3 alone."""
    applies, first, third = CACHING[pair]
    texts = [f"lsc_load.ugm.{pair} (M1,32) V1:d32 {at}" for at in ADDRESSES]
    texts += [f"lsc_store.ugm.{pair} (M1,32) {at} V1:d32" for at in ADDRESSES]
    block = "flat[V1,V2,V3,V4,V5,V6]"
    texts.append(f"lsc_load_block2d.ugm.{pair} V9:d16.1x16x8nn {block}")
    for text in texts:
        said = told(text)["caching"]
        level1, _, level3 = said.partition(" L3 ")
        assert re.search(first, level1), said
        assert re.search(third, level3), said
        assert "MOCS" not in level1
        assert "surface" not in said
        legal = applies == "both" or (applies == "stores") == ("store" in text)
        refused = {rule.rule for rule in parse(text).check("pvc")}
        assert (not refused & {"caching-load", "caching-store"}) == legal


@pytest.mark.parametrize(("data", "registers"), [("d32x2", 1), ("d64x2", 2), ("d64.xz", 2)])
@pytest.mark.parametrize("channels", [1, 4, 8, 16])
def test_where_components_begin(data: str, registers: int, channels: int) -> None:
    """A component has room for 16 channels: of d64, two registers even for one channel."""
    op = "load_quad" if "." in data else "load"
    text = f"lsc_{op}.ugm (M1,{channels}) V1:{data} flat[V2]:a64"
    message = parse(text)
    assert isinstance(message, Message)
    assert data_registers(message.data, channels, "bmg") == 2 * registers
    assert re.search(rf"{registers} registers? for each", told(text)["data"])
