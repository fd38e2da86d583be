"""The refusal of what no proof follows."""

from __future__ import annotations

from pycute_xe.errors import UndecidableError

__all__ = ["undecided"]


def undecided(what: str, fix: str = "", **given: object) -> UndecidableError:
    """Return the refusal of a question, with what it is about by name."""
    return UndecidableError("verify", given, what, fix)
