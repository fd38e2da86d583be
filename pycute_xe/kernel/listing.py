"""Floor 7: a kernel as text that a person reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pycute_xe.atom.reordering import is_identity
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.index import Tiles
from pycute_xe.kernel.statements import (
    BarrierArrive,
    BarrierWait,
    Fill,
    Fragment,
    Load,
    Loop,
    Mma,
    Operand,
    Prefetch,
    Reorder,
    Statement,
    Store,
    When,
)

__all__ = ["line", "listing"]


def listing(
    name: str,
    mma: TiledMma,
    operands: tuple[Operand, ...],
    fragments: tuple[Fragment, ...],
    grid: tuple[tuple[str, Tiles], ...],
    body: tuple[Statement, ...],
) -> str:
    """Return the listing of a kernel's parts, one statement a line."""
    over = ", ".join(f"{var} < {count}" for var, count in grid)
    head = [
        f"{name}({', '.join(map(str, operands))})",
        f"  mma        {mma}",
        f"  registers  {', '.join(map(str, fragments))} per work-item",
        f"  for each work-group {over}; for each of {mma.num_subgroups} subgroups",
    ]
    known = {operand.name: operand for operand in operands}
    return "\n".join([*head, *_lines(body, known, 2)])


def _lines(body: tuple[Statement, ...], known: Mapping[str, Operand], level: int) -> Iterator[str]:
    for statement in body:
        yield "  " * level + line(statement, known)
        if isinstance(statement, (Loop, When)):
            yield from _lines(statement.body, known, level + 1)


def line(statement: Statement, known: Mapping[str, Operand] | None = None) -> str:
    """Return one statement as a line, without what it contains.

    Tiles of the operands that are known are numbered as their matrices, B[k, n]; of others in
    CuTe's mode order.

    >>> line(Fill("tCrC"))
    'fill      tCrC = 0'
    """
    match statement:
        case Prefetch() | Load() | Store():
            return _copy(statement, known or {})
        case Fill(fragment, value):
            return f"fill      {fragment} = {value:g}"
        case Reorder(source, destination, slots):
            how = "moves nothing" if is_identity(slots) else f"by {slots}"
            return f"reorder   {source} → {destination}  {how}"
        case Mma(mma, accumulator, a, b):
            return f"mma       {accumulator} += {a} · {b}  by {mma.atom}"
        case BarrierArrive() | BarrierWait():
            return f"barrier   {'arrive' if isinstance(statement, BarrierArrive) else 'wait'}"
        case Loop(var, start, stop):
            return f"for {start} <= {var} < {stop}:"
        case When(index, below):
            return f"when {index} < {below}:"


def _copy(statement: Prefetch | Load | Store, known: Mapping[str, Operand]) -> str:
    operand = known.get(statement.operand)
    at = statement.at if operand is None else operand.matrix(statement.at)
    place = f"{statement.operand}[{', '.join(map(str, at))}]"
    messages = f"{statement.copy.messages} × {statement.copy.op}"
    match statement:
        case Prefetch():
            return f"prefetch  {place}  by {messages}"
        case Load():
            return f"copy      {place} → {statement.fragment}  by {messages}"
        case Store():
            return f"copy      {statement.fragment} → {place}  by {messages}"
