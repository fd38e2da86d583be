"""Finding atoms: the catalogue against the recorded names, filters against names read by hand."""

from __future__ import annotations

import math
import random
import re
from contextlib import suppress
from itertools import product
from typing import Any

import pytest
from every import every
from golden import rows as golden
from sampling import WHOLE, sampled

import pycute_xe as cx
from pycute_xe.comparing import describe_atom, feeds, search_atoms
from pycute_xe.comparing.atom_arguments import as_copy_atom
from pycute_xe.comparing.atom_record import head_of
from pycute_xe.cutlass import catalogue, get_atom
from pycute_xe.cutlass.known_names import grammar_names
from pycute_xe.errors import CuteError, DivisibilityError, InputError, LegalityError, TargetError

OLDER = re.compile(r"XE_2D_(Packed_)?(?:U|TF)(\d+)x(\d+)x(\d+)_(LD|ST)_([NTV])(::PREFETCH)?")
TEMPLATE = re.compile(r"XE_(LOAD|STORE|PREFETCH)_2D(_VNNI|_TRANSPOSE)?<(\d+),(\d+),(\d+)(,\d+)?>")
DPAS = "XE_DPAS_TT<8,f32,bf16>"


def names(**filters: object) -> list[str]:
    return [record.name for record in search_atoms(**filters)]


# ------------------------------------------------------------------ the catalogue


def test_the_catalogue_has_every_recorded_name() -> None:
    known = set(catalogue())
    recorded = golden("cute_copy_atoms_legacy")
    assert known >= {*recorded["ops_all"], *recorded["ops_prefetch"]}
    older = [row["name"] for row in golden("cute_mma_atoms") if row["kind"] == "legacy"]
    assert older
    assert known >= set(older)
    for row in golden("cute_mma_atoms"):
        if row["kind"] != "legacy":
            assert f"XE_DPAS_TT<{row['shape_mnk'][0]},{','.join(row['types'])}>" in known


def test_its_names_count_as_written_and_stay_in_order() -> None:
    found = catalogue()
    assert len(set(found)) == len(found)
    assert sum(OLDER.fullmatch(name) is not None for name in found) == 90 + 31
    assert sum(name.endswith("_TT") for name in found) == 28
    catalogue.cache_clear()
    assert catalogue() == found


def test_every_name_makes_an_atom_that_prints_as_the_name() -> None:
    for name in (*catalogue(), *grammar_names()):
        atom = get_atom(name)
        printed = str(atom.op) if isinstance(atom, cx.CopyAtom) else str(atom)
        assert printed == name
        if isinstance(atom, cx.CopyAtom):
            assert get_atom(repr(atom.op)) == atom


def test_names_of_the_grammar_are_those_cutlass_does_not_ship() -> None:
    recorded = golden("cute_copy_atoms_legacy")
    others = grammar_names()
    assert not set(others) & {*recorded["ops_all"], *recorded["ops_prefetch"], *catalogue()}
    assert all(OLDER.fullmatch(name) for name in others)
    assert "XE_2D_U16x32x16_LD_T" in others
    assert "XE_2D_U32x32x16_LD_V" not in others  # VNNI packs nothing there
    # A power-of-two name that is in neither cannot be moved, or not be shared by 16 work-items.
    for bits, row, col in product((8, 16, 32), (8, 64), (8, 64)):
        name = f"XE_2D_U{bits}x{row}x{col}_LD_N"
        if name not in others and name not in catalogue():
            with pytest.raises(CuteError):
                _moved(name)


def _moved(name: str) -> object:
    atom = get_atom(name)
    return atom.messages("bmg"), atom.layout_ref_tv


def test_templates_of_all_powers_of_two_are_there_or_refused() -> None:
    known = set(catalogue())
    sizes = (1, 2, 4, 8, 16, 32, 64)
    for kind, bits, row, col in product(("LOAD", "STORE"), (8, 16, 32, 64), sizes, sizes):
        name = f"XE_{kind}_2D<{bits},{row},{col}>"
        if name in known:
            assert get_atom(name).messages("bmg")
        else:
            with pytest.raises(CuteError):
                get_atom(name).messages("bmg")


