"""Every refusal below the algebra: class, operands and way out."""

from __future__ import annotations

import copy
import functools
import pickle
from types import ModuleType

import pytest
from every import every
from refusals import Refusal, never_raised

from pycute_xe import basis, int_tuple, layout, numeric
from pycute_xe.basis import ArithTuple, Basis, E, basis_get
from pycute_xe.errors import (
    CongruenceError,
    CoordError,
    CuteError,
    DivisibilityError,
    DTypeError,
    InputError,
    RankError,
    ShapeError,
    UndecidableError,
)
from pycute_xe.f2 import F2
from pycute_xe.int_tuple import indexing, indexing as arithmetic, nesting
from pycute_xe.layout import Layout, core, modes
from pycute_xe.numeric import as_numeric
from pycute_xe.symbolic import symbol

A = Layout((4, 6), (1, 100))
FOUR = Layout(4)
N = symbol("N")
BF16, S4 = (as_numeric(name) for name in ("bf16", "s4"))

REFUSALS = {
    # ---- operands that are not layouts, entries that are not integers
    "as_layout": Refusal(
        lambda: layout.as_layout((4, 8)),
        ShapeError,
        "layout",
        {"value": "(4, 8)"},
        "a tuple is not a plain layout",
    ),
    "Layout: extents one by one": Refusal(
        lambda: Layout(4, 8, 16),  # pyright: ignore[reportArgumentType]
        InputError,
        "Layout",
        {"values": "(4, 8, 16)"},
        "a layout takes a shape and a stride, not 3 values",
    ),
    "Layout.from_str: one stride for all": Refusal(
        lambda: Layout.from_str("(4,8):1"),
        CongruenceError,
        "Layout",
        {"shape": (4, 8), "stride": 1},
        "shape and stride nest differently",
    ),
    "Layout: nothing": Refusal(lambda: Layout(), InputError, "Layout", {}, "the shape is missing"),
    "call: no integer": Refusal(
        lambda: FOUR(1.5),
        CoordError,
        "crd2idx",
        {"entry": "1.5", "shape": 4},
        "an entry of a coordinate must be an integer",
    ),
    "idx2crd: no integer": Refusal(
        lambda: int_tuple.idx2crd("1", (4, 8)),
        CoordError,
        "idx2crd",
        {"entry": "'1'", "shape": (4, 8)},
        "an entry of a coordinate must be an integer",
    ),
    "idx2crd: no extent to divide by": Refusal(
        lambda: int_tuple.idx2crd(5, (0, 4)),
        ShapeError,
        "idx2crd",
        {"shape": (0, 4)},
        "an extent of 0 has no coordinates",
    ),
    "idx2crd: no extent to take a digit of": Refusal(
        lambda: int_tuple.idx2crd(5, (0, 4), (1, 2)),
        ShapeError,
        "idx2crd",
        {"shape": 0},
        "an extent of 0 has no coordinates",
    ),
    "idx2crd: a layout": Refusal(
        lambda: int_tuple.idx2crd(5, FOUR),
        ShapeError,
        "idx2crd",
        {"shape": "Layout(4, 1)"},
        "a layout was given instead of its shape",
    ),
    "size: no mode": Refusal(
        lambda: layout.size(A, [0]),
        RankError,
        "mode",
        {"of": (4, 6), "mode": [0]},
        "(4, 6) has no mode [0]",
    ),
    "make_ordered_layout: no order": Refusal(
        lambda: layout.make_ordered_layout((4, 8), (None, 0)),
        ShapeError,
        "make_ordered_layout",
        {"shape": (4, 8), "order": (None, 0)},
        "an order must be an integer for each leaf",
    ),
    "Layout: too deep": Refusal(
        lambda: Layout(functools.reduce(lambda inner, _: (inner,), range(101), 4)),
        ShapeError,
        "Layout",
        {"shape": "<tuple>"},
        "the shape nests more than 100 levels deep",
    ),
    "Layout: undecided": Refusal(
        lambda: Layout((4, N - 1)),
        UndecidableError,
        "Layout",
        {"shape": (4, N - 1)},
        "needs N - 1 >= 1",
    ),
    # ---- element types
    "as_numeric: unknown": Refusal(
        lambda: as_numeric("f33"),
        DTypeError,
        "as_numeric",
        {"value": "f33"},
        "unknown element type",
    ),
    "row: no row": Refusal(
        lambda: numeric.Numeric("f12", 12, "float").row,
        DTypeError,
        "row",
        {"type": numeric.Numeric("f12", 12, "float")},
        "unknown element type",
    ),
    "column: another": Refusal(
        lambda: S4.column("A"), DTypeError, "column", {"type": S4}, "'A' is not a column"
    ),
    "column: nothing": Refusal(
        lambda: S4.column("code"),
        DTypeError,
        "code",
        {"type": S4},
        "s4 has no code",
    ),
    "as_numeric: no name": Refusal(
        lambda: as_numeric(3),
        DTypeError,
        "as_numeric",
        {"value": 3},
        "unknown element type",
    ),
    "bytes": Refusal(
        lambda: S4.bytes,
        DTypeError,
        "bytes",
        {"type": S4},
        "s4 is 4 bits",
    ),
    # ---- basis elements
    "E: no mode": Refusal(
        lambda: E(),
        CoordError,
        "E",
        {"modes": ()},
        "modes must be non-negative integers",
    ),
    "E: negative": Refusal(
        lambda: E(0, -1),
        CoordError,
        "E",
        {"modes": (0, -1)},
        "modes must be non-negative integers",
    ),
    "E: no integer": Refusal(
        lambda: Basis(1, (True,)),
        CoordError,
        "E",
        {"modes": (True,)},
        "modes must be non-negative integers",
    ),
    "minus: text": Refusal(
        lambda: E(1) - ("x",),
        ShapeError,
        "-",
        {"right": "'x'"},
        "an entry is not an integer",
    ),
    "basis_get: too far": Refusal(
        lambda: basis_get(E(2), (1, 2)),
        CoordError,
        "basis_get",
        {"stride": E(2), "entry": (1, 2)},
        "the entry has no mode 2",
    ),
    "basis_get: too deep": Refusal(
        lambda: basis_get(E(0, 0), (1, 2)),
        CoordError,
        "basis_get",
        {"stride": E(0, 0), "entry": (1, 2)},
        "the entry has no mode 0",
    ),
    "add: an offset to a coordinate": Refusal(
        lambda: ArithTuple((1, 2)) + 4,
        ShapeError,
        "add",
        {"left": ArithTuple((1, 2)), "right": 4},
        "(1, 2) is a coordinate and 4 an offset, which have no sum",
    ),
    # ---- nested integers
    "unflatten": Refusal(
        lambda: int_tuple.unflatten_tuple((1, 2, 3), (0, 0)),
        CongruenceError,
        "unflatten",
        {"flat": (1, 2, 3), "profile": (0, 0)},
        "3 leaves for 2 places",
    ),
    "inner_product": Refusal(
        lambda: int_tuple.inner_product((1, 2), (1, (2, 3))),
        CongruenceError,
        "inner_product",
        {"left": (1, 2), "right": (1, (2, 3))},
        "the two nest differently",
    ),
    "elem_less": Refusal(
        lambda: int_tuple.elem_less((1, 2), (4, (4, 4))),
        CongruenceError,
        "elem_less",
        {"left": 2, "right": (4, 4)},
        "the two nest differently",
    ),
    "transform_leaf": Refusal(
        lambda: int_tuple.transform_leaf((1, 2), max, (1, (2, 3))),
        CongruenceError,
        "transform_leaf",
        {"value": (1, 2), "other": (1, (2, 3))},
        "the two nest differently",
    ),
    "ceil_div": Refusal(
        lambda: int_tuple.ceil_div((8, 8), (2, 2, 2)),
        CongruenceError,
        "ceil_div",
        {"a": (8, 8), "b": (2, 2, 2)},
        "b has other modes than a",
    ),
    "round_up: one of them a tuple": Refusal(
        lambda: int_tuple.round_up((8, 8), 3),
        CongruenceError,
        "round_up",
        {"a": (8, 8), "b": 3},
        "b has other modes than a",
    ),
    "elem_scale": Refusal(
        lambda: int_tuple.elem_scale((8, 8), 3),
        CongruenceError,
        "elem_scale",
        {"left": (8, 8), "right": 3},
        "the two nest differently",
    ),
    "shape_div: uneven": Refusal(
        lambda: int_tuple.shape_div(6, 4),
        DivisibilityError,
        "shape_div",
        {"a": 6, "b": 4},
        "neither of 6 and 4 divides the other",
    ),
    "shape_div: ranks": Refusal(
        lambda: int_tuple.shape_div((4, 8), (2, 2, 2)),
        CongruenceError,
        "shape_div",
        {"a": (4, 8), "b": (2, 2, 2)},
        "2 modes by 3",
    ),
    "crd2idx: coordinate": Refusal(
        lambda: int_tuple.crd2idx((1, 2, 3), (4, 8)),
        CoordError,
        "crd2idx",
        {"coord": (1, 2, 3), "shape": (4, 8)},
        "the coordinate has other modes than the shape",
    ),
    "crd2idx: strides": Refusal(
        lambda: int_tuple.crd2idx(9, (4, 8), (8, 1, 5)),
        CongruenceError,
        "crd2idx",
        {"shape": (4, 8), "stride": (8, 1, 5)},
        "shape and stride nest differently",
    ),
    "crd2idx: strides of a leaf": Refusal(
        lambda: int_tuple.crd2idx((1, 2), (4, 8), (1, (2, 3))),
        CongruenceError,
        "crd2idx",
        {"shape": (4, 8), "stride": (1, (2, 3))},
        "shape and stride nest differently",
    ),
    "idx2crd: index": Refusal(
        lambda: int_tuple.idx2crd((1, 2, 3), (4, 8)),
        CoordError,
        "idx2crd",
        {"index": (1, 2, 3), "shape": (4, 8)},
        "the index has other modes than the shape",
    ),
    "idx2crd: index of a leaf": Refusal(
        lambda: int_tuple.idx2crd((1, 2), 4),
        CoordError,
        "idx2crd",
        {"index": (1, 2), "shape": 4},
        "the index has other modes than the shape",
    ),
    "idx2crd: strides": Refusal(
        lambda: int_tuple.idx2crd(3, (4, 8), (1, 4, 32)),
        CongruenceError,
        "idx2crd",
        {"shape": (4, 8), "stride": (1, 4, 32)},
        "shape and stride nest differently",
    ),
    "idx2crd: sum of basis elements": Refusal(
        lambda: int_tuple.idx2crd(3, (4, 4), E(0) + E(1)),
        ShapeError,
        "idx2crd",
        {"shape": (4, 4), "stride": E(0) + E(1)},
        "the stride is a coordinate, as a sum of basis elements is",
    ),
    "idx2crd: offset": Refusal(
        lambda: int_tuple.idx2crd("1", (4, 8), (8, 1)),
        CoordError,
        "idx2crd",
        {"entry": "'1'", "shape": (4, 8)},
        "an entry of a coordinate must be an integer",
    ),
    "Layout: sum of basis elements": Refusal(
        lambda: Layout((4, 4), E(0) + E(1)),
        ShapeError,
        "Layout",
        {"shape": (4, 4), "stride": E(0) + E(1)},
        "stride (1, 1) is a coordinate, as a sum of basis elements is",
    ),
    "order: of a coordinate and an offset": Refusal(
        lambda: E(0) + E(1) < 4,
        ShapeError,
        "<",
        {"left": E(0) + E(1), "right": 4},
        "(1, 1) is a coordinate and 4 is not",
    ),
    "a sum of basis elements has no remainder": Refusal(
        lambda: Layout(4, E(0) + E(1)).stride % 4,
        ShapeError,
        "stride",
        {"stride": Layout(4, E(0) + E(1)).stride},
        "the stride 1@0+1@1 moves along 2 axes at once",
    ),
    "Layout: sum of basis elements in a mode": Refusal(
        lambda: Layout((4, (2, 2)), (1, E(0) + E(1))),
        ShapeError,
        "Layout",
        {"shape": (4, (2, 2)), "stride": (1, E(0) + E(1))},
        "stride (1, 1) is a coordinate, as a sum of basis elements is",
    ),
    "take: empty": Refusal(
        lambda: layout.take(A, 1, 1),
        RankError,
        "take",
        {"layout": A, "begin": "1", "end": "1"},
        "modes 1 to 1 are not a range of at least one of the 2 modes",
    ),
    "idx2crd: coordinates": Refusal(
        lambda: int_tuple.idx2crd(3, 4, E(0)),
        ShapeError,
        "idx2crd",
        {"stride": E(0)},
        "a basis stride cannot be divided",
    ),
    # ---- layouts
    **{
        f"Layout: extent {extent!r}": Refusal(
            lambda extent=extent: Layout((4, extent)),
            ShapeError,
            "Layout",
            {"shape": (4, extent)},
            f"{extent!r} is not a positive integer",
        )
        for extent in (0, -1, "a", None, True)
    },
    "Layout: extent, with strides": Refusal(
        lambda: Layout((4, 0), (1, 4)),
        ShapeError,
        "Layout",
        {"shape": (4, 0)},
        "0 is not a positive integer",
    ),
    "Layout: rank of the strides": Refusal(
        lambda: Layout((4, 8), (1, 2, 3)),
        CongruenceError,
        "Layout",
        {"shape": (4, 8), "stride": (1, 2, 3)},
        "shape and stride nest differently",
    ),
    "Layout: nesting of the strides": Refusal(
        lambda: Layout((4, 8), (1, (2, 3))),
        CongruenceError,
        "Layout",
        {"shape": (4, 8), "stride": (1, (2, 3))},
        "shape and stride nest differently",
    ),
    "Layout: stride": Refusal(
        lambda: Layout((4, 8), (1, 0.5)),
        ShapeError,
        "Layout",
        {"shape": (4, 8), "stride": (1, 0.5)},
        "stride 0.5 is neither an integer nor a basis element",
    ),
    "make_layout: nothing": Refusal(
        lambda: layout.make_layout(),
        ShapeError,
        "make_layout",
        {"parts": ()},
        "neither a shape (and strides) nor a list of layouts",
    ),
    "make_layout: mixed": Refusal(
        lambda: layout.make_layout(FOUR, 4),
        ShapeError,
        "make_layout",
        {"parts": (FOUR, 4)},
        "neither a shape (and strides) nor a list of layouts",
    ),
    "make_ordered_layout: leaves": Refusal(
        lambda: layout.make_ordered_layout((4, 8), (0, 1, 2)),
        CongruenceError,
        "make_ordered_layout",
        {"shape": (4, 8), "order": (0, 1, 2)},
        "shape and order nest differently",
    ),
    "make_ordered_layout: nesting": Refusal(
        lambda: layout.make_ordered_layout(((2, 3), 4), (0, 1, 2)),
        CongruenceError,
        "make_ordered_layout",
        {"shape": ((2, 3), 4), "order": (0, 1, 2)},
        "shape and order nest differently",
    ),
    "mode: of an integer shape": Refusal(
        lambda: FOUR[1],
        RankError,
        "mode",
        {"layout": FOUR, "index": 1},
        "the rank is 1",
    ),
    "mode: beyond the rank": Refusal(
        lambda: A[2],
        RankError,
        "mode",
        {"layout": A, "index": 2},
        "the rank is 2",
    ),
    "shape: beyond the rank": Refusal(
        lambda: layout.shape(A, 2),
        RankError,
        "mode",
        {"of": (4, 6), "mode": 2},
        "(4, 6) has no mode 2",
    ),
    "size: no mode within a leaf": Refusal(
        lambda: layout.size(A, 0, 0),
        RankError,
        "mode",
        {"of": 4, "mode": 0},
        "4 has no mode 0",
    ),
    "call: coordinate": Refusal(
        lambda: A(1, 2, 3),
        CoordError,
        "crd2idx",
        {"coord": (1, 2, 3), "shape": (4, 6)},
        "the coordinate has other modes than the shape",
    ),
    "slice: coordinate": Refusal(
        lambda: A(1, None, 3),
        CoordError,
        "slice",
        {"coord": (1, None, 3), "of": (4, 6)},
        "the coordinate and what it slices differ in their modes",
    ),
    "dice: coordinate": Refusal(
        lambda: layout.dice((None, (1, 2)), A),
        CoordError,
        "slice",
        {"coord": (1, 2), "of": 6},
        "the coordinate and what it slices differ in their modes",
    ),
    "unflatten: layout": Refusal(
        lambda: layout.unflatten(A, (0, 0, 0)),
        CongruenceError,
        "unflatten",
        {"flat": (4, 6), "profile": (0, 0, 0)},
        "2 leaves for 3 places",
    ),
    "group: empty": Refusal(
        lambda: layout.group(A, 1, 1),
        RankError,
        "group",
        {"layout": A, "begin": "1", "end": "1"},
        "modes 1 to 1 are not a range",
    ),
    "group: beyond the rank": Refusal(
        lambda: layout.group(A, 0, 3),
        RankError,
        "group",
        {"layout": A, "begin": "0", "end": "3"},
        "modes 0 to 3 are not a range",
    ),
    "replace": Refusal(
        lambda: layout.replace(A, 2, FOUR),
        RankError,
        "replace",
        {"layout": A, "mode": 2},
        "the rank is 2",
    ),
    "append: too many modes": Refusal(
        lambda: layout.append(FOUR, FOUR, 5000),
        RankError,
        "append",
        {"layout": FOUR, "up_to_rank": 5000},
        "more than 1,024 modes",
    ),
    "ceil_div: by 0": Refusal(
        lambda: int_tuple.ceil_div(4, 0),
        DivisibilityError,
        "ceil_div",
        {"a": 4, "b": 0},
        "the divisor is 0",
    ),
    "shape_div: by 0": Refusal(
        lambda: int_tuple.shape_div(4, 0),
        DivisibilityError,
        "shape_div",
        {"a": 4, "b": 0},
        "an extent is 0",
    ),
    "basis: scaled by text": Refusal(
        lambda: E(0) * "2",
        ShapeError,
        "Basis",
        {"basis": E(0), "scale": "str"},
        "a basis element must be scaled by an integer",
    ),
    "basis: scaled without carries": Refusal(
        lambda: E(0) * F2(3),
        ShapeError,
        "Basis",
        {"value": "F2(3)"},
        "XOR strides have no axes",
    ),
}


