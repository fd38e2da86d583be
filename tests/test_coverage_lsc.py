"""The list of what the LSC manual says: complete, and what it points at is there."""

from __future__ import annotations

import csv
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def listed() -> list[dict[str, str]]:
    with (ROOT / "tests/data/coverage_lsc.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    headings = re.findall(r"^#+ (.*)$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
    words = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"[-\s]+", "-", word) for word in words}


def test_all_items_are_there() -> None:
    rows = listed()
    assert [int(row["number"]) for row in rows] == list(range(1, 81))
    assert {row["expressed"] for row in rows} == {"yes", "refused"}
    assert {row["enforced"] for row in rows} == {"yes", "not a constraint"}
    assert len({row["item"] for row in rows}) == 80


def test_pages_and_tests_exist() -> None:
    """Each section is a heading of its page, and each test a function of its file."""
    for row in listed():
        page, _, anchor = row["page"].partition("#")
        assert not anchor or anchor in anchors(page), row
        file, _, name = row["test"].partition("::")
        assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8"), row
