"""Every older MMA name is judged alike, alone and in a GEMM, and read as the documents say."""

from __future__ import annotations

from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.errors import CuteError, UnfaithfulWarning
from pycute_xe.facts import rows

NAMES = tuple(
    MmaAtom(cx.XE_DPAS_TT(m, d, a, b, c), legacy=True).name
    for row in rows("dpas", "older_name")
    for d, a, b, c in [row["types"]]  # pyright: ignore[reportGeneralTypeIssues]
    for m in range(1, 9)
)


def of_a_gemm(atom: MmaAtom) -> tuple[bool, bool]:
    """Return whether a GEMM is legal, and whether it is proved; neither where none is built."""
    m, n, _ = atom.shape_mnk
    try:
        kernel = cx.kernel.gemm(cx.workgroup_mma(atom, (m, 2 * n, 64), ((1, 2, 1), (2, 1, 0))))
    except CuteError:
        return False, False
    return bool(cx.check(kernel)), cx.verify(kernel).answer == "proved"


@pytest.mark.long
@pytest.mark.filterwarnings("ignore", category=UnfaithfulWarning)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_legal_where_it_is_proved_and_where_a_gemm_of_it_is(name: str) -> None:
    """One answer of `check` and `verify`: of the name, its tiling, and a GEMM of it."""
    atom: Any = cx.get_atom(name)
    tiled = cx.make_tiled_mma(atom)
    answers = {bool(cx.check(name)), bool(cx.check(tiled))}
    answers |= {cx.verify(x).answer == "proved" for x in (name, tiled)}
    in_a_gemm = of_a_gemm(atom)
    if atom.shipped:  # of others, the copies of A may not fill registers
        answers |= {*in_a_gemm}
    assert len(answers) == 1, (name, answers)
    assert in_a_gemm == of_a_gemm(atom.by_registers)


@pytest.mark.parametrize("name", NAMES)
def test_each_note_is_a_sentence_and_advice_is_not_what_already_holds(name: str) -> None:
    atom = cx.get_atom(name)
    notes = [f.broken for f in cx.check(name).findings if f.broken.rule == "faithful"]
    assert len(notes) == bool(atom.differences)
    for finding in notes:
        assert ("even M" in finding.fix) == (atom.op.M % 2 == 1 and atom.op.A.name == "tf32")
        assert finding.condition.split("; ") == [*atom.differences]


def test_bytes_of_a_are_pairs_of_columns_and_dwords_of_b_are_columns() -> None:
    """The document of the copies: U8 of A has columns 2t and 2t+1, VNNI has rows of a column."""
    atom = cx.get_atom("XE_8x16x32_S32S8S8S32_TT")
    assert [atom.unit_bits(operand) for operand in ("A", "B")] == [16, 32]
    for t, (a, b) in enumerate(zip(atom.ownership("A"), atom.ownership("B"), strict=True)):
        assert a[:4] == ((0, 2 * t), (0, 2 * t + 1), (1, 2 * t), (1, 2 * t + 1))
        assert b == tuple((k, t) for k in range(32))
