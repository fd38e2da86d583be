"""The fields of LSC messages, which text and rules read; the messages themselves check them."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.arch.block2d import Block2D
from pycute_xe.arch.lsc.fields import Address, DataType, Operand
from pycute_xe.arch.lsc.operations import Operation, get_operation

__all__ = ["BlockParts", "MessageParts"]


@dataclass(frozen=True, slots=True)
class MessageParts:
    """The fields of a message as the vISA text names them."""

    op: str
    sfid: str
    exec_size: int
    data: DataType
    address: Address
    dst: str | None = None
    src1: str | None = None
    src2: str | None = None
    l1: str = "df"
    l3: str = "df"
    predicate: str | None = None
    exec_mask: str = "M1"

    @property
    def operation(self) -> Operation:
        """What the document says about the operation: encoding, kind, extra operands.

        >>> from pycute_xe.arch.lsc import Message
        >>> m = Message("atomic_icas", "ugm", 16, DataType("d32"), Address("flat", 64, "V1"))
        >>> m.operation.extra
        2
        """
        return get_operation(self.op)

    @property
    def prefetch(self) -> bool:
        """Whether a load stops at the caches, because its destination is the null register."""
        return self.operation.kind == "load" and self.dst is None


@dataclass(frozen=True, slots=True)
class BlockParts:
    """The fields of a block-2D message: what it moves, and the operands that say where."""

    block: Block2D
    sfid: str = "ugm"
    dst: str | None = None
    src1: str | None = None
    surface: tuple[Operand, Operand, Operand, Operand] = ("V1", "V2", "V3", "V4")
    x: Operand = "V5"
    y: Operand = "V6"
    l1: str = "df"
    l3: str = "df"
    exec_mask: str = "M1_NM"
    predicate: str | None = None
