"""Every scalar function, in every language: said, and the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from mlir_values import mapped
from sampling import sampled

import pycute_xe as cx
from pycute_xe.emitting.elementwise import SEQUENCES
from pycute_xe.emitting.xegpu import SEQUENCES as OF_TILES
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.spec.functions import FUNCTIONS, SEQUENCE, Function

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (64, 64, 32), ((2, 2, 1), (2, 1, 0)))
NUMBERS = np.linspace(-4, 4, 64 * 64, dtype=np.float32).reshape(64, 64)


def applied(name: str) -> Kernel:
    arguments = ", ".join(["acc", "0.75", "1.5"][: FUNCTIONS[name].arity])
    return cx.kernel.gemm(MMA, epilogue=f"{name}({arguments})")


@pytest.mark.parametrize("language", ["visa", "opencl", "cute", "xegpu"])
@pytest.mark.parametrize("name", sampled(FUNCTIONS, 6, ["silu", "clamp", "gelu", "below"]))
def test_every_language_says_every_function(name: str, language: str) -> None:
    assert cx.emit(applied(name), language)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tiles_of_mlir_are_the_function(name: str) -> None:
    row = FUNCTIONS[name]
    numbers = np.abs(NUMBERS) + 0.25 if name in ("log", "sqrt", "rsqrt") else NUMBERS
    found = mapped(cx.emit(applied(name), "xegpu"), numbers)
    wanted = row.meaning(np, numbers, *[np.float32(0.75), np.float32(1.5)][: row.arity - 1])
    assert np.allclose(found, np.asarray(wanted, np.float32), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(("column", "table"), [("visa", SEQUENCES), ("mlir", OF_TILES)])
def test_sequences_are_those_that_rows_name(column: str, table: dict[str, object]) -> None:
    assert set(table) == {n for n, f in FUNCTIONS.items() if getattr(f, column) == SEQUENCE}


def test_every_row_has_every_column_or_is_made_of_others() -> None:
    for row in FUNCTIONS.values():
        columns = [bool(getattr(row, column)) for column in ("visa", "cute", "mlir")]
        assert (not any(columns)) if row.of is not None else all(columns), row.name


@pytest.mark.parametrize("language", ["visa", "opencl", "cute", "xegpu"])
def test_a_missing_column_is_refused_by_name(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FUNCTIONS, "cosine", Function("cosine", 1, ufunc="cos"))
    with pytest.raises(KernelError, match="cosine"):
        cx.emit(applied("cosine"), language)


def test_a_function_without_a_meaning_is_refused() -> None:
    with pytest.raises(KernelError, match="no meaning on arrays"):
        Function("nothing", 1)
