"""The algebra of linear layouts, with the figures of Triton's LinearLayoutTest.cpp.

intel/intel-xpu-backend-for-triton, commit 6c16499, unittest/Tools.
"""

from __future__ import annotations

from typing import Any

import pytest

from pycute_xe.dialects import LinearLayout

L = LinearLayout


def same(layout: LinearLayout, bases: dict[str, Any], shape: tuple[int, ...]) -> bool:
    return layout.shape == shape and layout.bases == L(bases, layout.outs).bases


def test_compose() -> None:
    one = L({"in1": [[1, 1], [0, 1]], "in2": [[1, 0], [1, 2]]}, {"out1": 2, "out2": 4})
    two = L({"out1": [[2, 2], [1, 0]], "out2": [[1, 1], [2, 1]]}, {"out3": 4, "out4": 4})
    both = one.compose(two)
    assert same(both, {"in1": [[3, 3], [1, 1]], "in2": [[2, 2], [0, 3]]}, (4, 4))
    assert not both.is_surjective


@pytest.mark.whole
@pytest.mark.parametrize(
    ("inner", "outer", "bases", "shape"),
    [
        ({"in1": [[2], [1], [4]]}, {"in2": [[4], [1], [2]]}, {"in1": [[4], [2], [1]]}, (8,)),
        ({"in1": [[2], [1], [4]]}, {"in2": [[0], [2], [1], [4]]}, {"in1": [[2], [4], [8]]}, (16,)),
        (
            {"in1": [[2], [1], [4]], "in2": [[0]]},
            {"in": [[4], [1], [2]]},
            {"in1": [[4], [2], [1]], "in2": [[0]]},
            (8,),
        ),
        ({"in": [[1], [2], [4]]}, {"in": [[0], [4], [1], [2]]}, {"in": [[4], [8], [2]]}, (16,)),
        ({"in1": [[1], [2], [4]]}, {"in2": [[4], [1], [2], [0]]}, {"in1": [[2], [4], [1]]}, (16,)),
        (
            {"in": [[1], [2], [4]]},
            {"in": [[0], [4], [1], [2], [0]]},
            {"in": [[4], [8], [2]]},
            (32,),
        ),
        (
            {"in1": [[1], [2], [4]], "in2": [[0]]},
            {"in3": [[1], [2], [4]], "in4": [[0]]},
            {"in1": [[1, 0], [2, 0], [4, 0]], "in2": [[0, 0]]},
            (8, 2),
        ),
        (
            {"in1": [[1], [2]], "in2": [[0]]},
            {"in3": [[2], [1]], "in4": [[0]]},
            {"in1": [[2, 0], [1, 0]], "in2": [[0, 0]]},
            (4, 2),
        ),
    ],
)
def test_invert_and_compose(
    inner: dict[str, Any], outer: dict[str, Any], bases: dict[str, Any], shape: tuple[int, ...]
) -> None:
    a, b = L(inner), L(outer)
    moved = a.invert_and_compose(b)
    assert same(moved, bases, shape)
    assert moved.compose(b).columns == a.columns


def test_a_larger_tensor_may_be_the_outer_one() -> None:
    registers = L(
        {
            "register": [[0, 1], [0, 2], [0, 4], [0, 32], [32, 0]],
            "lane": [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]],
            "warp": [[8, 0], [16, 0]],
            "block": [],
        }
    )
    rows = [[1, 8], [2, 16], [4, 32], *([1 << i, 0] for i in range(3, 8))]
    shared = L({"offset": [*([0, 1 << i] for i in range(7)), *rows], "block": []})
    wanted = {
        "register": [[1, 0], [2, 0], [4, 0], [32, 0], [4096, 0]],
        "lane": [[8, 0], [16, 0], [136, 0], [272, 0], [544, 0]],
        "warp": [[1024, 0], [2048, 0]],
        "block": [],
    }
    assert same(registers.invert_and_compose(shared), wanted, (32768, 1))
    assert same(registers.compose(shared.invert()), wanted, (32768, 1))


def test_dimensions_may_stand_in_another_order() -> None:
    one = L({"in1": [[1, 0], [0, 1], [2, 0], [3, 2]], "in2": [[2, 2]]}, {"out1": 4, "out2": 4})
    two = L({"in3": [[0, 1], [1, 0], [0, 0], [0, 2], [2, 1]]}, {"out2": 4, "out1": 4})
    there, back = one.invert_and_compose(two), two.invert_and_compose(one)
    assert [v[::-1] for _, b in there.compose(two).bases for v in b] == [
        v for _, b in one.bases for v in b
    ]
    assert [v[::-1] for _, b in back.compose(one).bases for v in b] == [
        v for _, b in two.bases for v in b
    ]


def test_spare_bits() -> None:
    layout = L(
        {"in1": [[1, 1], [2, 2], [0, 0]], "in2": [[1, 0], [0, 1], [2, 0]]}, {"out1": 4, "out2": 4}
    )
    assert (layout.spare("in1"), layout.spare("in2")) == ((2,), (1,))
    line = L({"in": [[1], [0], [0], [2], [4], [0]]}, {"out": 8})
    assert line.spare("in") == (1, 2, 5)
    assert not L({"in": [[1], [2]]}).spare("in")
