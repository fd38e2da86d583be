"""What differs between tilings, copies, layouts, plans: held against looking at each element."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from every import every

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.kernel.schedules import DataParallel, Persistent, Plan, Raster, SplitK, StreamK

OP = cx.XE_DPAS_TT(8, "f32", "bf16")
WIDE, NARROW = (
    cx.workgroup_mma(OP, (16, 32, 16), ((2, 1, 1), (1, 1, 0))),
    cx.workgroup_mma(OP, (16, 32, 16), ((1, 2, 1), (1, 1, 0))),
)


@every("operand", ["A", "B", "C"])
def test_owners_of_tiled_mmas(operand: str) -> None:
    """Operand by operand: as many elements as `owner_of` tells apart, and the first of them."""
    found = cx.diff(WIDE, NARROW, operand)  # type: ignore[arg-type]
    ((name, change),) = found.owners
    owners = []
    for mma in (WIDE, NARROW):
        layout, (extent, _) = getattr(mma, f"tv_layout_{operand}_tiled"), mma.operand_tile(operand)
        own: dict[Any, set[tuple[int, int]]] = {}
        for t, v in product(range(32), range(cx.size(layout[1]))):
            col, row = divmod(layout(t, v), extent)
            place = (col, row) if operand == "B" else (row, col)
            own.setdefault(place, set()).add((t, v))
        owners.append(own)
    one, other = owners
    apart = [place for place in one if one[place] != other[place]]
    assert (name, change.elements, change.moved) == (operand, len(one), len(apart))
    assert apart
    firsts = sorted(p for p in apart if min(one[p])[0] != min(other[p])[0])
    assert [place for place, *_ in change.examples] == firsts[:3]
    for place, before, _ in change.examples:
        assert WIDE.owner_of(operand, *place)[0] == (*divmod(before[0], 16), before[1])


def test_tiled_mmas() -> None:
    assert cx.diff(WIDE, cx.workgroup_mma(OP, (16, 32, 16), ((2, 1, 1), (1, 1, 0)))).equal
    found = cx.diff(WIDE, cx.workgroup_mma(OP, (32, 32, 16), ((2, 1, 1), (1, 1, 0))))
    assert {"tile", "registers"} <= set(found.sections)
    row = next(r for r in found.rows if (r.section, r.what) == ("registers", "in use"))
    assert row.before == cx.check(WIDE).registers
    other = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "f16"), (16, 32, 16), ((2, 1, 1), (1, 1, 0)))
    typed = cx.diff(WIDE, other)
    assert [(r.what, r.before, r.after) for r in typed.changed if r.section == "types"] == [
        ("A", "bf16", "f16"),
        ("B", "bf16", "f16"),
    ]
    assert typed.verdict.startswith("same owners, other types")


def test_tiled_copies() -> None:
    wide, narrow = (
        cx.make_block_2d_copy(cx.XE_LOAD_2D(16, rows, 16), ("ld", 1), "bf16") for rows in (16, 8)
    )
    assert cx.diff(wide, cx.make_block_2d_copy(cx.XE_LOAD_2D(16, 16, 16), ("ld", 1), "bf16")).equal
    found = cx.diff(wide, narrow)
    assert {"tile", "messages"} <= set(found.sections)
    assert found.verdict == "same owners, other messages"
    turned = cx.diff(wide, cx.make_block_2d_copy(cx.XE_LOAD_2D(16, 16, 16), (64, 1), "bf16"))
    assert [r.what for r in turned.changed] == ["stride"]


def test_mmas_in_all_operands() -> None:
    found = cx.diff("XE_8x16x16_F32BF16BF16F32_TT", "XE_DPAS_TT<8,f32,bf16>")
    one = cx.diff("XE_8x16x16_F32BF16BF16F32_TT", "XE_DPAS_TT<8,f32,bf16>", "B")
    owners = dict(found.owners)
    assert owners["B by layouts"].moved == one.said.moved > 0  # type: ignore[attr-defined]
    assert owners["B in registers"].moved == owners["C by layouts"].moved == 0
    assert cx.diff(OP, "XE_DPAS_TT<8,f32,bf16>").equal


def test_linear_copies() -> None:
    found = cx.diff("XE_1D_LDSM<u32>", "XE_1D_STSM<u32>")
    assert found.sections == ("messages",)
    assert cx.diff("XE_1D_LDSM<u32>", cx.get_atom("XE_1D_LDSM<u32>")).equal
    alone = cx.diff("XE_1D_LOAD_GLOBAL<u32,u128>")
    atom: Any = cx.get_atom("XE_1D_LOAD_GLOBAL<u32,u128>")
    held = atom.registers().owners()
    said = {place: (t, v) for t, own in enumerate(atom.ownership()) for v, place in enumerate(own)}
    moved = sum(held[place] != said[place] for place in held)
    assert dict(alone.owners)["the block"].moved == moved > 0
    assert cx.diff("XE_1D_LDSM<u8>").equal


def test_one_message_by_two_names_is_equal() -> None:
    same = cx.diff("XE_2D_U16x16x16_LD_N", cx.XE_LOAD_2D(16, 16, 16))
    assert (same.equal, same.verdict) == (True, "equal, written otherwise")
    found = cx.diff("XE_2D_U16x16x16_LD_N", "XE_2D_U16x16x16_LD_V")
    assert found.verdict == "different owners: held in registers 240 of 256"
    assert [r.what for r in found.changed if r.section == "legality"] == ["faithful"]


# ------------------------------------------------------------ layouts

LAYOUTS: list[Any] = [
    cx.Layout((4, 8)),
    cx.Layout((4, 8), (8, 1)),
    cx.Layout(32),
    cx.Layout((4, 8), (1, 5)),
    cx.Layout((4, 4)),
    cx.Layout(((2, 2), 8), ((1, 2), 4)),
    cx.composition(cx.Swizzle(2, 0, 2), cx.Layout((4, 8))),
    cx.make_identity_layout((4, 8)),
]


@every(("one", "other"), list(product(LAYOUTS, LAYOUTS)))
def test_layouts(one: Any, other: Any) -> None:
    found = cx.diff(one, other)
    count = min(cx.size(one), cx.size(other))
    values = [[x(i) for i in range(cx.size(x))] for x in (one, other)]
    apart = [i for i in range(count) if values[0][i] != values[1][i]]
    assert found.equal == (values[0] == values[1] and one.shape == other.shape)
    assert ("offsets" in found.sections) == (bool(apart) or set(values[0]) != set(values[1]))
    if apart and isinstance(values[0][0], type(values[1][0])):
        assert found.notes == (f"{len(apart)} of {count} coordinates have another offset",)
        row = next(r for r in found.rows if r.what.startswith("at "))
        told = [str(v[apart[0]]).replace("E", "") for v in values]
        assert [str(row.before), str(row.after)] == told


def test_layouts_that_are_not_counted() -> None:
    big = cx.Layout((1 << 20, 4))
    assert cx.diff(big, cx.Layout((1 << 20, 4), (1, 1 << 20))).equal
    assert "offsets" in cx.diff(big, cx.Layout((1 << 20, 4), (4, 1))).sections
    rows = cx.symbol("rows")
    assert cx.diff(cx.Layout((rows, 4)), cx.Layout((rows, 4))).equal
    assert not cx.diff(cx.Layout((rows, 4)), cx.Layout((rows, 4), (4, 1))).equal


# ------------------------------------------------------------ plans


def dealt(plan: Plan) -> dict[tuple[int, ...], tuple[int, int]]:
    return {
        (p.group, p.m, p.n, k): (unit, turn)
        for unit, pieces in enumerate(plan.units)
        for turn, p in enumerate(pieces)
        for k in range(p.start, p.stop)
    }


def test_plans() -> None:
    one, other = Persistent(8).plan((4, 5, 16)), DataParallel().plan((4, 5, 16))
    found = cx.diff(one, other)
    mine, yours = dealt(one), dealt(other)
    ((_, change),) = found.owners
    apart = sorted(place for place in mine if mine[place] != yours[place])
    assert change.moved == len(apart) > 0
    other_unit = [place for place in apart if mine[place][0] != yours[place][0]]
    assert change.examples[0] == (other_unit[0], mine[other_unit[0]], yours[other_unit[0]])
    assert cx.diff(one, Persistent(8).plan((4, 5, 16))).equal
    unordered, ordered = (SplitK(4, 2, fixup).plan((2, 2, 8)) for fixup in ("unordered", "ordered"))
    assert set(cx.diff(unordered, ordered).sections) >= {"fix-up", "counters"}


def test_schedules() -> None:
    assert cx.diff(StreamK(4), StreamK(4)).equal
    found = cx.diff(Persistent(8), Persistent(8, Raster("M")), counts=((2, 3, 4),))
    assert [(r.what, r.section) for r in found.changed] == [("raster", "parameters")]
    assert found.owners[0][1].moved > 0
    small = cx.diff(Persistent(8), DataParallel(), counts=((2, 2, 4),))
    assert small.owners[0][1].moved == 0
    assert not small.equal


@every(
    ("arguments", "says"),
    [
        ((cx.Layout(4), StreamK(4)), "a layout and a schedule cannot be compared"),
        ((WIDE, WIDE.atom), "tiled.atom"),
        (("XE_1D_STSM<u32>", None, "A"), "a copy has no operands"),
        ((cx.Layout(4),), "give two, or one atom"),
        ((Persistent(1).plan((1, 1, 1 << 21)),) * 2, "at most 1,048,576 are compared"),
        ((object(), object()), "object is not a kind of value that is compared"),
    ],
)
def test_refusals(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(CuteError, match=says):
        cx.diff(*arguments)
