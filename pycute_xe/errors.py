"""What the library says when it refuses.

Every refusal names the operation, its operands, the condition that does not hold and a way out,
so that a message can be acted on without opening the source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from numbers import Integral
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

__all__ = [
    "MOST_QUOTED",
    "plural",
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
    "meant",
    "quoted",
    "type_words",
    "with_article",
]


MOST_SHOWN = 200
"""Characters of an operand that a message shows."""

MOST_QUOTED = 60
"""Characters of a value that the sentence of a message repeats."""


MOST_NESTED = 100
"""Levels of tuples that a way out repeats."""


class CuteError(ValueError):
    """A request that cannot be met, with the operation, operands, broken condition and way out.

    >>> print(CuteError("logical_divide", {"A": "10:1"}, "4 does not divide 10", "pad A to 12"))
    logical_divide(A=10:1): 4 does not divide 10. Way out: pad A to 12
    """

    refused: tuple[object, ...] = ()
    """The value of which the error speaks, where its caller has a better name for it."""

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

    def renamed(self, operation: str, arguments: Mapping[str, object]) -> None:
        """Name the call, and that of its arguments of which the error speaks, where it is one."""
        for name, value in arguments.items():
            if value is self.refused[0]:
                self.operation, self.operands = operation, {name: quoted(value)}
                self.args = (operation, self.operands, self.condition, self.fix)
                return

    def __str__(self) -> str:
        """One line: ``operation(operands): condition. Way out: fix``."""
        given = ", ".join(
            f"{_cut(name, str, MOST_QUOTED)}={_cut(value, str, MOST_SHOWN)}"
            for name, value in self.operands.items()
        )
        way_out = f". Way out: {self.fix}" if self.fix else ""
        called = _cut(self.operation, str, MOST_QUOTED)
        return f"{called}({given}): {self.condition}{way_out}"


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
    return f"{'an' if noun[:1].lower() in 'aeio' or noun == 'ndarray' else 'a'} {noun}"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> plural(1, "row"), plural(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def meant(value: Any, level: int = 0) -> str:
    """Return the integer or the tuple of integers that a value nearly is; empty for any other.

    >>> meant("4"), meant(4.0), meant([4, (2.0, 8)]), meant("4,8"), meant("rows")
    ('4', '4', '(4, (2, 8))', '(4, 8)', '')
    """
    if isinstance(value, bool):
        return ""
    if isinstance(value, str):
        if not re.fullmatch(r"\s*\(?\s*\d{1,9}(\s*,\s*\d{1,9})*\s*\)?\s*", value):
            return ""
        numbers = [int(digits) for digits in value.strip("() ").split(",")]
        if len(numbers) == 1:
            return str(numbers[0])
        return str(tuple(numbers))
    if isinstance(value, (list, tuple)) and level < MOST_NESTED:
        parts = [meant(part, level + 1) for part in cast("list[Any]", value)]
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})" if parts and all(parts) else ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else ""
    return str(int(value)) if isinstance(value, Integral) else ""


def type_words(kind: Any) -> str:
    """Return a type as a reader would say it.

    >>> type_words(Literal["row", "col"] | None), type_words(tuple[int, ...]), type_words(bool)
    ("'row' or 'col' or None", 'tuple[int, ...]', 'True or False')
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(map(type_words, inner))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin is Callable:
        return "a function"
    if isinstance(origin, type):
        parts = ("..." if one is Ellipsis else type_words(one) for one in inner)
        return f"{origin.__name__}[{', '.join(parts)}]"
    if kind in (None, NoneType, bool):
        return "True or False" if kind is bool else "None"
    return kind.__name__ if isinstance(kind, type) else str(kind)


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


MOST_BITS = 31
"""Bits of an integer that no array is too small for."""
_TOO_LARGE = re.compile(r"too (large|big|many)|[Mm]aximum|exceed|memory|out of bounds|range")


def beyond(name: str, leaves: tuple[object, ...], error: BaseException) -> tuple[str, str] | None:
    """Return what is wrong with leaves beyond what is computed with, and a hint; None if nothing.

    Symbols of sympy are beyond any computation, large integers where the error is of their size.

    >>> beyond("count", (1 << 70,), OverflowError())
    ('count is too large', 'give count as an integer below 2**31')
    """
    if any(type(leaf).__module__.startswith("sympy") for leaf in leaves):
        return f"{name} has symbols of sympy, and a number is needed", "use an integer or symbol(…)"
    large = any(type(leaf) is int and leaf.bit_length() > MOST_BITS for leaf in leaves)
    of_size = isinstance(error, (OverflowError, MemoryError)) or _TOO_LARGE.search(str(error))
    if large and of_size:
        return f"{name} is too large", f"give {name} as an integer below 2**{MOST_BITS}"
    return None
