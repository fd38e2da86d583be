"""Block-2D operations by the names of OpenCL's and SPIR-V's built-in functions.

OpenCL: ``cl_intel_subgroup_2d_block_io``. SPIR-V: ``SPV_INTEL_2d_block_io``.
"""

from __future__ import annotations

import re

from pycute_xe.atom.block2d_op import Block2DOp, Kind
from pycute_xe.errors import CuteError

__all__ = ["parse_builtin_name"]

_OPENCL: dict[str, Kind] = {
    "read": "XE_LOAD_2D",
    "read_transform": "XE_LOAD_2D_VNNI",
    "read_transpose": "XE_LOAD_2D_TRANSPOSE",
    "prefetch": "XE_PREFETCH_2D",
    "write": "XE_STORE_2D",
}
_SPIRV: dict[str, Kind] = {
    "Load": "XE_LOAD_2D",
    "LoadTransform": "XE_LOAD_2D_VNNI",
    "LoadTranspose": "XE_LOAD_2D_TRANSPOSE",
    "Prefetch": "XE_PREFETCH_2D",
    "Store": "XE_STORE_2D",
}
_NUMBER = "([0-9]{1,9})"
_OPENCL_NAME = re.compile(
    rf"intel_sub_group_2d_block_(\w+?)_{_NUMBER}b_{_NUMBER}r{_NUMBER}x{_NUMBER}c"
)
_OPENCL_START = "intel_sub_group_2d_block_"
_SPIRV_NAME = re.compile(r"(?:Op|__spirv_)?Subgroup2DBlock(\w+?)INTEL(?:\s*\((.*)\))?")
_SPIRV_START = ("OpSubgroup2DBlock", "__spirv_Subgroup2DBlock", "Subgroup2DBlock")


def parse_builtin_name(text: str) -> Block2DOp | None:
    """Return the operation of an OpenCL or SPIR-V built-in; ``None`` for any other text.

    OpenCL: bits of an element, rows, columns of a block and blocks are in the name. SPIR-V: bytes
    of an element, columns, rows and blocks are the first operands, in parentheses. Rows and columns
    are those of memory, before a transpose. Raises `CuteError` for an unknown kind and for missing
    sizes, and what `Block2DOp` raises for sizes that no message has.

    >>> parse_builtin_name("intel_sub_group_2d_block_read_32b_8r8x2c")
    XE_LOAD_2D(32, 8, 16, 8)
    >>> parse_builtin_name("__spirv_Subgroup2DBlockLoadTransformINTEL(2, 16, 32, 1)")
    XE_LOAD_2D_VNNI(16, 32, 16)
    """
    name = text.strip()
    if name.startswith(_OPENCL_START):
        return _of_opencl(name)
    return _of_spirv(name) if name.startswith(_SPIRV_START) else None


def _of_opencl(name: str) -> Block2DOp:
    match = _OPENCL_NAME.fullmatch(name)
    if match is None or match[1] not in _OPENCL:
        form = f"{_OPENCL_START}{{{'|'.join(_OPENCL)}}}_16b_8r16x2c"
        raise CuteError("get_atom", {"name": name}, "no built-in has this name", f"write {form}")
    bits, rows, columns, count = map(int, match.groups()[1:])
    return _operation(_OPENCL[match[1]], bits, rows, columns, count)


def _of_spirv(name: str) -> Block2DOp:
    match = _SPIRV_NAME.fullmatch(name)
    if match is None or match[1] not in _SPIRV:
        kinds = ", ".join(f"Subgroup2DBlock{kind}INTEL" for kind in _SPIRV)
        raise CuteError("get_atom", {"name": name}, "no instruction has this name", f"use {kinds}")
    operands = [part.strip() for part in (match[2] or "").split(",")][:4]
    if len(operands) < 4 or not all(part.isdecimal() and len(part) < 10 for part in operands):
        wrong = "element size, block width, block height and block count must follow as numbers"
        fix = f"write {name.partition('(')[0]}(2, 16, 8, 2)"
        raise CuteError("get_atom", {"name": name}, wrong, fix)
    size, columns, rows, count = map(int, operands)
    return _operation(_SPIRV[match[1]], 8 * size, rows, columns, count)


def _operation(kind: Kind, bits: int, rows: int, columns: int, count: int) -> Block2DOp:
    return Block2DOp(kind, bits, rows, columns * count, columns)
