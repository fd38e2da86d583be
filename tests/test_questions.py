"""The table of questions on "I want to …", and what the audit of kernels counts in words."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import family_gemms
import page_examples

DOCS = Path(__file__).resolve().parent.parent / "docs"
WANTED = DOCS / "wanted.md"
AUDIT = " ".join((DOCS / "field_audit.md").read_text(encoding="utf-8").split())
ROW = re.compile(r"^\| (\d+) \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]*)\)")
# Where no call can answer all of it: by number, and what the row says.
OPEN = {
    18: "needs measurements",
    19: "needs measurements",
    20: "not known",
    21: "not known",
    23: "needs measurements",
}
# The page is written from test data, which tests/test_audit.py holds.
MADE = {"atoms/audit.md"}


def questions() -> list[tuple[int, str, str, str]]:
    text = WANTED.read_text(encoding="utf-8").partition("## Questions that were asked")[2]
    return [(int(n), *rest) for n, *rest in ROW.findall(text)]


def section(link: str) -> str:
    """The part of a page that a link names, from its heading to the next."""
    name, _, anchor = link.partition("#")
    text = (DOCS / name if name else WANTED).read_text(encoding="utf-8")
    if not anchor:
        return text
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, named = part.partition("\n")[0].partition("{ #")
        slug = re.sub(r"[^\w\s-]", "", heading.lower()).strip()
        if anchor in (re.sub(r"[\s-]+", "-", slug), named.removesuffix(" }")):
            return part
    raise AssertionError(link)


def test_every_question_has_a_link_to_code_that_runs() -> None:
    found = questions()
    assert [n for n, *_ in found] == list(range(1, 26))
    for number, where, _, answer in found:
        assert all(x.startswith("https://github.com/") for x in LINK.findall(where)), number
        links = LINK.findall(answer)
        assert links, number
        for link in links:
            assert link in MADE or page_examples.blocks(section(link)), (number, link)


def test_what_no_call_can_answer_is_said() -> None:
    told = {n: answer for n, _, _, answer in questions()}
    said = {n for n, text in told.items() if "needs measurements" in text or "not known" in text}
    assert said == set(OPEN)
    assert all(words in told[n] for n, words in OPEN.items())


def test_figures_of_problems_and_configurations() -> None:
    lines = (family_gemms.HERE / "data" / "family_problems.tsv").read_text().splitlines()[1:]
    large = 0
    for line in lines:
        batches, rows, columns, depth = map(int, line.split("\t")[1:])
        assert batches * rows * max(columns, depth) < 2**31
        assert depth * columns < 2**31
        large += batches * columns * depth >= 2**31
    assert f"Of the {len(lines)} problems in sycl-tla's benchmark files {large} have a B" in AUDIT

    grids = defaultdict[tuple[object, ...], set[tuple[int, int]]](set)
    for row in family_gemms.rows():
        grids[row.A, row.acc, row.C, row.D, row.orders, row.tile, row.stages].add(row.subgroups)
    both = sum(len(found) > 1 for found in grids.values())
    assert f"For {both} of the {len(grids)} tiles, types and orders" in AUDIT
    assert {(2, 8), (8, 4)} in (v for k, v in grids.items() if k[5] == (64, 256, 64))
    assert {(16, 2), (8, 4)} in (v for k, v in grids.items() if k[5] == (512, 128, 32))
