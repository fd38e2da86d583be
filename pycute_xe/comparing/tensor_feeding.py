"""Whether a tensor lies in registers as a DPAS reads or leaves an operand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pycute_xe.atom.mma_atom import MmaAtom, Operand
from pycute_xe.dialects.dpas_encoding import DpasEncoding
from pycute_xe.dialects.elimination import Solver
from pycute_xe.dialects.linear import LinearLayout, is_power
from pycute_xe.dialects.tensors import Distributed
from pycute_xe.errors import RankError
from pycute_xe.typing import shown

__all__ = ["TensorFeed", "tensor_feeds"]

_RESULT_BITS = 32
_LARGEST_PACK = 4

Movement = Literal["none", "within work-items", "across work-items", "across subgroups"]


@dataclass(frozen=True, repr=False)
class TensorFeed:
    """Whether a tensor under an encoding serves a DPAS as an operand. Made by `feeds`.

    ``kind`` is "free", "reorder" or "impossible", ``movement`` how far values move: "none", "within
    work-items", "across work-items" of a subgroup, "across subgroups". ``wanted`` are the bases of
    one operand in the registers of DPAS, ``None`` where it is impossible.
    """

    tensor: Distributed
    mma: MmaAtom
    operand: Operand
    kind: Literal["free", "reorder", "impossible"]
    movement: Movement
    reason: str
    wanted: LinearLayout | None = None

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The verdict."""
        return f"<TensorFeed {str(self).partition(chr(10))[0]}>"

    def __str__(self) -> str:
        """The verdict, then the reason."""
        verb = "takes" if self.operand == "D" else "feeds"
        extents = "x".join(map(str, self.tensor.shape))
        return f"tensor {extents} {verb} {self.operand} of {self.mma}: {self.kind}\n{self.reason}"


def tensor_feeds(tensor: Distributed, mma: MmaAtom, operand: Operand) -> TensorFeed:
    """Return whether each subgroup's values are, in order, the operands of its instructions.

    Law: "free" exactly where the lanes are those of DPAS and the first values of a work-item are
    its values of one operand, in order; all others are then operands, too. This is of values: how
    the registers pack them, 16-bit ones for A and dwords for B, is left to the compiler.
    """
    if len(tensor.shape) != 2:
        wrong = f"an operand has two dimensions, and the tensor {len(tensor.shape)}"
        raise RankError("feeds", {"tensor": tensor}, wrong, "take one matrix of the batch")
    why = _unfit(tensor, mma, operand)
    if why:
        return TensorFeed(tensor, mma, operand, "impossible", "none", why)
    wanted, linear = _wanted(tensor, mma, operand), tensor.linear
    movement = _movement(linear, wanted)
    tile = "x".join(map(str, mma.operand_shape(operand)))
    count = linear.size("register") // wanted.size("register")
    match movement:
        case "none":
            reason = f"{count} operands of {tile} in each subgroup, in the order that DPAS reads"
            return TensorFeed(tensor, mma, operand, "free", movement, reason, wanted)
        case "within work-items":
            reason = "the lanes are those of DPAS, but values lie in another order"
        case "across work-items":
            reason = "lanes own other elements of the operand than DPAS reads from them"
        case "across subgroups":
            reason = "an operand lies in several subgroups: it goes through shared local memory"
    return TensorFeed(tensor, mma, operand, "reorder", movement, reason, wanted)


def _unfit(tensor: Distributed, mma: MmaAtom, operand: Operand) -> str:
    tile, lanes = mma.operand_shape(operand), tensor.lanes
    ops = _RESULT_BITS // mma.operand_type("A").bits
    if not is_power(mma.op.M):
        return f"an instruction has {mma.op.M} rows, and encodings powers of two"
    if not 1 <= ops <= _LARGEST_PACK:
        return f"Triton has no encoding of {mma.operand_type('A')}"
    if lanes not in (16, 32):
        return f"a subgroup has {lanes} lanes, and DPAS is issued by 16 or 32"
    if any(extent % part for extent, part in zip(tensor.shape, tile, strict=True)):
        return f"operands of {tile[0]}x{tile[1]} do not tile it"
    return ""


def _wanted(tensor: Distributed, mma: MmaAtom, operand: Operand) -> LinearLayout:
    ops = _RESULT_BITS // mma.operand_type("A").bits
    dpas = DpasEncoding(mma.op.M, 8, 16, ops, tensor.lanes, (1, 1), (1, 1))
    return dpas.linear(mma.operand_shape(operand), "C" if operand == "D" else operand)


def _movement(linear: LinearLayout, wanted: LinearLayout) -> Movement:
    lanes_agree = linear.basis("lane") == wanted.basis("lane")
    values, first = linear.basis("register"), wanted.basis("register")
    if lanes_agree and values[: len(first)] == first:
        return "none"
    if lanes_agree and set(first) <= set(values):
        return "within work-items"
    inside = Solver(map(linear.flat, (*linear.basis("lane"), *values)))
    tile = map(linear.flat, (*wanted.basis("lane"), *first))
    whole = all(inside.solve(vector) is not None for vector in tile)
    return "across work-items" if whole else "across subgroups"
