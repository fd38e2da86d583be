"""Executes the examples of pages, several pages at a time, and puts what they print behind them.

    ```python exec="true" source="above" result="text" session="name"

``source="above"`` shows the code, ``result="text"`` what it prints as a listing, ``html="true"`` as
it is; without either it is Markdown. Blocks of one session share their names. A comment behind a
block, ``<!-- prints … -->``, holds what it printed when the page was written. A block that fails,
or prints something else, is a warning, which fails the build. Pages are executed by processes of
their own, forked before anything else is read, while the others are made.
"""

from __future__ import annotations

import io
import logging
import multiprocessing
import os
import re
import traceback
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.pool import ApplyResult, Pool
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

import pycute_xe

_BLOCK = re.compile(
    r"^(?P<indent> *)```python (?P<options>exec=[^\n]*)\n"
    r"(?P<code>.*?)"
    r"^ *```\n"
    r"(?P<expected>\n?^ *<!-- prints\n.*?^ *-->\n)?",
    re.MULTILINE | re.DOTALL,
)
_PRINTED = re.compile(r"<!-- prints\n(.*?)^ *-->", re.MULTILINE | re.DOTALL)
log = logging.getLogger("mkdocs.plugins.executed")
_SESSION = re.compile(r'session="([^"]+)"')


@dataclass(frozen=True)
class Block:
    """A block of a page: its code and options, and what the page says that it prints."""

    line: int
    code: str
    session: str
    options: str
    indent: str
    expected: str | None
    start: int
    span: tuple[int, int]

    @property
    def draws(self) -> bool:
        """Whether it prints HTML, such as a drawing."""
        return 'html="true"' in self.options


def blocks(text: str) -> list[Block]:
    """The executed blocks of a page, top to bottom."""
    found: list[Block] = []
    for match in _BLOCK.finditer(text):
        session = _SESSION.search(match["options"])
        printed = _PRINTED.search(match["expected"] or "")
        end = match.span("expected") if match["expected"] else (match.end(), match.end())
        found.append(
            Block(
                line=text.count("\n", 0, match.start()) + 1,
                code=dedent(match["code"]),
                session=session[1] if session else f"line {match.start()}",
                options=match["options"],
                indent=match["indent"],
                expected=dedent(printed[1]) if printed else None,
                start=match.start(),
                span=end,
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


def shown(block: Block, printed: str) -> str:
    """The Markdown in place of a block: its code where that is shown, then what it printed."""
    parts: list[str] = []
    if 'source="above"' in block.options:
        parts.append(f"```python\n{block.code.rstrip()}\n```")
    if block.draws:
        parts.append(f'<div class="executed" markdown="0">{printed.strip()}</div>')
    elif 'result="text"' in block.options:
        parts += [f"````text\n{printed.rstrip()}\n````"] if printed.strip() else []
    elif printed.strip():
        parts.append(printed.strip())
    return indent("\n\n".join(parts), block.indent) + "\n\n"


def stale(text: str, printed: list[str]) -> list[int]:
    """The lines of blocks that print something else than their comments say."""
    pairs = zip(blocks(text), printed, strict=True)
    return [one.line for one, output in pairs if one.expected not in (None, output)]


def replaced(text: str, printed: list[str]) -> str:
    """A page with what its blocks printed."""
    for block, output in reversed(list(zip(blocks(text), printed, strict=True))):
        text = f"{text[: block.start]}{shown(block, output)}{text[block.span[1] :]}"
    return text


# ------------------------------------------------------------ the build

_waited: dict[str, ApplyResult[list[str] | str]] = {}
_pool: list[Pool] = []


def _run(text: str) -> list[str] | str:
    """What the blocks of a page print, or how one failed."""
    try:
        return outputs(blocks(text))
    except Exception:  # noqa: BLE001 - whatever it is, its text goes to the other process
        return traceback.format_exc()


# By the name under which another process finds it: MkDocs names hooks by their paths.
_RUN = import_module("executed")._run


def _whole() -> bool:
    return os.environ.get("WHOLE_SITE", "true") != "false"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Begin with the pages that have most blocks."""
    if not _whole():
        return config
    docs = Path(config.docs_dir)
    texts = {path: path.read_text(encoding="utf-8") for path in docs.rglob("*.md")}
    some = {path: text for path, text in texts.items() if _BLOCK.search(text)}
    _read_ahead()
    pool = multiprocessing.get_context("fork").Pool(max(os.cpu_count() or 1, 2))
    for path in sorted(some, key=lambda path: -len(blocks(some[path]))):
        _waited[str(path.relative_to(docs))] = pool.apply_async(_RUN, (some[path],))
    _pool.append(pool)
    return config


def _read_ahead() -> None:
    """Import what pages import, once for all processes."""
    import numpy
    import sympy

    for name in dir(pycute_xe):
        getattr(pycute_xe, name)
    for module in (numpy, sympy, pycute_xe.kernel, pycute_xe.native):
        dir(module)


@event_priority(-50)  # when every page is listed
def on_files(files: Files, **_: object) -> Files:
    """Let pages whose blocks are executed wait for that behind the others."""
    return Files(sorted(files, key=lambda file: file.src_uri in _waited))


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Put in what the blocks of a page printed; a build that only checks pages shows their code."""
    if not _BLOCK.search(markdown):
        return markdown
    if not _whole():
        return re.sub(r"^( *```python) exec=[^\n]*$", r"\1", markdown, flags=re.MULTILINE)
    printed = _waited[page.file.src_uri].get()
    if isinstance(printed, str):
        log.warning(f"{page.file.src_uri}: a block fails:\n{printed}")
        return markdown
    for line in stale(markdown, printed):
        path = page.file.src_uri
        remedy = f"run python tests/page_examples.py docs/{path}, and read the difference"
        log.warning(f"{path}, line {line}: what the block prints is not what it says: {remedy}")
    return replaced(markdown, printed)


def on_post_build(**_: object) -> None:
    """End the processes."""
    while _pool:
        _pool.pop().terminate()
