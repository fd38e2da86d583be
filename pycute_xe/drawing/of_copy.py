"""Floor 9: copy atoms and tiled copies as a scene, laid out as in memory."""

from __future__ import annotations

from pycute_xe.arch.registers import RegisterMap
from pycute_xe.atom import CopyAtom, TiledCopy
from pycute_xe.drawing.images import copied
from pycute_xe.drawing.scene import Cell, Scene, make_panel, owned
from pycute_xe.errors import CoordError, CuteError
from pycute_xe.layout import Layout

__all__ = ["of_copy_atom", "of_tiled_copy"]


def of_copy_atom(atom: CopyAtom) -> Scene:
    """Return the block of one message: rows of memory, coloured by who gets what.

    Raises `CuteError` for a prefetch, which no work-item owns anything of.
    """
    _refuse_prefetch(atom)
    owner, order = atom.register_tv.owner, atom.register_tv.position
    bits = atom.value_type.bits
    cells: list[Cell] = []
    for offset in range(atom.width * atom.height):
        y, x = divmod(offset, atom.width)
        byte = order(offset) * bits // 8
        block = x // (atom.width // atom.op.block_count)
        cells.append(owned((y, x), owner(offset), byte, f"(x={x}, y={y})", block))
    frames = "Frames: blocks of the message." if atom.op.block_count > 1 else ""
    caption = [
        f"{atom.height} rows × {atom.width} values of {atom.value_type}, as they lie in memory.",
        f"One message: {atom.op.message}.",
        *_notes(atom),
        *([frames] if frames else []),
    ]
    panel = make_panel("", cells, ("y", "x"), framed=bool(frames))
    return Scene(f"Who holds the block of {atom.op}", tuple(caption), (panel,))


def of_tiled_copy(copy: TiledCopy, subgroup: int) -> Scene:
    """Return a subgroup's share of the tile, laid out as in memory.

    Raises `CuteError` for a prefetch and `CoordError` for a subgroup that does not exist.
    """
    _refuse_prefetch(copy.atom)
    if not 0 <= subgroup < copy.num_subgroups:
        raise CoordError(
            "draw", {"subgroup": subgroup}, f"there are {copy.num_subgroups} subgroups", "use 0"
        )
    bits = copy.value_type.bits
    slots = list(copied(copy, subgroup))
    owner = RegisterMap(Layout(1 + max(s.element for s in slots)), bits).owner
    cells: list[Cell] = []
    for s in slots:
        place = s.place[copy.y_mode], s.place[copy.x_mode]
        what = f"({s.place[0]}, {s.place[1]}) of the tile"
        cells.append(owned(place, owner(s.element), s.element * bits // 8, what, s.group))
    tile = " × ".join(map(str, copy.tiler_mn))
    verb = "stored" if copy.op.is_store else "loaded"
    share = f"The share of one of {copy.num_subgroups} subgroups in the {tile} tile"
    caption = [
        f"{share} of {copy.value_type}, rows as in memory.",
        f"It is {verb} by {copy.messages} × {copy.op}: {copy.op.message}.",
        *_notes(copy.atom),
        *(["Frames: messages."] if copy.messages > 1 else []),
    ]
    axes = f"y (mode {copy.y_mode})", f"x (mode {copy.x_mode}, contiguous)"
    panel = make_panel("", cells, axes, framed=copy.messages > 1)
    return Scene(f"Who holds what of a tiled copy, subgroup {subgroup}", tuple(caption), (panel,))


def _notes(atom: CopyAtom) -> list[str]:
    return [f"Note: {note}." for note in atom.notes]


def _refuse_prefetch(atom: CopyAtom) -> None:
    if atom.op.kind == "XE_PREFETCH_2D":
        raise CuteError(
            "draw",
            {"op": atom.op},
            "a prefetch puts nothing into registers, so nobody owns any of it",
            "draw the copy that it runs ahead of",
        )
