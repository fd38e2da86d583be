"""Work-groups of an Xe core, by hand from the figures of the sources."""

from __future__ import annotations

import pytest
from every import every

from pycute_xe.arch import occupancy
from pycute_xe.errors import TargetError

KB = 1024


@every(
    ("kilobytes", "target", "reserved", "tight", "most"),
    [
        # Guide: 64 KB of an Xe2 or Xe3 core, 128 KB of PVC; runtime: 128 KB everywhere.
        (64, "bmg", 64, 1, 2),
        (64, "lnl", 64, 1, 2),
        (64, "pvc", 64, 2, 2),
        (104, "bmg", 128, 0, 1),  # the scaled-dot-product budget: more than the guide's own limit
        (104, "pvc", 128, 1, 1),
        (33, "lnl", 48, 1, 2),
        (1, "bmg", 1, 4, 4),  # threads are the limit: 32 of them with 256 registers, 8 a work-group
    ],
)
def test_shared_memory(kilobytes: int, target: str, reserved: int, tight: int, most: int) -> None:
    found = occupancy(kilobytes * KB, 8, target)
    assert (found.reserved, found.groups, found.most) == (reserved * KB, tight, most)
    assert all(room.source for room in found.slm)


@pytest.mark.parametrize(("grf_mode", "groups"), [(128, 4), (256, 2)])
def test_threads(grf_mode: int, groups: int) -> None:
    found = occupancy(0, 16, "pvc", grf_mode)
    assert found.slm == ()
    assert (found.groups, found.most, found.reserved) == (groups, groups, 0)
    assert "threads of" in str(found)


def test_without_a_mode_a_thread_has_all_registers() -> None:
    for target in ("pvc", "bmg", "ptl"):
        assert occupancy(1024, 8, target) == occupancy(1024, 8, target, 256)


def test_no_source_no_limit() -> None:
    found = occupancy(32 * KB, 16, "ptl")
    assert found.threads is None
    assert (found.groups, found.most) == (2, 4)


def test_refusals() -> None:
    for slm_bytes, threads, mode in ((-1, 8, 128), (0, 0, 128), (0, 8, 512)):
        with pytest.raises(TargetError):
            occupancy(slm_bytes, threads, "bmg", mode)
