"""The fields of LSC messages, which text and rules read; the messages themselves check them."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.arch.block2d import Block2D
from pycute_xe.arch.lsc.fields import (
    Address,
    DataType,
    Operand,
    Operation,
    get_operation,
    operations,
)

__all__ = ["BlockParts", "MessageParts", "block_text", "message_text"]


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

    @property
    def operation(self) -> Operation:
        """What the document says about the operation: encoding and kind."""
        return operations()["store_block2d" if self.block.op == "store" else "load_block2d"]

    @property
    def prefetch(self) -> bool:
        """Whether a load stops at the caches, because its destination is the null register."""
        return self.block.op == "prefetch"


# ------------------------------------------------------------ printing
# LSC messages as vISA text.

NULL = "%null"


def message_text(message: MessageParts) -> str:
    """Return the text of a message, operands in the order of its kind."""
    head = _head(message, message.op, message.exec_size)
    dst, src1 = message.dst or NULL, message.src1 or NULL
    address, data = message.address, message.data
    kind = message.operation.kind
    if kind == "store":
        return f"{head} {address} {src1}:{data}"
    if kind == "load":
        return f"{head} {dst}:{data} {address}"
    if kind == "counter":
        return f"{head} {dst}:{data} {address} {src1}:{data}"
    return f"{head} {dst}:{data} {address} {src1} {message.src2 or NULL}"


def block_text(message: BlockParts) -> str:
    """Return the text of a block-2D message."""
    block = message.block
    order = ("t" if block.transpose else "n") + ("t" if block.vnni else "n")
    where = (*message.surface, message.x, message.y)
    address = f"flat[{','.join(map(_operand, where))}]"
    if block.op == "store":
        head = _head(message, "store_block2d", 1)
        count = "" if block.count == 1 else f"{block.count}x"
        size = f"d{block.bits}.{count}{block.width}x{block.height}{order}"
        return f"{head} {address} {message.src1}:{size}"
    size = f"d{block.bits}.{block.count}x{block.width}x{block.height}{order}"
    return f"{_head(message, 'load_block2d', 1)} {message.dst or NULL}:{size} {address}"


def _head(message: MessageParts | BlockParts, op: str, exec_size: int) -> str:
    predicate = "" if message.predicate is None else f"({message.predicate}) "
    caching = f".{message.l1}.{message.l3}"
    if message.l3 == "df":  # what is left out is the default
        caching = "" if message.l1 == "df" else f".{message.l1}"
    return f"{predicate}lsc_{op}.{message.sfid}{caching} ({message.exec_mask},{exec_size})"


def _operand(value: int | str) -> str:
    if isinstance(value, str):
        return value
    return f"{'-' if value < 0 else ''}{abs(value):#x}"
