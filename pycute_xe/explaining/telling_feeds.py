"""Floor 9: which DPAS a copy is asked about, and what comes of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

from pycute_xe.arch.dpas.types import Types, listed_types
from pycute_xe.atom import CopyAtom, MmaAtom
from pycute_xe.comparing import Feed, feeds
from pycute_xe.comparing.atom_arguments import direction
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["feed_lines", "feeding_pairs", "next_lines"]

Copy = LegacyCopyAtom | CopyAtom
_PLACES = {"D": 0, "A": 1, "B": 2, "C": 3}


def feed_lines(atom: Copy, operand: str | None) -> list[str]:
    """Say for each operand that the copy could be meant for whether it feeds it."""
    found = _answers(atom, operand)
    if not found:
        return [f"no DPAS: none takes {atom.value_type.bits}-bit operands"]
    kind = atom.value_type
    # Types of C and D, and plain bits, do not say what A and B are.
    known = kind.kind == "unsigned" or any(kind.name in types for types in _uniform())
    lines = [] if known else [f"no DPAS multiplies {kind}: what follows is for {kind.bits} bits"]
    lines += [f"{f.operand} of {mma}: {f.kind}; {f.reason}" for mma, f in found]
    best = _best(atom, operand)
    return lines + (_in_cute(atom, best[1]) if best else [])


def _best(atom: Copy, operand: str | None) -> tuple[str, Feed] | None:
    """The MMA and the operand that the copy serves best: free before reordered."""
    able = [found for found in _answers(atom, operand) if found[1].kind != "impossible"]
    return min(able, key=lambda found: found[1].kind != "free", default=None)


def _in_cute(atom: Copy, feed: Feed) -> list[str]:
    """With which MMA the layouts of CuTe go together, whatever the registers do."""
    template = isinstance(atom, CopyAtom)
    mma = feed.mma if template else MmaAtom(feed.mma.op, legacy=True)
    if not mma.shipped or not _as_owned(atom) or not _agree(feed, mma):
        return []
    partner = f"{feed.operand} of {'XE_DPAS_TT' if template else mma}"
    return [f'"free" speaks of registers; the CuTe layouts match {partner}']


def _as_owned(atom: Copy) -> bool:
    """Whether CUTLASS has layouts of the copy, and they say what `ownership` says."""
    if isinstance(atom, CopyAtom):
        return True
    usable = atom.name.shipped and atom.name.traits == "usable" and not atom.is_artefact
    return usable and atom.name.says("dealt") != "sides swapped"


def _agree(feed: Feed, mma: MmaAtom) -> bool:
    """Whether the layouts of copy and MMA give the elements of the first tile to one work-item."""
    (down, right), (rows, cols) = feed.tiles[0], mma.operand_shape(feed.operand)
    turned = isinstance(feed.copy, CopyAtom) and feed.order == "col"
    for y, x in product(range(rows), range(cols)):
        row, col = (right + x, down + y) if turned else (down + y, right + x)
        if feed.copy.owner_of(row, col)[0] != mma.owner_of(feed.operand, y, x)[0]:
            return False
    return True


def next_lines(atom: Copy, operand: str | None) -> list[str]:
    """Name the search for other copies of the operand that this one serves, if there is one."""
    best = _best(atom, operand)
    return [f"pycute-xe atoms --feeds '{best[0]}' --operand {best[1].operand}"] if best else []


@cache
def _answers(atom: Copy, operand: str | None) -> tuple[tuple[str, Feed], ...]:
    return tuple((pair[1], feeds(*pair)) for pair in feeding_pairs(atom, operand))


def feeding_pairs(atom: Copy, operand: str | None = None) -> list[tuple[Copy, str, Any]]:
    """Return (copy, MMA, operand) of the questions to ask: of its type or, failing that, its width.

    A load may feed A, B and, if 32 bits wide, C; a store takes D.

    >>> from pycute_xe.cutlass import get_atom
    >>> [(mma, which) for _, mma, which in feeding_pairs(get_atom("XE_2D_U16x8x16_ST_N"))]
    [('XE_DPAS_TT<8,bf16,bf16>', 'D')]
    """
    way = direction(atom)
    if way == "prefetch":
        return []
    fit = ("D",) if way == "store" else ("A", "B", "C")[: 3 if atom.value_type.bits == 32 else 2]
    pairs: list[tuple[Copy, str, Any]] = []
    for which in (operand,) if operand else fit:
        types = _types_for(atom.value_type, which)
        if types is not None:
            held = _retyped(atom, types[_PLACES[which]])
            pairs.append((held, f"XE_DPAS_TT<8,{types[0]},{types[1]}>", which))
    return pairs


def _types_for(kind: Numeric, operand: str) -> Types | None:
    """The types of the DPAS that has values of a type, or of its width, as an operand."""
    inputs = _matching(kind, "A", exact=True) or _matching(kind, "A", exact=False)
    if operand in ("A", "B"):
        return next(iter(inputs), None)
    # Unsigned types stand for bits of any kind.
    results = _matching(kind, "D", exact=True) if kind.kind != "unsigned" else []
    results = results or _matching(kind, "D", exact=False)
    if operand == "C":
        results = [types for types in inputs if types in results] or results
    return next(iter(results or inputs), None)


def _matching(kind: Numeric, operand: str, exact: bool) -> list[Types]:
    place = _PLACES[operand]
    return [
        types
        for types in _uniform()
        if (types[place] == kind.name if exact else as_numeric(types[place]).bits == kind.bits)
    ]


@cache
def _uniform() -> tuple[Types, ...]:
    """The instructions whose A and B have one type, and whose C and D have one."""
    return tuple(types for types in listed_types() if types[0] == types[3] and types[1] == types[2])


def _retyped(atom: Copy, name: str) -> Copy:
    """The same copy for values of another type of the same width."""
    wanted = as_numeric(name)
    return replace(atom, value_type=wanted) if wanted.bits == atom.value_type.bits else atom
