"""LSC messages: gathers, scatters, strided, quad and status messages, atomics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations, product
from math import log2
from typing import Any, TypeVar, cast

from pycute_xe.arch.block2d import Block2D
from pycute_xe.arch.lsc.fields import (
    CACHINGS,
    EXEC_MASKS,
    EXEC_SIZES,
    MODELS,
    SFIDS,
    SIZES,
    VECTORS,
    Address,
    DataType,
    Operation,
    address_registers,
    check_operand,
    check_type,
    data_registers,
    get_operation,
    known_target,
    laid_out_target,
    null_or_name,
)
from pycute_xe.arch.lsc.legality import (
    SURFACE,
    Facts,
    FieldRule,
    advice_on,
    block_facts,
    broken_block_rules,
    broken_rules,
    decidable,
    field_rules,
    message_facts,
    use_quantities,
)
from pycute_xe.arch.lsc.parts import BlockParts, MessageParts, block_text, message_text
from pycute_xe.arch.lsc.rewriting import hint, same_elements, wider
from pycute_xe.arch.rules import Broken, Rule, nearest, refuse, rules
from pycute_xe.arch.target import Target
from pycute_xe.errors import CuteError, ShapeError
from pycute_xe.signatures import typed_fields
from pycute_xe.typing import shown

__all__ = ["Address", "DataType", "Message", "check_head", "nearest_block", "Block2DMessage"]

# ------------------------------------------------------------ nearest
# The legal message that differs least from an illegal one.
#
# Every change of a field has a cost: what leaves the meaning alone (caching) is cheap, what changes
# where the data goes (data size, unit) dear. Once the unit is settled, no rule speaks about fields
# of two groups, so that each group is settled on its own: its values are tried, cheapest first.

M = TypeVar("M")
Plain = TypeVar("Plain", bound=MessageParts)
Block = TypeVar("Block", bound=BlockParts)
Group = Mapping[str, tuple[int, tuple[object, ...]]]
"""Fields, by name: what another value costs, and the values to try."""

_FIELDS = {  # what a rule speaks about → the fields to change; others are fields themselves
    "caching": ("l1", "l3"),
    "column_bytes": ("height", "element"),
    "data_size": ("size",),
    "address_bits": ("bits",),
    "bits": ("element",),
    "full_registers": ("exec_size", "size", "vector", "mask", "transpose"),
    "has_src1": ("src1",),
    "last_channel": ("exec_mask",),
    "has_src2": ("src2",),
    "row_bytes": ("width", "count", "element"),
    "width_bytes": ("width", "element"),
}
_UNIT = 90
_MASKS = tuple("".join(m) for n in range(1, 5) for m in combinations("xyzw", n))
_CACHING: Group = {"l1": (4, CACHINGS), "l3": (4, CACHINGS)}


def nearest_message(message: Plain, target: str | Target) -> Plain:
    """Return the least different message that breaks no rule; `LegalityError` if none does."""
    known = known_target(target)
    facts = partial(message_facts, target=known)
    address, no_mask = message.address, "_NM" * message.exec_mask.endswith("_NM")
    groups: tuple[Group, ...] = (
        {"src1": (20, (None,)), "src2": (20, (None,))},
        {
            "exec_size": (30, EXEC_SIZES),
            "vector": (40, VECTORS),
            "transpose": (100, (False, True)),
            "size": (80, tuple(SIZES)),
            "mask": (40, _MASKS if message.data.mask else ()),
        },
        {
            "bits": (20, (32, 64, 16)),
            "offset": (40, (32767, -32767)),
            "model": (60, MODELS),
            "surface": (40, () if address.model == "flat" else (0, 255)),
        },
        {"exec_mask": (10, tuple(f"M{i}{no_mask}" for i in range(8, 0, -1)))},
        {"scale": (40, tuple(2**i for i in range(16)))},
        {"pitch": (40, () if address.pitch is None else (0, 65535))},
        _CACHING,
    )
    return _nearest(message, groups, facts, field_rules("message", known.name), known)


def nearest_block(message: Block, target: str | Target) -> Block:
    """Return the least different message that breaks no rule; `LegalityError` if none does."""
    known = laid_out_target(target)
    block = message.block
    packed = {block.height // n * n + more for n in (2, 4) for more in (0, n)}
    groups: tuple[Group, ...] = (
        {
            "height": (30, tuple({8, 16, 32} | (packed - {0}))),
            "width": (30, (1, 2, 4, 8, 16, 32, 64)),
            "count": (30, (1, 2, 4)),
            "transpose": (100, (False, True)),
            "vnni": (100, (False, True)),
            "element": (150, (8, 16, 32, 64)),
        },
        _CACHING,
    )
    least = _nearest(message, groups, block_facts, _block_rules(known.name, block.op), known)
    for _ in SURFACE:  # the pitch may follow the width, and that the size of elements
        least = _nearest_use(least, known.name)
    return least


@cache
def _block_rules(target: str, op: str) -> tuple[FieldRule | Rule, ...]:
    sizes = rules("block2d", "message", target, op)
    return (*field_rules("block", target), *field_rules("message", target), *sizes)


def _nearest(
    message: M,
    groups: Iterable[Group],
    facts: Callable[[M], Facts],
    known: Iterable[FieldRule | Rule],
    target: Target,
) -> M:
    """The cheapest legal message of all units; of equal ones, that of the message's own unit."""
    best: tuple[int, M] | None = None
    own = _get(message, "sfid")
    for unit in sorted(SFIDS, key=lambda unit: unit != own):
        cost = 0 if unit == own else _UNIT
        if best is not None and best[0] <= cost:
            break
        candidate = _with(message, {"sfid": unit})
        for group in groups:
            mine = [rule for rule in known if _fields(rule) & group.keys()]
            more, candidate = _settle(candidate, group, facts, mine)
            cost += more
        if _legal(facts(candidate), known) and (best is None or cost < best[0]):
            best = cost, candidate
    if best is None:
        operands = {"message": message, "target": target}
        judge = broken_block_rules if hasattr(message, "block") else broken_rules
        raise refuse("nearest", operands, judge(cast("Any", message), target))
    return best[1]


