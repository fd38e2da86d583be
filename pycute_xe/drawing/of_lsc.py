"""Floor 9: an LSC message: what its channels move, at their addresses and in registers."""

from __future__ import annotations

from dataclasses import replace

from pycute_xe.arch import grf_bytes
from pycute_xe.arch.lsc import Block2DMessage, Message
from pycute_xe.arch.lsc.sizes import data_registers
from pycute_xe.drawing.of_block2d import of_block2d
from pycute_xe.drawing.scene import Cell, Panel, Scene, make_panel

__all__ = ["of_lsc"]

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
    if message.op == "load_status":
        return (f"{channels} channels ask whether memory is behind their addresses: a bit each.",)
    moved = channels * data.elements
    way = {"load": "to", "store": "from"}.get(message.operation.kind, "and")
    place = "the caches" if message.prefetch else "registers"
    return (f"{moved} elements of {data.memory_bits} bits, {way} {place}.",)


def _memory(message: Message) -> Panel:
    """A row for each channel: its elements in the order of memory."""
    data = message.data
    if message.operation.kind == "counter":
        tip = "the counter, which all channels change one after another"
        return make_panel(
            "in memory", [Cell(0, 0, None, ("counter",), (), tip)], ("surface", "dword"), False
        )
    held = {place: index for index, place in enumerate(data.channels)}
    columns = 4 if data.mask else data.vector
    cells: list[Cell] = []
    for channel in range(message.exec_size):
        for column in range(columns):
            if column in held:
                cells.append(_cell(message, (channel, column), channel, held[column]))
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
        each = registers // message.exec_size * grf_bytes()
        places = {
            (n * each + v * size) // size: (n, v)
            for n in range(message.exec_size)
            for v in range(data.elements)
        }
    else:  # components follow each other, each in whole registers
        each = registers // data.elements * grf_bytes()
        places = {
            (v * each + n * size) // size: (n, v)
            for n in range(message.exec_size)
            for v in range(data.elements)
        }
    per_register = grf_bytes() // size
    cells: list[Cell] = []
    for slot in range(registers * per_register):
        at = divmod(slot, per_register)
        if slot in places:
            cells.append(_cell(message, at, *places[slot]))
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


def _cell(message: Message, place: tuple[int, int], channel: int, element: int) -> Cell:
    number = channel * message.data.elements + element
    data = (("channel", channel), ("element", element), ("number", number))
    tip = f"channel {channel}, element {element}"
    return Cell(*place, channel % 16, (str(number),), data, tip)
