"""Who holds one element of an atom or a tile, and what to use where a tile is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pycute_xe.arch.target import Target
from pycute_xe.atom import MmaAtom, TiledMma, workgroup_mma
from pycute_xe.checking import check
from pycute_xe.errors import CuteError, InputError, quoted

__all__ = ["element_of", "legal_neighbours", "owner_text", "owners_in_tile"]

Mnk = tuple[int, int, int]
MOST = 3
"""Tiles that are named in place of a refused one."""


def element_of(text: str) -> tuple[int, int]:
    """Return row and column of an element as a page gives it.

    >>> element_of("(5, 7)")
    (5, 7)
    """
    if not re.fullmatch(r"[( ]*[0-9]{1,6}[ ,]+[0-9]{1,6}[) ]*", text):
        condition = f"{quoted(text)} is not a row and a column"
        raise InputError("element", {"element": text}, condition, "write 5,7")
    row, column = map(int, re.findall(r"[0-9]+", text))
    return row, column


def owner_text(atom: Any, element: tuple[int, int], operand: str | None) -> str:
    """Return the work-item and the value that hold an element, of an MMA by operand."""
    if not isinstance(atom, MmaAtom):
        text = _owner_and_registers(atom.owner_of(*element), atom.registers(), element)
        return f"({element[0]}, {element[1]}): {text}"
    lines: list[str] = []
    names: tuple[Any, ...] = (operand,) if operand else ("A", "B", "C")
    for name in names:
        rows, columns = atom.operand_shape(name)
        if element[0] < rows and element[1] < columns:
            text = _owner_and_registers(
                atom.owner_of(name, *element), atom.registers(name), element
            )
            lines.append(f"{name}({element[0]}, {element[1]}): {text}")
        else:
            lines.append(f"{name} has {rows} rows and {columns} columns")
    return "\n".join(lines)


def _owner_and_registers(owner: tuple[int, int], registers: Any, element: tuple[int, int]) -> str:
    """What the layouts say, and what the registers hold where that is something else."""
    text = f"work-item {owner[0]}, value {owner[1]}"
    there = registers.owner_of(*element)
    if there == owner:
        return f"{text}, by its layouts and in its registers"
    return f"{text} by its layouts; work-item {there[0]}, value {there[1]} in the registers"


def owners_in_tile(mma: TiledMma, element: tuple[int, int], operand: str) -> str:
    """Return every subgroup, work-item and value that hold an element of a tile."""
    owners = mma.owner_of(operand, *element)
    return "\n".join(
        f"{operand}({element[0]}, {element[1]}): subgroup {o.subgroup}, work-item {o.work_item}, "
        f"value {o.value}"
        for o in owners
    )


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
