"""Readers are tables: each entry is needed, and a kind foreign to one is refused by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from broken_kernels import tiled_mma
from every import every
from small_kernels import everything

import pycute_xe as cx
from pycute_xe.checking.kernels import JUDGED
from pycute_xe.errors import KernelError, UndecidableError
from pycute_xe.executing.reference import DOES
from pycute_xe.holding.following import HOLDS, follow
from pycute_xe.kernel import (
    Await,
    FetchAdd,
    Kernel,
    Meanings,
    Signal,
    Statement,
    dealt_gemm,
    scheduled,
)
from pycute_xe.kernel.ir.checks import FITS
from pycute_xe.kernel.ir.listing import LINES
from pycute_xe.kernel.schedules import SplitK, plan_tables

BF16 = cx.bulk.numpy_dtype("bf16")


def gemm() -> Kernel:
    return cx.kernel.gemm(tiled_mma((16, 32, 32), (2, 2)))


def arrays(kernel: Kernel) -> tuple[np.ndarray, ...]:
    if kernel.name == "scheduled":
        tables = plan_tables(SplitK(2, 2).plan((1, 1, 2)))
        return np.ones((8, 16), BF16), np.ones((16, 8), BF16), *tables.values()
    if kernel.name == "dealt_gemm":
        return np.ones((8, 16), BF16), np.ones((16, 32), BF16)
    if kernel.name == "gemm":
        return np.ones((8, 16), BF16), np.ones((16, 8), BF16)
    return (np.ones((8, 16), np.float32),) * 2


def built(kernel: Kernel) -> None:
    dataclasses.replace(kernel)


def held(kernel: Kernel) -> None:
    try:
        follow(kernel)
    except UndecidableError as error:  # an entry may say so of its kind
        if error.condition.startswith(("SharedStore", "SharedLoad", "Await", "Signal", "FetchAdd")):
            return
        raise


def ran(kernel: Kernel) -> None:
    groups = {"U": 2} if kernel.name == "dealt_gemm" else {}
    cx.run(kernel, *arrays(kernel), executor="reference", **groups)


Reader = Callable[[Kernel], Any]
TABLES: dict[str, tuple[Meanings[Any], Reader]] = {
    "FITS": (FITS, built),
    "LINES": (LINES, str),
    "JUDGED": (JUDGED, cx.check),
    "HOLDS": (HOLDS, held),
    "DOES": (DOES, ran),
}


def kinds() -> list[type[Statement]]:
    named = (getattr(cx.kernel, name) for name in cx.kernel.__all__)
    found = {k for k in named if isinstance(k, type) and issubclass(k, Statement)}
    return sorted(found - {Statement}, key=lambda kind: kind.__name__)


@every("name", TABLES)
def test_every_table_knows_every_kind(name: str) -> None:
    assert set(TABLES[name][0]) == set(kinds())


@cache
def with_kind(kind: type[Statement]) -> Kernel:
    """A kernel with a statement of a kind; shared memory last, since no proof goes past it."""
    if kind in (Await, Signal):
        return scheduled(gemm().mma)
    if kind is FetchAdd:
        return dealt_gemm(gemm().mma)
    name = kind.__name__
    alone = everything(shared=name.startswith("Shared"), named=name.startswith("Named"))
    return alone if any(type(s) is kind for s in alone.statements()) else gemm()


@every("kind", kinds())
@every("name", TABLES)
@pytest.mark.long
def test_a_deleted_entry_is_missed_by_name(name: str, kind: type[Statement]) -> None:
    table, reader = TABLES[name]
    kernel = with_kind(kind)
    entry = table.without(kind)
    assert entry is not None
    try:
        with pytest.raises(KernelError, match=f"no meaning for {kind.__name__}"):
            reader(kernel)
    finally:
        table.of(kind)(entry)
    reader(kernel)


@pytest.mark.parametrize("base", kinds())
def test_a_kind_derived_from_a_known_one_is_foreign(base: type[Statement]) -> None:
    """A relative of a kind inherits no meaning, from any reader."""
    foreign = type(f"Foreign{base.__name__}", (base,), {})
    kernel = with_kind(base)
    old = next(s for s in kernel.statements() if type(s) is base)
    fields = {f.name: getattr(old, f.name) for f in dataclasses.fields(base)}
    new = foreign(**fields)
    with pytest.raises(KernelError, match=f"no meaning for {foreign.__name__}"):
        kernel.replace(old, new)
    FITS.of(foreign)(lambda kernel, statement: None)
    try:
        kernel = kernel.replace(old, new)
        for name, (_, reader) in TABLES.items():
            if name != "FITS":
                with pytest.raises(KernelError, match=f"no meaning for {foreign.__name__}"):
                    reader(kernel)
        with pytest.raises(KernelError, match=f"no meaning for {foreign.__name__}"):
            cx.verify(kernel)
    finally:
        FITS.without(foreign)
