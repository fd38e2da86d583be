"""The pitfalls of ESIMD kernels, by stable code: rows of ``atoms/esimd.toml``.

A lint of level "error" stops the kernel with an `EsimdError`; a "warning" is recorded with the run
(and stops it too, with ``strict=True``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from pycute_xe.arch.rules import Broken, Level
from pycute_xe.errors import CuteError
from pycute_xe.facts import Row, rows
from pycute_xe.signatures import checked_fields, typed

__all__ = ["LINTS", "EsimdError", "Finding", "Lint", "fail", "lint_of"]


@checked_fields
@dataclass(frozen=True, slots=True)
class Lint:
    """A pitfall: what holds, what happens otherwise, the way out, how it is seen, who says so.

    ``breaks`` names the hardware rules that the lint stands for.

    >>> print(LINTS["PX204"].rule)
    Offsets into shared local memory count bytes.
    """

    code: str
    name: str
    level: Level
    rule: str
    happens: str
    fix: str
    seen: str
    source: str
    breaks: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Code, name, rule."""
        return f"{self.code} {self.name}: {self.rule}"


@checked_fields
@dataclass(frozen=True, slots=True)
class Finding:
    """A lint where it was found: the thread, the statement, and what was seen there."""

    lint: Lint
    thread: int
    statement: str
    condition: str

    @property
    def code(self) -> str:
        """The code of the lint."""
        return self.lint.code

    def __str__(self) -> str:
        """One line."""
        at = f"thread {self.thread}, {self.statement}"
        return f"{self.code} {self.lint.name}: {at}: {self.condition}. Way out: {self.lint.fix}"


class EsimdError(CuteError):
    """A kernel fell into a pitfall: ``lint`` says which, ``code`` is its code."""

    @typed
    def __init__(
        self, lint: Lint, operation: str, operands: Mapping[str, object], condition: str
    ) -> None:
        """Join what was seen with what the lint says about it."""
        self.lint = lint
        text = f"{condition}. {lint.rule} [{lint.source}]"
        super().__init__(operation, operands, text, lint.fix.rstrip("."))
        self.args = (lint, operation, self.operands, condition)

    @property
    def code(self) -> str:
        """The code of the lint.

        >>> fail("PX201", "slm_block_load", {"offset": 0}, "nothing was reserved").code
        'PX201'
        """
        return self.lint.code

    def __str__(self) -> str:
        """The code, then as every other error."""
        return f"{self.code} {self.lint.name}: {super().__str__()}"


def _lint(row: Row) -> Lint:
    words = {name: str(row[name]) for name in ("code", "name", "rule", "happens", "fix")}
    return Lint(
        **words,
        level=cast("Level", row["level"]),
        seen=str(row["seen"]),
        source=str(row["source"]),
        breaks=cast("tuple[str, ...]", row.get("breaks", ())),
    )


LINTS: Mapping[str, Lint] = MappingProxyType(
    {lint.code: lint for lint in map(_lint, rows("esimd", "lint"))}
)
"""Every lint, by code."""

_BY_RULE = {rule: lint for lint in LINTS.values() for rule in lint.breaks}


def lint_of(broken: Broken) -> Lint:
    """Return the lint that stands for a broken hardware rule; PX100 where none does.

    >>> lint_of(Broken("store-height", "error", "", "a book", "")).code
    'PX105'
    """
    return _BY_RULE.get(broken.rule, LINTS["PX100"])


def fail(code: str, operation: str, operands: Mapping[str, object], condition: str) -> EsimdError:
    """Return the error of a lint.

    >>> print(str(fail("PX201", "slm_block_load", {}, "nothing was reserved"))[:60])
    PX201 no-slm-init: slm_block_load(): nothing was reserved. s
    """
    return EsimdError(LINTS[code], operation, operands, condition)
