"""Names of linear copies, what their notes say, and what users get wrong."""

from __future__ import annotations

import copy
import pickle

import pytest
from every import every
from linear_cases import (
    atoms,
    operations,
)

import pycute_xe as cx
from pycute_xe.atom import CopyAtom, LinearCopyAtom, LinearOp, TiledCopy, parse_linear_op
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import CoordError, CuteError, DTypeError
from pycute_xe.facts import rows
from pycute_xe.layout import Layout

FRONT = {name: getattr(cx, name) for name in cx.__all__}


def test_names_read_back() -> None:
    for op in operations():
        assert parse_linear_op(str(op)) == op
        assert eval(repr(op), FRONT) == op
        atom = cx.get_atom(str(op))
        assert isinstance(atom, LinearCopyAtom)
        assert str(atom) == str(op)
        assert eval(repr(atom), FRONT) == atom
        assert pickle.loads(pickle.dumps(atom)) == copy.copy(atom) == atom


@every(
    ("name", "op"),
    [
        ("XE_1D_LOAD_GLOBAL<uint16_t, uint64_t>", cx.XE_1D_LOAD_GLOBAL("u16", "u64")),
        (" XE_1D_LOAD_GLOBAL <uint8_t,cutlass::uint128_t> ", None),
        ("XE_1D_LDSM<cutlass::uint128_t>", cx.XE_1D_LDSM("u128")),
        ("XE_1D_STSM<float>", cx.XE_1D_STSM("f32")),
        ("XE_ATOMIC<int>", cx.XE_ATOMIC("s32")),
        ("XE_ATOMIC<double,float>", cx.XE_ATOMIC("f64", "f32")),
        ("UniversalCopy<bf16>", cx.UniversalCopy("bfloat16")),
    ],
)
def test_names_in_the_words_of_cpp(name: str, op: LinearOp | None) -> None:
    if op is None:
        with pytest.raises(DTypeError, match="vector is 16, must be 1 or 2 or 4 or 8"):
            parse_linear_op(name)
    else:
        assert parse_linear_op(name) == op


@every(
    ("name", "near"),
    [
        ("XE_1D_LDMS<u32>", "XE_1D_LDSM<u32>"),
        ("XE1D_LOAD_GLOBAL<u16,u64>", "XE_1D_LOAD_GLOBAL<u16,u64>"),
        ("XE_1D_STORE_GLOBL<u16>", "XE_1D_STORE_GLOBAL<u16>"),
        ("XE_ATOMICS<f32>", "XE_ATOMIC<f32>"),
        ("UniversalCpy<f32>", "UniversalCopy<f32>"),
        ("xe_1d_stsm", "XE_1D_STSM"),
    ],
)
def test_misspelt_names(name: str, near: str) -> None:
    with pytest.raises(CuteError, match="no linear copy has this name") as caught:
        cx.get_atom(name)
    if name.isupper() or "<" in name:
        assert f"did you mean {near}" in str(caught.value)
    assert near.partition("<")[0] in str(caught.value)


@pytest.mark.parametrize("name", ["XE_1D_LDSM", "XE_1D_LDSM<>", "XE_1D_LDSM<u8,u8,u8>"])
def test_names_without_their_types(name: str) -> None:
    with pytest.raises(CuteError, match=r"one or two types|unknown element type"):
        cx.get_atom(name)


def test_slips_are_refused_by_name() -> None:
    atom = cx.get_atom("XE_1D_LDSM<u32>")
    with pytest.raises(CoordError, match="the atom has 1 work-items"):
        atom.columns(1)
    with pytest.raises(CoordError, match="columns 0 to 0"):
        atom.owner_of(0, 1)
    with pytest.raises(DTypeError, match="64-bit values do not tile 32 bits"):
        cx.make_copy_atom(cx.XE_1D_LDSM("u32"), "u64")
    with pytest.raises(DTypeError, match="32-bit values do not tile 16 bits"):
        cx.get_atom("XE_1D_LOAD_GLOBAL<u16,u64>", "f32")
    with pytest.raises(CuteError, match="CopyAtom is not a linear operation"):
        LinearCopyAtom(CopyAtom(cx.XE_LOAD_2D(16, 8, 16), cx.as_numeric("u16")), "u16")
    with pytest.raises(CuteError, match="elements of many types"):
        cx.make_copy_atom(cx.XE_LOAD_2D(16, 8, 16))
    with pytest.raises(CuteError, match="no linear copy"):
        LinearOp("XE_LOAD_2D", cx.as_numeric("u8"), cx.as_numeric("u8"))
    with pytest.raises(CuteError, match="only block-2D copies take strides"):
        cx.get_atom("XE_1D_LDSM<u32>", gmem_stride=("ld", 1))
    with pytest.raises(CuteError, match="is not a block-2D copy"):
        _ = TiledCopy(atom, Layout((16, 1), (1, 0)), (1, 16), 1, 0).op
    assert LinearOp("XE_1D_LDSM", "u32", "uint32") == cx.XE_1D_LDSM("u32")


@every(
    ("name", "value_type", "words"),
    [
        ("XE_1D_LOAD_GLOBAL<u16,u64>", None, "element N * t + v"),
        ("XE_1D_LOAD_GLOBAL<u16,u64>", "u8", "first parts"),
        ("XE_1D_LOAD_GLOBAL<u32>", None, "without full_group"),
        ("XE_1D_LOAD_GLOBAL<u16>", None, "multiple of 4 bytes"),
        ("XE_1D_LDSM<u16>", None, "zeros above it"),
        ("XE_1D_LDSM<u64>", None, "a register apart"),
        ("XE_1D_LDSM<u32,u64>", None, "equal size only"),
        ("XE_ATOMIC<f32>", None, "drops the old value"),
        ("UniversalCopy<f32,f64>", None, "converted from S to D"),
        ("UniversalCopy<f32>", None, "slm"),
    ],
)
def test_what_the_notes_say(name: str, value_type: str | None, words: str) -> None:
    assert any(words in note for note in cx.get_atom(name, value_type).notes)


def test_notes_are_only_where_they_belong() -> None:
    assert cx.get_atom("XE_1D_LDSM<f32>").notes == ()
    assert len(cx.get_atom("XE_1D_LOAD_GLOBAL<u32>").notes) == 1
    assert cx.get_atom("XE_1D_STSM<u128>", "u32").notes == ()
    every = {str(row["text"]) for row in rows("linear", "note")}
    used = {note for atom in atoms() for note in atom.notes}
    used |= set(cx.get_atom("UniversalCopy<f32,f64>").notes)
    assert used == every


def test_packs_are_types_that_no_array_holds() -> None:
    for bits in (128, 256, 512):
        pack = cx.as_numeric(f"u{bits}")
        assert (pack.bits, pack.bytes, cx.as_numeric(f"uint{bits}")) == (bits, bits // 8, pack)
        assert eval(repr(pack), FRONT) == pack
        with pytest.raises(DTypeError, match="arrays do not hold packs"):
            numpy_dtype(pack)
