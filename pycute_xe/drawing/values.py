"""The scene of every value but layouts: messages, atoms, tilings, plans, kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from pycute_xe.analysing import Analysis
from pycute_xe.arch import Block2D
from pycute_xe.arch.banks import BankUse
from pycute_xe.arch.lsc import Block2DMessage, Message
from pycute_xe.arch.lsc.fields import data_registers
from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom import MmaAtom, TiledCopy, TiledMma
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.bulk import entries
from pycute_xe.cutlass import as_atom
from pycute_xe.dialects import Distributed
from pycute_xe.drawing.images import Place, multiplied
from pycute_xe.drawing.of_access import of_analysis, of_banks
from pycute_xe.drawing.of_copy import of_copy_atom, of_tiled_copy
from pycute_xe.drawing.of_mma import of_kernel, of_mma_atom, of_tiled_mma
from pycute_xe.drawing.of_rows import no_product, no_tables, of_rows
from pycute_xe.drawing.of_tensor import of_tensor
from pycute_xe.drawing.scene import (
    Arrow,
    Cell,
    Panel,
    Pictured,
    Scene,
    make_panel,
    no_parts,
)
from pycute_xe.drawing.zooms import of_permutation, of_zooms
from pycute_xe.errors import ShapeError, quoted, with_article
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.ir.listing import renamings
from pycute_xe.kernel.schedules import Plan, Slot, Timeline, timeline

__all__ = ["of_block2d", "of_lsc", "of_reorder", "of_schedule", "scene_of"]

# ------------------------------------------------------------ of block2d
# A block-2D message: its elements in memory, in registers and in work-items.

_Inside = Callable[[int, int], bool]


def of_block2d(message: Block2D, inside: _Inside | None = None) -> Scene:
    """Return a message's elements in memory, in registers and in work-items, below each other.

    Cells carry the number of the element in memory, row by row over all blocks, and have one
    colour for each row of memory. ``inside`` says of (x, y) in the block whether the surface has
    that element; what it has not is a dash, what pads rows and blocks a dot, both without colour.
    Raises `ShapeError` for a prefetch, which reaches no register, and for too many cells.

    >>> scene = of_block2d(Block2D("load", 16, 2, 12))
    >>> [panel.name for panel in scene.panels], len(scene.panels[1].cells)
    (['in memory', 'in registers', 'in work-items'], 32)
    """
    if message.op == "prefetch":
        raise ShapeError(
            "draw", {"x": str(message)}, "a prefetch reaches no register", "draw the load"
        )
    map_ = message.register_map
    drawn = _Elements(message, inside)
    per_register = grf_bytes() // message.element_bytes
    slots = range(map_.elements)
    elements = [map_.element(slot % map_.lanes, slot // map_.lanes) for slot in slots]
    registers = [drawn.cell(divmod(slot, per_register), elements[slot]) for slot in slots]
    lanes = [drawn.cell(divmod(slot, map_.lanes), elements[slot]) for slot in slots]
    filled, padding = map_.elements // per_register, drawn.padding(elements)
    count = f"{drawn.wide * message.height} elements of {message.bits} bits"
    lacks = "" if inside is None else "; what the surface lacks is a dash"
    caption = (
        f"{count} fill {filled} registers; {padding} slots are padding (dots).",
        f"Numbers count elements in memory, row by row; colours are its rows{lacks}.",
    )
    return Scene(
        str(message),
        caption,
        (
            drawn.memory(),
            make_panel("in registers", registers, ("register", "element"), False, (0, 1)),
            make_panel("in work-items", lanes, ("value", "work-item"), False, (0, 2)),
        ),
        legend_title="",
        legend=(),
    )


class _Elements:
    """The cells of a message's elements, wherever they are drawn."""

    def __init__(self, message: Block2D, inside: _Inside | None) -> None:
        self.message = message
        self.inside = inside
        self.wide = message.width * message.count

    def memory(self) -> Panel:
        places = ((y, x) for y in range(self.message.height) for x in range(self.wide))
        cells = [self.cell((y, x), y * self.wide + x) for y, x in places]
        return make_panel("in memory", cells, ("row", "column"), framed=False)

    def cell(self, place: tuple[int, int], number: int | None) -> Cell:
        """One slot: an element by its number, or padding."""
        y, x = divmod(number, self.wide) if number is not None else (self.message.height, 0)
        if number is None or y >= self.message.height:
            return Cell(*place, None, ("·",), tip="padding")
        if self.inside is not None and not self.inside(x, y):
            return Cell(*place, None, ("–",), tip=f"({y}, {x}) is outside the surface")
        data = (("row", place[0]), ("col", place[1]), ("number", number))
        return Cell(*place, 5 * y % 16, (str(number),), data, f"row {y}, column {x} in memory")

    def padding(self, elements: list[int | None]) -> int:
        """Slots that hold no element of the block."""
        last = self.wide * self.message.height
        return sum(number is None or number >= last for number in elements)


