"""What messages say of the values they were given: never at length, and with a way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from every import every

import pycute_xe as cx
from pycute_xe import Layout
from pycute_xe.errors import CoordError, CuteError, InputError, RankError, ShapeError

L = Layout((4, 8), (8, 1))
COUNTING = cx.make_tensor(None, L)
LONG = "x" * 5_000
MMA = cx.workgroup_mma(
    cx.XE_DPAS_TT(8, "f32", "bf16"), tile=(16, 32, 16), subgroups=((2, 2, 1), (2, 1, 0))
)

ECHOING: list[Callable[[], Any]] = [
    lambda: Layout(LONG),
    lambda: Layout((4, LONG)),
    lambda: Layout(4, LONG),
    lambda: Layout(-(10**4_000)),
    lambda: Layout(tuple(range(1, 3_000)), tuple(range(5))),
    lambda: Layout.from_str(LONG),
    lambda: L(LONG),
    lambda: L[LONG],
    lambda: L(tuple(range(5_000))),
    lambda: cx.size(L, 10**5_000),
    lambda: cx.composition(L, LONG),
    lambda: cx.upcast(L, LONG),
    lambda: cx.Swizzle(LONG, 1, 1),
    lambda: cx.get_atom(LONG),
    lambda: cx.XE_DPAS_TT(LONG, "f32", "bf16"),
    lambda: cx.check(MMA, LONG),
    lambda: cx.search_atoms(kind=LONG),
    lambda: cx.explain(LONG),
    lambda: MMA.get_slice(LONG),
    lambda: MMA.fragment(LONG),
    lambda: COUNTING[LONG],
]


@every("call", ECHOING)
def test_long_values_are_cut_short(call: Callable[[], Any]) -> None:
    with pytest.raises(CuteError) as caught:
        call()
    text = str(caught.value)
    assert "x" * 201 not in text
    assert "0" * 201 not in text
    assert len(text) < 700, text


SLIPS: list[tuple[Callable[[], Any], type[CuteError], str]] = [
    (lambda: COUNTING[1:, 2], CoordError, "Way out: keep the mode with : or None"),
    (
        lambda: cx.local_tile(L, (2, 2), (0, 0)),
        InputError,
        r"tensor is a Layout. Way out: make_tensor\(None, layout\) makes a tensor",
    ),
    (
        lambda: MMA.get_slice(0).partition_A(L),
        InputError,
        r"tensor is a Layout. Way out: make_tensor\(None, layout\) makes a tensor",
    ),
    (lambda: cx.tile_to_shape(L, "8"), ShapeError, r"target='8'\): the target must be a shape"),
    (lambda: cx.tile_to_shape(L, ("8", 8)), ShapeError, "the target must be a shape"),
    (lambda: cx.dice(L, (4, 8)), ShapeError, "a tuple is not a plain layout"),
    (lambda: MMA.get_slice((1, 1)), RankError, "is not one of the 64 work-items. Way out: use"),
    (lambda: Layout.from_str(3), InputError, "text is of type int. Way out: give a str"),
    (lambda: cx.crd2idx(L, (4, 8)), InputError, "Way out: give coord as an integer, None or a tup"),
]


@every(("call", "kind", "said"), SLIPS)
def test_a_slip_is_named_with_its_way_out(
    call: Callable[[], Any], kind: type[CuteError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        call()


def test_a_tensor_is_called_as_its_refusal_says() -> None:
    assert COUNTING(1, 2) == 10
