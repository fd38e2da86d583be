"""Floor 9: the steps of an explanation while they are being written down."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NoReturn

from pycute_xe.explaining.explanation import Step
from pycute_xe.typing import Mode

__all__ = ["Script", "Stopped", "mode_text", "times"]


class Stopped(Exception):
    """The rule cannot go on: the operation refuses at the step written last."""


class Script:
    """Steps in order; steps said inside another belong to it."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.depth = 0

    def say(self, text: str, value: Any = None) -> None:
        """Write a step."""
        self.steps.append(Step(text, value, self.depth))

    def stop(self, text: str) -> NoReturn:
        """Write the step at which the rule stops."""
        self.say(text)
        raise Stopped

    @contextmanager
    def within(self, text: str) -> Generator[None]:
        """Write a step, and what follows as parts of it."""
        self.say(text)
        self.depth += 1
        # Not in a ``finally``: where the rule stops, nothing follows.
        yield
        self.depth -= 1


def mode_text(mode: Mode) -> str:
    """Return a mode as it prints.

    >>> mode_text((4, 2))
    '4:2'
    """
    return f"{mode[0]}:{mode[1]}"


def times(left: Any, right: Any) -> str:
    """Return a product as it is read, sums in brackets.

    >>> times(3, 8), times("M - 1", 4)
    ('3·8', '(M - 1)·4')
    """
    return f"{_factor(left)}·{_factor(right)}"


def _factor(value: Any) -> str:
    text = str(value)
    return f"({text})" if any(sign in text for sign in " +/%") else text
