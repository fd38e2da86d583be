"""Runs the code blocks that the site executes, and compares what they print with the page.

The site shows what a block prints when it is built. A comment behind the block holds what the
writer read there, so that a change of the library cannot silently change a page. `python
tests/page_examples.py PAGE …` writes these comments anew; read the difference.
"""

from __future__ import annotations

import io
import re
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

_BLOCK = re.compile(
    r"^(?P<indent> *)```python (?P<options>exec=[^\n]*)\n"
    r"(?P<code>.*?)"
    r"^ *```\n"
    r"(?P<expected>\n?^ *<!-- prints\n.*?^ *-->\n)?",
    re.MULTILINE | re.DOTALL,
)
_PRINTED = re.compile(r"<!-- prints\n(.*?)^ *-->", re.MULTILINE | re.DOTALL)
_SESSION = re.compile(r'session="([^"]+)"')


@dataclass(frozen=True)
class Block:
    """A block of a page: its code, whether it draws, and what the page says that it prints."""

    line: int
    code: str
    session: str
    draws: bool
    indent: str
    expected: str | None
    span: tuple[int, int]


def blocks(text: str) -> list[Block]:
    """The executed blocks of a page, top to bottom."""
    found: list[Block] = []
    for match in _BLOCK.finditer(text):
        session = _SESSION.search(match["options"])
        printed = _PRINTED.search(match["expected"] or "")
        found.append(
            Block(
                line=text.count("\n", 0, match.start()) + 1,
                code=dedent(match["code"]),
                session=session[1] if session else f"line {match.start()}",
                draws='html="true"' in match["options"],
                indent=match["indent"],
                expected=dedent(printed[1]) if printed else None,
                span=(match.start("expected"), match.end("expected"))
                if match["expected"]
                else (match.end(), match.end()),
            )
        )
    return found


def outputs(found: list[Block]) -> list[str]:
    """What the blocks print; those of one session share their names."""
    sessions: dict[str, dict[str, Any]] = {}
    printed: list[str] = []
    for block in found:
        names = sessions.setdefault(block.session, {"__name__": "page"})
        out = io.StringIO()
        with redirect_stdout(out):
            # The padding makes a traceback name the line of the page.
            exec(compile("\n" * block.line + block.code, "page", "exec"), names)
        printed.append(out.getvalue())
    return printed


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
