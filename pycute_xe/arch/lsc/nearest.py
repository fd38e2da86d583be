"""The legal message that differs least from an illegal one.

Every change of a field has a cost: what leaves the meaning alone (caching) is cheap, what changes
where the data goes (data size, unit) dear. Once the unit is settled, no rule speaks about fields
of two groups, so that each group is settled on its own: its values are tried, cheapest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import combinations, product
from math import log2
from typing import Any, TypeVar, cast

from pycute_xe.arch.lsc.fields import (
    CACHINGS,
    EXEC_SIZES,
    MODELS,
    SFIDS,
    SIZES,
    VECTORS,
    DataType,
)
from pycute_xe.arch.lsc.legality import (
    SURFACE,
    block_facts,
    decidable,
    message_facts,
    use_quantities,
)
from pycute_xe.arch.lsc.parts import BlockParts, MessageParts
from pycute_xe.arch.lsc.rows import Facts, FieldRule, field_rules
from pycute_xe.arch.lsc.sizes import known_target
from pycute_xe.arch.rules import Rule, nearest, refuse, rules
from pycute_xe.arch.target import Target
from pycute_xe.errors import CuteError

__all__ = ["nearest_block", "nearest_message"]

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
    known = known_target(target)
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
    found = _nearest(message, groups, block_facts, _block_rules(known.name, block.op), known)
    for _ in SURFACE:  # the pitch may follow the width, and that the size of elements
        found = _nearest_use(found, known.name)
    return found


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
        found = _with(message, {"sfid": unit})
        for group in groups:
            mine = [rule for rule in known if _fields(rule) & group.keys()]
            more, found = _settle(found, group, facts, mine)
            cost += more
        if _legal(facts(found), known) and (best is None or cost < best[0]):
            best = cost, found
    if best is None:
        operands = {"message": message, "target": target}
        raise refuse("nearest", operands, cast("Any", message).check(target))
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
    found: list[tuple[int, str, object]] = []
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
        found.append((cost + more, name, new))
    return found


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
    found = decidable(rules("block2d", "surface", target), surface)
    uses = decidable(rules("block2d", "use", target, message.block.op), use)
    for name in surface:
        surface[name] = nearest(found, name, surface)
        wide = nearest(uses, f"surface_{name}", use | {f"surface_{name}": surface[name]})
        surface[name] = max(surface[name], wide)
    x = nearest(uses, "x", use) if "x" in use else message.x
    stored = tuple(
        surface[name] - (name != "base") if name in surface else value
        for name, value in zip(SURFACE, message.surface, strict=True)
    )
    return replace(message, surface=stored, x=x)
