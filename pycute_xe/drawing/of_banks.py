"""Floor 9: an access to shared local memory, bank by bank and turn by turn."""

from __future__ import annotations

from pycute_xe.arch.banks import BankUse
from pycute_xe.drawing.scene import Cell, Scene, make_panel

__all__ = ["of_banks"]


def of_banks(use: BankUse) -> Scene:
    """Return the words that an access wants: banks across, turns down, byte addresses inside.

    Raises `ShapeError` for more words than a drawing can show.
    """
    width = use.banks.width
    cells = [
        Cell(
            turn,
            bank,
            turn,
            (str(word * width),),
            (("bank", bank), ("turn", turn), ("address", word * width)),
            f"bytes {word * width} to {word * width + width - 1}: bank {bank}, turn {turn + 1}",
        )
        for bank, held in enumerate(use.held)
        for turn, word in enumerate(held)
    ]
    # Unused banks are shown empty: that they idle is what a conflict is about.
    cells += [
        Cell(0, bank, None, ("",), (("bank", bank), ("turn", 0)), f"bank {bank} is not used")
        for bank, held in enumerate(use.held)
        if not held
    ]
    return Scene(
        f"Words in {use.banks.count} banks",
        (f"{use}.", "Each word is named by its byte address; dashed banks idle."),
        (make_panel("", cells, ("turn", "bank"), framed=False),),
        legend_title="turn",
        legend=tuple(map(str, range(min(16, use.turns)))),
    )
