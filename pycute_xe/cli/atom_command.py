"""Floor 12: ``pycute-xe atom``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pycute_xe.cli.atom_outcome import AtomOutcome
from pycute_xe.cli.atom_place import place_of
from pycute_xe.cli.cpp_text import from_cpp
from pycute_xe.cli.files import demand_folder
from pycute_xe.errors import InputError, quoted

if TYPE_CHECKING:
    from pycute_xe.comparing.atom_record import AnyAtom

__all__ = ["atom_command"]


class Place(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """A row and a column, such as 3,5, as a tuple.

    >>> Place().convert("3,5", None, None)
    (3, 5)
    """

    name = "place"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Read the text."""
        found = re.fullmatch(r"\(?([0-9]{1,9}), *([0-9]{1,9})\)?", str(value))
        if found is None:
            self.fail(f"{quoted(value)} is not a row and a column such as 3,5", param, ctx)
        return int(found[1]), int(found[2])


@click.command("atom")
@click.argument("name", metavar="NAME")
@click.option("--type", "value_type", metavar="TYPE", help="Of a copy's values, such as bf16.")
@click.option(
    "--stride",
    type=click.Choice(["row", "col"]),
    help="Which mode of the tensor an older copy moves is contiguous: the last or the first.",
)
@click.option("--target", default="bmg", show_default=True, help="Whose messages and rules apply.")
@click.option(
    "--operand",
    type=click.Choice(["A", "B", "C", "D"]),
    help="Of an MMA: shown in full. Of a copy: judged for this operand alone.",
)
@click.option(
    "--at",
    type=Place(),
    metavar="ROW,COL",
    help="Only who owns this element, where it is held, and who finds it there.",
)
@click.option(
    "--svg",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the drawing as SVG.",
)
@click.option("--json", is_flag=True, help="Report as JSON on standard output.")
def atom_command(
    name: str,
    value_type: str | None,
    stride: str | None,
    target: str,
    operand: str | None,
    at: tuple[int, int] | None,
    svg: Path | None,
    json: bool,
) -> None:
    """Explain one atom: what its name means, who owns what, its messages, what it feeds.

    NAME is a name of CUTLASS, of its grammar of older copies, or a template with its numbers:

    \b
      pycute-xe atom XE_2D_U16x32x16_LD_V --type bf16
      pycute-xe atom XE_8x16x16_F32BF16BF16F32_TT --operand B
      pycute-xe atom 'XE_DPAS_TT<8,f32,bf16>'
      pycute-xe atom XE_2D_U16x32x16_LD_V --at 1,0
      pycute-xe atom 'XE_LOAD_2D<16,32,32,16>' --target pvc
      pycute-xe atom 'Copy_Atom<Copy_Traits<XE_2D_U16x32x32_LD_V>, bfloat16_t>'

    Quotes keep the shell from reading < and >. `pycute-xe atoms` lists names.
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.arch.target import get_target

    # A wrong target is told before anything is computed.
    target = get_target(target).name
    atom = _found(name, value_type, stride)
    _demand_use(atom, operand)
    place = None if at is None else place_of(atom, *at, operand)
    files = () if svg is None else (str(_saved(atom, svg, operand)),)
    outcome = AtomOutcome(name, atom, target, operand, files, place)
    if json:
        click.echo(outcome.to_json())
    else:
        outcome.show()


def _found(name: str, value_type: str | None, stride: str | None) -> AnyAtom:
    from pycute_xe.cutlass import get_atom

    written = None if stride else from_cpp(name, "atom", None, value_type)
    if written is not None:
        return getattr(written, "atom", written)
    strides = {None: None, "row": ("ld", 1), "col": (1, "ld")}
    return get_atom(name, value_type, strides[stride])


def _demand_use(atom: AnyAtom, operand: str | None) -> None:
    """Refuse an operand that nothing would be said about."""
    from pycute_xe.atom import LinearCopyAtom

    if operand is not None and isinstance(atom, LinearCopyAtom):
        raise InputError(
            "atom",
            {"name": atom, "operand": operand},
            "linear copies are not judged for operands of an MMA",
            "leave --operand out",
        )


def _saved(atom: Any, path: Path, operand: str | None) -> Path:
    from pycute_xe.atom import MmaAtom
    from pycute_xe.drawing import draw

    demand_folder("atom", path)
    return draw(atom, operand if isinstance(atom, MmaAtom) else None).save(path)
