"""Floor 6: how the elements of a message are dealt out to 16 work-items."""

from __future__ import annotations

from pycute_xe.algebra import composition
from pycute_xe.algebra.simplify import flat_modes, from_modes, merged, scaled
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.errors import DivisibilityError
from pycute_xe.layout import Layout, make_layout
from pycute_xe.typing import Mode

__all__ = ["dealt", "widened"]


def widened(layout: Layout, n: int) -> Layout:
    """Split each element into ``n`` neighbours: a new fastest mode, everything else scaled."""
    return make_layout(Layout(n), scaled(layout, n)) if n > 1 else layout


def dealt(order: Layout, count: int) -> Layout:
    """Deal register elements out, element ``i`` to work-item ``i mod 16`` as value ``i div 16``."""
    lanes = Layout((SUBGROUP, count // SUBGROUP))
    try:
        return composition(order, lanes)
    except DivisibilityError:
        # No layout deals this block out. CUTLASS's traits still have one, which reaches past the
        # block; it is kept, so that `faithful` and `notes` can tell.
        return make_layout(composition(order, lanes[0]), _overshooting(order, lanes[1]))


def _overshooting(order: Layout, values: Layout) -> Layout:
    """Walk ``order`` in steps as CuTe does where its divisibility checks are off."""
    left, step = values.shape, values.stride
    *inner, (_, last) = merged(flat_modes(order))
    out: list[Mode] = []
    for extent, stride in inner:
        reach = min(-(-extent // step), left) if step < extent else 1
        if left % reach:
            condition = f"{left} values in steps of {step} do not walk evenly through {extent}"
            raise DivisibilityError("make_copy_atom", {"order": order}, condition)
        if reach > 1:
            out.append((reach, step * stride))
            left //= reach
        step = -(-step // extent)
    return from_modes([*out, (left, step * last)])
