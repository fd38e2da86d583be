"""Floor 9: how a coordinate becomes an offset."""

from __future__ import annotations

from typing import Any

from pycute_xe.composed import ComposedLayout
from pycute_xe.explaining.script import Script, times
from pycute_xe.int_tuple import compact_col_major, congruent, product
from pycute_xe.layout import Layout
from pycute_xe.typing import Coord, Shape, Stride, is_tuple

__all__ = ["tell_call", "tell_crd2idx"]


def tell_call(script: Script, layout: Layout | ComposedLayout, *coord: Coord) -> Any:
    """Write how a layout, plain or swizzled, maps a coordinate."""
    crd: Coord = coord[0] if len(coord) == 1 else coord
    if isinstance(layout, Layout):
        tell_crd2idx(script, crd, layout.shape, layout.stride)
        # A coordinate of basis strides has every mode that a stride names.
        value: Any = layout(crd)
        if isinstance(layout(crd), tuple):
            script.say("as a coordinate", value)
        return value
    with script.within(f"beneath the swizzle, {layout.layout}"):
        inner = tell_crd2idx(script, crd, layout.layout.shape, layout.layout.stride)
    total = layout.offset + inner
    script.say(f"plus the offset {layout.offset}", total)
    swizzle = layout.swizzle
    read = total & swizzle.yyy_mask
    value = swizzle(total)
    script.say(
        f"{swizzle} reads the bits {swizzle.yyy_mask:#b} of {total:#b}, which are {read:#b}, and "
        f"XORs them onto the bits {swizzle.zzz_mask:#b}: {value:#b}",
        value,
    )
    return value


def tell_crd2idx(script: Script, coord: Coord, shape: Shape, stride: Stride = None) -> Any:
    """Write the coordinate of each leaf, its product with the stride, and their sum."""
    if stride is None:
        stride = compact_col_major(shape)
        script.say("without strides the shape is compact, first mode fastest", Layout(shape))
    elif not congruent(shape, stride):
        script.stop(f"the strides {_plain(stride)} do not nest as the shape {_plain(shape)} does")
    terms: list[Any] = []
    _tell_terms(script, coord, shape, stride, terms)
    total = sum(terms)
    script.say(f"the sum {' + '.join(map(_plain, terms)) or 0}", total)
    return total


def _tell_terms(
    script: Script, coord: Coord, shape: Shape, stride: Stride, terms: list[Any]
) -> None:
    if is_tuple(coord):
        if not is_tuple(shape) or len(coord) != len(shape):
            script.stop(f"the coordinate {_plain(coord)} does not fit the shape {_plain(shape)}")
        for c, s, d in zip(coord, shape, stride, strict=True):
            _tell_terms(script, c, s, d, terms)
        return
    if not is_tuple(shape):
        terms.append(coord * stride)
        script.say(
            f"coordinate {coord} in {shape}:{stride}: {times(coord, stride)}", coord * stride
        )
        return
    parts = _digits(coord, shape)
    script.say(f"{coord}, counted in {_plain(shape)} first mode fastest, is {_plain(parts)}")
    _tell_terms(script, parts, shape, stride, terms)


def _digits(index: Any, shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Split an index over the modes of a shape; the last has no end."""
    parts: list[Any] = []
    for mode in shape[:-1]:
        extent = product(mode)
        parts.append(index % extent)
        index = index // extent
    return (*parts, index) if shape else ()


def _plain(value: Any) -> str:
    return f"({','.join(map(_plain, value))})" if is_tuple(value) else str(value)
