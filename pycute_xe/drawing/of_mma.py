"""The operands of an MMA atom, a tiled MMA or a kernel, as a scene."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from pycute_xe.arch.registers import RegisterMap
from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom import MmaAtom, TiledCopy, TiledMma, is_identity, make_tiled_mma
from pycute_xe.atom.mma_atom import Operand
from pycute_xe.atom.tiled_mma import OPERAND_MODES
from pycute_xe.drawing.accounts import Accounts, agreement
from pycute_xe.drawing.images import (
    Image,
    Place,
    Slot,
    multiplied,
)
from pycute_xe.drawing.scene import MARKS, Cell, Panel, Scene, demand_room, make_panel, owned
from pycute_xe.errors import CoordError, ShapeError
from pycute_xe.kernel import Kernel
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric

__all__ = ["check_subgroup", "of_kernel", "of_mma_atom", "of_tiled_mma"]

# Where each operand stands in the picture of all three.
SLOTS = {"A": (0, 1), "B": (1, 0), "C": (1, 1)}


def of_mma_atom(atom: MmaAtom, what: str | None) -> Scene:
    """Return the operands of one DPAS as registers hold them, or all that is known of one."""
    m, n, k = atom.shape_mnk
    names = _names(what, "ABC")
    if what is not None:
        return _operand(atom, names[0])
    mma = make_tiled_mma(atom)
    title = f"{_title(names)} (D lies as C) of {atom}"
    caption = [
        f"One instruction, {atom.op}: D[{m},{n}] = A[{m},{k}] B[{k},{n}] + C[{m},{n}].",
        *(_fragment_line(name, _type(mma, name), size(_dealt(atom, name)[1])) for name in names),
        *(f"Note: drawn as registers hold it; {note}." for note in atom.notes),
    ]
    return Scene(title, tuple(caption), tuple(_panel(mma, name, 0, len(names)) for name in names))


def _operand(atom: MmaAtom, name: str) -> Scene:
    """One operand as a matrix, in registers and in work-items: what is said, and what is done."""
    m, n, k = atom.shape_mnk
    operand = cast("Operand", name)
    places, picture = atom.ownership(operand), atom.registers(operand)
    accounts = Accounts(
        name,
        atom.operand_shape(operand),
        places,
        picture,
        atom.faithful_units(operand),
        _axes(name),
        lambda place: _element(name, _drawn(name, place)),
        _axes(name),
    )
    values = size(_dealt(atom, name)[1])
    caption = [
        f"One instruction, {atom.op}: D[{m},{n}] = A[{m},{k}] B[{k},{n}] + C[{m},{n}].",
        _fragment_line(name, atom.operand_type(operand), values),
        *agreement(accounts),
        *(f"Note: {note}." for note in atom.notes),
    ]
    panels = accounts.panels()
    return Scene(f"{_title(name)} of {atom}", tuple(caption), panels)


def of_tiled_mma(mma: TiledMma, what: str | None, subgroup: int) -> Scene:
    """Return a subgroup's share of the operands, or of one of them, in registers."""
    names = _names(what, "ABC")
    check_subgroup(mma, subgroup)
    title = f"{_title(names)} of subgroup {subgroup}"
    _demand_room(title, mma, names)
    caption = [
        _share(mma),
        *(_registers(name, _type(mma, name), mma) for name in names),
        _instructions(mma, names),
    ]
    panels = tuple(_panel(mma, name, subgroup, len(names)) for name in names)
    return Scene(title, tuple(caption), panels)


def of_kernel(kernel: Kernel, what: str | None, subgroup: int) -> Scene:
    """Return what a subgroup's registers hold when the kernel's MMA reads or writes them."""
    asked = "C" if what == "D" else what
    names = _names(asked, "ABC")
    check_subgroup(kernel.mma, subgroup)
    shown = what or "".join(names)
    title = f"{_title(shown)} of {kernel.name}, subgroup {subgroup}"
    _demand_room(title, kernel.mma, names)
    caption: list[str] = [_share(kernel.mma)]
    panels: list[Panel] = []
    for name in names:
        panel, lines = _image_panel(kernel, name, what or name, subgroup, len(names))
        panels.append(panel)
        caption += lines
    caption.append(_instructions(kernel.mma, names))
    return Scene(title, tuple(caption), tuple(panels))


