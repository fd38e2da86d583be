"""What the library says when it refuses.

Every refusal names the operation, its operands, the condition that does not hold and a way out,
so that a message can be acted on without opening the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

__all__ = [
    "CongruenceError",
    "CoordError",
    "CuteError",
    "DTypeError",
    "DivisibilityError",
    "InputError",
    "KernelError",
    "LegalityError",
    "MachineError",
    "RankError",
    "ShapeError",
    "TargetError",
    "ToolError",
    "UndecidableError",
    "UnfaithfulWarning",
    "quoted",
    "with_article",
]


MOST_SHOWN = 200
"""Characters of an operand that a message shows."""

MOST_QUOTED = 60
"""Characters of a value that the sentence of a message repeats."""


class CuteError(ValueError):
    """A request that cannot be met, with the operation, operands, broken condition and way out.

    >>> print(CuteError("logical_divide", {"A": "10:1"}, "4 does not divide 10", "pad A to 12"))
    logical_divide(A=10:1): 4 does not divide 10. Way out: pad A to 12
    """

    def __init__(
        self, operation: str, operands: Mapping[str, object], condition: str, fix: str = ""
    ) -> None:
        """Keep the four parts as attributes and join them into the message."""
        if not isinstance(operands, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"operands is a mapping by name, not {type(operands).__name__}")
        self.operation = operation
        self.operands = dict(operands)
        self.condition = condition
        self.fix = fix
        super().__init__(operation, self.operands, condition, fix)

    def __str__(self) -> str:
        """One line: ``operation(operands): condition. Way out: fix``."""
        given = ", ".join(
            f"{name}={_cut(value, str, MOST_SHOWN)}" for name, value in self.operands.items()
        )
        way_out = f". Way out: {self.fix}" if self.fix else ""
        return f"{self.operation}({given}): {self.condition}{way_out}"


def quoted(value: object) -> str:
    """Return ``repr(value)`` for a sentence of a message, cut short where it is long.

    >>> quoted((4, 8)), len(quoted("x" * 999))
    ('(4, 8)', 62)
    """
    return _cut(value, repr, MOST_QUOTED)


def with_article(noun: str) -> str:
    """Return a noun behind its article.

    >>> with_article("int"), with_article("Kernel")
    ('an int', 'a Kernel')
    """
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"


def _cut(value: object, write: Callable[[object], str], most: int) -> str:
    """Return a value's first line as it prints, cut short, or its type where it cannot print."""
    try:
        text = write(value)
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"
    line = text.partition("\n")[0][:most]
    return line if line == text else f"{line} …"


class ShapeError(CuteError):
    """A shape, stride or extent has a form that the operation does not take."""


class RankError(CuteError):
    """The number of modes is not what the operation needs."""


class CongruenceError(CuteError):
    """Two tuples that must nest alike do not."""


class DivisibilityError(CuteError):
    """A divisibility condition of the layout algebra does not hold."""


class UndecidableError(CuteError):
    """The answer depends on what the symbols are; ``fact`` is what would decide it."""

    def __init__(
        self,
        operation: str,
        operands: Mapping[str, object],
        condition: str,
        fix: str = "",
        fact: str = "",
    ) -> None:
        """Keep the fact beside the four parts."""
        super().__init__(operation, operands, condition, fix)
        self.fact = fact
        self.args = (operation, self.operands, condition, fix, fact)

    def within(self, operation: str, operands: Mapping[str, object]) -> UndecidableError:
        """Return this error in the name of the operation that asked, unless one is named yet."""
        if self.operation != "decide":
            return self
        return UndecidableError(operation, operands, self.condition, self.fix, self.fact)


class CoordError(CuteError):
    """A coordinate does not belong to the shape."""


class DTypeError(CuteError):
    """An element type is unknown, or no instruction takes it."""


class TargetError(CuteError):
    """A target is unknown, or no source covers the request on it."""


class LegalityError(CuteError):
    """The hardware refuses: one or more rules of a target are broken."""


class KernelError(CuteError):
    """The parts of a composition do not fit together."""


class InputError(CuteError):
    """An array, file or option that a user handed in cannot be used."""


class MachineError(CuteError):
    """Executing a kernel did something that hardware leaves undefined."""


class ToolError(CuteError):
    """A program of someone else's that the request needs is missing, or refuses."""


class UnfaithfulWarning(UserWarning):
    """A kernel runs whose atoms do something else than their layouts say."""
