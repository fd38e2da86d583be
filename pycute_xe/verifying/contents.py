"""Floor 9: what registers hold, as regions: from messages and instructions, not from CuTe layouts.

A region of registers has the coordinates ``s`` (subgroup), ``l`` (lane) and ``v`` (value slot);
register element ``l + 16*v`` of a fragment. ``r`` and ``c`` are coordinates in a tile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycute_xe.arch.block2d import Block2D
from pycute_xe.atom import CopyAtom, TiledCopy, TiledMma
from pycute_xe.layout import Layout, size
from pycute_xe.verifying.equations import Digits, Equations
from pycute_xe.verifying.regions import Names, Region

if TYPE_CHECKING:
    from pycute_xe.arch.dpas import Dpas

__all__ = [
    "ELEMENTS",
    "loaded_elements",
    "operand_elements",
    "product_elements",
    "reordered",
    "stored_elements",
    "subgroup_corner",
]

REGISTER: Names = ("s", "l", "v")
ELEMENTS: Names = (*REGISTER, "r", "c")
LANES = 16


def position(op: Dpas, role: str) -> Layout:
    """Return where an instruction has the elements of an operand: (i, j) → register element."""
    return {"A": op.position_A, "B": op.position_B, "C": op.position_C}[role]


def _at_register(eq: Equations, element: str) -> None:
    eq.equal("l + 16*v", element)
    eq.demand(f"0 <= l < {LANES}")


class _Operand:
    """The digits of one operand of a tiled MMA: atom coordinates, subgroup, repetitions."""

    def __init__(self, eq: Equations, mma: TiledMma, role: str) -> None:
        (atom_i, atom_j), (threads, (rest_i, rest_j)) = mma.atoms(role)
        self.eq, self.mma, self.role = eq, mma, role
        self.i, self.j = eq.digits(atom_i), eq.digits(atom_j)
        self.threads = eq.digits(threads)
        self.rest_i, self.rest_j = eq.digits(rest_i), eq.digits(rest_j)
        self.extents = (size(atom_i), size(atom_j), size(rest_i))
        self._bind_subgroup()

    def _bind_subgroup(self) -> None:
        numbers = self.eq.digits(self.mma.operand_subgroups(self.role))
        self.eq.equal("s", numbers.index)
        self.eq.equal(self.threads.index, numbers.offset)

    def bind_registers(self) -> None:
        """Tie the coordinates to the register element the instruction reads."""
        where = position(self.mma.atom.op, self.role)
        i, j = self.eq.digits(where[0]), self.eq.digits(where[1])
        self.eq.equal(self.i.index, i.index)
        self.eq.equal(self.j.index, j.index)
        atom = f"{self.rest_i.index} + {self.extents[2]}*({self.rest_j.index})"
        _at_register(self.eq, f"{size(where)}*({atom}) + {i.offset} + {j.offset}")

    def along(self, axis: int) -> str:
        """The coordinate in the operand's tile along one of its modes."""
        parts = (self.i, self.j, self.threads, self.rest_i, self.rest_j)
        return " + ".join(part.along(axis) for part in parts)


def operand_elements(mma: TiledMma, role: str) -> Region:
    """Return which element of the tile the instructions take each register element for.

    >>> import pycute_xe as cx
    >>> elements = operand_elements(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")), "A")
    >>> elements.within("s = 5 and l = 3 and v = 33").least()
    {'s': 5, 'l': 3, 'v': 33, 'r': 33, 'c': 19}
    """
    eq = Equations()
    operand = _Operand(eq, mma, role)
    operand.bind_registers()
    eq.equal("r", operand.along(0))
    eq.equal("c", operand.along(1))
    return eq.region(ELEMENTS)


def product_elements(mma: TiledMma) -> Region:
    """Return the products (r, c, z) that go into each accumulator: ``q`` counts them.

    (r, c) is the coordinate in C's tile, z along K.
    """
    eq = Equations()
    c = _Operand(eq, mma, "C")
    c.bind_registers()
    a = _Operand(eq, mma, "A")
    # A and C share the rows of an instruction: only K is A's own.
    for mine, others in ((a.i, c.i), (a.rest_i, c.rest_i)):
        eq.equal(mine.index, others.index)
    eq.equal("r", c.along(0))
    eq.equal("c", c.along(1))
    eq.equal("z", a.along(1))
    eq.equal("q", f"{a.j.index} + {a.extents[1]}*({a.rest_j.index})")
    return eq.region((*ELEMENTS, "z", "q"))


def subgroup_corner(mma: TiledMma, role: str) -> Region:
    """Return where each subgroup's part of an operand's tile begins: (s, r, c)."""
    eq = Equations()
    operand = _Operand(eq, mma, role)
    for part in (operand.i, operand.j, operand.rest_i, operand.rest_j):
        eq.equal(part.index, "0")
    eq.equal("r", operand.along(0))
    eq.equal("c", operand.along(1))
    return eq.region(("s", "r", "c"))


