"""What arithmetic refuses of a candidate before its kernel is built.

Each rule is necessary: what it refuses, building or `check` refuses too, or the compiler spills.
What else they refuse shows when a survivor is built, and is counted by the same names.
"""

from __future__ import annotations

from functools import lru_cache

from pycute_xe.arch.target import Target, spills
from pycute_xe.atom import XE_DPAS_TT
from pycute_xe.errors import CuteError, TargetError
from pycute_xe.exploring.space import Candidate
from pycute_xe.numeric import as_numeric

__all__ = ["SPILLS", "parts_of", "refusal", "spills_expected"]

SPILLS = "spills"
"""The rule that refuses as many registers as kernels had of which some spilled."""


@lru_cache(maxsize=1024)
def parts_of(rows: int, types: tuple[str, ...], target: Target) -> tuple[int, int] | str:
    """Return N and K of the DPAS of some types, or the rule that it breaks on a target."""
    a, b, acc, _ = types
    try:
        op = XE_DPAS_TT(rows, acc, a, b)
    except CuteError:
        return "types"
    broken = op.broken_rules(target)
    return broken[0].rule if broken else (op.N, op.K)


def spills_expected(registers: int) -> bool:
    """Whether some of the kernels that were compiled with so many registers spilled.

    >>> [spills_expected(count) for count in (224, 240, 244, 256)]
    [False, False, True, True]
    """
    counted = spills(registers)
    return counted is not None and counted[0] > 0


def refusal(candidate: Candidate, target: Target) -> str:
    """Return the rule that refuses a candidate, or nothing.

    ``divides``: the tile must be a multiple of DPAS times subgroups. ``register-file`` and
    ``spills``: the accumulator and one tile each of A and B are the least that live at once.
    ``threads``: a core has a thread for each subgroup.

    >>> from pycute_xe.arch import get_target
    >>> types, bmg = ("bf16", "bf16", "f32", "f32"), get_target("bmg")
    >>> [refusal(Candidate(tile, (8, 4), 2, 8, types), bmg)
    ...     for tile in ((256, 256, 32), (250, 256, 32), (512, 512, 32))]
    ['', 'divides', 'register-file']
    """
    shape = parts_of(candidate.rows, candidate.types, target)
    if isinstance(shape, str):
        return shape
    (m, n, k), (grid_m, grid_n) = candidate.tile, candidate.grid
    if m % (candidate.rows * grid_m) or n % (shape[0] * grid_n) or k % shape[1]:
        return "divides"
    registers = _registers(candidate, target)
    mode, broken = target.grf_mode_of(registers)
    errors = [one.rule for one in broken if one.level == "error"]
    if errors:
        return errors[0]
    if spills_expected(registers):
        return SPILLS
    return "" if grid_m * grid_n <= _threads(target, mode) else "threads"


@lru_cache(maxsize=64)
def _threads(target: Target, mode: int) -> int:
    try:
        return target.threads_per_core(mode)
    except TargetError:  # no row says: `check` warns, and does not refuse
        return 1 << 30


def _registers(candidate: Candidate, target: Target) -> int:
    """The registers of one tile of the accumulator, of A and of B, of a subgroup."""
    (m, n, k), (grid_m, grid_n) = candidate.tile, candidate.grid
    a, b, acc, _ = (as_numeric(kind).bits for kind in candidate.types)
    rows, columns = m // grid_m, n // grid_n
    counts = (rows * columns * acc, rows * k * a, columns * k * b)
    return sum(target.registers(-(-bits // 8)) for bits in counts)
