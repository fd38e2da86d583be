"""LSC messages: gathers, scatters, strided, quad and status messages, atomics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pycute_xe.arch.lsc.fields import (
    CACHINGS,
    EXEC_MASKS,
    EXEC_SIZES,
    SFIDS,
    Address,
    DataType,
    check_type,
    null_or_name,
)
from pycute_xe.arch.lsc.legality import advice_on, broken_rules
from pycute_xe.arch.lsc.nearest import nearest_message
from pycute_xe.arch.lsc.operations import Operation, get_operation
from pycute_xe.arch.lsc.parts import MessageParts
from pycute_xe.arch.lsc.printing import message_text
from pycute_xe.arch.lsc.sizes import address_registers, data_registers
from pycute_xe.arch.rules import Broken
from pycute_xe.arch.target import Target
from pycute_xe.errors import ShapeError

__all__ = ["Address", "DataType", "Message", "check_head"]

_PREDICATE = re.compile(r"!?[A-Za-z_][A-Za-z_0-9]*(\.(any|all))?")


@dataclass(frozen=True, slots=True)
class Message(MessageParts):
    """One LSC instruction but the block-2D ones, with every field of the vISA text.

    ``op`` is the name without ``lsc_``; ``data`` what is moved per address; ``dst`` the register
    operand that is loaded or gets the old value, ``None`` the null register (a prefetch, or an
    atomic that returns nothing); ``src1`` and ``src2`` the data that is stored or combined.
    A message may be illegal on a target, see `check`.
    Law: ``parse(str(m)) == m``. Raises `ShapeError` for what no encoding could hold.
    Document: vISA manual, LSC_UNTYPED.md.

    >>> load = Message("load", "ugm", 16, DataType("d32", 2), Address("flat", 64, "V12"), "V13")
    >>> print(load)
    lsc_load.ugm (M1,16) V13:d32x2 flat[V12]:a64
    >>> load.check("pvc"), load.registers("pvc")
    ((), 2)
    """

    def __post_init__(self) -> None:
        """Refuse what no encoding could hold; any spelling of the null register is ``None``."""
        operation = get_operation(self.op)
        check_head("Message", self)
        if type(self.exec_size) is not int or self.exec_size not in EXEC_SIZES:
            known = ", ".join(map(str, EXEC_SIZES))
            raise _refusal({"exec_size": self.exec_size}, "unknown execution size", known)
        for name in ("dst", "src1", "src2"):
            value = null_or_name("Message", name, getattr(self, name))
            object.__setattr__(self, name, value)
        self._check_operands(operation)
        self._check_data(operation)

    def _check_operands(self, operation: Operation) -> None:
        operands = {"op": self.op, "dst": self.dst, "src1": self.src1, "src2": self.src2}
        if operation.kind == "store" and self.dst is not None:
            raise _refusal(operands, "a store has no destination", "leave dst out")
        if operation.kind == "load" and self.src1 is not None:
            raise _refusal(operands, "a load has no data operand", "leave src1 out")
        if operation.kind != "atomic" and self.src2 is not None:
            raise _refusal(operands, "only atomics have a second data operand", "leave src2 out")

    def _check_data(self, operation: Operation) -> None:
        check_type("Message", "data", self.data, DataType)
        check_type("Message", "address", self.address, Address)
        operands = {"op": self.op, "data": self.data, "address": self.address}
        if (self.data.mask is None) == operation.quad:
            condition = "quad operations need a channel mask, and no others take one"
            raise _refusal(operands, condition, 'DataType("d32", mask="xyzw")')
        if self.address.pitch is not None and not operation.strided:
            raise _refusal(operands, "only strided operations have a pitch", "leave it out")
        if (self.address.register is None) != (operation.kind == "counter"):
            condition = "append counters take no address register, all other operations need one"
            raise _refusal(operands, condition, "name a register, or None for a counter")
        if operation.kind == "counter" and self.address.bits != 32:
            raise _refusal(operands, "a counter has no address size", "write 32")

    def __str__(self) -> str:
        """The vISA text."""
        return message_text(self)

    def check(self, target: str | Target) -> tuple[Broken, ...]:
        """Return every rule of a target that the message breaks, errors first; empty: legal.

        Raises `TargetError` for an unknown target.

        >>> m = Message("load", "ugm", 16, DataType("d32", 8, True), Address("flat", 64, "V1"))
        >>> [broken.rule for broken in m.check("pvc")]
        ['transpose-exec']
        """
        return broken_rules(self, target)

    def advice(self, target: str | Target) -> tuple[Broken, ...]:
        """Return what the document recommends otherwise, though no rule demands it.

        Raises `TargetError` for an unknown target.

        >>> m = Message("load", "ugm", 16, DataType("d32"), Address("flat", 64, "V1"), "V2")
        >>> [found.condition for found in m.advice("pvc")]
        ['exec size is 16, must be 32']
        """
        return advice_on(self, target)

    def nearest(self, target: str | Target) -> Message:
        """Return the legal message that differs least from this one; itself, if legal.

        No warning is left either. Operation, destination and predicate stay. Raises `TargetError`
        for an unknown target, `LegalityError` where no change helps, such as a missing operand.

        >>> m = Message("load", "ugm", 16, DataType("d32", 8, True), Address("flat", 64, "V1"))
        >>> print(m.nearest("pvc"))
        lsc_load.ugm (M1,1) %null:d32x8t flat[V1]:a64
        """
        return nearest_message(self, target)

    def registers(self, target: str | Target) -> int:
        """Return the registers that the message writes; none for a prefetch or a store.

        Channels are counted in whole execution units of 16; a transposed message packs.

        >>> m = Message("load", "ugm", 1, DataType("d64", 2), Address("flat", 64, "V1"), "V2")
        >>> m.registers("pvc")
        4
        """
        if self.dst is None:
            return 0
        if self.op == "load_status":  # one bit per channel
            return data_registers(DataType("d32"), 1, target)
        return data_registers(self.data, self.exec_size, target)

    def source_registers(self, target: str | Target) -> int:
        """Return the registers of data that the message reads, addresses left out.

        >>> m = Message("store", "slm", 32, DataType("d32", 2), Address("flat", 32, "V1"),
        ...     src1="V2")
        >>> m.source_registers("pvc")
        4
        """
        given = sum(operand is not None for operand in (self.src1, self.src2))
        return given * data_registers(self.data, self.exec_size, target)

    def address_registers(self, target: str | Target) -> int:
        """Return the registers of addresses that the message reads.

        >>> Message("load", "ugm", 32, DataType("d8"), Address("flat", 64, "V1"), "V2"
        ...     ).address_registers("pvc")
        4
        """
        if self.address.register is None:
            return 0
        single = self.operation.strided or self.data.transpose
        return address_registers(self.address, 1 if single else self.exec_size, single, target)


def check_head(operation: str, message: Any) -> None:
    """Refuse a unit, caching, execution mask or predicate that the head of no message holds."""
    for field, known in (
        ("sfid", SFIDS),
        ("l1", CACHINGS),
        ("l3", CACHINGS),
        ("exec_mask", EXEC_MASKS),
    ):
        value = getattr(message, field)
        if not isinstance(value, str) or value not in known:
            way_out = f"one of {', '.join(known)}"
            raise ShapeError(operation, {field: value}, f"unknown {field}", way_out)
    predicate = message.predicate
    if predicate is None:
        return
    if not isinstance(predicate, str) or not _PREDICATE.fullmatch(predicate):
        raise ShapeError(
            operation,
            {"predicate": predicate},
            "malformed predicate",
            "use P1, !P1, P1.any or None",
        )


def _refusal(operands: Mapping[str, object], condition: str, way_out: str) -> ShapeError:
    return ShapeError("Message", operands, condition, way_out)
