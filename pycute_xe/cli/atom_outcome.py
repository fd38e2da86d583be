"""Floor 10: one atom, for people and for programs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from pycute_xe.atom import (
    CopyAtom,
    LegacyCopyAtom,
    LinearCopyAtom,
    MmaAtom,
    describe_atom,
    feeds,
)
from pycute_xe.errors import CuteError, LegalityError

__all__ = ["Atom", "AtomOutcome"]

Atom = MmaAtom | LegacyCopyAtom | CopyAtom | LinearCopyAtom


@dataclass(frozen=True)
class AtomOutcome:
    """An atom, the target and operand it was asked about, and files written."""

    asked: str
    atom: Atom
    target: str = "bmg"
    operand: str | None = None
    files: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """The name that `get_atom` takes."""
        return str(self.atom.op) if isinstance(self.atom, CopyAtom) else str(self.atom)

    def to_json(self) -> str:
        """Return everything, for programs."""
        record = describe_atom(self.name)
        common: dict[str, Any] = {
            "name": self.name,
            "kind": record.kind,
            "shipped": record.shipped,
            "faithful": record.faithful,
            "legal_on": list(record.targets),
            "target": self.target,
        }
        atom = self.atom
        rest = _mma(atom, self.target) if isinstance(atom, MmaAtom) else self._copy(atom)
        notes = {"notes": list(atom.notes), "files": list(self.files)}
        return json.dumps({**common, **rest, **notes}, indent=2)

    def _copy(self, atom: LegacyCopyAtom | CopyAtom | LinearCopyAtom) -> dict[str, Any]:
        messages, refusal = _messages(atom, self.target)
        return {
            "value_type": atom.value_type.name,
            "rows": atom.shape[0],
            "columns": atom.shape[1],
            "mode": describe_atom(self.name).mode,
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
        """Print the explanation."""
        from rich.console import Console
        from rich.text import Text

        from pycute_xe.explaining.atoms import explain_atom

        told = explain_atom(self.atom, self.target, self.operand)
        console = Console(highlight=False)
        # The text is made for a width; a terminal that is narrower breaks its lines itself.
        title, *lines = str(told).splitlines()
        console.print(Text(title), soft_wrap=True, style="bold")
        for line in lines:
            text = Text(line)
            if line[:1].strip() and line != told.rule:
                text.stylize("bold", 0, 10)
            console.print(text, soft_wrap=True)
        for path in self.files:
            console.print(Text(f"wrote {path}"), soft_wrap=True)


def _messages(
    atom: LegacyCopyAtom | CopyAtom | LinearCopyAtom, target: str
) -> tuple[list[dict[str, Any]], dict[str, str] | None]:
    try:
        parts = atom.messages(target)
    except LegalityError as error:
        return [], {"condition": error.condition, "way_out": error.fix}
    return [_message(part) for part in parts], None


def _message(part: Any) -> dict[str, Any]:
    """A message as text, and where it starts, in the fields it has for that."""
    place = {key: getattr(part, key) for key in ("x", "y", "first") if hasattr(part, key)}
    return {"text": str(part.message), **place}


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
