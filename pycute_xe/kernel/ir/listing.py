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
from pycute_xe.kernel.ir.effects import CounterAccess, MemoryAccess, RegisterMove, SharedAccess
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
    for statement in kernel.statements():
        move = statement.touched.move
        if move is None or taken & {move.source, move.destination}:
            continue
        renaming = _renaming(kernel, move)
        if renaming is not None and _safe(kernel, statement, move):
            out[move.destination] = renaming
            taken |= {move.source, move.destination}
    return out


def reorder_moves(kernel: Program, reorder: ir.Reorder | RegisterMove) -> int:
    """Return how many `mov` instructions a reorder is in each subgroup, 0 for a renaming.

    Law: a reorder into another type is a conversion and counts 0, as does a move in which each
    element keeps its place. Raises `KernelError` for values that share a byte, which no move parts.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> gemm = cx.kernel.gemm(mma, copy_b="XE_2D_U16x32x32_LD_N")
    >>> moves = [s.touched.move for s in gemm.statements()]
    >>> [(m.destination, reorder_moves(gemm, m)) for m in moves if m is not None]
    [('tCrA', 0), ('tCrB', 128)]
    """
    source, destination = (kernel.fragment(n) for n in (reorder.source, reorder.destination))
    if reorder.slots is None or source.value_type != destination.value_type:
        return 0
    if reorder.destination in renamings(kernel):
        return 0
    made = moves(entries(reorder.slots), source.value_type.bits, destination.elements)
    return sum(move.instructions for move in made)


