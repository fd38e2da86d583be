"""Messages that move the same elements: what to write instead of a message that breaks a rule.

A hint is the text of whole messages, which are judged before they are offered. First come those
that bring each element to the same place: another caching, a vector for adjacent elements of a
quad, dwords for transposed words and bytes, several shorter messages. Where no legal message does
that, the hint says so and names the nearest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any, TypeVar, cast

from pycute_xe.arch.lsc.fields import CACHINGS, VECTORS, DataType, data_registers
from pycute_xe.arch.lsc.legality import field_rules, message_facts
from pycute_xe.arch.lsc.parts import MessageParts
from pycute_xe.arch.rules import Broken
from pycute_xe.arch.target import Target, message_target, targets
from pycute_xe.errors import CuteError

__all__ = ["hint", "same_elements", "wider"]

M = TypeVar("M", bound=MessageParts)


def hint(message: MessageParts, broken: Broken, target: Target) -> str:
    """Return what to write instead of a message that breaks a rule or an advice."""
    if broken.rule == "whole-width":
        wide = wider(message, target)
        count = wide[0].exec_size // message.exec_size
        return f"{_typed(wide)}, in place of {count} messages like this"
    advised = broken.rule in _broken(message, target, "advice")
    return _hint(message, target, broken.rule if advised else "") or broken.fix


@lru_cache(maxsize=256)
def _hint(message: MessageParts, target: Target, advice: str) -> str:
    same = same_elements(message, target, advice)
    if same:
        return _typed(same)
    whole = _completed(message)
    able = next((t for t in (target.name, *targets()) if _exists(whole, t)), target.name)
    try:
        nearest = cast("Any", whole).nearest(able)
    except CuteError:
        return ""
    if able != target.name:
        return f"use {able}, which has {nearest}"
    if whole is not message:
        return f"name the data, as in {nearest}"
    return f"no legal message moves the same elements; the nearest is {nearest}"


def wider(message: M, target: Target) -> tuple[M, ...]:
    """Return the message for all channels that one message can have; empty where none is legal."""
    full = 16 if target.grf_bytes < 64 else 32
    wide = replace(message, exec_size=full, exec_mask="M1" + message.exec_mask[2:])
    return () if message.exec_size >= full or _broken(wide, target) else (wide,)


def same_elements(message: M, target: Target, advice: str = "") -> tuple[M, ...]:
    """Return messages that move each element between the same places; empty where none do.

    They break no rule and follow the ``advice`` that is named.
    """
    search = _Search(target, advice)
    for start in _variants(message, target):
        parts = search.parts(start)
        if parts:
            return tuple(parts)
    return ()


def _typed(messages: tuple[MessageParts, ...]) -> str:
    *first, last = map(str, messages)
    return f"write {'; '.join(first)} and {last}" if first else f"write {last}"


def _completed(message: M) -> M:
    """The message with a name for each data operand that it lacks."""
    operation, absent = message.operation, dict[str, Any]()
    if message.src1 is None and operation.extra and operation.kind != "load":
        absent["src1"] = "V1"
    if message.src2 is None and operation.extra == 2:
        absent["src2"] = "V2"
    return replace(message, **absent) if absent else message


def _exists(message: MessageParts, target: str) -> bool:
    """Whether a target has messages of this kind."""
    facts = message_facts(message, message_target(target))
    kinds = (rule for rule in field_rules("message", target) if rule.quantity == "kind")
    return not any(rule.is_broken(facts) for rule in kinds)


# ------------------------------------------------------------ searching


def _broken(message: MessageParts, target: Target, table: str = "message") -> set[str]:
    facts = message_facts(message, target)
    return {rule.id for rule in field_rules(table, target.name) if rule.is_broken(facts)}


class _Search:
    """Messages that together do what one does and break no rule."""

    def __init__(self, target: Target, advice: str) -> None:
        self.target, self.advice = target, advice

    def takes(self, message: MessageParts) -> bool:
        """Whether a message may be offered."""
        if _broken(message, self.target):
            return False
        return not self.advice or self.advice not in _broken(message, self.target, "advice")

    def parts(self, message: M) -> list[M] | None:
        """The message, or the shortest list of such that it is cut into; None for none."""
        if self.takes(message):
            return [message]
        if message.operation.kind not in ("load", "store") or message.op == "load_status":
            return None
        for cut in (self._runs, self._vectors, self._channels):
            with suppress(CuteError):
                parts = [self.parts(piece) for piece in cut(message)]
                if parts and all(part is not None for part in parts):
                    return [each for part in parts for each in part or ()]
        return None

    def _runs(self, message: M) -> list[M]:
        """A quad as vectors: one for each run of adjacent elements."""
        data = message.data
        if data.mask is None:
            return []
        channels, pieces, first = data.channels, list[M](), 0
        op = message.op.removesuffix("_quad")
        for i in range(1, len(channels) + 1):
            if i < len(channels) and channels[i] == channels[i - 1] + 1:
                continue
            piece = replace(
                message, op=op, data=DataType(data.size, i - first), address=_at(message, first)
            )
            pieces.append(_with_data(piece, first * self._component(message)))
            first = i
        return pieces

    def _vectors(self, message: M) -> list[M]:
        """Vectors of fewer elements, the longest that are taken first."""
        count, at, pieces = message.data.vector, 0, list[M]()
        if count == 1 or message.data.mask is not None:
            return []
        while at < count:
            fitting = [n for n in VECTORS if n <= count - at and n < count]
            made = (self._elements(message, at, n) for n in sorted(fitting, reverse=True))
            piece = next((piece for piece in made if piece is not None and self.takes(piece)), None)
            piece = piece or self._elements(message, at, 1)
            if piece is None:
                return []
            pieces.append(piece)
            at += piece.data.vector
        return pieces

    def _channels(self, message: M) -> list[M]:
        """Two halves of the channels."""
        half, bits = message.exec_size // 2, message.address.bits
        data, grf = message.data, self.target.grf_bytes
        combined = "." in (message.predicate or "")
        if half < 4 or data.elements > 1 or data.transpose or combined:
            return []
        if message.operation.strided:
            return []
        group, _, no_mask = message.exec_mask.partition("_")
        mask = f"M{int(group[1:]) + half // 4}" + f"_{no_mask}" * bool(no_mask)
        moved, apart = half * data.register_bits // 8, half * bits // 8
        if moved % grf or apart % grf:
            return []
        address = replace(message.address, register=_later(message.address.register, apart))
        second = replace(message, exec_size=half, exec_mask=mask, address=address)
        return [replace(message, exec_size=half), _with_data(second, moved)]

    def _elements(self, message: M, first: int, count: int) -> M | None:
        """Some elements of the vector of each channel; None where no operand can name them."""
        data, address = message.data, _at(message, first)
        if message.operation.strided and address.pitch is None:
            address = replace(address, pitch=data.elements * data.memory_bits // 8)
        moved = first * (data.register_bits // 8 if data.transpose else self._component(message))
        if moved % self.target.grf_bytes:
            return None
        piece = replace(message, data=replace(data, vector=count), address=address)
        return _with_data(piece, moved)

    def _component(self, message: MessageParts) -> int:
        """The bytes of registers from one element of all channels to the next."""
        count = data_registers(message.data, message.exec_size, self.target)
        return count // message.data.elements * self.target.grf_bytes


def _variants(message: M, target: Target) -> Iterator[M]:
    """The message itself in other words: other hints to the caches, no operand that is not used."""
    unused = {n: None for n, least in (("src1", 1), ("src2", 2)) if message.operation.extra < least}
    if message.operation.kind != "atomic":
        unused = {}
    starts = [replace(message, **cast("Any", unused))]
    if message.sfid == "ugml":
        starts.append(replace(starts[0], sfid="ugm"))
    for start in starts:
        for data in _order(start):
            l1, l3 = _caching(start, target)
            yield replace(start, data=data, l1=l1, l3=l3)


def _caching(message: MessageParts, target: Target) -> tuple[str, str]:
    """The hints to the caches that no rule on them refuses, most like those of the message."""
    facts = message_facts(message, target)
    known = [rule for rule in field_rules("message", target.name) if rule.quantity == "caching"]
    pairs = sorted(
        product(CACHINGS, repeat=2),
        key=lambda pair: (pair[0] != message.l1) + (pair[1] != message.l3),
    )
    able = (
        (l1, l3)
        for l1, l3 in pairs
        if not any(rule.is_broken({**facts, "caching": f"{l1}.{l3}"}) for rule in known)
    )
    return next(able, (message.l1, message.l3))


def _order(message: MessageParts) -> Iterator[DataType]:
    """The same bytes of a channel as other elements."""
    data = message.data
    yield data
    if not data.transpose or message.exec_size > 1:
        return
    if data.vector == 1:
        yield replace(data, transpose=False)
    total = data.vector * data.memory_bits
    for size, bits in (("d32", 32), ("d64", 64)):
        narrower = data.memory_bits == data.register_bits < bits
        if narrower and total % bits == 0 and total // bits in VECTORS:
            yield replace(data, size=size, vector=total // bits)


# ------------------------------------------------------------ cutting


def _at(message: MessageParts, element: int) -> Any:
    """The address of an element of the vector or the quad."""
    data, address = message.data, message.address
    apart = data.channels[element] * data.memory_bits // 8
    return replace(address, offset=address.offset + apart)


def _with_data(message: M, nbytes: int) -> M:
    """The message with its data so many bytes of registers later."""
    name = "src1" if message.operation.kind == "store" else "dst"
    return replace(message, **cast("Any", {name: _later(getattr(message, name), nbytes)}))


def _later(register: str | None, nbytes: int) -> str | None:
    """The operand so many bytes later; None stays the null register."""
    if register is None or not nbytes:
        return register
    root, _, byte = register.partition(".")
    return f"{root}.{int(byte or 0) + nbytes}"
