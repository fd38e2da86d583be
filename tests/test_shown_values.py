"""Values at a glance: `dir`, one line of `repr`, and what notebooks show of them unasked."""

from __future__ import annotations

import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.arch.banks import banks
from pycute_xe.kernel.schedules import Persistent

MMA = cx.workgroup_mma("XE_DPAS_TT<8,f32,bf16>", (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
KERNEL = cx.kernel.gemm(MMA)


def report() -> Any:
    ones = np.ones((8, 8), np.float32)
    return cx.run(KERNEL, ones, ones, dtype="bf16", report=True)[1]


TEXT, PICTURE, TABLE = "text/plain", "image/svg+xml", "text/html"
VALUES: dict[str, tuple[Any, str]] = {
    "kernel": (lambda: KERNEL, TABLE),
    "loop": (lambda: KERNEL.loop("k"), TEXT),
    "computes": (lambda: KERNEL.computes, TEXT),
    "tiled mma": (lambda: MMA, PICTURE),
    "mma atom": (lambda: MMA.atom, PICTURE),
    "mma operation": (lambda: MMA.atom.op, PICTURE),
    "tiled copy": (lambda: cx.make_block_2d_copy_A(MMA, ("ld", 1)), PICTURE),
    "older copy": (lambda: cx.get_atom("XE_2D_U16x8x16_LD_N"), PICTURE),
    "linear copy": (lambda: cx.get_atom("XE_1D_LDSM<u32>"), PICTURE),
    "copy operation": (lambda: cx.XE_LOAD_2D(16, 8, 16), PICTURE),
    "message": (lambda: cx.XE_LOAD_2D(16, 8, 16).message, PICTURE),
    "layout": (lambda: cx.Layout((4, 8)), PICTURE),
    "layout of three modes": (lambda: cx.Layout((2, 2, 2)), TEXT),
    "swizzle": (lambda: cx.Swizzle(2, 0, 2), TEXT),
    "linear layout": (lambda: cx.as_f2(cx.Layout(16)), TEXT),
    "tensor": (lambda: cx.make_tensor(np.zeros((64, 64)), cx.Layout((64, 64))), TEXT),
    "target": (lambda: cx.get_target("bmg"), TEXT),
    "type": (lambda: cx.as_numeric("bf16"), TEXT),
    "check": (lambda: cx.check(KERNEL), TABLE),
    "verdict": (lambda: cx.verify(KERNEL), TABLE),
    "report": (report, TABLE),
    "explanation": (lambda: cx.explain("XE_2D_U16x8x16_LD_N"), TABLE),
    "feed": (lambda: cx.feeds("XE_2D_U16x8x16_LD_N", MMA.atom, "A"), TABLE),
    "difference": (lambda: cx.diff("XE_2D_U16x8x16_LD_N"), TABLE),
    "difference of kernels": (lambda: cx.diff(KERNEL, KERNEL), TABLE),
    "atoms": (lambda: cx.search_atoms(name="XE_2D_U16x8x16_LD_N"), TABLE),
    "plan": (lambda: Persistent(4).plan((3, 3, 2)), PICTURE),
    "bank use": (lambda: banks(cx.get_target("bmg"))[0].use([0, 64], 4), PICTURE),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", VALUES)
def test_a_value_shows_itself(name: str) -> None:
    """As Jupyter asks: ``_repr_mimebundle_`` of the value, without any registration."""
    make, kind = VALUES[name]
    value = make()
    assert "\n" not in repr(value)
    assert len(repr(value)) <= 260
    bundle = value._repr_mimebundle_(include=None, exclude=None)
    assert bundle[TEXT] == str(value)
    assert set(bundle) == {TEXT, kind}
    if kind != TEXT:
        assert ElementTree.fromstring(bundle[kind]).tag


def test_the_package_lists_its_public_names_alone() -> None:
    wanted = {*cx.__all__, "filter", "sort"}
    for _ in range(2):
        assert {name for name in dir(cx) if not name.startswith("__")} == wanted
        assert cx.Layout  # now imported
    told = "import pycute_xe as cx; print(*[n for n in dir(cx) if not n.startswith('__')])"
    out = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert set(out.stdout.split()) == wanted


def test_a_target_that_no_row_describes_says_its_name() -> None:
    import dataclasses

    bmg = cx.get_target("bmg")
    assert eval(repr(bmg), {"get_target": cx.get_target}) == bmg
    assert repr(dataclasses.replace(bmg, name="mine")) == "<Target mine>"
