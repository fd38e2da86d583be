"""What changes between atoms: the machine finds who holds what, CuTe C++ says who owns it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from every import every
from fed_products import values_in_registers
from golden import rows, to_layout
from sampling import WHOLE, sampled

import pycute_xe as cx
from pycute_xe.comparing import AtomDiff
from pycute_xe.comparing.differences import Change
from pycute_xe.cutlass import get_atom, shipped_names
from pycute_xe.errors import CuteError

LOADS = [name for name in shipped_names() if "_LD_" in name and "PREFETCH" not in name]
BF16 = "XE_DPAS_TT<8,f32,bf16>"
Owners = dict[tuple[int, int], tuple[int, int]]


def dealt(slots: np.ndarray, bits: int, cols: int, turned: bool) -> Owners:
    """Register slots, each the number of a value in memory, as place → (work-item, value)."""
    per_byte = max(1, 8 // bits)
    found: Owners = {}
    for i, offset in enumerate(slots.tolist()):
        if offset >= 0:
            row, col = divmod(offset, cols)
            unit, inside = divmod(i, per_byte)
            place = (col, row) if turned else (row, col)
            found[place] = unit % 16, unit // 16 * per_byte + inside
    return found


@cache
def held(name: str) -> Owners:
    """Who holds each element of an older name after the machine has run its messages."""
    atom: Any = get_atom(name)
    cols = atom.name.memory_shape[1]
    return dealt(values_in_registers(atom), atom.name.bits, cols, atom.name.mode == "T")


def figures(before: Owners, after: Owners) -> tuple[int, int, int]:
    common = before.keys() & after.keys()
    other = [p for p in common if before[p] != after[p]]
    moved = [p for p in other if before[p][0] != after[p][0]]
    return len(common), len(moved), len(other) - len(moved)


def figures_of(change: Change | None) -> tuple[int, int, int]:
    assert change is not None
    return change.elements, change.other_work_item, change.other_value


def said() -> dict[str, Owners]:
    """Owners by C++'s layouts, of the names whose layouts map onto the block."""
    found: dict[str, Owners] = {}
    for row in rows("cute_copy_atoms_legacy")["cases"]:
        offsets = [int(i) for i in cx.table(to_layout(row["ValLayoutRef"]))]
        height, cols = row["BlockShape"]
        atom: Any = get_atom(row["name"])
        onto = sorted(offsets) == list(range(height * cols))
        swapped = atom.name.fact_of("dealt") == "sides swapped"
        if row["stride_case"] == "default" and onto and not swapped:
            places = [divmod(i, cols) for i in offsets]
            found[row["name"]] = {p: (i % 16, i // 16) for i, p in enumerate(places)}
    return found


SAID = said()


def alike(names: list[str]) -> list[tuple[str, str]]:
    """Neighbouring names of one element width and block."""
    kinds: dict[Any, list[str]] = {}
    for name in names:
        atom: Any = get_atom(name)
        kinds.setdefault((atom.name.bits, atom.shape), []).append(name)
    return [pair for group in kinds.values() for pair in product(group, group)]


@pytest.mark.long
def test_registers_of_two_copies() -> None:
    pairs = alike(LOADS)
    assert len(pairs) > 100
    owners = {name: held(name) for name in LOADS}
    for a, b in sampled(pairs, 60):
        assert figures_of(cx.diff(a, b).held) == figures(owners[a], owners[b]), (a, b)


@pytest.mark.long
def test_layouts_of_two_copies() -> None:
    pairs = alike([name for name in LOADS if name in SAID])
    assert len(pairs) > 60
    for a, b in sampled(pairs, 40):
        assert figures_of(cx.diff(a, b).said) == figures(SAID[a], SAID[b]), (a, b)


def test_one_copy_says_and_does() -> None:
    names = [name for name in LOADS if name in SAID]
    assert len(names) > 30
    for name in names:
        change = cx.diff(name)
        assert change.said is None
        assert figures_of(change.held) == figures(SAID[name], held(name)), name


@every("name", LOADS)
def test_examples_are_true(name: str) -> None:
    other = held("XE_2D_U16x16x16_LD_N")
    change = cx.diff("XE_2D_U16x16x16_LD_N", name) if "U16" in name else cx.diff(name)
    owners = held(name)
    assert change.held is not None
    for place, before, after in change.held.examples:
        assert before != after
        assert owners[place] == after
        assert change.said is None or other[place] == before


@pytest.mark.long
def test_nothing_changes_from_an_atom_to_itself() -> None:
    for name in sampled(shipped_names(), 50):
        same = cx.diff(name, name)
        assert same.parameters == ()
        for change in (same.said, same.held):
            assert change is None or not any((*figures_of(change)[1:], change.other_byte))
        assert (same.held is None) == ("PREFETCH" in name)


def test_bytes_that_change() -> None:
    """LD_V moves each pair of rows of a dword but its first and last element."""
    bytes_v = {(k, n): (k // 2 * 64 + n * 4 + k % 2 * 2) for k in range(32) for n in range(16)}
    moved = sum(at != k * 32 + n * 2 for (k, n), at in bytes_v.items())
    change = cx.diff("XE_2D_U16x32x16_LD_N", "XE_2D_U16x32x16_LD_V").held
    assert change is not None
    assert (change.other_byte, moved) == (480, 480)


def words(change: AtomDiff) -> str:
    return "\n".join(change.meaning)


@every(
    ("a", "b", "fact_of"),
    [
        ("U16x32x16_LD_N", "U16x32x16_LD_V", "2 rows share each dword of XE_2D_U16x32x16_LD_V"),
        ("U8x32x16_LD_N", "U8x32x16_LD_V", "4 rows share each dword of XE_2D_U8x32x16_LD_V: VNNI"),
        ("U16x16x16_LD_N", "U16x16x16_LD_V", "the layouts do not tell them apart"),
        ("U16x16x16_LD_N", "U16x16x16_LD_T", "a column in memory becomes a row"),
        ("U8x8x32_LD_N", "Packed_U8x8x32_LD_N", "own 2 adjacent columns at a time"),
        ("U16x16x16_LD_V", "U16x16x16_LD_N", "read in units of 32 bits, registers show"),
        ("U16x8x16_LD_N", "U16x8x16_LD_N::PREFETCH", "a prefetch fills no registers"),
        ("U32x16x16_LD_V", "U32x16x16_LD_N", "no registers of XE_2D_U32x16x16_LD_V: vnni-bits"),
        ("U8x8x32_LD_N", None, "each work-item holds what XE_2D_U8x8x32_LD_N says, in"),
        ("U16x16x16_LD_V", None, "read in units of 32 bits, registers show"),
    ],
)
def test_what_it_means(a: str, b: str | None, fact_of: str) -> None:
    change = cx.diff(f"XE_2D_{a}", b and f"XE_2D_{b}")
    assert fact_of in words(change)
    assert fact_of.split(" of ")[0] in str(change)


def test_a_template_and_an_older_name_of_one_message() -> None:
    change = cx.diff("XE_2D_U16x32x16_LD_V", cx.XE_LOAD_2D_VNNI(16, 32, 16))
    assert change.messages[0] == change.messages[1]
    assert figures_of(change.held) == (512, 0, 0)
    assert figures_of(change.said) == (512, 480, 0)
    assert words(change).endswith("the registers are alike: only the layouts say something else")
    assert len(change.meaning) == 3  # what both do alike is no difference


def test_transposed_templates_turn_to_meet_older_names() -> None:
    change = cx.diff("XE_2D_U32x16x8_LD_T", cx.XE_LOAD_2D_TRANSPOSE(32, 16, 8))
    assert change.shapes == ((8, 16), (8, 16))
    assert figures_of(change.held) == figures_of(change.said) == (128, 0, 0)
    both = cx.diff(cx.XE_LOAD_2D(32, 16, 8), cx.XE_LOAD_2D_TRANSPOSE(32, 16, 8))
    assert both.shapes == ((16, 8), (16, 8))
    assert both.parameters == (("operation", "XE_LOAD_2D", "XE_LOAD_2D_TRANSPOSE"),)


def test_the_first_work_item_counts_where_several_repeat_an_element() -> None:
    change = cx.diff("XE_2D_U16x1x8_LD_N")
    assert get_atom("XE_2D_U16x1x8_LD_N").ownership()[8] == ((0, 0),)
    assert figures_of(change.held) == (8, 0, 0)
    assert change.held is not None
    assert change.held.other_repeats == 8
    assert "8 further owners" in str(change)
    assert "all 8 elements alike" not in str(change)


@every(
    ("name", "values"),
    [
        ("XE_2D_U16x1x4_LD_N", "s8"),
        ("XE_2D_U16x1x8_LD_N", "u16"),
        ("XE_2D_U64x8x1_LD_T", "u64"),
        ("XE_2D_U16x8x16_LD_N", "s8"),
        ("XE_2D_U16x16x16_LD_V", "u16"),
        ("XE_2D_U8x8x32_LD_N", "s8"),
    ],
)
def test_it_speaks_of_the_units_in_which_single_slots_agree(name: str, values: str) -> None:
    """Each slot is looked up by hand: registers serve 16 work-items unit by unit."""
    atom: Any = get_atom(name, values)
    slots, bits = atom.registers().slots, atom.value_type.bits
    agreeing = []
    for unit in (8, 16, 32, 64):
        shown: list[list[Any]] = [[] for _ in range(16)]
        for i, place in enumerate(slots):
            shown[i * bits // unit % 16].append(place)
        said = [list(owned) for owned in atom.ownership()]
        if unit >= bits and all(w == s[: len(w)] for w, s in zip(said, shown, strict=True)):
            agreeing.append(unit)
    text = words(cx.diff(atom))
    if agreeing:
        assert f"read in units of {' or '.join(map(str, agreeing))} bits, registers show" in text
    else:
        assert "registers show" not in text.replace("do registers show", "")


def test_repeated_elements_agree_with_themselves() -> None:
    change = cx.diff("XE_2D_U16x1x8_LD_N", "XE_2D_U16x1x8_LD_N")
    assert change.said is not None
    assert change.said.other_repeats == 0
    of_a = cx.diff("XE_1x16x8_F32TF32TF32F32_TT", operand="A")
    assert "read in no unit" in words(of_a)
    assert "8 elements of A of" in words(of_a)


def test_only_offsets_depend_on_the_stride_of_memory() -> None:
    name = "XE_2D_U16x8x16_LD_N"
    plain, turned = get_atom(name), get_atom(name, gmem_stride=(1, "ld"))
    change = cx.diff(plain, turned)
    assert change.parameters == (("gmem_stride", '("ld", 1)', '(1, "ld")'),)
    assert figures_of(change.said) == figures_of(change.held) == (128, 0, 0)
    assert "the layouts are (16,8):(1,16) and (16,8):(8,1)" in words(change)
    assert "only offsets differ" in words(change)
    store = "XE_2D_U16x8x16_ST_N"
    stored = cx.diff(store, get_atom(store, gmem_stride=(1, "ld")))
    assert "no offset differs" in words(stored)
    other = cx.diff("XE_2D_U16x16x16_LD_V", get_atom("XE_2D_U16x16x16_LD_N", gmem_stride=(1, "d")))
    assert "only offsets" not in words(other)
    assert "offsets differ by gmem_stride" in words(other)


def test_padding_is_told(image: Callable[[Any], np.ndarray]) -> None:
    atom = cx.make_copy_atom(cx.XE_LOAD_2D(16, 16, 12), "u16")
    slots = image(atom)
    change = cx.diff(atom)
    assert f"{(slots < 0).sum()} elements of padding" in words(change)
    offsets = np.asarray(cx.table(atom.layout_ref_tv))
    before = {divmod(int(o), 12): (i % 16, i // 16) for i, o in enumerate(offsets)}
    assert figures_of(change.held) == figures(before, dealt(slots, 16, 12, False))


def test_values_of_two_widths_are_compared_in_the_narrower() -> None:
    change = cx.diff("XE_2D_U16x8x16_LD_N", "XE_2D_U32x8x16_LD_N")
    assert (change.bits, change.shapes) == (16, ((8, 16), (8, 32)))
    assert figures_of(change.held)[0] == 8 * 16
    back = cx.diff("XE_2D_U32x8x16_LD_N", "XE_2D_U16x8x16_LD_N")
    assert figures_of(back.held) == figures_of(change.held)


def test_two_conventions_of_an_mma() -> None:
    change = cx.diff("XE_8x16x16_F32BF16BF16F32_TT", BF16, "B")
    older = {(k, n): n for k, n in product(range(16), repeat=2)}
    newer = {(k, n): (k // 2 * 32 + n * 2 + k % 2) % 16 for k, n in older}
    moved = sum(older[place] != newer[place] for place in older)
    assert figures_of(change.said) == (256, moved, 0)
    assert figures_of(change.held) == (256, 0, 0)
    alone = cx.diff("XE_8x16x16_F32BF16BF16F32_TT", operand="B")
    assert figures_of(alone.held) == (256, moved, 0)
    assert figures_of(cx.diff(BF16, operand="B").held) == (256, 0, 0)
    assert len(alone.meaning) == 2


@pytest.mark.long
def test_it_fits_one_screen() -> None:
    grown = ["XE_2D_U8x64x64_LD_V", "XE_2D_U8x64x64_LD_T", "XE_2D_U4x64x64_LD_N"]
    templates = [cx.XE_LOAD_2D(8, 8, 24), cx.XE_LOAD_2D_TRANSPOSE(32, 16, 4)]
    given: list[Any] = [*shipped_names()[:: 15 if WHOLE else 30], *templates]
    for a, b in [*product(given, given), *product(grown[:1], grown), *product(grown, given[:2])]:
        lines = str(cx.diff(a, b)).split("\n")
        assert len(lines) <= 25
        assert max(map(len, lines)) <= 100
        assert not any("…" in line or "more lines" in line for line in lines), lines


@every(
    ("arguments", "fact_of"),
    [
        ((BF16, "XE_2D_U16x8x16_LD_N"), "a copy and an MMA cannot be compared"),
        (("XE_2D_U16x8x16_LD_N", cx.XE_DPAS_TT(8, "f32", "bf16")), "call feeds"),
        ((BF16,), 'add operand="B"'),
        ((BF16, BF16, "E"), "unknown operand"),
        (("XE_2D_U16x8x16_LD_N", None, "B"), "leave the operand out"),
        ((7,), "int is not a kind of value that is compared"),
        (("XE_2D_U16x8x16_LD",), "did you mean"),
    ],
)
def test_refusals(arguments: tuple[Any, ...], fact_of: str) -> None:
    with pytest.raises(CuteError, match=fact_of):
        cx.diff(*arguments)
