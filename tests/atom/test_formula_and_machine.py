"""What copy atoms say of registers, against tagged bytes that the machine moved.

`ownership`, `registers`, `faithful` and `faithful_units` are formulas; the machine executes the
messages of the atom byte by byte. `make fuzz` looks at every size, other runs at chosen ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np
import pytest
from every import every
from executed_images import as_type, executed_block
from sampling import WHOLE, sampled

import pycute_xe as cx
from pycute_xe.arch.rules import errors
from pycute_xe.arch.target import targets
from pycute_xe.atom import (
    XE_LOAD_2D,
    XE_LOAD_2D_TRANSPOSE,
    XE_LOAD_2D_VNNI,
    XE_PREFETCH_2D,
    XE_STORE_2D,
    Block2DOp,
    CopyAtom,
    make_copy_atom,
)
from pycute_xe.cutlass import LegacyCopyAtom, get_atom, shipped_names
from pycute_xe.errors import CuteError, DivisibilityError, DTypeError, LegalityError

TARGETS = tuple(targets())
VALUES = ("u2", "u4", "u8", "u16", "u32", "u64")
UNITS = (8, 16, 32, 64)


def offsets(places: object, width: int) -> np.ndarray:
    found = np.array(places)
    return found[..., 0] * width + found[..., 1]


def image_of(atom: CopyAtom | LegacyCopyAtom, target: str) -> np.ndarray:
    """The place of each register slot, ``col + columns * row`` of the atom's shape."""
    rows, cols = atom.shape
    bits = atom.value_type.bits
    turned = isinstance(atom, LegacyCopyAtom) and atom.name.mode == "T"
    row_bytes = (rows if turned else cols) * bits // 8
    slots = executed_block(atom.messages(target), row_bytes, bits)
    if not turned:
        return slots
    across, down = slots % rows, slots // rows  # memory's column is the atom's row
    return np.where(slots < 0, -1, across * cols + down)


def shows(slots: np.ndarray, owned: np.ndarray, unit: int) -> bool:
    """Whether work-items that read registers in units of so many slots find what is said."""
    held = as_type(slots, unit)[:, : owned.shape[1]]
    return bool(np.array_equal(held, owned))


