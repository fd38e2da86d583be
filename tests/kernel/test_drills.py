"""What an addition takes: a statement, a function, a type of DPAS, a kind of kernel."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from broken_kernels import find, tiled_mma

import pycute_xe as cx
from pycute_xe.checking.kernels import JUDGED
from pycute_xe.errors import KernelError
from pycute_xe.executing.reference import DOES
from pycute_xe.executing.thread import Thread
from pycute_xe.holding.following import HOLDS, Follower
from pycute_xe.holding.nodes import Call, Number
from pycute_xe.kernel import (
    Claim,
    Element,
    Fragment,
    Index,
    Kernel,
    Load,
    Map,
    Meanings,
    Operand,
    Slot,
    Specification,
    Statement,
    Store,
    Tiles,
    Touched,
    apply,
)
from pycute_xe.kernel.ir.checks import FITS
from pycute_xe.kernel.ir.listing import LINES
from pycute_xe.kernel.spec.functions import FUNCTIONS, Function

BF16 = cx.bulk.numpy_dtype("bf16")


@contextmanager
def entered(table: Meanings[Any], kind: type[Statement], meaning: Any) -> Iterator[None]:
    table.of(kind)(meaning)
    try:
        yield
    finally:
        table.without(kind)


def product(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(-3, 4, s).astype(BF16) for s in ((19, 40), (40, 37)))


# ------------------------------------------------------------------ an elementwise statement


@dataclass(frozen=True, slots=True)
class Clip(Statement):
    """Bring every element of a fragment between two numbers."""

    fragment: str
    low: float
    high: float

    @property
    def touched(self) -> Touched:
        """Updates the fragment."""
        return Touched(updates=(self.fragment,))


def fits(kernel: Kernel, statement: Clip) -> None:
    kernel.fragment(statement.fragment)


def told(statement: Clip) -> str:
    return f"clip      {statement.fragment} to {statement.low:g} … {statement.high:g}"


def holds(walker: Follower, statement: Clip) -> None:
    content, limits = walker.read(statement, statement.fragment), (statement.low, statement.high)
    walker.state[statement.fragment] = content.each(
        lambda node: Call("clamp", (node, *map(Number, limits)))
    )


def does(thread: Thread, statement: Clip, _env: Any) -> None:
    numbers = thread.numbers(statement.fragment, "clip")
    thread.write(statement.fragment, numbers.clip(statement.low, statement.high), "clip")


ENTRIES: dict[str, tuple[Meanings[Any], Any]] = {
    "FITS": (FITS, fits),
    "LINES": (LINES, told),
    "JUDGED": (JUDGED, lambda body, statement: None),
    "HOLDS": (HOLDS, holds),
    "DOES": (DOES, does),
}


def clipped() -> Kernel:
    """A GEMM that clips, and the claim of one whose epilogue is a clamp."""
    mma = tiled_mma((16, 32, 32), (2, 2))
    gemm = cx.kernel.gemm(mma, epilogue="clamp(acc, 0, 6)")
    return gemm.replace(find(gemm, Map), Clip("tCrC", 0, 6))


def every_reader() -> None:
    kernel, (a, b) = clipped(), product()
    wanted = (a.astype(int) @ b.astype(int)).clip(0, 6)
    assert "clip      tCrC to 0 … 6" in str(kernel)
    assert cx.check(kernel, "bmg")
    assert cx.verify(kernel), str(cx.verify(kernel))
    for executor in ("reference", "fast"):
        out, report = cx.run(kernel, a, b, executor=executor, report=True)
        assert np.array_equal(out, wanted)
        assert report.dpas
    assert cx.draw(kernel, "A")
    wrong = kernel.replace(find(kernel, Clip), Clip("tCrC", 0, 5))
    found = cx.verify(wrong)
    assert found.answer == "disproved"
    assert found.counterexample is not None
    assert cx.replay(wrong, found.counterexample).shows


@pytest.mark.long
def test_a_statement_takes_its_kind_and_an_entry_a_reader() -> None:
    with ExitStack() as tables:
        for table, meaning in ENTRIES.values():
            tables.enter_context(entered(table, Clip, meaning))
        every_reader()


@pytest.mark.parametrize("missing", ENTRIES)
def test_the_reader_without_an_entry_refuses_the_statement_by_name(missing: str) -> None:
    with ExitStack() as tables:
        for name, (table, meaning) in ENTRIES.items():
            if name != missing:
                tables.enter_context(entered(table, Clip, meaning))
        with pytest.raises(KernelError, match="no meaning for Clip"):
            every_reader()


def test_a_function_takes_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    cube = Function("cube", 1, lambda np, x: x * x * x)
    mma = tiled_mma((16, 32, 32), (2, 2))
    with pytest.raises(KernelError, match="not a known function"):
        cx.kernel.gemm(mma, epilogue="cube(acc)")
    monkeypatch.setitem(FUNCTIONS, "cube", cube)
    kernel, (a, b) = cx.kernel.gemm(mma, epilogue="cube(acc) + bias[n]"), product()
    bias = np.arange(37, dtype=np.float32)
    assert cx.verify(kernel)
    wanted = (a.astype(int) @ b.astype(int)) ** 3 + bias
    for executor in ("reference", "fast"):
        assert np.array_equal(cx.run(kernel, a, b, bias=bias, executor=executor), wanted)
    mapped = find(kernel, Map)
    squared = Map("tCrC", Slot("tCrC") * Slot("tCrC") + Slot("tErbias"), mapped.gathers)
    assert cx.verify(kernel.replace(mapped, squared)).answer == "disproved"


# ------------------------------------------------------------------ a type of DPAS

ROW = """
    import pycute_xe.facts as facts

    read = facts._document

    def with_row(file):
        document = read(file)
        if file != "dpas":
            return document
        row = {
            "id": "mixed", "a": ("f16",), "b": ("bf16",), "c": ("f32",), "d": ("f32",),
            "source": "a row that no document has",
        }
        return {**document, "combination": (*document["combination"], row)}

    facts._document = with_row

    import numpy as np
    import pycute_xe as cx

    op = cx.XE_DPAS_TT(8, "f32", "f16", "bf16")
    mma = cx.workgroup_mma(op, (16, 32, 32), ((2, 2, 1), (2, 1, 0)))
    rng = np.random.default_rng(0)
    A = rng.integers(-3, 4, (19, 40)).astype("f2")
    B = rng.integers(-3, 4, (40, 37)).astype(cx.bulk.numpy_dtype("bf16"))
    for orders in (("row", "row"), ("col", "col")):
        kernel = cx.kernel.gemm(mma, *orders)
        assert cx.check(kernel, "bmg"), cx.check(kernel, "bmg")
        assert cx.verify(kernel)
        for executor in ("reference", "fast"):
            D = cx.run(kernel, A, B, executor=executor)
            assert np.array_equal(D, A.astype(int) @ B.astype(int))
    assert cx.draw(mma, "A")
    assert "f16" in str(cx.explain(cx.get_atom("XE_DPAS_TT<8,f32,f16,bf16>")))
    print(mma.atom)
