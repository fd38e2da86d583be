"""Every item of the five source documents is expressed or refused, enforced, taught and tested."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

from every import every
from markdown.extensions.toc import slugify

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "hooks"))

from coverage_page import DOCUMENTS, page, rows  # noqa: E402


@cache
def headings(name: str) -> set[str]:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {slugify(found.replace("`", ""), "-") for found in re.findall(r"(?m)^#+ (.*)$", prose)}


@cache
def source(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@every("name", DOCUMENTS)
def test_every_item_has_its_verdict_its_section_and_its_test(name: str) -> None:
    found = rows(name)
    assert [row["number"] for row in found] == [str(i + 1) for i in range(DOCUMENTS[name][1])]
    assert len({row["item"] for row in found}) == len(found)
    for row in found:
        assert re.match(r"yes$|refused: \w", row["expressed"]), row
        assert re.match(r"yes|not a constraint$", row["enforced"]), row
        where, _, anchor = row["page"].partition("#")
        assert not anchor or anchor in headings(where), row
        file, _, test = row["test"].partition("::")
        function, _, case = test.partition("[")
        assert f"\ndef {function}(" in source(file), row
        assert not case.endswith(".py]") or (ROOT / case.rstrip("]")).is_file(), row


def test_the_page_has_all_of_them() -> None:
    assert sum(count for _, count in DOCUMENTS.values()) == 207
    lines = [line for line in page().splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(lines) == 207
    assert all(line.count(" | ") == 5 for line in lines)
