"""Every name of the grammar with up to 64 rows and columns, on every target.

`make fuzz` looks at all sizes, other runs at those around which the rules change.

Either its messages move the block, each byte once, and the machine runs each of them to the right
answer; or a rule with its source forbids it, and the names offered instead work.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product

import numpy as np
import pytest
from golden import rows as golden
from sampling import WHOLE

from pycute_xe.arch import Block2D, Surface, targets
from pycute_xe.arch.target import errors
from pycute_xe.atom.copy_answers import PlacedMessage
from pycute_xe.cutlass import LegacyCopyName, parse_block2d_name
from pycute_xe.cutlass.legacy_lowering import (
    broken_rules,
    lower,
    messages_of,
    nearest_names,
    sent_by_cutlass,
)
from pycute_xe.errors import LegalityError, ShapeError
from pycute_xe.facts import rows
from pycute_xe.machine import Memory, RegisterFile, block2d

TARGETS = ("pvc", "bmg", "lnl")
SIDES = (1, 2, 7, 8, 24, 33, 64)
SIZES = list(product(range(1, 65) if WHOLE else SIDES, repeat=2))
TYPES = ("U4", "U8", "U16", "U32", "U64", "TF32")
FORMS = ("LD_N", "LD_T", "LD_V", "ST_N", "ST_T", "ST_V")
FORMS += tuple(f"LD_{mode}::PREFETCH" for mode in "NTV")
SOURCES = {
    row["id"]: str(row["source"]) for t in ("block", "message") for row in rows("block2d", t)
}


# ------------------------------------------------------------------ one message on the machine


def shown(message: Block2D, data: np.ndarray) -> np.ndarray:
    """The rows of a block, from a register image: each padded to a power of two, in NumPy."""
    lines, line = message.height, message.width
    pack = 4 // message.element_bytes if message.vnni else 1
    if message.transpose:
        lines, line = line, lines
    pitch = 1 << (line - 1).bit_length()
    whole = 64 // message.element_bytes
    block = -(-pitch * lines // whole) * whole
    parts = data.reshape(message.count, block)[:, : pitch * lines]
    parts = parts.reshape(message.count, lines // pack, pitch, pack).transpose(0, 1, 3, 2)
    parts = parts.reshape(message.count, lines, pitch)[:, :, :line]
    if message.transpose:
        parts = parts.transpose(0, 2, 1)
    return np.concatenate(list(parts), axis=1)


@cache
def moves_its_block(message: Block2D) -> bool:
    """Whether a message moves what it should, at the start of a surface and inside of it."""
    return all(moves_at(message, x, y) for x, y in ((0, 0), (4, 3)))


def moves_at(message: Block2D, x: int, y: int) -> bool:
    width = message.width * message.count
    size = (message.height + y + 2, width + x + 4)
    kind = np.dtype(f"u{message.element_bytes}")
    content = np.random.default_rng(7).integers(1, 255, (*size, kind.itemsize), dtype=np.uint8)
    surface_of = content.view(kind)[..., 0]
    inside = np.s_[y : y + message.height, x : x + width]
    memory, registers = Memory(), RegisterFile(1 << 14)
    pitch = size[1] * kind.itemsize
    if message.op == "store":
        base = memory.place(np.zeros_like(surface_of))
        surface = Surface(base, pitch, size[0], pitch)
        padded = np.zeros((message.height, 1 << (width - 1).bit_length()), kind)
        padded[:, :width] = surface_of[inside]
        registers.write(0, padded.reshape(-1).view(np.uint8))
        block2d.store(memory, registers, message, surface, x, y, 0)
        wanted = np.zeros_like(surface_of)
        wanted[inside] = surface_of[inside]
        return np.array_equal(memory.array(base, size, kind), wanted)
    surface = Surface(memory.place(surface_of), pitch, size[0], pitch)
    if message.op == "prefetch":
        moved = block2d.prefetch(memory, message, surface, x, y)
        return moved == message.height * width * kind.itemsize
    block2d.load(memory, registers, message, surface, x, y, 0)
    data = registers.read(0, message.register_bytes("bmg"), "the test").view(kind)
    return np.array_equal(shown(message, data), surface_of[inside])


@cache
def compiler() -> dict[tuple[object, ...], str]:
    """What Intel's compiler said of each message it was given."""
    verdicts: dict[tuple[object, ...], str] = {}
    for op in ("load", "store"):
        table = golden("igc_block2d")[op]
        columns = (table[key] for key in ("bits", "count", "width", "height", "suffix"))
        for *row, verdict in zip(*columns, table["verdict"], strict=True):
            verdicts[(op, *row)] = verdict
    return verdicts


