"""Every refusal of tensors, tables and arrays of coordinates: class, operands and way out."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from every import every
from refusals import Refusal, never_raised

from pycute_xe import bulk, layout, tensor
from pycute_xe.basis import E
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import (
    CoordError,
    DTypeError,
    RankError,
    ShapeError,
)
from pycute_xe.f2 import F2, F2Layout
from pycute_xe.layout import Layout
from pycute_xe.numeric import as_numeric
from pycute_xe.swizzle import Swizzle

A = Layout((4, 6), (1, 100))
MIXED = Layout((4, 4), (E(0), 4))
NESTED = layout.make_identity_layout(((2, 3), 4))
LONG = Layout(2, 1 << 63)
WIDE = Layout(1 << 60, 0)
LIFTED = ComposedLayout(Swizzle(1, 0, -63), 0, Layout(2))
XOR = F2Layout((4, 2), (F2(1), F2(6)))
SWIZZLED = ComposedLayout(Swizzle(1, 1, 1), 0, Layout((4, 2)))
TENSOR = tensor.make_identity_tensor((8, 8))
THREADS = Layout((2, 2, 2))
UNKNOWN = layout.unchecked((4, 2), (1, "n"))
REVERSED = Layout((2, 4), (8, 2))
TF32 = as_numeric("tf32")


def refused(coords: Any, condition: str, of: Any = A) -> Refusal:
    """What `offsets` says of coordinates that it does not take."""
    return Refusal(
        lambda: bulk.offsets(of, coords), CoordError, "offsets", {"layout": of}, condition
    )


REFUSALS = {
    # ---- tensors
    "Tensor: part of a mode": Refusal(
        lambda: tensor.make_tensor(None, Layout((4, 8)))[1:3, 0],
        CoordError,
        "Tensor",
        {"index": "slice(1, 3, None)"},
        "a slice with an end or a step is not a mode",
    ),
    "Tensor: writing without data": Refusal(
        lambda: tensor.make_tensor(None, Layout((4, 8))).__setitem__((1, 3), 5),
        CoordError,
        "Tensor",
        {"index": "(1, 3)"},
        "the tensor has no data: nothing to write",
    ),
    "Tensor: writing a mode": Refusal(
        lambda: tensor.make_tensor([0] * 32, Layout((4, 8))).__setitem__((1, None), 5),
        CoordError,
        "Tensor",
        {"index": "(1, None)"},
        "a mode is kept: nothing to write",
    ),
    "Tensor: writing past the end": Refusal(
        lambda: tensor.make_tensor([0], Layout((4, 8))).__setitem__((1, 3), 5),
        CoordError,
        "Tensor",
        {"coord": (1, 3), "layout": Layout((4, 8))},
        "offset 13 is past the end of the data",
    ),
    "Tensor: as an array": Refusal(
        lambda: np.asarray(tensor.make_tensor(None, Layout((4, 8)))),
        CoordError,
        "Tensor",
        {"tensor": tensor.make_tensor(None, Layout((4, 8)))},
        "a tensor is not an array",
    ),
    "Tensor: past the end": Refusal(
        lambda: tensor.make_tensor("abc", REVERSED)((1, 3)),
        CoordError,
        "Tensor",
        {"coord": (1, 3), "layout": REVERSED},
        "offset 14 is past the end of the data, which has 3 elements",
    ),
    "local_partition: rank": Refusal(
        lambda: tensor.local_partition(TENSOR, THREADS, 0),
        RankError,
        "local_partition",
        {"tensor": TENSOR, "threads": THREADS},
        "3 thread modes for 2 tensor modes",
    ),
    "local_partition: index too large": Refusal(
        lambda: tensor.local_partition(TENSOR, Layout((4, 2)), 8),
        CoordError,
        "local_partition",
        {"threads": Layout((4, 2)), "index": 8},
        "no thread has the index 8",
    ),
    "local_partition: index in a gap": Refusal(
        lambda: tensor.local_partition(TENSOR, REVERSED, 3),
        CoordError,
        "local_partition",
        {"threads": REVERSED, "index": 3},
        "no thread has the index 3",
    ),
    "local_partition: negative index": Refusal(
        lambda: tensor.local_partition(TENSOR, Layout(4), -1),
        CoordError,
        "local_partition",
        {"threads": Layout(4), "index": -1},
        "no thread has the index -1",
    ),
    "local_partition: proj": Refusal(
        lambda: tensor.local_partition(TENSOR, THREADS, 0, (1, "X")),
        RankError,
        "local_partition",
        {"proj": (1, "X"), "tiler": (2, 2, 2)},
        "proj and tiler differ in their modes",
    ),
    "local_tile: rank": Refusal(
        lambda: tensor.local_tile(TENSOR, (4, 4, 4), (0, 0, 0)),
        RankError,
        "logical_divide",
        {"layout": TENSOR.layout, "tiler": (4, 4, 4)},
        "the tiler has 3 modes, the layout 2",
    ),
    "local_tile: proj too long": Refusal(
        lambda: tensor.local_tile(TENSOR, (4, 4), (0, 0), (1, "X", 1)),
        RankError,
        "local_tile",
        {"proj": (1, "X", 1), "tiler": (4, 4)},
        "proj and tiler differ in their modes",
    ),
    "local_tile: proj too short": Refusal(
        lambda: tensor.local_tile(TENSOR, (4, 4, 4), (0, 0, 0), (1, "X")),
        RankError,
        "local_tile",
        {"proj": (1, "X"), "tiler": (4, 4, 4)},
        "proj and tiler differ in their modes",
    ),
    "local_tile: proj and an index": Refusal(
        lambda: tensor.local_tile(TENSOR, (4, 4, 4), 3, (1, 1, "X")),
        RankError,
        "local_tile",
        {"proj": (1, 1, "X"), "coord": 3},
        "proj and coord differ in their modes",
    ),
    "tiles of XOR strides": Refusal(
        lambda: tensor.local_tile(tensor.make_tensor(None, XOR), (2, 2), (0, 0)),
        ShapeError,
        "Tensor",
        {"layout": XOR},
        "a layout of XOR strides is not tiled",
    ),
    # ---- tables
    "table: nested coordinates": Refusal(
        lambda: bulk.table(NESTED),
        ShapeError,
        "table",
        {"layout": NESTED},
        "the nested coordinates of 1@0@0 have no array form",
    ),
    "table: both kinds of strides": Refusal(
        lambda: bulk.table(MIXED),
        ShapeError,
        "table",
        {"layout": MIXED},
        "the stride 4 gives offsets, the stride 1@0 coordinates",
    ),
    "table: a stride that is not a number": Refusal(
        lambda: bulk.table(UNKNOWN),
        ShapeError,
        "table",
        {"layout": UNKNOWN},
        "n is not a number",
    ),
    "table: beyond 64 bits": Refusal(
        lambda: bulk.table(LONG),
        ShapeError,
        "table",
        {"layout": LONG},
        f"the offset {1 << 63} does not fit 64 bits",
    ),
    "table: swizzled beyond 64 bits": Refusal(
        lambda: bulk.table(LIFTED),
        ShapeError,
        "table",
        {"layout": LIFTED},
        f"the offset {(1 << 63) + 1} does not fit 64 bits",
    ),
    "table: too many": Refusal(
        lambda: bulk.table(WIDE),
        ShapeError,
        "table",
        {"layout": WIDE},
        f"an array cannot have {1 << 60} entries",
    ),
    "numpy_dtype": Refusal(
        lambda: bulk.numpy_dtype("tf32"),
        DTypeError,
        "numpy_dtype",
        {"type": TF32},
        "NumPy has no tf32",
    ),
    "numpy_dtype: a pack": Refusal(
        lambda: bulk.numpy_dtype("u128"),
        DTypeError,
        "numpy_dtype",
        {"type": as_numeric("u128")},
        "arrays do not hold packs",
    ),
    # ---- arrays of coordinates
    "offsets: a list": refused([0, 1], "list is not a type of coordinates"),
    "offsets: None": refused((None, np.arange(6)), "NoneType is not a type of coordinates"),
    "offsets: floats": refused(np.ones(3), "float64 is not a type of coordinates"),
    "offsets: booleans": refused(np.ones(3, bool), "bool is not a type of coordinates"),
    "offsets: a flag": refused((True, 1), "bool is not a type of coordinates"),
    "offsets: too many modes": refused((1, 2, 3), "a tuple of 3 arrays does not fit the shape"),
    "offsets: too deep": refused(((1, 2), 3), "a tuple of 2 arrays does not fit the shape 4"),
    "offsets: shapes": refused(
        (np.arange(2), np.arange(3)), "arrays of the shapes (2,) and (3,) do not broadcast"
    ),
    "offsets: negative with XOR": refused(np.array([-1]), "-1 is negative, which has no bits", XOR),
    "offsets: negative under a swizzle": Refusal(
        lambda: bulk.offsets(SWIZZLED, np.array([3, -1])),
        CoordError,
        "offsets",
        {"layout": SWIZZLED},
        "the offset -1 before the swizzle is negative",
    ),
    "offsets: beyond 64 bits": Refusal(
        lambda: bulk.offsets(A, np.array([1 << 62])),
        ShapeError,
        "offsets",
        {"layout": A},
        "does not fit 64 bits",
    ),
    "offsets: nested coordinates": Refusal(
        lambda: bulk.offsets(NESTED, 0),
        ShapeError,
        "offsets",
        {"layout": NESTED},
        "the nested coordinates of 1@0@0 have no array form",
    ),
}


@every("refusal", REFUSALS.values(), ids=REFUSALS.keys())
def test_refused(refusal: Refusal) -> None:
    refusal.caught()


@pytest.mark.parametrize("module", [bulk, tensor], ids=lambda m: m.__name__)
def test_every_raise_of_a_module_is_tested(module: ModuleType) -> None:
    errors: list[BaseException] = [refusal.caught() for refusal in REFUSALS.values()]
    assert never_raised(module, errors) == []
