"""Which mode of a tensor is contiguous, where several have the stride 1."""

from __future__ import annotations

from typing import Any

import pytest

from pycute_xe.atom.selection import memory_modes
from pycute_xe.errors import KernelError


@pytest.mark.parametrize(
    ("stride", "modes"), [((1, 1), (0, 1)), ((1, 1, "batch"), (0, 1)), (("batch", "ld", 1), (2, 0))]
)
def test_the_first_mode_of_stride_1_is_contiguous(stride: Any, modes: tuple[int, int]) -> None:
    assert memory_modes(stride) == modes


@pytest.mark.parametrize("stride", [(1,), ("ld",), ("a", "b")])
def test_one_mode_of_each_kind_is_needed(stride: Any) -> None:
    with pytest.raises(KernelError, match="one contiguous mode and one strided mode"):
        memory_modes(stride)
