"""Writes the catalogue page of the MMA atoms: every type, both ways to say who owns what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import atom_words

from pycute_xe import draw
from pycute_xe.arch.dpas.types import listed_types
from pycute_xe.atom import XE_DPAS_TT, MmaAtom, make_mma_atom
from pycute_xe.cutlass import get_atom
from pycute_xe.facts import rows

DRAWN = "XE_8x16x16_F32BF16BF16F32_TT"

_INTRO = (
    "One instruction, `D[M,16] = A[M,K] B[K,16] + C[M,16]`, in {} combinations of types and M from "
    "1 to 8. `XE_DPAS_TT` says which work-item holds an element of the registers; the older names "
    "say which column it works on, and hide the packing. Rows and columns are those of the "
    "matrices, from 0. [DPAS register contract](../../dpas.md) has the registers, "
    "[the audit](../audit.md#mma) the comparison with C++."
)
_NEWER = (
    "What work-item t owns for M = 8; with fewer rows, A, C and D have fewer values. Of C and D it "
    "is column t, whatever the types. Not every D "
    "goes with every C: `pycute_xe.arch.dpas.types.listed_types()` lists the combinations."
)
_OLDER = (
    "{} names that CUTLASS ships. *Width*: read in so many bits, the registers of A, and those of "
    "B, show what is said. An older copy (`XE_2D_…`) goes with one of these, a template with "
    "`XE_DPAS_TT`: each pair means the same by an owner."
)


def page() -> str:
    """Return the page as Markdown."""
    older = list(_older())
    newer = [
        [make_mma_atom(XE_DPAS_TT(m, *types)) for m in range(1, 9)] for types in listed_types()
    ]
    lines = [
        "# MMA atoms",
        "",
        _INTRO.format(len(newer)),
        "",
        "## `XE_DPAS_TT`",
        "",
        _NEWER,
        "",
        *_newer(newer),
        "",
        "## Older names",
        "",
        _OLDER.format(len(older)),
        "",
        *_overview(older),
        "",
    ]
    for atom in older:
        lines += _section(atom)
    figure = draw(_mma(DRAWN), "B").svg
    lines += ["## Picture", "", f'<figure markdown="0">{figure}</figure>']
    return "\n".join(lines) + "\n"


def _mma(name: str) -> MmaAtom:
    atom = get_atom(name)
    if not isinstance(atom, MmaAtom):
        raise TypeError(f"{name} is not an MMA")
    return atom


def _older() -> Iterator[MmaAtom]:
    for row in rows("dpas", "older_name"):
        types = cast("tuple[str, ...]", row["types"])
        words = "".join(types).upper()
        for m in cast("tuple[int, ...]", row["m"]):
            yield _mma(f"XE_{m}x16x{XE_DPAS_TT(m, *types).K}_{words}_TT")


def _newer(atoms: list[list[MmaAtom]]) -> Iterable[str]:
    """One line for all types of which the same is said."""
    lines: dict[tuple[str, ...], list[MmaAtom]] = {}
    for some in atoms:
        last = some[-1]
        if _owned(last, "C") != "column t":
            raise ValueError(f"{last}: the page says column t of C and D")
        odd = [str(atom.op.M) for atom in some if not atom.faithful]
        told = f"not for M = {', '.join(odd)}" if odd else "yes"
        owned = [_owned(last, operand) for operand in "AB"]
        widths = [last.op.A.bits, last.op.B.bits]
        key = (*map(str, widths), str(last.op.K), *owned, told)
        lines.setdefault(key, []).append(last)
    yield "| A | B | D, C | K | of A | of B | faithful |"
    yield "| --- | --- | --- | ---: | --- | --- | --- |"
    for (_, _, k, *owned, told), some in lines.items():
        types = [_types(some, operands) for operands in ("A", "B", "DC")]
        yield f"| {' | '.join([*types, k, *owned, told])} |"


def _types(atoms: list[MmaAtom], operands: str) -> str:
    found = dict.fromkeys(atom.operand_type(o).name for atom in atoms for o in operands)
    return ", ".join(found)


def _owned(atom: MmaAtom, operand: str) -> str:
    return atom_words.ownership(atom.ownership(operand), atom.operand_shape(operand))


def _overview(atoms: list[MmaAtom]) -> Iterable[str]:
    yield "| name | A | B | C, D | width of A, of B |"
    yield "| --- | --- | --- | --- | --- |"
    for atom in atoms:
        owned = [_owned(atom, operand) for operand in "ABC"]
        widths = ", ".join(_width(atom, operand) for operand in "AB")
        yield f"| [`{atom.name}`](#{atom.name}) | {' | '.join(owned)} | {widths} |"


def _width(atom: MmaAtom, operand: str) -> str:
    """The least width in which the registers of an operand show what is said of it."""
    picture, owned = atom.registers(operand), atom.ownership(operand)
    for unit in (8, 16, 32):
        if unit % picture.bits == 0:
            shown = picture.owners(unit)
            said = ((place, (t, v)) for t, held in enumerate(owned) for v, place in enumerate(held))
            if all(shown[place] == owner for place, owner in said):
                return str(unit)
    return "none"


def _section(atom: MmaAtom) -> Iterable[str]:
    m, n, k = atom.shape_mnk
    yield f"### `{atom.name}` {{ #{atom.name} }}"
    yield ""
    yield f"| shape | M {m}, N {n}, K {k} |"
    yield "| --- | --- |"
    for operand in "ABC":
        title = "C and D" if operand == "C" else operand
        shape = atom.operand_shape(operand)
        count = atom.registers(operand).registers
        size = f"{count} registers" if count > 1 else "1 register"
        yield (
            f"| {title} | {shape[0]} × {shape[1]} of {atom.operand_type(operand)} in {size}; "
            f"work-item t owns {_owned(atom, operand)}: "
            f"`{getattr(atom, f'tv_layout_{operand}')}` |"
        )
    for note in atom.notes:
        yield f"| note | {note[0].upper()}{note[1:]}. |"
    yield ""
