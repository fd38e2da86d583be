"""A drawing that answers in notebooks, as on the site, where anywidget is installed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from pycute_xe.errors import ToolError

__all__ = ["as_widget"]

_SHOWN = """
export default {
  render({ model, el }) {
    el.innerHTML = model.get("html");
    globalThis.pycuteFigures.all(el);
  },
};
"""


def as_widget(svg: str, others: Mapping[str, str] | None = None, mode: str = "") -> Any:
    """Return the widget of an SVG drawing, and of what its buttons exchange it for, by mode.

    Raises `ToolError` where anywidget is not installed.
    """
    box = f'<span class="drawing">{svg}</span>'
    if others:
        templates = (
            f'<template data-mode="{escape(name)}" data-name="">{other}</template>'
            for name, other in others.items()
        )
        head = f'<span class="switched" data-mode="{escape(mode)}" data-name="">'
        box = f"{head}{box}{''.join(templates)}</span>"
    return _kind()(html=box)


@cache
def _kind() -> Any:
    """The class of such widgets, which has the script and the style of drawings."""
    try:
        anywidget: Any = import_module("anywidget")
        traitlets: Any = import_module("traitlets")
    except ImportError:
        condition, fix = "anywidget is not installed", "pip install 'pycute-xe[widget]'"
        raise ToolError("widget", {}, condition, f"{fix}, or show the drawing itself") from None
    here = Path(__file__).parent
    script = (here / "figures.js").read_text(encoding="utf-8")
    body = {
        "_esm": f"{script}{_SHOWN}",
        "_css": (here / "figures.css").read_text(encoding="utf-8"),
        "html": traitlets.Unicode().tag(sync=True),
    }
    return type("DrawingWidget", (anywidget.AnyWidget,), body)
