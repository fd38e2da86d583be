"""Floor 9: sixteen colours, one for each work-item of a subgroup.

Found by maximising the least distance (in OKLab) between any two, and more so between neighbours,
for normal sight and for simulated protan, deutan and tritan sight, under the condition that near
black text on each keeps a contrast of at least 5 to 1. Every cell carries its label as well, so
nothing hangs on colour alone.
"""

from __future__ import annotations

__all__ = ["COLOURS", "INK", "colour"]

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
