"""Layouts, basis elements, coordinates, types and tensors as values."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from every import every
from hypothesis import given, strategies as st
from strategies import identities, layouts, shapes

from pycute_xe.basis import ArithTuple, Basis, E
from pycute_xe.layout import Layout, make_identity_layout, make_layout, size
from pycute_xe.numeric import Numeric, as_numeric, numerics
from pycute_xe.tensor import Tensor, make_identity_tensor, make_tensor

NAMES = {"Layout": Layout, "E": E, "Basis": Basis, "ArithTuple": ArithTuple}
NAMES["as_numeric"] = as_numeric
ANY = layouts(negative=True) | identities()

VALUES = [
    Layout(4),
    Layout((4,), (1,)),
    Layout((), ()),
    Layout(((2, 3), 4), ((1, -2), 0)),
    Layout((4, 8), (E(1), 3 * E(0, 2))),
    make_identity_layout(((2, 3), 4)),
    E(0),
    3 * E(0, 1),
    -E(2),
    Basis(0, (1,)),
    ArithTuple((1, (2, 3))),
    ArithTuple(()),
    *map(as_numeric, numerics()),
    make_identity_tensor((4, 8)),
    make_tensor("abcdef", (2, 3)),
]


@every("value", VALUES, ids=repr)
def test_copies_are_equal(value: Any) -> None:
    copies = [copy.copy(value), copy.deepcopy(value)]
    copies += [pickle.loads(pickle.dumps(value, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    for again in copies:
        assert again == value
        assert type(again) is type(value)
        assert hash(again) == hash(value)
        assert (repr(again), str(again)) == (repr(value), str(value))


@every("value", [v for v in VALUES if not isinstance(v, Tensor)], ids=repr)
def test_repr_evaluates_back(value: Any) -> None:
    again = eval(repr(value), dict(NAMES))
    assert again == value
    assert type(again) is type(value)


@given(ANY)
def test_any_layout_goes_there_and_back(layout: Layout) -> None:
    assert eval(repr(layout), dict(NAMES)) == layout
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert Layout(layout.shape, layout.stride) == layout
    assert hash(Layout(layout.shape, layout.stride)) == hash(layout)


@every("value", [v for v in VALUES if not isinstance(v, ArithTuple)], ids=repr)
def test_values_cannot_change(value: Any) -> None:
    before = repr(value)
    for name in ("shape", "stride", "value", "modes", "name", "bits", "base", "layout", "new"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(value, name, 1)
        with pytest.raises((AttributeError, TypeError)):
            delattr(value, name)
    assert not hasattr(value, "__dict__")
    assert repr(value) == before


def test_lists_are_taken_as_tuples() -> None:
    extents, steps = [[2, 3], 4], [[1, 2], 6]
    layout = Layout(extents, steps)
    extents[1] = 5
    assert layout == Layout(((2, 3), 4), ((1, 2), 6))
    assert Layout([4, (2, [3])]).shape == (4, (2, (3,)))
    assert hash(layout) == hash(Layout(((2, 3), 4)))


def test_equality_is_of_shape_and_stride() -> None:
    layout = Layout((4, 8), (8, 1))
    assert layout == Layout((4, 8), (8, 1))
    assert layout != Layout((4, 8))
    assert layout != Layout((8, 4), (8, 1))
    # The same function, yet another nesting.
    assert Layout(4, 1) != Layout((4,), (1,))
    assert layout != ((4, 8), (8, 1))
    assert layout != "(4,8):(8,1)"
    assert len({layout, Layout((4, 8), (8, 1)), Layout((4, 8))}) == 2
    assert Layout(2, 3) != Layout(2, 3 * E(0))


def test_no_number_of_numpy_is_equal_to_a_layout() -> None:
    layout = Layout((4, 2))
    for other in (np.int64(3), np.arange(4), np.float32(1)):
        assert (other == layout) is False
        assert (layout == other) is False
        assert other != layout


def test_equality_of_basis_elements() -> None:
    assert 3 * E(0) == E(0) * 3 == E(0) + E(0) + E(0)
    assert E(0) != E(1)
    assert E(0) != E(0, 0)
    assert E(0) != 2 * E(0)
    assert E(0) != 1
    assert len({E(0), E(0), 2 * E(0)}) == 2


def test_types_are_equal_by_name_width_and_kind() -> None:
    assert as_numeric("bf16") == Numeric("bf16", 16, "float")
    assert as_numeric("bf16") != as_numeric("f16")
    assert len({as_numeric(name) for name in numerics()}) == len(numerics())


@every(
    ("layout", "text"),
    [
        (Layout(4), "4:1"),
        (Layout(1), "1:0"),
        (Layout((4,)), "(4):(1)"),
        (Layout((4, 8), (8, 1)), "(4,8):(8,1)"),
        (Layout(((2, 3), 4), ((1, -2), 0)), "((2,3),4):((1,-2),0)"),
        (Layout((), ()), "():()"),
        (make_identity_layout((4, (8, 2))), "(4,(8,2)):(1@0,(1@0@1,1@1@1))"),
        (Layout(2, 3 * E(1)), "2:3@1"),
    ],
    ids=str,
)
def test_layouts_print_as_in_cute(layout: Layout, text: str) -> None:
    assert str(layout) == text


def test_tensors_print_base_and_layout() -> None:
    assert str(make_tensor(None, (4, 8))) == "0 o (4,8):(1,4)"
    assert str(make_identity_tensor((4, 8))) == "(0,0) o (4,8):(1@0,1@1)"


@given(ANY)
def test_modes_make_the_layout_again(layout: Layout) -> None:
    if isinstance(layout.shape, tuple):
        assert make_layout(*layout) == layout
        assert layout[:] == layout
        assert layout[-1] == layout[len(layout) - 1]
    else:
        assert list(layout) == [layout] == [layout[0]] == [layout[-1]]
    assert len(list(layout)) == len(layout)


@given(shapes(), st.booleans())
def test_without_strides_a_layout_is_compact(shape: Any, nested: bool) -> None:
    layout = Layout((shape,) if nested else shape)
    assert [layout(i) for i in range(size(layout))] == list(range(size(layout)))
    assert make_layout(shape) == Layout(shape)
    assert make_layout(layout.shape, layout.stride) == layout
