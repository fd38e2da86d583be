"""Floor 9: what the operations do where a swizzle takes part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycute_xe.algebra import swizzled
from pycute_xe.composed import ComposedLayout
from pycute_xe.explaining.composing import tell_composition
from pycute_xe.explaining.script import Script
from pycute_xe.layout import Layout
from pycute_xe.swizzle import Swizzle

__all__ = ["beneath", "tell_any_composition", "through_inverse"]

Teller = Callable[..., Any]


def beneath(tell: Teller) -> Teller:
    """Tell an operation that rearranges the domain: a swizzle stays outside."""

    def told(script: Script, layout: Any, *operands: Any) -> Any:
        if not isinstance(layout, ComposedLayout):
            return tell(script, layout, *operands)
        with script.within(f"the swizzle stays outside: on the layout beneath, {layout.layout}"):
            inner = tell(script, layout.layout, *operands)
        out = layout.with_layout(inner)
        script.say("under the swizzle again", out)
        return out

    return told


def tell_any_composition(script: Script, a: Any, b: Any, c: Any = None) -> Any:
    """Tell `composition` of layouts, tilers and swizzles."""
    if isinstance(a, Swizzle):
        return _of_a_swizzle(script, a, b, c)
    if isinstance(a, Layout) and isinstance(b, Swizzle):
        return _through(script, a, b)
    if isinstance(a, Layout) and isinstance(b, ComposedLayout):
        if b.offset:
            script.stop(f"B begins at offset {b.offset}: only a swizzle from 0 on can be moved")
        with script.within(f"A with the swizzle of B, {b.swizzle}"):
            outer = _through(script, a, b.swizzle)
        return beneath(tell_composition)(script, outer, b.layout)
    return beneath(tell_composition)(script, a, b)


def _of_a_swizzle(script: Script, a: Swizzle, b: Any, c: Any) -> Any:
    if isinstance(b, Swizzle):
        script.say(
            f"A reads the bits {a.yyy_mask:#b} and changes {a.zzz_mask:#b}, "
            f"B reads {b.yyy_mask:#b} and changes {b.zzz_mask:#b}"
        )
        out = swizzled.composition(a, b)
        script.say("bits that both read, or both change, cancel; what is left is a swizzle", out)
        return out
    offset, inner = (0, b) if c is None else (b, c)
    out = swizzled.composition(a, offset, inner)
    if a.bits:
        script.say(f"{a} acts on the offsets of {inner}, {offset} added: it stays outside", out)
    else:
        script.say(f"{a} changes no bits", out)
    return out


def _through(script: Script, a: Layout, b: Swizzle) -> ComposedLayout:
    script.say(f"{b} reads the bits {b.yyy_mask:#b} of an index and changes {b.zzz_mask:#b}")
    out: Any = swizzled.composition(a, b)
    script.say(
        f"{a} moves them to the bits {out.swizzle.yyy_mask:#b} and {out.swizzle.zzz_mask:#b} of an "
        "offset, and all others as they are: a swizzle of its offsets does the same",
        out,
    )
    return out


def through_inverse(tell: Teller, invert: Callable[[Layout], Layout]) -> Teller:
    """Tell an inverse: of a swizzled layout, the inverse beneath, read through the swizzle."""

    def told(script: Script, layout: Any) -> Any:
        if not isinstance(layout, ComposedLayout):
            return tell(script, layout)
        if layout.offset:
            script.stop(f"the layout begins at offset {layout.offset}, not at 0")
        with script.within(f"beneath the swizzle, {layout.layout}"):
            tell(script, layout.layout)
        script.say(f"{layout.swizzle} undoes itself: the inverse is composed with it")
        return _through(script, invert(layout.layout), layout.swizzle)

    return told
