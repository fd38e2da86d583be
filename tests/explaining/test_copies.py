"""Why a copy is the one it is: each line held against the copy itself."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.atom.reordering import reorder_from_copy
from pycute_xe.errors import InputError

GRID = ((2, 2, 1), (2, 1, 0))
MMAS = {
    "bf16": cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (64, 64, 32), GRID),
    "s8": cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (64, 64, 64), GRID),
    "tf32": cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "tf32"), (64, 64, 16), GRID),
    "s4": cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s4"), (64, 64, 128), GRID),
}
MAKERS = {"A": cx.make_block_2d_copy_A, "B": cx.make_block_2d_copy_B}
STRIDES: tuple[Any, ...] = (("ld", 1), (1, "ld"))


def told(kind: str, operand: str, strides: Any) -> tuple[cx.TiledCopy, dict[str, tuple[str, ...]]]:
    copy = MAKERS[operand](MMAS[kind], strides)
    return copy, dict(cx.explain(copy, MMAS[kind], operand).sections())


@pytest.mark.parametrize(
    ("kind", "operand", "strides"),
    sampled(product(MMAS, "AB", STRIDES), 1, [("bf16", "B", STRIDES[1])]),
)
def test_what_is_said_is_so(kind: str, operand: str, strides: Any) -> None:
    copy, found = told(kind, operand, strides)
    needs = " ".join(found["needs"])
    assert ("a transpose is needed" in needs) == (copy.op.kind == "XE_LOAD_2D_TRANSPOSE")
    assert ("done by the load" in needs) == (copy.op.kind == "XE_LOAD_2D_VNNI")
    width, height = " ".join(found["width"]), " ".join(found["height"])
    assert re.search(rf"\b{copy.op.width}\b", width)
    assert height.endswith(f"height {copy.op.height}")
    assert found["chosen"][0].startswith(f"{copy.op}, {copy.messages} message")
    for line in (found["chosen"][0], *found["else"]):
        named = re.match(r"(XE_\w+<[\d,]+>), (\d+) messages? a subgroup: (.*)", line)
        assert named is not None, line
        op = cx.get_atom(named[1]).op
        other = MAKERS[operand](MMAS[kind], strides, None, op)
        assert other.messages == int(named[2])
        assert other.block.messages("bmg")
        slots = reorder_from_copy(other, MMAS[kind], operand)
        moved = [slots(i) for i in range(cx.size(slots))]
        assert (named[3] == "no reorder") == (moved == list(range(len(moved))))
    assert str(copy.op) not in {line.split(", ")[0] for line in found["else"]}
    fetched = cx.make_block_2d_prefetch(copy)
    assert found["prefetch"][0].startswith(f"{fetched.op}: ")


def test_a_cheaper_and_a_dearer_way_are_told_apart() -> None:
    _, found = told("bf16", "B", STRIDES[1])
    assert any("renames registers" in line for line in found["else"])
    assert any("UV of" in line or "Generic of" in line for line in found["else"])


def test_a_copy_of_ones_own_is_compared_with_the_choice() -> None:
    mma = MMAS["bf16"]
    own = cx.make_block_2d_copy_B(mma, (1, "ld"), op=cx.XE_LOAD_2D(16, 16, 16))
    found = dict(cx.explain(own, mma, "B").sections())
    assert found["chosen"][0].endswith("CUTLASS would choose XE_LOAD_2D_VNNI<16,16,32,16>")
    store = cx.make_block_2d_copy_D(mma, ("ld", 1))
    assert "prefetch" not in dict(cx.explain(store, mma, "D").sections())


def test_what_a_copy_does_not_know_is_asked_for() -> None:
    copy = cx.make_block_2d_copy_A(MMAS["bf16"], ("ld", 1))
    cases: tuple[tuple[tuple[Any, ...], str], ...] = (
        ((copy,), 'explain.copy, mma, "B".'),
        ((copy, MMAS["bf16"], "E"), "for an operand of a tiled MMA"),
        ((cx.make_block_2d_prefetch(copy), MMAS["bf16"], "A"), "fills no registers"),
    )
    for given, words in cases:
        with pytest.raises(InputError, match=words):
            cx.explain(*given)
