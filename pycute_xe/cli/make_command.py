"""``pycute-xe make`` and ``pycute-xe attention``: kernels of every kind, as documents."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import click

from pycute_xe.cli.files import Extents, save_option, saved_document
from pycute_xe.errors import InputError, quoted
from pycute_xe.expressions.evaluation import evaluate
from pycute_xe.naming.kinds import KINDS, default_mma
from pycute_xe.signatures import conforms

if TYPE_CHECKING:
    from pycute_xe.kernel import Kernel

__all__ = ["attention_command", "make_command"]

Command = Callable[..., None]


def _options(command: Command) -> Command:
    """Return a command with the options that say how a kind's MMAs are tiled."""
    tile, subgroups = Extents("M", "N", "K"), Extents("M", "N")
    options = (
        click.argument("given", metavar="[NAME=VALUE]...", nargs=-1),
        click.option("--type", "numeric", default="bf16", show_default=True, help="Of A and B."),
        click.option("--acc", help="Of the accumulator: f32, or s32 for integers."),
        click.option(
            "--tile",
            "tiles",
            type=tile,
            metavar="MxNxK",
            multiple=True,
            help="Elements that a work-group multiplies at a time; once for each tiled MMA.",
        ),
        click.option(
            "--subgroups", type=subgroups, metavar="MxN", default="8x1", show_default=True
        ),
        save_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command("make")
@click.argument("kind", type=click.Choice(KINDS))
@_options
def make_command(kind: str, save: str | None, **options: Any) -> None:
    """Make a kernel of a kind: its listing, or with --save its document.

    NAME=VALUE are the arguments of the function of this name in pycute_xe.kernel; NAME.KEY=VALUE
    is an entry of one that is a mapping. The configuration of from_cutlass is a file of C++.

    \b
      pycute-xe make split_k parts=4 --tile 128x128x32 --subgroups 4x4 --save k.json
      pycute-xe make dual_gemm combine='silu(acc0) * acc1' --tile 128x128x32 --subgroups 8x4
      pycute-xe make gemm 'also.rows[m]=sum(n, acc)' types.A=s8 --save - | pycute-xe verify -
      pycute-xe make from_cutlass configuration=gemm.hpp group=128 --save k.json
    """  # noqa: D301 - the backspace keeps click from joining the lines
    _write(_made(kind, **options), save)


@click.command("attention")
@_options
def attention_command(save: str | None, **options: Any) -> None:
    """Make a kernel of attention: its listing, or with --save its document.

    Two tiles: queries by keys by depth of Q K, and queries by depth by keys of P V. NAME=VALUE are
    the arguments of pycute_xe.kernel.attention.

    \b
      pycute-xe attention causal=true out=64 --tile 128x64x32 --tile 128x32x64 --save k.json
      pycute-xe attention window=255,0 group=4 --save - | pycute-xe verify -
    """  # noqa: D301 - the backspace keeps click from joining the lines
    options["tiles"] = options["tiles"] or ((128, 64, 32), (128, 32, 64))
    _write(_made("attention", **options), save)


def _write(kernel: Kernel, save: str | None) -> None:
    if not saved_document(save, kernel):
        click.echo(str(kernel))


def _made(
    kind: str,
    given: tuple[str, ...],
    numeric: str,
    acc: str | None,
    tiles: tuple[tuple[int, int, int], ...],
    subgroups: tuple[int, int],
) -> Kernel:
    from pycute_xe import kernel

    function = getattr(kernel, kind)
    signature = inspect.signature(function)
    wanted = [name for name, p in signature.parameters.items() if p.annotation == "TiledMma"]
    tiles = tiles or ((256, 256, 32),) * len(wanted)
    if len(tiles) != len(wanted):
        condition = f"--tile is given {len(tiles)} times, and tiled MMAs are {', '.join(wanted)}"
        fix = f"give --tile {len(wanted)} times, in this order"
        raise InputError("make", {"kind": kind}, condition, fix)
    mmas = [default_mma(tile, subgroups, numeric, acc) for tile in tiles]
    return function(*mmas, **_arguments(kind, function, given))


def _arguments(kind: str, function: Callable[..., Any], given: tuple[str, ...]) -> dict[str, Any]:
    """Return arguments by name, each as its annotation wants it."""
    from pycute_xe.cutlass.configuration import CutlassType
    from pycute_xe.files import MOST_CHARACTERS

    hints = get_type_hints(inspect.unwrap(function))
    for listed in get_args(hints.get("given")):
        hints |= get_type_hints(listed)
    out: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name, dot, key = name.partition(".")
        if not equals or not _is_given(name, hints.get(name)):
            known = ", ".join(n for n, hint in hints.items() if _is_given(n, hint))
            condition = f"{quoted(text)} is not NAME=VALUE of an argument"
            raise InputError("make", {"kind": kind}, condition, f"the names are {known}")
        if dot:
            out.setdefault(name, {})[key] = value
            continue
        if CutlassType in get_args(hints[name]):
            with click.open_file(value, "rb") as file:
                value = file.read(MOST_CHARACTERS + 1).decode("utf-8", "replace")
        readings = [one for one in _readings(value) if conforms(one, hints[name])]
        if not readings:
            condition = f"{name} cannot be {quoted(value)}"
            meant = getattr(hints[name], "__name__", hints[name])
            raise InputError("make", {"kind": kind}, condition, f"write {name}={meant}")
        out[name] = readings[0]
    return out


def _is_given(name: str, hint: Any) -> bool:
    """Whether an argument is given as NAME=VALUE: tilings have options of their own."""
    return hint is not None and name not in ("return", "given") and not hasattr(hint, "tile_mnk")


def _readings(text: str) -> Iterator[Any]:
    """Yield what a text may mean, from the narrowest meaning to the text itself."""
    if text in ("true", "false"):
        yield text == "true"
    parts = text.replace("x", ",").split(",")
    if all(part.removeprefix("-").isdecimal() for part in parts):
        numbers = [int(part) for part in parts]
        yield tuple(numbers) if len(numbers) > 1 else numbers[0]
    if text.startswith("Sw"):
        yield evaluate(text)
    yield text
