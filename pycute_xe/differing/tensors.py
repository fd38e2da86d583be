"""What differs between two tensors under layouts of other projects: bases and owners."""

from __future__ import annotations

from collections.abc import Mapping

from pycute_xe.comparing.changes import (
    NAMES,
    Difference,
    Owner,
    Row,
    change_of_owners,
)
from pycute_xe.dialects import Distributed

__all__ = ["differing_tensors"]


def differing_tensors(one: Distributed, other: Distributed) -> Difference:
    """Return what differs between the owners of two tensors, element by element."""
    sides = one, other
    before, after = (type(side.encoding).__name__ for side in sides)
    rows = [
        Row("shape", "", *("x".join(map(str, side.shape)) for side in sides)),
        Row("sizes", "subgroups", *(side.subgroups for side in sides)),
        Row("sizes", "lanes", *(side.lanes for side in sides)),
        Row("sizes", "values", *(side.values for side in sides)),
        Row(NAMES, "", *(str(side.encoding) for side in sides)),
    ]
    notes: tuple[str, ...] = ()
    if one.shape == other.shape:
        moved = sum(_subgroups(one, e) != _subgroups(other, e) for e in one.by_element)
        if moved:
            notes = (f"{moved:,} elements change their subgroup",)
        owners = (("tensor", change_of_owners(_owners(one), _owners(other))),)
        return Difference("tensor", before, after, tuple(rows), owners=owners, notes=notes)
    return Difference("tensor", before, after, tuple(rows), notes=notes)


def _owners(tensor: Distributed) -> Mapping[tuple[int, ...], tuple[Owner, ...]]:
    """All owners of each element; a work-item counts through its subgroups."""
    return {
        element: tuple((s * tensor.lanes + t, v) for s, t, v in owners)
        for element, owners in tensor.by_element.items()
    }


def _subgroups(tensor: Distributed, element: tuple[int, ...]) -> set[int]:
    return {subgroup for subgroup, _, _ in tensor.owners(element)}
