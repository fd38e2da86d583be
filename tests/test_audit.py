"""The page that audits CUTLASS's traits, and the messages that it takes CUTLASS to send."""

from __future__ import annotations

import re

import audit_page
import pytest
from audit_rows import found, picture, sent, verdicts
from every import every
from golden import rows

import pycute_xe as cx
from pycute_xe.cutlass import get_atom, parse_block2d_name, shipped_names

MESSAGES = rows("cutlass_block2d_messages")["messages"]


@pytest.mark.long
def test_the_page_is_made_from_the_data_in_every_part() -> None:
    text = audit_page.PAGE.read_text(encoding="utf-8")
    made = [match[2] for match in audit_page.PART.finditer(text)]
    assert set(made) == set(audit_page.PARTS)
    assert text.count("<!-- made:") == text.count("<!-- end of made -->") == len(made)
    emptied = audit_page.PART.sub(r"\1\4", text)
    assert len(emptied) < len(text) / 2
    assert audit_page.page(emptied) == text, "run: python tests/audit_page.py"


@pytest.mark.long
def test_the_page_shows_every_row_and_every_name() -> None:
    text = audit_page.PAGE.read_text(encoding="utf-8")
    lines = re.findall(r"^    \| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE)
    told = [(f"XE_2D_{name}", case) for name, cases in lines for case in cases.split()]
    assert sorted(told) == sorted((v.name, v.strides) for v in verdicts())
    for name in shipped_names():
        assert name.removeprefix("XE_2D_").removesuffix("::PREFETCH") in text


def test_every_shipped_name_has_a_message_as_large_as_its_block() -> None:
    assert sorted(row["name"] for row in MESSAGES) == sorted(shipped_names())
    odd: list[str] = []
    for row in MESSAGES:
        name = parse_block2d_name(row["name"])
        bits = row["bits"] * row["count"] * row["width"] * row["height"]
        if bits != name.rows * name.cols * name.bits:
            odd.append(row["name"])
    text = audit_page.PAGE.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in odd)
    assert odd == [
        "XE_2D_Packed_U16x16x32_LD_N::PREFETCH",
        "XE_2D_TF32x16x16_LD_N::PREFETCH",
    ]


def same_message(name: str) -> bool:
    parts = get_atom(name).messages("pvc")
    return [part.message for part in parts] == [sent()[name].message]


def test_how_many_names_have_the_message_of_cutlass() -> None:
    assert (sum(map(same_message, sent())), len(sent())) == (87, 90)


@every("name", list(filter(same_message, sent())))
def test_equal_messages_fill_registers_as_the_atom_says(name: str) -> None:
    atom = get_atom(name)
    after = picture(name, sent()[name].message)
    assert after.owners(64) == atom.registers().owners(64)
    assert after.padding == atom.registers().padding


def test_a_picture_shows_each_width_of_its_own() -> None:
    text = audit_page.who("XE_2D_U16x16x16_LD_V", "row2", "2", "8", "16", "32").splitlines()
    assert [" ".join(line.split()[-8:]) for line in text if line.startswith("in ")] == [
        "0 2 4 6 8 10 12 14",
        "0 1 2 3 4 5 6 7",
        "1 3 5 7 9 11 13 15",
        "0 1 2 3 4 5 6 7",
    ]


def test_a_map_that_differs_is_found() -> None:
    name = "XE_2D_U16x8x16_LD_N"
    after, held = picture(name, sent()[name].message), [list(v) for v in get_atom(name).ownership()]
    assert found(held, after, 16) == "as said"
    held[3] = held[3][::-1]
    assert found(held, after, 16) == "other order"
    held[3], held[4] = held[4], held[3]
    assert found(held, after, 16) == "others"
    held[4][0] = (8, 0)
    assert found(held, after, 16) == "others"


def test_tiled_copies_of_cutlass_use_faithful_templates_only() -> None:
    seen = 0
    eight_bits = {"e5m2": "f8e5m2"}
    for row in rows("cute_block_2d_copy"):
        mem_type = eight_bits.get(row["mem_type"], row["mem_type"])
        op, bits = row["copy"], cx.as_numeric(mem_type)
        sizes = [op["CopyBits"], op["Height"], op["Width"]]
        if op["kind"] in ("XE_LOAD_2D", "XE_LOAD_2D_VNNI"):
            sizes.append(op["BlockWidth"])
        assert cx.make_copy_atom(getattr(cx, op["kind"])(*sizes), bits).faithful
        seen += 1
    assert seen == 96
