"""Block-2D LSC messages with all their operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pycute_xe.arch.block2d import Block2D
from pycute_xe.arch.lsc.fields import check_operand, check_type, null_or_name
from pycute_xe.arch.lsc.legality import SURFACE, broken_block_rules
from pycute_xe.arch.lsc.message import check_head
from pycute_xe.arch.lsc.nearest import nearest_block
from pycute_xe.arch.lsc.parts import BlockParts
from pycute_xe.arch.lsc.printing import block_text
from pycute_xe.arch.lsc.sizes import known_target
from pycute_xe.arch.rules import Broken
from pycute_xe.arch.target import Target
from pycute_xe.errors import ShapeError

__all__ = ["Block2DMessage"]


@dataclass(frozen=True, slots=True)
class Block2DMessage(BlockParts):
    """A block-2D message: what it moves (a `Block2D`) and the operands that say where.

    ``surface`` are base, width, height and pitch as the instruction takes them (bytes, width and
    height minus 1); ``x`` counts elements, ``y`` rows. A load writes ``dst``, a store reads
    ``src1``, a prefetch is a load to the null register: block op "prefetch" and no ``dst``.
    Law: ``parse(str(m)) == m``. Raises `ShapeError` for what no encoding could hold.
    Document: vISA manual, LSC_UNTYPED.md, lsc_load_block2d and lsc_store_block2d.

    >>> print(Block2DMessage(Block2D("load", 16, 32, 16, count=2), dst="V13"))
    lsc_load_block2d.ugm (M1_NM,1) V13:d16.2x16x32nn flat[V1,V2,V3,V4,V5,V6]
    """

    def __post_init__(self) -> None:
        """Refuse what no encoding could hold; any spelling of the null register is ``None``."""
        check_type("Block2DMessage", "block", self.block, Block2D)
        check_head("Block2DMessage", self)
        for name in ("dst", "src1"):
            value = null_or_name("Block2DMessage", name, getattr(self, name))
            object.__setattr__(self, name, value)
        self._check_data()
        self._check_surface()
        check_operand("Block2DMessage", "x", self.x, -(2**31), 2**31 - 1)
        check_operand("Block2DMessage", "y", self.y, -(2**31), 2**31 - 1)
        sizes = {"count": (self.block.count, 255), "width": (self.block.width, 65535)}
        for name, (value, most) in (sizes | {"height": (self.block.height, 65535)}).items():
            check_operand("Block2DMessage", name, value, 1, most, named=False)

    def _check_data(self) -> None:
        operands = {"block": self.block, "dst": self.dst, "src1": self.src1}
        if (self.block.op == "load") != (self.dst is not None):
            condition = "a load needs a destination; stores and prefetches have none"
            raise _refusal(operands, condition, 'name dst, or use Block2D("prefetch", …)')
        if (self.block.op == "store") != (self.src1 is not None):
            condition = "a store reads the register src1, loads and prefetches do not"
            raise _refusal(operands, condition, "name src1 for a store only")

    def _check_surface(self) -> None:
        check_type("Block2DMessage", "surface", self.surface, tuple)
        if len(self.surface) != 4:
            condition = "a surface is four operands: base, width, height and pitch"
            raise _refusal({"surface": self.surface}, condition, "give four numbers or names")
        for operand, name in zip(self.surface, SURFACE, strict=True):
            most = 2**64 - 1 if name == "base" else 2**32 - 1
            check_operand("Block2DMessage", f"surface {name}", operand, 0, most)

    def __str__(self) -> str:
        """The vISA text."""
        return block_text(self)

    def check(self, target: str | Target) -> tuple[Broken, ...]:
        """Return every rule of a target that the message breaks, errors first; empty: legal.

        The sizes are judged by the rows of ``atoms/block2d.toml``, and where operands are
        numbers, the surface and the position too. Raises `TargetError` for an unknown target.

        >>> m = Block2DMessage(Block2D("store", 16, 16, 16), src1="V7")
        >>> [broken.rule for broken in m.check("pvc")]
        ['store-height']
        """
        return broken_block_rules(self, target)

    def nearest(self, target: str | Target) -> Block2DMessage:
        """Return the legal message that differs least from this one; itself, if legal.

        No warning is left either; numbers of surface and x are rounded up. Raises `TargetError` for
        an unknown target, `LegalityError` where nothing helps.

        >>> print(Block2DMessage(Block2D("store", 16, 16, 16), src1="V7").nearest("pvc"))
        lsc_store_block2d.ugm (M1_NM,1) flat[V1,V2,V3,V4,V5,V6] V7:d16.16x8nn
        """
        return nearest_block(self, target)

    def registers(self, target: str | Target) -> int:
        """Return the registers that the message writes; none for a prefetch or a store.

        The field of the descriptor that holds the number ends at 31, which stands for 32 too.
        Law: `Block2D.registers`, unless VNNI packs a height that fills no dword. No target takes
        that, and the compiler counts it as if nothing were padded; so does this.

        >>> Block2DMessage(Block2D("load", 16, 32, 32), dst="V1").registers("bmg")
        32
        """
        known, block = known_target(target), self.block
        if block.op != "load":
            return 0
        row, lines = block.width, block.height
        if block.transpose:
            row, lines = lines, row
        nbytes = (1 << (row - 1).bit_length()) * lines * block.element_bytes
        return block.count * -(-nbytes // known.grf_bytes)

    def source_registers(self, target: str | Target) -> int:
        """Return the registers of data that the message reads; the payload of 1 is left out.

        >>> Block2DMessage(Block2D("store", 16, 8, 16), src1="V7").source_registers("bmg")
        4
        """
        known = known_target(target)
        return self.block.registers(known) if self.block.op == "store" else 0


def _refusal(operands: Mapping[str, object], condition: str, way_out: str) -> ShapeError:
    return ShapeError("Block2DMessage", operands, condition, way_out)
