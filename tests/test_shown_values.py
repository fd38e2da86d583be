"""Values at a glance: `dir`, one line of `repr`, and what notebooks show of them unasked."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import pycute_xe as cx

SETUP = """
import numpy as np
import pycute_xe as cx
from pycute_xe.arch.banks import banks
from pycute_xe.kernel.schedules import Persistent

mma = cx.workgroup_mma("XE_DPAS_TT<8,f32,bf16>", (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
gemm = cx.kernel.gemm(mma)
ones = np.ones((8, 8), np.float32)
"""
TEXT, PICTURE, TABLE = "text/plain", "image/svg+xml", "text/html"
VALUES = {
    "kernel": ("gemm", TABLE),
    "loop": ('gemm.loop("k")', TEXT),
    "statement": ("next(s for s in gemm.statements() if isinstance(s, cx.kernel.Load))", TEXT),
    "computes": ("gemm.computes", TEXT),
    "tiled mma": ("mma", PICTURE),
    "part of a work-item": ("mma.get_slice(17)", TEXT),
    "mma atom": ("mma.atom", PICTURE),
    "mma operation": ("mma.atom.op", PICTURE),
    "tiled copy": ('cx.make_block_2d_copy_A(mma, ("ld", 1))', PICTURE),
    "older copy": ('cx.get_atom("XE_2D_U16x8x16_LD_N")', PICTURE),
    "linear copy": ('cx.get_atom("XE_1D_LDSM<u32>")', PICTURE),
    "copy operation": ("cx.XE_LOAD_2D(16, 8, 16)", PICTURE),
    "message": ("cx.XE_LOAD_2D(16, 8, 16).message", PICTURE),
    "layout": ("cx.Layout((4, 8))", PICTURE),
    "layout of three modes": ("cx.Layout((2, 2, 2))", TEXT),
    "swizzle": ("cx.Swizzle(2, 0, 2)", TEXT),
    "swizzled layout": ("cx.ComposedLayout(cx.Swizzle(2, 0, 2), 0, cx.Layout((4, 4)))", PICTURE),
    "linear layout": ("cx.as_f2(cx.Layout(16))", TEXT),
    "tensor": ("cx.make_tensor(np.zeros((64, 64)), cx.Layout((64, 64)))", TEXT),
    "target": ('cx.get_target("bmg")', TEXT),
    "type": ('cx.as_numeric("bf16")', TEXT),
    "check": ("cx.check(gemm)", TABLE),
    "verdict": ("cx.verify(gemm)", TABLE),
    "report": ('cx.run(gemm, ones, ones, dtype="bf16", report=True)[1]', TABLE),
    "explanation": ('cx.explain("XE_2D_U16x8x16_LD_N")', TABLE),
    "feed": ('cx.feeds("XE_2D_U16x8x16_LD_N", mma.atom, "A")', TABLE),
    "difference": ('cx.diff("XE_2D_U16x8x16_LD_N")', TABLE),
    "difference of kernels": ("cx.diff(gemm, gemm)", TABLE),
    "atoms": ('cx.search_atoms(name="XE_2D_U16x8x16_LD_N")', TABLE),
    "plan": ("Persistent(4).plan((3, 3, 2))", PICTURE),
    "bank use": ('banks(cx.get_target("bmg"))[0].use([0, 64], 4)', PICTURE),
}
"""Of each kind of values an expression, and what a notebook shows besides its text."""


@cache
def names() -> dict[str, Any]:
    out: dict[str, Any] = {}
    exec(SETUP, out)
    return out


@pytest.mark.whole
@pytest.mark.parametrize("name", VALUES)
def test_a_value_shows_itself(name: str) -> None:
    """As Jupyter asks: ``_repr_mimebundle_`` of the value, without any registration."""
    source, kind = VALUES[name]
    value = eval(source, names())
    assert "\n" not in repr(value)
    assert len(repr(value)) <= 200
    bundle = value._repr_mimebundle_(include=None, exclude=None)
    assert bundle[TEXT] == str(value)
    assert set(bundle) == {TEXT, kind}
    if kind != TEXT:
        assert ElementTree.fromstring(bundle[kind]).tag


@pytest.mark.long
def test_a_notebook_shows_every_kind_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook is executed by a kernel of its own, which knows of the package what it imports."""
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    import nbformat
    from nbclient.client import NotebookClient
    from traitlets.config import Config

    sources = [SETUP, *(source for source, _ in VALUES.values()), "cx.draw(mma)"]
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, sources)])
    root = str(Path(cx.__file__).parents[1])
    sockets = Config({"AsyncKernelManager": {"transport": "ipc"}})
    where = {"metadata": {"path": root}}
    NotebookClient(notebook, resources=where, timeout=60, config=sockets).execute()
    _, *cells, drawing = notebook.cells
    for (name, (_, kind)), cell in zip(VALUES.items(), cells, strict=True):
        (output,) = cell.outputs
        assert {*output.data} - {"text/markdown"} == {TEXT, kind}, name
        assert output.data[kind]
    assert PICTURE in drawing.outputs[0].data


def test_a_tiling_is_what_its_repr_builds() -> None:
    known = {**names(), **{name: getattr(cx, name) for name in cx.__all__}}
    for source in ("mma", "mma.get_slice(17)", 'cx.make_block_2d_copy_A(mma, ("ld", 1))'):
        value = eval(source, names())
        assert eval(repr(value), known) == value
    turned = cx.make_block_2d_copy_A(known["mma"], (1, 64)).get_slice(3)
    assert eval(repr(turned), known) == turned


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
