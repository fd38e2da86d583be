"""Floor 7: the copies of a GEMM as its caller gives them: tiled copies, atoms or names of atoms."""

from __future__ import annotations

from types import NoneType
from typing import TypeAlias

from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_atom import CopyAtom
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.cutlass import LegacyCopyAtom, get_atom, template_of
from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.operands import Order
from pycute_xe.kernel.kinds.parts import operand_copy, subgroup_share
from pycute_xe.numeric import Numeric

__all__ = ["GivenCopy", "check_given", "given_copy"]

GivenCopy: TypeAlias = TiledCopy | Block2DOp | CopyAtom | LegacyCopyAtom | str | None
"""A tiled copy, an operation or atom to tile, the name of an atom, or ``None`` for a choice."""


def check_given(*copies: object) -> None:
    """Raise `KernelError` for what is neither a copy nor the name of one."""
    kinds = (TiledCopy, Block2DOp, CopyAtom, LegacyCopyAtom, str, NoneType)
    for copy in copies:
        if not isinstance(copy, kinds):
            raise KernelError(
                "gemm",
                {"copy": copy},
                "a copy is neither a tiled copy, an atom nor the name of one",
                "use make_block_2d_copy_A(mma, strides, op=…)",
            )


def given_copy(
    mma: TiledMma, operand: str, order: Order, given: GivenCopy, numeric: Numeric | None = None
) -> TiledCopy:
    """Return the tiled copy of an operand: the one given, or the tiling of an atom that was named.

    An older name stands for the messages it sends (`template_of`). Raises `KernelError` for
    an operation in the other direction or one whose blocks do not fit a subgroup's share.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> given_copy(mma, "B", "row", "XE_2D_U16x32x16_LD_V").op
    XE_LOAD_2D_VNNI(16, 32, 16)
    """
    if given is None:
        return operand_copy(mma, operand, order, numeric)
    if isinstance(given, TiledCopy):
        _ = given.block  # other tilings say who owns what, not what messages do
        return given
    atom = get_atom(given) if isinstance(given, str) else given
    op = _operation(operand, atom)
    wanted = "store" if operand == "D" else "load"
    if op.message.op != wanted:
        raise KernelError(
            "gemm",
            {f"copy_{operand.lower()}": str(given)},
            f"{given} is a {op.message.op}, {operand} needs a {wanted}",
            f"name a {wanted}",
        )
    copy = operand_copy(mma, operand, order, numeric, op=op)
    if isinstance(atom, LegacyCopyAtom):
        _demand_whole_blocks(mma, operand, copy, atom)
    return copy


def _demand_whole_blocks(
    mma: TiledMma, operand: str, copy: TiledCopy, atom: LegacyCopyAtom
) -> None:
    """Refuse a name whose block is larger than a subgroup's share, though its messages fit."""
    rows, row = atom.memory_shape
    columns = row * atom.name.bits // copy.value_type.bits
    share = subgroup_share(mma, "C" if operand == "D" else operand)
    down, across = share[copy.y_mode], share[copy.x_mode]
    if down % rows or across % columns:
        raise KernelError(
            "gemm",
            {f"copy_{operand.lower()}": str(atom), "tile": mma.tile_mnk, "share": share},
            f"a block of {rows} x {columns} values of {copy.value_type} in memory does not divide "
            f"a subgroup's {down} x {across} of {operand}",
            "name a smaller block, or use a larger tile or fewer subgroups",
        )


def _operation(operand: str, atom: object) -> Block2DOp:
    if isinstance(atom, LegacyCopyAtom):
        return template_of(atom.name)
    if isinstance(atom, CopyAtom):
        return atom.op
    if isinstance(atom, Block2DOp):
        return atom
    raise KernelError(
        "gemm",
        {f"copy_{operand.lower()}": str(atom)},
        f"{atom} is not a block-2D copy",
        'name one, such as "XE_2D_U16x32x16_LD_N", or give make_block_2d_copy_A(mma, strides)',
    )
