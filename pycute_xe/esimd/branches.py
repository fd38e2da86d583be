"""Whether a call stands where control flow may pass it by, from the byte code of its callers."""

from __future__ import annotations

import dis
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any, Final

__all__ = ["in_a_branch"]

_FOLDER: Final = str(Path(__file__).parent)
_JUMPS: Final = frozenset([*dis.hasjrel, *dis.hasjabs])


def in_a_branch(frame: Any) -> bool:
    """Whether a call, or a call of the function that makes it, is in a branch or a loop.

    The functions outside this package are asked, from the caller of the innermost on up to the
    kernel.
    """
    while frame is not None and _inside(frame):
        frame = frame.f_back
    while frame is not None and not _inside(frame):
        if _passed_by(frame.f_code, frame.f_lasti):
            return True
        frame = frame.f_back
    return False


def _inside(frame: Any) -> bool:
    return str(frame.f_code.co_filename).startswith(_FOLDER)


@lru_cache(maxsize=1024)
def _passed_by(code: CodeType, at: int) -> bool:
    """Whether some jump before an instruction leads beyond it."""
    return any(
        step.offset < at and step.opcode in _JUMPS and step.argval > at
        for step in dis.get_instructions(code)
    )
