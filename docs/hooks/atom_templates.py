"""Writes the catalogue page of the block-2D templates: what is legal, and who owns what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product

import atom_catalogue
import atom_words

from pycute_xe.arch.target import errors
from pycute_xe.atom import (
    XE_LOAD_2D,
    XE_LOAD_2D_TRANSPOSE,
    XE_LOAD_2D_VNNI,
    XE_PREFETCH_2D,
    XE_STORE_2D,
    CopyAtom,
    make_copy_atom,
)
from pycute_xe.errors import CuteError

TEMPLATES = {
    "XE_LOAD_2D": (XE_LOAD_2D, "rows as they lie in memory"),
    "XE_LOAD_2D_VNNI": (XE_LOAD_2D_VNNI, "rows packed into dwords, for operand B"),
    "XE_LOAD_2D_TRANSPOSE": (XE_LOAD_2D_TRANSPOSE, "columns one after the other"),
    "XE_STORE_2D": (XE_STORE_2D, "rows as they lie in memory"),
    "XE_PREFETCH_2D": (XE_PREFETCH_2D, "into the cache; no register changes"),
}
SIZES = (1, 2, 4, 8, 16, 32, 64)
DRAWN = (XE_LOAD_2D(16, 8, 16), XE_LOAD_2D_VNNI(16, 8, 16), XE_LOAD_2D_TRANSPOSE(32, 16, 4))

_INTRO = (
    "CUTLASS's newer copies are templates: bits of an element, height, width, and for loads "
    "the width of one of several blocks side by side. Any legal numbers make an atom, and "
    "one formula its map: register element `i` belongs to work-item `i mod 16`. The tables "
    "show every legal block whose sides are powers of two, for values as wide as an "
    "element. Rows and columns count from 0. *Faithful*: the registers hold what is said. These "
    "copies go with [`XE_DPAS_TT`](mma.md), the older names with older MMA names."
)
_SIZES = (
    "Illegal sizes are refused with the rule and its source. Rows whose length is not a power of "
    "two are legal too, but the message pads them, and then the map is not what the registers hold."
)


def page() -> str:
    """Return the page as Markdown."""
    atoms = {kind: list(_atoms(kind)) for kind in TEMPLATES}
    lines = [
        "# Block-2D templates",
        "",
        _INTRO,
        "",
        *_counts(atoms),
        "",
        _SIZES,
        "",
    ]
    for kind, found in atoms.items():
        lines += _section(kind, found)
    lines += ["## Pictures", ""]
    lines += [atom_catalogue.drawing(make_copy_atom(op, f"u{op.bits}")) for op in DRAWN]
    return "\n".join(lines) + "\n"


def _atoms(kind: str) -> Iterator[CopyAtom]:
    """Every legal atom of a template whose sides are powers of two."""
    make, _ = TEMPLATES[kind]
    for bits, height, width in product((8, 16, 32, 64), SIZES, SIZES):
        blocks = [n for n in SIZES if n <= width] if make in (XE_LOAD_2D, XE_LOAD_2D_VNNI) else [0]
        for block in blocks:
            sizes = (bits, height, width, block) if block else (bits, height, width)
            try:
                atom = make_copy_atom(make(*sizes), f"u{bits}")
            except CuteError:
                continue
            if not errors(atom.op.message.broken_rules("bmg")):
                yield atom


def _counts(atoms: dict[str, list[CopyAtom]]) -> Iterable[str]:
    yield "| template | registers get | 8 bits | 16 | 32 | 64 | faithful |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for kind, found in atoms.items():
        count = Counter(atom.op.bits for atom in found)
        cells = [count[bits] or "–" for bits in (8, 16, 32, 64)]
        right = sum(atom.faithful for atom in found)
        told = f"{right} of {len(found)}"
        yield (
            f"| [`{kind}`](#{kind}) | {TEMPLATES[kind][1]} | "
            + " | ".join(map(str, [*cells, told]))
            + " |"
        )


def _section(kind: str, atoms: list[CopyAtom]) -> Iterable[str]:
    yield f"## `{kind}` {{ #{kind} }}"
    yield ""
    for bits in (8, 16, 32, 64):
        some = [atom for atom in atoms if atom.op.bits == bits]
        if some:
            yield f'??? note "{bits} bits: {len(some)} blocks"'
            yield ""
            yield from (f"    {line}" for line in _table(kind, some))
            yield ""


def _table(kind: str, atoms: list[CopyAtom]) -> Iterable[str]:
    moved = kind != "XE_PREFETCH_2D"
    titles = ["atom", "message", *(["work-item t owns", "faithful"] if moved else [])]
    yield f"| {' | '.join(titles)} |"
    yield "|" + " --- |" * len(titles)
    for atom in atoms:
        sent = str(atom.op.message).split(":")[1]
        cells = [f"`{atom.op}`", f"`{sent}`"]
        if moved:
            cells += [atom_words.ownership(atom.ownership(), atom.shape), _faithful(atom)]
        yield f"| {' | '.join(cells)} |"


def _faithful(atom: CopyAtom) -> str:
    if atom.faithful:
        return "yes"
    unit = atom_catalogue.own_width(atom)
    return "no" if unit is None else "no, another order"
