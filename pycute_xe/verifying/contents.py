"""Floor 9: what registers hold: from messages and instructions, not from CuTe's layouts.

A region of registers has the coordinates ``s`` (subgroup), ``l`` (lane) and ``v`` (value slot):
register element ``l + 16*v`` of a fragment. ``r`` and ``c`` are coordinates in a tile.
"""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.layout import Layout, size
from pycute_xe.verifying.equations import Equations, Linear, total
from pycute_xe.verifying.regions import Names, Region

__all__ = ["ELEMENTS", "Held", "operand_elements", "product_elements", "subgroup_corner"]

ELEMENTS: Names = ("s", "l", "v", "r", "c")
LANES = 16


@dataclass(frozen=True, slots=True)
class Held:
    """Register elements and the coordinates they hold, as equations.

    ``element`` is the register element, ``r`` and ``c`` the coordinate in the tile; the subgroup
    has its name already. ``over`` is a reorder that writes a place twice, and what it reads.
    """

    eq: Equations
    element: Linear
    r: Linear
    c: Linear
    over: tuple[Linear, Layout] | None = None

    def reordered(self, slots: Layout) -> Held:
        """Return the same coordinates in the registers that a reorder moves them to.

        Raises `KernelError` after a reorder that has already lost elements.
        """
        if self.over is not None:
            raise KernelError(
                "verify",
                {"reorder": str(self.over[1])},
                "the reorder sends two elements to one place, and another follows",
                "use a permutation",
            )
        moved = self.eq.digits(slots)
        self.eq.equal(self.element, moved.index)
        over = (moved.index, slots) if overwrites(slots) else None
        return Held(self.eq, moved.offset, self.r, self.c, over)

    def region(self, names: Names = ELEMENTS, by_place: bool = False) -> Region:
        """Return the points (s, l, v, r, c).

        The region is written as a function of the registers, or of the place if ``by_place``:
        the same set, but isl finds the one or the other easier to work with.
        """
        lane, value = self.eq.divided(self.element, LANES)
        registers, place = [("l", lane), ("v", value)], [("r", self.r), ("c", self.c)]
        if by_place:
            self.eq.named[:0] = place
        for name, part in registers if by_place else registers + place:
            self.eq.name(name, part)
        if self.over is None:
            return self.eq.region(names)
        read, slots = self.over
        self.eq.name("e", read)
        whole = (*names, "e")
        return (self.eq.region(whole) & _last_moves(slots).to(whole)).to(names)


def _moves(slots: Layout) -> Region:
    """Return which source element ``e`` a reorder sends to each lane and value."""
    eq = Equations()
    digits = eq.digits(slots)
    lane, value = eq.divided(digits.offset, LANES)
    for name, part in (("e", digits.index), ("l", lane), ("v", value)):
        eq.name(name, part)
    return eq.region(("l", "v", "e"))


def _last_moves(slots: Layout) -> Region:
    return _moves(slots).last(("l", "v"))


def overwrites(slots: Layout) -> bool:
    """Tell whether a reorder sends two elements to one place; the last one stays there.

    >>> overwrites(Layout((2, 16), (16, 1))), overwrites(Layout((2, 16), (0, 1)))
    (False, True)
    """
    return not _moves(slots).decides(("l", "v"))


def position(op: Dpas, role: str) -> Layout:
    """Return where an instruction has the elements of an operand: (i, j) → register element."""
    return {"A": op.position_A, "B": op.position_B, "C": op.position_C}[role]


class _Operand:
    """The digits of one operand of a tiled MMA: atom coordinates, subgroup, repetitions."""

    def __init__(self, eq: Equations, mma: TiledMma, role: str) -> None:
        (atom_i, atom_j), (threads, (rest_i, rest_j)) = mma.atoms(role)
        self.eq, self.mma, self.role = eq, mma, role
        self.i, self.j = eq.digits(atom_i), eq.digits(atom_j)
        self.threads = eq.digits(threads)
        self.rest_i, self.rest_j = eq.digits(rest_i), eq.digits(rest_j)
        self.extents = (size(atom_i), size(atom_j), size(rest_i))
        numbers = eq.digits(mma.operand_subgroups(role))
        self.subgroup = numbers.index
        eq.equal(numbers.offset, self.threads.index)

    def element(self) -> Linear:
        """Return the register element the instructions read, atom after atom."""
        where = position(self.mma.atom.op, self.role)
        i, j = self.eq.digits(where[0]), self.eq.digits(where[1])
        self.eq.equal(self.i.index, i.index)
        self.eq.equal(self.j.index, j.index)
        atom = self.rest_i.index + self.rest_j.index * self.extents[2]
        return atom * size(where) + i.offset + j.offset

    def along(self, axis: int) -> Linear:
        """Return the coordinate in the operand's tile along one of its modes."""
        parts = (self.i, self.j, self.threads, self.rest_i, self.rest_j)
        return total(part.along(axis) for part in parts)


def operand_elements(mma: TiledMma, role: str) -> Held:
    """Return which element of the tile the instructions take each register element for.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> operand_elements(mma, "A").region().within("s = 5 and l = 3 and v = 33").least()
    {'s': 5, 'l': 3, 'v': 33, 'r': 33, 'c': 19}
    """
    eq = Equations()
    operand = _Operand(eq, mma, role)
    eq.name("s", operand.subgroup)
    return Held(eq, operand.element(), operand.along(0), operand.along(1))


def product_elements(mma: TiledMma) -> Region:
    """Return the products (r, c, z) that go into each accumulator (s, l, v); ``q`` counts them.

    (r, c) is the coordinate in C's tile, z the one along K.
    """
    eq = Equations()
    c = _Operand(eq, mma, "C")
    element = c.element()
    a = _Operand(eq, mma, "A")
    eq.equal(c.subgroup, a.subgroup)
    # An instruction's rows are the rows of A and of C: only K is A's own.
    for mine, others in ((a.i, c.i), (a.rest_i, c.rest_i)):
        eq.equal(mine.index, others.index)
    # Coordinates first: each instance is then a function of the product it adds.
    for name, part in (("r", c.along(0)), ("c", c.along(1)), ("z", a.along(1))):
        eq.name(name, part)
    eq.name("s", c.subgroup)
    eq.name("q", a.j.index + a.rest_j.index * a.extents[1])
    lane, value = eq.divided(element, LANES)
    eq.name("l", lane)
    eq.name("v", value)
    return eq.region(("s", "l", "v", "q", "r", "c", "z"))


def subgroup_corner(mma: TiledMma, role: str) -> Region:
    """Return where each subgroup's part of an operand's tile begins: (s, r, c)."""
    eq = Equations()
    operand = _Operand(eq, mma, role)
    eq.name("s", operand.subgroup)
    eq.name("r", operand.threads.along(0))
    eq.name("c", operand.threads.along(1))
    return eq.region(("s", "r", "c"))
