"""Languages are tables: a kernel that is said needs each entry, and deleting it is noticed."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from broken_kernels import tiled_mma
from every import every
from shared_kernels import exchanging
from small_kernels import everything

import pycute_xe as cx
from pycute_xe.emitting.cute import CUTE
from pycute_xe.emitting.emitter import VISA, Language
from pycute_xe.emitting.lowering import LOWERED
from pycute_xe.emitting.opencl import OPENCL
from pycute_xe.emitting.xegpu import XEGPU
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Meanings, Statement

# The tables, and the languages that look into each.
TABLES: dict[str, tuple[Meanings[Any], tuple[Language, ...]]] = {
    "OPENCL": (OPENCL, ("opencl", "host")),
    "VISA": (VISA, ("visa",)),
    "CUTE": (CUTE, ("cute",)),
    "XEGPU": (XEGPU, ("xegpu",)),
    "LOWERED": (LOWERED, ("opencl", "visa")),
}
ENTRIES = [
    pytest.param(name, language, kind, id=f"{name}-{language}-{kind.__name__}")
    for name, (table, languages) in TABLES.items()
    for language in languages
    for kind in sorted(table, key=lambda kind: kind.__name__)
]


@cache
def kernels() -> tuple[Kernel, ...]:
    mma = tiled_mma((16, 32, 16), (1, 2))
    return (
        cx.kernel.gemm(mma, a="col", epilogue="relu(acc + C)", d_type="bf16"),
        cx.kernel.gemm(mma),
        cx.kernel.gemm(mma, epilogue="acc + C", epilogue_tile=(8, 16)),
        cx.kernel.gemm(tiled_mma((16, 16, 16), (1, 1)), also={"rows[m]": "sum(n, acc)"}),
        exchanging(),
        everything(shared=False),
        everything(),
        cx.kernel.dealt_gemm(mma),
    )


@cache
def said(language: Language, kind: type[Statement]) -> Kernel | None:
    """A kernel with a statement of a kind, that the language says."""
    for number, kernel in enumerate(kernels()):
        if any(type(s) is kind for s in kernel.statements()) and is_said(language, number):
            return kernel
    return None


@cache
def is_said(language: Language, number: int) -> bool:
    """Whether a language says a kernel."""
    try:
        cx.emit(kernels()[number], language)
    except KernelError:
        return False
    return True


@pytest.mark.parametrize(("name", "language", "kind"), ENTRIES)
def test_a_deleted_entry_is_missed_by_name(
    name: str, language: Language, kind: type[Statement]
) -> None:
    table = TABLES[name][0]
    kernel = said(language, kind)
    assert kernel is not None, f"no kernel here shows how {language} says {kind.__name__}"
    entry = table.without(kind)
    assert entry is not None
    try:
        with pytest.raises(KernelError, match=f"no meaning for {kind.__name__}"):
            cx.emit(kernel, language)
    finally:
        table.of(kind)(entry)
    assert kind in set(table)


@every("name", TABLES)
def test_what_a_table_does_not_know_is_refused_by_name(name: str) -> None:
    table, (language, *_) = TABLES[name]
    for kernel in kernels():
        foreign = {type(s) for s in kernel.statements()} - set(table)
        if name != "LOWERED" and foreign:
            with pytest.raises(KernelError, match="no meaning for"):
                cx.emit(kernel, language)
