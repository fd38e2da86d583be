"""What became of each statement, as a value: text, record, table and drawing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import groupby

from pycute_xe.drawing.scene import Cell, Panel, Scene, make_panel
from pycute_xe.errors import InputError, quoted
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.typing import shown

__all__ = ["KINDS", "Explained", "Made", "Part"]

KINDS = {
    "send": "S",
    "dpas": "D",
    "move": "m",
    "alu": "a",
    "fill": "f",
    "index": "i",
    "wait": "w",
    "jump": "j",
    "spill": "!",
    "dead": "–",
}
"""What instructions are there for, and the letter of each in a drawing.

``send`` is a message: a load, store, prefetch, atomic, fence, arrival at a barrier; ``move`` and
``alu`` act on fragments; ``fill`` writes the registers that a message is sent with, its payload;
``index`` computes indices, places and conditions; ``wait`` orders registers or waits at a barrier;
``spill`` moves registers to scratch memory and back; ``dead`` stands behind the end of the thread.
"""


@dataclass(frozen=True, slots=True)
class Made:
    """An instruction: its number in the code, its part, and by what that is known.

    ``by`` is "line" where the compiler names the line of the text, "use" where the part alone uses
    the result, "place" before the kernel begins and behind its end, and empty where nothing tells.
    ``loop`` is in how many loops of the machine code it stands, ``line`` the line of the text.
    """

    number: int
    part: int
    by: str
    kind: str
    depth: int
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """A statement by its line of the listing, or what is around statements, of negative number.

    ``kind`` is that of the statement, empty for the others.
    """

    number: int
    title: str
    depth: int
    kind: str


@typed_fields
@dataclass(frozen=True)
class Explained:
    """A kernel's statements, and the instructions that belong to each. Made by `explain`.

    ``notes`` say what stands out: payloads that each trip fills anew, statements that are written
    out several times. Scratch in a loop is said before all else.
    """

    kernel: str
    compiler: str
    target: str
    registers: int
    scratch: int
    parts: tuple[Part, ...]
    instructions: tuple[Made, ...]
    notes: tuple[str, ...]

    _repr_mimebundle_ = shown

    def noted(self, *notes: str) -> Explained:
        """Return the same with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    @cached_property
    def _by_part(self) -> dict[int, tuple[Made, ...]]:
        out: dict[int, list[Made]] = {part.number: [] for part in self.parts}
        for each in self.instructions:
            out[each.part].append(each)
        return {number: tuple(code) for number, code in out.items()}

    def of(self, part: Part) -> tuple[Made, ...]:
        """Return the instructions of a part, in the order of the code."""
        return self._by_part[part.number]

    @property
    def attributed(self) -> int:
        """How many instructions belong to statements."""
        return sum(each.part >= 0 for each in self.instructions)

    @property
    def coverage(self) -> str:
        """How many instructions belong to statements, by what that is known, and the others."""
        by = Counter(each.by for each in self.instructions if each.part >= 0)
        around = [
            f"{len(self.of(part))} {part.title.partition(':')[0].partition(',')[0]}"
            for part in self.parts
            if part.number < 0 and self.of(part)
        ]
        return (
            f"{self.attributed} of {len(self.instructions)} instructions belong to statements: "
            f"{by['line']} by the compiler's lines, {by['use']} by what uses them; "
            f"others: {', '.join(around) or 'none'}"
        )

    def counts(self, part: Part) -> dict[str, int]:
        """Return how many instructions of each kind a part has."""
        return dict(Counter(each.kind for each in self.of(part)))

    def trip(self, part: Part) -> int:
        """Return how many instructions of a part stand in loops of the machine code."""
        return sum(each.depth > 0 for each in self.of(part))

    # ------------------------------------------------------------ text

    @property
    def columns(self) -> tuple[str, ...]:
        """The kinds of instructions that there are."""
        there = {each.kind for each in self.instructions}
        return tuple(kind for kind in KINDS if kind in there)

    def rows(self) -> Iterator[tuple[Part, tuple[int, ...]]]:
        """Yield each part with its numbers: all, those in loops, and of each kind.

        What is not a statement and has no instruction is left out.
        """
        for part in self.parts:
            counts = self.counts(part)
            if counts or part.number >= 0:
                each = (counts.get(kind, 0) for kind in self.columns)
                yield part, (len(self.of(part)), self.trip(part), *each)

    @property
    def _warning(self) -> str:
        """A line that warns of scratch in loops, empty without any."""
        spilled = sum(each.kind == "spill" and each.depth > 0 for each in self.instructions)
        if not spilled:
            return ""
        return f"warning: {spilled} messages to or from scratch memory stand in loops\n"

    def __str__(self) -> str:
        """A row for each statement, with counts of each kind, and the notes."""
        head = ("all", "loops", *self.columns)
        first = (
            f"{self.kernel} for {self.target} by {self.compiler}: {len(self.instructions)} "
            f"instructions, {self.registers} registers, {self.scratch:,} bytes of scratch"
        )
        lines = [
            first,
            f"{'':{_WIDE}}" + "".join(f" {name:>5}" for name in head),
        ]
        for part, numbers in self.rows():
            text = "".join(f" {number or '·':>5}" for number in numbers)
            lines.append(f"{_title(part):{_WIDE}}{text}")
        notes = (f"note: {words}" for words in self.notes)
        return "\n".join([self._warning + lines[0], *lines[1:], self.coverage, *notes])

    @typed
    def code(self, statement: str = "") -> str:
        """Return statements with their instructions below: those whose line begins so.

        What is inside a loop follows it. A question mark stands before an instruction that is
        attributed by what uses its result. Raises `InputError` where no statement begins so.
        """
        out: list[str] = []
        inside: int | None = None
        for part in self.parts:
            begins = " ".join(part.title.split()).startswith(statement)
            if inside is not None and part.depth <= inside:
                inside = None
            if inside is None and begins:
                inside = part.depth
            if inside is not None and (self.of(part) or part.number >= 0):
                indent = "  " * part.depth
                out += [f"{indent}{part.title}", *(f"{indent}  {w}" for w in self.code_of(part))]
        if not out:
            raise InputError(
                "native.explain",
                {"kernel": self.kernel, "statement": quoted(statement)},
                f"no statement begins with {quoted(statement)}",
                f"use {', '.join(dict.fromkeys(p.title.split()[0] for p in self.parts))}",
            )
        return "\n".join(out)

    def code_of(self, part: Part) -> tuple[str, ...]:
        """Return the instructions of a part as text, the first two of many alike."""
        return tuple(_shortened(self.of(part)))

    def to_json(self) -> str:
        """Return the whole as JSON: the fields, parts and instructions as objects."""
        return json.dumps(asdict(self))

    # ------------------------------------------------------------ drawing

    @property
    def scene(self) -> Scene:
        """The code as `draw` shows it: a cell for each instruction, in the colour of its part."""
        panels: list[Panel] = []
        made = [part for part in self.parts if part.number >= 0 and self.of(part)]
        colours = {part.number: colour for colour, part in enumerate(made)}
        titles = {part.number: part.title for part in self.parts}
        for inside, run in groupby(self.instructions, key=lambda each: each.depth > 0):
            code = list(run)
            name = "in a loop" if inside else "outside of loops"
            cells = _cells(code, titles, colours)
            panels.append(_panel(f"{name}, {len(code)} instructions", cells, len(panels)))
        again = f", which repeat from number {_COLOURS + 1} on" if len(made) > _COLOURS else ""
        caption = (
            f"{self.coverage}.",
            "A cell is an instruction, in the order of the code; a dashed one is of no statement.",
            f"Colours are statements{again}.",
            ", ".join(f"{letter} {kind}" for kind, letter in KINDS.items()) + ".",
        )
        title = f"What {self.compiler} made of {self.kernel} for {self.target}"
        legend = tuple(_short(part.title, 34) for part in made[:_COLOURS])
        return Scene(title, caption, tuple(panels), "statement", legend)


