"""Which rules of a target a message breaks."""

from __future__ import annotations

from pycute_xe.arch import rules
from pycute_xe.arch.lsc.parts import BlockParts, MessageParts
from pycute_xe.arch.lsc.rows import Fact, judge_fields
from pycute_xe.arch.lsc.sizes import known_target
from pycute_xe.arch.rules import Broken, Rule
from pycute_xe.arch.target import Target

__all__ = [
    "advice_on",
    "block_facts",
    "broken_block_rules",
    "broken_rules",
    "decidable",
    "message_facts",
    "use_quantities",
]

SURFACE = ("base", "width", "height", "pitch")


def broken_rules(message: MessageParts, target: str | Target) -> tuple[Broken, ...]:
    """Return the rules that a message breaks, errors first."""
    known = known_target(target)
    return judge_fields("message", known.name, message_facts(message, known))


def advice_on(message: MessageParts, target: str | Target) -> tuple[Broken, ...]:
    """Return what a document recommends otherwise, though no rule demands it."""
    known = known_target(target)
    return judge_fields("advice", known.name, message_facts(message, known))


def message_facts(message: MessageParts, target: Target) -> dict[str, Fact]:
    """Return what the rules speak about, by name; numbers that are in registers are left out."""
    data, address, operation = message.data, message.address, message.operation
    facts: dict[str, Fact] = {
        "op": message.op,
        "kind": operation.kind,
        "sfid": message.sfid,
        "exec_size": message.exec_size,
        "last_channel": 4 * int(message.exec_mask[1]) - 5 + message.exec_size,
        "data_size": data.size,
        "vector": data.vector,
        "transpose": data.transpose,
        "model": address.model,
        "scale": address.scale,
        "offset": address.offset,
        "address_bits": address.bits,
        "caching": f"{message.l1}.{message.l3}",
        "prefetch": message.prefetch,
        "has_src1": message.src1 is not None,
        "has_src2": message.src2 is not None,
        "extra": operation.extra,
        "full_registers": _full_registers(message, target),
    }
    if data.mask is not None:
        facts["mask"] = data.mask
    for name in ("surface", "pitch"):
        value = getattr(address, name)
        if isinstance(value, int):
            facts[name] = value
    return facts


def broken_block_rules(message: BlockParts, target: str | Target) -> tuple[Broken, ...]:
    """Return the rules that a block-2D message breaks, errors first."""
    known = known_target(target).name
    broken = (*_broken_size_rules(message, known), *_broken_use(message, known))
    return tuple(sorted(broken, key=lambda b: b.level == "warning"))


def _broken_size_rules(message: BlockParts, target: str) -> tuple[Broken, ...]:
    """Return the rules that a block-2D message breaks wherever it is used."""
    facts = block_facts(message)
    return (
        *message.block.broken_rules(target),
        *judge_fields("block", target, facts),
        *judge_fields("message", target, facts),
    )


def block_facts(message: BlockParts) -> dict[str, Fact]:
    """Return what the rules speak about, by name, wherever the message is used."""
    block = message.block
    kind = "store" if block.op == "store" else "load"
    return {
        **block.quantities,
        "op": f"{kind}_block2d",
        "kind": kind,
        "sfid": message.sfid,
        "caching": f"{message.l1}.{message.l3}",
        "prefetch": block.op == "prefetch",
    }


def _broken_use(message: BlockParts, target: str) -> tuple[Broken, ...]:
    """The rules on surface and position that their numbers break, as far as they are numbers."""
    broken: list[Broken] = []
    for table, quantities in use_quantities(message).items():
        found = rules.rules("block2d", table, target, message.block.op)
        broken += rules.judge(decidable(found, quantities), quantities)
    return tuple(broken)


def use_quantities(message: BlockParts) -> dict[str, dict[str, int]]:
    """Return the numbers of a use that are known, by the table of rules that judges them."""
    surface = {
        name: value + (name != "base")  # all but the base are stored minus 1
        for name, value in zip(SURFACE, message.surface, strict=True)
        if isinstance(value, int)
    }
    use = message.block.quantities | {f"surface_{n}": v for n, v in surface.items()}
    for name, value in (("x", message.x), ("y", message.y)):
        if isinstance(value, int):
            use[name] = value
    return {"surface": surface, "use": use}


def decidable(found: tuple[Rule, ...], quantities: dict[str, int]) -> list[Rule]:
    """Return the rules whose numbers are all known."""
    return [
        rule
        for rule in found
        if rule.quantity in quantities
        and all(bound in quantities for bound in rule.bounds if isinstance(bound, str))
    ]


def _full_registers(message: MessageParts, target: Target) -> int:
    """Registers that the channels in use fill: unlike `data_registers`, no whole units of 16."""
    data, nbytes = message.data, message.data.register_bits // 8
    if data.transpose:
        return max(1, data.elements * nbytes // target.grf_bytes)
    return data.elements * max(1, message.exec_size * nbytes // target.grf_bytes)
