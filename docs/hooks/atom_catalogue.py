"""Writes the catalogue of atoms: a page per family, each atom with an anchor of its own name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import atom_words

from pycute_xe import draw
from pycute_xe.arch.target import grf_bytes, targets
from pycute_xe.atom import CopyAtom
from pycute_xe.atom.copy_answers import CopyAnswers, PlacedMessage
from pycute_xe.cutlass import LegacyCopyAtom, get_atom, parse_block2d_name, shipped_names
from pycute_xe.errors import DTypeError
from pycute_xe.numeric import as_numeric, numerics

TARGETS = tuple(targets())


@dataclass(frozen=True)
class Family:
    """A page of the catalogue: its title, whose names it shows, and which of them it draws."""

    title: str
    types: tuple[str, ...]
    intro: str
    drawn: tuple[str, ...]


FAMILIES = {
    "u4": Family(
        "U4 copies",
        ("U4", "Packed_U4"),
        "4-bit elements travel in bytes or dwords: two of a row share a byte.",
        ("XE_2D_U4x16x8_LD_T",),
    ),
    "u8": Family(
        "U8 copies",
        ("U8", "Packed_U8"),
        "For 8-bit integers and for fp8. `Packed_` copies give a work-item adjacent columns, which "
        "is what operand A of an 8-bit MMA needs.",
        ("XE_2D_U8x1x32_LD_N", "XE_2D_Packed_U8x2x32_LD_N", "XE_2D_U8x16x8_LD_T"),
    ),
    "u16": Family(
        "U16 copies",
        ("U16", "Packed_U16"),
        "For bf16, f16 and 16-bit integers.",
        ("XE_2D_U16x4x16_LD_N", "XE_2D_U16x16x16_LD_V", "XE_2D_U16x16x8_LD_T"),
    ),
    "u32": Family(
        "U32 and TF32 copies",
        ("U32", "TF32"),
        "For f32 and 32-bit integers, and for tf32, whose blocks may be 8 columns wide.",
        ("XE_2D_U32x4x16_LD_N", "XE_2D_TF32x4x8_LD_N", "XE_2D_U32x16x4_LD_T"),
    ),
    "u64": Family(
        "U64 copies",
        ("U64",),
        "Transposed loads of 64-bit elements.",
        ("XE_2D_U64x8x4_LD_T",),
    ),
}


def family_page(key: str) -> str:
    """Return the page of one family as Markdown."""
    family = FAMILIES[key]
    copies = [name for name in shipped_names() if _is_of(family, name)]
    atoms = [_atom(name) for name in copies]
    lines = [
        f"# {family.title}",
        "",
        f"{family.intro} {_INTRO.format(len(atoms))}",
        "",
        *_overview(atoms),
        "",
        _LEGEND,
        "",
        "## Pictures",
        "",
        *(drawing(_atom(name)) for name in family.drawn),
        "## Atom by atom",
        "",
    ]
    for atom in atoms:
        lines += _section(atom)
    return "\n".join(lines) + "\n"


_INTRO = (
    "{} names that CUTLASS ships, in its order. Rows and columns count elements of the name, from "
    "0; `t` is a work-item, 0 to 15. [Who owns what](../ownership.md) explains the words, "
    "[the audit](../audit.md) compares with C++."
)
_LEGEND = (
    "A message is written bits, count × width × height, then n or t for transposed and for "
    "packed. *Widths*: read in so many bits, the registers show each work-item what it owns, in "
    "that order; *other order*: in some width its own elements, but in another order. These copies "
    "go with the [older MMA names](mma.md#older-names), the [templates](templates.md) with "
    "`XE_DPAS_TT`: each pair means the same by an owner."
)


def _is_of(family: Family, text: str) -> bool:
    name = parse_block2d_name(text)
    kind = f"{'Packed_' if name.packed else ''}{name.data_type}"
    return kind in family.types and not name.is_prefetch


def _atom(name: str, value_type: str | None = None) -> LegacyCopyAtom:
    atom = get_atom(name, value_type)
    if not isinstance(atom, LegacyCopyAtom):
        raise TypeError(f"{name} is not a copy")
    return atom


def drawing(atom: LegacyCopyAtom | CopyAtom) -> str:
    """Return the drawing of an atom, panel by panel where they would be too small together."""
    panels = (None,) if atom.shape[1] <= 16 else ("memory", "registers")
    figures = (f'<figure markdown="0">{draw(atom, panel).svg}</figure>\n' for panel in panels)
    return "\n".join(figures)


def _overview(atoms: Iterable[LegacyCopyAtom]) -> Iterable[str]:
    yield "| name | block | in memory | work-item t owns | messages | widths |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for atom in atoms:
        name = str(atom.name)
        block, memory = (_size(size) for size in (atom.shape, atom.memory_shape))
        sent = "<br>".join(f"`{text}`" for text in _short(atom.messages("bmg")))
        link = f"[`{name.removeprefix('XE_2D_')}`](../names/{name}.md)"
        yield f"| {link} | {block} | {memory} | {_owned(atom)} | {sent} | {_widths(atom)} |"


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]} × {size[1]}"


def _owned(atom: LegacyCopyAtom) -> str:
    return atom_words.ownership(atom.ownership(), atom.shape)


def _widths(atom: LegacyCopyAtom) -> str:
    if atom.faithful_units:
        return ", ".join(map(str, atom.faithful_units))
    return "none" if own_width(atom) is None else "other order"


def _short(parts: Iterable[PlacedMessage]) -> list[str]:
    """Messages as bits, count, width, height and suffix, alike ones counted."""
    texts = [str(part.message).split(":")[1] for part in parts]
    return [
        f"{texts.count(text)} × {text}" if texts.count(text) > 1 else text
        for text in dict.fromkeys(texts)
    ]


def _section(atom: LegacyCopyAtom) -> Iterable[str]:
    name = str(atom.name)
    yield f"### `{name}` {{ #{name} }}"
    yield ""
    block, memory = (_size(size) for size in (atom.shape, atom.memory_shape))
    lies = f", {memory} in memory" if memory != block else ""
    yield f"| block | {block} of {atom.value_type}{lies} |"
    yield "| --- | --- |"
    for title, text in facts(atom):
        yield f"| {title} | {text} |"
    yield ""


def facts(atom: LegacyCopyAtom) -> Iterable[tuple[str, str]]:
    """What the library says of a copy: titles and cells of a table."""
    yield "work-item t owns", _owned(atom)
    yield "layout (work-item, value)", f"`{atom.layout_ref_tv}` → x + {atom.shape[1]} y"
    yield "values of work-item 1", atom_words.listed(atom.ownership()[1], 6)
    yield from (("messages", text) for text in message_lines(atom))
    yield "registers", _registers(atom)
    yield "value types", _types(str(atom.name))
    yield from (("note", _sentence(note)) for note in atom.notes)
    twin = f"{atom.name}::PREFETCH"
    if twin in shipped_names():
        prefetch = _atom(twin)
        sent = ", ".join(f"`{text}`" for text in _short(prefetch.messages("bmg")))
        yield f'<span id="{twin.replace("::", "-")}">prefetch</span>', f"`{twin}`: {sent}"
        yield from (("note on the prefetch", _sentence(note)) for note in prefetch.notes)


def _sentence(note: str) -> str:
    return f"{note[0].upper()}{note[1:]}."


def message_lines(atom: LegacyCopyAtom) -> Iterable[str]:
    """The messages, once where all targets agree."""
    sent = {target: "<br>".join(f"`{m}`" for m in atom.messages(target)) for target in TARGETS}
    for text in dict.fromkeys(sent.values()):
        on = [target for target in TARGETS if sent[target] == text]
        yield text if len(on) == len(TARGETS) else f"on {', '.join(on)}: {text}"


def _registers(atom: LegacyCopyAtom) -> str:
    count = atom.registers().registers
    text = f"{count} × {grf_bytes()} bytes"
    if atom.faithful:
        return f"{text}, which hold what is said (faithful)"
    if atom.faithful_units:
        return f"{text}, which hold what is said if read in {_widths(atom)} bits"
    unit = own_width(atom)
    held = atom_words.found(atom.registers(), 1, unit or atom.registers().unit_bits, 6)
    if unit is None:
        return f"{text}; work-item 1 finds {held}"
    return f"{text}; read in {unit} bits, its own elements in another order: {held}"


def own_width(atom: CopyAnswers) -> int | None:
    """Return a width in which each work-item finds its own elements, in whatever order."""
    said = {place: t for t, held in enumerate(atom.ownership()) for place in held}
    picture = atom.registers()
    for unit in (8, 16, 32, 64):
        if unit % picture.bits == 0:
            shown = {place: t for place, (t, _) in picture.owners(unit).items()}
            if shown == said:
                return unit
    return None


def _types(name: str) -> str:
    """The value types that the copy may carry."""
    fitting: dict[int, list[str]] = {}
    for text in numerics():
        if _carries(name, text):
            fitting.setdefault(as_numeric(text).bits, []).append(f"`{text}`")
    return "; ".join(f"{bits} bits: {' '.join(some)}" for bits, some in fitting.items())


def _carries(name: str, value_type: str) -> bool:
    try:
        _atom(name, value_type)
    except DTypeError:
        return False
    return True
