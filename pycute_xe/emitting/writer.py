"""Floor 9: the text of a kernel's body as it grows, statement by statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycute_xe.kernel import Kernel, Meanings, Statement
from pycute_xe.kernel.ir.listing import line

__all__ = ["Says", "Writer", "demand_said"]

Says = Callable[[Any, Any], None]
"""How a kind of statement is written: it takes the writer and the statement."""


class Writer:
    """Lines at a depth; ``says`` is the table of the language."""

    def __init__(self, kernel: Kernel, says: Meanings[Says], level: int) -> None:
        """Start with nothing written."""
        self.kernel = kernel
        self.says = says
        self.lines: list[str] = []
        self.level = level

    def put(self, text: str) -> None:
        """Append a line at the present depth."""
        self.lines.append("  " * self.level + text)

    def body(self, body: tuple[Statement, ...]) -> None:
        """Write statements, each under its line of the listing."""
        for statement in body:
            meaning = self.says[statement]
            self.put(f"// {line(statement)}")
            meaning(self, statement)

    def inside(self, body: tuple[Statement, ...]) -> None:
        """Write statements one level deeper."""
        self.level += 1
        self.body(body)
        self.level -= 1

    def block(self, head: str, body: tuple[Statement, ...]) -> None:
        """Write statements in braces."""
        self.put(f"{head} {{")
        self.inside(body)
        self.put("}")


def demand_said(kernel: Kernel, says: Meanings[Says]) -> None:
    """Refuse a kernel that has a kind of statement for which a language has no entry."""
    for statement in kernel.statements():
        says[statement]
