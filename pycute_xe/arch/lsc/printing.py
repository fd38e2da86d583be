"""LSC messages as vISA text."""

from __future__ import annotations

from pycute_xe.arch.lsc.parts import BlockParts, MessageParts

__all__ = ["block_text", "message_text"]

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
