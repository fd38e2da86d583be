"""Products of whole operands that several terms are elements of, computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycute_xe.executing.arrays.places import Axis, Field
from pycute_xe.executing.arrays.terms import Lifted
from pycute_xe.executing.arrays.values import Value, contract, gathered, has_points, is_finite
from pycute_xe.holding.nodes import Accumulated, Call, Leaf, Number
from pycute_xe.kernel.arrays import Array, Ints
from pycute_xe.numeric import Numeric

if TYPE_CHECKING:
    from pycute_xe.executing.arrays.evaluation import Evaluation, Run

__all__ = ["part_of_product", "product_of"]


def product_of(term: Lifted) -> tuple[str, str] | None:
    """Return the operands, each of two modes, of which a term is elements of a product."""
    if term.kind is not Accumulated or len(term.parts) != 2:
        return None
    start, body = term.parts[0], term.parts[1].parts[0]
    if start.kind is not Number or start.given[0] != 0 or body.kind is not Call:
        return None
    leaves = [part for part in body.parts if part.kind is Leaf and len(part.places) == 2]
    if body.given != ("mul", None) or len(leaves) != 2:
        return None
    return leaves[0].given[0], leaves[1].given[0]


def part_of_product(ev: Evaluation, term: Lifted) -> Value | None:
    """Return elements of the product of two whole operands, which is computed once."""
    inner, axis, tests = ev.inside(term.parts[1])
    leaves = term.parts[1].parts[0].parts
    ends: list[tuple[str, int, Ints]] = []
    for leaf in leaves:
        fields = [inner.place(place) for place in leaf.places]
        along = [i for i, place in enumerate(fields) if axis in place.axes]
        if len(along) != 1 or fields[along[0]].axes != (axis,):
            return None
        ends.append((leaf.given[0], along[0], fields[along[0]].over((axis,))))
    across = tuple(
        inner.place(leaf.places[1 - along])
        for leaf, (_, along, _) in zip(leaves, ends, strict=True)
    )
    shape = tuple(ev.run.memory[name].shape[1 - along] for name, along, _ in ends)
    inside = all(
        has_points(place) and place.range[0] >= 0 and place.range[1] < extent
        for place, extent in zip(across, shape, strict=True)
    )
    key = "product", term.given, tuple((name, along, at.tobytes()) for name, along, at in ends)
    if tests or (not inside and not _all_finite(ev.run, ends)):
        return None
    if key not in ev.run.known:
        ev.run.known[key] = _whole_product(ev.run, term.given, ends, shape)
    axes, found = gathered(ev.run.known[key], across)
    return Value(axes, found, term.given[0])


def _whole_product(
    run: Run, given: tuple[Numeric, int], ends: list[tuple[str, int, Ints]], shape: tuple[int, ...]
) -> Array:
    over = Axis(ends[0][2].size)
    values: list[Value] = []
    for (name, along, at), extent in zip(ends, shape, strict=True):
        line = Field(0, (((Axis(extent),), np.arange(extent)),))
        places = (Field(0, (((over,), at),)), line)
        array, numeric = run.wide(name)
        axes, found = gathered(array, places if along == 0 else places[::-1])
        values.append(Value(axes, found, numeric))
    numeric, step = given
    return contract(values[0], values[1], over, numeric, step or over.size or 1, None).array


def _all_finite(run: Run, ends: list[tuple[str, int, Ints]]) -> bool:
    for name, _, _ in ends:
        if ("finite", name) not in run.known:
            array, numeric = run.wide(name)
            run.known["finite", name] = is_finite(Value((), array, numeric))
    return all(run.known["finite", name] for name, _, _ in ends)
