"""Floor 10: how much a run does, counted in work, so that two runs of one question agree on it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from pycute_xe.errors import CuteError
from pycute_xe.kernel import AtomicStore, If, Kernel, Load, Loop, Mma, Prefetch, Statement, Store

__all__ = ["groups_in", "work_of_subgroup"]

GROUP = 150
STATEMENT = 16
MESSAGE = 12
BYTES_A_UNIT = 256
PRODUCTS_A_UNIT = 512


def work_of_subgroup(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Return about how much one subgroup does, a unit for each 256 bytes or 512 products.

    A statement is 16 units more, a message 12, a work-group 150 for all of its subgroups. Bounds of
    loops that depend on variables are taken where those are 0, on elements of operands as one trip.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16),
    ...     ((1, 1, 1), (1, 1, 0))), stages=0)
    >>> one, two = (work_of_subgroup(gemm, {"M": 1, "N": 1, "K": k}) for k in (16, 32))
    >>> two > one
    True
    """
    names = dict(sizes) | {name: 0 for name, _ in kernel.grid} | {"subgroup": 0}
    return -(-GROUP // kernel.subgroups) + _work(kernel, kernel.body, names)


def groups_in(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Return how many work-groups a grid has, a count that is an operand's element taken as 1."""
    out = 1
    for _, count in kernel.grid:
        try:
            out *= max(1, count.at(sizes))
        except CuteError:
            continue
    return out


def _work(kernel: Kernel, body: tuple[Statement, ...], names: Mapping[str, int]) -> int:
    total = 0
    for statement in body:
        if isinstance(statement, Loop):
            try:
                count = max(0, statement.stop.at(names) - statement.start.at(names))
            except CuteError:
                count = 1
            inner = {**names, statement.var: 0}
            total += STATEMENT + count * _work(kernel, statement.body, inner)
        elif isinstance(statement, If):
            total += STATEMENT + _work(kernel, statement.body, names)
        else:
            total += STATEMENT + _once(kernel, statement)
    return total


def _once(kernel: Kernel, statement: Statement) -> int:
    if isinstance(statement, Mma):
        m, n, k = statement.mma.tile_mnk
        return m * n * k // kernel.subgroups // PRODUCTS_A_UNIT
    touched = statement.touched
    names = {*touched.reads, *touched.writes, *touched.updates}
    nbytes = sum(kernel.fragment(name).bytes for name in names)
    messages = 0
    if isinstance(statement, (Load, Store, AtomicStore, Prefetch)):
        messages = statement.copy.messages
        block = statement.copy.block
        nbytes = messages * prod((block.width, block.height)) * block.value_type.bits // 8
    return messages * MESSAGE + nbytes // BYTES_A_UNIT
