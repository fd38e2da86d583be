"""Floor 9: whether the two accounts of a block agree, in words for a caption."""

from __future__ import annotations

from collections.abc import Iterator

from pycute_xe.drawing.accounts import Accounts
from pycute_xe.drawing.scene import LABELS, MARKS

__all__ = ["agreement"]


def agreement(
    accounts: Accounts,
    shown: tuple[str, ...] = ("registers",),
    labelled: bool = True,
    layouts_agree: bool = True,
) -> Iterator[str]:
    """Say what colours mean, whether registers hold what is said, and what pads them.

    ``shown`` are the panels, ``labelled`` tells whether cells have labels, ``layouts_agree``
    whether the layouts of the atom say the same as its ownership.
    """
    said, picture = accounts.said, accounts.picture
    if said is None:
        yield "Colours: the work-item whose registers hold a value."
    elif picture is None:
        yield "Colours: the work-item that is said to own a value."
    else:
        yield "Colours: the work-item that is said to own a value, in every panel."
        yield from _verdict(accounts, shown != ("memory",), layouts_agree)
    if picture is not None and "registers" in shown:
        pads = f", {picture.padding} slots of them padding (dots)" if picture.padding else ""
        yield f"Registers are drawn lowest byte first{pads}."
    if labelled and shown != ("memory",):
        yield f"{LABELS}: {' and '.join(accounts.names)} of the value there."


def _verdict(accounts: Accounts, marks: bool, layouts_agree: bool) -> Iterator[str]:
    elsewhere, reordered = accounts.wrong
    picture = accounts.picture
    unit = picture.unit_bits if picture else 0
    widths = " or ".join(f"{unit}-bit" for unit in accounts.units)
    if not elsewhere and not reordered:
        held = f"the registers, read as {widths} units, hold what is said"
        yield f"Faithful: {held}." if layouts_agree else f"Note: {held}, but its layouts differ."
        return
    total = sum(map(len, accounts.said or ()))
    found = f"{elsewhere} of {total} values are with another work-item than is said"
    if reordered and elsewhere:
        found += f", and {reordered} in another order"
    elif reordered:
        found = f"{reordered} of {total} values are in another order than is said"
    corners = f" ({MARKS})" if marks else ""
    if widths:
        # Nothing is wrong with such an atom: it is read in another width.
        yield (
            f"Read in {widths} units, each work-item finds what is said; "
            f"read in {unit}-bit ones, {found}{corners}."
        )
        return
    yield f"Note: unfaithful{corners}: read as {unit}-bit units, {found}."
    yield "In no width of units do the registers show what is said."
