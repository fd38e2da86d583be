"""Accesses to memory drawn: the words of one in banks, and all accesses of an analysis."""

from __future__ import annotations

from pycute_xe.analysing import Analysis
from pycute_xe.analysing.accesses import threads_of
from pycute_xe.arch.banks import BankUse
from pycute_xe.drawing.scene import Cell, Scene, make_panel

__all__ = ["of_analysis", "of_banks"]


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
        for bank, words in enumerate(use.by_bank)
        for turn, word in enumerate(words)
    ]
    # Unused banks are shown empty: that they idle is what a conflict is about.
    cells += [
        Cell(0, bank, None, ("",), (("bank", bank), ("turn", 0)), f"bank {bank} is not used")
        for bank, words in enumerate(use.by_bank)
        if not words
    ]
    return Scene(
        f"Words in {use.banks.count} banks",
        (f"{use}.", "Each word is named by its byte address; dashed banks idle."),
        (make_panel("", cells, ("turn", "bank"), framed=False),),
        legend_title="turn",
        legend=tuple(map(str, range(min(16, use.turns)))),
    )


def of_analysis(analysis: Analysis) -> Scene:
    """Return the accesses of subgroups: one a row, its elements across, coloured by bank.

    Cells carry the offset of an element and, below it, its bank; without banks colours and numbers
    are those of segments. Raises `ShapeError` for more cells than a drawing can show.
    """
    on = analysis.machine
    unit = "bank" if on.banks is not None else "segment"
    cells: list[Cell] = []
    names: list[str] = []
    for row, access in enumerate(analysis.accesses):
        names.append(f"{access.subgroup}·{access.value}")
        for col, offset in enumerate(access.offsets):
            lane, within = divmod(col, len(access.offsets) // _lanes_in(analysis, row))
            number = _number(analysis, offset)
            cells.append(
                Cell(
                    row,
                    col,
                    number,
                    (str(offset), f"{unit[0]}{number}"),
                    (("access", row), ("lane", lane), ("offset", offset), (unit, number)),
                    f"lane {lane}, value {access.value + within}: offset {offset}, {unit} {number}",
                )
            )
    width = max(len(access.offsets) for access in analysis.accesses)
    panel = make_panel("", cells, ("subgroup·value", "element"), framed=False)
    turns = f"{analysis.turns} turns, {analysis.lost} lost. " if on.banks is not None else ""
    return Scene(
        f"Accesses of {analysis.layout}",
        (
            f"{turns}{analysis.segments} segments of {on.segment} bytes.",
            f"Rows are accesses of up to {width} elements; two numbers are offset and {unit}.",
        ),
        (panel.headed("element", (), (), tuple(names)),),
        legend_title=unit,
        legend=tuple(map(str, range(min(16, 1 + max(cell.colour or 0 for cell in cells))))),
    )


def _lanes_in(analysis: Analysis, row: int) -> int:
    """Return the lanes of an access, of which the last subgroup may have fewer."""
    access = analysis.accesses[row]
    threads = threads_of(analysis.layout)
    return min(analysis.machine.lanes, threads - access.subgroup * analysis.machine.lanes)


def _number(analysis: Analysis, offset: int) -> int:
    """Return the bank in which an element starts, or its segment."""
    on = analysis.machine
    count, width = on.banks or (0, on.segment)
    word = min(on.units((offset,), width))
    return word % count if count else word
