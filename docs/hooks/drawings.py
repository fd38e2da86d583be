"""Keeps drawings apart while a page is made, and puts them where they belong when it is written.

A drawing is up to 500 KB, in which nothing is to be read as Markdown, searched or linked. On the
site it follows the theme's switch, scrolls in a box, and says of its cells what the script asks.
"""

from __future__ import annotations

import re

import figure_modes

# A drawing follows the reader's system; on the site the switch in the header decides.
SYSTEM = "@media (prefers-color-scheme:dark){"
SITE = "[data-md-color-scheme=slate]{"
# Not a div: some drawings stand in a paragraph.
BOX = '<span class="drawing">'
_DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_PLACE = re.compile(r'<i data-drawing="(\d+)"></i>')
# What a cell says to programs: its lane, its byte. The site's script does not ask for that.
_CELL = re.compile(r'<g class="c [^>]*>')
_UNREAD = re.compile(r' data-(?!(?:value|cells|at|step|top)=)\w+="[^"]*"')
# The style says how far a drawing may shrink to fit into its box.
_HEAD = re.compile(r'<svg [^>]*\bwidth="(\d+)"[^>]*?(?=>)')
_kept: list[str] = []


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put a mark in the place of each drawing."""
    return _DRAWING.sub(_mark, markdown)


def _mark(drawing: re.Match[str]) -> str:
    _kept.append(drawing[0])
    return f'<i data-drawing="{len(_kept) - 1}"></i>'


def on_post_page(output: str, **_: object) -> str:
    """Put the drawings back."""
    return _PLACE.sub(lambda mark: shown(_kept[int(mark[1])]), output)


def shown(svg: str) -> str:
    """Return a drawing as the site shows it; a small one without an owner as it is."""
    if ' id="cx-' not in svg.partition(">")[0]:
        return svg
    boxed = figure_modes.switched(svg, f"{BOX}{svg}</span>").replace(SYSTEM, SITE)
    sized = _HEAD.sub(r'\g<0> style="--w:\1px"', boxed)
    return _CELL.sub(lambda cell: _UNREAD.sub("", cell[0]), sized)
