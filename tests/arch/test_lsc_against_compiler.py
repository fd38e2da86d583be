"""LSC messages against Intel's graphics compiler 1.0.12504.6 (ocloc 22.43, -device pvc).

Its verdicts, its reasons and the register counts of what it compiled are in tests/data (see
igc_lsc.json.gz and igc_block2d.json.gz there). A row on which it crashed is no verdict.
"""

from __future__ import annotations

from collections import Counter

import pytest
from compiler_page import PAGE, page
from compiler_rows import RULES_OF_A_REASON, compared, table
from every import every
from sampling import sampled

from pycute_xe.arch.lsc import Block2DMessage, Message, parse

TABLES = ("load_store", "atomics", "cache_hints", "block2d_load", "block2d_store")
ROWS = [
    ("load_store", 2260, 24),
    ("atomics", 1077, 0),
    ("cache_hints", 570, 0),
    ("block2d_load", 9761, 0),
    ("block2d_store", 1602, 0),
]


@pytest.mark.parametrize(("name", "count", "crashed"), ROWS)
@pytest.mark.long
def test_the_rows_are_all_there(name: str, count: int, crashed: int) -> None:
    found = Counter(row.verdict for row in compared(name))
    assert found.total() == count
    assert found["-"] == crashed


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.long
def test_what_is_legal_here_is_not_rejected_there(name: str) -> None:
    legal = [row for row in compared(name) if not row.broken]
    assert len(legal) > 70
    assert [row for row in legal if row.verdict == "r"] == []


@every("name", TABLES)
@pytest.mark.long
def test_what_is_rejected_there_is_an_error_here(name: str) -> None:
    """But the compiler exchanges rows and columns of transposed blocks; the rules only warn."""
    for row in compared(name):
        levels = {broken.level for broken in row.broken}
        if row.verdict == "r" and "error" not in levels:
            assert isinstance(row.message, Block2DMessage)
            block = row.message.block
            assert (block.op, block.bits, block.transpose) == ("load", 32, True)
            assert 16 < block.height <= 32
            assert levels == {"warning"}


@pytest.mark.parametrize("name", TABLES[:3])
def test_every_reason_of_the_verifier_is_a_rule_that_breaks(name: str) -> None:
    tried = 0
    for row in compared(name):
        broken = {b.rule for b in row.broken if b.level == "error"}
        for reason in row.reasons:
            assert broken & RULES_OF_A_REASON[reason], (row, reason)
            tried += 1
    assert tried >= 480


def test_where_the_compiler_is_laxer() -> None:
    """What it accepts and the rules refuse or warn of, by table and rule: few, and each sourced."""
    found = {name: Counter[str]() for name in TABLES[:3]}
    for name, count in found.items():
        for row in compared(name):
            for broken in row.broken if row.verdict == "a" else ():
                assert broken.source
                assert not broken.source.startswith("Intel graphics compiler 1.0.12504.6")
                count[broken.rule] += 1
    assert found == {
        "load_store": {"address-stateful-a32": 59, "transpose-size": 49},
        "atomics": {},
        "cache_hints": {"caching-slm": 13, "caching-prefetch": 2},
    }


@pytest.mark.parametrize("name", TABLES[:3])
def test_register_counts(name: str) -> None:
    """Destination, addresses and data, as the assembly text writes them."""
    tried = 0
    for row in compared(name):
        message = row.message
        if row.verdict != "a":
            continue
        if isinstance(message, Block2DMessage):
            addresses = 1
            order = "as" if message.block.op == "store" else "da"
        else:
            addresses = message.address_registers("pvc")
            order = {"load": "da", "store": "as", "atomic": "das"}[message.operation.kind]
        counts = {
            "d": message.registers("pvc"),
            "a": addresses,
            "s": message.source_registers("pvc"),
        }
        assert tuple(counts[which] for which in order) == row.registers, row
        tried += 1
    assert tried >= 90


def test_destination_registers_of_every_compiled_block() -> None:
    """The field of the message descriptor that holds the number ends at 31."""
    compiled = [row for row in compared("block2d_load") if row.verdict == "a"]
    assert len(compiled) == 3180
    for row in compiled:
        assert min(31, row.message.registers("pvc")) == row.registers[0], row


@pytest.mark.long
def test_destination_registers_are_those_of_the_block() -> None:
    """Of all that is legal, and of more: only heights that VNNI cannot pack count differently."""
    for row in compared("block2d_load"):
        assert isinstance(row.message, Block2DMessage)
        block = row.message.block
        if not any(b.rule == "vnni-height-dwords" for b in block.broken_rules("pvc")):
            if block.vnni and block.transpose and block.width % block.per_dword:
                continue
            assert row.message.registers("pvc") == block.registers("pvc")


@pytest.mark.parametrize("name", TABLES)
def test_every_message_of_the_rows_has_a_text(name: str) -> None:
    for row in sampled(compared(name), 250):
        assert parse(str(row.message)) == row.message


@pytest.mark.long
def test_a_legal_message_may_be_any_of_the_table() -> None:
    """The comparison would pass if nothing were legal: each operation and unit is, somewhere."""
    legal = [row.message for name in TABLES for row in compared(name) if not row.broken]
    gathers = [message for message in legal if isinstance(message, Message)]
    ops = {message.op for message in gathers}
    assert len(ops) == 25
    assert {message.sfid for message in gathers} == {"ugm", "ugml", "slm"}
    assert {message.exec_size for message in gathers} == {1, 2, 4, 8, 16, 32}
    assert {message.data.size for message in gathers} == set(table("atomics")["data"])


def test_the_page_shows_these_counts() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "write it anew: PYTHONPATH=. python tests/compiler_page.py"
    assert f"{sum(count for _, count, _ in ROWS):,} messages" in text
    rejected = [row for name in TABLES[:3] for row in compared(name) if row.verdict == "r"]
    assert f"{len(rejected):,} rejected messages of the first three tables" in text
