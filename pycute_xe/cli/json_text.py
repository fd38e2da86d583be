"""Floor 12: JSON that people can read too."""

from __future__ import annotations

import json
from typing import Any, cast

__all__ = ["json_text"]


def json_text(value: Any, indent: str = "") -> str:
    """Return JSON of two spaces a level, with lists of numbers or of places on one line each.

    >>> print(json_text({"owners": [[[0, 1], [2, 3]], [[4, 5]]], "notes": []}))
    {
      "owners": [
        [[0, 1], [2, 3]],
        [[4, 5]]
      ],
      "notes": []
    }
    """
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        pairs = cast("dict[str, Any]", value).items()
        parts = [f"{json.dumps(str(key))}: {json_text(held, deeper)}" for key, held in pairs]
        opening, closing = "{}"
    elif isinstance(value, list | tuple) and _height(value) > 2:
        parts = [json_text(held, deeper) for held in cast("list[Any]", value)]
        opening, closing = "[]"
    else:
        return json.dumps(value)
    lines = ",\n".join(f"{deeper}{part}" for part in parts)
    return f"{opening}\n{lines}\n{indent}{closing}"


def _height(value: Any) -> int:
    """How deep lists lie in lists; a dictionary is deeper than what fits a line."""
    if isinstance(value, dict):
        return 3
    if not isinstance(value, list | tuple):
        return 0
    return 1 + max(map(_height, cast("list[Any]", value)), default=0)
