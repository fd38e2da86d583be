"""Floor 9: what block-2D messages move, from the register image of each message."""

from __future__ import annotations

from pycute_xe.atom import CopyAtom, TiledCopy
from pycute_xe.layout import Layout, size
from pycute_xe.verifying.contents import LANES, Held
from pycute_xe.verifying.equations import Digits, Equations, Linear
from pycute_xe.verifying.regions import Region

__all__ = ["loaded_elements", "message_corners", "stored_elements"]


class _Messages:
    """The digits of a tiled copy's messages: subgroup, message, element of the block."""

    def __init__(self, copy: TiledCopy) -> None:
        self.copy, self.eq = copy, Equations()
        self.subgroup = self.eq.digits(copy.anchors[0])
        self.message = self.eq.digits(copy.anchors[1])
        self.eq.name("s", self.subgroup.index)
        self.ratio = copy.op.bits // copy.value_type.bits
        self.step = copy.atom.values * LANES
        self._place_elements()
        self._align()

    def _place_elements(self) -> None:
        """Set x and y in the block, in values and rows, and the element of the image."""
        message, ratio = self.copy.op.message, self.ratio
        (inner, blocks), rows = message.position
        part = self.eq.digits(Layout(ratio))
        x, block, y = map(self.eq.digits, (inner, blocks, rows))
        self._cut(x, size(inner), message.width)
        self._cut(y, size(rows), message.height)
        self.x = part.index + (x.index + block.index * message.width) * ratio
        self.y = y.index
        self.image = part.index + (x.offset + block.offset + y.offset) * ratio

    def _cut(self, digits: Digits, rounded: int, extent: int) -> None:
        """Leave out what a message adds to fill its dwords."""
        if rounded > extent:
            self.eq.demand(f"{{}} < {extent}", digits.index)

    def _align(self) -> None:
        """Leave out messages that would start between two of their elements."""
        anchor = self.anchor(self.copy.x_mode)
        if any(weight % self.ratio for weight in anchor.weights.values()):
            self.eq.demand(f"{{}} = {self.ratio}*{{}}", anchor, self.eq.unknown())

    def anchor(self, axis: int) -> Linear:
        """Where the message starts in the copy's tile, along one of its modes."""
        return self.subgroup.along(axis) + self.message.along(axis)

    def held(self, x_mode: int) -> Held:
        """Return the registers, where memory is contiguous along ``x_mode`` of the operand."""
        element = self.message.index * self.step + self.image
        along_x = self.anchor(self.copy.x_mode) + self.x
        along_y = self.anchor(self.copy.y_mode) + self.y
        r, c = (along_x, along_y) if x_mode == 0 else (along_y, along_x)
        return Held(self.eq, element, r, c)


def loaded_elements(copy: TiledCopy, x_mode: int) -> Held:
    """Return what a load's messages put into each register element; absent elements are zero.

    ``x_mode`` is the mode of the operand that is contiguous in memory. Where the images of
    messages overlap the later one stays.

    >>> import pycute_xe as cx
    >>> copy = cx.make_block_2d_copy(cx.XE_LOAD_2D(16, 2, 16, 8), ("ld", 1), "bf16")
    >>> elements = loaded_elements(copy, 1).region()
    >>> elements.within("v = 0").least(("v", "c", "l")), elements.within("v = 1").is_empty
    ({'v': 0, 'c': 0, 'l': 0, 's': 0, 'r': 0}, True)
    """
    messages = _Messages(copy)
    if copy.messages > 1 and _image(copy.atom) > messages.step:
        messages.eq.demand(
            f"{{}} < {messages.step} or {{}} = {copy.messages - 1}",
            messages.image,
            messages.message.index,
        )
    return messages.held(x_mode)


def _image(atom: CopyAtom) -> int:
    """Register elements that a message overwrites, padding included, in values."""
    message = atom.op.message
    return message.register_map.elements * message.bits // atom.value_type.bits


def stored_elements(copy: TiledCopy, x_mode: int) -> Region:
    """Return what each message ``j`` of a store writes: (s, j, l, v, r, c)."""
    messages = _Messages(copy)
    messages.eq.name("j", messages.message.index)
    return messages.held(x_mode).region(("s", "j", "l", "v", "r", "c"), by_place=True)


def message_corners(copy: TiledCopy) -> Region:
    """Return where each message starts in the copy's tile, aligned or not: (s, j, r, c).

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> corners = message_corners(cx.make_block_2d_copy_B(mma, (1, "ld")))
    >>> corners.within("s = 1 and j = 3").least()
    {'s': 1, 'j': 3, 'r': 96, 'c': 16}
    """
    eq = Equations()
    subgroup, message = eq.digits(copy.anchors[0]), eq.digits(copy.anchors[1])
    eq.name("s", subgroup.index)
    eq.name("j", message.index)
    for name, axis in (("r", 0), ("c", 1)):
        eq.name(name, subgroup.along(axis) + message.along(axis))
    return eq.region(("s", "j", "r", "c"))