def check(atom: CopyAtom | LegacyCopyAtom, own_unit: int) -> bool:
    """Compare an atom with the machine on every target; return whether it is faithful."""
    bits, (_, cols) = atom.value_type.bits, atom.shape
    owned = offsets(atom.ownership(), cols)
    picture = atom.registers()
    images = {atom.messages(target): target for target in TARGETS}
    for target in images.values():
        slots = image_of(atom, target)
        told = [-1 if place is None else place[0] * cols + place[1] for place in picture.slots]
        told += [-1] * (len(slots) - len(told))
        assert told == slots.tolist(), (atom, target)
        count = sum(part.message.registers(target) for part in atom.messages(target))
        assert picture.registers == count, (atom, target)
        units = [u for u in UNITS if u % bits == 0 and shows(slots, owned, u // bits)]
        assert list(atom.faithful_units) == units, (atom, target)
        agree = np.array_equal(owned, said_by_layout(atom))
        assert agree != any("sides exchanged" in note for note in atom.notes), atom
        assert atom.faithful == (own_unit in units and agree), (atom, target)
    return atom.faithful


def said_by_layout(atom: CopyAtom | LegacyCopyAtom) -> np.ndarray:
    """The places that `layout_ref_tv` gives each work-item, in order."""
    tv = np.asarray(cx.table(atom.layout_ref_tv)).reshape(-1, 16).T
    if isinstance(atom, CopyAtom):
        return tv
    bits, wanted = atom.name.bits, atom.value_type.bits
    rows, cols = atom.logical_shape
    parts = max(1, bits // wanted)
    element, part = tv // parts * max(1, wanted // bits), tv % parts
    # Offsets run through block_shape, its last mode first.
    turned = atom.block_shape != (rows, cols) or (rows == cols and atom.m_major)
    y, x = (element % rows, element // rows) if turned else (element // cols, element % cols)
    if atom.name.mode == "T":
        return (y * parts + part) * atom.shape[1] + x
    return y * atom.shape[1] + (x * parts + part) // max(1, wanted // bits)


# ------------------------------------------------------------------ older names


def carried(name: str, stride: tuple[object, ...] | None = None) -> Iterator[LegacyCopyAtom]:
    """The atoms of a name for each width of values that it may carry."""
    for value_type in VALUES:
        try:
            atom = get_atom(name, value_type, stride)
        except DTypeError:
            continue
        assert isinstance(atom, LegacyCopyAtom)
        yield atom


def check_older(atom: LegacyCopyAtom) -> bool:
    if atom.name.is_prefetch:
        assert atom.registers().slots == ()
        assert atom.registers().registers == 0
        assert atom.faithful
        assert atom.faithful_units == ()
        assert {part.message.op for t in TARGETS for part in atom.messages(t)} == {"prefetch"}
        return True
    return check(atom, max(atom.name.bits, atom.value_type.bits, 8))


@cache
def verdicts(name: str) -> dict[int, bool]:
    return {atom.value_type.bits: check_older(atom) for atom in carried(name)}


@every("name", shipped_names())
@pytest.mark.long
def test_every_shipped_name_with_every_width_of_values(name: str) -> None:
    assert get_atom(name).value_type.bits in verdicts(name)


@pytest.mark.parametrize("name", sampled(shipped_names(), 40))
def test_and_with_columns_contiguous_in_the_tensor(name: str) -> None:
    for atom in carried(name, (1, "ld")):
        assert check_older(atom) == verdicts(name)[atom.value_type.bits]


@pytest.mark.long
def test_how_many_shipped_atoms_are_faithful() -> None:
    """Counted: pairs of a name and a width of values, prefetches left out."""
    found = [
        (name, bits, faithful)
        for name in shipped_names()
        if "PREFETCH" not in name
        for bits, faithful in verdicts(name).items()
    ]
    own = [(name, ok) for name, bits, ok in found if bits == get_atom(name).name.bits]
    assert (len(own), sum(not ok for _, ok in own)) == (90, 51)
    assert (len(found), sum(not ok for *_, ok in found)) == (368, 183)


BLOCKS = [(3, 8), (3, 64), (8, 64), (40, 8)]
if WHOLE:
    BLOCKS = list(product((1, 2, 3, 8, 12, 32, 40), (4, 8, 16, 24, 32, 64, 128)))
TYPES = ("U4", "U8", "U16", "U32", "U64", "TF32")
MODES = ("LD_N", "LD_T", "LD_V", "ST_N")


def grid(data_type: str, mode: str) -> Iterator[str]:
    for packed, (rows, cols) in product(("", "Packed_"), BLOCKS):
        name = f"XE_2D_{packed}{data_type}x{rows}x{cols}_{mode}"
        if name not in shipped_names():
            yield name


@cache
def grid_counts(data_type: str, mode: str) -> tuple[int, int]:
    """Atoms that have messages and an ownership, and how many of them are not faithful."""
    atoms = unfaithful = 0
    for name in grid(data_type, mode):
        try:
            whole = get_atom(name)
            whole.messages("bmg")
            whole.ownership()
        except (LegalityError, DivisibilityError):
            continue
        for atom in carried(name):
            if atom.value_type.bits > 2:
                atoms += 1
                unfaithful += not check_older(atom)
    return atoms, unfaithful


@pytest.mark.parametrize(("data_type", "mode"), list(product(TYPES, MODES)))
def test_names_that_are_not_shipped(data_type: str, mode: str) -> None:
    atoms, _ = grid_counts(data_type, mode)
    assert (atoms == 0) == (mode == "LD_V" and data_type in ("U32", "U64", "TF32"))


# ------------------------------------------------------------------ templates

SIZES = [*product((1, 3, 12), (3, 4, 8, 16, 32, 64)), (16, 8), (32, 8), (32, 16)]
SIZES += product((8, 32), (3, 4))
if WHOLE:
    SIZES = list(product((1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 20, 24, 31, 32), range(1, 65)))
BITS = (8, 16, 32, 64)


@cache
def operations(kind: str, bits: int) -> tuple[Block2DOp, ...]:
    """Operations of a kind that no target refuses."""
    found: list[Block2DOp] = []
    for height, width in SIZES:
        try:
            found += legal(kind, bits, height, width)
        except CuteError:  # VNNI of rows that fill no dword
            continue
    return tuple(found)


def legal(kind: str, bits: int, height: int, width: int) -> Iterator[Block2DOp]:
    blocks = [None]
    if kind in ("XE_LOAD_2D", "XE_LOAD_2D_VNNI"):
        blocks = [width // count for count in (1, 2, 4) if width % count == 0]
    for block in blocks:
        op = BUILDERS[kind](bits, height, width, *([block] if block else []))
        if not any(errors(op.message.broken_rules(target)) for target in TARGETS):
            yield op


BUILDERS = {
    "XE_LOAD_2D": XE_LOAD_2D,
    "XE_LOAD_2D_VNNI": XE_LOAD_2D_VNNI,
    "XE_LOAD_2D_TRANSPOSE": XE_LOAD_2D_TRANSPOSE,
    "XE_STORE_2D": XE_STORE_2D,
    "XE_PREFETCH_2D": XE_PREFETCH_2D,
}


def template_counts(kind: str, bits: int) -> tuple[int, int]:
    """Atoms of the operations with every width of values, and how many are not faithful."""
    atoms = unfaithful = 0
    for op, value_type in product(operations(kind, bits), VALUES):
        try:
            atom = make_copy_atom(op, value_type)
        except CuteError:  # values wider than the elements, or too few for 16 work-items
            continue
        atoms += 1
        if kind == "XE_PREFETCH_2D":
            assert atom.registers().slots == ()
            assert atom.faithful
            continue
        unfaithful += not check(atom, max(atom.value_type.bits, 8))
    return atoms, unfaithful


# Atoms that are not faithful, of so many: of every size, and of the chosen ones.
TEMPLATES = {
    ("XE_LOAD_2D", 8): ((783, 1074), (42, 111)),
    ("XE_LOAD_2D", 16): ((722, 1098), (62, 160)),
    ("XE_LOAD_2D", 32): ((462, 845), (35, 134)),
    ("XE_LOAD_2D", 64): ((182, 450), (15, 69)),
    ("XE_LOAD_2D_VNNI", 8): ((462, 699), (12, 63)),
    ("XE_LOAD_2D_VNNI", 16): ((377, 697), (19, 95)),
    ("XE_LOAD_2D_TRANSPOSE", 32): ((88, 266), (11, 47)),
    ("XE_LOAD_2D_TRANSPOSE", 64): ((0, 22), (0, 11)),
    ("XE_STORE_2D", 8): ((144, 237), (0, 21)),
    ("XE_STORE_2D", 16): ((161, 277), (3, 29)),
    ("XE_STORE_2D", 32): ((121, 252), (4, 33)),
    ("XE_STORE_2D", 64): ((73, 204), (5, 29)),
    ("XE_PREFETCH_2D", 8): ((0, 816), (0, 48)),
    ("XE_PREFETCH_2D", 16): ((0, 774), (0, 65)),
    ("XE_PREFETCH_2D", 32): ((0, 634), (0, 76)),
    ("XE_PREFETCH_2D", 64): ((0, 450), (0, 69)),
}


@pytest.mark.parametrize(("kind", "bits"), list(product(BUILDERS, BITS)))
def test_templates_with_every_width_of_values(kind: str, bits: int) -> None:
    atoms, unfaithful = template_counts(kind, bits)
    assert (unfaithful, atoms) == TEMPLATES.get((kind, bits), ((0, 0), (0, 0)))[not WHOLE]


@pytest.mark.long
def test_powers_of_two_are_faithful_where_blocks_fill_registers() -> None:
    atoms = 0
    for kind, bits in product(BUILDERS, BITS):
        for op in operations(kind, bits):
            sides = (op.height, op.width, op.block_width)
            whole = op.block_count == 1 or op.height * op.block_width * bits % 512 == 0
            if any(side & (side - 1) for side in sides) or not whole:
                continue
            for value_type in VALUES:
                try:
                    atom = make_copy_atom(op, value_type)
                except CuteError:
                    continue
                atoms += 1
                assert atom.faithful, atom
    assert atoms > (1200 if WHOLE else 450)
