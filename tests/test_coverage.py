"""Every item of the five source documents is what its examples say, taught and tested."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest
from coverage_items import outcome
from every import every
from markdown.extensions.toc import slugify

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "hooks"))

from coverage_page import DOCUMENTS, page, rows, verdicts  # noqa: E402


@cache
def headings(name: str) -> set[str]:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {slugify(found.replace("`", ""), "-") for found in re.findall(r"(?m)^#+ (.*)$", prose)}


@cache
def source(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@every("name", DOCUMENTS)
def test_every_item_has_its_section_and_its_test(name: str) -> None:
    found = rows(name)
    assert [row["number"] for row in found] == [str(i + 1) for i in range(DOCUMENTS[name][1])]
    assert len({row["item"] for row in found}) == len(found)
    for row in found:
        where, _, anchor = row["page"].partition("#")
        assert not anchor or anchor in headings(where), row
        file, _, test = row["test"].partition("::")
        function, _, case = test.partition("[")
        assert f"\ndef {function}(" in source(file), row
        assert not case.endswith(".py]") or (ROOT / case.rstrip("]")).is_file(), row


def judged(row: dict[str, str]) -> list[str]:
    """The verdicts on an item, of what its examples come to when they are run."""
    mine, _, other = row["threads"].partition(",")
    gives = outcome(row["example"], mine) if row["example"] else None
    refused = outcome(row["breaks"], other or mine) if row["breaks"] else None
    texts = [found.text if found else "" for found in (gives, refused)]
    assert texts == [row["gives"], row["refused"]], row
    assert texts[0] not in ("False", "None"), row
    if gives and gives.text.startswith("refuses: "):
        assert row["note"] in gives.sources, row
    return verdicts(*texts)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.long
def test_the_verdicts_are_those_of_the_examples(name: str) -> None:
    for row in rows(name):
        found = judged(row)
        assert ("enforced" in found) == bool(row["breaks"]), row
        # Without an example, or a constraint, the row says why.
        assert row["note"] or row["breaks"], row
        assert row["note"] or ("undecided" not in found and "refused" not in found), row


def test_an_example_that_comes_to_something_else_is_seen() -> None:
    row = next(row for row in rows("lsc") if row["item"] == "lsc_load")
    assert judged(row) == ["expressed", "enforced"]
    for changed in (
        {"example": row["example"].replace("(3, 1", "(7, 1")},
        {"breaks": row["breaks"].replace("a16", "a64")},
        {"gives": "refuses: address-a16"},
    ):
        with pytest.raises(AssertionError):
            judged(row | changed)


def test_the_page_has_all_of_them() -> None:
    assert sum(count for _, count in DOCUMENTS.values()) == 237
    lines = [line for line in page().splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(lines) == 237
    assert all(line.count(" | ") == 2 for line in lines)
