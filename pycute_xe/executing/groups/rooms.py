"""Floor 9: how many elements a work-item's registers have room for, fragment by fragment."""

from __future__ import annotations

from pycute_xe.kernel import AtomicStore, Kernel, Load, Store

__all__ = ["fragment_rooms"]


def fragment_rooms(kernel: Kernel) -> dict[str, int]:
    """Return the elements of each fragment, and of the padding that a load writes behind it."""
    rooms = {fragment.name: fragment.elements for fragment in kernel.fragments}
    for statement in kernel.statements():
        if isinstance(statement, (Load, Store, AtomicStore)):
            copy = statement.copy
            step, image = copy.atom.values * 16, copy.block.register_tv.elements
            room = (copy.messages - 1) * step + max(step, image)
            rooms[statement.fragment] = max(rooms[statement.fragment], room)
    return rooms