def verdict(message: Block2D) -> str | None:
    suffix = "nt"[message.transpose] + "nt"[message.vnni]
    op = "load" if message.op == "prefetch" else message.op
    return compiler().get((op, message.bits, message.count, message.width, message.height, suffix))


# ------------------------------------------------------------------ one name


def tiles(parts: tuple[PlacedMessage, ...], height: int, row_bytes: int) -> bool:
    """Whether parts cover a block of so many bytes, each byte once, from whole dwords on."""
    if len(parts) == 1:
        (only,) = parts
        message = only.message
        row = message.width * message.count * message.bits // 8
        return (only.x, only.y, message.height, row) == (0, 0, height, row_bytes)
    covered = np.zeros((height + 64, row_bytes + 64), np.uint8)
    for part in parts:
        size = part.message.bits // 8
        left, wide = part.x * size, part.message.width * part.message.count * size
        if left % 4:
            return False
        covered[part.y : part.y + part.message.height, left : left + wide] += 1
    inside = covered[:height, :row_bytes]
    return bool((inside == 1).all()) and covered.sum(dtype=int) == height * row_bytes


def memory_block(name: LegacyCopyName) -> tuple[int, int]:
    """Rows and bits of a row in memory. A transposed name may count the result instead."""
    height, row = name.memory_shape
    if name.mode == "T":
        assert {height, row} == {name.rows, name.cols}
    else:
        assert (height, row) == (name.rows, name.cols)
    bits = 32 if name.data_type == "TF32" else int(name.data_type[1:])
    return height, row * bits


def checked(
    name: LegacyCopyName, target: str, error: LegalityError
) -> tuple[str, tuple[LegacyCopyName, ...]]:
    """The first rule that a refusal names and the names it offers, after a look at all of it."""
    broken, near = broken_rules(name, target), nearest_names(name, target)
    for rule in broken:
        assert rule.source == SOURCES[rule.rule]
        assert rule.rule in error.condition
        assert rule.source in error.condition
    assert len(near) == 3, name
    assert error.fix == f"use {near[0]}, {near[1]}, {near[2]}"
    return broken[0].rule, near


@cache
def works(name: LegacyCopyName, target: str) -> bool:
    return bool(lower(name, target))


