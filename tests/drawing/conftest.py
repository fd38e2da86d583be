from __future__ import annotations

import pytest

import pycute_xe as cx


@pytest.fixture(scope="session")
def mma() -> cx.TiledMma:
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))


@pytest.fixture(scope="session")
def gemm(mma: cx.TiledMma) -> cx.Kernel:
    return cx.kernel.gemm(mma)