def _demand_room(title: str, mma: TiledMma, names: Iterable[str]) -> None:
    """Refuse a share with more elements than a drawing has cells, before any is looked at."""
    demand_room(title, sum(16 * size(mma.fragment(name)[1]) for name in names))


def _image_panel(
    kernel: Kernel, name: str, shown: str, subgroup: int, count: int
) -> tuple[Panel, list[str]]:
    mma = kernel.mma
    lines = [_registers(shown, _type(mma, name), mma)]
    if name == "C":
        lines += [
            f"Stored by {memory.copy.messages} × {memory.copy.op}: {memory.copy.op.message}."
            for s in kernel.statements()
            if (memory := s.touched.memory) is not None and memory.overwrites
        ]
        return _panel(mma, name, subgroup, count, shown), lines
    from pycute_xe.drawing.operand_image import operand_image

    image, fragment = operand_image(kernel, name, subgroup)
    lines += _loaded(kernel, name, fragment)
    cells = _judged(mma, name, image, list(multiplied(mma, name, subgroup)))
    wrong = sum(cell.wrong for cell in cells)
    if wrong:
        lines.append(f"WRONG: {wrong} elements are not where the MMA multiplies them ({MARKS}).")
    return _as_panel(name, cells, count), lines


def _loaded(kernel: Kernel, name: str, fragment: str) -> list[str]:
    """Say by which messages an operand came into a fragment, and through which reorder."""
    moves = (s.touched.move for s in kernel.statements())
    source, slots = next(
        (
            (move.source, layout)
            for move in moves
            if move is not None
            and move.destination == fragment
            and (layout := move.permutation) is not None
        ),
        (fragment, None),
    )
    out: list[str] = []
    for s in kernel.statements():
        memory = s.touched.memory
        if memory is not None and memory.fills and memory.fragment == source:
            copy = memory.copy
            out.append(f"{name} loaded by {copy.messages} × {copy.op}: {copy.op.message}.")
    if slots is not None and not is_identity(slots):
        out.append(f"Then reordered from {source} to {fragment} by {slots}.")
    return out


def _judged(mma: TiledMma, name: str, image: Image, wanted: list[Slot]) -> list[Cell]:
    """Cells of what is held, marked where the MMA takes it for another element, and the holes."""
    numeric = _type(mma, name)
    owner = _owners(image, numeric)
    means = {slot.element: slot for slot in wanted}
    cells: list[Cell] = []
    for element, place in image.items():
        slot = means.get(element)
        wrong = ""
        if slot is None or slot.place != place:
            taken = _element(name, slot.place) if slot else "nothing"
            wrong = f"the MMA takes it for {taken}"
        group = slot.group if slot else -1
        cells.append(_cell(name, place, owner(element), element, numeric, group, wrong))
    missing = {slot.place for slot in wanted} - set(image.values())
    cells += [_hole(name, place) for place in sorted(missing)]
    return cells


def _panel(mma: TiledMma, name: str, subgroup: int, count: int, shown: str = "") -> Panel:
    numeric = _type(mma, name)
    slots = list(multiplied(mma, name, subgroup))
    owner = _owners({slot.element: slot.place for slot in slots}, numeric)
    cells = [
        _cell(shown or name, s.place, owner(s.element), s.element, numeric, s.group, "")
        for s in slots
    ]
    return _as_panel(name, cells, count, shown)


def _as_panel(name: str, cells: Iterable[Cell], count: int, shown: str = "") -> Panel:
    rows, cols = _axes(name)
    slot = SLOTS[name] if count > 1 else (0, 0)
    return make_panel(shown or name, cells, (rows, cols), slot=slot)