def sweep(data_type: str, form: str) -> Counter[str]:
    """How many names of these sizes lower, and how many each rule refuses, times targets."""
    way, mode = form[:2], form[3]
    found: Counter[str] = Counter()
    used: set[Block2D] = set()
    for rows_, cols in SIZES:
        name = LegacyCopyName(
            data_type.removeprefix("Packed_"),
            rows_,
            cols,
            mode,
            way == "ST",
            data_type.startswith("Packed_"),
            form.endswith("PREFETCH"),
        )
        height, row_bits = memory_block(name)
        tiled: tuple[PlacedMessage, ...] | None = None
        told, rule, near = ("", ""), "", ()
        for target in TARGETS:
            try:
                parts = lower(name, target)
            except LegalityError as error:
                if told != (error.condition, error.fix):
                    rule, near = checked(name, target, error)
                    told = error.condition, error.fix
                assert all(works(other, target) for other in near), name
                found[rule] += 1
                continue
            found["lowered"] += 1
            assert parts == tiled or (row_bits % 8 == 0 and tiles(parts, height, row_bits // 8))
            tiled = parts
            used |= {part.message for part in parts}
    for message in used:
        assert moves_its_block(message), message
        assert verdict(message) != "r", message
        assert not errors(message.broken_rules("pvc"))
    return found


def packing_changes_nothing(data_type: str, form: str) -> None:
    """Packed transposes and stores have the messages, and break the rules, of plain ones."""
    for rows_, cols in SIZES:
        text = f"{data_type}x{rows_}x{cols}_{form}"
        plain, packed = (parse_block2d_name(f"XE_2D_{p}{text}") for p in ("", "Packed_"))
        if sent_by_cutlass(plain) or plain.counts != packed.counts:
            # CUTLASS's own message or reading of the sizes: test_legacy_messages.py compares them.
            assert plain.shipped
            continue
        assert messages_of(plain) == messages_of(packed)
        for target in TARGETS:
            assert broken_rules(plain, target) == broken_rules(packed, target)


# How many names of all or of the chosen sizes lower, packed or not, in the order of FORMS.
LOWERED = {
    True: {
        "U4": (1856, 288, 464, 1856, 0, 0, 1856, 1716, 1856),
        "U8": (3904, 832, 976, 3904, 0, 0, 3904, 3892, 3904),
        "U16": (4032, 1920, 2016, 4032, 0, 0, 4032, 4028, 4032),
        "U32": (4096, 4096, 0, 4096, 0, 0, 4096, 4096, 4096),
        "U64": (4096, 736, 0, 4096, 0, 0, 4096, 4096, 4096),
        "TF32": (4096, 4096, 0, 4096, 0, 0, 4096, 4096, 4096),
    },
    False: {
        "U4": (21, 17, 9, 21, 0, 0, 21, 17, 21),
        "U8": (35, 17, 15, 35, 0, 0, 35, 33, 35),
        "U16": (42, 25, 24, 42, 0, 0, 42, 41, 42),
        "U32": (49, 49, 0, 49, 0, 0, 49, 49, 49),
        "U64": (49, 25, 0, 49, 0, 0, 49, 49, 49),
        "TF32": (49, 49, 0, 49, 0, 0, 49, 49, 49),
    },
}
REFUSED_BY = {
    "LD_N": {"whole-bytes", "width-min-dword"},
    "LD_T": {"whole-bytes", "width-min-dword", "transpose-bits", "transpose-d64-height"},
    "LD_V": {"whole-bytes", "width-min-dword", "vnni-bits", "vnni-height-dwords"},
    "ST_N": {"whole-bytes", "width-min-dword"},
    "ST_T": {"whole-bytes", "width-min-dword", "store-transpose"},
    "ST_V": {"whole-bytes", "width-min-dword", "store-vnni"},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("data_type", [p + t for t in TYPES for p in ("", "Packed_")])
def test_every_name(data_type: str, form: str) -> None:
    if data_type.startswith("Packed_") and form in ("LD_T", "ST_N", "ST_T", "ST_V"):
        packing_changes_nothing(data_type.removeprefix("Packed_"), form)
        return
    found = sweep(data_type, form)
    lowered = LOWERED[WHOLE][data_type.removeprefix("Packed_")][FORMS.index(form)]
    assert found.total() == 3 * len(SIZES)
    assert found.pop("lowered", 0) == 3 * lowered
    assert set(found) <= REFUSED_BY["LD_N" if "PREFETCH" in form else form]


def test_targets_share_the_rules_that_refuse() -> None:
    """Pictures of registers and the choice of CUTLASS's own messages depend on no listed target."""
    listed = set(targets())
    for table in ("block", "message"):
        for row in rows("block2d", table):
            some = listed & set(row.get("targets", listed))
            assert row["level"] == "warning" or some in (listed, set()), row["id"]


def test_stores_have_no_prefetch() -> None:
    with pytest.raises(ShapeError, match="names read XE_2D"):
        LegacyCopyName("U16", 8, 16, "N", is_store=True, is_prefetch=True)
