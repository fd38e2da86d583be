"""Reorders between elements of different widths, and widths that fill no channel or no byte."""

from __future__ import annotations

from typing import Any

import pytest
from every import every

import pycute_xe as cx
from pycute_xe.atom import classify_reorder, in_register_order, is_identity
from pycute_xe.errors import DTypeError


@every("bits", [0, 3, -4, 33, 48, 64, 2.0, "16"])
def test_widths_that_do_not_fill_a_channel_are_refused(bits: Any) -> None:
    for widths in ((bits, 16), (16, bits)):
        with pytest.raises(DTypeError, match=r"channel of 32 bits.*\n?.*1, 2, 4, 8, 16 or 32"):
            classify_reorder(cx.Layout(16), *widths)


@every("bits", [0, 3, 6, -4, 12, 2.0, "16"])
def test_widths_that_do_not_fill_bytes_are_refused(bits: Any) -> None:
    with pytest.raises(DTypeError, match=r"in_register_order.*do not fill bytes"):
        in_register_order(cx.Layout((16, 4)), bits)


@every(
    ("source", "destination", "slots", "name"),
    [
        (16, 8, "(2,16,2,2,4):(1,32,2,16,4)", "VV"),
        (16, 8, "(2,16,2,4):(1,4,2,64)", "Generic"),
        (16, 8, "(2,16,2,4):(1,32,4,2)", "Generic"),
        (16, 4, "(2,16,4,2,2):(1,32,2,16,8)", "VV"),
        (16, 4, "(2,16,4,4):(1,8,2,128)", "Generic"),
        (16, 4, "(2,16,4,4):(1,32,8,2)", "Generic"),
        (8, 4, "(4,16,2,2,4):(1,64,4,32,8)", "VV"),
        (8, 4, "(4,16,2,4):(1,8,4,128)", "Generic"),
        (8, 4, "(4,16,2,4):(1,64,8,4)", "Generic"),
        (8, 16, "(2,2,16,4):(1,32,2,64)", "VV"),
        (8, 16, "(2,2,16,4):(1,16,2,64)", "Generic"),
        (4, 16, "(2,4,16,4):(1,32,2,128)", "VV"),
        (4, 8, "(4,2,16,4):(1,16,4,128)", "Generic"),
    ],
)
def test_vnni_to_vnni_as_cutlass_names_it(
    source: int, destination: int, slots: str, name: str
) -> None:
    """What C++ printed: ``classify_xe_reorder`` of intel/sycl-tla 6601377 on the host."""
    assert classify_reorder(cx.Layout.from_str(slots), source, destination) == name


@pytest.mark.parametrize("slots", ["(16,2,2):(1,32,16)", "4:2", "(2,16):(16,1)", "(4,4):(1,0)"])
def test_only_what_leaves_every_element_in_place_is_an_identity(slots: str) -> None:
    layout = cx.Layout.from_str(slots)
    assert is_identity(layout) == all(layout(i) == i for i in range(cx.size(layout)))
    assert is_identity(cx.Layout((4, 4)))
