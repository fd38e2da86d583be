"""The kernels of the gallery: the source of each, and what is recorded of it.

A kernel is a file of examples/gallery/; its docstring is its title and what it shows. The record,
docs/gallery/NAME.json, is written by tests/gallery_records.py: the listing, the targets that take
it, the proof, and the machine code by statement. No compiler is needed here.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from runpy import run_path
from typing import Any

import kernel_pictures

from pycute_xe.kernel import Kernel

ROOT = Path(__file__).resolve().parents[2]
SOURCES, RECORDS = ROOT / "examples" / "gallery", ROOT / "docs" / "gallery"
COLOURS = {
    "send": ("#17afba", "messages"),
    "dpas": ("#ffa101", "DPAS"),
    "move": ("#b1cd73", "moves of fragments"),
    "alu": ("#54a063", "arithmetic of fragments"),
    "fill": ("#afe3ea", "payloads of messages"),
    "index": ("#c9a972", "indices and places"),
    "wait": ("#b28798", "waits"),
    "jump": ("#6589f3", "jumps"),
    "spill": ("#d92d20", "scratch memory"),
}
"""The kinds of instructions that `native.explain` tells apart: colours and words."""


@dataclass(frozen=True)
class GalleryKernel:
    """A kernel of the gallery."""

    name: str

    @cached_property
    def source(self) -> str:
        """The text of its file."""
        return (SOURCES / f"{self.name}.py").read_text(encoding="utf-8")

    @cached_property
    def record(self) -> dict[str, Any]:
        """What is recorded of it."""
        return json.loads((RECORDS / f"{self.name}.json").read_text(encoding="utf-8"))

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel."""
        return run_path(str(SOURCES / f"{self.name}.py"))["kernel"]()

    @property
    def code(self) -> str:
        """Its code, as it would be typed."""
        text = self.source.partition('"""\n\n')[2]
        return text.removeprefix("from __future__ import annotations\n\n").rstrip()

    @property
    def address(self) -> str:
        """Its page below the gallery."""
        return f"kernel-{self.name.replace('_', '-')}"

    @cached_property
    def _words(self) -> tuple[str, str]:
        text = " ".join((ast.get_docstring(ast.parse(self.source)) or "").split())
        title, _, shows = text.partition(": ")
        return title.rstrip("."), f"{shows[:1].upper()}{shows[1:]}" if shows else ""

    @property
    def title(self) -> str:
        """The title."""
        return self._words[0]

    @property
    def shows(self) -> str:
        """What is worth seeing."""
        return self._words[1]

    @property
    def kinds(self) -> list[str]:
        """The kind of each instruction, statement by statement."""
        return [kind for _, _, code in self.record["made"]["parts"] for kind, _ in code]

    @property
    def thumbnail(self) -> str:
        """A square for each instruction, in the colour of its kind."""
        return mosaic(self.kinds, 24, 5)

    @property
    def found_by(self) -> dict[str, tuple[str, ...]]:
        """By what the gallery finds it."""
        listing = self.record["listing"]
        words = re.findall(r"^ {4,}(\w+)", listing, re.MULTILINE)
        known = {"for": "loop", "when": "condition", "copy": "copy"}
        operations = dict.fromkeys(known.get(word, word) for word in words)
        atoms = dict.fromkeys(re.findall(r"\bXE_\w+", listing))
        types = dict.fromkeys(re.findall(r"\b(?:bf16|tf32|[fsu]\d+|e\dm\d)\b", listing))
        return {
            "operation": (*operations, "kernel"),
            "atom": tuple(atoms),
            "type": tuple(types),
            "target": tuple(self.record["legal"]),
        }

    @property
    def body(self) -> str:
        """The page below its title."""
        made, verdict = self.record["made"], self.record["verdict"]
        claim = re.search(r"computes +(.*)", self.record["listing"])
        proofs = [
            f"| {answer} | {what} | {_cell(said)} |" for answer, what, said in verdict["proofs"]
        ]
        legal = ", ".join(self.record["legal"])
        squares = mosaic(self.kinds, 64, 9)
        count = f"{made['instructions']} instructions for {made['target']}"
        return "\n".join(
            [
                self.shows,
                "",
                "```text",
                claim[1] if claim else "",
                "```",
                "",
                f"**{verdict['answer'].capitalize()}** for all sizes. Legal on {legal}.",
                "",
                "## Code",
                "",
                "```python",
                self.code,
                "```",
                "",
                "## Statements",
                "",
                "```text",
                self.record["listing"],
                "```",
                "",
                "## Who owns what",
                "",
                *kernel_pictures.section(self.kernel),
                "## Proof",
                "",
                "| | | |",
                "| --- | --- | --- |",
                *proofs,
                "",
                "## Machine code beside the statements",
                "",
                (
                    f"{count}, {made['registers']} registers, {made['scratch']} bytes of scratch, "
                    f"recorded with {made['compiler']}. A square is an instruction, in the order "
                    "of the statements; open a statement to read its code."
                ),
                "",
                f'<figure class="mosaic" markdown="0">{squares}{self._legend}</figure>',
                "",
                # Not a div: the search would read on at the end of the first one inside.
                '<section class="beside" data-search-exclude markdown="0">',
                self._beside,
                "</section>",
            ]
        )

    @property
    def _legend(self) -> str:
        counts = Counter(self.kinds)
        items = (
            f'<li><span style="background:{colour}"></span>{counts[kind]} {words}</li>'
            for kind, (colour, words) in COLOURS.items()
            if counts[kind]
        )
        return f"<figcaption><ul>{''.join(items)}</ul></figcaption>"

    @property
    def _beside(self) -> str:
        return "".join(
            _statement(depth, title, code) for depth, title, code in self.record["made"]["parts"]
        )


def _cell(text: str) -> str:
    return text.replace("|", "&#124;").replace("[", "\\[").replace("*", "\\*")


def _statement(depth: int, title: str, code: list[list[str]]) -> str:
    """A statement and its code, which is folded where it is long."""
    head = f'<code style="padding-left:{0.3 + depth}rem">{escape(title)}</code>'
    if not code:
        return f"<div>{head}<span>no instruction</span></div>"
    squares = mosaic([kind for kind, _ in code], 48, 6)
    text = escape("\n".join(text for _, text in code))
    count = f"{len(code)} instruction{'s'[: len(code) != 1]}"
    fold = f'<details><summary>{count} {squares}</summary><pre tabindex="0">{text}</pre></details>'
    return f"<div>{head}{fold}</div>"


def mosaic(kinds: list[str], across: int, step: int) -> str:
    """Return squares in the colours of kinds, row by row, as SVG: a path for each kind."""
    places: dict[str, list[str]] = {}
    for at, kind in enumerate(kinds):
        x, y = step * (at % across), step * (at // across)
        places.setdefault(kind, []).append(f"M{x} {y}h{step - 1}v{step - 1}h-{step - 1}z")
    wide, high = step * min(across, len(kinds)), step * -(-len(kinds) // across)
    paths = "".join(
        f'<path fill="{COLOURS[kind][0]}" d="{"".join(drawn)}"/>' for kind, drawn in places.items()
    )
    return (
        f'<svg class="thumb" aria-hidden="true" viewBox="0 0 {wide} {high}" width="{wide}" '
        f'height="{high}">{paths}</svg>'
    )


def kernels() -> list[GalleryKernel]:
    """All kernels that have a record, in the order of their names."""
    return [GalleryKernel(path.stem) for path in sorted(SOURCES.glob("*.py"))]
