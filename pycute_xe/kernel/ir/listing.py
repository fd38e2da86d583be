"""A kernel as text that a person reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any

from pycute_xe.arch.regions import moves
from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom.reordering import is_identity
from pycute_xe.bulk import entries
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.barriers import ROLES
from pycute_xe.kernel.ir.effects import RegisterMove
from pycute_xe.kernel.ir.named import NamedArrive, NamedWait
from pycute_xe.kernel.ir.program import Meanings, Program, walk
from pycute_xe.layout import size
from pycute_xe.signatures import typed

__all__ = ["LINES", "line", "line_in", "listing", "Renaming", "renamings", "reorder_moves"]

# ------------------------------------------------------------ renaming
# Reorders that cost nothing, because whoever reads their result can read their source.
#
# Registers are named in instructions, so a reorder that keeps each operand of a DPAS (or each block
# of a store) in one piece needs no instruction: the reader names the registers that hold the piece.


@dataclass(frozen=True, slots=True)
class Renaming:
    """Where a fragment lies in another one: ``pieces[i]`` is the byte at which piece ``i`` starts.

    Every piece has ``piece`` bytes. One piece is a fragment that lies there as it is.
    """

    destination: str
    source: str
    piece: int
    pieces: tuple[int, ...]

    @property
    def moves_nothing(self) -> bool:
        """Whether the two fragments lie in the same registers in the same order."""
        return len(self.pieces) == 1

    @typed
    def place(self, byte: int) -> int:
        """Return the byte of the source that holds a byte of the destination."""
        return self.pieces[byte // self.piece] + byte % self.piece


@typed
def renamings(kernel: Program) -> dict[str, Renaming]:
    """Return the reorders of a kernel that need no instruction, by the fragment they write.

    Law: reading byte ``b`` of the destination reads byte ``place(b)`` of the source. A reorder is
    in it where no statement could tell the two fragments apart, and where it keeps the order, or
    moves only whole operands of the DPAS and whole blocks of the stores that alone read it. All
    others are instructions. C++: a register allocator does the same with ``reorder`` of whole
    registers.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> gemm = cx.kernel.gemm(mma, copy_b="XE_2D_U16x32x32_LD_V")
    >>> {name: (r.source, len(r.pieces), r.piece) for name, r in renamings(gemm).items()}
    {'tCrA': ('tArA', 1, 2048), 'tCrB': ('tBrB', 8, 512)}
    """
    out: dict[str, Renaming] = {}
    taken: set[str] = set()
    for reorder in kernel.statements():
        if not isinstance(reorder, ir.Reorder) or taken & {reorder.source, reorder.destination}:
            continue
        renaming = _renaming(kernel, reorder)
        if renaming is not None and _safe(kernel, reorder):
            out[reorder.destination] = renaming
            taken |= {reorder.source, reorder.destination}
    return out


def reorder_moves(kernel: Program, reorder: ir.Reorder | RegisterMove) -> int:
    """Return how many `mov` instructions a reorder is in each subgroup, 0 for a renaming.

    Law: a reorder into another type is a conversion and counts 0. Raises `KernelError` for values
    that share a byte, which no move parts.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> gemm = cx.kernel.gemm(mma, copy_b="XE_2D_U16x32x32_LD_N")
    >>> found = [s for s in gemm.statements() if type(s).__name__ == "Reorder"]
    >>> [(s.destination, reorder_moves(gemm, s)) for s in found]
    [('tCrA', 0), ('tCrB', 128)]
    """
    source, destination = (kernel.fragment(n) for n in (reorder.source, reorder.destination))
    if source.value_type != destination.value_type or reorder.destination in renamings(kernel):
        return 0
    if reorder.slots is None:
        return 0
    made = moves(entries(reorder.slots), source.value_type.bits, destination.elements)
    return sum(move.instructions for move in made)


def _renaming(kernel: Program, reorder: ir.Reorder) -> Renaming | None:
    """Return how the destination lies in the source, ``None`` where an operand is in pieces."""
    source, destination = (kernel.fragment(n) for n in (reorder.source, reorder.destination))
    if destination.value_type != source.value_type:
        return None
    if is_identity(reorder.slots):
        fits = source.bytes >= destination.bytes
        whole = Renaming(destination.name, source.name, destination.bytes, (0,))
        return whole if fits else None
    bits, count = source.value_type.bits, destination.elements
    if not source.elements == count == size(reorder.slots):
        return None
    readers = [s for s in kernel.statements() if destination.name in _read(s)]
    pieces = {piece for reader in readers for piece in _pieces(reader, destination.name)}
    if len(pieces) != 1 or not (piece := pieces.pop()) or piece * 8 % bits:
        return None
    goes_to = entries(reorder.slots)
    elements = piece * 8 // bits
    if count % elements or sorted(goes_to) != list(range(count)):
        return None
    came_from = sorted(range(count), key=goes_to.__getitem__)
    rows = came_from[::elements]
    if came_from != [first + i for first in rows for i in range(elements)]:
        return None
    starts = [first * bits for first in rows]
    if any(start % (8 * gcd(piece, grf_bytes())) for start in starts):
        return None
    firsts = tuple(start // 8 for start in starts)
    return Renaming(destination.name, source.name, piece, firsts)


def _pieces(reader: ir.Statement, name: str) -> Iterator[int]:
    """The bytes that a reader needs in one piece; 0 where it needs the whole fragment."""
    if isinstance(reader, ir.Mma) and reader.accumulator != name:
        op = reader.mma.atom.op
        yield from (op.bytes_A,) * (reader.a == name) + (op.bytes_B,) * (reader.b == name)
    elif isinstance(reader, ir.Store):
        atom = reader.copy.block
        values, image = atom.values * 16, atom.register_tv.elements
        yield values * atom.value_type.bits // 8 if image == values else 0
    else:
        yield 0


def _safe(kernel: Program, reorder: ir.Reorder) -> bool:
    """Whether no statement could tell the two fragments of a reorder apart.

    Only the reorder, wherever it is repeated, writes the destination. Each statement that reads it
    comes after the reorder with no write of the source between the two.
    """
    others = (s for s in kernel.statements() if s != reorder)
    if any(reorder.destination in _written(s) for s in others):
        return False
    return _reads_after(kernel.body, reorder)


def _reads_after(body: tuple[ir.Statement, ...], reorder: ir.Reorder) -> bool:
    """Whether each read of the destination in a body finds the source as the reorder read it."""
    valid = False
    for statement in body:
        if statement == reorder:
            valid = True
            continue
        inner = statement.body if isinstance(statement, (ir.Loop, ir.If)) else ()
        nested = [*walk(inner)] or [statement]
        writes = any(reorder.source in _written(s) for s in nested)
        if inner and (writes or not valid):
            if not _reads_after(inner, reorder):
                return False
        elif any(reorder.destination in _read(s) for s in nested) and (writes or not valid):
            return False
        valid = valid and not writes
    return True


def _written(statement: ir.Statement) -> tuple[str, ...]:
    return statement.touched.writes + statement.touched.updates


def _read(statement: ir.Statement) -> tuple[str, ...]:
    return statement.touched.reads + statement.touched.updates


# ------------------------------------------------------------ listing

LINES: Meanings[Callable[[ir.Statement], str]] = Meanings("listing")


def listing(kernel: Program) -> str:
    """Return the listing of a kernel: operands, what it computes, registers, statements."""
    over = ", ".join(f"{var} < {count}" for var, count in kernel.grid)
    head = [f"{kernel.name}({', '.join(map(str, kernel.operands))})"]
    if kernel.computes is not None:
        head += [f"  computes   {text}" for text in str(kernel.computes).splitlines()]
    mmas = dict.fromkeys(s.mma for s in walk(kernel.body) if isinstance(s, ir.Mma))
    head += [f"  mma        {mma}" for mma in mmas]
    head.append(f"  registers  {', '.join(map(str, kernel.fragments))} per work-item")
    if kernel.shared:
        head.append(f"  shared     {', '.join(map(str, kernel.shared))}")
    head.append(f"  for each work-group {over}; for each of {kernel.subgroups} subgroups")
    return "\n".join([*head, *_lines(kernel, kernel.body, 2)])


def line_in(kernel: Program, statement: ir.Statement) -> str:
    """Return one statement of a kernel as a line; of a reorder it says what that costs there.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> [line_in(gemm, s) for s in gemm.statements() if isinstance(s, ir.Reorder)][0]
    'reorder   tArA → tCrA  moves nothing'
    """
    text = line(statement)
    if not isinstance(statement, ir.Reorder):
        return text
    source, to = (kernel.fragment(n) for n in (statement.source, statement.destination))
    renaming = renamings(kernel).get(to.name)
    if source.value_type != to.value_type:
        verb = "converts"
    elif renaming is not None:
        verb = "moves nothing" if renaming.moves_nothing else "renames registers"
    else:
        verb = "copies" if is_identity(statement.slots) else ""
    head, by, slots = text.partition("  by ")
    return f"{head}  {verb}{by[1 + (not verb) :]}{slots}" if by else f"{head}  {verb}"


def _lines(kernel: Program, body: tuple[ir.Statement, ...], level: int) -> Iterator[str]:
    for statement in body:
        yield "  " * level + line_in(kernel, statement)
        if isinstance(statement, (ir.Loop, ir.If)):
            yield from _lines(kernel, statement.body, level + 1)


def line(statement: ir.Statement) -> str:
    """Return one statement as a line, without what it contains.

    What a reorder costs depends on its kernel: see `line_in`.

    >>> line(ir.Fill("tCrC"))
    'fill      tCrC = 0'
    """
    return LINES[statement](statement)


def _place(
    statement: ir.Prefetch
    | ir.Load
    | ir.Store
    | ir.AtomicStore
    | ir.Await
    | ir.Signal
    | ir.FetchAdd,
) -> str:
    return f"{statement.operand}[{_indices(statement.at)}]"


def _indices(indices: tuple[Index, ...]) -> str:
    return ", ".join(map(str, indices))


def _messages(statement: ir.Prefetch | ir.Load | ir.Store | ir.AtomicStore) -> str:
    return f"by {statement.copy.messages} × {statement.copy.op}"


def _part_of(statement: ir.SharedStore | ir.SharedLoad) -> str:
    at = "" if statement.at.is_constant and not statement.at.offset else f"{statement.at} + "
    return f"{statement.array}[{at}{statement.places}]"


_ROWS: dict[type[ir.Statement], Callable[[Any], str]] = {
    ir.Prefetch: lambda s: f"prefetch  {_place(s)}  {_messages(s)}",
    ir.Load: lambda s: f"copy      {_place(s)} → {s.fragment}  {_messages(s)}",
    ir.Store: lambda s: f"copy      {s.fragment} → {_place(s)}  {_messages(s)}",
    ir.AtomicStore: lambda s: f"add       {s.fragment} → {_place(s)}  {_messages(s)}",
    ir.Fill: lambda s: f"fill      {s.fragment} = {s.value:g}",
    ir.Part: lambda s: f"part      {s.source} from {s.first} → {s.destination}  by {s.slots}",
    ir.Convert: lambda s: f"convert   {s.source} → {s.destination}",
    ir.Reduce: lambda s: f"reduce    {s.how} of {s.source} → {s.destination}  by {s.slots}",
    ir.Mma: lambda s: f"mma       {s.accumulator} += {s.a} · {s.b}  by {s.mma.atom}",
    ir.BarrierArrive: lambda _: "barrier   arrive",
    ir.BarrierWait: lambda _: "barrier   wait",
    NamedArrive: lambda s: f"barrier   arrive at {s.barrier} as {ROLES[s.role].words}",
    NamedWait: lambda s: f"barrier   wait for {s.barrier}",
    ir.Fence: lambda _: "fence     shared memory",
    ir.Await: lambda s: f"await     {_place(s)} >= {s.least}",
    ir.Signal: lambda s: f"signal    {_place(s)} += {s.by}",
    ir.FetchAdd: lambda s: f"ticket    {s.into}[{_indices(s.place)}] = {_place(s)}, += {s.by}",
    ir.SharedStore: lambda s: f"share     {s.fragment} → {_part_of(s)}",
    ir.SharedLoad: lambda s: f"share     {_part_of(s)} → {s.fragment}",
    ir.If: lambda s: f"when {s.index} < {s.below}:",
}
for _kind, _row in _ROWS.items():
    LINES.of(_kind)(_row)


@LINES.of(ir.Reorder)
def _(statement: ir.Reorder) -> str:
    how = "" if is_identity(statement.slots) else f"  by {statement.slots}"
    return f"reorder   {statement.source} → {statement.destination}{how}"


@LINES.of(ir.Map)
def _(statement: ir.Map) -> str:
    by = ", ".join(f"{name} by {layout}" for name, layout in statement.gathers)
    return f"map       {statement.destination} = {statement.value}" + (f"  {by}" if by else "")


@LINES.of(ir.Loop)
def _(statement: ir.Loop) -> str:
    claims = "; ".join(f"{name} holds {value}" for name, value in statement.holds)
    head = f"for {statement.start} <= {statement.var} < {statement.stop}"
    return head + (f" where {claims}:" if claims else ":")
