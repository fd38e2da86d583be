"""Writes a page for each template of copies and each family of MMAs, with sizes chosen in the page.

The page shows one member as the playground does; where its script can start the library in the
reader's browser, fields choose another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any
from urllib.parse import urlencode

import small_pictures

from pycute_xe import draw, get_atom
from pycute_xe.arch.dpas.types import listed_types
from pycute_xe.atom import MmaAtom
from pycute_xe.drawing.scene import Panel
from pycute_xe.errors import CuteError
from pycute_xe.playground import answer

FOLDER = "atoms/sizes"
HEIGHTS = ("1", "2", "4", "8", "16", "32")
WIDTHS = ("1", "2", "4", "8", "16", "32", "64")
WIDE = tuple(f"u{bits}" for bits in (8, 16, 32, 64, 128))
WORDS = ("f32", "f64", "s32")


@dataclass(frozen=True)
class Family:
    """A template: its page, what it does, its name with places for sizes, fields, and a member."""

    page: str
    title: str
    does: str
    name: str
    fields: dict[str, tuple[str, ...]]
    member: tuple[str, ...]


def _block(name: str, does: str, bits: tuple[str, ...], sizes: str, blocks: bool = False) -> Family:
    fields = {"bits": bits, "rows": HEIGHTS, "columns": WIDTHS}
    member = tuple(sizes.split())
    if blocks:
        fields["of blocks"] = WIDTHS
        member = (*member, member[2])
    places = ",".join("{}" for _ in fields)
    return Family(name, f"{name}: which sizes?", does, f"{name}<{places}>", fields, member)


def _run(name: str, does: str, types: tuple[str, ...], member: str) -> Family:
    fields = {"from": types, "to": types}
    return Family(
        name, f"{name}: which types?", does, f"{name}<{{}},{{}}>", fields, (member, member)
    )


def _mma(page: str, types: tuple[str, ...], others: tuple[str, ...]) -> Family:
    some = [row for row in listed_types() if row[1] in types and row[2] in others]
    fields = {
        "M": tuple(map(str, range(1, 9))),
        "D": tuple(dict.fromkeys(row[0] for row in some)),
        "A": tuple(dict.fromkeys(row[1] for row in some)),
        "B": tuple(dict.fromkeys(row[2] for row in some)),
        "C": tuple(dict.fromkeys(row[3] for row in some)),
    }
    member = ("8", *(fields[key][0] for key in "DABC"))
    does = f"D = A B + C with A of {', '.join(types)} by one DPAS."
    title = f"XE_DPAS_TT of {' and '.join(types)}: which types and rows?"
    return Family(page, title, does, "XE_DPAS_TT<{},{},{},{},{}>", fields, member)


BITS = ("8", "16", "32", "64")
BYTES, NARROW = ("s8", "u8"), ("s4", "u4", "s2", "u2")
FAMILIES = (
    _block("XE_LOAD_2D", "Loads rows as they lie in memory.", BITS, "16 8 16", blocks=True),
    _block("XE_LOAD_2D_VNNI", "Loads rows packed into dwords, for operand B of DPAS.",
           ("8", "16"), "16 16 16", blocks=True),
    _block("XE_LOAD_2D_TRANSPOSE", "Loads the transpose of what lies in memory.",
           ("32", "64"), "32 16 8"),
    _block("XE_STORE_2D", "Stores rows as they lie in memory.", BITS, "32 8 16"),
    _block("XE_PREFETCH_2D", "Brings a block into the cache; no register changes.", BITS,
           "16 8 32"),
    _run("XE_1D_LOAD_GLOBAL", "Loads a run of memory by 16 work-items together.", WIDE, "u32"),
    _run("XE_1D_STORE_GLOBAL", "Stores a run of memory by 16 work-items together.", WIDE, "u32"),
    _run("XE_1D_LDSM", "Loads from SLM, each work-item at its address.", WIDE, "u32"),
    _run("XE_1D_STSM", "Stores to SLM, each work-item at its address.", WIDE, "u32"),
    _run("XE_ATOMIC", "Adds to memory, each work-item at its address.", WORDS, "f32"),
    _run("UniversalCopy", "Copies at an address of each work-item's own.", WIDE, "u32"),
    _mma("XE_DPAS_TT-bf16", ("bf16",), ("bf16",)),
    _mma("XE_DPAS_TT-f16", ("f16",), ("f16",)),
    _mma("XE_DPAS_TT-tf32", ("tf32",), ("tf32",)),
    _mma("XE_DPAS_TT-8-bit", BYTES, (*BYTES, *NARROW)),
    _mma("XE_DPAS_TT-4-and-2-bit", NARROW, (*BYTES, *NARROW)),
)  # fmt: skip


def file_of(family: Family) -> str:
    """The page of a family."""
    return f"{FOLDER}/{family.page}.md"


def page(family: Family) -> str:
    """Return the page of a family as Markdown."""
    name = family.name.format(*family.member)
    shown = answer({"kind": "atom", "name": name})
    if "error" in shown:
        raise ValueError(f"{name}: {shown['error']}")
    return "\n".join(
        [
            f"# {family.title}",
            "",
            (
                f"{family.does} Choose, and the library answers here in the page; sizes that the "
                "hardware does not take are refused with the rule and the way out."
            ),
            "",
            _box(family, name, shown),
            "",
        ]
    )


def _box(family: Family, name: str, shown: dict[str, Any]) -> str:
    """The fields, the name, and what is shown of it."""
    asked = escape(urlencode({"kind": "atom", "name": name}))
    link = f'<a data-playground href="../../../playground/?{asked}">in the playground</a>'
    said = f'<p><code data-shown>{escape(name)}</code> · {link} <span role="status"></span></p>'
    parts = f"<div data-results>{''.join(_parts(shown, name))}</div>"
    head = f'<div class="sizes" data-name="{escape(family.name)}" markdown="0">'
    return f"{head}{_form(family)}{said}{parts}</div>"


def _form(family: Family) -> str:
    fields = "".join(
        f'<label>{key} <select name="{key}">'
        + "".join(
            f"<option{' selected' if value == chosen else ''}>{value}</option>" for value in values
        )
        + "</select></label>"
        for (key, values), chosen in zip(family.fields.items(), family.member, strict=True)
    )
    target = "".join(f"<option>{name}</option>" for name in ("bmg", "pvc", "lnl", "ptl"))
    return (
        f'<form hidden>{fields}<label>target <select name="target">{target}</select></label></form>'
    )


def _parts(shown: dict[str, Any], name: str) -> Iterator[str]:
    """What the playground shows of the member, with a small picture for the large one."""
    yield f"<figure>{picture(name)}</figure>"
    for heading, text in shown["parts"]:
        yield f'<h3>{escape(heading)}</h3><pre tabindex="0">{escape(text)}</pre>'
    yield f'<h3>C++</h3><pre tabindex="0">{escape(str(shown["cpp"]))}</pre>'


@cache
def picture(name: str) -> str:
    """A small picture of who owns what."""
    atom = get_atom(name)
    whats = "ABC" if isinstance(atom, MmaAtom) else ("memory", "registers")
    panels: list[Panel] = []
    for what in whats:
        try:
            panels += draw(atom, what).scene.panels
        except CuteError:  # a prefetch has no registers, and a run has no block
            continue
    if not panels:
        panels = [*draw(atom).scene.panels]
    return small_pictures.picture(name, panels)
