"""Floor 12: options that commands share, and option values with a form of their own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

import click

from pycute_xe.errors import quoted

__all__ = ["Extents", "Order", "tiling"]

Order = Literal["row", "col"]
Command = TypeVar("Command", bound=Callable[..., Any])


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


def tiling(command: Command) -> Command:
    """Return a command with the options that say how a GEMM is stored and cut.

    They are ``a`` and ``b`` (`Order`), ``tile`` and ``subgroups``, in this order.
    """
    orders = click.Choice(["row", "col"])
    options = (
        click.option("--a", type=orders, default="row", help="Storage order of A."),
        click.option("--b", type=orders, default="row", help="Storage order of B."),
        click.option(
            "--tile",
            type=Extents("M", "N", "K"),
            metavar="MxNxK",
            default="256x256x32",
            show_default=True,
            help="Elements that a work-group multiplies at a time.",
        ),
        click.option(
            "--subgroups",
            type=Extents("M", "N"),
            metavar="MxN",
            default="8x4",
            show_default=True,
            help="Subgroups of a work-group.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
