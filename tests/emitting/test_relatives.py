"""Texts, costs and comparisons ask what a statement declares, whatever its kind is."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from broken_kernels import tiled_mma

import pycute_xe as cx
from pycute_xe.costing.account import aheads
from pycute_xe.costing.device import get_device
from pycute_xe.costing.facts import facts_of
from pycute_xe.emitting.cute import CUTE
from pycute_xe.emitting.emitter import VISA, Language
from pycute_xe.emitting.lowering import LOWERED
from pycute_xe.emitting.opencl import OPENCL
from pycute_xe.emitting.xegpu import XEGPU
from pycute_xe.errors import KernelError
from pycute_xe.kernel import (
    AtomicStore,
    Await,
    Convert,
    FetchAdd,
    Kernel,
    Load,
    Map,
    Meanings,
    Prefetch,
    Signal,
    Statement,
    Store,
)
from pycute_xe.kernel.ir.checks import FITS
from pycute_xe.kernel.ir.listing import LINES
from pycute_xe.native.allowing import allowances, roundings
from pycute_xe.native.judging import listed
from pycute_xe.native.telling import regimes, slips

TABLES: tuple[Meanings[Any], ...] = (LINES, OPENCL, VISA, LOWERED, CUTE, XEGPU)
DECLARING = ("touches", "touched", "access", "_moved", "move", "product", "meeting", "sources")
MMA = tiled_mma((16, 32, 16), (1, 2))


def relative(kind: type[Statement]) -> type[Statement]:
    """A kind with the fields and the effects of another one, from which it does not derive."""
    names = [name for name in (*DECLARING, "scalars") if hasattr(kind, name)]
    declares = {name: inspect.getattr_static(kind, name) for name in names}
    fields = [field.name for field in dataclasses.fields(kind)]
    name = f"Other{kind.__name__}"
    made = dataclasses.make_dataclass(
        name, fields, bases=(Statement,), namespace=declares, frozen=True
    )
    assert not issubclass(made, kind)
    return made


@contextmanager
def exchanged(kernel: Kernel, kind: type[Statement]) -> Iterator[Kernel]:
    """A kernel in which a relative stands for every statement of a kind, and has its entries."""
    other = relative(kind)
    with ExitStack() as entered:
        FITS.of(other)(lambda kernel, statement: None)
        entered.callback(FITS.without, other)
        for table in TABLES:
            if (meaning := table.without(kind)) is not None:
                table.of(kind, other)(meaning)
                entered.callback(table.without, other)
        for old in dict.fromkeys(s for s in kernel.statements() if type(s) is kind):
            fields = {f.name: getattr(old, f.name) for f in dataclasses.fields(old)}
            kernel = kernel.replace(old, other(**fields))
        assert any(type(s) is other for s in kernel.statements())
        yield kernel


def rounded() -> Kernel:
    return cx.kernel.gemm(MMA, epilogue="silu(acc)", d_type="bf16")


LANGUAGES: tuple[Language, ...] = ("opencl", "visa", "cute", "xegpu")
KERNELS: dict[type[Statement], tuple[Kernel, tuple[Language, ...]]] = {
    Load: (rounded(), LANGUAGES),
    Prefetch: (rounded(), LANGUAGES),
    Store: (rounded(), LANGUAGES),
    Convert: (rounded(), LANGUAGES),
    Map: (rounded(), LANGUAGES),
    AtomicStore: (cx.kernel.split_k(MMA, 2), ("opencl", "visa")),
    FetchAdd: (cx.kernel.dealt_gemm(MMA), ("opencl",)),
}


@pytest.mark.parametrize("kind", KERNELS)
def test_a_relative_is_emitted_alike(kind: type[Statement]) -> None:
    kernel, languages = KERNELS[kind]
    texts: dict[Language, str] = {to: cx.emit(kernel, to) for to in languages}
    with exchanged(kernel, kind) as other:
        for language, text in texts.items():
            assert cx.emit(other, language) == text, language


def compared(kernel: Kernel) -> tuple[object, ...]:
    """What is told of a kernel before its binary is executed."""
    last = {name: str(one.moved(0.5)) for name, one in roundings(kernel).items()}
    changed = [str(slip) for _, slip in slips(kernel)]
    return listed(kernel), allowances(kernel), last, changed, regimes(kernel)


@pytest.mark.parametrize("kind", KERNELS)
def test_a_relative_is_compared_alike(kind: type[Statement]) -> None:
    kernel = KERNELS[kind][0]
    expected = compared(kernel)
    with exchanged(kernel, kind) as other:
        assert compared(other) == expected


SIZES = {"M": 512, "N": 512, "K": 256}


@pytest.mark.parametrize("kind", [Load, Prefetch])
def test_a_relative_is_prefetched_as_far_ahead(kind: type[Statement]) -> None:
    counted, device = facts_of(rounded(), "bmg").at(SIZES, 20), get_device("b70")
    expected = aheads(rounded(), counted, device, (1e-3, 2e-3))
    assert expected
    with exchanged(rounded(), kind) as other:
        assert aheads(other, counted, device, (1e-3, 2e-3)) == expected


@pytest.mark.parametrize("kind", [Await, Signal])
def test_a_relative_that_waits_is_refused_by_every_language(kind: type[Statement]) -> None:
    with exchanged(cx.kernel.scheduled(MMA), kind) as other:
        for language in LANGUAGES:
            with pytest.raises(KernelError, match="can a work-group wait for another one"):
                cx.emit(other, language)


def test_a_tensor_whose_messages_are_not_declared_is_not_compared() -> None:
    named_alone = dataclasses.make_dataclass(
        "Elsewhere", [], bases=(Statement,), namespace={"touches": {"from_memory": "names"}},
        frozen=True,
    )  # fmt: skip
    named_alone.names = ("A",)  # pyright: ignore[reportAttributeAccessIssue]
    for table in (FITS, LINES):
        table.of(named_alone)(lambda *_: "")
    try:
        kernel = rounded()
        body = (*kernel.body, named_alone())
        with pytest.raises(KernelError, match="how many messages"):
            listed(dataclasses.replace(kernel, body=body))
    finally:
        for table in (FITS, LINES):
            table.without(named_alone)
