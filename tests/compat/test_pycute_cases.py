"""What NVIDIA's pycute expects of itself, asked of `compat.pycute`.

`tests/data/nvidia_pycute.txt` has the operands and results of `test/python/pycute` of CUTLASS at
commit 7107b05, each case that a test there calls its helper for or compares; `case_rows` says how
rows read. A layout is made as pycute makes one, and the law is the one that its helper asserts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from case_rows import cases, value

from pycute_xe.compat import pycute
from pycute_xe.layout import Layout

DATA = Path(__file__).parents[1] / "data" / "nvidia_pycute.txt"
COUNT = 100


def apart(layout: pycute.Layout) -> bool:
    rest = pycute.complement(layout)
    offsets = {layout(i) for i in range(layout.size())}
    return all(rest(i) == 0 or rest(i) not in offsets for i in range(rest.size()))


def keeps(layout: pycute.Layout) -> bool:
    flat = pycute.coalesce(layout)
    return flat.size() == layout.size() and all(flat(i) == layout(i) for i in range(flat.size()))


def composes(a: pycute.Layout, b: pycute.Layout) -> bool:
    result = pycute.composition(a, b)
    return all(result(i) == a(b(i)) for i in range(result.size()))


def left_undone(layout: pycute.Layout) -> bool:
    inverse = pycute.left_inverse(layout)
    return all(inverse(layout(i)) == i for i in range(layout.size()))


def right_undone(layout: pycute.Layout) -> bool:
    inverse = pycute.right_inverse(layout)
    return all(layout(inverse(i)) == i for i in range(inverse.size()))


LAWS: dict[str, Callable[..., bool]] = {
    "coalesce": keeps,
    "complement": apart,
    "composition": composes,
    "left_inverse": left_undone,
    "right_inverse": right_undone,
}


def as_theirs(text: str) -> Any:
    given = value(text)
    return pycute.Layout(given.shape, given.stride) if isinstance(given, Layout) else given


def test_pycute_gives_the_same() -> None:
    every = list(cases(DATA))
    for name, operands, wanted in every:
        given = list(map(as_theirs, operands))
        if not wanted:
            assert LAWS[name](*given), (name, operands)
            continue
        assert getattr(pycute, name.removesuffix(" is"))(*given) == value(wanted), (name, operands)
    assert len(every) == COUNT


def test_integers_are_told_apart() -> None:
    for kind, one, answer in ((int, 1, True), (float, 1.0, False), (str, "hi", False)):
        assert issubclass(kind, pycute.Integer) is isinstance(one, pycute.Integer) is answer
    assert not isinstance(False, pycute.Integer)
