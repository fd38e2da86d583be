"""Every refusal of swizzles, composed layouts, XOR strides and the questions about layouts."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from every import every
from refusals import Refusal, never_raised

from pycute_xe import algebra, composed, f2, swizzle
from pycute_xe.algebra import common, compose, inverse, rearrange, relations, swizzled
from pycute_xe.basis import E
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import (
    CongruenceError,
    CoordError,
    CuteError,
    DivisibilityError,
    ShapeError,
    UndecidableError,
)
from pycute_xe.f2 import F2, F2Layout, as_f2
from pycute_xe.layout import Layout, make_identity_layout
from pycute_xe.swizzle import Swizzle, make_swizzle
from pycute_xe.symbolic import symbol

N = symbol("N")
Z = Swizzle(2, 1, 3)
COORDINATES = make_identity_layout((4, 8))
X = ComposedLayout(Z, 0, Layout((8, 8)))
LATE = ComposedLayout(Z, 2, Layout((8, 8)))
DOWN = ComposedLayout(Swizzle(2, 1, -3), 0, Layout((8, 8)))
HARD = Layout((100, 1000, 64, 1000), (533882449, 283659539, 303859, 858261048))
NO_NUMBER: Any = "4"


def swizzle_of(bits: Any, base: Any, shift: Any) -> dict[str, Any]:
    return {"bits": bits, "base": base, "shift": shift}


REFUSALS = {
    "composition: a third operand": Refusal(
        lambda: swizzled.composition(Layout(8), Layout(4), Layout(2)),
        ShapeError,
        "composition",
        {"a": Layout(8), "b": Layout(4), "c": Layout(2)},
        "an offset and a layout follow a swizzle only",
    ),
    "Swizzle: of a layout": Refusal(
        lambda: Z(Layout(8)),
        CoordError,
        "Swizzle",
        {"swizzle": Z, "offset": "Layout(8, 1)"},
        "it moves the bits of integers",
    ),
    "composition: beyond the layout": Refusal(
        lambda: swizzled.composition(Layout(2, 3), ComposedLayout(Swizzle(1, 0, 3), 0, Layout(16))),
        DivisibilityError,
        "composition",
        {"a": Layout(2, 3), "b": ComposedLayout(Swizzle(1, 0, 3), 0, Layout(16))},
        "b reaches offset 15, beyond the 2 indices of a",
    ),
    "as_f2: symbols": Refusal(
        lambda: as_f2(Layout(N)),
        ShapeError,
        "as_f2",
        {"layout": ComposedLayout(Swizzle(0, 0, 0), 0, Layout(N))},
        "the bits of a symbol are not known",
    ),
    "is_injective: for some values": Refusal(
        lambda: algebra.is_injective(Layout(N, 0)),
        UndecidableError,
        "is_injective",
        {"layout": Layout(N, 0)},
        "equality does not hold for all values of the symbols",
    ),
    "Swizzle: negative base": Refusal(
        lambda: Swizzle(2, -1, 3),
        ShapeError,
        "Swizzle",
        swizzle_of(2, -1, 3),
        "base -1 is not a non-negative integer",
    ),
    "Swizzle: no integer": Refusal(
        lambda: Swizzle(2, 4, NO_NUMBER),
        ShapeError,
        "Swizzle",
        swizzle_of(2, 4, "4"),
        "shift '4' is not an integer",
    ),
    "Swizzle: overlap": Refusal(
        lambda: Swizzle(3, 4, -2),
        ShapeError,
        "Swizzle",
        swizzle_of(3, 4, -2),
        "3 bits moved by 2 overlap themselves",
    ),
    "Swizzle: negative offset": Refusal(
        lambda: Z(-1), CoordError, "Swizzle", {"swizzle": Z, "offset": -1}, "a negative offset"
    ),
    "make_swizzle: a gap": Refusal(
        lambda: make_swizzle(0b1010, 0b0101),
        ShapeError,
        "make_swizzle",
        {"yyy_mask": 0b1010, "zzz_mask": 0b0101},
        "two separate runs",
    ),
    "ComposedLayout: other parts": Refusal(
        lambda: ComposedLayout(Z, NO_NUMBER, Layout(8)),
        ShapeError,
        "ComposedLayout",
        {"swizzle": Z, "offset": "4", "layout": Layout(8)},
        "not a swizzle, an integer and a layout",
    ),
    "stride": Refusal(lambda: X.stride, ShapeError, "stride", {"layout": X}, "no integer strides"),
    "as_f2: backwards": Refusal(
        lambda: as_f2(ComposedLayout(Z, 7, Layout(8, -1))),
        ShapeError,
        "as_f2",
        {"layout": ComposedLayout(Z, 7, Layout(8, -1))},
        "stride -1 is negative",
    ),
    "as_f2: carries": Refusal(
        lambda: as_f2(ComposedLayout(Z, 0, Layout((4, 4), (1, 3)))),
        DivisibilityError,
        "as_f2",
        {"layout": ComposedLayout(Z, 0, Layout((4, 4), (1, 3)))},
        "the mode 4:3 adds with a carry",
    ),
    "as_f2: uneven": Refusal(
        lambda: as_f2(ComposedLayout(Z, 0, Layout(29))),
        DivisibilityError,
        "as_f2",
        {"layout": ComposedLayout(Z, 0, Layout(29))},
        "a mode of extent 29 does not split",
    ),
    "F2: negative": Refusal(lambda: F2(-1), CoordError, "F2", {"value": -1}, "non-negative"),
    "F2: negative scale": Refusal(
        lambda: -1 * F2(1), CoordError, "F2", {"scale": -1}, "a negative scale"
    ),
    "F2Layout: nesting": Refusal(
        lambda: F2Layout((4, 2), F2(1)),
        CongruenceError,
        "F2Layout",
        {"shape": (4, 2), "stride": F2(1), "offset": 0},
        "nest differently",
    ),
    "F2Layout: integers": Refusal(
        lambda: F2Layout((4, 2), (1, 4)),
        ShapeError,
        "F2Layout",
        {"shape": (4, 2), "stride": (1, 4), "offset": 0},
        "the strides are not F2 values",
    ),
    "layout_add: sizes": Refusal(
        lambda: algebra.layout_add(Layout((5, 3), (3, 1)), Layout((3, 5), (5, 1))),
        DivisibilityError,
        "layout_add",
        {"a": Layout((5, 3), (3, 1)), "b": Layout((3, 5), (5, 1))},
        "share only the modes (1):(0)",
    ),
    "max_common_layout: coordinates": Refusal(
        lambda: algebra.max_common_layout(Layout(4), Layout(4, E(0))),
        ShapeError,
        "right_inverse",
        {"layout": Layout(4, E(0))},
        "it maps to coordinates",
    ),
    "layout_add: kinds": Refusal(
        lambda: algebra.layout_add(Layout(4, E(0)), Layout(4, 2)),
        ShapeError,
        "layout_add",
        {"a": Layout(4, E(0)), "b": Layout(4, 2)},
        "the sum of 1@0 and 2 is not a stride",
    ),
    "image: interleaved": Refusal(
        lambda: algebra.image(Layout((4, 3), (2, 3))),
        DivisibilityError,
        "image",
        {"layout": Layout((4, 3), (2, 3))},
        "the mode 3:3 starts before offset 6",
    ),
    "image: coordinates": Refusal(
        lambda: algebra.image(COORDINATES),
        ShapeError,
        "image",
        {"layout": COORDINATES},
        "is not a positive integer",
    ),
    "is_injective: too long": Refusal(
        lambda: algebra.is_injective(HARD),
        CuteError,
        "is_injective",
        {"layout": HARD},
        "not decided within the steps allowed",
    ),
    "sort: an offset among coordinates": Refusal(
        lambda: algebra.sort(Layout((4, 8), (E(0), 1))),
        ShapeError,
        "sort",
        {"layout": Layout((4, 8), (E(0), 1))},
        "no place in their order",
    ),
    "composition: an offset": Refusal(
        lambda: algebra.composition(Layout(64), LATE),
        DivisibilityError,
        "composition",
        {"a": Layout(64), "b": LATE},
        "the offset 2 of b is not zero",
    ),
    "composition: no one swizzle": Refusal(
        lambda: algebra.composition(Swizzle(1, 0, 3), Swizzle(1, 1, 1)),
        ShapeError,
        "composition",
        {"a": Swizzle(1, 0, 3), "b": Swizzle(1, 1, 1)},
        "the product of a and b is not one swizzle",
    ),
    "composition: half a block": Refusal(
        lambda: algebra.composition(Layout(12), Z),
        DivisibilityError,
        "composition",
        {"a": Layout(12), "b": Z},
        "b exchanges bits within 8 indices",
    ),
    "composition: bits apart": Refusal(
        lambda: algebra.composition(Layout((2, 2, 2, 2), (1, 2, 8, 4)), Swizzle(2, 0, 2)),
        ShapeError,
        "composition",
        {"a": Layout((2, 2, 2, 2), (1, 2, 8, 4)), "b": Swizzle(2, 0, 2)},
        "away from where",
    ),
    "right_inverse: an offset": Refusal(
        lambda: algebra.right_inverse(LATE),
        DivisibilityError,
        "right_inverse",
        {"layout": LATE},
        "the layout starts at offset 2",
    ),
    "upcast: an offset": Refusal(
        lambda: algebra.upcast(LATE, 4),
        DivisibilityError,
        "upcast",
        {"layout": LATE, "n": 4},
        "the offset 2 is not a multiple of 4",
    ),
    "upcast: torn": Refusal(
        lambda: algebra.upcast(DOWN, 4),
        DivisibilityError,
        "upcast",
        {"layout": DOWN, "n": 4},
        "the swizzle tears units of 4 apart",
    ),
    "downcast: no power of two": Refusal(
        lambda: algebra.downcast(X, 3),
        DivisibilityError,
        "downcast",
        {"layout": X, "n": 3},
        "3 is not a power of two",
    ),
    "recast_layout: no bits": Refusal(
        lambda: algebra.recast_layout(X, 8, 0),
        ShapeError,
        "recast_layout",
        {"layout": X.layout, "old_bits": "8", "new_bits": "0"},
        "a positive number of bits",
    ),
}


@every("refusal", REFUSALS.values(), ids=REFUSALS.keys())
def test_refused(refusal: Refusal) -> None:
    refusal.caught()


def test_a_composed_layout_says_what_is_negative() -> None:
    with pytest.raises(ShapeError, match=r"the lowest offset is -3.*Way out: add 3 to the offset"):
        ComposedLayout(Z, 4, Layout(8, -1))
    with pytest.raises(ShapeError, match="use integer strides"):
        ComposedLayout(Z, 0, COORDINATES)


@pytest.mark.parametrize(
    "module",
    [swizzle, composed, f2, common, relations, rearrange, swizzled],
    ids=lambda module: module.__name__,
)
def test_every_raise_of_a_module_is_tested(module: ModuleType) -> None:
    errors: list[BaseException] = [refusal.caught() for refusal in REFUSALS.values()]
    assert never_raised(module, errors) == []


XOR = as_f2(ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4))))


@every(
    "operation",
    [
        compose.coalesce,
        compose.filter,
        relations.is_injective,
        relations.is_bijective,
        relations.image,
        lambda layout: inverse.complement(layout, 16),
        lambda layout: swizzled.composition(layout, (2, 2)),
        lambda layout: relations.functionally_equal(layout, Layout(16)),
        lambda layout: common.layout_add(layout, Layout(16)),
        lambda layout: common.max_common_vector(layout, Layout(16)),
    ],
)
def test_xor_strides_do_not_add_with_carries(operation: Any) -> None:
    """What computes with sums refuses layouts that have none."""
    with pytest.raises(ShapeError, match="F2Layout is not a plain layout"):
        operation(XOR)
