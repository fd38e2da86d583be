"""Which work-groups store an element, by the indices of stores alone."""

from __future__ import annotations

import pytest
from unsound_kernels import GRID, A, kernel, load, store

from pycute_xe.errors import InputError
from pycute_xe.executing.space import writers
from pycute_xe.kernel import Index

SIZES = {"M": 1 << 20, "N": 64}
THREE = kernel(A, load("A", "x"), store("D", "x"), grid=(*GRID, ("z", Index(None, 3))))


def nothing(name: str, at: object) -> int:
    raise AssertionError((name, at))


@pytest.mark.parametrize("element", [(9, 31), (8, 16), (15, 24)])
def test_every_work_group_that_stores_an_element_is_named(element: tuple[int, int]) -> None:
    found = writers(THREE, SIZES, nothing, "D", element, 100)
    assert found == [{"m": 1, "n": 1, "z": z} for z in range(3)]


def test_more_than_are_wanted_are_refused() -> None:
    with pytest.raises(InputError, match="3 work-groups would run"):
        writers(THREE, SIZES, nothing, "D", (9, 20), 2)
