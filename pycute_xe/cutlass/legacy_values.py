"""Floor 6: maps of elements as maps of values that hold several."""

from __future__ import annotations

from pycute_xe.algebra import coalesce, upcast
from pycute_xe.algebra.simplify import scaled
from pycute_xe.layout import Layout, make_layout

__all__ = ["in_values", "recast_values"]


def recast_values(tv: Layout, parts: int) -> Layout:
    """Split each value into neighbouring parts."""
    values = make_layout(Layout(parts), scaled(tv[1], parts)) if parts > 1 else tv[1]
    return coalesce(make_layout(scaled(tv[0], parts), values), (1, 1))


def in_values(tv: Layout, bits: int, value_bits: int) -> Layout:
    """Count values instead of elements of so many bits."""
    if value_bits > bits:
        return upcast(tv, value_bits // bits)
    return recast_values(tv, bits // value_bits)
