"""What differs between two tensors under layouts of other projects: bases and owners."""

from __future__ import annotations

from pycute_xe.comparing.changes import NAMES, Change, Difference, Row
from pycute_xe.dialects import Distributed

__all__ = ["differing_tensors"]

_EXAMPLES = 3


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
        owners = (("tensor", _change(one, other)),)
        return Difference("tensor", before, after, tuple(rows), owners=owners, notes=notes)
    return Difference("tensor", before, after, tuple(rows), notes=notes)


def _change(one: Distributed, other: Distributed) -> Change:
    """How owners change; a work-item counts through its subgroups."""
    work_item = value = repeats = 0
    examples = list[tuple[tuple[int, ...], tuple[int, int], tuple[int, int]]]()
    for element, owners in sorted(one.by_element.items()):
        before, after = _owners(one, owners), _owners(other, other.by_element[element])
        if before == after:
            continue
        examples.append((element, before[0], after[0]))
        if before[0][0] != after[0][0]:
            work_item += 1
        elif before[0] != after[0]:
            value += 1
        else:
            repeats += 1
    count = len(one.by_element)
    return Change(count, work_item, value, 0, tuple(examples[:_EXAMPLES]), repeats)


def _subgroups(tensor: Distributed, element: tuple[int, ...]) -> set[int]:
    return {subgroup for subgroup, _, _ in tensor.owners(element)}


def _owners(
    tensor: Distributed, owners: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, int], ...]:
    return tuple((s * tensor.lanes + t, v) for s, t, v in owners)