# ------------------------------------------------------------ of lsc
# An LSC message: what its channels move, at their addresses and in registers.

_STATUS_BITS = 32
_XYZW = "xyzw"


def of_lsc(message: Message | Block2DMessage) -> Scene:
    """Return what a message moves: a row for each channel, and the registers of its data.

    Elements are numbered channel by channel, and have one colour for each channel. What pads
    registers, and what a quad leaves out, is a dot. Of an atomic the old values are shown, of a
    prefetch memory alone; a block-2D message is drawn as its block.
    Raises `ShapeError` for a block-2D prefetch, and for too many cells.

    >>> from pycute_xe.arch.lsc import parse
    >>> scene = of_lsc(parse("lsc_load.ugm (M1,16) V13:d32x2 flat[V12]:a64"))
    >>> [(panel.name, len(panel.cells)) for panel in scene.panels]
    [('at the addresses', 32), ('in registers', 32)]
    """
    if isinstance(message, Block2DMessage):
        return replace(of_block2d(message.block), title=str(message))
    panels = [_memory(message)]
    if message.op == "load_status":
        if message.dst is not None:
            panels.append(_status(message))
    elif message.dst is not None or message.src1 is not None:
        panels.append(_registers(message))
    return Scene(str(message), _caption(message), tuple(panels), legend_title="", legend=())


def _caption(message: Message) -> tuple[str, ...]:
    data, channels = message.data, message.exec_size
    if message.operation.kind == "counter":
        return (f"{channels} channels one after another, on the counter of {message.address}.",)
    numbers = "Numbers count elements, channel by channel; colours are channels"
    numbers += " modulo 16." if channels > 16 else "."
    if message.op == "load_status":
        asks = f"{channels} channels ask whether memory is behind their addresses: a bit each."
        return asks, numbers
    moved = channels * data.elements
    way = {"load": "to", "store": "from"}.get(message.operation.kind, "and")
    place = "the caches" if message.prefetch else "registers"
    return f"{moved} elements of {data.memory_bits} bits, {way} {place}.", numbers


def _memory(message: Message) -> Panel:
    """A row for each channel: its elements in the order of memory."""
    data = message.data
    if message.operation.kind == "counter":
        tip = "the counter, which all channels change one after another"
        return make_panel(
            "in memory", [Cell(0, 0, None, ("counter",), (), tip)], ("surface", "dword"), False
        )
    index_of = {place: index for index, place in enumerate(data.channels)}
    columns = 4 if data.mask else data.vector
    cells: list[Cell] = []
    for channel in range(message.exec_size):
        for column in range(columns):
            if column in index_of:
                cells.append(_lsc_cell(message, (channel, column), channel, index_of[column]))
            else:
                cells.append(
                    Cell(channel, column, None, ("·",), tip=f"{_XYZW[column]} is left out")
                )
    names = ("channel", "element, at the channel's address")
    return make_panel("at the addresses", cells, names, framed=False)


