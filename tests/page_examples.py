"""Runs the code blocks that the site executes, and compares what they print with the page.

The site shows what a block prints when it is built (docs/hooks/executed.py). A comment behind the
block holds what the writer read there, so that a change of the library cannot silently change a
page. `python tests/page_examples.py PAGE …` writes these comments anew; read the difference.
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import indent

sys.path.append(str(Path(__file__).resolve().parents[1] / "docs" / "hooks"))

from executed import Block, blocks, outputs

__all__ = ["Block", "blocks", "outputs", "rewritten"]


def rewritten(text: str) -> str:
    """The page with each comment as its block prints now."""
    found = blocks(text)
    for block, printed in reversed(list(zip(found, outputs(found), strict=True))):
        start, end = block.span
        comment = "" if block.draws else f"\n<!-- prints\n{printed}-->\n"
        text = text[:start] + indent(comment, block.indent) + text[end:]
    return text


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")
