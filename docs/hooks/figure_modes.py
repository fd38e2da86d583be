"""What a drawing of a copy exchanges by its buttons: the same block by N, T, V and packed.

A copy has them where another name has the same bits, rows and columns. They stand as templates
behind a drawing, which a page without scripts does not show.
"""

from __future__ import annotations

import re
from functools import cache
from html import unescape

import atom_sizes

from pycute_xe import draw
from pycute_xe.arch.rules import errors
from pycute_xe.atom import CopyAtom
from pycute_xe.cutlass import get_atom, parse_block2d_name, shipped_names
from pycute_xe.errors import CuteError

_WHOLE = re.compile(r"<title [^>]*>Who holds the block of (XE_[^ ]+?)</title>")
_SMALL = re.compile(r'<svg [^>]*aria-label="Who owns what in (XE_[^ "]+)"')
_TEMPLATES = {"XE_LOAD_2D": "N", "XE_LOAD_2D_TRANSPOSE": "T", "XE_LOAD_2D_VNNI": "V"}
_PANELS = {"in memory": "memory", "in registers": "registers", "in work-items": "work-items"}


@cache
def modes(name: str) -> dict[str, str]:
    """Return the names that load the same block, by mode, in the order of names.

    >>> modes("XE_2D_U16x16x16_LD_N")["V"]
    'XE_2D_U16x16x16_LD_V'
    """
    if name.startswith("XE_2D_"):
        return _older(name) if name in shipped_names() else {}
    template, _, sizes = name.partition("<")
    if template not in _TEMPLATES:
        return {}
    found = {mode: f"{other}<{sizes}" for other, mode in _TEMPLATES.items()}
    return {mode: text for mode, text in found.items() if _legal(text)}


def _older(name: str) -> dict[str, str]:
    mine = parse_block2d_name(name)
    if mine.is_store or mine.is_prefetch:
        return {}
    found: dict[str, str] = {}
    for text in shipped_names():
        if text.startswith("XE_2D_") and "::" not in text:
            other = parse_block2d_name(text)
            same = (other.bits, other.rows, other.cols) == (mine.bits, mine.rows, mine.cols)
            plain = other.data_type == mine.data_type and not other.is_store
            if same and plain:
                found["packed" if other.packed else str(other.mode)] = text
    return found


def _legal(name: str) -> bool:
    try:
        atom = get_atom(name)
        return isinstance(atom, CopyAtom) and not errors(atom.op.message.broken_rules("bmg"))
    except CuteError:
        return False


def _mode(name: str) -> str:
    return next((mode for mode, text in modes(name).items() if text == name), "")


def switched(svg: str, themed: str) -> str:
    """Return a drawing in its box with what it exchanges behind it, or the box alone."""
    found = _SMALL.search(svg) or _WHOLE.search(svg)
    name = unescape(found[1]) if found else ""
    others = {mode: text for mode, text in modes(name).items() if text != name} if name else {}
    if not others:
        return themed
    drawings = {mode: _drawing(text, svg) for mode, text in others.items()}
    templates = "".join(
        f'<template data-mode="{mode}" data-name="{_text(others[mode])}">{drawn}</template>'
        for mode, drawn in drawings.items()
        if drawn
    )
    head = f'<span class="switched" data-mode="{_mode(name)}" data-name="{_text(name)}">'
    return f"{head}{themed}{templates}</span>" if templates else themed


def _text(name: str) -> str:
    return name.replace("<", "&lt;").replace(">", "&gt;")


def _drawing(name: str, like: str) -> str:
    """The drawing of another copy with the panels that one has."""
    if _SMALL.search(like):
        return atom_sizes.picture(name)
    panels = [_PANELS[p] for p in re.findall(r'data-operand="([^"]*)"', like) if p in _PANELS]
    try:
        return draw(get_atom(name), panels[0] if len(panels) == 1 else None).svg
    except CuteError:
        return ""
