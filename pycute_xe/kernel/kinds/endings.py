"""Floor 7: what a product is in index notation, and which tilings make one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.spec.expression import Element, Expression, Slot, rebuilt, total
from pycute_xe.layout import size
from pycute_xe.numeric import Numeric

__all__ = ["Factor", "along", "product_of", "unfit"]

Factor: TypeAlias = Callable[[tuple[Index, ...]], Expression]
"""What is multiplied of an operand at indices."""


def product_of(
    accumulator: Numeric,
    of: tuple[Factor | str, Factor | str] = ("A", "B"),
    lead: tuple[Index, ...] = (),
) -> Expression:
    """Return what the accumulator holds behind the main loop; a name is an operand's elements."""
    m, n, k = map(Index, "mnk")
    sides = (partial(Element, x) if isinstance(x, str) else x for x in of)
    one, other = (side((*lead, *at)) for side, at in zip(sides, ((m, k), (k, n)), strict=True))
    return total("k", "K", one * other, accumulator=accumulator)


def along(value: Expression, name: str) -> Expression:
    """Return an expression of row m and column n at another column."""
    index = {"n": Index(name)}

    def leaf(x: Element | Slot) -> Expression:
        if isinstance(x, Slot):
            return x
        return replace(x, at=tuple(i.substitute(index) for i in x.at))

    return rebuilt(value, leaf)


def unfit(mma: TiledMma) -> tuple[str, str]:
    """Return why no accumulator of a subgroup is a tile of D, and a way out; else nothing."""
    op = mma.atom.op
    if size(mma.atom_layout_mnk[2]) != 1:
        wrong = "subgroups along K would each write the whole of D; nothing adds them up"
        return wrong, "use subgroups along M and N only"
    if op.C != op.D:
        wrong = f"the accumulator goes in as {op.C} and comes out as {op.D}"
        return wrong, "use an atom whose C and D have the same type"
    return "", ""
