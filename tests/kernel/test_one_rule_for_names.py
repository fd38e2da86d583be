"""A name is what a text names it by: one rule in every place that declares a name."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from keyword import kwlist
from typing import Any

import pytest
from hypothesis import given, strategies as st
from sampling import sampled
from small_kernels import fragment
from unsound_kernels import A, kernel, load, store

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.identifiers import name_fault
from pycute_xe.kernel import Claim, Fragment, Index, Loop, Operand, Shared
from pycute_xe.kernel.spec.equations import parse

NO_NAMES = ("ﬁ", "µ", "ſ", "ℌ", "ｘ", "xⁿ", "lambda", "for", "None", "a b", "", "1x", "x-y")
NAMES = ("fi", "μ", "s", "H", "λ", "größe", "lambda_", "x1", "_x")

DECLARED: dict[str, Callable[[str], Any]] = {
    "an operand": lambda name: Operand(name, "f32", ("M", "N")),
    "a size": lambda name: Operand("A", "f32", (name, "N")),
    "an index": Index,
    "a fragment": lambda name: Fragment(name, cx.as_numeric("f32"), 8),
    "a shared array": lambda name: Shared(name, cx.as_numeric("f32"), 64),
    "a loop": lambda name: kernel(
        A, load("A", "x"), Loop(name, Index(offset=0), Index(offset=2), (store("D", "x"),))
    ),
    "the grid": lambda name: kernel(A, load("A", "x"), store("D", "x"), grid=(
        (name, Index("M")), ("m", Index("M")), ("n", Index("N")))),
    "an index of a claim": lambda name: Claim("D", (name, "n"), A),
}  # fmt: skip


@pytest.mark.parametrize("place", DECLARED)
@pytest.mark.whole
def test_every_place_takes_names_and_refuses_what_is_none(place: str) -> None:
    for name in NAMES:
        DECLARED[place](name)
    for name in NO_NAMES:
        with pytest.raises(CuteError):
            DECLARED[place](name)


def test_an_epilogue_takes_names_and_refuses_what_is_none() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    assert cx.kernel.gemm(mma, epilogue="acc + größe[n]").operand("größe")
    for name in ("ﬁ", "µ", "lambda", "None"):
        with pytest.raises(CuteError):
            cx.kernel.gemm(mma, epilogue=f"acc + {name}[n]")


def test_a_symbol_is_a_name_of_ascii() -> None:
    for name in NAMES:
        if name.isascii():
            cx.symbol(name)
    for name in (*NO_NAMES, *(name for name in NAMES if not name.isascii())):
        with pytest.raises(CuteError):
            cx.symbol(name)


@pytest.mark.parametrize("name", ["ﬁ", "µ", "ſ"])
def test_a_specification_names_nothing_by_another_spelling(name: str) -> None:
    """Python reads the ligature as two letters: D would be proved to be another input."""
    read = unicodedata.normalize("NFKC", name)
    with pytest.raises(CuteError, match=f"is read as '{read}'"):
        parse(name, frozenset(), ("m", "n"))


@given(st.text(st.characters(categories=("L", "Nl", "Mn", "Nd", "Pc")), min_size=1, max_size=4))
def test_a_name_is_read_as_itself(name: str) -> None:
    """The authority is Python's own compiler: what is assigned by a text is found by the name."""
    if name_fault(name) is None:
        found: dict[str, Any] = {}
        exec(f"{name} = 1", {}, found)
        assert found == {name: 1}
    elif name.isidentifier():
        assert name in kwlist or unicodedata.normalize("NFKC", name) != name


@pytest.mark.parametrize("word", sampled(kwlist, 5))
def test_no_keyword_is_a_name(word: str) -> None:
    assert name_fault(word) is not None
    with pytest.raises(CuteError, match=f'write "{word}_"'):
        fragment(word, "f32", 8)
