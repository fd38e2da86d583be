"""Every refusal of the algebra: its class, operation, operands, condition and way out."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from every import every
from refusals import Refusal, never_raised

from pycute_xe import algebra
from pycute_xe.algebra import compose, inverse, product, recast
from pycute_xe.basis import E
from pycute_xe.errors import DivisibilityError, RankError, ShapeError, UndecidableError
from pycute_xe.layout import Layout, make_identity_layout
from pycute_xe.symbolic import symbol

A = Layout((4, 6), (1, 100))


def half_units() -> Any:
    """Return what a type checker would refuse."""
    return 2.0


UNEVEN, TOGETHER = Layout(3, 3), Layout((2, 2), (2, 3))
COORDINATES = make_identity_layout((4, 8))
N = symbol("N")
THREE = (None, None, None)

REFUSALS = {
    "composition: uneven": Refusal(
        lambda: algebra.composition(A, UNEVEN),
        DivisibilityError,
        "composition",
        {"a": A, "b": UNEVEN},
        "stride 3 and extent 3 do not step evenly through the mode 4:1",
    ),
    "composition: uneven past a mode": Refusal(
        lambda: algebra.composition(A, Layout(5, 5)),
        DivisibilityError,
        "composition",
        {"a": A, "b": Layout(5, 5)},
        "stride 5 and extent 5 do not step evenly through the mode 4:1",
    ),
    "composition: a sum of axes takes several modes": Refusal(
        lambda: algebra.composition(Layout(((2, 2), 4), ((5, 1), 9)), Layout(4, E(0) + E(1))),
        DivisibilityError,
        "composition",
        {"a": Layout(((2, 2), 4), ((5, 1), 9)), "b": Layout(4, E(0) + E(1))},
        "the mode 4:1@0+1@1 of b takes several modes of a along 1@0",
    ),
    "inverses: along several axes": Refusal(
        lambda: algebra.right_inverse(Layout(4, E(0) + E(1))),
        ShapeError,
        "right_inverse",
        {"layout": Layout(4, E(0) + E(1))},
        "the stride 1@0+1@1 is along several axes at once among coordinates",
    ),
    "composition: backwards": Refusal(
        lambda: algebra.composition(A, Layout(2, -1)),
        DivisibilityError,
        "composition",
        {"a": A, "b": Layout(2, -1)},
        "stride -1 and extent 2",
    ),
    "composition: modes of b carry": Refusal(
        lambda: algebra.composition(A, TOGETHER),
        DivisibilityError,
        "composition",
        {"a": A, "b": TOGETHER},
        "the modes of b together reach 5 in the mode 4:1",
    ),
    "composition: too many modes": Refusal(
        lambda: algebra.composition(A, (2, 2, 2)),
        RankError,
        "composition",
        {"a": A, "b": (2, 2, 2)},
        "the tiler has 3 modes, the layout 2",
    ),
    "composition: no tiler": Refusal(
        lambda: algebra.composition(A, "4:1"),
        ShapeError,
        "composition",
        {"b": "'4:1'"},
        "a tiler must be a layout",
    ),
    "composition: no such coordinate": Refusal(
        lambda: algebra.composition(A, Layout(2, E(2))),
        RankError,
        "mode",
        {"layout": A, "index": 2},
        "the rank is 2",
    ),
    "divide: too many modes": Refusal(
        lambda: algebra.logical_divide(A, THREE),
        RankError,
        "logical_divide",
        {"layout": A, "tiler": THREE},
        "the tiler has 3 modes, the layout 2",
    ),
    "divide: uneven tiler": Refusal(
        lambda: algebra.zipped_divide(Layout((4, 6)), Layout((2, 2), (2, 3))),
        DivisibilityError,
        "complement",
        {"layout": Layout((2, 2), (2, 3)), "cotarget": 24},
        "stride 3 is not a multiple of 4",
    ),
    "complement: overlap": Refusal(
        lambda: algebra.complement(Layout((4, 4), (1, 2)), 64),
        DivisibilityError,
        "complement",
        {"layout": Layout((4, 4), (1, 2)), "cotarget": 64},
        "stride 2 is not a multiple of 4, which the smaller strides span",
    ),
    "complement: uneven gap": Refusal(
        lambda: algebra.complement(Layout((2, 2), (1, 3)), 12),
        DivisibilityError,
        "complement",
        {"layout": Layout((2, 2), (1, 3)), "cotarget": 12},
        "the strides leave the offset 2 out, and the copies then end at 11, before 12",
    ),
    "divide: a hole within the layout": Refusal(
        lambda: algebra.logical_divide(Layout(12), Layout((2, 2), (1, 3))),
        DivisibilityError,
        "complement",
        {"layout": Layout((2, 2), (1, 3)), "cotarget": 12},
        "the offset 2 stays out of reach",
    ),
    "product: more copies than places": Refusal(
        lambda: algebra.logical_product(Layout((2, 2), (3, 10)), Layout(5)),
        DivisibilityError,
        "complement",
        {"layout": Layout((2, 2), (3, 10)), "cotarget": 20},
        "the offset 6 stays out of reach",
    ),
    "complement: negative stride": Refusal(
        lambda: algebra.complement(Layout(4, -1)),
        ShapeError,
        "complement",
        {"layout": Layout(4, -1)},
        "stride -1 is not a positive integer",
    ),
    "right_inverse: negative stride": Refusal(
        lambda: algebra.right_inverse(Layout(4, -1)),
        ShapeError,
        "right_inverse",
        {"layout": Layout(4, -1)},
        "stride -1 is not a positive integer",
    ),
    "left_inverse: negative stride": Refusal(
        lambda: algebra.left_inverse(Layout(4, -1)),
        ShapeError,
        "left_inverse",
        {"layout": Layout(4, -1)},
        "stride -1 is not a positive integer",
    ),
    "inverses: offsets among coordinates": Refusal(
        lambda: algebra.right_inverse(Layout((4, 2), (E(0), 1))),
        ShapeError,
        "right_inverse",
        {"layout": Layout((4, 2), (E(0), 1))},
        "the stride 1 is an offset among coordinates",
    ),
    "inverses: an axis inside another": Refusal(
        lambda: algebra.left_inverse(Layout((4, 2), (E(0), E(0, 1)))),
        ShapeError,
        "left_inverse",
        {"layout": Layout((4, 2), (E(0), E(0, 1)))},
        "1@0 moves along an axis that 1@1@0 divides",
    ),
    "complement: of coordinates, up to a number": Refusal(
        lambda: algebra.complement(COORDINATES, 8),
        ShapeError,
        "complement",
        {"layout": COORDINATES, "cotarget": 8},
        "the cotarget is not a shape of these",
    ),
    "complement: coordinates out of reach": Refusal(
        lambda: algebra.complement(Layout((2, 2), (E(0), 3 * E(0))), (8,)),
        DivisibilityError,
        "complement",
        {"layout": Layout((2, 2), (E(0), 3 * E(0))), "cotarget": (8,)},
        "2@0 stays out of reach",
    ),
    "divide: coordinates out of reach": Refusal(
        lambda: algebra.logical_divide(Layout((8, 2)), Layout((2, 2), (E(0), 3 * E(0)))),
        DivisibilityError,
        "complement",
        {"layout": Layout((2, 2), (E(0), 3 * E(0))), "cotarget": (8, 2)},
        "2@0 stays out of reach",
    ),
    "product: coordinates out of reach": Refusal(
        lambda: algebra.logical_product(Layout((2, 2), (E(0), 3 * E(0))), Layout(2)),
        DivisibilityError,
        "complement",
        {"layout": Layout((2, 2), (E(0), 3 * E(0))), "cotarget": (80,)},
        "2@0 stays out of reach",
    ),
    "product: copies beyond their places": Refusal(
        lambda: algebra.logical_product(Layout(8, 2), Layout(5, E(0))),
        DivisibilityError,
        "logical_product",
        {"block": Layout(8, 2), "tiler": Layout(5, E(0))},
        "copies reach (5,), and their places are",
    ),
    "left_inverse: overlap": Refusal(
        lambda: algebra.left_inverse(Layout((4, 4), (1, 2))),
        DivisibilityError,
        "left_inverse",
        {"layout": Layout((4, 4), (1, 2))},
        "stride 2 is not a multiple of 1 beyond its 4 steps",
    ),
    "left_inverse: uneven gap": Refusal(
        lambda: algebra.left_inverse(Layout((2, 4), (2, 5))),
        DivisibilityError,
        "left_inverse",
        {"layout": Layout((2, 4), (2, 5))},
        "stride 5 is not a multiple of 2",
    ),
    "product: too many modes": Refusal(
        lambda: algebra.logical_product(A, THREE),
        RankError,
        "mode",
        {"layout": A, "index": 2},
        "the rank is 2",
    ),
    "product: overlapping block": Refusal(
        lambda: algebra.blocked_product(Layout((2, 2), (1, 1)), Layout(2)),
        DivisibilityError,
        "complement",
        {"layout": Layout((2, 2), (1, 1)), "cotarget": 8},
        "stride 1 is not a multiple of 2",
    ),
    "tile_to_shape: text": Refusal(
        lambda: algebra.tile_to_shape(Layout((2, 2)), "8"),
        ShapeError,
        "tile_to_shape",
        {"block": Layout((2, 2)), "target": "'8'"},
        "the target must be a shape",
    ),
    "tile_to_shape: too many modes": Refusal(
        lambda: algebra.tile_to_shape(A, 24),
        RankError,
        "tile_to_shape",
        {"block": A, "target": 24},
        "the block has 2 modes, the target 1",
    ),
    "tile_to_shape: uneven": Refusal(
        lambda: algebra.tile_to_shape(A, (8, 8)),
        DivisibilityError,
        "tile_to_shape",
        {"block": A, "target": (8, 8)},
        "the extent 6 of the block does not divide 8",
    ),
    "tile_to_shape: smaller than the block": Refusal(
        lambda: algebra.tile_to_shape(Layout(4), 2),
        DivisibilityError,
        "tile_to_shape",
        {"block": Layout(4), "target": 2},
        "the extent 4 of the block does not divide 2",
    ),
    "upcast: stride and unit": Refusal(
        lambda: algebra.upcast(Layout(4, 6), 4),
        DivisibilityError,
        "upcast",
        {"layout": Layout(4, 6), "n": 4},
        "the mode 4:6 does not step by whole units of 4",
    ),
    "upcast: downwards": Refusal(
        lambda: algebra.upcast(Layout(4, -1), 2),
        DivisibilityError,
        "upcast",
        {"layout": Layout(4, -1), "n": 2},
        "the mode 4:-1 runs down",
    ),
    "upcast: leaves together": Refusal(
        lambda: algebra.upcast(Layout((3, 3), (1, 2)), 4),
        DivisibilityError,
        "upcast",
        {"layout": Layout((3, 3), (1, 2)), "n": 4},
        "the strides below 4 together reach 4 within a unit",
    ),
    "upcast: coordinates": Refusal(
        lambda: algebra.upcast(COORDINATES, 2),
        ShapeError,
        "upcast",
        {"layout": COORDINATES, "n": 2},
        "basis strides give coordinates",
    ),
    "upcast: half units": Refusal(
        lambda: algebra.upcast(A, half_units()),
        ShapeError,
        "upcast",
        {"layout": A, "n": "2.0"},
        "n is 2.0 (float)",
    ),
    "downcast: no unit": Refusal(
        lambda: algebra.downcast(A, 0),
        ShapeError,
        "downcast",
        {"layout": A, "n": "0"},
        "n is 0 (int)",
    ),
    "downcast: gaps": Refusal(
        lambda: algebra.downcast(Layout((4, 4), (2, 8)), 2),
        DivisibilityError,
        "downcast",
        {"layout": Layout((4, 4), (2, 8)), "n": 2},
        "no mode has stride 1",
    ),
    "downcast: undecided": Refusal(
        lambda: algebra.downcast(Layout((4, 4), (N, 8)), 2),
        UndecidableError,
        "downcast",
        {"layout": Layout((4, 4), (N, 8)), "n": 2},
        "N == 1",
    ),
    "recast_layout: no bits": Refusal(
        lambda: algebra.recast_layout(A, 8, 0),
        ShapeError,
        "recast_layout",
        {"layout": A, "old_bits": "8", "new_bits": "0"},
        "a positive number of bits",
    ),
    "complement: no cotarget": Refusal(
        lambda: algebra.complement(Layout(4), 2.5),
        ShapeError,
        "complement",
        {"layout": Layout(4), "cotarget": "2.5"},
        "the cotarget must be a positive integer",
    ),
    "composition: undecided": Refusal(
        lambda: algebra.composition(Layout((N, 4), (4, 1)), Layout(8)),
        UndecidableError,
        "composition",
        {"a": Layout((N, 4), (4, 1)), "b": Layout(8)},
        "needs N >= 8",
    ),
    "complement: undecided": Refusal(
        lambda: algebra.complement(Layout((3, 4), (1, N)), 100),
        UndecidableError,
        "complement",
        {"layout": Layout((3, 4), (1, N)), "cotarget": 100},
        "needs N % 3 == 0",
    ),
    "left_inverse: undecided": Refusal(
        lambda: algebra.left_inverse(Layout((N, 4), (1, 8))),
        UndecidableError,
        "left_inverse",
        {"layout": Layout((N, 4), (1, 8))},
        "needs N <= 8",
    ),
    "right_inverse: undecided": Refusal(
        lambda: algebra.right_inverse(Layout((4, N), (1, 1))),
        UndecidableError,
        "right_inverse",
        {"layout": Layout((4, N), (1, 1))},
        "needs N > 4",
    ),
    "left_inverse: perhaps a repeat": Refusal(
        lambda: algebra.left_inverse(Layout(4, N - 1)),
        UndecidableError,
        "left_inverse",
        {"layout": Layout(4, N - 1)},
        "needs N - 1 == 0",
    ),
    "tile_to_shape: undecided": Refusal(
        lambda: algebra.tile_to_shape(Layout(4), (N,)),
        UndecidableError,
        "tile_to_shape",
        {"block": Layout(4), "target": (N,)},
        "needs N % 4 == 0",
    ),
    "upcast: undecided": Refusal(
        lambda: algebra.upcast(Layout((2, 4), (1, N)), 2),
        UndecidableError,
        "upcast",
        {"layout": Layout((2, 4), (1, N)), "n": 2},
        "needs N % 2 == 0",
    ),
    "coalesce: too many modes": Refusal(
        lambda: algebra.coalesce(A, (1, 1, 1)),
        RankError,
        "coalesce",
        {"layout": A, "profile": (1, 1, 1)},
        "the profile has 3 modes, the layout 2",
    ),
}


@every("refusal", REFUSALS.values(), ids=REFUSALS.keys())
def test_refused(refusal: Refusal) -> None:
    refusal.caught()


@pytest.mark.parametrize("module", [compose, inverse, product, recast], ids=lambda m: m.__name__)
def test_every_raise_of_a_module_is_tested(module: ModuleType) -> None:
    errors: list[BaseException] = [refusal.caught() for refusal in REFUSALS.values()]
    assert never_raised(module, errors) == []


def test_way_out_works() -> None:
    """Where a message gives a number, doing as it says is accepted."""
    assert str(algebra.tile_to_shape(Layout(6), 12)) == "((6,2)):((1,6))"
    assert (
        REFUSALS["tile_to_shape: uneven"].caught().fix
        == "use a target extent of 12, or rounded=True"
    )
    assert REFUSALS["upcast: downwards"].caught().fix.endswith("a multiple of 2")
    assert str(algebra.upcast(Layout(4, -2), 2)) == "4:-1"
