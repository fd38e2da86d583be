"""Floor 12: ``pycute-xe lsc``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pycute_xe.cli.files import demand_folder
from pycute_xe.errors import InputError

if TYPE_CHECKING:
    from pycute_xe.arch.lsc import Block2DMessage, Message

__all__ = ["lsc_command"]


@click.command("lsc")
@click.argument("text", metavar="TEXT")
@click.option("--target", default="bmg", show_default=True, help="Whose rules and descriptor.")
@click.option(
    "-o",
    "--svg",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the drawing as SVG.",
)
@click.option("--json", is_flag=True, help="Report as JSON on standard output.")
@click.option("-v", "--verbose", is_flag=True, help="Print every field of the binary form.")
def lsc_command(text: str, target: str, svg: Path | None, json: bool, verbose: bool) -> None:
    """Explain one LSC message: what it does, whether it is legal, its bytes, a drawing.

    TEXT is a line of vISA, the bytes of one in hexadecimal, or the descriptor of a send:

    \b
      pycute-xe lsc 'lsc_load.ugm (M1,16) V13:d32x2 flat[V12]:a64'
      pycute-xe lsc 'lsc_store.slm (M1,16) flat[V12]:a64 V13:d32' --target pvc
      pycute-xe lsc 'lsc_load_block2d.ugm V9:d16.16x8nn flat[V1,V2,V3,V4,V5,V6]' -o block.svg
      pycute-xe lsc 0x6210D500 --target pvc

    Exit status 0 if legal, 1 if a rule refuses, 2 for text that is not a message.
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.arch.target import get_target
    from pycute_xe.cli.lsc_outcome import LscOutcome

    machine = get_target(target)
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,8}", text.strip()):
        _show_descriptor(int(text, 16), machine.name, svg, json)
        return
    message = _message(text)
    files: tuple[str, ...] = ()
    if svg is not None:
        from pycute_xe.drawing import draw

        demand_folder("lsc", svg)
        files = (str(draw(message).save(svg)),)
    outcome = LscOutcome(message, machine, files)
    if json:
        click.echo(outcome.to_json())
    else:
        outcome.show(verbose)
    if not outcome.legal:
        raise click.exceptions.Exit(1)


def _message(text: str) -> Message | Block2DMessage:
    """The message of a text, or of bytes in hexadecimal."""
    from pycute_xe.arch.lsc import decode, parse

    digits = re.sub(r"\s", "", text)
    if re.fullmatch(r"89[0-9a-fA-F]{2,}", digits) and len(digits) % 2 == 0:
        return decode(bytes.fromhex(digits))
    return parse(text)


def _show_descriptor(desc: int, target: str, svg: Path | None, json: bool) -> None:
    from dataclasses import asdict

    from pycute_xe.arch.lsc import decode_descriptor
    from pycute_xe.cli.json_text import json_text

    if svg is not None:
        condition = "a descriptor names no registers, and cannot be drawn"
        raise InputError("lsc", {"svg": svg}, condition, "leave --svg out, or give the message")
    said = asdict(decode_descriptor(desc, 0, target))
    del said["sfid"], said["surface"], said["offset"]  # the send and its other word hold them
    said["data"] = {name: value for name, value in said["data"].items() if value is not None}
    if json:
        click.echo(json_text({"desc": hex(desc), "target": target, **said}))
        return
    said["data"] = str(decode_descriptor(desc, 0, target).data)
    for name, value in said.items():
        click.echo(f"{name:18} {value}")
