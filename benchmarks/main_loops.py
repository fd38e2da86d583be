"""Count the instructions of main loops by kind: kernels of the field, by each compiler found.

For each kernel, target and compiler: the innermost loop with most DPAS, what stands beside them,
and the scratch of a thread. ``--only TEXT`` takes the kernels whose name has it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import pycute_xe as cx
from pycute_xe.atom import make_block_2d_copy_B
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel, gmem_stride

WEIGHTS = ("s8", "u8", "s4", "u4", "f8e4m3", "f8e5m2")
DPAS = cx.XE_DPAS_TT(8, "f32", "bf16")
SCALED = "(B - zero[k/128,n]) * scale[k/128,n]"
WIDE = cx.XE_LOAD_2D_VNNI(16, 32, 32, 16)


def gemm(subgroups: tuple[int, int] = (8, 4), **more: Any) -> Kernel:
    """A GEMM of the tile 256x256x32 over so many subgroups."""
    m, n = subgroups
    mma = cx.workgroup_mma(DPAS, tile=(256, 256, 32), subgroups=((m, n, 1), (n, 1, 0)))
    if more.pop("wide", False):
        more["copy_b"] = make_block_2d_copy_B(mma, gmem_stride("B", "row"), op=WIDE)
    return cx.kernel.gemm(mma, **more)


def kernels() -> Iterator[tuple[str, Kernel]]:
    """The kernels, each with its name."""
    yield "bf16 8x4", gemm()
    yield "bf16 8x4, blocks of B of 32 rows", gemm(wide=True)
    yield "bf16 4x8", gemm((4, 8))
    yield "bf16 8x4, B by columns", gemm(b="col")
    for kind in WEIGHTS:
        for grid in ((8, 4), (4, 8)):
            name = f"bf16 x {kind} {grid[0]}x{grid[1]}"
            yield name, gemm(grid, types={"B": kind})
            types = {"B": kind, "zero": "s8", "scale": "f16"}
            yield f"{name}, zeros and scales", gemm(grid, types=types, transform_b=SCALED)
    yield "s8 x bf16 8x4", gemm(types={"A": "s8"})
    yield "e4m3 x e4m3 8x4", gemm(types={"A": "f8e4m3", "B": "f8e4m3"})
    yield "bf16 8x4, A by columns", gemm(a="col")
    for b in ("row", "col"):
        mma = cx.workgroup_mma(DPAS, (128, 128, 32), ((4, 4, 1), (4, 1, 0)))
        yield f"shared 128x128x32 4x4, B by {b}", cx.kernel.slm_gemm(mma, b=b)


def main() -> None:
    """Print a line for each kernel and compiler."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    found, targets = cx.native.toolchains(), ("pvc", "bmg")
    made = [(t, c.version) for c in found for t in targets if t in c.targets]
    for name, kernel in kernels():
        if asked.only not in name:
            continue
        for target, version in made:
            try:
                binary = cx.native.compile(kernel, target, compiler=version)
            except CuteError as error:
                print(f"{name:34} {target} {version:12} refused: {error}", flush=True)
                continue
            inner = max(binary.loops, key=lambda one: one.counts.get("dpas", 0))
            print(f"{name:34} {target} {version:12} scratch {binary.scratch}; {inner}", flush=True)


if __name__ == "__main__":
    main()