class _Messages:
    """The digits of a tiled copy's messages: subgroup, message, element of the block."""

    def __init__(self, eq: Equations, copy: TiledCopy) -> None:
        self.eq, self.copy = eq, copy
        atom, message = copy.atom, copy.op.message
        self.subgroup = eq.digits(copy.anchors[0])
        self.message = eq.digits(copy.anchors[1])
        eq.equal("s", self.subgroup.index)
        ratio = copy.op.bits // copy.value_type.bits
        part = eq.digits(Layout(ratio))
        (inner, blocks), rows = message.position
        x, block, y = eq.digits(inner), eq.digits(blocks), eq.digits(rows)
        self._cut(x, size(inner), message.width)
        self._cut(y, size(rows), message.height)
        self.x = f"{part.index} + {ratio}*({x.index}) + {ratio * message.width}*({block.index})"
        self.y = y.index
        self.place = f"{part.index} + {ratio}*({x.offset} + {block.offset} + {y.offset})"
        self.step = atom.values * LANES
        self._align(ratio)

    def _cut(self, digits: Digits, rounded: int, extent: int) -> None:
        """Leave out what a message adds to fill its dwords."""
        if rounded > extent:
            self.eq.demand(f"{digits.index} < {extent}")

    def _align(self, ratio: int) -> None:
        """Leave out messages that would start between two of their elements."""
        if ratio > 1:
            whole = self.eq.unknown()
            self.eq.equal(self.anchor(self.copy.x_mode), f"{ratio}*{whole}")

    def anchor(self, axis: int) -> str:
        """Where the message starts in the copy's tile, along one of its modes."""
        return f"{self.subgroup.along(axis)} + {self.message.along(axis)}"

    def bind(self, x_mode: int) -> None:
        """Tie registers to (r, c), where memory is contiguous along ``x_mode``."""
        _at_register(self.eq, f"{self.step}*({self.message.index}) + {self.place}")
        along_x = f"{self.anchor(self.copy.x_mode)} + {self.x}"
        along_y = f"{self.anchor(self.copy.y_mode)} + {self.y}"
        self.eq.equal("r", along_x if x_mode == 0 else along_y)
        self.eq.equal("c", along_y if x_mode == 0 else along_x)


def loaded_elements(copy: TiledCopy, x_mode: int, slots: int) -> Region:
    """Return what a load's messages put into each register element; absent elements are zero.

    ``x_mode`` is the mode of the operand that is contiguous in memory. Where the images of
    messages overlap the later one stays.

    >>> import pycute_xe as cx
    >>> copy = cx.make_block_2d_copy(cx.XE_LOAD_2D(16, 4, 12), ("ld", 1), "bf16")
    >>> elements = loaded_elements(copy, 1, copy.atom.values)
    >>> elements.within("v = 1").least(), elements.within("l = 12").is_empty
    ({'s': 0, 'l': 0, 'v': 1, 'r': 1, 'c': 0}, True)
    """
    eq = Equations()
    messages = _Messages(eq, copy)
    if copy.messages > 1 and _image(copy.atom) > messages.step:
        last = f"{messages.message.index} = {copy.messages - 1}"
        eq.demand(f"{messages.place} < {messages.step} or {last}")
    messages.bind(x_mode)
    eq.demand(f"0 <= v < {slots}")
    return eq.region(ELEMENTS)


def _image(atom: CopyAtom) -> int:
    """Register elements that a message overwrites, padding included, in values."""
    message: Block2D = atom.op.message
    return message.register_map.elements * message.bits // atom.value_type.bits


def stored_elements(copy: TiledCopy, x_mode: int) -> Region:
    """Return what each message ``j`` of a store writes: (s, j, l, v, r, c)."""
    eq = Equations()
    messages = _Messages(eq, copy)
    messages.bind(x_mode)
    eq.equal("j", messages.message.index)
    return eq.region(("s", "j", *ELEMENTS[1:]))


def message_corners(copy: TiledCopy) -> Region:
    """Return where each message starts in the copy's tile, aligned or not: (s, j, r, c)."""
    eq = Equations()
    subgroup, message = eq.digits(copy.anchors[0]), eq.digits(copy.anchors[1])
    eq.equal("s", subgroup.index)
    eq.equal("j", message.index)
    for name, axis in (("r", 0), ("c", 1)):
        eq.equal(name, f"{subgroup.along(axis)} + {message.along(axis)}")
    return eq.region(("s", "j", "r", "c"))


def reordered(region: Region, slots: Layout) -> Region:
    """Return the contents after a reorder; where elements meet, the last one stays.

    >>> import pycute_xe as cx
    >>> before = Region.where(ELEMENTS, "s = 0 and 0 <= l < 16 and 0 <= v < 2 and r = v and c = l")
    >>> after = reordered(before, cx.Layout((2, 16), (16, 1)))
    >>> after.within("l = 1 and v = 0").least()
    {'s': 0, 'l': 1, 'v': 0, 'r': 0, 'c': 2}
    """
    eq = Equations()
    element = eq.digits(slots)
    _at_register(eq, element.offset)
    eq.equal("e", element.index)
    moves = eq.region(("l", "v", "e"))
    if not moves.decides(("l", "v")):
        moves = moves.last(("l", "v"))
    numbered = region.to(("s", "e", "r", "c"), "e = l + 16*v")
    names = ("s", "e", "l", "v", "r", "c")
    joined = numbered.to(names) & moves.to(names)
    return joined.to(ELEMENTS)
