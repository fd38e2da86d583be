"""Every item of the three ESIMD documents has its page and its test, and both exist."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

ROOT = Path(__file__).resolve().parents[2]
ITEMS = {"esimd": 41, "slm": 40, "dpas": 20}


def rows(name: str) -> list[dict[str, str]]:
    path = ROOT / "tests" / "data" / f"coverage_{name}.tsv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def headings(page: str) -> set[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {slugify(found.replace("`", ""), "-") for found in re.findall(r"(?m)^#+ (.*)$", prose)}


@pytest.mark.parametrize("name", ITEMS)
def test_every_item_is_expressed_enforced_and_on_a_page(name: str) -> None:
    found = rows(name)
    assert [row["number"] for row in found] == [str(i + 1) for i in range(ITEMS[name])]
    for row in found:
        assert re.match(r"yes$|refused: \w", row["expressed"]), row
        assert re.match(r"yes|not a constraint$", row["enforced"]), row
        page, _, anchor = row["page"].partition("#")
        assert anchor in headings(page), row


@pytest.mark.parametrize("name", ITEMS)
def test_every_item_has_a_test(name: str) -> None:
    for row in rows(name):
        file, _, test = row["test"].partition("::")
        function, _, case = test.partition("[")
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8"), row
        if case:
            assert (ROOT / case.rstrip("]")).is_file(), row
