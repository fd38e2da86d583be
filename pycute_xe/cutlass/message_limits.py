"""Floor 6: how large block-2D messages may be, from the rows that refuse larger ones."""

from __future__ import annotations

from functools import cache
from typing import cast

from pycute_xe.arch.block2d import Op
from pycute_xe.arch.rules import Rule, rules
from pycute_xe.atom.register_picture import ANY_TARGET
from pycute_xe.errors import CuteError

__all__ = ["can_repeat", "largest", "least_elements", "transposed_bits", "vnni_width"]


@cache
def largest(op: Op, turned: bool, vnni: bool, bits: int) -> tuple[int, int]:
    """Return rows and elements of a row of the largest message, in elements of so many bits.

    Transposed blocks keep the tighter limit that the compiler of 2022 had. Widths that no transpose
    has count as the next one that it has.

    >>> largest("load", False, False, 16), largest("load", True, False, 32)
    ((32, 32), (16, 8))
    """
    if turned and op == "load":
        bits = transposed_bits(bits)
    about = {"bits": bits, "transpose": int(turned), "vnni": int(vnni)}
    size = {quantity: _most(op, quantity, about) for quantity in ("height", "width", "row_bytes")}
    rows = size["height"]
    if turned and op == "load":
        rows = min(rows, _bound("transpose-column-bytes") * 8 // bits)
    return rows, min(size["width"], size["row_bytes"] * 8 // bits)


@cache
def least_elements(bits: int) -> int:
    """Return the elements of the narrowest message: it moves, and starts at, whole dwords.

    >>> least_elements(8), least_elements(64)
    (4, 0)
    """
    return _bound("width-min-dword") * 8 // bits


@cache
def transposed_bits(bits: int) -> int:
    """Return the width in which elements are transposed: dwords below 32 bits.

    >>> transposed_bits(8), transposed_bits(64)
    (32, 64)
    """
    return _row("transpose-bits").nearest({"bits": bits})


@cache
def vnni_width() -> int:
    """Return the elements of a row that every document lets a VNNI message have."""
    return _bound("vnni-width")


@cache
def can_repeat(bits: int, block: int, count: int) -> bool:
    """Tell whether so many blocks of ``block`` elements lie side by side in one message.

    >>> can_repeat(16, 16, 2), can_repeat(16, 16, 3)
    (True, False)
    """
    counts = _rules("load", "count", {"bits": bits, "transpose": 0})
    alike = all(rule.holds({"count": count}) for rule in counts)
    return alike and block >= least_elements(bits)


def _most(op: Op, quantity: str, about: dict[str, int]) -> int:
    """The largest value that every refusing rule lets a quantity have; very many without one."""
    bounds = (max(cast("tuple[int, ...]", rule.bounds)) for rule in _rules(op, quantity, about))
    return min(bounds, default=1 << 24)


def _rules(op: Op, quantity: str, about: dict[str, int]) -> list[Rule]:
    return [
        rule
        for rule in rules("block2d", "message", ANY_TARGET, op)
        if (rule.quantity, rule.level) == (quantity, "error")
        and rule.kind in ("at_most", "one_of")
        and rule.applies(about)
    ]


def _bound(rule: str) -> int:
    return cast("int", _row(rule).bounds[0])


def _row(wanted: str) -> Rule:
    for rule in rules("block2d", "message", ANY_TARGET):
        if rule.id == wanted:
            return rule
    raise CuteError(
        "message_limits", {"rule": wanted}, "no row has this id", "correct atoms/block2d.toml"
    )
