"""The roofline: bands and the kernel's cells, by hand."""

from __future__ import annotations

from math import isclose
from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe.costing.device import get_device
from pycute_xe.costing.roofline import roofs
from pycute_xe.errors import InputError

GEMM = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
LEVELS = ("L1", "L2", "memory")


def test_roofs_are_bytes_a_second_of_all_cores() -> None:
    """A B580: 20 cores of 256 to 512 and 31 to 77 bytes a clock, 456 GB/s reached in part."""
    found = roofs(get_device("b580"))
    assert found["L1"] == (20 * 256 * 2670e6, 20 * 512 * 2850e6)
    assert found["L2"] == (20 * 31 * 2670e6, 20 * 77 * 2850e6)
    for got, by_hand in zip(found["memory"], (0.87 * 456e9, 0.98 * 456e9), strict=True):
        assert isclose(got, by_hand)


def test_cells_lie_where_rate_and_intensity_say() -> None:
    """Half an octave around: a band within its ends, the kernel within its interval."""
    estimate = cx.cost(GEMM, "b70", M=2048, N=1024, K=4096)
    scene = estimate.scene
    assert cx.draw(estimate).scene == scene  # pyright: ignore[reportArgumentType]
    panel, half = scene.panels[0], 2**0.25 * 1.001
    device = roofs(estimate.device)
    known, peak = estimate.facts, 183.5
    rates = [known.operations * 1e-12 / seconds for seconds in (estimate.most, estimate.least)]
    seen: set[str] = set()
    for cell in panel.cells:
        x, y = float(panel.col_names[cell.col]), float(panel.row_names[cell.row])
        name = scene.legend[cell.colour or 0]
        seen.add(name)
        if name in LEVELS:
            low, high = (min(peak, x * rate * 1e-12) for rate in device[name])
            assert low / half <= y <= high * half
        elif name == "DPAS":
            assert peak / half <= y <= peak * half
        else:
            level = next(one for one in LEVELS if one.startswith(cell.lines[0]))
            assert x / half <= known.intensity[level] <= x * half
            assert rates[0] / half <= y <= rates[1] * half
    assert seen == set(scene.legend)


def test_a_kernel_without_dpas_has_no_roofline() -> None:
    op, alone = cx.XE_DPAS_TT(8, "f32", "bf16"), ((1, 1, 1), (1, 1, 0))
    kernel = cx.kernel.attention_combine(cx.workgroup_mma(op, (16, 32, 16), alone), 2)
    sizes: Any = dict.fromkeys(kernel.sizes, 64)
    estimate: Any = cx.cost(kernel, "b580", **sizes)
    with pytest.raises(InputError, match="without DPAS has no operations"):
        cx.draw(estimate)
