"""DPAS rows against Intel's compiler, which checks less than the hardware asks."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from every import every
from golden import rows

from pycute_xe.arch.dpas import DpasMessage, Register, parse
from pycute_xe.arch.target import Broken

# What is refused though the compiler accepts it, by the first rule that says so.
REFUSED = {
    "depth-8": 11,
    "int-dst": 7,
    "tf32-dst": 5,
    "int-src0": 4,
    "bf-dst": 2,
    "hf-dst": 2,
    "pair": 2,
    "bf-src0": 1,
    "hf-src0": 1,
    "tf32-src0": 1,
}


def table() -> list[dict[str, Any]]:
    """The compiler's rows. Declaring A and B as F or HF is no part of the instruction's text."""
    data = rows("igc_dpas")
    found = [dict(zip(data["fields"], row, strict=True)) for row in data["rows"]]
    return [row for row in found if row["src_decl"] in ("UD", "D")]


def message_of(row: dict[str, Any]) -> DpasMessage:
    src0 = Register("r11") if row["acc"] else None
    return DpasMessage(
        row["src1"],
        row["src2"],
        Register("r3"),
        src0,
        Register("r19"),
        Register("r27"),
        repeat=row["repeat"],
        depth=row["depth"],
        exec_size=row["exec"],
        exec_mask=row["mask"],
        dst_type=row["dst"],
        src0_type=row["acc"] or row["dst"],
    )


def broken(row: dict[str, Any]) -> tuple[Broken, ...]:
    return message_of(row).check("pvc")


def test_what_is_legal_is_compiled_as_it_is_written() -> None:
    """Not one legal row is rejected, compiled into something else, or left without an answer."""
    legal = [row for row in table() if not broken(row)]
    assert Counter(row["verdict"] for row in legal) == {"kept": 116}


def test_what_is_refused_though_accepted_has_a_rule_with_a_source() -> None:
    refused = [broken(row) for row in table() if row["verdict"] == "kept" and broken(row)]
    assert Counter(found[0].rule for found in refused) == REFUSED
    assert all(rule.source and rule.level == "error" for found in refused for rule in found)


def test_what_the_verifier_rejects_is_refused() -> None:
    rejected = [row for row in table() if row["verdict"] == "verifier"]
    assert len(rejected) == 85
    assert all(broken(row) for row in rejected)


@every("row", [r for r in table() if r["verdict"] == "kept"], ids=lambda r: r["asm"])
def test_assembly_is_read_and_written_as_the_compiler_prints_it(row: dict[str, Any]) -> None:
    message = parse(row["asm"])
    assert str(message) == row["asm"]
    same = message_of(row)
    fields = ("src1_type", "src2_type", "dst_type", "src0_type", "repeat", "depth", "exec_mask")
    assert [getattr(message, f) for f in fields] == [getattr(same, f) for f in fields]
    assert (message.src0 is None) == (row["acc"] is None)


def test_the_destination_has_the_registers_the_compiler_leaves_it() -> None:
    """Registers are given out in order: the next operand starts where the destination ends."""
    checked = 0
    for row in table():
        if row["verdict"] != "kept" or broken(row):
            continue
        message = parse(row["asm"])
        following = message.src0 or message.src1
        room = int(following.name[1:]) - int(message.dst.name[1:])
        assert message.registers("pvc") <= room
        checked += message.registers("pvc") == room
    assert checked > 50


DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_pages_count_as_the_tests_do() -> None:
    page = (DOCS / "dpas.md").read_text(encoding="utf-8").split("## Against Intel's compiler")[1]
    counted = re.findall(r"^\| (`.*`) \| (\d+) \|", page, re.MULTILINE)
    rules = [(re.findall(r"`([^`]+)`", names), int(count)) for names, count in counted]
    assert all(sum(REFUSED[name] for name in names) == count for names, count in rules)
    assert sorted(name for names, _ in rules for name in names) == sorted(REFUSED)
    verdicts = Counter((row["verdict"], not broken(row)) for row in table())
    told = (DOCS / "compiler.md").read_text(encoding="utf-8").split("## DPAS")[1]
    lines = {
        name: [int(n) for n in numbers]
        for name, *numbers in re.findall(
            r"^\| (\w.*) \| (\d+) \| (\d+) \| (\d+) \|", told, re.MULTILINE
        )
    }
    groups = [("kept",), ("verifier",), ("changed", "undecodable"), ("parser", "timeout")]
    for line, words in zip(lines.values(), groups, strict=True):
        legal, refused = (sum(verdicts[word, ok] for word in words) for ok in (True, False))
        assert line == [legal + refused, legal, refused]
