"""Reorders of elements whose widths fill no channel, or no byte, are refused."""

from __future__ import annotations

from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe.atom import classify_reorder, in_register_order
from pycute_xe.errors import DTypeError


@pytest.mark.parametrize("bits", [0, 3, -4, 33, 48, 64, 2.0, "16"])
def test_widths_that_do_not_fill_a_channel_are_refused(bits: Any) -> None:
    for widths in ((bits, 16), (16, bits)):
        with pytest.raises(DTypeError, match=r"channel of 32 bits.*\n?.*1, 2, 4, 8, 16 or 32"):
            classify_reorder(cx.Layout(16), *widths)


@pytest.mark.parametrize("bits", [0, 3, 6, -4, 12, 2.0, "16"])
def test_widths_that_do_not_fill_bytes_are_refused(bits: Any) -> None:
    with pytest.raises(DTypeError, match=r"in_register_order.*do not fill bytes"):
        in_register_order(cx.Layout((16, 4)), bits)