def _settle(
    message: M, group: Group, facts: Callable[[M], Facts], known: list[FieldRule | Rule]
) -> tuple[int, M]:
    """The message whose fields of a group obey the rules on them, and what that costs.

    The message as it is, where no values do.
    """
    if _legal(facts(message), known):
        return 0, message
    options = [
        [(0, name, None), *_costs(name, _get(message, name), *group[name])] for name in group
    ]
    for changes in sorted(product(*options), key=lambda changes: sum(c for c, *_ in changes)):
        with suppress(CuteError):
            changed = _with(message, {name: value for cost, name, value in changes if cost})
            if _legal(facts(changed), known):
                return sum(cost for cost, *_ in changes), changed
    return 0, message


def _costs(
    name: str, old: object, cost: int, values: Iterable[object]
) -> list[tuple[int, str, object]]:
    """The costs of other values. A size costs its change in powers of two on top."""
    costs: list[tuple[int, str, object]] = []
    for new in values:
        if new == old:
            continue
        more = 0
        if type(new) is int and type(old) is int:
            more = round(4 * abs(log2((abs(new) + 1) / (abs(old) + 1))))
        elif name == "mask":
            more = 4 * len(set(str(new)) ^ set(str(old)))
        elif name == "size":
            bits = [DataType(str(size)).memory_bits for size in (new, old)]
            more = round(4 * abs(log2(bits[0] / bits[1])))
        costs.append((cost + more, name, new))
    return costs


def _legal(facts: Facts, known: Iterable[FieldRule | Rule]) -> bool:
    numbers = cast("Mapping[str, int]", facts)
    return all(rule.holds(numbers) for rule in known if rule.applies(numbers))


@cache
def _fields(rule: FieldRule | Rule) -> frozenset[str]:
    """The fields that a rule speaks about, as quantity or as condition."""
    quantities = (rule.quantity, *(name for name, _ in rule.conditions))
    return frozenset(field for name in quantities for field in _FIELDS.get(name, (name,)))


