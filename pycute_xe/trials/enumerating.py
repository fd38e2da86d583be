"""`verify` of who owns what by enumeration alone: each element of a block, on the standard library.

The machine, on which `ownership` moves each element, and the prover need NumPy. Without it a claim
is compared with the register picture of the atom, value by value.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from pycute_xe.atom import CopyAtom, LinearCopyAtom, TiledCopy
from pycute_xe.atom.copy_answers import ValueOrder
from pycute_xe.atom.register_picture import SUBGROUP, UNITS
from pycute_xe.bulk import entries
from pycute_xe.clock import stopwatch
from pycute_xe.comparing.atom_arguments import direction
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.errors import CuteError, InputError, ToolError, with_article
from pycute_xe.kernel import Index
from pycute_xe.layout import size
from pycute_xe.trials.claims import (
    T,
    V,
    claim_words,
    example_at,
    failed,
    index_of,
    value_statement,
    value_words,
)
from pycute_xe.verifying.verdict import Proof, Tried, Verdict

__all__ = ["enumerated", "has_arrays"]

Copies = CopyAtom | LegacyCopyAtom | LinearCopyAtom | TiledCopy
Place = tuple[int, int]
Places = tuple[tuple[Place, ...], ...]
"""For each work-item the row and the column of each value."""

NOT_MOVED = "each element is looked up in the register picture; the machine needs NumPy"


def has_arrays() -> bool:
    """Tell whether NumPy is installed, which the machine and the prover need."""
    try:
        return find_spec("numpy") is not None
    except (ImportError, ValueError):
        return False


def enumerated(
    copy: Any,
    row: object = None,
    column: object = None,
    unit_bits: int | None = None,
    order: ValueOrder = "registers",
) -> Verdict:
    """Prove who owns what a copy moves, or what a formula claims of it, element by element.

    Law: what is proved or disproved here is so by `verify`, which also moves each element on the
    machine. Raises `ToolError` for what is not a copy, `InputError` for formulas as `verify` does.

    >>> from pycute_xe.cutlass import get_atom
    >>> atom = get_atom("XE_2D_U16x8x16_LD_N")
    >>> bool(enumerated(atom)), bool(enumerated(atom, row="v", column="t"))
    (True, True)
    >>> print(enumerated(atom, row="v", column="(t + 1) % 16").counterexample.message)
    value 0 of work-item 0 is said to be (0, 1), and is (0, 0)
    """
    if not isinstance(copy, Copies):
        condition = f"{with_article(type(copy).__name__)} is proved with NumPy, which is not here"
        fix = "install numpy, or ask who owns what a copy atom moves"
        raise ToolError("verify", {"of": type(copy).__name__}, condition, fix)
    elapsed = stopwatch()
    claim = _claimed(copy, row, column, unit_bits)
    proofs = [_owners(claim)]
    registers = None if claim.is_prefetch else _in_registers(claim)
    if registers is not None and order == "layout":
        registers = _in_layout_order(claim, registers)
    if registers is not None:
        proofs += [_work_items(claim, registers), _values(claim, registers, order)]
    elif not claim.is_prefetch:
        words = value_statement(order)
        proofs.append(Proof("values", "undecided", words, (), 0.0, reason=NOT_MOVED))
    # What a value is said to be tells more than that its work-item does not own it.
    ordered = sorted(proofs, key=lambda p: p.property not in ("owners", "values"))
    shown = next((p.counterexample for p in ordered if p.counterexample), None)
    name = claim_words(copy, row, column, order)
    reason = "a prefetch fills no registers" if claim.is_prefetch else NOT_MOVED
    scope, seconds = "for all values of all work-items", elapsed()
    return Verdict(name, scope, tuple(proofs), shown, seconds, Tried((), reason))


# ------------------------------------------------------------ claims


@dataclass(frozen=True)
class _Claim:
    """Who is said to own what of a block or a tile, and the unit in which registers are read."""

    copy: Copies
    shape: Place
    places: Places
    unit_bits: int
    is_prefetch: bool


def _claimed(copy: Copies, row: object, column: object, unit_bits: int | None) -> _Claim:
    if (row is None) != (column is None):
        wrong = "a formula of ownership has a row and a column"
        fix = 'give both: verify(atom, row="v", column="t")'
        raise InputError("verify", {"copy": copy, "row": row, "column": column}, wrong, fix)
    atom = copy.atom if isinstance(copy, TiledCopy) else copy
    shape, places = _own(copy)
    if row is not None:
        formula = index_of("row", row), index_of("column", column)
        counts = len(places), len(places[0])
        places = tuple(
            tuple(_at(formula, t, v) for v in range(counts[1])) for t in range(counts[0])
        )
    bits = atom.value_type.bits
    prefetch = isinstance(atom, (CopyAtom, LegacyCopyAtom)) and direction(atom) == "prefetch"
    own = 0 if prefetch else max(copy.unit_bits, bits)
    unit = own if unit_bits is None else unit_bits
    if unit != own and (unit not in UNITS or unit % bits):
        wrong = f"registers are not read in units of {unit} bits where values have {bits}"
        raise InputError("verify", {"unit_bits": unit}, wrong, "use 8, 16, 32 or 64")
    return _Claim(copy, shape, places, unit, prefetch)


def _at(formula: tuple[Index, Index], t: int, v: int) -> Place:
    row, column = (index.at({T: t, V: v}) for index in formula)
    return row, column


def _own(copy: Copies) -> tuple[Place, Places]:
    """Return the rows and columns of the block or the tile, and who is said to own them."""
    if isinstance(copy, TiledCopy):
        if len(copy.tiler_mn) != 2:
            wrong = f"its tile has {len(copy.tiler_mn)} modes"
            raise InputError("verify", {"copy": copy}, wrong, "ask of a tile of two modes")
        rows, columns = copy.tiler_mn
        threads = size(copy.layout_tv_tiled[0])
        places = [(o % rows, o // rows) for o in entries(copy.layout_tv_tiled)]
        return (rows, columns), tuple(tuple(places[t::threads]) for t in range(threads))
    if isinstance(copy, LinearCopyAtom) and not copy.op.is_block:
        # Each of 16 work-items addresses its own values: the row is the work-item.
        lanes = tuple(tuple((t, v) for v in range(copy.values)) for t in range(SUBGROUP))
        return (SUBGROUP, copy.values), lanes
    return copy.shape, copy.ownership()


def _in_registers(claim: _Claim) -> Places | None:
    """Return the element of each value of each work-item, (-1, -1) for padding, as registers are.

    ``None`` where no register picture of the block is known.
    """
    copy = claim.copy
    if isinstance(copy, TiledCopy) or (isinstance(copy, LinearCopyAtom) and not copy.op.is_block):
        return None
    try:
        picture = copy.registers()
    except CuteError:
        return None
    whole = claim.unit_bits // picture.bits
    slots = [(-1, -1) if place is None else place for place in picture.slots]
    units = len(slots) // (SUBGROUP * whole)
    if not whole or units * SUBGROUP * whole != len(slots):
        return None
    firsts = [[(u * SUBGROUP + t) * whole for u in range(units)] for t in range(SUBGROUP)]
    return tuple(tuple(slots[i + k] for i in mine for k in range(whole)) for mine in firsts)


def _in_layout_order(claim: _Claim, registers: Places) -> Places:
    """Return what registers hold, in the order of the atom's layout."""
    copy = claim.copy
    if isinstance(copy, TiledCopy):
        return registers
    pairs = zip(registers, copy.register_values(claim.unit_bits), strict=True)
    return tuple(tuple(lane[i] for i in order) for lane, order in pairs)


