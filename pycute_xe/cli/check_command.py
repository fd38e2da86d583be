"""Floor 12: ``pycute-xe check``."""

from __future__ import annotations

from typing import Any

import click

from pycute_xe.cli.cpp_text import from_cpp
from pycute_xe.cli.options import Extents
from pycute_xe.errors import InputError

__all__ = ["check_command"]

_GEMM = ("tile", "subgroups", "a", "b", "sizes")


@click.command("check")
@click.argument("name", metavar="NAME")
@click.option("--target", default="bmg", show_default=True, help="Whose rules apply.")
@click.option("--type", "value_type", metavar="TYPE", help="Of the values, such as bf16.")
@click.option("--op", metavar="NAME", help="Of a pasted print, which does not name its operation.")
@click.option("--base", type=int, help="Address of the surface, in bytes.")
@click.option("--width", type=int, help="Width of the surface, in bytes.")
@click.option("--height", type=int, help="Height of the surface, in rows.")
@click.option("--pitch", type=int, help="Bytes from one row of the surface to the next.")
@click.option("--x", type=int, help="Column where the block starts, in elements of the message.")
@click.option("--y", type=int, help="Row where the block starts.")
@click.option(
    "--tile", type=Extents("M", "N", "K"), metavar="MxNxK", help="Of gemm: 256x256x32 if left out."
)
@click.option(
    "--subgroups", type=Extents("M", "N"), metavar="MxN", help="Of gemm: 8x4 if left out."
)
@click.option("--a", type=click.Choice(["row", "col"]), help="Of gemm: storage order of A.")
@click.option("--b", type=click.Choice(["row", "col"]), help="Of gemm: storage order of B.")
@click.option(
    "--sizes", type=Extents("M", "N", "K"), metavar="MxNxK", help="Of gemm: of the arrays."
)
@click.option("--allow-unfaithful", is_flag=True, help="Accept layouts that registers do not show.")
@click.option("--json", is_flag=True, help="Report as JSON on standard output.")
@click.option("-v", "--verbose", is_flag=True, help="Print every rule, with its source.")
def check_command(
    name: str,
    target: str,
    value_type: str | None,
    op: str | None,
    allow_unfaithful: bool,
    json: bool,
    verbose: bool,
    **given: Any,
) -> None:
    """Judge an atom, a message or a GEMM by the rules of a target; no arrays are needed.

    NAME is a name of CUTLASS, a template with its numbers, a message as vISA text, gemm, or C++:
    the type of a tiled MMA or copy, or what print() shows of one:

    \b
      pycute-xe check 'XE_LOAD_2D<16,32,32,16>' --target bmg --pitch 66
      pycute-xe check XE_2D_U16x32x16_LD_V --type bf16
      pycute-xe check 'XE_DPAS_TT<8,f32,bf16>' --target pvc
      pycute-xe check "$(cat printed.txt)" --op 'XE_LOAD_2D<16,32,32,16>' --type bf16
      pycute-xe check gemm --type f16 --tile 128x128x32 --subgroups 4x4 --sizes 300x200x61

    Says which rules hold, which leave no room, and what memory must be. Exit status 0 if legal,
    1 if a rule refuses, 2 for a question that makes no sense.
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.checking import check
    from pycute_xe.cli.check_outcome import CheckOutcome

    gemm = {option: given.pop(option) for option in _GEMM}
    use = {option: value for option, value in given.items() if value is not None}
    sizes = None
    if name == "gemm":
        subject: Any = _kernel(value_type or "bf16", gemm)
        sizes = gemm["sizes"] and dict(zip("MNK", gemm["sizes"], strict=True))
    else:
        _demand_gemm(name, gemm)
        subject = _subject(name, value_type, op)
    checked = check(subject, target, allow_unfaithful=allow_unfaithful, sizes=sizes, **use)
    outcome = CheckOutcome(name, checked)
    if json:
        click.echo(outcome.to_json())
    else:
        outcome.show(verbose)
    if not checked:
        raise click.exceptions.Exit(1)


def _subject(name: str, value_type: str | None, op: str | None) -> Any:
    """What C++ text stands for, or a name: its atom, if a type is told."""
    from pycute_xe.cutlass import get_atom

    written = from_cpp(name, "atom", op, value_type)
    if written is not None:
        return written
    if op is not None:
        raise InputError("check", {"op": op}, f"{name} is not a pasted print", "leave --op out")
    return name if value_type is None else get_atom(name, value_type)


def _kernel(value_type: str, gemm: dict[str, Any]) -> Any:
    from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    from pycute_xe.kernel import gemm as make_gemm

    m, n = gemm["subgroups"] or (8, 4)
    op = XE_DPAS_TT(8, "f32", value_type)
    mma = workgroup_mma(op, gemm["tile"] or (256, 256, 32), ((m, n, 1), (n, 1, 0)))
    return make_gemm(mma, a=gemm["a"] or "row", b=gemm["b"] or "row")


def _demand_gemm(name: str, gemm: dict[str, Any]) -> None:
    given = [option for option, value in gemm.items() if value is not None]
    if given:
        condition = f"--{given[0]} describes a GEMM, not {name}"
        raise InputError(
            "check",
            {"name": name},
            condition,
            f"leave --{given[0]} out, or write: pycute-xe check gemm",
        )
