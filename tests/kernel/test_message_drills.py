"""Messages to memory by other classes than `Load` and `Store`: every reader asks what they declare.

`LoadOnce` fills a fragment with a tile, `StreamedStore` stores one: as a hint to the caches would
have them, which changes nothing of what is read and written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from broken_kernels import tiled_mma
from drilled_kinds import (
    READERS,
    TABLES,
    Drill,
    agrees,
    changed,
    each_entry_is_needed,
    emission_is_refused,
    entered,
    entries_like,
    exchanged,
    is_never_proved,
    is_proved,
)

import pycute_xe as cx
from pycute_xe.atom import TiledCopy
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Claim,
    Element,
    Fence,
    Fragment,
    Index,
    Kernel,
    Load,
    Operand,
    Specification,
    Statement,
    Store,
    Tiles,
)
from pycute_xe.kernel.ir.effects import MemoryAccess
from pycute_xe.kernel.ir.statements import touching
from pycute_xe.layout import Layout

MEET = (Fence(), BarrierArrive(), BarrierWait())


@dataclass(frozen=True, slots=True)
class LoadOnce(Statement):
    """Load a tile that is not read again."""

    touches = touching(writes="fragment", memory="access", indices="at")
    copy: TiledCopy
    operand: str
    at: tuple[Index, ...]
    fragment: str
    modes: tuple[int | None, ...] = (0, 1)

    @property
    def access(self) -> MemoryAccess:
        """The tile that is loaded."""
        where = (self.copy, self.operand, self.at, self.modes, self.fragment)
        return MemoryAccess(*where, loads=True)


@dataclass(frozen=True, slots=True)
class StreamedStore(Statement):
    """Store a tile past the caches."""

    touches = touching(reads="fragment", memory="access", indices="at")
    copy: TiledCopy
    operand: str
    at: tuple[Index, ...]
    fragment: str
    modes: tuple[int | None, ...] = (0, 1)

    @property
    def access(self) -> MemoryAccess:
        """The tile that is stored."""
        where = (self.copy, self.operand, self.at, self.modes, self.fragment)
        return MemoryAccess(*where, stores=True)


KINDS = {
    LoadOnce: entries_like(Load, lambda s: f"once      {s.operand} → {s.fragment}"),
    StreamedStore: entries_like(Store, lambda s: f"stream    {s.fragment} → {s.operand}"),
}


def written(twin: Kernel) -> Kernel:
    """Return a kernel whose loads and stores are of the other classes."""
    return exchanged(
        twin,
        {
            Load: lambda s: LoadOnce(s.copy, s.operand, s.at, s.fragment, s.modes),
            Store: lambda s: StreamedStore(s.copy, s.operand, s.at, s.fragment, s.modes),
        },
    )


BF16 = cx.bulk.numpy_dtype("bf16")
RNG = np.random.default_rng(0)
A, B = (RNG.integers(-4, 5, shape).astype(BF16) for shape in ((19, 40), (40, 37)))
PRODUCT = Drill(KINDS, written, (A, B), {"M": 19, "N": 37, "K": 40})
X = RNG.integers(-9, 9, (21, 37)).astype(np.float32)
COPYING = Drill(KINDS, written, (X,), {"M": 21, "N": 37})


@cache
def gemm() -> Kernel:
    """A product whose B is reordered between its load and DPAS."""
    return cx.kernel.gemm(tiled_mma((16, 32, 32), (2, 2)), copy_b="XE_2D_U16x16x16_LD_N")


def handed(*between: Statement) -> Kernel:
    """Z is X, which two subgroups store to W and load back, each what the other one stored."""
    tile = Layout(((16, 2), 8), ((16, 8), 1))
    load, store = (
        cx.make_tiled_copy(cx.make_copy_atom(op, "f32"), tile, (16, 16))
        for op in (cx.XE_LOAD_2D(32, 8, 16), cx.XE_STORE_2D(32, 8, 16))
    )
    row, column, i, j = Index("m") * 16, Index("n") * 16, Index("i"), Index("j")
    own, other = (row, column), (row + 8 - 16 * Index("subgroup"), column)
    return Kernel(
        "handed",
        2,
        (
            Operand("X", "f32", ("M", "N")),
            Operand("W", "f32", ("M", "N"), role="scratch"),
            Operand("Z", "f32", ("M", "N"), role="out"),
        ),
        (Fragment("x", cx.as_numeric("f32"), 8), Fragment("z", cx.as_numeric("f32"), 8)),
        (("m", Tiles("M", 16)), ("n", Tiles("N", 16))),
        (
            Load(load, "X", own, "x"),
            Store(store, "W", own, "x"),
            *between,
            Load(load, "W", other, "z"),
            Store(store, "Z", other, "z"),
        ),
        Specification((Claim("Z", ("i", "j"), Element("X", (i, j))),)),
    )


def placed(kind: type[Any], operand: str, by: tuple[Any, ...]) -> Callable[[Any], Statement]:
    """Move the tile of an operand by so many elements, or to a place."""

    def change(s: Any) -> Statement:
        if not isinstance(s, kind) or s.operand != operand:
            return s
        at = (y if isinstance(y, Index) else x + y for x, y in zip(s.at, by, strict=True))
        return replace(s, at=tuple(at))

    return change


RIGHT: dict[str, tuple[Callable[[], Kernel], Drill]] = {
    "a product": (gemm, PRODUCT),
    "handed on": (lambda: handed(*MEET), COPYING),
}
WRONG: dict[str, tuple[Callable[[], Kernel], Drill]] = {
    "stored a row too low": (lambda: changed(gemm(), placed(Store, "D", (1, 0))), PRODUCT),
    "stored outside": (lambda: changed(gemm(), placed(Store, "D", (1 << 20, 0))), PRODUCT),
    "stored to one tile by all": (
        lambda: changed(gemm(), placed(Store, "D", (Index(), 0))),
        PRODUCT,
    ),
    "the next tile of A": (lambda: changed(gemm(), placed(Load, "A", (0, 32))), PRODUCT),
    "handed on without a barrier": (handed, COPYING),
    "handed on without a fence": (lambda: handed(*MEET[1:]), COPYING),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", RIGHT)
def test_every_reader_answers_as_of_loads_and_stores(name: str, reader: str) -> None:
    make, drill = RIGHT[name]
    agrees(reader, make(), drill)


@pytest.mark.parametrize("name", RIGHT)
def test_messages_of_another_class_are_proved(name: str) -> None:
    make, drill = RIGHT[name]
    is_proved(make(), drill)


@pytest.mark.long
@pytest.mark.parametrize("reader", ["check", "reference", "fast"])
@pytest.mark.parametrize("name", WRONG)
def test_readers_answer_alike_of_wrong_messages(name: str, reader: str) -> None:
    make, drill = WRONG[name]
    agrees(reader, make(), drill)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_messages_are_never_proved(name: str) -> None:
    make, drill = WRONG[name]
    is_never_proved(make(), drill)


def test_what_the_listing_says_and_who_has_an_element() -> None:
    with entered(KINDS):
        kernel = written(gemm())
        assert "once      A → tArA" in str(kernel)
        assert "stream    tCrC → D" in str(kernel)
        for operand in "AD":
            place = cx.kernel.owner_of(kernel, operand, 3, 5)
            assert place == cx.kernel.owner_of(gemm(), operand, 3, 5)
        differing = {row.section for row in cx.diff(gemm(), kernel).rows if row.differs}
        assert not differing & {"messages", "bytes", "DPAS", "barriers", "registers"}


def test_no_language_is_written() -> None:
    emission_is_refused(gemm(), PRODUCT)


@pytest.mark.parametrize("missing", TABLES)
def test_each_entry_is_needed(missing: str) -> None:
    each_entry_is_needed(gemm(), PRODUCT, missing)