def _owner(message: object, name: str) -> tuple[str, str]:
    """Which part of a message has a field, and how the field is called there."""
    if hasattr(message, "block"):
        block = ("height", "width", "count", "transpose", "vnni", "element")
        return ("block" if name in block else "", {"element": "bits"}.get(name, name))
    if name in ("size", "vector", "transpose", "mask"):
        return "data", name
    return ("address" if hasattr(_get(message, "address"), name) else ""), name


def _get(message: object, name: str) -> Any:
    if hasattr(message, name):
        return getattr(message, name)
    part, field = _owner(message, name)
    return getattr(getattr(message, part), field)


def _with(message: M, values: Mapping[str, object]) -> M:
    """The message with other values of some fields, of its own or of its parts."""
    own: dict[str, object] = {}
    parts: dict[str, dict[str, object]] = {}
    for name, value in values.items():
        part, field = _owner(message, name)
        (parts.setdefault(part, {}) if part else own)[field] = value
    if parts.get("address", {}).get("model") == "flat":
        parts["address"]["surface"] = 0
    own |= {part: replace(getattr(message, part), **given) for part, given in parts.items()}
    return replace(cast("Any", message), **own)


def _nearest_use(message: Block, target: str) -> Block:
    """The message with surface and position rounded up, as far as they are numbers."""
    surface, use = use_quantities(message).values()
    table = decidable(rules("block2d", "surface", target), surface)
    uses = decidable(rules("block2d", "use", target, message.block.op), use)
    for name in surface:
        surface[name] = nearest(table, name, surface)
        wide = nearest(uses, f"surface_{name}", use | {f"surface_{name}": surface[name]})
        surface[name] = max(surface[name], wide)
    x = nearest(uses, "x", use) if "x" in use else message.x
    stored = tuple(
        surface[name] - (name != "base") if name in surface else value
        for name, value in zip(SURFACE, message.surface, strict=True)
    )
    return replace(message, surface=stored, x=x)


# ------------------------------------------------------------ message

_PREDICATE = re.compile(r"!?[A-Za-z_][A-Za-z_0-9]*(\.(any|all))?")


@typed_fields
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

    _repr_mimebundle_ = shown

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
        return self._with_hints(broken_rules(self, target), target)

    def _with_hints(self, broken: Iterable[Broken], target: str | Target) -> tuple[Broken, ...]:
        known = known_target(target)
        return tuple(rule.with_fix(partial(hint, self, rule, known)) for rule in broken)

    def advice(self, target: str | Target) -> tuple[Broken, ...]:
        """Return what the document recommends otherwise, though no rule demands it.

        Raises `TargetError` for an unknown target.

        >>> m = Message("load", "ugm", 16, DataType("d32"), Address("flat", 64, "V1"), "V2")
        >>> [found.condition for found in m.advice("pvc")]
        ['exec size is 16, must be 32']
        """
        known = known_target(target)
        able = (advice for advice in advice_on(self, target) if self._takes(advice, known))
        return self._with_hints(able, known)

    def _takes(self, advice: Broken, target: Target) -> bool:
        """Whether a message that takes an advice moves what this one does."""
        if advice.rule == "whole-width":
            return bool(wider(self, target))
        return advice.rule == "single-channel" or bool(same_elements(self, target, advice.rule))

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


# ------------------------------------------------------------ block
# Block-2D LSC messages with all their operands.


@typed_fields
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

    _repr_mimebundle_ = shown

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
            raise _block_refusal(operands, condition, 'name dst, or use Block2D("prefetch", …)')
        if (self.block.op == "store") != (self.src1 is not None):
            condition = "a store reads the register src1, loads and prefetches do not"
            raise _block_refusal(operands, condition, "name src1 for a store only")

    def _check_surface(self) -> None:
        check_type("Block2DMessage", "surface", self.surface, tuple)
        if len(self.surface) != 4:
            condition = "a surface is four operands: base, width, height and pitch"
            raise _block_refusal({"surface": self.surface}, condition, "give four numbers or names")
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
        known, block = laid_out_target(target), self.block
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
        known = laid_out_target(target)
        return self.block.registers(known) if self.block.op == "store" else 0


def _block_refusal(operands: Mapping[str, object], condition: str, way_out: str) -> ShapeError:
    return ShapeError("Block2DMessage", operands, condition, way_out)
