"""Floor 9: judging shared memory: its bytes, and the turns that bank conflicts cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pycute_xe.arch import Broken, Target
from pycute_xe.arch.banks import banks
from pycute_xe.bulk import table
from pycute_xe.checking.found import Found
from pycute_xe.checking.report import Resource
from pycute_xe.holding.follower import situated
from pycute_xe.kernel import Kernel, SharedLoad, SharedStore
from pycute_xe.kernel.ir.roles import doing

__all__ = ["BankTurns", "bank_turns", "judge_shared_memory"]

REGISTER = 64
"""Bytes that one access moves: a register of a subgroup."""


@dataclass(frozen=True, slots=True)
class BankTurns:
    """Turns of the busiest bank, over all accesses of a statement, and the fewest possible.

    One access moves a register: 64 bytes of a subgroup.
    """

    accesses: int
    turns: int
    least: int

    @property
    def lost(self) -> int:
        """Turns lost to conflicts."""
        return self.turns - self.least


def bank_turns(kernel: Kernel, statement: SharedLoad | SharedStore, target: Target) -> BankTurns:
    """Return what the banks of shared memory do for one statement of all subgroups.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> gemm = cx.kernel.slm_gemm(mma)
    >>> take = next(s for s in gemm.statements() if isinstance(s, SharedLoad))
    >>> bank_turns(gemm, take, cx.get_target("bmg"))
    BankTurns(accesses=1024, turns=2048, least=1024)
    """
    unit = kernel.shared_array(statement.array).value_type.bits // 8
    places = table(statement.places).reshape(-1, kernel.subgroups).T * unit
    places = places[_who(kernel, statement)]
    each = max(1, min(REGISTER // max(unit, 1), places.shape[1]))
    rows = places.reshape(-1, each)
    rows = rows - rows.min(axis=1, keepdims=True) // REGISTER * REGISTER  # as far from bank 0
    patterns, counts = np.unique(rows, axis=0, return_counts=True)
    model = banks(target)[0]
    uses = [model.use(map(int, row), unit) for row in patterns]
    pairs = list(zip(uses, map(int, counts), strict=True))
    return BankTurns(
        len(rows), sum(u.turns * n for u, n in pairs), sum(u.least * n for u, n in pairs)
    )


def _who(kernel: Kernel, statement: SharedLoad | SharedStore) -> list[bool]:
    """Return which subgroups do a statement."""
    for one, around in situated(kernel.body):
        if one is statement:
            return list(doing(around, kernel.subgroups))
    return [True] * kernel.subgroups


def judge_shared_memory(kernel: Kernel, found: Found) -> None:
    """Note the bytes of shared memory, refuse too many, and warn of turns lost to conflicts."""
    nbytes, target = sum(array.bytes for array in kernel.shared), found.target
    most = max(limit.bytes for limit in target.slm)
    detail = " + ".join(f"{array.name} {array.bytes}" for array in kernel.shared)
    found.resources.append(Resource("shared memory", nbytes, most, f"bytes: {detail}"))
    broken = target.slm_broken(nbytes)
    found.refuse("shared memory", broken)
    if not broken:
        found.hold("shared memory", "slm-size", f"{nbytes} of {most} bytes", target.source)
    for statement in kernel.statements():
        if isinstance(statement, (SharedLoad, SharedStore)):
            _judge_banks(kernel, statement, found)


def _judge_banks(kernel: Kernel, statement: SharedLoad | SharedStore, found: Found) -> None:
    array = kernel.shared_array(statement.array)
    if array.value_type.bits < 8:
        return  # no element has an address: no executor moves it
    way = "load from" if isinstance(statement, SharedLoad) else "store to"
    subject, model = f"{way} {array.name}", banks(found.target)[0]
    used = bank_turns(kernel, statement, found.target)
    condition = f"{used.lost} of {used.turns} turns of {model.count} banks are lost to conflicts"
    if used.lost:
        fix = "swizzle the array, or store it in the order in which registers are loaded"
        found.refuse(subject, (Broken("slm-banks", "warning", condition, model.source, fix),))
    else:
        found.hold(subject, "slm-banks", condition, model.source)
