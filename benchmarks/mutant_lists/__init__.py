"""Small wrong changes for `mutants.py`, floor by floor: what a mutant is, and how one is written.

A file of this folder lists the mutants of a floor. A line begins with what it says:

    @ tests that run, the quick ones first; `doctests` are those of the changed module
    CoordinateWalker.step, the name of what is changed, as `anchors.py` reads it
    - the code that goes, and the rest of it, if it has several lines
    + the code that comes  # and why a test should notice
    = why no test can notice, where that is so
    # a remark

Tests and a name apply until other ones are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

__all__ = ["FLOORS", "Mutant", "read"]

MARKS = "@-+=#"


@dataclass(frozen=True)
class Mutant:
    """A change of what has a name: the code that goes, what comes, and why a test should notice.

    ``tests`` are the ones that run, the quick ones first. ``equivalent`` says why
    the change cannot be noticed, where that is so.
    """

    name: str
    old: str
    new: str
    why: str
    tests: tuple[str, ...] = ()
    equivalent: str = ""


def read(lines: Iterable[str]) -> list[Mutant]:
    """Read what a file lists.

    >>> read(["@ tests/a.py tests/b.py", "Facts.of", "- x < 1", "+ x < 2  # the first"])
    [Mutant(name='Facts.of', old='x < 1', new='x < 2', why='the first', \
tests=('tests/a.py', 'tests/b.py'), equivalent='')]
    """
    listed: list[Mutant] = []
    tests: tuple[str, ...] = ()
    name = old = ""
    for mark, rows in groupby(
        filter(None, lines), lambda line: line[0] if line[0] in MARKS else ""
    ):
        parts = list(rows)
        text = "\n".join(line[2:] for line in parts)
        match mark:
            case "@":
                tests = tuple(text.split())
            case "-":
                old = text
            case "+":
                new, _, why = text.rpartition("# ")
                listed.append(Mutant(name, old, new.rstrip(), why, tests))
            case "=":
                listed[-1] = replace(listed[-1], equivalent=text.replace("\n", " "))
            case "#":
                pass
            case _:
                name = parts[-1]
    return listed


FLOORS = {
    file.stem: read(file.read_text(encoding="utf-8").splitlines())
    for file in sorted(Path(__file__).parent.glob("*.txt"))
}
