"""No answer depends on a clock: one module reads it, to measure and for a caller's deadline."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pycute_xe

PACKAGE = Path(pycute_xe.__file__).parent
READS: dict[str, set[str]] = {
    "clock.py": {"time"},
    "verifying/regions.py": {"timeout="},  # what a deadline leaves, None without one
    "native/toolchain.py": {"resource"},  # what a compiler may take of a processor
    "__main__.py": {"signal"},  # an interrupt while the package loads
    "emitting/launching.py": {"time"},  # a part of the programs that measure on a GPU
}
"""Modules that may name a clock, and which."""
CLOCKS = {"time", "datetime", "signal", "sched", "threading", "resource", "asyncio", "timeit"}
ENDS = {"alarm", "setitimer", "wait_for", "getloadavg"}
WORDS = re.compile("|".join((*CLOCKS, *ENDS, "times", "timeout")))
"""A source without any of these is not parsed: that takes seconds of all."""
HERE = Path(__file__).parent


def clocks(tree: ast.AST) -> Iterator[str]:
    """Yield the modules and arguments by which a source can depend on time."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from {n.name.split(".")[0] for n in names} & CLOCKS
            case ast.ImportFrom(module=str(module), level=0):
                yield from {module.split(".")[0]} & CLOCKS
            case ast.Attribute(value=ast.Name(id="os"), attr="times"):
                yield "os.times"
            case ast.Attribute(attr=attr) if attr in ENDS:
                yield attr
            case ast.keyword(arg="timeout"):
                yield "timeout="
            case _:
                pass


@pytest.mark.parametrize(
    "source", [PACKAGE, HERE.parent / "docs" / "hooks"], ids=["package", "site"]
)
@pytest.mark.whole
def test_only_the_deadline_reads_a_clock(source: Path) -> None:
    found: dict[str, set[str]] = {}
    for path in sorted(source.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if WORDS.search(text) and (named := {*clocks(ast.parse(text))}):
            found[path.relative_to(source).as_posix()] = named
    assert found == (READS if source == PACKAGE else {})


@pytest.mark.parametrize(
    "line",
    [
        "import time",
        "from time import monotonic",
        "import os\nos.times()",
        "subprocess.run([], timeout=3)",
        "signal.alarm(3)",
        "from threading import Timer",
    ],
)
@pytest.mark.whole
def test_a_clock_is_seen(line: str) -> None:
    assert {*clocks(ast.parse(line))}
