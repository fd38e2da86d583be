"""Layouts as LaTeX."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from strategies import layouts

import pycute_xe as cx
from pycute_xe.errors import CuteError, RankError, ShapeError

L = cx.Layout
SWIZZLED = cx.composition(cx.Swizzle(1, 0, 1), L((2, 2), (2, 1)))
CELL = re.compile(
    r"\\filldraw\[fill=black!(\d+),draw=black\] \((\d+),(\d+)\) rectangle \+\(1,1\) "
    r"node\[midway\] \{([^}]*)\};"
)


@pytest.mark.parametrize(
    ("value", "formula"),
    [
        (L(4, 2), "4:2"),
        (L((4, 8)), r"\left(4,8\right):\left(1,4\right)"),
        (L((4,), (2,)), r"\left(4\right):\left(2\right)"),
        (L(4, -2), "4:-2"),
        (
            cx.make_identity_layout((2, (3, 4))),
            r"\left(2,\left(3,4\right)\right):\left(e_{0},\left(e_{1,0},e_{1,1}\right)\right)",
        ),
        (L(4, 3 * cx.E(0, 1)), r"4:3\,e_{0,1}"),
        (SWIZZLED, r"\mathrm{Sw}_{1,0,1} \circ 0 \circ \left(2,2\right):\left(2,1\right)"),
        (cx.Swizzle(3, 3, -3), r"\mathrm{Sw}_{3,3,-3}"),
        ((4, (2, 3)), r"\left(4,\left(2,3\right)\right)"),
        ("M_0 % 4", r"M\_0 \% 4"),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_formulas(value: Any, formula: str) -> None:
    assert cx.latex_math(value) == formula


@given(layouts(negative=True).filter(lambda a: len(a) <= 2))
def test_cells_are_the_offsets(layout: cx.Layout) -> None:
    rows = cx.size(layout[0]) if len(layout) == 2 else 1
    found = {(int(r), int(c)): (int(s), v) for s, c, r, v in CELL.findall(cx.to_latex(layout))}
    assert len(found) == cx.size(layout)
    for (row, col), (shade, label) in found.items():
        offset = layout(row + rows * col)
        assert label == str(offset)
        assert shade <= 50, "black text must read on it"
    shades = {}
    for shade, label in found.values():
        assert shades.setdefault(int(label) % 8, shade) == shade
    assert len(set(shades.values())) == len(shades)


def test_rows_and_columns_are_numbered() -> None:
    text = cx.to_latex(L((2, 3)))
    assert re.findall(r"\\node at \((\d)\.5,-0\.35\) \{\\tiny (\d)\}", text) == [
        *(("0", "0"), ("1", "1"), ("2", "2"))
    ]
    assert re.findall(r"\\node at \(-0\.35,(\d)\.5\) \{\\tiny (\d)\}", text) == [
        *(("0", "0"), ("1", "1"))
    ]


def test_coordinates_and_swizzles() -> None:
    labels = [label for *_, label in CELL.findall(cx.to_latex(cx.make_identity_layout((2, 2))))]
    assert labels == ["(0,0)", "(0,1)", "(1,0)", "(1,1)"]
    labels = [label for *_, label in CELL.findall(cx.to_latex(SWIZZLED))]
    assert labels == ["0", "1", "3", "2"]


def test_the_document_is_whole() -> None:
    text = cx.to_latex(L((2, 2)))
    for name in ("document", "tikzpicture"):
        assert text.index(f"\\begin{{{name}}}") < text.index(f"\\end{{{name}}}")
    assert text.count("{") == text.count("}")
    assert re.findall(r"\\usepackage\{(.*)\}", text) == ["tikz"]


@pytest.mark.parametrize(
    ("error", "layout"),
    [(RankError, L((2, 2, 2))), (RankError, L(())), (ShapeError, L((4097, 1)))],
)
def test_what_has_no_picture_is_refused(error: type[CuteError], layout: cx.Layout) -> None:
    with pytest.raises(error) as info:
        cx.to_latex(layout)
    assert info.value.operation == "to_latex"
    assert info.value.fix
    assert cx.latex_math(layout)
