"""Floor 7: reorders that cost nothing, because whoever reads their result can read their source.

Registers are named in instructions, so a reorder that keeps each operand of a DPAS (or each block
of a store) in one piece needs no instruction: the reader names the registers that hold the piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd

import numpy as np

from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom.reordering import is_identity
from pycute_xe.bulk import table
from pycute_xe.kernel.ir.copies import Store
from pycute_xe.kernel.ir.program import Program
from pycute_xe.kernel.ir.statement import Statement
from pycute_xe.kernel.ir.statements import If, Loop, Mma, Reorder
from pycute_xe.kernel.ir.walking import walk
from pycute_xe.layout import size
from pycute_xe.signatures import typed

__all__ = ["Renaming", "renamings"]


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
    in it where no statement could tell the two fragments apart, and where it moves nothing, or only
    whole operands of the DPAS and whole blocks of the stores that alone read it. C++: a register
    allocator does the same with ``reorder`` of whole registers.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> gemm = cx.kernel.gemm(mma, copy_b="XE_2D_U16x32x32_LD_V")
    >>> {name: (r.source, len(r.pieces), r.piece) for name, r in renamings(gemm).items()}
    {'tCrA': ('tArA', 1, 2048), 'tCrB': ('tBrB', 8, 512)}
    """
    out: dict[str, Renaming] = {}
    taken: set[str] = set()
    for reorder in kernel.statements():
        if not isinstance(reorder, Reorder) or taken & {reorder.source, reorder.destination}:
            continue
        found = _renaming(kernel, reorder)
        if found is not None and _safe(kernel, reorder):
            out[reorder.destination] = found
            taken |= {reorder.source, reorder.destination}
    return out


def _renaming(kernel: Program, reorder: Reorder) -> Renaming | None:
    """Return how the destination lies in the source, ``None`` where an operand is in pieces."""
    source, destination = (kernel.fragment(n) for n in (reorder.source, reorder.destination))
    if is_identity(reorder.slots):
        fits = source.bytes >= destination.bytes
        whole = Renaming(destination.name, source.name, destination.bytes, (0,))
        return whole if fits else None
    bits, count = source.value_type.bits, destination.elements
    if destination.value_type != source.value_type or not source.elements == count == size(
        reorder.slots
    ):
        return None
    readers = [s for s in kernel.statements() if destination.name in _read(s)]
    pieces = {piece for reader in readers for piece in _pieces(reader, destination.name)}
    if len(pieces) != 1 or not (piece := pieces.pop()) or piece * 8 % bits:
        return None
    goes_to = table(reorder.slots).reshape(-1)
    elements = piece * 8 // bits
    if count % elements or (np.sort(goes_to) != np.arange(count)).any():
        return None
    came_from = np.argsort(goes_to)
    rows = came_from.reshape(-1, elements)
    if (rows != rows[:, :1] + np.arange(elements)).any():
        return None
    starts = rows[:, 0] * bits
    if (starts % (8 * gcd(piece, grf_bytes()))).any():
        return None
    found = tuple(int(bit) // 8 for bit in starts)
    return Renaming(destination.name, source.name, piece, found)


def _pieces(reader: Statement, name: str) -> Iterator[int]:
    """The bytes that a reader needs in one piece; 0 where it needs the whole fragment."""
    if isinstance(reader, Mma) and reader.accumulator != name:
        op = reader.mma.atom.op
        yield from (op.bytes_A,) * (reader.a == name) + (op.bytes_B,) * (reader.b == name)
    elif isinstance(reader, Store):
        atom = reader.copy.block
        values, image = atom.values * 16, atom.register_tv.elements
        yield values * atom.value_type.bits // 8 if image == values else 0
    else:
        yield 0


def _safe(kernel: Program, reorder: Reorder) -> bool:
    """Whether no statement could tell the two fragments of a reorder apart.

    In the body that holds the reorder the source is written before it only, the destination read
    after it only, and nothing else writes the destination.
    """
    body = _around(kernel.body, reorder)
    if body is None or sum(s == reorder for s in kernel.statements()) != 1:
        return False
    at = body.index(reorder)
    others = [s for s in kernel.statements() if s != reorder]

    def all_in(part: tuple[Statement, ...], touching: Callable[[Statement], bool]) -> bool:
        return sum(map(touching, others)) == sum(map(touching, walk(part)))

    return (
        all_in(body[:at], lambda s: reorder.source in _written(s))
        and all_in(body[at + 1 :], lambda s: reorder.destination in _read(s))
        and not any(reorder.destination in _written(s) for s in others)
    )


def _written(statement: Statement) -> tuple[str, ...]:
    return statement.touched.writes + statement.touched.updates


def _read(statement: Statement) -> tuple[str, ...]:
    return statement.touched.reads + statement.touched.updates


def _around(body: tuple[Statement, ...], held: Reorder) -> tuple[Statement, ...] | None:
    """Return the innermost body that a statement stands in."""
    if held in body:
        return body
    inner = (_around(s.body, held) for s in body if isinstance(s, (Loop, If)))
    return next((found for found in inner if found is not None), None)
