"""Suggestions for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from pycute_xe.errors import CuteError

__all__ = ["as_name", "nearest_spelling"]


def as_name(text: object) -> str:
    """Return a string; raise `CuteError` for any other type.

    >>> as_name(3)
    Traceback (most recent call last):
    pycute_xe.errors.CuteError: get_atom(name=3): a name is text. Way out: ...
    """
    if not isinstance(text, str):
        way_out = 'write it in quotes, as in get_atom("XE_2D_U16x32x16_LD_N")'
        raise CuteError("get_atom", {"name": text}, "a name is text", way_out)
    return text


def nearest_spelling(text: str, known: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """Return the known names most like a text, best first; case and spaces do not matter.

    >>> nearest_spelling("xe_2d u16x32_LD_V", ["XE_2D_U16x32x16_LD_V", "XE_2D_U8x32x16_LD_V"], 1)
    ('XE_2D_U16x32x16_LD_V',)
    """
    names = {_plain(name): name for name in known}
    return tuple(names[plain] for plain in get_close_matches(_plain(text), names, count, 0.5))


def _plain(text: str) -> str:
    return "".join(text.split()).upper()
