"""Floor 12: one atom, for people and for programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from pycute_xe.atom import CopyAtom, LinearCopyAtom, MmaAtom
from pycute_xe.cli.atom_place import ElementPlace
from pycute_xe.cli.json_text import json_text
from pycute_xe.comparing import describe_atom, feeds
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.errors import CuteError, LegalityError

if TYPE_CHECKING:
    from rich.console import Console

    from pycute_xe.comparing.atom_record import AnyAtom
    from pycute_xe.explaining.atom_explanation import AtomExplanation

__all__ = ["AtomOutcome"]

_NARROWEST, _WIDEST, _MARGIN = 60, 100, 11


@dataclass(frozen=True)
class AtomOutcome:
    """An atom, the target, operand and element it was asked about, and files written."""

    asked: str
    atom: AnyAtom
    target: str = "bmg"
    operand: str | None = None
    files: tuple[str, ...] = field(default=())
    place: ElementPlace | None = None

    @property
    def name(self) -> str:
        """The name that `get_atom` takes."""
        return str(self.atom)

    def to_json(self) -> str:
        """Return everything, for programs."""
        record = describe_atom(self.atom)
        common: dict[str, Any] = {
            "name": self.name,
            "kind": record.kind,
            "shipped": record.shipped,
            "faithful": record.faithful,
            "is_artefact": record.is_artefact,
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
            "ownership": _or_none(lambda: [list(map(list, held)) for held in atom.ownership()]),
            "layout_src_tv": _or_none(lambda: str(atom.layout_src_tv)),
            "layout_dst_tv": _or_none(lambda: str(atom.layout_dst_tv)),
            "registers": _or_none(lambda: _picture(atom.registers())),
            "faithful_units": _or_none(lambda: list(atom.faithful_units)),
            "feeds": [] if isinstance(atom, LinearCopyAtom) else self._feeds(atom),
        }

    def _feeds(self, atom: LegacyCopyAtom | CopyAtom) -> list[dict[str, str]]:
        from pycute_xe.explaining.telling_copies import feeding_pairs

        found = (
            feeds(copy, mma, operand) for copy, mma, operand in feeding_pairs(atom, self.operand)
        )
        return [
            {
                "mma": str(feed.mma),
                "operand": feed.operand,
                "kind": feed.kind,
                "reason": feed.reason,
                "movement": feed.movement,
                "pattern": feed.pattern,
            }
            for feed in found
        ]

    def show(self) -> None:
        """Print the explanation, or what was asked about one element."""
        from rich.console import Console
        from rich.text import Text

        from pycute_xe.explaining.atoms import explain_atom

        console = Console(highlight=False)
        if self.place is None:
            told = explain_atom(self.atom, self.target, self.operand)
            console.print(Text(told.title), soft_wrap=True, style="bold")
            for heading, line in _lines(told, _width(console)):
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


def _lines(told: AtomExplanation, width: int) -> Iterator[tuple[str, str]]:
    """The heading that a line starts with, and the line; what is broken hangs further in."""
    yield from (("", line) for line in wrap(told.rule, width))
    for heading, texts in told.sections():
        shown = heading
        for text in texts:
            for line in _wrapped(text, width - _MARGIN):
                yield shown, f"{shown:{_MARGIN}}{line}".rstrip()
                shown = ""


def _wrapped(text: str, room: int) -> list[str]:
    # As it is where it fits: spaces line columns up.
    if len(text) <= room:
        return [text]
    further = " " * (len(text) - len(text.lstrip()) + 2)
    return wrap(text, room, subsequent_indent=further)


def _messages(
    atom: LegacyCopyAtom | CopyAtom | LinearCopyAtom, target: str
) -> tuple[list[dict[str, Any]], dict[str, str] | None]:
    try:
        parts = atom.messages(target)
    except LegalityError as error:
        return [], {"condition": error.condition, "way_out": error.fix}
    return [_message(part) for part in parts], None


def _message(part: Any) -> dict[str, Any]:
    """A message as text, and where in the block it starts."""
    return {"text": str(part.message), "x": part.x, "y": part.y}


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
        "ownership": [list(map(list, held)) for held in atom.ownership(name)],
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
