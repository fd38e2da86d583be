"""Judging reorders: which move values, and which copy would make them unnecessary."""

from __future__ import annotations

from typing import Any, NamedTuple

from pycute_xe.arch import Broken
from pycute_xe.atom import TiledCopy, TiledMma
from pycute_xe.atom.block2d_copy import BLOCK_2D_COPIES
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.atom.reordering import operand_reorder, reorder_rank
from pycute_xe.bulk import entries
from pycute_xe.checking.report import Findings
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.facts import rows
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.ir.effects import RegisterMove
from pycute_xe.kernel.ir.listing import reorder_moves
from pycute_xe.kernel.tiles.slots import by_registers
from pycute_xe.layout import Layout, size

__all__ = ["judge_reorders"]

RULE = "reorder"
ARGUMENT = {"A": "copy_a", "B": "copy_b", "D": "copy_d"}
"""The argument of a kind of GEMM that gives the copy of an operand."""


class Carried(NamedTuple):
    """What a reorder stands between: a copy, and an operand of a tiled MMA."""

    copy: TiledCopy
    mma: TiledMma
    operand: str

    @property
    def order(self) -> str:
        """How the operand lies in memory: A and D count (m, k) and (m, n), B (n, k)."""
        contiguous_first = self.copy.x_mode == 0
        return "row" if contiguous_first == (self.operand == "B") else "col"


def judge_reorders(kernel: Kernel, findings: Findings) -> None:
    """Say what each reorder moves: a warning where a copy needs no moves, else a rule that holds.

    A reorder into another type is a conversion, which no copy does.
    """
    for statement in kernel.statements():
        move = statement.touched.move
        if move is None or (slots := move.permutation) is None:
            continue
        try:
            count = reorder_moves(kernel, move)
        except KernelError:  # values that share a byte: `emit` says which
            continue
        if count:
            _judge(kernel, move, slots, count, findings)


def _judge(
    kernel: Kernel, move: RegisterMove, slots: Layout, count: int, findings: Findings
) -> None:
    subject = f"reorder {move.source} → {move.destination}"
    carried = _carried(kernel, move)
    condition = f"{count} moves in each subgroup {_between(slots)}"
    source = "vISA manual, DPAS.md: A is row-major without gaps, B is packed in dwords"
    if carried is None:
        findings.hold(subject, RULE, condition, source)
        return
    operand, order = carried.operand, carried.order
    named, source = _document(carried)
    verb = "store" if operand == "D" else "load"
    major = {"row": "row-major", "col": "column-major"}[order]
    condition = f"a {verb} of {major} {operand} by {carried.copy.op} needs {condition}{named}"
    better = _without_moves(carried)
    if better is not None:
        argument = ARGUMENT[operand]
        fix = f'write {argument}="{better.op}", which needs none, or leave {argument} out'
    elif operand == "D" and order == "col":
        fix = 'write d="row": a store needs no moves then'
    else:
        findings.hold(subject, RULE, f"{condition}; no copy needs none", source)
        return
    findings.refuse(subject, (Broken(RULE, "warning", condition, source, fix),))


def _between(slots: Layout) -> str:
    """Say how far elements are moved."""
    to = entries(slots)
    across = any(element % SUBGROUP != slot % SUBGROUP for element, slot in enumerate(to))
    return "across work-items" if across else "between registers of a work-item"


def _document(carried: Carried) -> tuple[str, str]:
    """Return in words which copies the document names for an operand, and the document."""
    for row in rows("block2d_names", "operand"):
        bits: Any = row["bits"]
        if (row["operand"], row["order"]) == (carried.operand, carried.order):
            source = str(row["source"])
            if carried.copy.value_type.bits in bits:
                named = "names no copy" if row["copies"] == "none" else f"names {row['copies']}"
                return f"; the document {named} for it", source
    return "", "intel/sycl-tla 6601377, reorder_xe.hpp: what registers hold decides"


def _carried(kernel: Kernel, move: RegisterMove) -> Carried | None:
    """Return the copy and the operand on the two sides of a reorder."""
    touched = [statement.touched for statement in kernel.statements()]
    products = [product for each in touched if (product := each.product) is not None]
    for memory in (memory for each in touched if (memory := each.memory) is not None):
        if memory.fills and memory.fragment == move.source:
            for product in products:
                operand = {product.a: "A", product.b: "B"}.get(move.destination)
                if operand is not None:
                    return _matching(memory.copy, product.mma, operand)
        if memory.overwrites and memory.fragment == move.destination and products:
            return _matching(memory.copy, products[-1].mma, "D")
    return None


def _matching(copy: TiledCopy, mma: TiledMma, operand: str) -> Carried | None:
    """Return the two sides where the copy moves the whole tile of the operand."""
    carried = Carried(copy, by_registers(mma), operand)
    try:
        slots = operand_reorder(copy, carried.mma, operand)
    except CuteError:
        return None
    return carried if size(slots) else None


def _without_moves(carried: Carried) -> TiledCopy | None:
    """Return the copy that CUTLASS chooses, where its registers are those of the operand."""
    copy, mma, operand = carried
    stride: list[Any] = ["ld"] * len(copy.tiler_mn)
    stride[copy.x_mode] = 1
    try:
        chosen = BLOCK_2D_COPIES[operand](mma, tuple(stride), copy.value_type)
        return chosen if reorder_rank(chosen, mma, operand) < 2 else None
    except CuteError:
        return None
