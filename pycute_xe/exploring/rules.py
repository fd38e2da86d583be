"""What arithmetic refuses of a candidate before its kernel is built.

Each rule is necessary: what it refuses, building or `check` refuses too, or the compiler spills.
What else they refuse shows when a survivor is built, and is counted by the same names.
"""

from __future__ import annotations

from functools import lru_cache

from pycute_xe.arch.target import Target
from pycute_xe.atom import XE_DPAS_TT
from pycute_xe.atom.copy_atom import as_operation
from pycute_xe.errors import CuteError, TargetError
from pycute_xe.exploring.space import Candidate
from pycute_xe.numeric import as_numeric

__all__ = ["SPILLS", "parts_of", "refusal"]

BYTE, MOST_STAGES = 8, 3
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


def refusal(candidate: Candidate, target: Target) -> str:
    """Return the rule that refuses a candidate, or nothing.

    ``divides``: the tile must be a multiple of DPAS times subgroups. ``register-file``,
    ``register-room`` and ``spills``: the accumulator and one tile each of A and B are the least
    that live at once.
    ``threads``: a core has a thread for each subgroup, `specialised_gemm` as many that produce.
    ``mode``: the target has this number of registers, and it holds those. ``slm-bytes``: the tiles
    that lie in shared memory. ``stages``: one to three lie there. ``narrow``: no part of a byte
    does. ``split``: parts of K are added as they are accumulated. ``copy``: a load of values of the
    operand's bits, whose block divides what a subgroup loads, and none where all load a tile
    together. ``epilogue-tile``: whole DPAS, which
    divide a subgroup's share.

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
    if rule := _of_schedule(candidate, target) or _of_copies(candidate):
        return rule
    if cut := candidate.epilogue_tile:
        parts = zip((m // grid_m, n // grid_n), cut, (candidate.rows, shape[0]), strict=True)
        if any(part % step or whole % part for whole, part, step in parts):
            return "epilogue-tile"
    registers = _registers(candidate, target)
    mode, broken = target.grf_mode_of(registers)
    if broken:  # also where only some of the compiled kernels spilled
        return broken[0].rule
    if candidate.mode and (candidate.mode not in target.grf_modes or registers > candidate.mode):
        return "mode"
    subgroups = grid_m * grid_n * (2 if candidate.schedule == "specialised_gemm" else 1)
    return "" if subgroups <= _threads(target, candidate.mode or mode) else "threads"


def _of_schedule(candidate: Candidate, target: Target) -> str:
    """Return what a schedule refuses: shared memory, its stages, and sums of parts."""
    (m, n, k), (a, b, acc, d) = candidate.tile, candidate.types
    if candidate.is_split:
        return "split" if d != acc or candidate.epilogue_tile else ""
    if candidate.schedule == "gemm":
        return ""
    bits_a, bits_b = as_numeric(a).bits, as_numeric(b).bits
    if min(bits_a, bits_b) < BYTE:
        return "narrow"
    if candidate.stages > MOST_STAGES:
        return "stages"
    shared = candidate.stages * (m * k * bits_a + n * k * bits_b) // BYTE
    broken = target.slm_broken(shared)
    return next((one.rule for one in broken if one.level == "error"), "")


def _of_copies(candidate: Candidate) -> str:
    """Return whether a copy cannot load a subgroup's share of its operand."""
    (m, n, k), (grid_m, grid_n) = candidate.tile, candidate.grid
    shares = ((m // grid_m, k), (k, n // grid_n))
    if candidate.schedule != "gemm" and not candidate.is_split:
        return "copy" if any(candidate.copies) else ""  # subgroups load a tile together
    for name, order, share, kind in zip(
        candidate.copies, candidate.orders, shares, candidate.types, strict=False
    ):
        if name and not _loads(name, order, share, kind):
            return "copy"
    return ""


@lru_cache(maxsize=4096)
def _loads(name: str, order: str, share: tuple[int, int], kind: str) -> bool:
    """Whether a copy is a load, of whole blocks of a share if its values are as wide."""
    try:
        op = as_operation(name, as_numeric(kind))
    except CuteError:
        return False
    rows, columns = {"row": share, "col": share[::-1]}[order]
    whole = op.bits != as_numeric(kind).bits or not (rows % op.height or columns % op.width)
    return op.message.op == "load" and whole


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
