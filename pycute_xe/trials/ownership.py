"""`verify` of copies and MMAs: who owns what, proved by small programs and seen on the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from pycute_xe.algebra.compose import index_at
from pycute_xe.arch import get_target
from pycute_xe.atom import LinearCopyAtom, TiledCopy
from pycute_xe.atom.copy_answers import BlockAnswers, ValueOrder
from pycute_xe.atom.formula import parts_of
from pycute_xe.atom.register_picture import ANY_TARGET, SUBGROUP, UNITS
from pycute_xe.bulk import table
from pycute_xe.clock import stopwatch
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.cutlass.legacy_name import parse_block2d_name
from pycute_xe.errors import CuteError, InputError
from pycute_xe.executing.copies import is_prefetch, moved_places
from pycute_xe.kernel import Counterexample, Index
from pycute_xe.layout import size
from pycute_xe.trials.claims import (
    claim_words,
    example_at,
    failed,
    index_of,
    value_statement,
    value_words,
)
from pycute_xe.trials.copy_kernels import BlockCopy, T, V, everywhere, ownership, returned
from pycute_xe.trials.verifier import REPORT, verify_kernel
from pycute_xe.verifying.prover import prove
from pycute_xe.verifying.verdict import Answer, Proof, Run, Tried, Verdict

__all__ = ["verify_copy"]

Copies = BlockCopy | LinearCopyAtom | TiledCopy
Place = tuple[int, ...]
Places = NDArray[np.int64]
"""(work-item, value, 2): the row and the column of each value."""
Slots = NDArray[np.int64]
"""(work-item, value): the value in registers."""


def verify_copy(
    copy: Copies,
    row: object,
    column: object,
    unit_bits: int | None,
    order: ValueOrder,
    budget: float,
) -> Verdict:
    """Prove who owns what a copy moves, as its layouts or a formula say; see `verify`."""
    elapsed = stopwatch()
    claimed = _claimed(copy, row, column, unit_bits, order)
    proofs = [_timed(lambda: _owners(claimed))]
    machine: Places | None = None
    tried = Tried((), "a prefetch fills no registers")
    if not is_prefetch(copy.atom if isinstance(copy, TiledCopy) else copy):
        machine, tried = _seen(claimed)
        machine = claimed.ordered(machine)
        if machine is not None:
            proofs.append(_timed(lambda: _work_items(claimed, machine)))
        proofs.append(_timed(lambda: _values(claimed, machine, tried.reason, budget)))
        if row is None and not isinstance(copy, LinearCopyAtom):
            proofs += _inverse(copy, budget)
    if row is None and isinstance(copy, LegacyCopyAtom) and copy.name.mode != "N":
        proofs.append(_timed(lambda: _letter(copy)))
    # What a value is said to be tells more than that its work-item does not own it.
    ordered = sorted(proofs, key=lambda p: p.property not in ("owners", "values"))
    shown = next((p.counterexample for p in ordered if p.counterexample), None)
    return Verdict(
        claim_words(copy, row, column, order),
        "for all values of all work-items",
        tuple(proofs),
        shown,
        elapsed(),
        tried,
    )


def _timed(prove: Callable[[], Proof]) -> Proof:
    elapsed = stopwatch()
    return replace(prove(), seconds=elapsed())


# ------------------------------------------------------------ claims


@dataclass(frozen=True)
class _Claimed:
    """Who is said to own what: ``places`` as a reader counts them, ``memory`` as memory lies.

    ``formula`` says ``memory`` by indices, where some formula of digits does, values in the order
    of registers. ``slots`` maps each value of a work-item to its value in registers; ``None`` if
    values are counted as registers hold them.
    """

    copy: Copies
    shape: tuple[int, int]
    places: Places
    memory: Places
    formula: tuple[Index, Index] | None
    unit_bits: int
    slots: Slots | None = None

    def ordered(self, machine: Places | None) -> Places | None:
        """Return what registers hold in the order in which values are counted."""
        if machine is None or self.slots is None or int(self.slots.max()) >= machine.shape[1]:
            return machine
        return np.take_along_axis(machine, self.slots[..., None], axis=1)


_FAR = 1 << 40
"""No surface has as many rows or columns."""


def _claimed(
    copy: Copies, row: object, column: object, unit_bits: int | None, order: ValueOrder
) -> _Claimed:
    atom = copy.atom if isinstance(copy, TiledCopy) else copy
    if (row is None) != (column is None):
        wrong = "a formula of ownership has a row and a column"
        fix = 'give both: verify(atom, row="v", column="t")'
        raise InputError("verify", {"copy": copy, "row": row, "column": column}, wrong, fix)
    shape, own = _own(copy)
    if row is None:
        places, mine = own, None
    else:
        mine = (index_of("row", row), index_of("column", column))
        given = np.stack([everywhere(index, *own.shape[:2]) for index in mine], axis=-1)
        if (abs(given) >= _FAR).any():
            wrong = f"it gives {max(given.reshape(-1).tolist(), key=abs)}"
            fix = "claim elements of the block"
            raise InputError("verify", {"row": row, "column": column}, wrong, fix)
        places = given.astype(np.int64)
    bits = atom.value_type.bits
    own = 0 if is_prefetch(atom) else max(copy.unit_bits, bits)
    unit = own if unit_bits is None else unit_bits
    if unit != own and (unit not in UNITS or unit % bits):
        wrong = f"registers are not read in units of {unit} bits where values have {bits}"
        raise InputError("verify", {"unit_bits": unit}, wrong, "use 8, 16, 32 or 64")
    turned = isinstance(copy, LegacyCopyAtom) and copy.place_in_memory(0, 1) == (1, 0)
    memory = places[..., ::-1] if turned else places
    match order:
        case "layout":
            slots = _slots(copy, places.shape[1], unit)
        case "registers":
            slots = None
        case _:
            assert_never(order)
    if slots is not None:
        formula = _formula(_in_registers(memory, slots))
    else:
        formula = mine or _formula(memory)
        if mine is not None and turned:
            formula = (mine[1], mine[0])
    return _Claimed(copy, shape, places, memory, formula, unit, slots)


def _slots(copy: Copies, values: int, unit_bits: int) -> Slots | None:
    """Return the value in registers of each value of a work-item, counted as layouts list them.

    ``None`` of a prefetch, which fills none. Raises `ShapeError` if a work-item does not hold what
    its atom gives it, and if padding between values is overwritten by the next message.
    """
    atom = copy.atom if isinstance(copy, TiledCopy) else copy
    if unit_bits == 0:
        return None
    if isinstance(atom, LinearCopyAtom) and not atom.op.is_block:
        return np.tile(np.arange(values), (SUBGROUP, 1))  # a work-item addresses its own values
    first = np.array(atom.register_values(unit_bits), np.int64)
    count = values // atom.values
    if count > 1:
        _ = atom.in_order("registers")  # refuses padding between values
    slots = np.concatenate([first + block * atom.values for block in range(count)], axis=1)
    subgroups = copy.num_subgroups if isinstance(copy, TiledCopy) else 1
    return np.tile(slots, (subgroups, 1))


def _in_registers(places: Places, slots: Slots) -> Places:
    """Return the places by the values in registers, instead of those of the layout; -1 is none."""
    out = np.full((len(places), max(places.shape[1], int(slots.max()) + 1), 2), -1, np.int64)
    np.put_along_axis(out, slots[..., None], places, axis=1)
    return out


def _own(copy: Copies) -> tuple[tuple[int, int], Places]:
    """Return the rows and columns of the block or the tile, and who is said to own them."""
    if isinstance(copy, TiledCopy):
        if len(copy.tiler_mn) != 2:
            wrong = f"its tile has {len(copy.tiler_mn)} modes"
            raise InputError("verify", {"copy": copy}, wrong, "ask of a tile of two modes")
        rows, columns = copy.tiler_mn
        offsets = table(copy.layout_tv_tiled).reshape(-1, size(copy.layout_tv_tiled[0])).T
        return (rows, columns), np.stack((offsets % rows, offsets // rows), axis=-1)
    if isinstance(copy, LinearCopyAtom) and not copy.op.is_block:
        # Each of 16 work-items addresses its own values: the row is the work-item.
        pairs = [[(t, v) for v in range(copy.values)] for t in range(SUBGROUP)]
        return (SUBGROUP, copy.values), np.array(pairs, np.int64)
    return copy.shape, np.array(copy.ownership(), np.int64)


def _formula(places: Places) -> tuple[Index, Index] | None:
    parts = parts_of(places.tolist())
    if parts is None:
        return None
    t, v = Index(T), Index(V)
    rows, columns = (index_at(part[0], t) + index_at(part[1], v) for part in parts)
    return rows, columns


# ------------------------------------------------------------ owners


def _owners(claimed: _Claimed) -> Proof:
    """Each element has as many owners as every other, and nothing outside is owned."""
    rows, columns = claimed.shape
    places = claimed.places
    threads, values = places.shape[:2]
    many = max(1, -(-threads * values // (rows * columns)))
    one = "one owner" if many == 1 else f"{many} owners"
    statement = f"each of {rows}x{columns} elements has {one}, and nothing else is owned"
    outside = ((places < 0) | (places >= (rows, columns))).any(axis=2)
    if outside.any():
        t, v = (int(i) for i in np.argwhere(outside)[0])
        at = tuple(places[t, v].tolist())
        message = f"{value_words(t, v)} is said to be {at}, outside the block of {rows}x{columns}"
        return failed("owners", statement, example_at("owners", message, t, v, None))
    counts = np.zeros((rows, columns), np.int64)
    np.add.at(counts, tuple(places.reshape(-1, 2).T), 1)
    wrong = np.argwhere(counts != many)
    if not wrong.size:
        return Proof("owners", "proved", statement, (), 0.0)
    at = tuple(wrong[0].tolist())
    holders = np.argwhere((places == at).all(axis=2)).tolist()
    owners = ", ".join(value_words(t, v) for t, v in holders[:3]) or "none"
    message = f"the element {at} has {len(holders)} owners, and must have {many}: {owners}"
    t, v = holders[0] if holders else (0, 0)
    return failed("owners", statement, example_at("owners", message, t, v, at))


def _work_items(claimed: _Claimed, machine: Places) -> Proof:
    """Each work-item holds its own elements, in whatever order."""
    unit = claimed.unit_bits
    statement = (
        f"registers, read {unit} bits at a time, hold what each work-item owns, in any order"
    )
    turned = claimed.memory is not claimed.places
    mine, there = (np.sort(x[..., 0] * _FAR + x[..., 1]) for x in (claimed.memory, machine))
    if np.array_equal(mine, there):
        return Proof("work-items", "proved", statement, (), 0.0)
    for t, (owned, slots) in enumerate(zip(claimed.memory, machine, strict=True)):
        mine = set(_listed(owned))
        own = set(mine)
        for v, place in enumerate(_listed(slots)):
            if min(place) >= 0 and place not in mine:
                there = place[::-1] if turned else place
                message = f"{value_words(t, v)} is {there}, which the work-item is not said to own"
                example = example_at("work-items", message, t, v, None)
                return failed("work-items", statement, replace(example, found=there))
            own.discard(place)
        if own:
            missing = min(own)
            there = missing[::-1] if turned else missing
            message = f"work-item {t} is said to own {there}, and does not hold it"
            example = example_at("work-items", message, t, 0, there)
            return failed("work-items", statement, example)
    return Proof("work-items", "proved", statement, (), 0.0)


# ------------------------------------------------------------ values


def _values(claimed: _Claimed, machine: Places | None, why: str, budget: float) -> Proof:
    """Value v of work-item t is, in registers, what it is said to be: by a program, for all."""
    moved = value_statement("layout" if claimed.slots is not None else "registers")
    if machine is not None and (wrong := _first_wrong(claimed, machine)):
        return failed("values", f"{moved}, each element of a block moved", wrong)
    alone = _stored_alone(claimed)
    verdict = None if machine is None or alone else _by_program(claimed, budget)
    if verdict is None:  # no kernel moves it: what was moved is all that there is
        answer: Answer = "undecided" if machine is None else "proved"
        words = f"{moved}, each element of a block moved"
        return Proof("values", answer, words, alone, 0.0, reason=why)
    reason = verdict.reason
    if verdict.answer in ("disproved", "needs") and machine is not None:
        reason = f"a proof says that it is not, the machine that it is: {REPORT}"
    answer = "proved" if verdict.answer == "proved" else "undecided"
    words = f"{moved}, in every block of every matrix"
    return Proof("values", answer, words, verdict.assumptions, 0.0, reason=reason)


def _stored_alone(claimed: _Claimed) -> tuple[str, ...]:
    """What is assumed of a store to elements of several owners, each of which stored alone."""
    atom = claimed.copy.atom if isinstance(claimed.copy, TiledCopy) else claimed.copy
    flat = claimed.places.reshape(-1, 2)
    if not (
        isinstance(atom, BlockAnswers)
        and atom.is_store
        and len(np.unique(flat, axis=0)) < len(flat)
    ):
        return ()
    return ("owners of one element store the same number",)


def _by_program(claimed: _Claimed, budget: float) -> Proof | None:
    """Return what the prover says of a program that lays the registers bare; None without one."""
    if claimed.formula is None or isinstance(claimed.copy, LinearCopyAtom):
        return None
    try:
        kernel = ownership(claimed.copy, claimed.formula, claimed.unit_bits)
    except CuteError:
        return None
    verdict = prove(kernel, budget=budget)
    worst = next((p for p in verdict.proofs if not p), verdict.proofs[-1])
    return replace(worst, assumptions=verdict.assumptions)


def _first_wrong(claimed: _Claimed, machine: Places) -> Counterexample | None:
    """Return the first value of the first work-item that is not what is said."""
    memory = claimed.memory
    values = max(memory.shape[1], machine.shape[1])
    full = [np.full((len(x), values, 2), -1, np.int64) for x in (memory, machine)]
    for out, given in zip(full, (memory, machine), strict=True):
        out[:, : given.shape[1]] = given
    differ = np.argwhere((full[0] != full[1]).any(axis=2))
    if not differ.size:
        return None
    t, v = differ[0].tolist()
    turned = claimed.memory is not claimed.places
    wanted, actual_place = ([*x[t, v].tolist()][:: -1 if turned else 1] for x in full)
    element = tuple(wanted) if min(wanted) >= 0 else None
    there = tuple(actual_place) if min(actual_place) >= 0 else None
    claim = f"is said to be {tuple(wanted)}" if v < memory.shape[1] else "is not said to be owned"
    actual = f"is {there}" if there is not None else "is padding"
    message = f"{value_words(t, v)} {claim}, and {actual}"
    return replace(example_at("values", message, t, v, element), found=there)


def _seen(claimed: _Claimed) -> tuple[Places | None, Tried]:
    """Return what each value is, as the machine moves it; the reason where it does not."""
    try:
        moved = moved_places(claimed.copy, get_target(ANY_TARGET), claimed.unit_bits)
    except CuteError as error:
        return None, Tried((), error.condition)
    rows, columns = claimed.shape
    run = Run((("rows", rows), ("columns", columns)), "numbered elements", 1, 1)
    return moved.reshape(-1, *moved.shape[-2:]), Tried((run,))


# ------------------------------------------------------------ names


def _inverse(copy: BlockCopy | TiledCopy, budget: float) -> list[Proof]:
    """What a load brings a store of the same rows returns; nothing where no store has them."""
    try:
        kernel = returned(copy)
    except CuteError:
        return []
    if kernel is None:
        return []
    verdict = verify_kernel(kernel, budget=budget)
    worst = next((p for p in verdict.proofs if not p), verdict.proofs[-1])
    words = "what is loaded and stored again lies where it lay"
    return [replace(worst, property="inverse", statement=words, seconds=verdict.seconds)]


def _letter(copy: LegacyCopyAtom) -> Proof:
    """LD_V and LD_T give each work-item what LD_N of the same block does, in elements of the name.

    Narrower values lie in rows of an element of LD_N, and in columns of one of LD_T.
    """
    copy = replace(copy, value_type=copy.name.value_type)
    rows, columns = copy.logical_shape
    packed = "Packed_" if copy.name.packed else ""
    kind = "LD" if not copy.name.is_store else "ST"
    plain = f"XE_2D_{packed}U{copy.name.bits}x{rows}x{columns}_{kind}_N"
    statement = f"each work-item owns what it owns of {plain}"
    try:
        other = LegacyCopyAtom(parse_block2d_name(plain), copy.value_type).ownership()
    except CuteError as error:
        return Proof("letter", "undecided", statement, (), 0.0, reason=error.condition)
    for t, (mine, its) in enumerate(zip(copy.ownership(), other, strict=True)):
        if sorted(mine) != sorted(its):
            v = next((i for i, place in enumerate(mine) if place not in its), 0)
            message = f"{value_words(t, v)} is {mine[v]}, which {plain} gives to another work-item"
            wrong = example_at("letter", message, t, v, mine[v])
            return failed("letter", statement, wrong)
    return Proof("letter", "proved", statement, (), 0.0)


# ------------------------------------------------------------ words


def _listed(places: Places) -> list[Place]:
    return [tuple(place) for place in places.tolist()]
