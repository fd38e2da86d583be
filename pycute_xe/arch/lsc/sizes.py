"""How many registers the operands of a message take."""

from __future__ import annotations

from pycute_xe.arch.lsc.fields import Address, DataType
from pycute_xe.arch.target import Target, get_target, refuse_known_in_part, targets
from pycute_xe.errors import TargetError

__all__ = ["address_registers", "data_registers", "known_target"]


def known_target(target: str | Target) -> Target:
    """Return the target of a name; `TargetError` says why for machines known only in part.

    >>> known_target("dg2")
    Traceback (most recent call last):
    pycute_xe.errors.TargetError: lsc(target=dg2): 8 lanes ...
    """
    refuse_known_in_part("lsc", target.name if isinstance(target, Target) else target)
    found = get_target(target)
    if found.name not in targets():
        condition = "no rule speaks about a target of that name"
        raise TargetError("lsc", {"target": found}, condition, f"one of {', '.join(targets())}")
    return found


def data_registers(data: DataType, exec_size: int, target: str | Target) -> int:
    """Return the registers of one data operand.

    Law: the elements of one address, transposed, are packed; else each takes the channels of a
    whole execution unit, rounded up to registers.

    >>> data_registers(DataType("d32", 16, True), 1, "pvc")
    1
    >>> data_registers(DataType("d64"), 1, "pvc")
    2
    """
    found = known_target(target)
    nbytes = data.register_bits // 8
    if data.transpose:
        return exec_size * -(-data.vector * nbytes // found.grf_bytes)
    channels = max(exec_size, found.exec_size)
    return data.elements * -(-channels * nbytes // found.grf_bytes)


def address_registers(address: Address, channels: int, single: bool, target: str | Target) -> int:
    """Return the registers of the addresses: one register, or those of an execution unit."""
    found = known_target(target)
    units = channels if single else max(channels, found.exec_size)
    return -(-units * address.bits // 8 // found.grf_bytes)
