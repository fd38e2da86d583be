"""A value that is written and read is the same value, to the bit, for every reader."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
import struct
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import family_forms
import fuzz_documents
import fuzz_files
import pytest
import strategies
from compiled_kinds import CASES
from every import every
from hypothesis import given, strategies as st
from relatives import RELATIVES
from sampling import sampled
from schemas import is_valid
from small_kernels import everything, small_kernel
from symbolic_cases import K, M, N, P, T

import pycute_xe as cx
from pycute_xe.cutlass import catalogue
from pycute_xe.emitting import emit
from pycute_xe.files import kinds, schema
from pycute_xe.kernel import Await, Index, Kernel, Operand, Signal, apply
from pycute_xe.kernel.ir.checks import FITS
from pycute_xe.kernel.spec.expression import Const, Where

HERE = Path(__file__).parent


@cache
def whole_schema() -> Any:
    return schema()


def again(value: Any) -> Any:
    """Return what is read of what is written: an equal value, by an equal document."""
    text = cx.to_json(value)
    found = cx.from_json(text)
    assert found == value
    assert type(found) is type(value)
    assert cx.to_json(found) == text
    assert cx.from_json(cx.to_json(value, indent=2)) == value
    assert pickle.loads(pickle.dumps(found)) == value
    return found


def alike(value: Any) -> Any:
    found = again(value)
    assert hash(found) == hash(value)
    return found


# ------------------------------------------------------------ the algebra


@given(strategies.layouts(negative=True))
def test_layouts(layout: cx.Layout) -> None:
    assert [*map(alike(layout), range(cx.size(layout)))] == [*map(layout, range(cx.size(layout)))]


@given(strategies.shapes().flatmap(strategies.coordinate_layouts))
def test_layouts_of_coordinates(layout: cx.Layout) -> None:
    alike(layout)


@given(strategies.layouts().flatmap(strategies.mode_tilers))
def test_tilers(tiler: Any) -> None:
    alike(tiler if isinstance(tiler, tuple) else (tiler,))


@given(strategies.layouts(), st.integers(0, 3), st.integers(0, 3), st.integers(0, 99))
def test_swizzled_layouts(layout: cx.Layout, bits: int, base: int, offset: int) -> None:
    swizzled = cx.ComposedLayout(cx.Swizzle(bits, base, -bits), offset, layout)
    assert cx.table(alike(swizzled)).tolist() == cx.table(swizzled).tolist()


SIZES = {"M": 32, "N": 7, "K": 12, "pad": 3, "T": 4}


def symbolic(rng: Random, leaves: int) -> Any:
    """Return a symbolic value of so many symbols and numbers."""
    if leaves == 1:
        return rng.choice((M, N, K, P, T, rng.randint(1, 9)))
    left = rng.randint(1, leaves - 1)
    one, other = symbolic(rng, left), symbolic(rng, leaves - left)
    changes = (one + other, one * other, one // (other + 1), one % (other + 1))
    return changes[rng.randrange(4)]


@every("seed", sampled(range(60), 6))
def test_symbolic_integers(seed: int) -> None:
    layout = cx.Layout((4, 8), (1, symbolic(Random(seed), 2 + seed % 4)))
    names = getattr(layout.stride[1], "known", {})
    sizes = {name: SIZES[name] for name in names}
    assert cx.substitute(alike(layout), **sizes) == cx.substitute(layout, **sizes)


def test_symbols_keep_what_is_assumed_of_them() -> None:
    below = cx.symbol("I", at_least=0, at_most=N - 1)
    found = alike(cx.Layout((4, 8), (1, below + 16 * M)))
    assert found.stride[1] < 16 * M + N
    with pytest.raises(cx.UndecidableError):
        _ = found.stride[1] < 16 * M + 3


@given(st.integers(-(10**999), 10**999))
def test_integers_stay_exact(number: int) -> None:
    assert again((1, (number,))) == (1, (number,))


@given(st.floats())
def test_floats_stay_to_the_bit(number: float) -> None:
    found = cx.from_json(cx.to_json(Const(number)))
    assert struct.pack(">d", found.value) == struct.pack(">d", number)


def test_a_nan_is_equal_to_itself_as_read() -> None:
    text = cx.to_json(Const(math.nan))
    assert '"nan"' in text
    assert cx.from_json(text) == cx.from_json(text) == Const(math.nan)


INDICES = st.recursive(
    st.sampled_from((Index("k"), Index("M"), Index(None, 3), Index.element("P", Index("g")))),
    lambda inner: st.tuples(inner, inner, st.integers(1, 40)).map(
        lambda parts: (parts[0] * (parts[2] - 20) + parts[1]) // parts[2] + 1
    ),
    max_leaves=6,
)


@given(INDICES)
def test_indices(index: Index) -> None:
    assert str(alike(index)) == str(index)
    alike(Where(index, Index("N"), Const(1), apply("relu", Const(2))))


# ------------------------------------------------------------ atoms and tilings


def test_atoms_and_their_operations() -> None:
    for name in sampled(catalogue(), 60, ("XE_1D_LDSM<u32,u128>",)):
        atom = cx.get_atom(name)
        assert str(alike(atom)) == str(atom)
        assert alike(cx.make_copy_atom(atom.op, "u8") if hasattr(atom, "width") else atom)
        if hasattr(atom, "op"):
            alike(atom.op)


def test_tilings() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    assert alike(mma).fragment("A") == mma.fragment("A")
    for copy in (cx.make_block_2d_copy_A(mma, ("ld", 1)), cx.make_block_2d_copy_B(mma, (1, M))):
        alike(copy)
        alike(cx.make_block_2d_prefetch(copy))


# ------------------------------------------------------------ kernels


@every("name", sampled(CASES, 1, ("shared tiles, 1 stage",)), ids=str)
def test_kernels_of_every_kind(name: str) -> None:
    kernel = CASES[name].make()[0]
    assert str(alike(kernel)) == str(kernel)


def test_kernels_of_the_field_and_kernels_that_are_wrong() -> None:
    for row in sampled(family_forms.rows(), 1):
        alike(row.kernel())
    for makes in sampled(RELATIVES.values(), 1):
        for make in sampled(makes(), 3):
            with suppress(cx.KernelError):  # some are refused when they are built
                alike(make())


def test_a_kernel_of_every_statement() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 32), ((2, 2, 1), (2, 1, 0)))
    counted = small_kernel(
        (Signal("c", (Index(),), Index(None, 1)), Await("c", (Index(),), Index(None, 1))),
        scalars=(Operand("c", "s32", ("L",), role="scratch"),),
    )
    dealt = cx.kernel.dealt_gemm(mma)
    kernels = (
        everything(named=True),
        everything(shared=False),
        cx.kernel.gemm(mma),
        counted,
        dealt,
    )
    seen = {type(s) for kernel in (*kernels, dealt) for s in alike(kernel).statements()}
    assert seen == set(FITS)


LANGUAGES: tuple[Any, ...] = ("opencl", "visa", "cute", "host", "xegpu")


def texts(kernel: Kernel) -> list[str]:
    out: list[str] = []
    for language in LANGUAGES:
        try:
            out.append(emit(kernel, language))
        except cx.CuteError as error:
            out.append(str(error))
    return out


def told(verdict: Any) -> Any:
    proofs = [(p.property, p.answer, p.statement, p.condition) for p in verdict.proofs]
    shown = verdict.counterexample
    place = None if shown is None else dataclasses.replace(shown, message="")
    return verdict.answer, verdict.scope, proofs, place  # sentences are for people


@pytest.mark.long
def test_readers_say_the_same_of_what_was_read() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 32), ((2, 2, 1), (2, 1, 0)))
    gemm = cx.kernel.gemm(mma, epilogue="relu(acc + bias[n])")
    loop = gemm.loop("k")
    wrong = gemm.replace(loop, cx.kernel.Loop(loop.var, 1, loop.stop, loop.body, loop.holds))
    assert texts(alike(gemm)) == texts(gemm)
    found, verdict = alike(wrong), cx.verify(wrong)
    assert verdict.answer == "disproved"
    assert told(cx.verify(found)) == told(verdict)
    assert str(alike(verdict)) == str(verdict)
    for kernel in (gemm, wrong):
        found = alike(kernel)
        checked = cx.check(kernel, "bmg")
        assert again(cx.check(found, "bmg")) == checked
        assert str(again(checked)) == str(checked)


def test_counterexamples_and_reports() -> None:
    place = fuzz_files.PLACE
    alike(place)
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 32), ((2, 2, 1), (2, 1, 0)))
    gemm = cx.kernel.gemm(mma)
    _, report = cx.run(gemm, [[1.0]], [[2.0]], dtype="bf16", report=True)
    assert str(again(report)) == str(report)


# ------------------------------------------------------------ the form


def test_documents_meet_the_schema() -> None:
    for text in fuzz_documents.whole_documents():
        assert is_valid(json.loads(text), whole_schema(), whole_schema())


def test_what_is_read_of_a_damaged_document_meets_the_schema_too() -> None:
    accepted = 0
    for number in range(60):
        data = fuzz_documents.damaged(1, number)
        try:
            cx.from_json(data)
        except cx.CuteError:
            continue
        accepted += 1
        assert is_valid(json.loads(data), whole_schema(), whole_schema()), number
    assert accepted


def test_every_kind_has_a_form_and_the_schema_names_them_all() -> None:
    defined = whole_schema()["$defs"]
    assert set(kinds()) <= {*defined, "Numeric"}
    named = {option["properties"]["kind"]["const"] for option in whole_schema()["oneOf"]}
    assert named == {*kinds(), "tuple"}


def test_documents_of_version_1_are_read_for_good() -> None:
    """These were written when the version was; where one is refused, the version must change."""
    stored = json.loads((HERE / "version_1.json").read_text(encoding="utf-8"))
    wanted = dict(zip(stored, fuzz_documents.whole_values(), strict=False))
    assert len(wanted) == len(stored) == 13
    for name, document in stored.items():
        found = cx.from_json(json.dumps(document))
        assert told(found) == told(wanted[name]) if name == "verdict" else found == wanted[name]
