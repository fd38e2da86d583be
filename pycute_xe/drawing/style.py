"""The colours of drawings, and the style sheet inside an SVG, for light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["COLOURS", "INK", "MONO_FAMILY", "SANS_FAMILY", "colour", "style_sheet", "text_width"]

# Sixteen colours, one for each work-item of a subgroup.
#
# Found by maximising the least distance (in OKLab) between any two, and more so between neighbours,
# for normal sight and for simulated protan, deutan and tritan sight, under the condition that near
# black text on each keeps a contrast of at least 5 to 1. Every cell carries its label as well, so
# nothing hangs on colour alone.

COLOURS = (
    "#ffa101",
    "#bc7d14",
    "#c9a972",
    "#dfce9f",
    "#fdecae",
    "#b1cd73",
    "#54a063",
    "#8cb696",
    "#4cd8cb",
    "#17afba",
    "#afe3ea",
    "#73b1fc",
    "#6589f3",
    "#dfdcfc",
    "#b28798",
    "#feabc3",
)
INK = "#10141a"
"""The colour of text on any of them."""


def colour(index: int) -> str:
    """Return the colour of a work-item, or of any number modulo 16, as ``#rrggbb``.

    >>> colour(17) == colour(1)
    True
    """
    return COLOURS[index % len(COLOURS)]


# ------------------------------------------------------------ style
# The style sheet inside an SVG drawing, for light and dark pages.

MONO_FAMILY = 'ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace'
SANS_FAMILY = (
    'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"DejaVu Sans",'
    '"Liberation Sans",sans-serif'
)
_WIDE, _CAPITAL, _LETTER, _NARROW, _BOLD = 0.84, 0.72, 0.63, 0.42, 1.1
_EMS = dict.fromkeys("<>=+×", _WIDE) | dict.fromkeys(" !'()*,-./:;I[]fijlrt|", _NARROW)


def text_width(words: str, font: float, bold: bool = False) -> float:
    """Return the width of a line of running text in a wide sans serif, in pixels.

    >>> text_width("a line", 12) < text_width("A LINE", 12) < text_width("A LINE", 12, bold=True)
    True
    """
    ems = sum(_EMS.get(c, _CAPITAL if c.isupper() else _LETTER) for c in words)
    return ems * font * (_BOLD if bold else 1)


_BASE = """\
text{{font-family:{mono};\
text-anchor:middle;fill:{ink}}}
.card{{fill:#fff;stroke:#d5dae1}}
.h,.p,.k0{{font-family:{sans};\
text-anchor:start}}
.h{{font-size:17px;font-weight:600;fill:#161b22}}
.p,.k0{{font-size:12px;fill:#4d5866}}
.bad{{fill:#b42318;font-weight:600}}
.a text{{font-size:10px;fill:#5b6675}}
.a .n{{font-size:11px;font-weight:700;fill:#161b22}}
.a .w{{text-anchor:end}}
.a .l{{text-anchor:start}}
.a .k text{{fill:{ink}}}
.k text{{font-size:11px}}
.c text{{font-size:{font}px}}
.s .c text{{font-size:9px}}
.none text{{fill:#b42318}}
.pad text{{fill:#5b6675}}
.v{{fill:#8b95a3;fill-opacity:.13}}
.x{{fill:none;stroke:#d92d20;stroke-dasharray:3 2}}
.m{{fill:#d92d20;stroke:#fff;stroke-width:.6}}
.d{{font-size:0}}
.f{{fill:none;stroke:#161b22;stroke-width:1.5;pointer-events:none}}
.tile{{stroke-width:2.5}}
.a .u{{font-weight:700;fill:#161b22}}
.c,.k{{transition:opacity .12s}}
"""
_DARK = """\
@media (prefers-color-scheme:dark){{
{p}.card{{fill:#12161c;stroke:#2b323c}}
{p}.h,{p}.a .n{{fill:#f0f3f7}}
{p}.p,{p}.k0{{fill:#b3bdca}}
{p}.bad{{fill:#ff9b8a}}
{p}.a text,{p}.pad text{{fill:#a3aebc}}
{p}.a .u{{fill:#f0f3f7}}
{p}.a .k text{{fill:{ink}}}
{p}.none text{{fill:#ff9b8a}}
{p}.f{{stroke:#f0f3f7}}
}}
"""


def style_sheet(scope: str, colours: Iterable[int], font: float) -> str:
    """Return the rules of a drawing whose outermost element has the id ``scope``.

    Every rule is confined to that element, so that several drawings can stand in one page. Pointing
    at a cell, or at a colour of the legend, dims what belongs to other work-items.
    """
    prefix = f"#{scope} "
    families = {"mono": MONO_FAMILY, "sans": SANS_FAMILY}
    rules = _BASE.format(ink=INK, font=f"{font:g}", **families).splitlines()
    used = sorted(set(colours))
    rules += [f".t{i} rect{{fill:{COLOURS[i]}}}" for i in used]
    scoped = [_scoped(rule, prefix) for rule in rules]
    # A rule of its own for each colour: a reader that does not know :has drops these alone.
    hover = [f"#{scope}:has(.t{i}:hover) .o:not(.t{i}){{opacity:.13}}" for i in used]
    return "\n".join(["", *scoped, *hover, _DARK.format(p=prefix, ink=INK)])


def _scoped(rule: str, prefix: str) -> str:
    selectors, body = rule.split("{", 1)
    return ",".join(prefix + one for one in selectors.split(",")) + "{" + body
