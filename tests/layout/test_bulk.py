"""Tables of all offsets, and element types by name and as NumPy dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from every import every
from hypothesis import given, strategies as st
from strategies import coordinate_layouts, layouts

from pycute_xe.bulk import numpy_dtype, table
from pycute_xe.layout import Layout, make_identity_layout, size
from pycute_xe.numeric import as_numeric, numerics


@given(layouts(negative=True))
def test_a_table_is_the_loop(layout: Layout) -> None:
    found = table(layout)
    assert found.dtype == np.int64
    assert found.shape == (size(layout),)
    assert found.tolist() == [layout(i) for i in range(size(layout))]


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3).flatmap(coordinate_layouts))
def test_a_table_of_coordinates_is_the_loop(layout: Layout) -> None:
    _check(layout)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple))
def test_a_table_of_an_identity_is_the_loop(shape: tuple[int, ...]) -> None:
    _check(make_identity_layout(shape))


def _check(layout: Layout) -> None:
    found = table(layout)
    expected = [tuple(layout(i)) for i in range(size(layout))]
    assert found.dtype == np.int64
    assert found.shape == (size(layout), len(expected[0]))
    assert list(map(tuple, found.tolist())) == expected


def test_small_tables() -> None:
    assert table(Layout((), ())).tolist() == [0]
    assert table(Layout(1)).tolist() == [0]
    assert table(make_identity_layout((3,))).tolist() == [[0], [1], [2]]
    assert table(make_identity_layout(3)).tolist() == [0, 1, 2]
    assert table(Layout((1, 2), (1 << 70, 3))).tolist() == [0, 3]
    assert table(Layout((1 << 12, 1 << 8), (1 << 8, 1))).sum() == ((1 << 20) - 1) << 19


@every("name", numerics())
def test_types_by_name(name: str) -> None:
    numeric = as_numeric(name)
    assert (numeric.name, str(numeric)) == (name, name)
    assert as_numeric(numeric) is numeric
    assert str(numeric.bits) in name or name in ("f8e4m3", "f8e5m2")
    kinds = {"f": "float", "b": "float", "t": "float", "s": "signed", "u": "unsigned"}
    assert numeric.kind == ("float" if name == "ue8m0" else kinds[name[0]])
    if numeric.bits >= 8:
        assert numeric.bytes * 8 == numeric.bits


@every("name", [name for name in numerics() if name != "tf32"])
def test_types_as_arrays(name: str) -> None:
    dtype = numpy_dtype(name)
    numeric = as_numeric(name)
    assert dtype.itemsize == max(1, numeric.bits // 8)
    # The dtype, and the class of its elements, are names of the same type.
    assert as_numeric(dtype) == numeric
    assert as_numeric(dtype.type) == numeric
    if numeric.kind == "float":
        assert ml_dtypes.finfo(dtype).bits == numeric.bits
    else:
        info = ml_dtypes.iinfo(dtype)
        assert info.bits == numeric.bits
        assert (info.min < 0) == (numeric.kind == "signed")


@every(
    ("alias", "name"),
    [
        ("float32", "f32"),
        ("half", "f16"),
        ("bfloat16", "bf16"),
        ("int8", "s8"),
        ("uint4", "u4"),
        ("float", "f32"),  # C++'s
        (float, "f64"),  # Python's
        (np.float64, "f64"),
        (np.dtype("int32"), "s32"),
        (ml_dtypes.bfloat16, "bf16"),
        (ml_dtypes.float8_e4m3fn, "f8e4m3"),
    ],
)
def test_names_of_other_libraries(alias: Any, name: str) -> None:
    assert as_numeric(alias) == as_numeric(name)
