"""A drawing as a widget: the script and the style of the site, and a refusal without anywidget."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

import pycute_xe as cx
from pycute_xe.drawing import widget


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """The class of widgets is made anew."""
    widget._kind.cache_clear()
    yield
    widget._kind.cache_clear()


def test_a_widget_holds_the_drawing_and_the_script_that_lights_it() -> None:
    pytest.importorskip("anywidget")
    drawing = cx.draw(cx.get_atom("XE_2D_U16x8x16_LD_N"), "memory")
    shown = drawing.widget()
    assert drawing.svg in shown.html
    assert "<template" not in shown.html
    assert "pycuteFigures" in shown._esm
    assert "export default" in shown._esm
    assert ".cx-mark" in shown._css


def test_a_widget_exchanges_modes() -> None:
    pytest.importorskip("anywidget")
    one, other = (cx.draw(cx.get_atom(f"XE_2D_U16x16x16_LD_{m}"), "memory") for m in "NV")
    html = one.widget(V=other).html
    assert '<span class="switched" data-mode="N"' in html
    assert f'<template data-mode="V" data-name="">{other.svg}</template>' in html


def test_other_modes_are_refused() -> None:
    drawing = cx.draw(cx.Layout((2, 2)))
    with pytest.raises(cx.InputError, match=r"Q is not a mode\. Way out: use N, T, V, packed"):
        drawing.widget(Q=drawing)


def test_without_anywidget_the_way_out_is_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(cx.ToolError, match=r"anywidget is not installed\. Way out: pip install"):
        cx.draw(cx.Layout((2, 2))).widget()