def _owners(image: Image, numeric: Numeric) -> Callable[[int], tuple[int, int]]:
    """Who owns a register element: element i is with work-item i mod 16."""
    return RegisterMap(Layout(max(image) + 1), numeric.bits).owner


def _cell(
    name: str,
    place: Place,
    owner: tuple[int, int],
    element: int,
    numeric: Numeric,
    group: int,
    wrong: str,
) -> Cell:
    what = _element(name, place)
    return owned(_drawn(name, place), owner, element * numeric.bits // 8, what, group, wrong)


def _hole(name: str, place: Place) -> Cell:
    row, col = _drawn(name, place)
    tip = f"no work-item holds {_element(name, place)}"
    return Cell(row, col, None, ("–",), (("row", row), ("col", col)), tip, -2, wrong=True)


def _drawn(name: str, place: Place) -> Place:
    """B is drawn as the matrix it is, K down and N across; CuTe's coordinate is (n, k)."""
    return (place[1], place[0]) if name == "B" else place


def _axes(name: str) -> tuple[str, str]:
    modes = ["mnk"[mode] for mode in OPERAND_MODES[name]]
    rows, cols = reversed(modes) if name == "B" else modes
    return rows, cols


def _element(name: str, place: Place) -> str:
    """Name an element by its matrix indices."""
    operand = "C" if name == "D" else name
    row, col = _drawn(operand, place)
    rows, cols = _axes(operand)
    return f"{name}[{rows}={row}, {cols}={col}]"


def _type(mma: TiledMma, name: str) -> Numeric:
    return getattr(mma.atom.op, name)


def _dealt(atom: MmaAtom, name: str) -> Layout:
    return getattr(atom, f"tv_layout_{name}")


def _share(mma: TiledMma) -> str:
    tile = f"the {_by(mma.tile_mnk)} tile"
    if mma.num_subgroups == 1:
        return f"One subgroup has all of {tile}."
    return f"The share of one of {mma.num_subgroups} subgroups in {tile}."


def _registers(name: str, numeric: Numeric, mma: TiledMma) -> str:
    return _fragment_line(name, numeric, size(mma.fragment("C" if name == "D" else name)[1]))


def _fragment_line(name: str, numeric: Numeric, values: int) -> str:
    nbytes = 16 * values * numeric.bits // 8
    count = -(-nbytes // grf_bytes())
    registers = f"{count} register{'s' if count > 1 else ''} of {grf_bytes()} bytes"
    return f"{name} in {numeric}: {values} values for each of 16 work-items, {registers}."


def _instructions(mma: TiledMma, names: Iterable[str]) -> str:
    m, n, k = mma.atom.shape_mnk
    extents = {"A": (m, k), "B": (k, n), "C": (m, n)}
    sizes = ", ".join(f"{_by(extents[name])}" for name in names)
    return f"Frames: what one {mma.atom} takes ({sizes})."


def _by(extents: Iterable[int]) -> str:
    return " × ".join(map(str, extents))


def _title(names: Iterable[str]) -> str:
    listed = list(names)
    if len(listed) == 1:
        return f"Who holds {listed[0]}"
    return f"Who holds {', '.join(listed[:-1])} and {listed[-1]}"


def _names(what: str | None, known: str) -> tuple[str, ...]:
    if what is None:
        return tuple(known)
    if what not in known or len(what) != 1:
        raise ShapeError("draw", {"what": what}, "unknown operand", f"one of {', '.join(known)}")
    return (what,)


def check_subgroup(x: TiledMma | TiledCopy, subgroup: int) -> None:
    """Raise `CoordError` for a subgroup that does not exist."""
    count = x.num_subgroups
    if not 0 <= subgroup < count:
        condition, fix = f"there are {count} subgroups", f"use 0 to {count - 1}"
        raise CoordError("draw", {"subgroup": subgroup}, condition, fix)