# ------------------------------------------------------------------ filters


def read(name: str) -> dict[str, object] | None:
    """Kind, bits and mode of a copy, read from the text of its name alone."""
    older = OLDER.fullmatch(name)
    if older:
        packed, bits, _, _, way, mode, twin = older.groups()
        kind = "prefetch" if twin else {"LD": "load", "ST": "store"}[way]
        return {"kind": kind, "bits": int(bits), "mode": mode, "packed": bool(packed)}
    template = TEMPLATE.fullmatch(name)
    if template:
        mode = {"_VNNI": "V", "_TRANSPOSE": "T"}.get(template[2] or "", "N")
        kind, bits = template[1].lower(), int(template[3])
        return {"kind": kind, "bits": bits, "mode": mode, "packed": False}
    return None


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({"kind": "store", "bits": 32}, {"kind": "store", "bits": 32}),
        ({"kind": "prefetch"}, {"kind": "prefetch"}),
        ({"kind": "vnni"}, {"kind": "load", "mode": "V"}),
        ({"kind": "transpose", "bits": 16}, {"kind": "load", "mode": "T", "bits": 16}),
        ({"kind": "load", "mode": "T", "bits": 32}, {"kind": "load", "mode": "T", "bits": 32}),
        ({"kind": "packed"}, {"packed": True}),
    ],
)
def test_filters_keep_what_the_names_say(
    filters: dict[str, object], wanted: dict[str, object]
) -> None:
    block2d = [(name, read(name)) for name in (*catalogue(), *grammar_names())]
    expected = [name for name, parts in block2d if parts and wanted.items() <= parts.items()]
    assert [name for name in names(**filters) if read(name)] == expected
    assert expected


def test_rows_and_columns_are_counts_or_ranges() -> None:
    def block(name: str) -> tuple[int, int]:
        found = OLDER.fullmatch(name)
        assert found
        return int(found[3]), int(found[4])

    # Of names that transpose nothing the block is the one of the name.
    plain = [n for n in (*catalogue(), *grammar_names()) if "_LD_N" in n and n[:5] == "XE_2D"]
    assert names(rows=16, mode="N", name="XE_2D_*_LD_N*") == [n for n in plain if block(n)[0] == 16]
    ranged = names(rows=(4, 8), cols=(32, 64), name="XE_2D_*_LD_N*")
    assert ranged == [n for n in plain if block(n)[0] in (4, 8) and block(n)[1] in (32, 64)]
    # Of those that do, what the work-items get: 16x8 in memory is 8 rows of 16.
    assert "XE_2D_U16x16x8_LD_T" in names(rows=8, cols=16, mode="T")


@pytest.mark.long
def test_shipped_and_patterns() -> None:
    recorded = golden("cute_copy_atoms_legacy")
    shipped = {*recorded["ops_all"], *recorded["ops_prefetch"]}
    assert set(names(shipped=True, name="XE_2D_")) == shipped
    assert set(names(shipped=False)) == set(grammar_names())
    assert set(names(name="xe_2d_u16*_ld_v", shipped=True)) == {
        name for name in shipped if re.fullmatch(r"XE_2D_U16.*_LD_V", name)
    }
    assert names(kind="store", mode="V") == []
    assert search_atoms(name="no such thing") == ()
    assert len(search_atoms()) == len(catalogue()) + len(grammar_names())


