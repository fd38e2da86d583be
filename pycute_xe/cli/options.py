"""Floor 10: option values with a form of their own."""

from __future__ import annotations

import re
from typing import Any, cast

import click

from pycute_xe.errors import quoted

__all__ = ["Extents"]


class Extents(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """Positive integers joined by ``x``, such as 256x256x32, as a tuple.

    >>> Extents("M", "N", "K").convert("256x256x32", None, None)
    (256, 256, 32)
    """

    def __init__(self, *names: str) -> None:
        """Name the extents, which says how many there are."""
        self.names = names
        self.name = "x".join(names)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Read the text."""
        if isinstance(value, tuple):
            return cast("tuple[int, ...]", value)
        parts = str(value).lower().split("x")
        if len(parts) != len(self.names) or not all(re.fullmatch("[0-9]{1,9}", p) for p in parts):
            self.fail(
                f"{quoted(value)} is not of the form {self.name}, such as 256x256x32", param, ctx
            )
        if "0" in {part.lstrip("0") or "0" for part in parts}:
            self.fail(f"{quoted(value)}: extents must be positive", param, ctx)
        return tuple(map(int, parts))