# ------------------------------------------------------------ proofs


def _owners(claim: _Claim) -> Proof:
    """Each element has as many owners as every other, and nothing outside is owned."""
    rows, columns = claim.shape
    threads, values = len(claim.places), len(claim.places[0])
    many = max(1, -(-threads * values // (rows * columns)))
    one = "one owner" if many == 1 else f"{many} owners"
    words = f"each of {rows}x{columns} elements has {one}, and nothing else is owned"
    counts: Counter[Place] = Counter()
    for t, lane in enumerate(claim.places):
        for v, (row, column) in enumerate(lane):
            if not (0 <= row < rows and 0 <= column < columns):
                claimed = f"{value_words(t, v)} is said to be {(row, column)}"
                wrong = f"{claimed}, outside the block of {rows}x{columns}"
                return failed("owners", words, example_at("owners", wrong, t, v, None))
            counts[row, column] += 1
    every = ((row, column) for row in range(rows) for column in range(columns))
    at = next((place for place in every if counts[place] != many), None)
    if at is None:
        return Proof("owners", "proved", words, (), 0.0)
    lanes = enumerate(claim.places)
    holders = [(t, v) for t, lane in lanes for v, place in enumerate(lane) if place == at]
    owners = ", ".join(value_words(t, v) for t, v in holders[:3]) or "none"
    wrong = f"the element {at} has {len(holders)} owners, and must have {many}: {owners}"
    t, v = holders[0] if holders else (0, 0)
    return failed("owners", words, example_at("owners", wrong, t, v, at))


def _work_items(claim: _Claim, registers: Places) -> Proof:
    """Each work-item holds its own elements, in whatever order."""
    words = (
        f"registers, read {claim.unit_bits} bits at a time, hold what each work-item owns, in any "
        "order"
    )
    for t, (owned, slots) in enumerate(zip(claim.places, registers, strict=True)):
        mine = set(owned)
        for v, place in enumerate(slots):
            if min(place) >= 0 and place not in mine:
                wrong = f"{value_words(t, v)} is {place}, which the work-item is not said to own"
                example = replace(example_at("work-items", wrong, t, v, None), found=place)
                return failed("work-items", words, example)
        missing = mine.difference(slots)
        if missing:
            wrong = f"work-item {t} is said to own {min(missing)}, and does not hold it"
            example = example_at("work-items", wrong, t, 0, min(missing))
            return failed("work-items", words, example)
    return Proof("work-items", "proved", words, (), 0.0)


def _values(claim: _Claim, registers: Places, order: ValueOrder) -> Proof:
    """Value v of work-item t is what it is said to be."""
    words = f"{value_statement(order)}, each element of a block looked up"
    for t, (owned, slots) in enumerate(zip(claim.places, registers, strict=True)):
        for v in range(max(len(owned), len(slots))):
            wanted = owned[v] if v < len(owned) else None
            there = slots[v] if v < len(slots) and min(slots[v]) >= 0 else None
            if wanted == there:
                continue
            claimed = f"is said to be {wanted}" if wanted else "is not said to be owned"
            actual = f"is {there}" if there is not None else "is padding"
            wrong = f"{value_words(t, v)} {claimed}, and {actual}"
            example = replace(example_at("values", wrong, t, v, _inside(wanted)), found=there)
            return failed("values", words, example)
    return Proof("values", "proved", words, (), 0.0)


def _inside(place: Place | None) -> Place | None:
    return place if place is not None and min(place) >= 0 else None