"""


@pytest.mark.long
def test_a_type_of_dpas_takes_one_row() -> None:
    """In a process of its own, since rows are read once."""
    with pytest.raises(cx.CuteError):
        cx.XE_DPAS_TT(8, "f32", "f16", "bf16")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ROW)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "XE_DPAS_TT<8,f32,f16,bf16,f32>"


# ------------------------------------------------------------------ a kind of kernel


def elementwise(rows: int, value: str = "relu(2*x + y)") -> Kernel:
    """A kind of kernel that is no product: Z = relu(2 X + Y), one message a subgroup."""
    load = cx.make_block_2d_copy(cx.XE_LOAD_2D(32, 8, 16), ("ld", 1), "f32")
    store = cx.make_block_2d_copy(cx.XE_STORE_2D(32, 8, 16), ("ld", 1), "f32")
    at = (Index("i") * 8, Index("j") * 16)
    i, j = Index("i"), Index("j")
    doubled = value.startswith("relu(2")
    inner = Slot("x") * 2 + Slot("y") if doubled else Slot("x") + Slot("y")
    claim = apply("relu", Element("X", (i, j)) * 2 + Element("Y", (i, j)))
    return Kernel(
        "elementwise",
        1,
        (
            Operand("X", "f32", ("M", "N")),
            Operand("Y", "f32", ("M", "N")),
            Operand("Z", "f32", ("M", "N"), role="out"),
        ),
        (Fragment("x", cx.as_numeric("f32"), rows), Fragment("y", cx.as_numeric("f32"), rows)),
        (("i", Tiles("M", 8)), ("j", Tiles("N", 16))),
        (
            Load(load, "X", at, "x"),
            Load(load, "Y", at, "y"),
            Map("x", apply("relu", inner)),
            Store(store, "Z", at, "x"),
        ),
        Specification((Claim("Z", ("i", "j"), claim),)),
    )


def test_a_kind_of_kernel_takes_its_own_file_only() -> None:
    kernel, rng = elementwise(8), np.random.default_rng(0)
    x, y = (rng.standard_normal((21, 37), dtype=np.float32) for _ in range(2))
    assert cx.check(kernel, "bmg", sizes={"M": 21, "N": 40})
    assert cx.verify(kernel), str(cx.verify(kernel))
    for executor in ("reference", "fast"):
        out, report = cx.run(kernel, x, y, executor=executor, report=True)
        assert np.array_equal(out, np.maximum(2 * x + y, 0))
        assert report.messages["store"] == 9
    assert "map       x = relu(2*x + y)" in str(kernel).replace("x*2", "2*x")
    wrong = cx.verify(elementwise(8, "relu(x + y)"))
    assert wrong.answer == "disproved"
