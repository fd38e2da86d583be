"""What every refusal must say, and where a module refuses: for tests of all errors of a module."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import pytest

from pycute_xe.errors import CuteError


@dataclass(frozen=True)
class Refusal:
    """A call that is refused: by which class, in the name of which operation, saying what."""

    call: Callable[[], Any]
    error: type[CuteError]
    operation: str
    operands: dict[str, Any]
    condition: str

    def caught(self) -> CuteError:
        """Make the call, check what it says, and return the error."""
        with pytest.raises(self.error) as info:
            self.call()
        error = info.value
        assert type(error) is self.error
        assert error.operation == self.operation
        assert error.operands == self.operands
        assert self.condition in error.condition
        assert error.fix
        message = str(error)
        assert message.startswith(f"{self.operation}(")
        assert "\n" not in message
        for name, value in self.operands.items():
            assert f"{name}={value}" in message
        assert message.endswith(f"{error.condition}. Way out: {error.fix}")
        return error


def raises_of(module: ModuleType) -> set[tuple[int, int]]:
    """First and last line of every ``raise`` in a module's source that names what it raises."""
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc)
    return {(node.lineno, node.end_lineno or node.lineno) for node in found}


def raised_at(error: BaseException) -> tuple[str, int]:
    """File and line that raised an error."""
    place: TracebackType | None = error.__traceback__
    assert place is not None
    while place.tb_next is not None:
        place = place.tb_next
    return place.tb_frame.f_code.co_filename, place.tb_lineno


def never_raised(module: ModuleType, errors: list[BaseException]) -> list[int]:
    """Lines of the ``raise`` statements of a module that raised none of the errors."""
    hit = {line for file, line in map(raised_at, errors) if file == module.__file__}
    return sorted(a for a, b in raises_of(module) if not any(a <= line <= b for line in hit))
