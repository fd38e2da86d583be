"""A drawing of each kind that the library makes, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pycute_xe as cx
from pycute_xe import Layout, Swizzle, draw
from pycute_xe.arch.banks import Banks
from pycute_xe.arch.lsc import parse
from pycute_xe.drawing import Drawing
from pycute_xe.kernel import kv_cache_write, moe_gemm
from pycute_xe.kernel.schedules import StreamK

BF16 = cx.XE_DPAS_TT(8, "f32", "bf16")
MATRIX = Layout((8, 8), (8, 1))
BLOCK, GRID = Layout((2, 3)), Layout((4, 4))
PERMUTED = (32, Layout((16, 2, 2), (1, 32, 16)), 16)


@cache
def mma() -> cx.TiledMma:
    """A work-group of 8 x 4 subgroups, 256 x 256 x 32."""
    return cx.workgroup_mma(BF16)


@cache
def gemm(**more: Any) -> cx.Kernel:
    return cx.kernel.gemm(mma(), **more)


def marked() -> Drawing:
    name = "XE_2D_U16x8x16_LD_N"
    wrong = cx.verify(name, row="v", column="15 - t").counterexample
    return draw(cx.get_atom(name), "memory", mark=wrong)


def swizzled(bits: int, base: int, shift: int, rows: int, cols: int) -> cx.ComposedLayout:
    return cx.composition(Swizzle(bits, base, shift), Layout((rows, cols), (cols, 1)))


PICTURES: dict[str, Callable[[], Drawing]] = {
    "layout": lambda: draw(Layout((8, (2, 4)), (2, (1, 16)))),
    "a line": lambda: draw(Layout(24, 1000)),
    "identity": lambda: draw(cx.make_identity_layout((8, 32))),
    "wide identity": lambda: draw(cx.make_identity_layout((16, 64))),
    "composition": lambda: draw(
        {"A": MATRIX, "B": GRID, "A∘B": cx.composition(MATRIX, Layout((4, 4), (2, 16)))}
    ),
    "swizzle": lambda: draw(swizzled(3, 0, 3, 8, 8)),
    "swizzle of 64 columns": lambda: draw(swizzled(3, 4, 3, 8, 64)),
    "swizzle of 128 columns": lambda: draw(swizzled(3, 4, 3, 32, 128)),
    "swizzle of elements": lambda: draw(swizzled(3, 0, 3, 16, 64)),
    "swizzles by colour": lambda: draw(
        {"wide": swizzled(2, 3, 3, 8, 64)}, colour=lambda o: o // 8 % 8
    ),
    "logical_divide": lambda: draw(cx.logical_divide(MATRIX, (4, 2))),
    "zipped_divide": lambda: draw(cx.zipped_divide(MATRIX, (4, 2))),
    "tiled_divide": lambda: draw(cx.tiled_divide(MATRIX, (4, 2))),
    "flat_divide": lambda: draw(cx.flat_divide(MATRIX, (4, 2))),
    "divide of a line": lambda: draw(cx.logical_divide(Layout(24), Layout(4, 2))),
    "swizzled divide": lambda: draw(cx.zipped_divide(swizzled(3, 0, 3, 8, 8), (4, 2))),
    "narrow tiles": lambda: draw(cx.logical_divide(Layout((8, 16), (16, 1)), (4, 1))),
    "tiles in place": lambda: draw(cx.zipped_divide(MATRIX, (4, 2)), view="tiles"),
    "logical_product": lambda: draw(cx.logical_product(BLOCK, GRID), view="tiles"),
    "zipped_product": lambda: draw(cx.zipped_product(BLOCK, GRID), view="tiles"),
    "tiled_product": lambda: draw(cx.tiled_product(BLOCK, GRID)),
    "flat_product": lambda: draw(cx.flat_product(BLOCK, GRID)),
    "blocked_product": lambda: draw(cx.blocked_product(BLOCK, GRID)),
    "raked_product": lambda: draw(cx.raked_product(BLOCK, GRID), view="blocks"),
    "copy atom": lambda: draw(cx.make_copy_atom(cx.XE_LOAD_2D(16, 8, 16), "bf16")),
    "older copy atom": lambda: draw(cx.get_atom("XE_2D_U16x16x16_LD_V")),
    "transposed copy atom": lambda: draw(cx.get_atom("XE_2D_U64x8x4_LD_T")),
    "large copy atom": lambda: draw(cx.get_atom("XE_2D_U8x32x64_LD_V")),
    "padded copy atom": lambda: draw(cx.make_copy_atom(cx.XE_LOAD_2D(8, 16, 12), "u8")),
    "linear copy atom": lambda: draw(cx.get_atom("XE_1D_LOAD_GLOBAL<u16,u64>")),
    "block message": lambda: draw(cx.XE_LOAD_2D(16, 8, 12).message),
    "LSC message": lambda: draw(parse("lsc_load.ugm (M1,16) V4:d32x2 flat[V1]:a64")),
    "DPAS": lambda: draw(cx.make_mma_atom(BF16)),
    "DPAS A": lambda: draw(cx.make_mma_atom(BF16), "A"),
    "DPAS B": lambda: draw(cx.make_mma_atom(BF16), "B"),
    "DPAS of narrow types": lambda: draw(cx.make_mma_atom(cx.XE_DPAS_TT(8, "s32", "s4")), "B"),
    "tiled copy": lambda: draw(cx.make_block_2d_copy_B(mma(), (1, "ld"))),
    "tiled copy at one glance": lambda: draw(
        cx.make_block_2d_copy_A(mma(), ("ld", 1)), view="zooms"
    ),
    "tiled MMA": lambda: draw(mma(), "A"),
    "tiled MMA at one glance": lambda: draw(mma(), view="zooms"),
    "A of a tiled MMA at one glance": lambda: draw(mma(), "A", view="zooms"),
    "interleaved MMA at one glance": lambda: draw(
        cx.make_tiled_mma(BF16, Layout((2, 2, 1)), PERMUTED), view="zooms"
    ),
    "permutation": lambda: draw(
        cx.make_tiled_mma(BF16, Layout((2, 2, 1)), PERMUTED), view="permutation"
    ),
    "kernel": lambda: draw(gemm(), "A"),
    "wrong kernel": lambda: draw(gemm(a="col", reorder_a=False), "A"),
    "reorder": lambda: draw(gemm(a="col"), "A", view="reorder"),
    "banks": lambda: draw(Banks(16, 4).use(range(0, 16 * 68, 68), 4)),
    "bank conflicts": lambda: draw(Banks(32, 4).use(range(0, 16 * 256, 256), 4)),
    "plan": lambda: draw(StreamK(8).plan((2, 5, 64))),
    "counterexample": marked,
    "rows of experts": lambda: draw(
        moe_gemm(cx.workgroup_mma(BF16, (32, 64, 32), ((2, 1, 1), (1, 1, 0)))),
        tables={"starts": [0, 10, 10, 11, 50], "longest": 39, "T": 50},
    ),
    "tokens in pages": lambda: draw(
        kv_cache_write(page=16, depth=64), tables={"slots": [3, -1, 17, 18, 120], "P": 9}
    ),
}
