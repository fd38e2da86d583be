"""Floor 6: whether DPAS may take an operand at a byte of the registers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from pycute_xe.arch.dpas import Dpas, DpasMessage, Register
from pycute_xe.arch.dpas.types import precisions, register_types
from pycute_xe.arch.rules import Broken, errors, judge, rules
from pycute_xe.arch.target import targets
from pycute_xe.atom.mma_atom import Operand

__all__ = ["broken_in", "quantities_of", "said_of"]

_FIELDS = {"A": "src2", "B": "src1", "C": "src0", "D": "dst"}


def broken_in(op: Dpas, operand: Operand, places: Iterable[tuple[int, ...]]) -> tuple[Broken, ...]:
    """Return the rules that tiles break where their elements stand, each at the first such tile.

    Level "error" is the looser limit, "warning" the tighter one of another document.
    Document: vISA manual, DPAS.md, alignment.

    >>> from pycute_xe.atom import XE_DPAS_TT
    >>> [b.rule for b in broken_in(XE_DPAS_TT(1, "bf16", "bf16", "bf16", "bf16"), "D", [(16,)])]
    ['dst-grf']
    """
    bits, found = getattr(op, operand).bits, dict[str, Broken]()
    for held in places:
        for broken in _broken_at(op, operand, held[0] * bits // 8):
            found.setdefault(broken.rule, broken)
    return tuple(found.values())


@lru_cache(maxsize=1 << 10)
def _broken_at(op: Dpas, operand: Operand, offset: int) -> tuple[Broken, ...]:
    """The rules that an operand breaks at a byte, on any target."""
    quantities = quantities_of(op) | {_FIELDS[operand]: offset}
    found = (b for t in targets() for b in judge(rules("dpas", "rule", t), quantities))
    return tuple({broken.rule: broken for broken in found}.values())


def quantities_of(op: Dpas) -> dict[str, int]:
    """Return what the rules of a DPAS speak about, with every operand at the start of a register.

    >>> from pycute_xe.atom import XE_DPAS_TT
    >>> quantities_of(XE_DPAS_TT(4, "f32", "bf16"))["repeat"]
    4
    """
    a, b = (precisions()[t.name] for t in (op.A, op.B))
    dst, src0 = (register_types()[t.name] for t in (op.D, op.C))
    at, at0, at1, at2 = map(Register, ("V1", "V2", "V3", "V4"))
    shape = (op.M, op.depth, op.exec_size, "M1")
    return DpasMessage(b, a, at, at0, at1, at2, *shape, dst, src0).quantities


def said_of(operand: Operand, broken: Iterable[Broken]) -> str:
    """Return the rules in words, with the looser ones that hold; empty for none."""
    found = tuple(broken)
    table = rules("dpas", "rule", next(iter(targets())))
    refused = {b.rule for b in errors(found)}
    looser = [r.id for r in table if r.level == "error" and r.quantity == _FIELDS[operand]]
    legal = ", ".join(rule for rule in looser if rule not in refused)
    told = "; ".join(f"{b.level} {b.rule}: {b.condition} [{b.source}]" for b in found)
    return f"{f'legal by {legal}, but ' if legal else ''}{told}" if told else ""