@every("refusal", REFUSALS.values(), ids=REFUSALS.keys())
def test_refused(refusal: Refusal) -> None:
    refusal.caught()


def immutable() -> list[BaseException]:
    """The errors of trying to change values."""
    found: list[BaseException] = []
    both = Layout(4, E(0) + E(1)).stride
    values = (A, "shape"), (A, "stride"), (A, "other"), (E(0), "value"), (E(0), "x"), (both, "x")
    for value, name in values:
        with pytest.raises(AttributeError, match=f"immutable; cannot set {name}") as set_:
            setattr(value, name, 1)
        with pytest.raises(AttributeError, match=f"immutable; cannot delete {name}") as delete:
            delattr(value, name)
        found += [set_.value, delete.value]
    return found


@pytest.mark.parametrize(
    "module",
    [arithmetic, basis, indexing, nesting, numeric, core, modes],
    ids=lambda m: m.__name__,
)
def test_every_raise_of_a_module_is_tested(module: ModuleType) -> None:
    errors: list[BaseException] = [refusal.caught() for refusal in REFUSALS.values()]
    assert never_raised(module, errors + immutable()) == []


@every("refusal", list(REFUSALS.values())[::5], ids=list(REFUSALS)[::5])
def test_errors_travel_between_processes(refusal: Refusal) -> None:
    error = refusal.caught()
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), again.operation) == (str(error), error.operation)
        assert (again.condition, again.fix) == (error.condition, error.fix)


def test_every_refusal_is_a_value_error() -> None:
    assert issubclass(CuteError, ValueError)
    plain = CuteError("operation", {}, "condition")
    assert str(plain) == "operation(): condition"
    assert plain.fix == ""
