"""Narrow weights widened, by a scale and a zero for each column and group of rows."""

from __future__ import annotations

from pycute_xe.errors import KernelError
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.signatures import typed

__all__ = ["dequantize_groups"]


@typed
@sized(group=None)
def dequantize_groups(
    group: int = 128,
    *,
    kind: str = "u4",
    d_type: str = "bf16",
    zeros: bool = True,
    subgroups: int = 4,
) -> Kernel:
    """Return the kernel ``D[k,n] = (B[k,n] - zero[k/group,n]) * scale[k/group,n]``.

    B (K, N) is of ``kind``, D of ``d_type``, ``scale`` and ``zero`` (K/group, N) are of f32;
    without ``zeros`` nothing is taken away. A subgroup has 16 rows at a time. Raises `KernelError`
    for groups that are not a multiple of what a work-group has. C++: vLLM's ``awq_dequantize``.

    >>> print(*dequantize_groups().inputs, sep="; ")
    B[K,N] u4 row-major; scale[ceil_div(K, 128),N] f32 row-major; \
zero[ceil_div(K, 128),N] f32 row-major
    """
    rows, width = 16 * subgroups, 64
    if group < 1 or group % rows:
        wrong = f"a group of {group} rows is not a multiple of the {rows} of a work-group"
        fix = f"use group={rows * max(1, -(-group // rows))}"
        raise KernelError("dequantize_groups", {"group": group}, wrong, fix)
    k = KernelBuilder("dequantize_groups", subgroups)
    B = k.input("B", kind, ("K", "N"))
    names = ("scale", "zero") if zeros else ("scale",)
    given = [k.input(x, "f32", (Tiles("K", group), "N")) for x in names]
    D = k.output("D", d_type, ("K", "N"))
    m, n = k.grid(m=Tiles("K", rows), n=Tiles("N", width))
    k.load("b", B, k.parts((rows, width), (subgroups, 1)), at=(m * rows, n * width))
    k.convert("wide", "b", "f32")
    for name, operand in zip(("by", "off"), given, strict=False):
        k.load(name, operand, k.columns("wide"), at=(m * rows // group, n * width))
    k.map("y", "(wide - off)*by" if zeros else "wide*by", "f32")
    k.convert("out", "y", d_type)
    k.store(D, "out", at=(m * rows, n * width))
    value = f"B[k,n] - zero[k/{group},n]" if zeros else "B[k,n]"
    return k.build(f"D[k,n] = {rounded(d_type, f'({value})*scale[k/{group},n]')}")