@pytest.mark.long
def test_what_the_compiler_rejects_is_not_listed_as_legal(
    igc: dict[str, list[dict[str, Any]]],
) -> None:
    """Its verifier exchanges rows and columns of transposed blocks: these rows are left out."""
    rejected = {
        (op, f"d{row['bits']}.{row['count']}x{row['width']}x{row['height']}{row['suffix']}")
        for op in ("load", "store")
        for row in igc[op]
        if row["verdict"] == "r" and row["suffix"][0] == "n"
    }
    assert len(rejected) > 100
    listed = {
        (part.message.op, str(part.message).partition(":")[2])
        for record in search_atoms(kind="block2d", target="pvc")
        for part in get_atom(record.name).messages("pvc")
    }
    assert ("load", "d16.2x16x32nn") in listed
    assert not listed & rejected


def test_targets_and_messages_are_those_of_the_atoms() -> None:
    for record in search_atoms(kind="load", bits=16, rows=(16, 64))[::7]:
        atom = get_atom(record.name)
        counts: dict[str, int] = {}
        for target in ("pvc", "bmg", "lnl", "ptl"):
            with suppress(LegalityError):
                counts[target] = len(atom.messages(target))
        assert record.targets == tuple(counts)
        assert record.messages == next(iter(counts.values()))
    refused = describe_atom("XE_2D_U32x16x16_LD_V")
    assert (refused.targets, refused.messages, refused.faithful) == ((), 0, False)


def test_faithful_atoms_are_told_from_others() -> None:
    older = {"kind": "load", "shipped": True, "name": "XE_2D_*"}
    yes, no = names(faithful=True, **older), names(faithful=False, **older)
    assert {*yes, *no} == set(names(**older))
    assert not set(yes) & set(no)
    assert {"XE_2D_U16x32x16_LD_N", "XE_2D_U32x16x8_LD_T"} <= set(yes)
    assert {name for name in no if name.endswith("_LD_V")} == set(names(mode="V", **older))
    for name in yes:
        atom: Any = get_atom(name)
        owned, held = atom.ownership(), atom.registers()
        assert all(held.held_by(t)[: len(owned[t])] == owned[t] for t in range(16)), name


def test_a_pattern_may_come_first() -> None:
    assert search_atoms("U16x32x16") == search_atoms(name="U16x32x16")


def test_a_line_is_about_the_atom_as_it_is() -> None:
    name = "XE_2D_Packed_U16x16x32_LD_N"
    assert not describe_atom(name).faithful
    assert describe_atom(get_atom(name)) == describe_atom(name)
    assert describe_atom(get_atom(name, "u32")).faithful
    for wrong in ([], None, 5):
        with pytest.raises(InputError, match="must be an atom or the name of one"):
            describe_atom(wrong)


@pytest.mark.long
def test_names_whose_traits_are_no_map_are_marked() -> None:
    marked = {record.name for record in search_atoms() if record.is_artefact}
    atoms: dict[str, Any] = {name: get_atom(name) for name in (*catalogue(), *grammar_names())}
    assert marked == {n for n, atom in atoms.items() if getattr(atom, "is_artefact", False)}
    # As many names as have recorded maps that are none onto their block.
    assert len(marked) == 18


# ------------------------------------------------------------------ what feeds an MMA


@pytest.mark.long
def test_what_feeds_an_operand() -> None:
    b = names(feeds=DPAS, operand="B", shipped=True)
    # The document: B row-major by LD_V, column-major by LD_T; A by LD_N.
    assert {"XE_2D_U16x32x32_LD_V", "XE_2D_U16x16x16_LD_T"} <= set(b)
    assert "XE_LOAD_2D_VNNI<16,16,32,16>" in b
    assert "XE_2D_U16x16x16_LD_N" not in b
    assert "XE_2D_U16x16x16_LD_N" in names(feeds=DPAS, operand="B", reorder=True, shipped=True)
    a = names(feeds=DPAS, operand="A", shipped=True)
    assert {"XE_2D_U16x8x16_LD_N", "XE_LOAD_2D<16,32,32,16>"} <= set(a)
    both = names(feeds=DPAS, shipped=True)
    assert set(both) == {*a, *b}
    assert "XE_2D_Packed_U8x8x32_LD_N" in names(feeds="XE_8x16x32_S32S8S8S32_TT", operand="A")
    assert names(feeds=DPAS, operand="D", name="XE_2D_U32x8x16") == ["XE_2D_U32x8x16_ST_N"]


