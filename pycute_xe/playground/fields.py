"""What all answers of the playground share: fields of a request, refusals, drawings, code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pycute_xe.drawing import Drawing
from pycute_xe.errors import CuteError, InputError, quoted

__all__ = [
    "Request",
    "Shown",
    "drawn",
    "field",
    "integers",
    "or_reason",
    "script",
    "subgroup_of",
]

Request = Mapping[str, str]
Shown = dict[str, Any]


def field(request: Request, name: str) -> str:
    """Return a field's text. Raises `InputError` where it is empty."""
    text = request.get(name, "").strip()
    if not text:
        raise InputError("answer", {"field": name}, f"{name} is empty", "write something into it")
    return text


def integers(request: Request, name: str) -> tuple[int, ...]:
    """Return a field's integers. Raises `InputError` for other text."""
    text = field(request, name)
    if not re.fullmatch(r"[( ]*[0-9]{1,6}([ ,x]+[0-9]{1,6})*[) ]*", text):
        condition = f"{quoted(text)} is not a list of integers"
        raise InputError("tile", {name: text}, condition, "write 256,256,32")
    return tuple(map(int, re.findall(r"[0-9]+", text)))


def subgroup_of(request: Request, count: int) -> int:
    """Return the subgroup asked for, 0 if none. Raises `InputError` for one that is not there."""
    text = request.get("subgroup") or "0"
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) >= count:
        condition = f"{quoted(text)} is not one of {count} subgroups"
        raise InputError("tile", {"subgroup": text}, condition, f"use 0 to {count - 1}")
    return int(text)


def or_reason(ask: Callable[[], Any]) -> Any:
    """Return an answer, or the condition on which it is refused."""
    try:
        return ask()
    except CuteError as error:
        return error.condition


def drawn(shown: Shown, ask: Callable[[], Drawing]) -> Shown:
    """Add a drawing, or the condition on which it is refused: the rest is an answer without it."""
    drawing = or_reason(ask)
    if isinstance(drawing, Drawing):
        return {**shown, "svg": drawing.svg}
    return {**shown, "parts": [*shown["parts"], ["Drawing", drawing]]}


def script(code: str) -> str:
    """Return code as a script of its own."""
    return f"import pycute_xe as cx\n\n{code}\n"
