"""Floor 12: ``pycute-xe atoms``."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from pycute_xe.cli.atoms_outcome import AtomsOutcome
from pycute_xe.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["atoms_command"]


class Sizes(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """A count, or a range of counts: 16 or 8-32, the latter as a tuple.

    >>> Sizes().convert("8-32", None, None)
    (8, 32)
    """

    name = "size"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | tuple[int, int]:
        """Read the text."""
        found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", str(value))
        if found is None:
            self.fail(
                f"{quoted(value)} is neither a count such as 16 nor a range such as 8-32",
                param,
                ctx,
            )
        return int(found[1]) if found[2] is None else (int(found[1]), int(found[2]))


@click.command("atoms")
@click.argument("name", metavar="[PATTERN]", required=False)
@click.option(
    "--kind",
    help="load, store, prefetch, atomic, copy, block2d, linear, transpose, vnni, packed or mma.",
)
@click.option("--bits", type=int, help="Bits of an element.")
@click.option(
    "--rows",
    type=Sizes(),
    metavar="N or N-N",
    help="Rows of the block as work-items get it; of templates: as in memory.",
)
@click.option(
    "--cols",
    type=Sizes(),
    metavar="N or N-N",
    help="Columns of the block, counted as its rows.",
)
@click.option("--mode", help="N, T or V of a copy.")
@click.option("--feeds", metavar="MMA", help="Copies that hold an operand as this MMA reads it.")
@click.option("--operand", help="Which operand of --feeds; A and B are judged without it.")
@click.option("--reorder", is_flag=True, help="With --feeds: those too that need a reorder.")
@click.option("--target", help="What a target can run.")
@click.option(
    "--shipped/--all",
    default=True,
    show_default=True,
    help="What CUTLASS has, or also the rest of its grammar of older copies.",
)
@click.option("--faithful/--unfaithful", default=None, help="Whether layouts say what is held.")
@click.option("--limit", type=click.IntRange(0), default=60, show_default=True, help="0: no limit.")
@click.option("--json", is_flag=True, help="Report all as JSON on standard output.")
def atoms_command(limit: int, json: bool, shipped: bool, **options: Any) -> None:
    """Find atoms: copies and MMAs by what they do.

    PATTERN is a part of the name or, with * or ?, the whole:

    \b
      pycute-xe atoms 'XE_2D_U16*_LD_V'
      pycute-xe atoms --kind load --bits 16 --rows 32 --cols 16
      pycute-xe atoms --feeds 'XE_DPAS_TT<8,f32,bf16>' --operand B
      pycute-xe atoms --kind store --bits 32 --rows 4-8 --json

    Rows and columns count elements of the name. `pycute-xe atom NAME` explains one.
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.comparing import search_atoms

    # By identity: 0 is a value, and is refused as one.
    given = ((key, value) for key, value in options.items() if value is not None)
    filters = {key: value for key, value in given if value is not False}
    if options["faithful"] is False:
        filters["faithful"] = False
    if shipped:
        filters["shipped"] = True
    with _waiting():
        outcome = AtomsOutcome(filters, search_atoms(**filters))
        if not outcome.found:
            outcome = outcome.with_counts()
    if json:
        click.echo(outcome.to_json())
    else:
        outcome.show(limit)


@contextmanager
def _waiting() -> Generator[None]:
    """Say that there is work while a terminal is there to see it; gone when it is done."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status("looking through the atoms"):
        yield