@pytest.mark.long
def test_verdicts_are_those_of_feeds() -> None:
    found = search_atoms(feeds=DPAS, reorder=True, bits=16, rows=(8, 32), name="XE_2D_U16*")
    assert found
    for record in found:
        assert [operand for operand, _ in record.feeds] == ["A", "B"]
        for operand, verdict in record.feeds:
            feed = feeds(record.name, DPAS, operand)
            assert feed.kind == verdict
            assert dict(record.moves)[operand] == feed.moves
            assert dict(record.costs)[operand] == feed.cost
    mma = get_atom(DPAS)
    assert search_atoms(feeds=mma, operand="B") == search_atoms(feeds=mma.op, operand="B")


@pytest.mark.long
def test_copies_as_wide_as_the_operand_come_first() -> None:
    for operand, width in (("A", 16), ("D", 32)):
        bits = [record.bits for record in search_atoms(feeds=DPAS, operand=operand)]
        wide = bits.count(width)
        assert wide > 0
        assert set(bits[:wide]) == {width}


def test_of_like_width_the_fewest_moves_come_first() -> None:
    found = search_atoms(feeds=DPAS, operand="B", reorder=True, shipped=True)
    moves = [dict(record.moves)["B"] for record in found if record.bits == 16]
    counts = [count for count in moves if count is not None]
    assert counts == moves[: len(counts)] == sorted(counts)
    assert counts[0] == 0 < counts[-1]


# ------------------------------------------------------------------ what is refused


@every(
    ("filters", "said"),
    [
        ({"kind": "lode"}, "use load, or one of load, store"),
        ({"mode": "X"}, "N, T or V"),
        ({"bits": 0}, "a positive integer"),
        ({"bits": True}, "a positive integer"),
        ({"rows": (8, 4)}, "8 is more than 4. Way out: write (4, 8)"),
        ({"cols": (8,)}, "(least, most)"),
        ({"cols": "8"}, "(least, most)"),
        ({"name": ""}, "a part of a name"),
        ({"operand": "B"}, "needs an MMA"),
        ({"feeds": DPAS, "operand": "E"}, "A, B, C or D"),
        ({"feeds": "XE_2D_U16x8x16_LD_N"}, "feeds must be an MMA"),
        ({"faithful": "yes"}, "faithful cannot be 'yes'. Way out: use True or False"),
        ({"shipped": 1}, "True or False"),
        ({"reorder": "no", "feeds": DPAS}, "True or False"),
        ({"reorder": True}, "needs an MMA"),
        ({"kind": "mma", "feeds": DPAS}, "an MMA is not a copy"),
        ({"kind": "linear", "feeds": DPAS}, "block-2D copies only"),
        ({"kind": "prefetch", "feeds": DPAS}, "fills no register"),
        ({"kind": ["load"]}, "kind cannot be"),
        ({"mode": ["N"]}, "N, T or V"),
        ({"target": []}, "such as bmg"),
    ],
)
def test_values_that_a_filter_cannot_have(filters: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        names(**filters)


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(TargetError, match="pvc"):
        search_atoms(target="xe9")


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("XE_LOAD2D<16,32,16>", "XE_LOAD_2D<16,32,16>"),
        ("xe_load_2d_vnni<16, 32, 16>", "XE_LOAD_2D_VNNI<16,32,16>"),
        ("XE_DPAS<8,f32,bf16>", "XE_DPAS_TT<8,f32,bf16,bf16,f32>"),
        ("XE_8x16x16_F32BF16BF16_TT", "XE_8x16x16_F32BF16BF16F32_TT"),
        ("xe_2d_u16x32x16_ld_v", "XE_2D_U16x32x16_LD_V"),
        ("XE_1D_LDMS<u32>", "XE_1D_LDSM<u32>"),
    ],
)
def test_a_misspelt_name_of_any_kind_gets_the_nearest(wrong: str, near: str) -> None:
    with pytest.raises(CuteError, match=f"did you mean {re.escape(near)}"):
        get_atom(wrong)


