"""Writes a page per name of an atom that CUTLASS ships: what the library says, and a picture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import atom_catalogue
import small_pictures

from pycute_xe import draw, explain, feeds
from pycute_xe.atom import MmaAtom
from pycute_xe.cutlass import (
    LegacyCopyAtom,
    catalogue,
    get_atom,
    parse_block2d_name,
    shipped_names,
)
from pycute_xe.drawing.scene import Panel
from pycute_xe.errors import CuteError
from pycute_xe.playground.formulas import ownership_formula

FOLDER = "atoms/names"
TARGETS = atom_catalogue.TARGETS
FED = (
    "XE_8x16x16_F32BF16BF16F32_TT",
    "XE_8x16x16_F32F16F16F32_TT",
    "XE_8x16x32_S32S8S8S32_TT",
    "XE_8x16x32_S32U8U8S32_TT",
    "XE_8x16x8_F32TF32TF32F32_TT",
)
MODES = {
    "N": "as it lies in memory",
    "T": "the transpose of what lies in memory",
    "V": "rows packed in pairs or fours (VNNI)",
}


def names() -> tuple[str, ...]:
    """The names without template arguments, in the order of the catalogue."""
    return tuple(name for name in catalogue() if "<" not in name)


def file_of(name: str) -> str:
    """The page of a name."""
    return f"{FOLDER}/{name.replace('::', '-')}.md"


def overview() -> str:
    """Return the page that lists them, as Markdown."""
    lines = [f"- [`{name}`](../names/{name.replace('::', '-')}.md)" for name in names()]
    count = f"{len(lines)} names that CUTLASS ships without template arguments, each with a page."
    return "\n".join(["# Every name of an atom", "", count, "", *lines, ""])


def page(name: str) -> str:
    """Return the page of a name as Markdown."""
    match get_atom(name):
        case LegacyCopyAtom() as atom:
            rows = [*_name_rows(name), *_copy_rows(atom)]
            panels = _copy_panels(atom)
        case MmaAtom() as atom:
            rows = list(_mma_rows(atom))
            panels = [p for operand in "ABC" for p in _panels(atom, operand)]
        case atom:
            raise TypeError(f"{name}: a page of {type(atom).__name__} is not written")
    table = [f"| {title} | {text} |" for title, text in rows]
    asked = {"kind": "atom", "name": name}
    return "\n".join(
        [
            f"# {name}",
            "",
            f'<figure markdown="0">{small_pictures.picture(name, panels)}</figure>',
            "",
            (
                "A colour is a work-item; point at a cell, or step, to see all that it owns, value "
                f"by value. [The playground](../../playground.md?{urlencode(asked)}) has the "
                "drawing with all labels, and the steps."
            ),
            "",
            "| | |",
            "| --- | --- |",
            *table,
            "",
        ]
    )


def _panels(atom: LegacyCopyAtom | MmaAtom, what: str) -> tuple[Panel, ...]:
    try:
        return draw(atom, what).scene.panels
    except CuteError:  # a prefetch has no registers, a large block no room
        return ()


def _copy_panels(atom: LegacyCopyAtom) -> list[Panel]:
    """The panels that a small picture of a copy has."""
    return [p for what in ("memory", "registers") for p in _panels(atom, what)]


def _name_rows(text: str) -> Iterator[tuple[str, str]]:
    name = parse_block2d_name(text)
    yield "data type", f"`{name.data_type}`: elements of {name.bits} bits"
    yield "rows x columns", f"{name.rows} x {name.cols}{', packed' if name.packed else ''}"
    done = "prefetch" if name.is_prefetch else "store" if name.is_store else "load"
    yield "what it does", f"{done}, `{name.mode}`: {MODES[str(name.mode)]}"


def _copy_rows(atom: LegacyCopyAtom) -> Iterator[tuple[str, str]]:
    block, memory = (f"{rows} x {cols}" for rows, cols in (atom.shape, atom.memory_shape))
    yield "block", f"{block} of {atom.value_type}; {memory} in memory"
    if "::" in str(atom.name):
        yield from (("messages", text) for text in atom_catalogue.message_lines(atom))
    else:
        yield from atom_catalogue.facts(atom)
        yield from _fed(str(atom.name))
    yield from _formula(atom)
    yield from _limits(atom)
    yield from _nearest(atom)
    yield "C++", f"`cute::{atom.name}`; as a template `{atom.template}`"


def _formula(atom: LegacyCopyAtom) -> Iterator[tuple[str, str]]:
    """Row and column of a value, with a link to their proof."""
    formula = ownership_formula(atom)
    if formula is not None and "::" not in str(atom.name):
        asked = {"kind": "verify", "name": str(atom.name), "row": formula[0], "column": formula[1]}
        link = f"[prove it](../../playground.md?{urlencode(asked)})"
        yield (
            "formula",
            f"value v of work-item t: row `{formula[0]}`, column `{formula[1]}`; {link}",
        )


def _nearest(atom: LegacyCopyAtom) -> Iterator[tuple[str, str]]:
    """Names that differ in a part: those that `explain` names."""
    for heading, lines in explain(atom).sections():
        if heading == "see also":
            names = [
                n for n in re.findall(r"XE_2D_[\w:]+", " ".join(lines)) if n in shipped_names()
            ]
            links = (f"[`{n}`]({n.replace('::', '-')}.md)" for n in dict.fromkeys(names))
            yield from (("nearest names", ", ".join(links)) for _ in names[:1])


def _fed(name: str) -> Iterator[tuple[str, str]]:
    """The MMA atoms that the copy feeds without a move, and those with moves."""
    for kind, title in (("free", "feeds without a move"), ("reorder", "feeds after moves")):
        fed = [f"{op} of `{mma}`" for mma in FED for op in "ABCD" if _kind(name, mma, op) == kind]
        if fed:
            yield title, "<br>".join(fed)


def _kind(name: str, mma: str, operand: str) -> str:
    try:
        return str(feeds(name, mma, operand).kind)
    except CuteError:
        return "refused"


def _limits(atom: LegacyCopyAtom) -> Iterator[tuple[str, str]]:
    """On which targets its messages are legal."""
    for target in TARGETS:
        try:
            many = len(list(atom.messages(target)))
        except CuteError as error:
            yield f"on {target}", f"refused: {error.condition}"
        else:
            yield f"on {target}", f"{many} message{'s' if many > 1 else ''}"


def _mma_rows(atom: MmaAtom) -> Iterator[tuple[str, str]]:
    m, n, k = atom.shape_mnk
    yield "product", f"`D[{m},{n}] = A[{m},{k}] B[{k},{n}] + C[{m},{n}]`"
    for operand in "ABCD":
        rows, cols = atom.operand_shape(operand)
        yield operand, f"{rows} x {cols} of {atom.operand_type(operand)}"
    yield from (
        (f"layout of {operand}", f"`{getattr(atom, f'tv_layout_{operand}')}`") for operand in "ABC"
    )
    yield "instruction", f"`{atom.op}`"
    yield from (("note", f"{note[0].upper()}{note[1:]}.") for note in atom.notes)
    yield "C++", f"`cute::{atom.name}`"
