"""Floor 6: what a user of an older copy operation should know, in words."""

from __future__ import annotations

from pycute_xe.atom.block2d_name import Block2DName

__all__ = ["notes_of"]

_SIDES = {
    "one value": "a single value",
    "contiguous": "as many elements as a work-item holds, from the start of the block",
    "rows first": "the values of a work-item, rows before groups of columns",
}


def notes_of(name: Block2DName) -> tuple[str, ...]:
    """Return what CUTLASS does under this name that its document does not say."""
    rule = "the layouts here follow the documented ownership"
    notes: list[str] = []
    if not name.shipped:
        notes.append("CUTLASS ships no operation of this name")
    elif name.traits == "none":
        notes.append(f"CUTLASS ships it without Copy_Traits; {rule}")
    elif name.traits == "unusable":
        notes.append(f"CUTLASS's Copy_Traits of it do not compile; {rule}")
    if name.says("traits_say"):
        notes.append(f"CUTLASS's traits {name.says('traits_say')}; {rule}")
    if name.says("dealt") == "sides swapped":
        notes.append(
            "CUTLASS's traits read the block with its sides exchanged; the layouts equal "
            "them, ownership() is the documented one"
        )
    if name.says("dealt") == "by eight":
        notes.append(
            "CUTLASS's traits deal eight columns of two rows at a time, not one column to a "
            "work-item; layouts and ownership() equal them"
        )
    if name.mode == "V" and name.bits >= 32:
        notes.append("VNNI packs nothing from 32 bits on: use LD_N")
    if name.mode == "T":
        shape = "x".join(map(str, name.memory_shape))
        notes.append(f"rows x columns of its name count {name.counts}: {shape} in memory")
    if name.says("memory_side"):
        notes.append(
            "CUTLASS's traits list other elements for the memory side, which no work-item "
            f"owns: {_SIDES[str(name.says('memory_side'))]}"
        )
    return tuple(notes)
