"""How much a run does, counted in work, so that two runs of one question agree on it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod

from pycute_xe.kernel import If, Kernel, Loop
from pycute_xe.kernel.ir.kernel import work_in
from pycute_xe.kernel.ir.statements import Statement

__all__ = ["work_of_subgroup"]

GROUP = 150
STATEMENT = 16
MESSAGE = 12
BYTES_A_UNIT = 256
PRODUCTS_A_UNIT = 512


def work_of_subgroup(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Return about how much one subgroup does, a unit for each 256 bytes or 512 products.

    A statement is 16 units more, a message 12, a work-group 150 for all of its subgroups. Bounds of
    loops that depend on the grid are taken where that is 0, on a loop around them at its middle
    trip, on elements of operands as one trip.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16),
    ...     ((1, 1, 1), (1, 1, 0))), stages=0)
    >>> one, two = (work_of_subgroup(gemm, {"M": 1, "N": 1, "K": k}) for k in (16, 32))
    >>> two > one
    True
    """
    names = dict(sizes) | {name: 0 for name, _ in kernel.grid} | {"subgroup": 0}
    return -(-GROUP // kernel.subgroups) + work_in(kernel.body, names, partial(_cost, kernel))


def _cost(kernel: Kernel, statement: Statement) -> int:
    return STATEMENT + (0 if isinstance(statement, (Loop, If)) else _once(kernel, statement))


def _once(kernel: Kernel, statement: Statement) -> int:
    touched = statement.touched
    work = nbytes = 0
    if (product := touched.product) is not None:
        work += prod(product.mma.tile_mnk) // kernel.subgroups // PRODUCTS_A_UNIT
    if (memory := touched.memory) is not None:
        block, messages = memory.copy.block, memory.copy.messages
        work += messages * MESSAGE
        nbytes = messages * block.width * block.height * block.value_type.bits // 8
    elif product is None:
        names = {*touched.reads, *touched.writes, *touched.updates}
        nbytes = sum(kernel.fragment(name).bytes for name in names)
    return work + nbytes // BYTES_A_UNIT