def test_templates_take_their_numbers_and_a_type() -> None:
    assert get_atom("XE_LOAD_2D< 16, 32, 32, 16 >", "bf16") == cx.make_copy_atom(
        cx.XE_LOAD_2D(16, 32, 32, 16), "bf16"
    )
    assert get_atom("XE_STORE_2D<32,8,16>").value_type.name == "u32"
    with pytest.raises(CuteError, match="does not take 4 numbers"):
        get_atom("XE_STORE_2D<32,8,16,16>")
    with pytest.raises(CuteError, match="only block-2D copies take strides"):
        get_atom("XE_STORE_2D<32,8,16>", gmem_stride=(1, "ld"))


# ------------------------------------------------------------------ the fast path and the slow one


def slow_verdict(name: str, mma: Any, operand: Any) -> str:
    """From the pictures alone, element by element; the limits of DPAS are asked of `feeds`."""
    try:
        # A template carries the operand's type here, as an older name does.
        given: Any = name if name.startswith("XE_2D") else get_atom(name).op
        atom: Any = as_copy_atom(given, "test", mma.operand_type(operand))
        slots = atom.registers().slots
    except (LegalityError, DivisibilityError):
        return "impossible"
    if atom.value_type.bits != mma.operand_type(operand).bits or not slots:
        return "impossible"
    if (atom.messages("bmg")[0].message.op == "store") != (operand == "D"):
        return "impossible"
    # An older name counts rows and columns of the operand, a template those of memory.
    turned = name.startswith("XE_LOAD_2D_TRANSPOSE")
    held = {(p[::-1] if turned else p): i for i, p in enumerate(slots) if p is not None}
    rows, cols = mma.operand_shape(operand)
    if (max(held)[0] + 1) % rows or (max(held)[1] + 1) % cols:
        return "impossible"
    wanted = [place for place in mma.registers(operand).slots if place is not None]
    for y in range(0, max(held)[0] + 1, rows):
        for x in range(0, max(held)[1] + 1, cols):
            at = [held[y + v, x + w] for v, w in wanted]
            if at != list(range(at[0], at[0] + len(at))):
                return "reorder"
    return "free"


@pytest.mark.long
def test_a_search_by_feeds_finds_what_asking_each_atom_finds() -> None:
    rng = random.Random(20)
    every = [*catalogue(), *grammar_names()]
    listed = [r.name for r in search_atoms()]
    likely_ones, others = (12, 40) if WHOLE else (2, 6)
    for mma_name in sampled((DPAS, "XE_DPAS_TT<8,s32,s8>", "XE_DPAS_TT<4,f32,tf32>"), 2):
        mma: Any = get_atom(mma_name)
        for operand in ("A", "B", "D"):
            records = search_atoms(feeds=mma, operand=operand, reorder=True)
            found = {r.name: dict(r.feeds) for r in records}
            moves = {r.name: dict(r.moves)[operand] for r in records}
            likely = sorted(found)
            sample = {
                *rng.sample(likely, min(likely_ones, len(likely))),
                *rng.sample(every, others),
            }
            for name in sorted(sample):
                is_block = "_2D" in name and not name.endswith("PREFETCH")
                slow = slow_verdict(name, mma, operand) if is_block else "impossible"
                assert found.get(name, {}).get(operand, "impossible") == slow, (name, operand)
            # Those as wide as the operand first, then by their moves, else as listed.
            width = mma.operand_type(operand).bits
            order = [name for name in listed if name in found]
            wide = {name: head_of(name).bits == width for name in order}
            cost = {n: (not wide[n], math.inf if (c := moves[n]) is None else c) for n in order}
            assert list(found) == sorted(order, key=cost.__getitem__)