_WIDE, _ACROSS, _COLOURS = 40, 32, 16


def _short(text: str, most: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _title(part: Part) -> str:
    return "  " * part.depth + _short(part.title, _WIDE - 2 * part.depth)


def _shortened(code: tuple[Made, ...]) -> Iterator[str]:
    """Yield instructions; of many alike in a row, the first two and how many follow."""
    for _, run in groupby(code, key=lambda each: (each.kind, each.by, each.depth > 0)):
        alike = list(run)
        few = alike if len(alike) <= 3 else alike[:2]
        mark = "?" if alike[0].by == "use" else " "
        yield from (f"{mark} {each.kind:5} {each.text}" for each in few)
        if len(alike) > len(few):
            yield f"{mark} {alike[0].kind:5} … and {len(alike) - len(few)} more"


def _cells(code: list[Made], titles: dict[int, str], colours: dict[int, int]) -> list[Cell]:
    out: list[Cell] = []
    for i, each in enumerate(code):
        data = (("number", each.number), ("statement", each.part))
        tip = f"{each.number}: {each.text} ({' '.join(titles[each.part].split())})"
        place = divmod(i, _ACROSS)
        out.append(Cell(*place, colours.get(each.part), (KINDS[each.kind],), data, tip))
    return out


def _panel(name: str, cells: list[Cell], slot: int) -> Panel:
    panel = make_panel(name, cells, ("instruction", ""), False, (0, slot))
    firsts = (cell for cell in cells if cell.col == 0)
    return replace(panel, row_names=tuple(str(dict(cell.data)["number"]) for cell in firsts))
