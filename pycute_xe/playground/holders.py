"""Who holds one element of an atom or a tile, and what to use where a tile is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycute_xe.arch.target import Target
from pycute_xe.atom import MmaAtom, TiledMma, workgroup_mma
from pycute_xe.checking import check
from pycute_xe.comparing import owner
from pycute_xe.comparing.holders import indices_in
from pycute_xe.errors import CuteError, InputError, quoted

__all__ = ["element_of", "legal_neighbours", "owner_text", "owners_in_tile"]

Mnk = tuple[int, int, int]
MOST = 3
"""Tiles that are named in place of a refused one."""


def element_of(text: str) -> dict[str, int]:
    """Return the indices of an element as a page gives them.

    >>> element_of("(5, 7)"), element_of("k=5, n=7")
    ({'row': 5, 'column': 7}, {'k': 5, 'n': 7})
    """
    indices = indices_in(text)
    if indices is None:
        condition = f"{quoted(text)} is not a row and a column"
        raise InputError("element", {"element": text}, condition, "write 5,7 or k=5, n=7")
    return indices


def owner_text(atom: Any, element: dict[str, int], operand: str | None) -> str:
    """Return the owner of an element and its place in registers, of an MMA by operand."""
    if not isinstance(atom, MmaAtom) or operand or "row" not in element:
        return str(owner(atom, operand, **element))
    lines: list[str] = []
    for name in ("A", "B", "C"):
        rows, columns = atom.operand_shape(name)
        if element["row"] < rows and element["column"] < columns:
            lines.append(str(owner(atom, name, **element)))
        else:
            lines.append(f"{name} has {rows} rows and {columns} columns")
    return "\n".join(lines)


def owners_in_tile(mma: TiledMma, element: dict[str, int], operand: str) -> str:
    """Return every subgroup, work-item and value that hold an element of a tile."""
    part = operand if "row" in element else None  # other indices name it
    first = owner(mma, part, **element)
    (_, row), (_, column) = first.at
    owners = mma.owner_of(str(first.operand), row, column)
    return "\n".join(str(owner(mma, part, **element, subgroup=o.subgroup)) for o in owners)


def legal_neighbours(atom: MmaAtom, tile: Mnk, grid: Mnk, target: Target) -> list[str]:
    """Return tiles and grids near a refused one that a target takes, the nearest first."""
    legal_tiles: list[str] = []
    for other, subgroups in _near(tile, grid):
        strides = (subgroups[1], 1, 0)
        try:
            legal = bool(check(workgroup_mma(atom.op, other, (subgroups, strides)), target))
        except CuteError:
            continue
        if legal:
            legal_tiles.append(f"{','.join(map(str, other))} by {','.join(map(str, subgroups))}")
        if len(legal_tiles) == MOST:
            break
    return legal_tiles


def _near(tile: Mnk, grid: Mnk) -> Iterator[tuple[Mnk, Mnk]]:
    """More subgroups for the same tile, then smaller tiles for the same subgroups, then both.

    At last smaller and smaller tiles for the same subgroups: half of the larger side each time.
    """
    (m, n, k), (p, q, r) = tile, grid
    more = [(2 * p, q, r), (p, 2 * q, r), (2 * p, 2 * q, r), (4 * p, q, r), (p, 4 * q, r)]
    less = [(m, n, k // 2), (m // 2, n, k), (m, n // 2, k), (m // 2, n // 2, k)]
    yield from ((tile, other) for other in more)
    yield from ((other, grid) for other in less if min(other) > 0)
    yield from ((other, some) for some in more[:2] for other in less if min(other) > 0)
    while min(m, n, k) > 1:
        m, n, k = (m // 2, n, k) if m >= max(n, k) else (m, n // 2, k) if n >= k else (m, n, k // 2)
        yield (m, n, k), grid
