from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pycute_xe.arch import Block2D, Dpas, RegisterMap
from pycute_xe.errors import CoordError, CuteError, ShapeError
from pycute_xe.layout import Layout, size


def test_element_i_belongs_to_work_item_i_mod_16() -> None:
    owners = RegisterMap(Layout(64), bits=16)
    assert [owners.owner(i) for i in (0, 15, 16, 63)] == [(0, 0), (15, 0), (0, 1), (15, 3)]


def test_below_a_byte_ownership_goes_byte_by_byte() -> None:
    owners = RegisterMap(Layout(128), bits=4)
    assert [owners.owner(i) for i in (0, 1, 2, 31, 32, 33)] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (15, 1),
        (0, 2),
        (0, 3),
    ]
    assert owners.values == 8


@given(bits=st.sampled_from([2, 4, 8, 16, 32, 64]), rows=st.integers(1, 8), lanes=st.just(16))
def test_thread_value_layouts_say_the_same(bits: int, rows: int, lanes: int) -> None:
    owners = RegisterMap(Layout((32 * max(1, 8 // bits), rows)), bits, lanes)
    tv = owners.tv()
    assert size(tv) == size(owners.position)
    for lane in range(lanes):
        for value in range(owners.values):
            assert tv(lane, value) == owners.element(lane, value)


@pytest.mark.parametrize(
    ("position", "bits", "text"),
    [
        (Block2D("load", 16, 8, 16).position, 16, "(16,8):(1,16)"),
        (Block2D("load", 16, 8, 32).position, 16, "(16,16):(1,16)"),
        (Block2D("load", 16, 16, 16, vnni=True).position, 16, "((2,8),(2,8)):((16,1),(8,32))"),
        (Block2D("load", 32, 16, 8, transpose=True).position, 32, "(16,8):(8,1)"),
        (Dpas(8, *("f32", "bf16", "bf16", "f32")).position_A, 16, "(16,8):(8,1)"),
    ],
)
def test_known_thread_value_layouts(position: Layout, bits: int, text: str) -> None:
    owners = RegisterMap(position, bits)
    assert str(owners.tv()) == text
    assert all(
        owners.tv()(lane, value) == owners.element(lane, value)
        for lane in range(16)
        for value in range(owners.values)
    )


def test_padding_has_no_layout() -> None:
    owners = Block2D("load", 16, 8, 12).register_map
    assert owners.element(12, 0) is None
    with pytest.raises(CuteError, match="32 of 128 slots hold no element"):
        owners.tv()


def test_out_of_range() -> None:
    owners = RegisterMap(Layout(64), bits=16)
    for lane, value in ((16, 0), (-1, 0), (0, 4)):
        with pytest.raises(CoordError):
            owners.element(lane, value)
    with pytest.raises(CoordError):
        owners.owner(64)
    with pytest.raises(ShapeError):
        RegisterMap(Layout(64), bits=3)
    with pytest.raises(ShapeError):
        RegisterMap(Layout(64), bits=16, lanes=0)


def test_eight_lanes() -> None:
    assert RegisterMap(Layout(64), bits=32, lanes=8).owner(9) == (1, 1)
