"""Moves of registers in binaries: which instructions carry what a load brings to what DPAS reads.

Each pair of `igc_reorders.tsv` is a GEMM of one subgroup whose tile is the block of the copy. Every
byte of registers is followed through its binary, from the load (or DPAS) that fills it to the DPAS
(or store) that reads it; the moves of an operand are the instructions that carried bytes of it.
``python tests/compiled_moves.py`` compiles all pairs anew and writes the file.
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import pycute_xe as cx
from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.regions import GRF, Move, Region, moves
from pycute_xe.atom import is_identity
from pycute_xe.bulk import table
from pycute_xe.comparing import Feed
from pycute_xe.cutlass import get_atom, shipped_names
from pycute_xe.emitting.opencl import prelude
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Reorder
from pycute_xe.kernel.ir.listing import renamings
from pycute_xe.native import Binary
from pycute_xe.native.assembly import Instruction, Reg
from pycute_xe.native.messages import descriptor
from pycute_xe.native.operands import DTYPES

DATA = Path(__file__).resolve().parent / "data"
LOAD, STORE = 3, 7  # the lowest bits of the descriptors of block-2D messages
DWORDS = "by way of dwords"
"""Why a binary has more moves than the text: see `Move.instructions`."""


# ------------------------------------------------------------ kernels


def gemm_of(feed: Feed) -> Kernel:
    """A GEMM of one subgroup, whose tile is the block of the copy."""
    (rows, cols), (m, n, k) = feed.copy.shape, feed.mma.shape_mnk
    tile = {"A": (rows, n, cols), "B": (m, cols, rows), "D": (rows, cols, k)}[feed.operand]
    mma = cx.workgroup_mma(feed.mma, tile, ((1, 1, 1), (1, 1, 0)))
    given: Any = {f"copy_{feed.operand.lower()}": str(feed.copy)}
    if feed.operand != "D":
        given[feed.operand.lower()] = feed.order
    if feed.operand != "B" and feed.mma.op.B.bits < 8:
        given["b"] = "col"  # no move of a region parts values that share a byte
    return cx.kernel.gemm(mma, **given)


def written(kernel: Kernel, operand: str) -> list[Move]:
    """The moves that reorders of the operand become: some rename registers, or do nothing."""
    renamed, found = renamings(kernel), list[Move]()
    part = f"r{'C' if operand == 'D' else operand}"
    for s in kernel.statements():
        if not isinstance(s, Reorder) or is_identity(s.slots) or s.destination in renamed:
            continue
        if part in s.destination or (operand == "D" and part in s.source):
            to = kernel.fragment(s.destination)
            found += moves(table(s.slots).reshape(-1), to.value_type.bits, to.elements)
    return found


# ------------------------------------------------------------ following bytes


def places(instruction: Instruction, operand: Reg) -> np.ndarray:
    """The byte of each byte of each lane of an operand."""
    size, walk = DTYPES[operand.kind].itemsize, operand.walk
    lanes = np.arange(instruction.size)
    if walk is None:
        steps = lanes
    elif walk.vertical < 0:
        steps = lanes * walk.horizontal
    else:
        steps = lanes // walk.width * walk.vertical + lanes % walk.width * walk.horizontal
    first = operand.number * GRF + operand.element * size
    return first + size * steps[:, None] + np.arange(size)


class Registers:
    """Which message or DPAS filled each byte, and the instructions that have carried it since."""

    def __init__(self) -> None:
        self.filled = np.zeros(300 * GRF, np.int64)
        self.carried: list[frozenset[int]] = [frozenset()] * self.filled.size
        self.fills = 0

    def fill(self, start: int, count: int) -> None:
        """Note that a message or a DPAS writes so many bytes."""
        self.fills += 1
        self.filled[start : start + count] = self.fills
        self.carried[start : start + count] = [frozenset()] * count

    def write(self, number: int, instruction: Instruction) -> None:
        """Note an instruction on registers: a move of bytes carries them, others make new ones."""
        if instruction.to is None or instruction.to.file != "r":
            return
        to, sources = places(instruction, instruction.to), instruction.sources
        found: list[tuple[int, int, frozenset[int]]] = []
        if instruction.op == "mov" and isinstance(sources[0], Reg) and sources[0].file == "r":
            source = places(instruction, sources[0])
            width = min(source.shape[1], to.shape[1])
            found = [
                (b, int(self.filled[a]), self.carried[a] | {number})
                for a, b in zip(source[:, :width].flat, to[:, :width].flat, strict=True)
            ]
        for byte in to.flat:
            self.filled[byte], self.carried[byte] = 0, frozenset()
        for byte, filled, carried in found:
            self.filled[byte], self.carried[byte] = filled, carried

    def read(self, start: int, count: int) -> set[int]:
        """The instructions that carried bytes; all of which a message or a DPAS has filled."""
        assert (self.filled[start : start + count] > 0).all()
        return set().union(*self.carried[start : start + count])


def carrying(binary: Binary, op: Dpas) -> dict[str, int]:
    """How many instructions carry A and B from loads to DPAS, and D from there to stores."""
    held = Registers()
    found: dict[str, set[int]] = {"A": set(), "B": set(), "D": set()}
    for number, instruction in enumerate(binary.assembly.instructions):
        to: Any = instruction.to
        if instruction.op == "dpas":
            for name, count, source in (("B", op.bytes_B, 1), ("A", op.bytes_A, 2)):
                read: Any = instruction.sources[source]
                size = DTYPES[read.kind].itemsize if read.kind in DTYPES else 1
                found[name] |= held.read(read.number * GRF + read.element * size, count)
            held.fill(to.number * GRF, op.bytes_D)
        elif instruction.op == "send":
            asked = descriptor(instruction)[1] & 0x3F if instruction.sub == "ugm" else 0
            data: Any = instruction.sources[1]
            if asked == STORE:
                found["D"] |= held.read(data.number * GRF, data.length * GRF)
            elif to is not None and to.file != "null":
                # A descriptor has five bits for the registers of a block: 31 stands for 32 as well.
                held.fill(to.number * GRF, (to.length + (asked == LOAD and to.length == 31)) * GRF)
        else:
            held.write(number, instruction)
    return {name: len(numbers) for name, numbers in found.items()}


# ------------------------------------------------------------ pairs


@dataclass(frozen=True)
class Pair:
    """A copy, an MMA and its operand: moves in the text, in the binary, and why they differ."""

    copy: str
    mma: str
    operand: Any
    written: int
    compiled: int
    cause: str

    @property
    def feed(self) -> Feed:
        """What `feeds` says of it."""
        return _feed(self.copy, self.mma, self.operand)


def _feed(copy: str, mma: str, operand: Any) -> Feed:
    """The feed of a copy as an atom, without a type of its own."""
    atom: Any = get_atom(copy)
    return cx.feeds(atom, mma, operand)


def measured(feed: Feed) -> Pair:
    """Compile a pair and count; the cause is the only one there is, or missing."""
    kernel = gemm_of(feed)
    said = written(kernel, feed.operand)
    count = carrying(cx.native.compile(kernel), feed.mma.op)[feed.operand]
    twice = sum(move.instructions == 2 for move in said)
    cause = DWORDS if twice and count == len(said) + twice else ""
    return Pair(str(feed.copy), str(feed.mma), feed.operand, len(said), count, cause)


@cache
def recorded() -> list[Pair]:
    """The pairs of the file."""
    with (DATA / "igc_reorders.tsv").open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [
            Pair(
                r["copy"], r["mma"], r["operand"], int(r["written"]), int(r["compiled"]), r["cause"]
            )
            for r in rows
        ]


def drawn(asked: list[tuple[str, Any]], count: int = 30) -> list[Feed]:
    """Pairs of different kinds that need moves, as many of each operand and width as there are."""
    groups: dict[tuple[Any, ...], list[Feed]] = {}
    for mma, operand in asked:
        for name in shipped_names():
            feed = _feed(name, mma, operand)
            if feed.moves:
                bits = feed.mma.operand_type(operand).bits
                groups.setdefault((operand, bits, feed.copy.value_type, feed.pattern), []).append(
                    feed
                )
    rng, out = Random(0), list[Feed]()
    while len(out) < count and any(groups.values()):
        for group in groups.values():
            feed = group.pop(rng.randrange(len(group))) if group else None
            if feed is not None and len(out) < count and _builds(feed):
                out.append(feed)
    return out


def _builds(feed: Feed) -> bool:
    try:
        cx.emit(gemm_of(feed))
    except KernelError:
        return False
    return True


# ------------------------------------------------------------ single moves

_TYPES = {1: "ub", 2: "uw", 4: "ud"}
_TOGETHER = 48
"""Moves that fit the registers of one kernel."""


def single_moves(count: int, seed: int = 0) -> list[Move]:
    """So many moves of all kinds of regions, that stay within two registers on both sides."""
    rng, found = Random(seed), dict[Move, None]()
    while len(found) < count:
        move = _single(rng)
        if move is not None:
            found[move] = None
    return [*found]


def _single(rng: Random) -> Move | None:
    size, width = rng.choice((1, 1, 2, 2, 4)), rng.choice((1, 2, 4, 8, 16))
    down, across = rng.choice((1, 2, 4, 8, 16, 32)), rng.choice((1, 2, 4)) if width > 1 else 0
    stride, count = rng.choice((1, 2, 4)), rng.choice((2, 4, 8, 16, 32))
    to, source = (rng.choice((0, rng.randrange(GRF // size))) for _ in range(2))
    if width > 1 and width >= count:
        return None
    lanes = np.arange(count)
    read = (source + lanes // width * down + lanes % width * across) * size
    span, rows = ((count - 1) * stride + 1) * size, read.reshape(-1, width) // GRF
    parted = width > 1 and down != width * across and (rows != rows[:, :1]).any()
    fits = to * size + span <= GRF or (to == 0 and count * stride * size == 2 * GRF)
    if not fits or parted or read.max() >= 2 * GRF or np.unique(read).size < count:
        return None
    move = Move(size, count, to, stride, source, Region(down, width, across))
    return move if count <= 16 or move.instructions == 1 else None


def instructions_of(moves: list[Move]) -> list[int]:
    """How many instructions of a binary each move becomes: compiled many at a time."""
    parts = [moves[at : at + _TOGETHER] for at in range(0, len(moves), _TOGETHER)]
    return [count for part in parts for count in _compiled(part)]


def _compiled(moves: list[Move]) -> list[int]:
    """Each move into registers of its own, which are stored in this order."""
    binary = cx.native.compile_text(_text(moves), "probe")
    assert binary.scratch == 0
    held, out = Registers(), list[int]()
    for number, instruction in enumerate(binary.assembly.instructions):
        to: Any = instruction.to
        if instruction.op == "send" and instruction.sub == "ugm":
            if descriptor(instruction)[1] & 0x3F == STORE:
                data: Any = instruction.sources[1]
                carried = held.carried[data.number * GRF : (data.number + 2) * GRF]
                out.append(len(frozenset[int]().union(*carried)))
            elif to is not None and to.file != "null":
                held.fill(to.number * GRF, to.length * GRF)
        elif instruction.op != "dpas":
            held.write(number, instruction)
    return out


def _text(moves: list[Move]) -> str:
    declared = ["XE_DECLARE(xe_from, 64);"]
    declared += [
        f"XE_VIEW(xe_from_{t}, {t}, {256 // size}, xe_from, 0);" for size, t in _TYPES.items()
    ]
    lines, stores = ["XE_LOAD_2D(xe_from, d32.1x16x4nn, sA, 0, 0);"], list[str]()
    for i, move in enumerate(moves):
        kind = _TYPES[move.bytes]
        declared += [f"XE_DECLARE(xe_v{i}, 32);"]
        declared += [f"XE_VIEW(xe_v{i}_{kind}, {kind}, {128 // move.bytes}, xe_v{i}, 0);"]
        declared += [f"XE_ALU(mov (M1_NM, 32) xe_v{i}(0,0)<1> 0x0:ud);"]
        to, source = f"(0,{move.to})<{move.stride}>", f"(0,{move.source}){move.region}"
        lines.append(
            f"XE_ALU(mov (M1_NM, {move.count}) xe_v{i}_{kind}{to} xe_from_{kind}{source});"
        )
        stores.append(f"XE_STORE_2D(sA, 0, {4 + 2 * i}, xe_v{i}, d32.1x16x2nn);")
    head = (
        "__attribute__((intel_reqd_sub_group_size(16)))",
        "__kernel void probe(__global uchar *A) {",
        "const xe_surface sA = XE_SURFACE(A, 64, 4096, 64);",
    )
    return "\n".join([prelude("prelude.cl"), *head, *declared, *lines, *stores, "}"])


@cache
def recorded_moves() -> dict[Move, int]:
    """The single moves of the file, and how many instructions each became."""
    lines = (DATA / "igc_moves.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = (tuple(map(int, line.split("\t"))) for line in lines)
    return {Move(b, n, to, by, at, Region(*walk)): count for b, n, to, by, at, *walk, count in rows}


# ------------------------------------------------------------ writing


def _write(name: str, head: list[str], rows: list[tuple[Any, ...]]) -> None:
    with (DATA / f"{name}.tsv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerows([head, *rows])


def main() -> None:
    """Compile everything, and write what came out."""
    import sys

    sys.path.insert(0, str(DATA.parent / "atom"))
    from test_one_answer import asked  # pyright: ignore[reportMissingImports]

    pairs = [measured(feed) for feed in drawn(asked())]
    _write("igc_reorders", [f.name for f in fields(Pair)], [astuple(pair) for pair in pairs])
    singles = single_moves(10 * _TOGETHER)
    head = ["bytes", "count", "to", "stride", "source", "vertical", "width", "horizontal", "found"]
    counts = instructions_of(singles)
    rows = zip(singles, counts, strict=True)
    _write("igc_moves", head, [(*astuple(m)[:5], *astuple(m.region), n) for m, n in rows])
    print(Counter(pair.cause or "equal" for pair in pairs), Counter(counts))


if __name__ == "__main__":
    main()
