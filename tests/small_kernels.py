"""Small kernels of one kind of statement each: loads, the statement, a store.

One subgroup of one work-group works on tiles of 8 rows and 16 columns of 32-bit elements, which is
one message each way: element 16 * row + column of the registers.
"""

from __future__ import annotations

import numpy as np

import pycute_xe as cx
from pycute_xe.atom import XE_LOAD_2D, XE_STORE_2D, make_block_2d_copy
from pycute_xe.kernel import (
    AtomicStore,
    BarrierArrive,
    BarrierWait,
    Convert,
    Fence,
    Fill,
    Fragment,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    NamedArrive,
    NamedBarrier,
    NamedWait,
    Operand,
    Part,
    Reduce,
    Reorder,
    Shared,
    SharedLoad,
    SharedStore,
    Slot,
    Statement,
    Store,
)
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.layout import Layout

ROWS, COLUMNS = 8, 16
TILE = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)


def fragment(name: str, kind: str, slots: int) -> Fragment:
    return Fragment(name, cx.as_numeric(kind), slots)


def by_subgroup(number: int, *body: Statement) -> If:
    """What one subgroup does."""
    mine = Index(SUBGROUP_INDEX)
    return If(mine, Index(None, number + 1), (If(Index(None, number - 1), mine, body),))


def shared_array(name: str, kind: str, elements: int) -> Shared:
    return Shared(name, cx.as_numeric(kind), elements)


def load_of(name: str, fragment: str, kind: str = "f32", at: tuple[int, ...] = (0, 0)) -> Load:
    bits = cx.as_numeric(kind).bits
    copy = make_block_2d_copy(XE_LOAD_2D(bits, ROWS, COLUMNS), ("ld", 1), kind)
    modes = (len(at) - 2, len(at) - 1)
    return Load(copy, name, tuple(Index(None, i) for i in at), fragment, modes)


def store_of(name: str, fragment: str, kind: str = "f32", at: tuple[int, ...] = (0, 0)) -> Store:
    bits = cx.as_numeric(kind).bits
    copy = make_block_2d_copy(XE_STORE_2D(bits, ROWS, COLUMNS), ("ld", 1), kind)
    modes = (len(at) - 2, len(at) - 1)
    return Store(copy, name, tuple(Index(None, i) for i in at), fragment, modes)


def small_kernel(
    middle: tuple[Statement, ...],
    more: tuple[Fragment, ...] = (),
    out: str = "x",
    kinds: tuple[str, str] = ("f32", "f32"),
    scalars: tuple[Operand, ...] = (),
    shared: tuple[Shared, ...] = (),
) -> Kernel:
    """X is loaded into x, statements follow, a fragment is stored to Y."""
    taken, given = kinds
    operands = (
        Operand("X", taken, ("M", "N")),
        *scalars,
        Operand("Y", given, ("M", "N"), role="out"),
    )
    fragments = (fragment("x", taken, 8), *more)
    body = (load_of("X", "x", taken), *middle, store_of("Y", out, given))
    return Kernel("small", 1, operands, fragments, (("g", Index(None, 1)),), body, None, shared)


def everything(shared: bool = True, named: bool = False) -> Kernel:
    """One kernel with every kind of statement but Mma; shared memory, named barriers as asked."""
    places, turned = Layout((1, 128), (0, 1)), Layout((16, 8), (8, 1))
    store, alone = store_of("Y", "x"), NamedBarrier(Index(None, 1), 1, 1)
    body = (
        Loop("i", Index(), Index(None, 1), (Fill("y", 1),)),
        If(Index(None, 0), Index(None, 1), (Map("x", Slot("x") + 0),)),
        Reorder("x", "y", turned),
        *((SharedStore("y", "s", places),) if shared else ()),
        Fence(),
        BarrierArrive(),
        BarrierWait(),
        *((NamedArrive(alone), NamedWait(alone)) if named else ()),
        SharedLoad("s", "x", places) if shared else Convert("y", "x"),
        Reduce("max", "x", "r", Layout((16, 8), (1, 0))),
        Map("y", Slot("x") + Slot("r"), (("r", Layout((16, 8), (1, 0))),)),
        Convert("y", "x"),
        Part("x", "h", Layout(16), 16),
        AtomicStore(store.copy, "Z", store.at, "x"),
    )
    return small_kernel(
        body,
        (fragment("y", "f32", 8), fragment("r", "f32", 1), fragment("h", "f32", 1)),
        scalars=(Operand("Z", "f32", ("M", "N"), role="inout"),),
        shared=(shared_array("s", "f32", 128),) if shared else (),
    )
