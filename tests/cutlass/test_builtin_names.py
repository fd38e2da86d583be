"""Atoms by the names of OpenCL's and SPIR-V's block-2D built-ins."""

from __future__ import annotations

import pytest
from every import every

import pycute_xe as cx
from pycute_xe.cutlass import get_atom
from pycute_xe.errors import CuteError

# The names that cl_intel_subgroup_2d_block_io declares, by element width and columns of a block.
DECLARED = [
    *(
        f"read_{b}b_{r}r{c}x{n}c"
        for b, c in ((8, 32), (16, 16), (32, 8))
        for r in (8, 16, 32)
        for n in (1, 2)
    ),
    *(
        f"prefetch_{b}b_{r}r{c}x{n}c"
        for b, c in ((8, 32), (16, 16), (32, 8))
        for r in (8, 16)
        for n in (1, 2)
    ),
    *(f"write_{b}b_{r}r{c}x1c" for b, c in ((8, 32), (16, 16), (32, 16)) for r in (1, 2, 4, 8)),
    *(f"read_transform_8b_32r16x{n}c" for n in (1, 2, 4)),
    *(f"read_transform_16b_{r}r16x{n}c" for r in (16, 32) for n in (1, 2)),
    *(f"read_transpose_32b_{r}r8x1c" for r in (16, 32)),
]
KINDS = {"read": "Load", "read_transform": "LoadTransform", "read_transpose": "LoadTranspose",
         "prefetch": "Prefetch", "write": "Store"}  # fmt: skip


@every("name", DECLARED)
def test_each_declared_name_is_an_atom(name: str) -> None:
    kind, bits, sizes = name.rsplit("_", 2)
    rows, columns, count = map(int, sizes.replace("r", "x").rstrip("c").split("x"))
    width = int(bits.rstrip("b"))
    atom = get_atom(f"intel_sub_group_2d_block_{name}")
    message = atom.op.message
    assert (message.bits, message.count) == (width, count)
    assert (message.width, message.height) == (columns, rows)
    assert (message.transpose, message.vnni) == (kind.endswith("pose"), kind.endswith("form"))
    for prefix in ("Op", "__spirv_", ""):
        operands = f"{width // 8}, {columns}, {rows}, {count}, p"
        assert get_atom(f"{prefix}Subgroup2DBlock{KINDS[kind]}INTEL({operands})") == atom


@every(
    "name",
    [
        "intel_sub_group_2d_block_read_8r8x2c",
        "intel_sub_group_2d_block_copy_32b_8r8x2c",
        "OpSubgroup2DBlockLoadINTEL",
        "__spirv_Subgroup2DBlockLoadINTEL(2, 16, 8)",
        "__spirv_Subgroup2DBlockLoadINTEL(n, 16, 8, 1)",
        "OpSubgroup2DBlockMoveINTEL(2, 16, 8, 1)",
    ],
)
def test_other_names_are_rejected(name: str) -> None:
    with pytest.raises(CuteError):
        cx.get_atom(name)


def test_verbs_take_the_names() -> None:
    name = "intel_sub_group_2d_block_read_transform_16b_32r16x1c"
    assert cx.check(name, "bmg")
    assert cx.explain(name).result == get_atom("XE_LOAD_2D_VNNI<16,32,16,16>")
    assert not cx.check("intel_sub_group_2d_block_read_transpose_8b_32r32x1c", "bmg")
