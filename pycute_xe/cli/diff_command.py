"""Floor 12: ``pycute-xe diff``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from pycute_xe.cli.json_text import json_text

__all__ = ["diff_command"]


@click.command("diff")
@click.argument("a", metavar="NAME")
@click.argument("b", metavar="[OTHER]", required=False)
@click.option(
    "--operand", type=click.Choice(["A", "B", "C", "D"]), help="In which operand MMAs are compared."
)
@click.option("--json", is_flag=True, help="Report as JSON on standard output.")
def diff_command(a: str, b: str | None, operand: Any, json: bool) -> None:
    """Tell what changes from one atom to another, or from what one says to what it does.

    \b
      pycute-xe diff XE_2D_U16x16x16_LD_N XE_2D_U16x16x16_LD_V
      pycute-xe diff XE_2D_U16x16x16_LD_V
      pycute-xe diff XE_8x16x16_F32BF16BF16F32_TT 'XE_DPAS_TT<8,f32,bf16>' --operand B

    Two copies, or two MMAs in one operand. One name alone: what its layouts say, against what its
    messages leave in registers.
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.comparing import diff

    found = diff(a, b, operand)
    click.echo(json_text(asdict(found)) if json else str(found))
