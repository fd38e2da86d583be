"""The Python examples of README.md and of the pages under docs/ run, each page from the top.

Plain blocks are run by Sybil. Blocks that the site executes carry options after "python"
(```python exec="true"): the build of the site shows what they print, and here it is compared with
the comment behind each block (see page_examples).
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import page_examples
import pytest
from svg_cells import SVG
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

import pycute_xe
from pycute_xe import algebra, layout

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
# The page on symbols is about all operations, and has sections of other kinds.
OTHERS = {"index", "symbolic"}
ALGEBRA = [page for page in sorted((DOCS / "algebra").glob("*.md")) if page.stem not in OTHERS]
# The kernel page prints what floating-point sums of a machine give: it runs and is not compared.
EXECUTED = [page for page in PAGES if "```python exec" in page.read_text(encoding="utf-8")]
COMPARED = [page for page in EXECUTED if page.stem != "gemm"]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def has_more(page: Path) -> bool:
    """Whether a page has examples that the comparison of what they print does not run."""
    return page not in EXECUTED or "```python\n" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [p for p in PAGES if has_more(p)], ids=name_of)
@pytest.mark.long
def test_the_examples_of_a_page_run(page: Path) -> None:
    # One test per page, because its examples build on each other.
    examples = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()]).parse(page).examples()
    for example in examples:
        example.evaluate()


@pytest.mark.long
def test_the_blocks_of_the_kernel_page_run() -> None:
    found = page_examples.blocks((DOCS / "gemm.md").read_text(encoding="utf-8"))
    assert len(found) > 5
    assert all(page_examples.outputs(found))


@pytest.mark.parametrize("page", COMPARED, ids=name_of)
@pytest.mark.long
def test_a_page_shows_what_its_examples_print(page: Path) -> None:
    found = page_examples.blocks(page.read_text(encoding="utf-8"))
    printed = page_examples.outputs(found)
    assert found
    for block, output in zip(found, printed, strict=True):
        if block.draws:
            for drawing in output.replace("</svg>\n", "</svg>\0").split("\0")[:-1]:
                cells = [
                    g
                    for g in ElementTree.fromstring(drawing).iter(f"{SVG}g")
                    if "c" in g.get("class", "").split()
                ]
                assert cells, f"line {block.line} draws nothing"
        else:
            assert output == block.expected, f"line {block.line}"


PARTS = ["When you need it", "Law", "Picture", "Example", "Error", "In C++"]


@pytest.mark.parametrize("page", ALGEBRA, ids=name_of)
def test_every_operation_has_its_law_picture_example_and_error(page: Path) -> None:
    _, *sections = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    operations = [section for section in sections if not section.startswith("Exercise")]
    assert operations
    for section in operations:
        title = section.splitlines()[0]
        assert re.findall(r"^\*\*([^*]+)\.\*\*", section, re.MULTILINE) == PARTS, title
        parts = dict(
            zip(PARTS, re.split(r"^\*\*[^*]+\.\*\*", section, flags=re.MULTILINE)[1:], strict=True)
        )
        assert 'html="true"' in parts["Picture"], title
        assert 'result="text"' in parts["Example"], title
        assert "Way out: " in parts["Error"], title


def test_the_overview_names_every_operation() -> None:
    rows = re.findall(r"^\| (`.*?) \|", (DOCS / "algebra" / "index.md").read_text(), re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", " ".join(rows)))
    # Accessors and the building blocks of others have no law of their own.
    small = {"as_layout", "has_symbols", "pair", "unchecked", "shape", "stride", "transform_layout"}
    public = {*algebra.__all__, *layout.__all__} - small
    assert public - named == set(), "add a row to docs/algebra/index.md"
    assert all(hasattr(pycute_xe, name) for name in named)
