"""Drawings of LSC messages, against the machine on memory that holds its own numbers."""

from __future__ import annotations

import numpy as np
import pytest
from every import every

import pycute_xe as cx
from pycute_xe.arch.lsc import Block2DMessage, Message, parse
from pycute_xe.drawing.scene import Panel
from pycute_xe.drawing.values import of_lsc
from pycute_xe.errors import ShapeError
from pycute_xe.machine import Memory, RegisterFile
from pycute_xe.machine.lsc import execute

LOADS = [
    "lsc_load.ugm (M1,16) V4:d32x2 flat[V1]:a64",
    "lsc_load.ugm (M1,32) V4:d64 flat[V1]:a64",
    "lsc_load.ugm (M1,8) V4:d32x3 flat[V1]:a64",
    "lsc_load.ugm (M1,32) V4:d8 flat[V1]:a64",
    "lsc_load.ugm (M1,16) V4:d16 flat[V1]:a64",
    "lsc_load.ugm (M1,16) V4:d16u32 flat[V1]:a64",
    "lsc_load.ugm (M1,1) V4:d32x16t flat[V1]:a64",
    "lsc_load.ugm (M1,1) V4:d64x3t flat[V1]:a64",
    "lsc_load_quad.ugm (M1,16) V4:d32.xzw flat[V1]:a64",
    "lsc_load_strided.ugm (M1,16) V4:d32x2 flat[V1]:a64",
]


def panels(message: Message | Block2DMessage) -> dict[str, Panel]:
    return {panel.name: panel for panel in of_lsc(message).panels}


@every("text", LOADS)
def test_what_is_drawn_is_what_is_loaded(text: str) -> None:
    """Each element in memory is its number in the drawing, from 1 on; nothing else is written."""
    message = parse(text)
    assert isinstance(message, Message)
    data = message.data
    kind, wide = np.dtype(f"u{data.memory_bits // 8}"), np.dtype(f"u{data.register_bits // 8}")
    step = 4 if data.mask else data.vector
    numbers = np.zeros((message.exec_size, step), dtype=kind)
    drawn = panels(message)
    for cell in drawn["at the addresses"].cells:
        if not cell.is_padding:
            numbers[cell.row, cell.col] = int(cell.label) + 1
    count = message.exec_size * data.elements
    assert sorted(numbers[numbers > 0].tolist()) == list(range(1, count + 1))
    memory, registers = Memory(), RegisterFile(128 * 64)
    base = memory.place(numbers)
    starts = base + np.arange(message.exec_size, dtype=np.uint64) * np.uint64(step * kind.itemsize)
    registers.write(0, starts.view(np.uint8))
    used = message.registers("pvc") * 64
    registers.write(64 * 64, np.zeros(used, dtype=np.uint8))
    execute(message, memory=memory, registers=registers, operands={"V1": 0, "V4": 64 * 64})
    held = registers.read(64 * 64, used, "the test").view(wide).reshape(-1, 64 // wide.itemsize)
    cells = drawn["in registers"].cells
    assert len(cells) == held.size
    for cell in cells:
        value = int(held[cell.row, cell.col])
        assert cell.label == ("·" if not value else str(value - 1))


def test_channels_keep_their_colour() -> None:
    for panel in panels(parse(LOADS[0])).values():
        assert {c.colour for c in panel.cells if ("channel", 3) in c.data} == {3}


def test_the_caption_says_what_numbers_and_colours_are() -> None:
    few, many = (of_lsc(parse(text)).caption[-1] for text in LOADS[:2])
    assert few == "Numbers count elements, channel by channel; colours are channels."
    assert many == "Numbers count elements, channel by channel; colours are channels modulo 16."


def test_what_reaches_no_register() -> None:
    prefetch = parse("lsc_load.ugm (M1,16) %null:d32 flat[V1]:a64")
    assert list(panels(prefetch)) == ["at the addresses"]
    assert "to the caches" in of_lsc(prefetch).caption[0]


def test_status_and_counters() -> None:
    status = panels(parse("lsc_load_status.ugm (M1,16) V4:d32 flat[V1]:a64"))["in registers"]
    assert [c.label for c in status.cells] == [*map(str, range(16)), *"·" * 16]
    counter = panels(parse("lsc_apndctr_atomic_add.ugm (M1,16) V4:d32 bti(4) V5"))
    assert [c.label for c in counter["in memory"].cells] == ["counter"]
    assert len(counter["in registers"].cells) == 16


def test_a_block_is_drawn_as_its_block() -> None:
    block = parse("lsc_load_block2d.ugm V9:d16.2x16x4nt flat[V1,V2,V3,V4,V5,V6]")
    assert isinstance(block, Block2DMessage)
    mine, its = cx.draw(block), cx.draw(block.block)
    assert mine.title == str(block)
    assert mine.scene.panels == its.scene.panels


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ShapeError, match="a prefetch reaches no register"):
        cx.draw(parse("lsc_load_block2d.ugm %null:d16.8x8 flat[V1,V2,V3,V4,V5,V6]"))
    with pytest.raises(ShapeError, match="leave what out"):
        cx.draw(parse(LOADS[0]), "A")
    for text in (LOADS[0], f"  {LOADS[0]}"):
        assert cx.draw(text) == cx.draw(parse(LOADS[0]))
