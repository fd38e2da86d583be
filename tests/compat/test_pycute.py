"""Code written for NVIDIA's pycute, against recorded answers of pycute itself.

Each recorded call says whether a listing of all offsets found pycute's answer to be right. Ours is
then the same, nesting included; where it is wrong, ours is refused or right. One difference stands:
where a complement would leave uneven gaps, ours is refused even if pycute's happens to collide with
nothing.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pycute_xe.compat import pycute
from pycute_xe.errors import CuteError

DATA = Path(__file__).parents[1] / "data" / "pycute.json.gz"
ROWS: list[Any] = json.loads(gzip.decompress(DATA.read_bytes()))
NAMES = sorted({row[0] for row in ROWS})


def decoded(value: Any) -> Any:
    if isinstance(value, dict):
        return pycute.Layout(*map(decoded, value["L"]))
    return tuple(map(decoded, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_of_pycute(name: str) -> None:
    function: Callable[..., Any] = getattr(pycute, name)
    answered = 0
    for _, arguments, expected, right in (row for row in ROWS if row[0] == name):
        given = tuple(map(decoded, arguments))
        try:
            found = function(*given)
        except CuteError as refused:
            if right and "is not a multiple of" not in refused.condition:
                pytest.fail(f"{name}{given}: {refused}")
            continue
        wanted = decoded(expected)
        if right:
            assert found == wanted, (name, given)
            assert type(found) is type(wanted)
        answered += right
    assert answered


def run(program: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec("from pycute_xe.compat.pycute import *\n" + program, names)
    return names


def test_programs_run_unchanged() -> None:
    names = run(
        "layout = make_layout(Layout(4, 1), Layout((2, 2), (4, 8)))\n"
        "tiles = zipped_divide(layout, (2, Layout(2, 2)))\n"
        "offsets = [layout(i) for i in range(size(layout))]\n"
        "column, start = slice_and_offset((None, (1, 0)), layout)\n"
        "rows = make_layout(mode for mode in layout)\n"
        "text = f'{layout} {layout!r}'\n"
        "sizes = layout.size(), layout.cosize(), is_layout(layout), len(layout)\n"
    )
    assert names["offsets"] == list(range(16))
    assert names["text"] == "(4, (2, 2)):(1, (4, 8)) Layout((4, (2, 2)),(1, (4, 8)))"
    assert names["sizes"] == (16, 16, True, 2)
    assert names["rows"] == names["layout"]
    assert (names["column"], names["start"]) == (pycute.Layout((4,), (1,)), 4)
    assert names["tiles"].shape == ((2, 2), (2, 2))


def test_swizzled_programs_run_unchanged() -> None:
    names = run(
        "swizzle = Swizzle(2, 0, 3)\n"
        "layout = ComposedLayout(swizzle, 0, Layout((8, 4), (1, 8)))\n"
        "offsets = [layout(i) for i in range(layout.size())]\n"
        "mode = layout[0]\n"
        "facts = str(layout), layout.cosize(), len(layout), swizzle.yyy_msk, swizzle.zzz_msk\n"
    )
    assert names["facts"] == ("SW_2_0_3 o 0 o (8, 4):(1, 8)", 32, 2, 24, 3)
    assert names["offsets"] == [i ^ (i >> 3 & 3) for i in range(32)]
    assert [names["mode"](i) for i in range(8)] == list(range(8))


def test_where_pycute_is_silently_wrong_ours_refuses() -> None:
    for program in (
        "composition(Layout((4, 6), (1, 100)), Layout(3, 3))",
        "logical_product(Layout(4), 2)",
        "left_inverse(Layout((2, 2), (1, 1)))",
    ):
        with pytest.raises(CuteError):
            run(program)


def test_layouts_are_values() -> None:
    assert len({pycute.Layout((4, 8)), pycute.Layout((4, 8))}) == 1
    with pytest.raises(AttributeError):
        pycute.Layout(4).shape = 8


def test_pycute_keeps_its_own_way() -> None:
    # C++ drops the modes that a tuple does not name, and splits an index mode by mode.
    whole = pycute.Layout((4, 8))
    assert str(pycute.composition(whole, (pycute.Layout(2),))) == "(2, 8):(1, 4)"
    assert pycute.idx2crd((1, 5), (3, (2, 3))) == (1, (1, 0))
    assert pycute.idx2crd(7, 5) == 2