def _renaming(kernel: Program, move: RegisterMove) -> Renaming | None:
    """Return how the destination lies in the source, ``None`` where an operand is in pieces."""
    source, destination = (kernel.fragment(n) for n in (move.source, move.destination))
    if destination.value_type != source.value_type or (slots := move.permutation) is None:
        return None
    if is_identity(slots):
        fits = source.bytes >= destination.bytes
        whole = Renaming(destination.name, source.name, destination.bytes, (0,))
        return whole if fits else None
    bits, count = source.value_type.bits, destination.elements
    if not source.elements == count == size(slots):
        return None
    readers = [s for s in kernel.statements() if destination.name in _read(s)]
    pieces = {piece for reader in readers for piece in _pieces(reader, destination.name)}
    if len(pieces) != 1 or not (piece := pieces.pop()) or piece * 8 % bits:
        return None
    goes_to = entries(slots)
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
    touched, pieces = reader.touched, list[int]()
    if (product := touched.product) is not None and product.accumulator != name:
        op = product.mma.atom.op
        pieces += [op.bytes_A] * (product.a == name) + [op.bytes_B] * (product.b == name)
    if (memory := touched.memory) is not None and memory.overwrites and memory.fragment == name:
        atom = memory.copy.block
        values, image = atom.values * 16, atom.register_tv.elements
        pieces.append(values * atom.value_type.bits // 8 if image == values else 0)
    whole = any((touched.shared, touched.move, touched.elementwise))
    yield from pieces if pieces and not whole else [0]


def _safe(kernel: Program, reorder: ir.Statement, move: RegisterMove) -> bool:
    """Whether no statement could tell the two fragments of a reorder apart.

    Only the reorder, wherever it is repeated, writes the destination. Each statement that reads it
    comes after the reorder with no write of the source between the two.
    """
    others = (s for s in kernel.statements() if s != reorder)
    if any(move.destination in _written(s) for s in others):
        return False
    return _reads_after(kernel.body, reorder, move)


def _reads_after(body: tuple[ir.Statement, ...], reorder: ir.Statement, move: RegisterMove) -> bool:
    """Whether each read of the destination in a body finds the source as the reorder read it."""
    valid = False
    for statement in body:
        if statement == reorder:
            valid = True
            continue
        inner = statement.body if isinstance(statement, (ir.Loop, ir.If)) else ()
        nested = [*walk(inner)] or [statement]
        writes = any(move.source in _written(s) for s in nested)
        if inner and (writes or not valid):
            if not _reads_after(inner, reorder, move):
                return False
        elif any(move.destination in _read(s) for s in nested) and (writes or not valid):
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
    products = (statement.touched.product for statement in walk(kernel.body))
    mmas = dict.fromkeys(product.mma for product in products if product is not None)
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
    >>> next(line_in(gemm, s) for s in gemm.statements() if s.touched.move is not None)
    'reorder   tArA → tCrA  moves nothing'
    """
    text, move = line(statement), statement.touched.move
    if move is None or (slots := move.permutation) is None:
        return text
    source, to = (kernel.fragment(n) for n in (move.source, move.destination))
    renaming = renamings(kernel).get(to.name)
    if source.value_type != to.value_type:
        verb = "converts"
    elif renaming is not None:
        verb = "moves nothing" if renaming.moves_nothing else "renames registers"
    else:
        verb = "copies" if is_identity(slots) else ""
    head, by, layout = text.partition("  by ")
    return f"{head}  {verb}{by[1 + (not verb) :]}{layout}" if by else f"{head}  {verb}"


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


def _place(access: MemoryAccess | CounterAccess) -> str:
    return f"{access.operand}[{_indices(access.at)}]"


def _ticket(access: CounterAccess) -> str:
    return f"{access.into}[{_indices(access.place)}]"


def _indices(indices: tuple[Index, ...]) -> str:
    return ", ".join(map(str, indices))


def _messages(access: MemoryAccess) -> str:
    return f"by {access.copy.messages} × {access.copy.op}"


def _part_of(access: SharedAccess) -> str:
    at = "" if access.at.is_constant and not access.at.offset else f"{access.at} + "
    return f"{access.array}[{at}{access.places}]"


def _enter(kind: type[ir.Statement], text: Callable[[Any], str]) -> None:
    LINES.of(kind)(text)


_enter(ir.Prefetch, lambda s: f"prefetch  {_place(s.access)}  {_messages(s.access)}")
_enter(ir.Load, lambda s: f"copy      {_place(s.access)} → {s.fragment}  {_messages(s.access)}")
_enter(ir.Store, lambda s: f"copy      {s.fragment} → {_place(s.access)}  {_messages(s.access)}")
_enter(
    ir.AtomicStore, lambda s: f"add       {s.fragment} → {_place(s.access)}  {_messages(s.access)}"
)
_enter(ir.Fill, lambda s: f"fill      {s.fragment} = {s.value:g}")
_enter(ir.Part, lambda s: f"part      {s.source} from {s.first} → {s.destination}  by {s.slots}")
_enter(ir.Convert, lambda s: f"convert   {s.source} → {s.destination}")
_enter(ir.Reduce, lambda s: f"reduce    {s.how} of {s.source} → {s.destination}  by {s.slots}")
_enter(ir.Mma, lambda s: f"mma       {s.accumulator} += {s.a} · {s.b}  by {s.mma.atom}")
_enter(ir.BarrierArrive, lambda _: "barrier   arrive")
_enter(ir.BarrierWait, lambda _: "barrier   wait")
_enter(NamedArrive, lambda s: f"barrier   arrive at {s.barrier} as {ROLES[s.role].words}")
_enter(NamedWait, lambda s: f"barrier   wait for {s.barrier}")
_enter(ir.Fence, lambda _: "fence     shared memory")
_enter(ir.Await, lambda s: f"await     {_place(s.access)} >= {s.least}")
_enter(ir.Signal, lambda s: f"signal    {_place(s.access)} += {s.by}")
_enter(ir.FetchAdd, lambda s: f"ticket    {_ticket(s.access)} = {_place(s.access)}, += {s.by}")
_enter(ir.SharedStore, lambda s: f"share     {s.fragment} → {_part_of(s.access)}")
_enter(ir.SharedLoad, lambda s: f"share     {_part_of(s.access)} → {s.fragment}")
_enter(ir.If, lambda s: f"when {s.index} < {s.below}:")


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
