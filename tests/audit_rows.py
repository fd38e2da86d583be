"""What CUTLASS's traits say of each older copy, against the document, the layouts and registers.

The traits are those of C++ (tests/data, cute_copy_atoms_legacy), and so are the messages that
CUTLASS sends and the unit in which it reads their registers (cutlass_block2d_messages).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from golden import rows, to_layout

import pycute_xe as cx
from pycute_xe.arch import Block2D
from pycute_xe.arch.target import errors
from pycute_xe.atom.copy_answers import RegisterPicture
from pycute_xe.cutlass import LegacyCopyAtom, get_atom

Place = tuple[int, int]
SIDES = ("Src", "Dst", "Ref")
UNITS = (8, 16, 32, 64)


@dataclass(frozen=True)
class Verdict:
    """What was found of one row: a name, with the strides of a tensor."""

    name: str
    strides: str
    onto: bool  # the map of registers hits every element of the block once
    declared: Place  # the block that the traits declare, rows and columns
    shared: int  # elements of the block with several owners
    unowned: int  # elements of the block with none
    outside: int  # values that are not in the block
    rule: str  # "yes", "no", or "-" where the document is silent
    equal: str  # which of CUTLASS's maps are not the ones here: "yes", "no", "memory side differs"
    sent: str  # what a work-item finds, as CUTLASS reads its message: see `_sent`
    units: tuple[int, ...]  # widths in which registers show what the map says
    here: tuple[int, ...]  # the same of the library's own layouts and messages


@dataclass(frozen=True)
class Sent:
    """The message that CUTLASS sends under a name, and how it reads the registers."""

    message: Block2D
    unit_bits: int
    shuffles: bool

    def __str__(self) -> str:
        m = self.message
        suffix = f"{'tn'[not m.transpose]}{'tn'[not m.vnni]}"
        return f"d{m.bits}.{m.count}x{m.width}x{m.height}{suffix}"


@cache
def sent() -> dict[str, Sent]:
    """The messages of CUTLASS by name; prefetches are left out, they fill no register."""
    found: dict[str, Sent] = {}
    for row in rows("cutlass_block2d_messages")["messages"]:
        if row["op"] != "prefetch":
            turned, vnni = (letter == "t" for letter in row["suffix"])
            sizes = (row[key] for key in ("bits", "height", "width", "count"))
            message = Block2D(row["op"], *sizes, transpose=turned, vnni=vnni)
            found[row["name"]] = Sent(message, row["unit_bits"], row["shuffles"])
    return found


@cache
def verdicts() -> tuple[Verdict, ...]:
    return tuple(_verdict(row) for row in rows("cute_copy_atoms_legacy")["cases"])


def atom_of(row: dict[str, Any]) -> LegacyCopyAtom:
    stride = row["gmem_stride"]
    if stride is not None:
        stride = tuple("ld" if d == -1 else d for d in stride)
    atom = get_atom(row["name"], None, stride)
    assert isinstance(atom, LegacyCopyAtom)
    return atom


def said(row: dict[str, Any]) -> list[list[Place]]:
    """(row, column) of each value of each work-item, as the traits map them.

    Offsets are in the block that the traits declare, its last mode fastest. That is the block of
    the name, or its transpose: by the sizes, of a square one by the stride.
    """
    atom = atom_of(row)
    declared = tuple(row["BlockShape"])
    rows_, cols = atom.logical_shape
    first_fast = row["stride_case"].startswith("col") and not atom.name.is_store
    turned = declared == (cols, rows_) and (rows_ != cols or first_fast)
    held = np.asarray(cx.table(to_layout(row["ValLayoutRef"]))).reshape(-1, 16).T
    places = [[divmod(int(offset), declared[1]) for offset in values] for values in held]
    return [[(x, y) if turned else (y, x) for y, x in values] for values in places]


def documented(packed: bool, column: int) -> int:
    """The work-item that the document's tables give a column to."""
    return column % 32 // 2 if packed else column % 16


def picture(name: str, message: Block2D) -> RegisterPicture:
    """The registers after a message that starts at the first element of a block."""
    bits = get_atom(name).value_type.bits
    per = max(1, message.bits // bits)
    slots: list[Place | None] = [None] * (message.register_bytes("pvc") * 8 // bits)
    at = cx.table(message.position)
    for y, block, x in product(range(message.height), range(message.count), range(message.width)):
        for part in range(per):
            column = (block * message.width + x) * per + part
            place = (column, y) if message.transpose else (y, column)
            slots[int(at[x + message.width * (block + message.count * y)]) * per + part] = place
    return RegisterPicture(bits, tuple(slots))


def _verdict(row: dict[str, Any]) -> Verdict:
    atom, held = atom_of(row), said(row)
    rows_, cols = atom.logical_shape
    block = set(product(range(rows_), range(cols)))
    times = Counter(place for values in held for place in values)
    onto = tuple(sorted(row["BlockShape"])) == tuple(sorted((rows_, cols))) and (
        times == Counter(dict.fromkeys(block, 1))
    )
    message = sent()[row["name"]]
    after = picture(row["name"], message.message)
    return Verdict(
        row["name"],
        row["stride_case"],
        onto,
        tuple(row["BlockShape"]),
        sum(times[place] > 1 for place in block),
        len(block - set(times)),
        sum(n for place, n in times.items() if place not in block),
        _rule(atom, held, block),
        _equal(row, atom),
        _sent(message, held, after),
        tuple(u for u in UNITS if u % after.bits == 0 and found(held, after, u) == "as said"),
        atom.faithful_units,
    )


def _sent(message: Sent, held: list[list[Place]], after: RegisterPicture) -> str:
    """What a work-item finds in the registers, as CUTLASS reads them, if they tell anything."""
    if message.shuffles:
        return "moved again"
    if errors(message.message.broken_rules("pvc")):
        return "no legal message"
    return "halves" if message.unit_bits < after.bits else found(held, after, message.unit_bits)


def found(held: list[list[Place]], after: RegisterPicture, unit: int) -> str:
    """What a work-item finds in its registers: "as said", "other order" or "others"."""
    owners = after.owners(unit)
    if any(place not in owners for values in held for place in values):
        return "others"
    shown = [[owners[place] for place in values] for values in held]
    if any(lane != t for t, values in enumerate(shown) for lane, _ in values):
        return "others"
    order = all(v == i for values in shown for i, (_, v) in enumerate(values))
    return "as said" if order else "other order"


def _rule(atom: LegacyCopyAtom, held: list[list[Place]], block: set[Place]) -> str:
    # The document has no block of fewer columns than work-items, and no table of packed U4.
    if atom.logical_shape[1] < 16 or (atom.name.packed and atom.name.bits < 8):
        return "-"
    wanted: list[set[Place]] = [set() for _ in held]
    for place in block:
        wanted[documented(atom.name.packed, place[1])].add(place)
    right = all(
        len(values) == len(set(values)) and set(values) == want
        for values, want in zip(held, wanted, strict=True)
    )
    return "yes" if right else "no"


def _equal(row: dict[str, Any], atom: LegacyCopyAtom) -> str:
    differs = {
        side
        for side in SIDES
        for theirs, ours in (
            (f"ValLayout{side}", f"layout_{side.lower()}_tv"),
            (f"{side}Layout_bits", f"layout_{side.lower()}_tv_bits"),
        )
        if not np.array_equal(cx.table(to_layout(row[theirs])), cx.table(getattr(atom, ours)))
    }
    if not differs:
        return "yes"
    return "memory side differs" if differs == {"Dst" if atom.name.is_store else "Src"} else "no"
