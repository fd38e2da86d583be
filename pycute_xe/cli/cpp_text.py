"""Floor 12: arguments that are C++ text, types or prints of CuTe."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["from_cpp"]

_SPACE = r"\s*(?:typename\s+)?(?:::)?(?:cute::)?"
_HEADS = {
    "atom": "TiledMMA|TiledMMAHelper|TiledCopy|MMA_Atom|Copy_Atom|using",
    "layout": "Layout|ComposedLayout|Swizzle",
}


def from_cpp(text: str, kind: str, op: str | None = None, value_type: str | None = None) -> Any:
    """Return the value of C++ text of a kind, ``None`` for a text that is not C++.

    ``kind`` is "atom" (tilings too) or "layout". Raises as `from_cute` does.

    >>> print(from_cpp("Layout<_8>", "layout"), from_cpp("(4,8):(8,1)", "layout"))
    8:1 None
    """
    if re.match(rf"{_SPACE}(?:{_HEADS[kind]})\b(?!\()", text) is None:
        return None
    from pycute_xe.cutlass import from_cute

    return from_cute(text, op=op, value_type=value_type)
