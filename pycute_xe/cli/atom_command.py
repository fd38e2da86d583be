"""``pycute-xe atom``."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from pycute_xe.arch.target import get_target
from pycute_xe.atom import CopyAtom, LinearCopyAtom, MmaAtom, TiledCopy, TiledMma
from pycute_xe.cli.files import (
    json_text,
    picked,
    read_subject,
    report,
    save_option,
    saved_document,
    saved_drawing,
    svg_option,
)
from pycute_xe.comparing import ElementOwner, describe_atom, feeds, owner
from pycute_xe.comparing.holders import indices_in
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.errors import CuteError, InputError, LegalityError, quoted

if TYPE_CHECKING:
    from rich.console import Console

    from pycute_xe.comparing.atom_record import AnyAtom

__all__ = ["atom_command"]

# ------------------------------------------------------------ atom outcome
# One atom, for people and for programs.

_NARROWEST, _WIDEST = 60, 100


@dataclass(frozen=True)
class AtomOutcome:
    """An atom, the target, operand and element it was asked about, and files written."""

    asked: str
    atom: AnyAtom
    target: str = "bmg"
    operand: str | None = None
    files: tuple[str, ...] = field(default=())
    place: ElementOwner | None = None

    @property
    def name(self) -> str:
        """The name that `get_atom` takes."""
        return str(self.atom)

    def to_json(self) -> str:
        """Return everything, for programs."""
        record = describe_atom(self.atom)
        common: dict[str, Any] = {
            "name": self.name,
            **picked(record, "kind", "shipped", "faithful", "is_artefact"),
            "legal_on": list(record.targets),
            "target": self.target,
        }
        atom = self.atom
        rest = _mma(atom, self.target) if isinstance(atom, MmaAtom) else self._copy(atom)
        notes = {"notes": list(atom.notes), "files": list(self.files)}
        place = {} if self.place is None else {"at": self.place.to_json()}
        return json_text({**common, **place, **rest, **notes})

    def _copy(self, atom: LegacyCopyAtom | CopyAtom | LinearCopyAtom) -> dict[str, Any]:
        messages, refusal = _messages(atom, self.target)
        return {
            "value_type": atom.value_type.name,
            "rows": atom.shape[0],
            "columns": atom.shape[1],
            "mode": describe_atom(atom).mode,
            "messages": messages,
            "refusal": refusal,
            "ownership": _or_none(lambda: [list(map(list, places)) for places in atom.ownership()]),
            "layout_src_tv": _or_none(lambda: str(atom.layout_src_tv)),
            "layout_dst_tv": _or_none(lambda: str(atom.layout_dst_tv)),
            "registers": _or_none(lambda: _picture(atom.registers())),
            "faithful_units": _or_none(lambda: list(atom.faithful_units)),
            "feeds": [] if isinstance(atom, LinearCopyAtom) else self._feeds(atom),
        }

    def _feeds(self, atom: LegacyCopyAtom | CopyAtom) -> list[dict[str, str]]:
        from pycute_xe.explaining.copies import feeding_pairs

        answers = (
            feeds(copy, mma, operand) for copy, mma, operand in feeding_pairs(atom, self.operand)
        )
        columns = ("operand", "kind", "reason", "movement", "pattern")
        return [{"mma": str(feed.mma), **picked(feed, *columns)} for feed in answers]

    def show(self) -> None:
        """Print the explanation, or what was asked about one element."""
        from rich.console import Console
        from rich.text import Text

        from pycute_xe.explaining.atoms import explain_atom

        console = Console(highlight=False)
        if self.place is None:
            explanation = explain_atom(self.atom, self.target, self.operand)
            console.print(Text(explanation.title), soft_wrap=True, style="bold")
            width = _width(console)
            for line in wrap(explanation.rule, width):
                console.print(Text(line), soft_wrap=True)
            for heading, line in explanation.lines(width):
                text = Text(line)
                text.stylize("bold", 0, len(heading))
                console.print(text, soft_wrap=True)
        else:
            console.print(Text(str(self.place)), soft_wrap=True)
        for path in self.files:
            console.print(Text(f"wrote {path}"), soft_wrap=True)


def _width(console: Console) -> int:
    """Columns to fill: those of the terminal, or of COLUMNS, within what can be read."""
    known = console.is_terminal or "COLUMNS" in os.environ
    return max(_NARROWEST, min(console.width if known else _WIDEST, _WIDEST))


def _messages(
    atom: LegacyCopyAtom | CopyAtom | LinearCopyAtom, target: str
) -> tuple[list[dict[str, Any]], dict[str, str] | None]:
    try:
        parts = atom.messages(target)
    except LegalityError as error:
        return [], {"condition": error.condition, "way_out": error.fix}
    return [{"text": str(part.message), **picked(part, "x", "y")} for part in parts], None


def _mma(atom: MmaAtom, target: str) -> dict[str, Any]:
    broken = atom.op.broken_rules(target)
    return {
        "shape_mnk": list(atom.shape_mnk),
        "instruction": str(atom.op),
        "refusal": {"condition": broken[0].condition, "way_out": broken[0].fix} if broken else None,
        "operands": {name: _operand(atom, name) for name in ("A", "B", "C", "D")},
    }


def _operand(atom: MmaAtom, name: Any) -> dict[str, Any]:
    rows, cols = atom.operand_shape(name)
    return {
        "type": atom.operand_type(name).name,
        "rows": rows,
        "columns": cols,
        "ownership": [list(map(list, places)) for places in atom.ownership(name)],
        "registers": _picture(atom.registers(name)),
    }


def _picture(picture: Any) -> dict[str, Any]:
    return {
        "count": picture.registers,
        "unit_bits": picture.unit_bits,
        "slot_bits": picture.bits,
        "slots": [place and list(place) for place in picture.slots],
    }


def _or_none(answer: Any) -> Any:
    """An answer, ``None`` where the atom has none to give."""
    try:
        return answer()
    except CuteError:
        return None


# ------------------------------------------------------------ atom command


class Place(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """A row and a column, such as 3,5, or indices by name, such as k=3,n=5, as a dictionary.

    >>> Place().convert("3,5", None, None), Place().convert("k=3,n=5", None, None)
    ({'row': 3, 'column': 5}, {'k': 3, 'n': 5})
    """

    name = "place"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, int]:
        """Read the text."""
        indices = indices_in(str(value))
        if indices is None:
            words = "a row and a column such as 3,5, or indices such as k=3,n=5"
            self.fail(f"{quoted(value)} is not {words}", param, ctx)
        return indices


def _owner_of(atom: AnyAtom, at: dict[str, int], operand: str | None) -> ElementOwner:
    """Return the owner of an element as the command line names it."""
    if isinstance(atom, MmaAtom) and operand is None and "row" in at:
        condition = "of which operand is not said"
        fix = "add --operand, or write --at k=3,n=5"
        raise InputError("atom", {"at": at}, condition, fix)
    return owner(atom, operand, **at)


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
    help="Only who owns this element, such as 3,5 or k=3,n=5, and which registers hold it.",
)
@svg_option()
@save_option
@click.option("--json", is_flag=True, help="Report as JSON on standard output.")
def atom_command(
    name: str,
    value_type: str | None,
    stride: str | None,
    target: str,
    operand: str | None,
    at: dict[str, int] | None,
    svg: Path | None,
    save: str | None,
    json: bool,
) -> None:
    """Explain one atom: what its name means, who owns what, its messages, what it feeds.

    NAME is a name of CUTLASS, of its grammar of older copies, a template with its numbers, or a
    document of --save:

    \b
      pycute-xe atom XE_2D_U16x32x16_LD_V --type bf16
      pycute-xe atom XE_8x16x16_F32BF16BF16F32_TT --operand B
      pycute-xe atom 'XE_DPAS_TT<8,f32,bf16>'
      pycute-xe atom XE_2D_U16x32x16_LD_V --at 1,0
      pycute-xe atom 'XE_DPAS_TT<8,s32,s8>' --at k=5,n=7
      pycute-xe atom 'XE_LOAD_2D<16,32,32,16>' --target pvc
      pycute-xe atom 'Copy_Atom<Copy_Traits<XE_2D_U16x32x32_LD_V>, bfloat16_t>'

    Quotes keep the shell from reading < and >. `pycute-xe atoms` lists names.
    """  # noqa: D301 - the backspace keeps click from joining the lines
    # A wrong target is told before anything is computed.
    target = get_target(target).name
    atom = _asked_atom(name, value_type, stride)
    _demand_use(atom, operand)
    if saved_document(save, atom):
        return
    place = None if at is None else _owner_of(atom, at, operand)
    files = saved_drawing("atom", svg, atom, operand if isinstance(atom, MmaAtom) else None)
    report(AtomOutcome(name, atom, target, operand, files, place), json)


def _asked_atom(name: str, value_type: str | None, stride: str | None) -> AnyAtom:
    from pycute_xe.cutlass import as_atom, get_atom

    if stride is not None:
        strides = {"row": ("ld", 1), "col": (1, "ld")}
        return get_atom(name, value_type, strides[stride])
    named = read_subject("atom", name, None, value_type)
    return as_atom(named.atom if isinstance(named, (TiledCopy, TiledMma)) else named)


def _demand_use(atom: AnyAtom, operand: str | None) -> None:
    """Refuse an operand that nothing would be said about."""
    if operand is not None and isinstance(atom, LinearCopyAtom):
        condition = "linear copies are not judged for operands of an MMA"
        given = {"name": atom, "operand": operand}
        raise InputError("atom", given, condition, "leave --operand out")
