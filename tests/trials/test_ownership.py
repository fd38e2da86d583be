"""`verify` and `run` of copies, formulas, tiled copies and MMAs."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from executed_images import as_type, executed_places

import pycute_xe as cx
from pycute_xe.cutlass.known_names import shipped_names
from pycute_xe.errors import CuteError, InputError, LegalityError, ShapeError
from pycute_xe.layout import Layout

NAMES = [str(name) for name in shipped_names() if "PREFETCH" not in str(name)]
BF16 = cx.XE_DPAS_TT(8, "f32", "bf16")


@cache
def image(name: str) -> np.ndarray:
    """(work-item, value, 2): rows and columns in memory, by an execution of the tests' own."""
    atom = cx.get_atom(name)
    return as_type(executed_places(atom), atom.unit_bits // atom.value_type.bits)


def owned(name: str) -> np.ndarray:
    atom = cx.get_atom(name)
    return np.array([[atom.place_in_memory(*p) for p in own] for own in atom.ownership()])


@pytest.mark.whole
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.long
def test_every_shipped_atom_is_verified(name: str) -> None:
    """What is proved is what its messages do, by an execution that shares nothing with it."""
    verdict = cx.verify(name, order="registers")
    mine = {proof.property: proof.answer for proof in verdict.proofs}
    said, held = owned(name), image(name)
    right = said.shape == held[:, : said.shape[1]].shape and (held[:, said.shape[1] :] < 0).all()
    right = right and bool((said == held[:, : said.shape[1]]).all())
    assert mine["values"] == ("proved" if right else "disproved")
    assert verdict.answer == ("proved" if right else "disproved"), str(verdict)
    if not right:
        shown = verdict.counterexample
        assert shown is not None
        assert "work-item" in shown.message
    owners = [set(map(tuple, places.tolist())) for places in held]
    own = all(set(map(tuple, x.tolist())) <= y for x, y in zip(said, owners, strict=True))
    assert cx.verify(name).answer == ("proved" if own else "disproved")


# ------------------------------------------------------------ formulas of the document

DOCUMENT = [
    ("XE_2D_U16x32x16_LD_N", "v", "t", True),
    ("XE_2D_U16x32x32_LD_N", "v % 32", "t + 16*(v // 32)", True),
    ("XE_2D_U16x32x32_LD_N", "v // 2", "t + 16*(v % 2)", False),  # the order of CUTLASS's traits
    ("XE_2D_U16x32x16_LD_V", "v", "t", True),
    ("XE_2D_U16x32x32_LD_V", "v % 32", "t + 16*(v // 32)", True),
    ("XE_2D_U16x16x16_LD_T", "v", "t", True),
    ("XE_2D_Packed_U8x8x32_LD_N", "v // 2", "2*t + v % 2", True),
    ("XE_2D_Packed_U8x8x64_LD_N", "v // 2 % 8", "2*t + v % 2 + 32*(v // 16)", True),
    ("XE_2D_Packed_U8x8x64_LD_N", "v // 4", "2*t + v % 2 + 32*(v // 2 % 2)", False),
    ("XE_2D_U16x8x16_ST_N", "v", "t", True),
]


@pytest.mark.parametrize(("name", "row", "column", "right"), DOCUMENT)
def test_tables_of_the_document(name: str, row: str, column: str, right: bool) -> None:
    bits = 16 if name == "XE_2D_Packed_U8x8x64_LD_N" else None
    verdict = cx.verify(name, row=row, column=column, unit_bits=bits, order="registers")
    assert verdict.answer == ("proved" if right else "disproved"), str(verdict)
    either = cx.verify(name, row=row, column=column, unit_bits=bits)
    assert either  # each is right in one of the orders, which its name says
    assert either.kernel.endswith(f"in the order of its {'registers' if right else 'layout'}")
    mine = {proof.property: proof for proof in verdict.proofs}
    assert mine["work-items"]  # who owns a column is right in every one of its tables


def test_formulas_go_back_and_forth() -> None:
    row, column = cx.get_atom("XE_2D_U16x32x16_LD_V").formula()
    assert cx.verify("XE_2D_U16x32x16_LD_V", row=row, column=column)
    for name in NAMES:
        atom = cx.get_atom(name)
        row, column = atom.formula()
        place = atom.ownership()
        for lane, value in ((0, 0), (15, atom.values - 1), (7, atom.values // 2)):
            at = {"t": lane, "v": value}
            got = tuple(
                int(x.subs({free: at[free.name] for free in x.free_symbols})) for x in (row, column)
            )
            assert got == place[lane][value], name


# ------------------------------------------------------------ wrong formulas


SMALL = [n for n in NAMES if cx.get_atom(n).faithful_units and cx.get_atom(n).values <= 32]
FORMULAS = {n: tuple(str(x) for x in cx.get_atom(n).formula()) for n in SMALL}


def wrong_formula(rng: random.Random) -> tuple[str, str, str]:
    """A formula of a faithful atom, changed: shifted, swapped, strided, packed, another lane."""
    name = rng.choice(SMALL)
    row, column = FORMULAS[name]
    by = rng.choice([1, 2, 3, 8])
    changes = {
        "shifted row": (f"{row} + {by}", column),
        "shifted column": (row, f"{column} + {by}"),
        "shifted back": (row, f"{column} - {by}"),
        "swapped": (column, row),
        "strided": (row, f"2*({column})"),
        "slower": (f"({row}) // 2", column),
        "another lane": tuple(x.replace("t", f"((t + {by}) % 16)") for x in (row, column)),
        "lanes turned": tuple(x.replace("t", "(15 - t)") for x in (row, column)),
        "values turned": tuple(x.replace("v", "(v ^ 1)") for x in (row, column)),
        "packed": tuple(x.replace("t", "(2*(t % 8) + t // 8)") for x in (row, column)),
        "another value": tuple(x.replace("v", f"(v + {by})") for x in (row, column)),
    }
    return (name, *rng.choice([c for k, c in changes.items() if k != "values turned"]))


@pytest.mark.long
def test_wrong_formulas_are_refuted_where_the_machine_differs() -> None:
    rng, refuted = random.Random(20), 0
    t, v = np.arange(16)[:, None], np.arange(64)[None]
    names: dict[str, Any] = {"Mod": np.mod, "floor": np.floor}
    for _ in range(500):
        name, row, column = wrong_formula(rng)
        atom = cx.get_atom(name)
        at = {"t": t, "v": v[:, : atom.values]}
        parts = [np.broadcast_to(eval(x, names, at), (16, atom.values)) for x in (row, column)]
        said = np.stack(parts, axis=-1).astype(np.int64)
        there = image(name)[:, : atom.values]
        if atom.place_in_memory(0, 1) == (1, 0):
            there = there[..., ::-1]
        if (said == there).all():
            continue
        verdict = cx.verify(name, row=row, column=column)
        refuted += 1
        assert verdict.answer == "disproved", (name, row, column)
        shown = next(p for p in verdict.proofs if p.property == "values").counterexample
        assert shown is not None
        assert shown.found == tuple(there[shown.lane, shown.value])
        assert tuple(said[shown.lane, shown.value]) != shown.found
    assert refuted > 400


# ------------------------------------------------------------ runs


def test_run_of_an_atom() -> None:
    A = np.arange(32 * 64).reshape(32, 64)
    held = cx.run("XE_2D_U16x8x16_LD_N", A, at=(3, 16))
    assert held.shape == (16, 8)
    assert np.array_equal(held, A[3:11, 16:32].T)
    beyond = cx.run("XE_2D_U16x8x16_LD_N", A, at=(30, 0))
    assert np.array_equal(beyond[:, :2], A[30:, :16].T)
    assert not beyond[:, 2:].any()
    D = np.zeros((32, 64), np.int64)
    stored = cx.run("XE_2D_U16x8x16_ST_N", held, into=D, at=(8, 32))
    assert np.array_equal(stored[8:16, 32:48], A[3:11, 16:32])
    assert stored.sum() == held.sum()
    assert not D.any()
    bf16 = cx.run(cx.get_atom("XE_2D_U16x8x16_LD_N", "bf16"), A[:, :].astype(np.float32) % 128)
    assert bf16.dtype.name == "bfloat16"
    assert np.array_equal(
        cx.run("XE_1D_LOAD_GLOBAL<u32>", np.arange(40), at=8)[:, 0], 8 + np.arange(16)
    )
    lanes = [3 * i for i in range(16)]
    assert np.array_equal(cx.run("XE_1D_LDSM<u16>", np.arange(64), at=lanes)[:, 0], lanes)


def test_run_of_a_tiled_copy() -> None:
    mma = cx.workgroup_mma(BF16, (32, 32, 32), ((2, 2, 1), (2, 1, 0)))
    A = np.arange(64 * 64).reshape(64, 64) % 256
    for made, contiguous in ((cx.make_block_2d_copy_A, 1), (cx.make_block_2d_copy_B, 0)):
        strides = ("ld", 1) if contiguous else (1, "ld")
        copy = made(mma, strides)
        held = cx.run(copy, A, at=(32, 0))
        assert held.shape[:2] == (4, 16)
        for t, v in ((0, 0), (17, 3), (63, held.shape[2] - 1)):
            offset = copy.layout_tv_tiled(t, v)
            place = offset % copy.tiler_mn[0], offset // copy.tiler_mn[0]
            assert held[t // 16, t % 16, v] == A[32 + place[0], place[1]]
    store = cx.make_block_2d_copy_D(mma, ("ld", 1))
    values = np.arange(4 * 16 * store.messages * store.atom.values).reshape(4, 16, -1)
    out = cx.run(store, values, into=np.zeros((32, 32)))
    for t, v in ((0, 0), (40, 5), (63, 15)):
        offset = store.layout_tv_tiled(t, v)
        assert out[offset % 32, offset // 32] == values[t // 16, t % 16, v]


REFUSED: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    (("XE_2D_U16x8x16_LD_N",), {}, "one array"),
    (("XE_2D_U16x8x16_LD_N", np.zeros(4)), {}, "matrix"),
    (("XE_2D_U16x8x16_LD_N", np.zeros((4, 4))), {"at": 3}, "row and the column"),
    (("XE_2D_U16x8x16_LD_N", np.zeros((4, 4))), {"from_": 3}, "not an argument"),
    (("XE_2D_U16x8x16_LD_N", np.full((4, 4), 0.5)), {}, "does not hold"),
    (("XE_2D_U16x8x16_ST_N", np.zeros((16, 8))), {}, "memory that it writes"),
    (("XE_2D_U16x8x16_ST_N", np.zeros((8, 16))), {"into": np.zeros((9, 9))}, "shape"),
    (("XE_2D_U16x8x16_LD_N::PREFETCH", np.zeros((4, 4))), {}, "prefetch"),
    (("XE_2D_U16x8x16_LD_N", np.zeros((4, 4))), {"unit_bits": 7}, "units of 7"),
    (("XE_1D_LDSM<u16>", np.zeros(64)), {"at": 3}, "16 integers"),
    (("XE_1D_LOAD_GLOBAL<u32>", np.zeros(8)), {}, "memory has 8"),
    ((3, np.zeros(8)), {}, "only kernels"),
]


@pytest.mark.parametrize(("given", "named", "words"), REFUSED)
def test_refused_runs(given: tuple[Any, ...], named: dict[str, Any], words: str) -> None:
    with pytest.raises(CuteError, match=words):
        cx.run(*given, **named)


@pytest.mark.parametrize(
    ("named", "kind", "words"),
    [
        ({"row": "v"}, InputError, "a row and a column"),
        ({"row": "v", "column": "u"}, InputError, "u is unknown"),
        ({"row": "v", "column": "t*v"}, InputError, "integers only"),
        ({"row": "v", "column": "t ^ v"}, InputError, "names and integers"),
        ({"row": "v", "column": 2.5}, InputError, "float"),
        ({"row": "v", "column": "t", "unit_bits": 12}, InputError, "12 bits"),
        ({"params": {"M": 1}}, InputError, "only kernels have sizes"),
        ({"feeds": ("XE_DPAS_TT<8,f32,bf16>",)}, InputError, "an MMA and an operand"),
    ],
)
def test_refused_claims(named: dict[str, Any], kind: type[CuteError], words: str) -> None:
    with pytest.raises(kind, match=words):
        cx.verify("XE_2D_U16x8x16_LD_N", **named)


# ------------------------------------------------------------ tilings

MMAS = [
    *(cx.make_mma_atom(cx.XE_DPAS_TT(m, *types)) for m, types in (
        (8, ("f32", "bf16")), (4, ("f32", "tf32")), (8, ("s32", "s8")), (8, ("s32", "u4", "s4")),
        (1, ("bf16", "bf16")),
    )),
    cx.workgroup_mma(BF16, (32, 32, 32), ((2, 2, 1), (2, 1, 0))),
    cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (16, 64, 32), ((1, 2, 1), (2, 1, 0))),
]  # fmt: skip


@pytest.mark.parametrize("mma", MMAS, ids=str)
def test_mmas_are_verified(mma: Any) -> None:
    verdict = cx.verify(mma)
    assert verdict, str(verdict)
    assert [p.property for p in verdict.proofs] == ["A owners", "B owners", "C owners", "product"]


def test_layouts_of_mmas_that_go_on_past_the_registers_are_disproved() -> None:
    odd = cx.verify(cx.make_mma_atom(cx.XE_DPAS_TT(3, "f32", "tf32")))
    assert odd.answer == "disproved"
    assert "outside 3x8" in str(odd)


@pytest.mark.long
def test_tiled_copies_are_verified() -> None:
    mma = cx.workgroup_mma(BF16, (32, 32, 32), ((2, 2, 1), (2, 1, 0)))
    for copy in (
        cx.make_block_2d_copy_A(mma, ("ld", 1)),
        cx.make_block_2d_copy_B(mma, (1, "ld")),
        cx.make_block_2d_copy_D(mma, ("ld", 1)),
    ):
        verdict = cx.verify(copy)
        assert verdict, str(verdict)
    copy = cx.make_block_2d_copy_A(mma, ("ld", 1))
    threads, values = copy.layout_tv_tiled
    assert threads == Layout((16, (2, 2)), (32, (0, 16)))
    lanes = Layout((16, (2, 2)), (32, (16, 0)))  # the subgroups along M and N exchanged
    assert cx.verify(replace(copy, layout_tv_tiled=cx.make_layout(lanes, values)))
    lanes = Layout(((2, 8), (2, 2)), ((256, 32), (0, 16)))  # work-items exchanged
    wrong = replace(copy, layout_tv_tiled=cx.make_layout(lanes, values))
    assert cx.verify(wrong).answer == "disproved"


# ------------------------------------------------------------ feeding

FEEDS = [
    ("XE_2D_U16x8x16_LD_N", "XE_DPAS_TT<8,f32,bf16>", "A", "proved"),
    ("XE_2D_U16x32x32_LD_V", "XE_DPAS_TT<8,f32,bf16>", "B", "proved"),
    ("XE_2D_U16x16x16_LD_T", "XE_DPAS_TT<8,f32,bf16>", "B", "proved"),
    ("XE_2D_U16x32x16_LD_N", "XE_DPAS_TT<8,f32,bf16>", "B", "proved"),  # reordered
    ("XE_2D_U32x8x16_ST_N", "XE_DPAS_TT<8,f32,bf16>", "D", "proved"),
    ("XE_2D_U16x8x16_ST_N", "XE_DPAS_TT<8,f32,bf16>", "A", "disproved"),
]


@pytest.mark.parametrize(("copy", "mma", "operand", "answer"), FEEDS)
def test_what_feeds_says_is_proved(copy: str, mma: str, operand: Any, answer: str) -> None:
    verdict = cx.verify(copy, feeds=(mma, operand))
    assert verdict.answer == answer, str(verdict)
    assert cx.feeds(copy, mma, operand).kind in str(verdict)


def test_a_counterexample_is_drawn() -> None:
    """Red corners at what is said and at what is, and at nothing else."""
    name = "XE_2D_U16x8x16_LD_N"
    wrong = cx.verify(name, row="v", column="15 - t").counterexample
    assert wrong is not None
    drawing = cx.draw(cx.get_atom(name), "memory", mark=wrong)
    cells = {(c.row, c.col) for c in drawing.scene.panels[0].cells if c.wrong}
    assert cells == {wrong.element, wrong.found}
    assert wrong.message in drawing.text(width=100, colour=False)


# ------------------------------------------------------------ what was answered wrongly once


def test_fractions_of_t_and_v_are_no_owners() -> None:
    """Each would be an integer if it were rounded, and is refused instead."""
    import sympy as sp

    t, v = sp.symbols("t v", integer=True)
    name = "XE_2D_U16x8x16_LD_N"
    for column in (t + sp.Rational(1, 2), (2 * t + 1) / 2, sp.Mod(t + sp.Mod(v / 2, 1), 16)):
        with pytest.raises(InputError, match="not an integer of t and v"):
            cx.verify(name, row=v, column=column)
    assert cx.verify(name, row=v, column=sp.Mul(2, t / 2, evaluate=False))
    packed = "XE_2D_Packed_U8x8x32_LD_N"
    assert cx.verify(packed, row=sp.floor(v / 2), column=2 * t + sp.Mod(v, 2))
    assert cx.verify(packed, row=sp.ceiling((v - 1) / 2), column=2 * t + sp.Mod(v, 2))


def test_units_of_blocks_and_of_work_items_that_address_memory() -> None:
    block = "XE_1D_LOAD_GLOBAL<u32,u128>"
    assert cx.verify(block, row="0", column="t + 16*v", unit_bits=32)
    assert cx.verify(block, row="0", column="4*t + v", unit_bits=32).answer == "disproved"
    assert cx.verify("XE_1D_LDSM<u64>")
    held = cx.run("XE_1D_LDSM<u64>", np.arange(64), at=[*range(0, 48, 3)])
    assert held[:, 0].tolist() == [*range(0, 48, 3)]
    out = cx.run("XE_1D_STSM<u64>", held, into=np.zeros(48, np.int64), at=[*range(0, 48, 3)])
    assert out[::3].tolist() == held[:, 0].tolist()
    with pytest.raises(InputError, match="128 bits"):
        cx.run("XE_1D_LDSM<u128>", np.arange(64))


def test_stores_of_four_bits_and_of_subgroups_that_store_the_same() -> None:
    store = cx.make_copy_atom(cx.XE_STORE_2D(8, 8, 16), "u4")
    assert cx.verify(store)
    out = cx.run(store, np.ones((16, 16), int), into=np.zeros((8, 32), int))
    assert out.sum() == 8 * 32
    mma = cx.workgroup_mma(BF16, (8, 16, 32), ((1, 1, 2), (1, 1, 1)))
    verdict = cx.verify(cx.make_block_2d_copy_D(mma, ("ld", 1)))
    assert verdict, str(verdict)
    assert verdict.assumptions == ("owners of one element store the same number",)


def test_a_permutation_that_repeats_a_place_is_refused() -> None:
    one = Layout((1, 1, 1))
    for mode in (Layout((16, 2), (1, 0)), Layout(16, 0)):
        with pytest.raises(ShapeError, match="several times: it has a stride of 0"):
            cx.make_tiled_mma(BF16, one, (8, mode, 16))
    whole = Layout((16, 1, 2), (1, 0, 16))
    assert cx.verify(cx.make_tiled_mma(BF16, one, (8, whole, 16)))


def test_numbers_that_a_type_does_not_hold_are_refused_exactly() -> None:
    def of(kind: str) -> Any:
        return cx.make_copy_atom(cx.XE_LOAD_2D(64, 8, 8), kind)

    lost: list[tuple[Any, np.ndarray]] = [
        ("XE_2D_U16x8x16_LD_N", np.full((8, 16), np.nan)),
        (of("s64"), np.full((8, 8), 2**63, np.uint64)),
        (of("u64"), np.full((8, 8), 2.0**64)),
        (of("f64"), np.full((8, 8), 2**53 + 1)),
    ]
    for copy, array in lost:
        with pytest.raises(InputError, match="does not hold"):
            cx.run(copy, array)
    held = np.full((16, 8), 300)
    with pytest.raises(InputError, match="into holds uint8"):
        cx.run("XE_2D_U16x8x16_ST_N", held, into=np.zeros((8, 16), np.uint8))
    for odd in (np.zeros((8, 16), "V4"), np.zeros((8, 16), [("a", "i4")])):
        with pytest.raises(InputError, match="not a type of numbers"):
            cx.run("XE_2D_U16x8x16_LD_N", odd)
    with pytest.raises(InputError, match="16 integers"):
        cx.run("XE_1D_LDSM<u16>", np.zeros(64), at=[[1, 2], [3]])
    whole = np.full((8, 8), 2**64 - 1, np.uint64)
    assert int(cx.run(of("u64"), whole)[0, 0]) == 2**64 - 1


def test_narrow_values_of_transposed_names_keep_the_law_of_the_letter() -> None:
    """They lie in columns of an element, those of LD_N in rows: the law is of elements."""
    for name, kind in (("XE_2D_U32x16x8_LD_T", "u16"), ("XE_2D_U16x16x16_LD_T", "u8")):
        verdict = cx.verify(cx.get_atom(name, kind))
        assert verdict, str(verdict)


def test_what_is_asked_together_and_says_nothing_is_refused() -> None:
    feeds = ("XE_DPAS_TT<8,f32,bf16>", "A")
    with pytest.raises(InputError, match="asked alone"):
        cx.verify("XE_2D_U16x8x16_LD_N", row="15-t", column="99", feeds=feeds)
    with pytest.raises(InputError, match="neither an executor"):
        cx.run("XE_2D_U16x8x16_LD_N", np.zeros((8, 16)), report=True)
    with pytest.raises(InputError, match="10000"):
        cx.verify("XE_2D_U16x8x16_LD_N", row=10**30, column=0)
    illegal = cx.make_copy_atom(cx.XE_LOAD_2D_VNNI(32, 2, 64, 32), "f32")
    for unit in (None, 32):
        with pytest.raises(LegalityError, match="row bytes is 256"):
            cx.verify(illegal, unit_bits=unit)


@pytest.mark.parametrize("indent", [1.5, True, 10**9, -1, "xx"])
def test_documents_have_an_indent_of_a_few_blanks(indent: Any) -> None:
    with pytest.raises(InputError, match="indent"):
        cx.to_json(Layout(4), indent=indent)
    whole = cx.to_json(Layout((4, 8), (1, 4))).replace("[1, 4]", "null")
    with pytest.raises(CuteError, match="stride"):
        cx.from_json(whole)
