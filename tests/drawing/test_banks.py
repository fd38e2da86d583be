from __future__ import annotations

from xml.etree import ElementTree

import pytest
from svg_cells import SVG

import pycute_xe as cx
from pycute_xe.arch.banks import Banks


@pytest.mark.parametrize("pitch", [4, 64, 68, 256])
def test_each_word_is_in_its_bank_and_turns_are_as_many_as_counted(pitch: int) -> None:
    use = Banks(16, 4).use(range(0, 16 * pitch, pitch), 4)
    root = ElementTree.fromstring(cx.draw(use).svg)
    cells = [g for g in root.iter(f"{SVG}g") if g.get("data-address") is not None]
    assert {int(g.get("data-address", "")) for g in cells} == set(range(0, 16 * pitch, pitch))
    for cell in cells:
        address, bank = int(cell.get("data-address", "")), int(cell.get("data-bank", ""))
        assert address // 4 % 16 == bank
    turns = {int(g.get("data-turn", "")) for g in cells}
    assert turns == set(range(use.turns))


def test_idle_banks_are_shown() -> None:
    drawing = cx.draw(Banks(16, 4).use([0, 64], 4))
    assert drawing.svg.count("is not used") == 15
    assert "2 words in 2 turns of 16 banks, 1 lost, in bank 0" in drawing.text(80, colour=False)


def test_words_are_named_by_their_byte_address() -> None:
    (panel,) = cx.draw(Banks(16, 4).use([0, 8, 68], 4)).scene.panels
    assert {cell.label for cell in panel.cells} == {"0", "8", "68", ""}
