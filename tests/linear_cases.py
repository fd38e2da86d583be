"""The linear copies that the tests go through: operations, sizes and value types."""

from __future__ import annotations

from collections.abc import Iterator

import pycute_xe as cx
from pycute_xe.atom import LinearCopyAtom, LinearOp

TARGETS = ("pvc", "bmg", "lnl", "ptl")
SIZES = (1, 2, 4, 8, 16, 32, 64)
# Sizes in bytes that the static assertions let pass, by those of S.
LEGAL = {
    "XE_1D_LOAD_GLOBAL": {
        1: (1, 2, 4, 8),
        2: (2, 4, 8, 16),
        4: (4, 8, 16, 32),
        8: (8, 16, 32, 64),
        16: (16, 32, 64),
        32: (32, 64),
        64: (64,),
    },
    "XE_1D_STORE_GLOBAL": {
        1: (1,),
        2: (1, 2),
        4: (1, 2, 4),
        8: (1, 2, 4, 8),
        16: (2, 4, 8, 16),
        32: (4, 8, 16, 32),
        64: (8, 16, 32, 64),
    },
    "XE_1D_LDSM": {
        1: SIZES,
        2: (2, 4, 8, 16, 32, 64),
        4: (4, 8, 16, 32, 64),
        8: (8, 16, 32, 64),
        16: (16, 32, 64),
        32: (32, 64),
        64: (64,),
    },
    "XE_1D_STSM": {
        1: (1,),
        2: (1, 2),
        4: (1, 2, 4),
        8: (1, 2, 4, 8),
        16: (1, 2, 4, 8, 16),
        32: (1, 2, 4, 8, 16, 32),
        64: SIZES,
    },
}
# Where the static assertions stand.
ASSERTED = "intel/sycl-tla 6601377, include/cute/arch/copy_xe.hpp"


def make(kind: str, s: int, d: int) -> LinearOp:
    return getattr(cx, kind)(f"u{8 * s}", f"u{8 * d}")


def legal() -> list[tuple[str, int, int]]:
    return [(kind, s, d) for kind, of in LEGAL.items() for s, ds in of.items() for d in ds]


def operations() -> list[LinearOp]:
    """Every operation whose types are legal, but for gathers that convert."""
    atomics = [cx.XE_ATOMIC(s, d) for s, d in ATOMIC]
    return [*(make(*case) for case in legal()), *map(cx.UniversalCopy, WORDS), *atomics]


WORDS = ("u8", "u16", "bf16", "u32", "f32", "u64", "u128", "u256", "u512")
ATOMIC = [(s, d) for s in ("f32", "f64", "s32") for d in ("f32", "f64", "s32", "u32", "s64", "u64")]


def atoms() -> Iterator[LinearCopyAtom]:
    """Every operation of elements in bytes, with every type of values that it takes."""
    for op in operations():
        for bits in (8, 16, 32, 64, 128, 256, 512):
            whole = (op.S, op.D) if op.is_block or op.kind in ("XE_ATOMIC", "UniversalCopy") else ()
            if all(t.bits % bits == 0 for t in (*whole, op.registers)):
                yield cx.make_copy_atom(op, f"u{bits}")


def runnable(atom: LinearCopyAtom) -> bool:
    """Whether hardware takes it, and values come as they are."""
    too_wide = atom.op.work_items == 1 and atom.op.registers.bits > 256
    return not too_wide and (atom.op.work_items == 16 or atom.op.kind != "XE_ATOMIC")