def _registers(message: Message) -> Panel:
    """Each element of the data operand, register by register."""
    data = message.data
    size = data.register_bits // 8
    registers = data_registers(data, message.exec_size, "pvc")
    if data.transpose:
        channel, element = registers // message.exec_size * grf_bytes(), size
    else:  # components follow each other, each in whole registers
        channel, element = size, registers // data.elements * grf_bytes()
    pairs = product(range(message.exec_size), range(data.elements))
    places = {(n * channel + v * element) // size: (n, v) for n, v in pairs}
    per_register = grf_bytes() // size
    cells: list[Cell] = []
    for slot in range(registers * per_register):
        at = divmod(slot, per_register)
        if slot in places:
            cells.append(_lsc_cell(message, at, *places[slot]))
        else:
            cells.append(Cell(*at, None, ("·",), tip="padding"))
    return make_panel("in registers", cells, ("register", "element"), False, (0, 1))


def _status(message: Message) -> Panel:
    """One bit for each channel."""
    cells = [
        Cell(0, bit, bit % 16, (str(bit),), (("channel", bit),), f"whether channel {bit} is valid")
        if bit < message.exec_size
        else Cell(0, bit, None, ("·",), tip="zero")
        for bit in range(_STATUS_BITS)
    ]
    return make_panel("in registers", cells, ("dword", "bit"), False, (0, 1))


def _lsc_cell(message: Message, place: tuple[int, int], channel: int, element: int) -> Cell:
    number = channel * message.data.elements + element
    data = (("channel", channel), ("element", element), ("number", number))
    tip = f"channel {channel}, element {element}"
    return Cell(*place, channel % 16, (str(number),), data, tip)


# ------------------------------------------------------------ of reorder
# A reorder between registers, as arrows.


def of_reorder(kernel: Kernel, what: str | None, subgroup: int) -> Scene:
    """Return the first register that DPAS reads, and those that a reorder fills it from.

    Of a reorder that renames registers, the first one that comes from elsewhere.

    Raises `ShapeError` for another operand than A and B, and where a kernel does not reorder it.
    """
    products = (s.touched.product for s in kernel.statements())
    mma = next((product for product in products if product is not None), None)
    if what not in ("A", "B") or mma is None:
        raise ShapeError(
            "draw", {"what": what}, "the reorder of an operand of the MMA is drawn", "name A or B"
        )
    fragment = mma.a if what == "A" else mma.b
    moves = [
        (move.source, slots)
        for s in kernel.statements()
        if (move := s.touched.move) is not None
        and move.destination == fragment
        and (slots := move.permutation) is not None
    ]
    if not moves:
        raise ShapeError(
            "draw",
            {"what": what},
            f"{fragment} is loaded, not reordered",
            f'draw(kernel, "{what}")',
        )
    name, layout = moves[0]
    line, from_line = (
        grf_bytes() * 8 // kernel.fragment(n).value_type.bits for n in (fragment, name)
    )
    places = {s.element: s.place for s in multiplied(mma.mma, what, subgroup)}
    slots = entries(layout)
    order = sorted(range(len(slots)), key=slots.__getitem__)
    whole = [order[i : i + line] for i in range(0, len(order), line)]
    kept = [i for i, row in enumerate(whole) if row != list(range(i * line, (i + 1) * line))]
    number = kept[0] if kept else 0
    came_from = whole[number]
    rows = sorted({source // from_line for source in came_from})
    sources = {source: places[number * line + i] for i, source in enumerate(came_from)}
    before = _panel(
        name,
        what,
        (0, 0),
        from_line,
        [row * from_line + i for row in rows for i in range(from_line)],
        sources,
    )
    after = _panel(fragment, what, (0, 1), line, [number * line + i for i in range(line)], places)
    arrows = _arrows(came_from, {row: i for i, row in enumerate(rows)}, from_line)
    caption = (
        f"Register {number} of {fragment}, as DPAS reads it, and where {name} has it.",
        f"Labels are {'m and k' if what == 'A' else 'k and n'}; colours are work-items.",
        f"The reorder is {layout}; {_cost(kernel, fragment)}.",
    )
    title = f"The reorder of {what} in {kernel.name}, subgroup {subgroup}"
    return Scene(title, caption, (before, after), arrows=arrows)


def _cost(kernel: Kernel, fragment: str) -> str:
    joined = renamings(kernel).get(fragment)
    if joined is None:
        return "it moves data from register to register"
    return "it moves nothing" if joined.moves_nothing else "it renames registers"


def _panel(
    name: str, what: str, slot: Place, line: int, elements: list[int], sources: dict[int, Place]
) -> Panel:
    cells: list[Cell] = []
    for element in elements:
        row, col = divmod(element, line)
        data = ("element", element), ("row", row), ("col", col)
        if element not in sources:
            cells.append(Cell(row, col, None, ("·",), data, f"element {element} of {name}"))
            continue
        place = sources[element][::-1] if what == "B" else sources[element]
        lane, words = element % 16, f"{what}[{place[0]}, {place[1]}]"
        tip = f"T{lane} holds {words} in register {row} of {name}"
        cells.append(Cell(row, col, lane, tuple(map(str, place)), data, tip, joint=","))
    return make_panel(name, cells, ("register", "element"), framed=False, slot=slot)


def _arrows(came_from: list[int], rows: dict[int, int], line: int) -> tuple[Arrow, ...]:
    """Return an arrow for the middle of each run of elements that stay side by side."""
    out: list[Arrow] = []
    start = 0
    for i in range(1, len(came_from) + 1):
        ends = i == len(came_from) or came_from[i] != came_from[i - 1] + 1
        if ends:
            middle = (start + i - 1) // 2
            source = came_from[middle]
            here = (0, rows[source // line], source % line)
            out.append((here, (1, 0, middle)))
            start = i
    return tuple(out)


# ------------------------------------------------------------ of schedule
# A plan drawn as a timeline: a row for each resident work-group, time to the right.

COLUMNS = 40
"""Columns at most: a longer plan has several steps in each."""


def of_schedule(x: Plan | Timeline) -> Scene:
    """Return the scene of a plan in time."""
    done = x if isinstance(x, Timeline) else timeline(x)
    if not done.slots:
        raise ShapeError(
            "draw", {"plan": done.plan}, "no work-group computes anything", "give the plan tiles"
        )
    step = -(-done.length // COLUMNS)
    numbers: dict[tuple[int, int, int], int] = {}
    for slot in sorted(done.slots, key=lambda s: s.piece.tile):
        numbers.setdefault(slot.piece.tile, len(numbers))
    cells = [
        _cell(slot, column, step, numbers[slot.piece.tile], group)
        for group, slot in enumerate(done.slots)
        for column in range(-(-slot.start // step), -(-slot.end // step))
    ]
    filled = {(cell.row, cell.col) for cell in cells}
    places = tuple(range(max(s.place for s in done.slots) + 1))
    columns = tuple(range(-(-done.length // step)))
    # Idle places are cells without a label, so that rows keep their length.
    idle = len(done.slots)
    cells += [
        Cell(row, col, None, ("·",), (("place", row),), f"place {row} is idle", idle + row)
        for row in places
        for col in columns
        if (row, col) not in filled
    ]
    axis = f"time, {step} tile{'s' * (step > 1)} of K each" if step > 1 else "time, in tiles of K"
    names = tuple(str(column * step) for column in columns)
    panel = Panel("", tuple(cells), places, columns, "work-group", axis, col_names=names)
    return Scene(str(done.plan), _in_words(done), (panel,), "tile", _legend(numbers))


def _cell(slot: Slot, column: int, step: int, tile: int, group: int) -> Cell:
    piece, waits = slot.piece, column * step >= slot.ready
    does = f"waits until {piece.needs} of K are added" if waits else f"computes {piece}"
    tip = f"work-group {slot.unit} {does} ({piece.role}), steps {slot.start} to {slot.end}"
    data = (("unit", slot.unit), ("tile", tile), ("start", piece.start), ("stop", piece.stop))
    label = "w" if waits else str(tile)
    return Cell(slot.place, column, None if waits else tile, (label,), data, tip, group)


def _in_words(done: Timeline) -> tuple[str, ...]:
    """Say how long it takes and how much of that is work."""
    stuck = f" {len(done.stuck)} wait for ever." if done.stuck else ""
    steps = (
        f"{done.length} steps on {done.resident} places, {done.busy:.0%} of them at work, "
        f"{done.waited} steps of waiting.{stuck}"
    )
    what = (
        "A number is a tile of the output, a frame one piece of its K, w a work-group that waits."
    )
    return steps, what


def _legend(numbers: dict[tuple[int, int, int], int]) -> tuple[str, ...]:
    few = [tile for tile, number in numbers.items() if number < 16]
    groups = len({group for group, _, _ in numbers}) > 1
    return tuple(f"{g}:({m},{n})" if groups else f"({m},{n})" for g, m, n in few)


# ------------------------------------------------------------ of any value


def scene_of(
    x: object,
    what: str | None,
    subgroup: int,
    view: str | None,
    tables: Mapping[str, Any] | None = None,
) -> Scene:
    """Return the scene of what is not a layout; arguments and errors are those of `draw`."""
    subject = as_atom(x)
    if tables is not None:
        if not isinstance(subject, Kernel) or view is not None:
            raise no_tables(x)
        return of_rows(subject, what, tables)
    if view is not None:
        return _viewed(subject, what, subgroup, view)
    if isinstance(subject, Kernel) and not any(s.touched.product for s in subject.statements()):
        raise no_product(subject)
    return _scene(subject, what, subgroup)


def _viewed(x: object, what: str | None, subgroup: int, view: str) -> Scene:
    match view, x:
        case "zooms", TiledMma() | TiledCopy():
            return of_zooms(x, what, subgroup)
        case "permutation", TiledMma():
            return of_permutation(x, what)
        case "reorder", Kernel():
            return of_reorder(x, what, subgroup)
        case _:
            raise ShapeError(
                "draw",
                {"x": type(x).__name__, "view": view},
                f"{with_article(type(x).__name__)} cannot be drawn as {quoted(view)}",
                'use "zooms" of a TiledMma or TiledCopy, "permutation" of a TiledMma, '
                '"reorder" of a Kernel',
            )


def _scene(x: object, what: str | None, subgroup: int) -> Scene:
    match x:
        case Kernel():
            return of_kernel(x, what, subgroup)
        case TiledMma():
            return of_tiled_mma(x, what, subgroup)
        case MmaAtom():
            return of_mma_atom(x, what)
        case CopyAnswers():
            return of_copy_atom(x, what)
        case _ if what is not None:
            raise no_parts(x, what)
        case TiledCopy():
            return of_tiled_copy(x, subgroup)
        case Distributed():
            return of_tensor(x)
        case (
            Plan() | Timeline() | BankUse() | Analysis() | Block2D() | Message() | Block2DMessage()
        ):
            return _instruction(x)
        case Pictured():
            return x.scene
        case _:
            raise _undrawn(x)


def _instruction(
    x: Plan | Timeline | BankUse | Analysis | Block2D | Message | Block2DMessage,
) -> Scene:
    match x:
        case Plan() | Timeline():
            return of_schedule(x)
        case BankUse():
            return of_banks(x)
        case Analysis():
            return of_analysis(x)
        case Block2D():
            return of_block2d(x)
        case Message() | Block2DMessage():
            return of_lsc(x)


def _undrawn(x: object) -> ShapeError:
    """Return the refusal of a value that cannot be drawn."""
    return ShapeError(
        "draw",
        {"x": type(x).__name__},
        f"{with_article(type(x).__name__)} cannot be drawn",
        "give a Kernel, TiledMma, MmaAtom, TiledCopy, copy atom, Block2D, LSC message, BankUse, "
        "plan, layout or tensor, or layouts by name",
    )
