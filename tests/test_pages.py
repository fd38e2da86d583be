"""The Python examples of README.md and of the pages under docs/ run, each page from the top.

Blocks that the site itself executes carry options after "python" (```python exec="true"); the
build of the site runs those.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run(page: Path) -> None:
    # One test per page, because its examples build on each other.
    examples = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()]).parse(page).examples()
    for example in examples:
        example.evaluate()
