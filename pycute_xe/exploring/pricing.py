"""What a candidate costs: at the least by arithmetic, and exactly by `cost` of its kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from pycute_xe.arch.registers import occupancy
from pycute_xe.arch.target import Target
from pycute_xe.checking import check
from pycute_xe.costing import Device, cost_of, facts_of
from pycute_xe.costing.account import Cost, bounds_of
from pycute_xe.costing.facts import Facts
from pycute_xe.errors import CuteError, KernelError, LegalityError
from pycute_xe.exploring.rules import SPILLS, parts_of
from pycute_xe.exploring.space import Candidate
from pycute_xe.numeric import as_numeric

__all__ = ["Objective", "Outcome", "lower_bound", "price", "price_all", "ranked"]

Objective: TypeAlias = Literal["least", "most"]
Outcome: TypeAlias = "tuple[float, float, int] | str"
"""Over all problems: seconds at the least and at the most, and DPAS, messages and barriers; or the
rule that refuses."""


def price(candidate: Candidate, device: Device, problems: Sequence[Mapping[str, int]]) -> Outcome:
    """Return what `cost` says of a candidate's kernel, summed over problems, or what refuses it."""
    try:
        kernel = candidate.kernel()
    except CuteError:
        return "described"
    checked = check(kernel, device.target)
    if checked.errors:
        return checked.errors[0].broken.rule
    if any(finding.broken.rule == SPILLS for finding in checked.warnings):
        return SPILLS
    try:
        known = facts_of(kernel, device.target, candidate.mode)
        every: list[Cost] = [cost_of(known, device, one) for one in problems]
    except LegalityError:
        return "mode"
    except KernelError:  # no number of moves is known for a reorder of parts of bytes
        return "moves"
    counted = [one.facts for one in every]
    sent = sum(one.dpas + one.barriers + sum(one.messages.values()) for one in counted)
    return sum(one.least for one in every), sum(one.most for one in every), sent


def ranked(least: float, most: float, objective: Objective) -> tuple[float, float]:
    """Return what candidates are ranked by: the end that counts, and then the other one."""
    return {"least": (least, most), "most": (most, least)}[objective]


def price_all(
    candidates: Sequence[Candidate], device: Device, problems: Sequence[Mapping[str, int]]
) -> list[Outcome]:
    """Return what each costs: a batch, as an executor's worker takes it."""
    return [price(one, device, problems) for one in candidates]


def lower_bound(
    candidate: Candidate,
    device: Device,
    problems: Sequence[Mapping[str, int]],
    objective: Objective,
) -> tuple[float, float]:
    """Return `ranked` seconds that none of `price` are below: no work of vector pipes is in them.

    >>> from pycute_xe.costing import devices
    >>> one = Candidate((256, 256, 32), (8, 4), 2, 8, ("bf16", "bf16", "f32", "f32"))
    >>> given = (one, devices()[0], ({"M": 4096, "N": 4096, "K": 4096},))
    >>> lower_bound(*given, "most")[0] <= price(*given)[1]
    True
    """
    least = most = 0.0
    for sizes in problems:
        bounds = bounds_of(_outline(candidate, device, sizes), device)
        launch = device["launch"]
        least += max(bound.least for bound in bounds) + launch.least * 1e-6
        most += sum(bound.most for bound in bounds) + launch.most * 1e-6
    return ranked(least, most, objective)


def _outline(candidate: Candidate, device: Device, sizes: Mapping[str, int]) -> Facts:
    """Return the facts that bounds need, by arithmetic on whole tiles and clipped bytes."""
    shape = parts_of(candidate.rows, candidate.types, device.target)
    n_dpas, k_dpas = shape if not isinstance(shape, str) else (16, 16)
    (tile_m, tile_n, tile_k), (grid_m, grid_n) = candidate.tile, candidate.grid
    m, n, k = (sizes[name] for name in "MNK")
    tiles_m, tiles_n, tiles_k = -(-m // tile_m), -(-n // tile_n), -(-k // tile_k)
    groups, subgroups = tiles_m * tiles_n * candidate.parts, grid_m * grid_n
    alone = candidate.schedule == "gemm" or candidate.is_split
    if candidate.schedule == "specialised_gemm":
        subgroups *= 2  # those that produce
    bits_a, bits_b, _, bits_d = (as_numeric(kind).bits for kind in candidate.types)
    a, b, d = m * k * bits_a // 8, n * k * bits_b // 8, m * n * bits_d // 8
    rows = tiles_m * tiles_n * tiles_k * tile_m * (tile_n // n_dpas) * (tile_k // k_dpas)
    again = (grid_m, grid_n) if alone else (1, 1)
    resident = _resident(subgroups, device.target)
    return Facts(
        sizes=sizes, messages={}, nbytes={}, registers=0, grf_mode=0, over=0, shared=0,
        requested=a * tiles_n * again[1] + b * tiles_m * again[0] + d,
        fetched=a * tiles_n + b * tiles_m + d,
        least=a + b + d, dpas=rows // candidate.rows, rows=rows, operations=0, barriers=0,
        moves=0, widened=0, converted=0, computed=0, groups=groups, subgroups=subgroups,
        resident=resident, waves=0, last=1.0,
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _resident(subgroups: int, target: Target) -> int:
    """The most work-groups that a core keeps, in any register mode."""
    modes = target.grf_modes
    return max(1, *(occupancy(0, subgroups, target, mode).groups for mode in modes))
