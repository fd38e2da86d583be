"""What CuTe's newer templates say, for docs/atoms/audit.md: block-2D copies and MMA atoms."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
from golden import rows, to_layout

import pycute_xe as cx
from pycute_xe.atom import CopyAtom, MmaAtom
from pycute_xe.cutlass import get_atom


@cache
def copies() -> tuple[tuple[CopyAtom, bool], ...]:
    """The atom of each row of CuTe, and whether CuTe's map goes onto its block."""
    found: list[tuple[CopyAtom, bool]] = []
    for row in rows("cute_copy_atoms_2d")["cases"]:
        sizes = [row["CopyBits"], row["Height"], row["Width"]]
        if row["kind"] in ("XE_LOAD_2D", "XE_LOAD_2D_VNNI"):
            sizes.append(row["BlockWidth"])
        atom = cx.make_copy_atom(getattr(cx, row["kind"])(*sizes), f"u{row['ValBits']}")
        offsets = np.asarray(cx.table(to_layout(row["ValLayoutRef"])))
        found.append((atom, sorted(offsets) == list(range(atom.width * atom.height))))
    return tuple(found)


def why(atom: CopyAtom, onto: bool) -> str:
    """The reason why registers hold something else, from the message alone."""
    message = atom.op.message
    if not onto:
        return "the map is not onto the block"
    row = message.height if message.transpose else message.width
    if row & (row - 1):
        return "rows padded to a power of two"
    if message.count > 1:
        return "blocks padded to whole registers"
    raise ValueError(f"{atom.op} of {atom.value_type}: why does it differ?")


WHY = ("rows padded to a power of two", "blocks padded to whole registers")


def templates() -> str:
    """Per template, how many rows differ from the registers and why."""
    count: dict[str, Counter[str]] = {}
    for atom, onto in copies():
        found = count.setdefault(atom.op.kind, Counter())
        found["faithful" if atom.faithful else why(atom, onto)] += 1
    titles = ("faithful", *WHY, "the map is not onto the block")
    lines = [f"| template | rows | {' | '.join(titles)} |", "| --- |" + " ---: |" * 5]
    count["all"] = sum(count.values(), Counter())
    for kind, found in count.items():
        name = kind if kind == "all" else f"`{kind}`"
        cells = [found.total(), *(found[title] for title in titles)]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    odd = [f"`{atom.op}` of {atom.value_type}" for atom, onto in copies() if not onto]
    return "\n".join(lines) + f"\n\nNot onto the block: {', '.join(odd)}.\n"


MMA = ("in its elements", "as C++ passes it", "neither", "no map")


def mma() -> str:
    """What is said of each operand of the MMA atoms against what the instruction reads."""
    lines = [f"| atoms | operand | rows | {' | '.join(MMA)} |", "| --- | --- |" + " ---: |" * 5]
    odd: dict[str, list[str]] = {}
    for kind, title in (("legacy", "older names"), ("dpas", "`XE_DPAS_TT`")):
        some = [row for row in rows("cute_mma_atoms") if row["kind"] == kind]
        for operand in "ABC":
            said = [(row["name"], _operand(row, operand)) for row in some]
            found = Counter(what for _, what in said)
            cells = (found.total(), *(found[key] for key in MMA))
            lines.append(f"| {title} | {operand} | {' | '.join(map(str, cells))} |")
            for name, what in said:
                if what in MMA[2:]:
                    odd.setdefault(f"{what}, operand {operand}", []).append(f"`{name}`")
    told = [f"{what[0].upper()}{what[1:]}: {', '.join(names)}." for what, names in odd.items()]
    return "\n".join(lines) + "\n\n" + "\n\n".join(told) + "\n"


def _operand(row: dict[str, Any], operand: str) -> str:
    m, n, k = row["shape_mnk"]
    first, count = {"A": (m, m * k), "B": (n, n * k), "C": (m, m * n)}[operand]
    offsets = np.asarray(cx.table(to_layout(row[operand])))
    if sorted(offsets) != list(range(count)):
        return MMA[3]
    atom = get_atom(row["name"])
    assert isinstance(atom, MmaAtom)
    picture = atom.registers(operand)
    passed, _ = row["registers"][operand]
    for unit, what in ((max(8, picture.bits), MMA[0]), (passed, MMA[1])):
        shown = picture.owners(unit)
        places = (divmod(int(offset), first)[:: -1 if operand != "B" else 1] for offset in offsets)
        if all(shown[place] == (i % 16, i // 16) for i, place in enumerate(places)):
            return what
    return MMA[2]
