from __future__ import annotations

import pytest

from pycute_xe.arch import get_target, grf_bytes, targets
from pycute_xe.errors import TargetError


def test_the_targets() -> None:
    assert set(targets()) == {"pvc", "bmg", "lnl", "ptl"}
    assert all(target.grf_bytes == grf_bytes() == 64 for target in targets().values())
    assert all(target.exec_size == 16 for target in targets().values())


@pytest.mark.parametrize("name", ["pvc", "bmg", "lnl"])
def test_threads_halve_when_registers_double(name: str) -> None:
    target = get_target(name)
    assert target.grf_modes == (128, 256)
    assert [target.threads_per_core(mode) for mode in target.grf_modes] == [64, 32]


def test_panther_lake_holds_only_what_a_source_states() -> None:
    target = get_target("ptl")
    assert target.threads_per_engine(96) == 10
    assert target.threads_per_engine(256) == 4
    with pytest.raises(TargetError, match="no source gives the vector engines"):
        target.threads_per_core(128)


def test_unknown_targets_list_the_known_ones() -> None:
    with pytest.raises(TargetError, match="one of pvc, bmg, lnl, ptl"):
        get_target("h100")
    assert get_target(get_target("bmg")) is get_target("bmg")


def test_register_modes() -> None:
    target = get_target("bmg")
    assert [target.grf_mode(n) for n in (1, 128, 129, 224)] == [128, 128, 256, 256]
    with pytest.raises(TargetError, match="at most 256"):
        target.grf_mode(257)
    with pytest.raises(TargetError, match="one of 128, 256"):
        target.threads_per_engine(192)


def test_shared_local_memory_refuses_at_the_looser_limit_and_warns_at_the_tighter() -> None:
    bmg = get_target("bmg")
    assert bmg.slm_bytes == 128 * 1024
    assert bmg.slm_broken(64 * 1024) == ()
    assert [b.level for b in bmg.slm_broken(64 * 1024 + 1)] == ["warning"]
    assert [b.level for b in bmg.slm_broken(128 * 1024 + 1)] == ["error", "warning"]
    assert get_target("pvc").slm_broken(100_000) == ()
    assert "ESIMD" in bmg.slm_broken(100_000)[0].source
