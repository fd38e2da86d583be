"""OpenCL C: deterministic text, epilogues and types as binaries, refusals by name."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from compiled_cases import filled, held_against_run, needs_compiler
from sampling import sampled

import pycute_xe as cx
from pycute_xe.bulk import table
from pycute_xe.converting import convert
from pycute_xe.emitting.instructions import Move, moves
from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel import Index, Kernel, Load, Operand, Tiles

GRID = ((2, 2, 1), (2, 1, 0))
ULPS = 256


def gemm(op: tuple[int, str, str] = (8, "f32", "bf16"), depth: int = 32, **more: Any) -> Kernel:
    m, d, a = op
    tile = (8 if m == 1 else 32, 64, depth)
    return cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(m, d, a), tile, GRID), **more)


EPILOGUES = (
    "acc/2 + 1", "2/acc", "1 - acc", "sqrt(abs(acc))", "rsqrt(abs(acc) + 1)", "exp(0.1*acc)",
    "exp2(0.1*acc)", "log(abs(acc) + 1)", "sigmoid(acc)", "silu(acc)", "div(acc, bias[n])",
    "max(acc, bias[n]) * min(alpha, beta)", "clamp(acc, -1, 2)", "acc*acc*acc + bias[m]*bias2[n]",
    "relu(acc)*C + X[m,n]",
)  # fmt: skip
KERNELS: dict[str, Callable[[], Kernel]] = {
    **{text: partial(gemm, epilogue=text) for text in EPILOGUES},
    **{f"to {kind}": partial(gemm, d_type=kind) for kind in ("f16", "bf16", "s32", "s8", "u8")},
    "s32 to f32": partial(gemm, (8, "s32", "s8"), 64, d_type="f32"),
    "bf16 to f16": partial(gemm, (8, "bf16", "bf16"), d_type="f16"),
    "D by columns": partial(gemm, d="col"),
    "4 rows": partial(gemm, (4, "f32", "bf16")),
    "1 row": partial(gemm, (1, "f32", "bf16")),
    "no prefetch": partial(gemm, stages=0),
}


@needs_compiler
@pytest.mark.parametrize("name", sampled(KERNELS, 2))
@pytest.mark.long
def test_epilogues_and_types_run_as_binaries(name: str) -> None:
    kernel = KERNELS[name]()
    assert held_against_run(kernel, filled(kernel, (20, 50, 70)), ULPS) == []


@needs_compiler
@pytest.mark.long
def test_batches_run_as_binaries() -> None:
    kernel = gemm(batch=True, epilogue="acc + bias[l,n]")
    named, rng = {"L": 2, "M": 20, "N": 60, "K": 40}, np.random.default_rng(0)
    given = {
        o.name: convert(rng.standard_normal(tuple(m.at(named) for m in o.modes)), o.value_type)
        for o in kernel.inputs
    }
    assert held_against_run(kernel, given) == []


@pytest.mark.long
def test_the_text_depends_on_the_kernel_alone() -> None:
    code = (
        "import pycute_xe as cx\n"
        "mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, 'f32', 'f16'), (32, 64, 32),"
        " ((2, 2, 1), (2, 1, 0)))\n"
        "print(cx.emit(cx.kernel.gemm(mma, a='col', epilogue='acc + bias[n]')), end='')"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in sampled(("1", "2"), 1)
    }
    assert texts == {cx.emit(gemm((8, "f32", "f16"), a="col", epilogue="acc + bias[n]"))}


def test_the_listing_heads_the_text_and_names_are_the_kernels() -> None:
    kernel = gemm(a="col", epilogue="acc + bias[n]")
    text = cx.emit(kernel)
    head = [line.removeprefix("// ") for line in text.splitlines()]
    assert head[: len(str(kernel).splitlines())] == str(kernel).splitlines()
    declared = [f.name for f in kernel.fragments if f"({f.name}, " in text]
    assert declared == [f.name for f in kernel.fragments]


def test_a_reorder_is_done_by_moves_that_say_where_each_element_goes() -> None:
    statement = next(s for s in gemm(a="col").statements() if type(s).__name__ == "Reorder")
    slots = table(statement.slots).reshape(-1)
    source = np.arange(slots.size, dtype=np.uint16)
    out = np.full(slots.size, 0xFFFF, np.uint16)
    for move in moves(slots, 16, slots.size):
        _apply(move, source, out)
    assert np.array_equal(out[slots], source)


def _apply(move: Move, source: np.ndarray, out: np.ndarray) -> None:
    """Walk the region as its notation is read: rows of a width, then down."""
    region, at = move.region, 0
    size = move.bytes // 2
    while at < move.count:
        for column in range(region.width):
            read = move.source + at // region.width * region.vertical + column * region.horizontal
            to = move.to + (at + column) * move.stride
            out[to * size : (to + 1) * size] = source[read * size : (read + 1) * size]
        at += region.width


def looked_up(kind: str = "s32") -> Kernel:
    """A kernel whose tiles of A lie where a table says."""
    kernel = gemm()
    load = next(s for s in kernel.statements() if isinstance(s, Load))
    at = (Index.element("pages", Index("m")), load.at[1])
    pages = Operand("pages", kind, (Tiles("M", 32),))
    wider = dataclasses.replace(kernel, operands=(*kernel.operands, pages), computes=None)
    return wider.replace(load, dataclasses.replace(load, at=at))


@needs_compiler
@pytest.mark.long
def test_a_page_table_is_read_where_an_index_asks_for_it() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape) for shape in ((80, 40), (40, 64)))
    given: dict[str, Any] = {"A": convert(a, "bf16"), "B": convert(b, "bf16")}
    given["pages"] = np.array([24, 0, 41], np.int32)
    wanted = np.concatenate([a[first : first + 32] @ b for first in given["pages"]])
    found = cx.native.run(looked_up(), **given)
    assert np.array_equal(found, wanted[:80])


PAGED = "a page table of other integers"
REFUSED: dict[str, tuple[Any, str]] = {
    "s32 to f16": (lambda: gemm((8, "s32", "s8"), 64, d_type="f16"), "rounded twice"),
    "s4 packed in bytes": (lambda: gemm((8, "s32", "s4"), 64), "share a byte"),
    PAGED: (lambda: looked_up("u8"), "are s32 and row-major"),
}


# vISA text says indices in comments, so that it has no trouble with any table.
SAID = [
    (to, name) for to in ("opencl", "visa") for name in REFUSED if (to, name) != ("visa", PAGED)
]


@pytest.mark.parametrize(("to", "name"), SAID)
def test_what_cannot_be_said_is_refused_by_name(to: Any, name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(KernelError, match=words):
        cx.emit(make(), to)


def test_unknown_languages_are_refused() -> None:
    wrong: Any = "ptx"
    with pytest.raises(InputError, match="the language 'ptx' is unknown"):
        cx.emit(gemm(), wrong)
