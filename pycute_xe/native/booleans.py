"""Floor 11: functions of three bits, as `bfn` spells them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.native.assembly import Instruction
from pycute_xe.native.operands import refuse

__all__ = ["boolean"]

Values = NDArray[Any]


def boolean(instruction: Instruction) -> Callable[..., Values]:
    """The function of three bits that the variant spells: s0, s1, s2 with ~, &, ^, | and ()."""
    tokens = re.findall(r"s[012]|[~&^|()]", instruction.sub)
    if "".join(tokens) != instruction.sub:
        raise refuse(instruction, f"the function {instruction.sub} cannot be read")
    tree = _Boolean(tokens)
    found = tree.parsed(0)
    if tree.tokens or not tree.complete:
        raise refuse(instruction, f"the function {instruction.sub} cannot be read")
    return lambda *sources: found(sources)


class _Boolean:
    """Reads a function of bits; ``|`` binds least, then ``^``, ``&`` and ``~``.

    What is read is ``complete`` unless an operand or a closing parenthesis was missing.
    """

    LEVELS = (("|", np.bitwise_or), ("^", np.bitwise_xor), ("&", np.bitwise_and))

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = list(tokens)
        self.complete = True

    def taken(self, *expected: str) -> str:
        """Take the next token, which must be one of those expected."""
        token = self.tokens.pop(0) if self.tokens else ""
        self.complete &= token in expected
        return token

    def parsed(self, level: int) -> Callable[[Any], Any]:
        """Read operands joined at a level of precedence."""
        if level == len(self.LEVELS):
            return self.operand()
        sign, join = self.LEVELS[level]
        found = self.parsed(level + 1)
        while self.tokens and self.tokens[0] == sign:
            self.tokens.pop(0)
            found = self.joined(join, found, self.parsed(level + 1))
        return found

    @staticmethod
    def joined(
        join: Callable[[Any, Any], Any], a: Callable[[Any], Any], b: Callable[[Any], Any]
    ) -> Callable[[Any], Any]:
        """Return the function that joins two."""
        return lambda sources: join(a(sources), b(sources))

    def operand(self) -> Callable[[Any], Any]:
        """Read a source, a negation or a part in parentheses."""
        token = self.taken("~", "(", "s0", "s1", "s2")
        if token == "~":
            inner = self.operand()
            return lambda sources: ~inner(sources)
        if token == "(":
            inner = self.parsed(0)
            self.taken(")")
            return inner
        number = int(token[1:] or 0) if self.complete else 0
        return lambda sources: sources[number]
