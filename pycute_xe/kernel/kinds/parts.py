"""Parts that kinds of kernels share: how operands reach the registers of an MMA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from types import NoneType
from typing import TypeAlias

from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.regions import passes
from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom.block2d_copy import (
    make_block_2d_copy_A,
    make_block_2d_copy_B,
    make_block_2d_copy_C,
    make_block_2d_copy_D,
)
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_atom import CopyAtom, as_operation
from pycute_xe.atom.makers import workgroup_mma
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.atom.register_picture import ANY_TARGET, SUBGROUP
from pycute_xe.atom.reordering import is_identity, reorder
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import OPERAND_MODES, TiledMma
from pycute_xe.bulk import entries
from pycute_xe.cutlass import LegacyCopyAtom, get_atom
from pycute_xe.errors import CuteError, DTypeError, KernelError, plural
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Order
from pycute_xe.kernel.spec.expression import Element, Expression, Slot, rebuilt, total
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed

__all__ = [
    "gmem_stride",
    "operand_copy",
    "reordered",
    "store_reorder",
    "in_one_pass",
    "along",
    "product_of",
    "unfit",
    "GivenCopy",
    "check_given",
    "given_copy",
]

# ------------------------------------------------------------ endings
# What a product is in index notation, and which tilings make one.

Factor: TypeAlias = Callable[[tuple[Index, ...]], Expression]
"""What is multiplied of an operand at indices."""


def product_of(
    accumulator: Numeric,
    of: tuple[Factor | str, Factor | str] = ("A", "B"),
    lead: tuple[Index, ...] = (),
) -> Expression:
    """Return what the accumulator holds behind the main loop; a name is an operand's elements."""
    m, n, k = map(Index, "mnk")
    sides = (partial(Element, x) if isinstance(x, str) else x for x in of)
    one, other = (side((*lead, *at)) for side, at in zip(sides, ((m, k), (k, n)), strict=True))
    return total("k", "K", one * other, accumulator=accumulator)


def along(value: Expression, name: str) -> Expression:
    """Return an expression of row m and column n at another column."""
    index = {"n": Index(name)}

    def leaf(x: Element | Slot) -> Expression:
        if isinstance(x, Slot):
            return x
        return replace(x, at=tuple(i.substitute(index) for i in x.at))

    return rebuilt(value, leaf)


def unfit(mma: TiledMma) -> tuple[str, str]:
    """Return why no accumulator of a subgroup is a tile of D, and a way out; else nothing."""
    op = mma.atom.op
    if size(mma.atom_layout_mnk[2]) != 1:
        wrong = "subgroups along K would each write the whole of D; nothing adds them up"
        return wrong, "use subgroups along M and N only"
    if op.C != op.D:
        wrong = f"the accumulator goes in as {op.C} and comes out as {op.D}"
        return wrong, "use an atom whose C and D have the same type"
    return "", ""


# ------------------------------------------------------------ parts

_MAKERS = {
    "A": make_block_2d_copy_A,
    "B": make_block_2d_copy_B,
    "C": make_block_2d_copy_C,
    "D": make_block_2d_copy_D,
}


@typed
def gmem_stride(operand: str, order: Order) -> tuple[str | int, str | int]:
    """Return the strides of an operand in CuTe's mode order, ``"ld"`` for the leading dimension.

    Row-major B has N contiguous, so its (N, K) strides are ``(1, "ld")``.
    Raises `KernelError` for an order that is neither "row" nor "col".

    >>> gmem_stride("A", "row"), gmem_stride("B", "row")
    (('ld', 1), (1, 'ld'))
    """
    if order not in ("row", "col"):
        raise KernelError(
            "gemm", {operand: order}, f"{order!r} is not a storage order", 'use "row" or "col"'
        )
    first_contiguous = (order == "col") != (operand == "B")
    return (1, "ld") if first_contiguous else ("ld", 1)


def operand_copy(
    mma: TiledMma,
    operand: str,
    order: Order,
    numeric: Numeric | None = None,
    name: str = "",
    op: Block2DOp | None = None,
) -> TiledCopy:
    """Return the copy that CUTLASS would choose for an operand of a GEMM, or one by ``op``.

    Raises `KernelError`, in the words of the GEMM, where no block-2D message moves a subgroup's
    share of it.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> print(operand_copy(mma, "B", "row").op)
    XE_LOAD_2D_VNNI<16,16,32,16>
    """
    try:
        copy = _MAKERS[operand](mma, gmem_stride(operand, order), numeric, op)
    except CuteError as error:
        if op is not None:
            raise _unfit(mma, operand, op, error.condition) from error
        raise _unmoved(mma, operand, order, numeric, name, error) from error
    slots = _slots(copy)
    if slots == _share_slots(mma, operand):
        return copy
    if op is not None:
        raise _unfit(mma, operand, op, f"a subgroup would move {slots} values a work-item")
    raise _unmoved(mma, operand, order, numeric, name, None)


def _slots(copy: TiledCopy) -> int:
    """Values that a work-item moves."""
    return copy.messages * copy.atom.values


def _share_slots(mma: TiledMma, operand: str) -> int:
    """Values of an operand that a work-item has a share of."""
    return size(mma.fragment("C" if operand == "D" else operand)[1])


def _unfit(mma: TiledMma, operand: str, op: Block2DOp, why: str) -> KernelError:
    """Say that blocks of a given operation do not make up what a subgroup needs."""
    share = subgroup_share(mma, "C" if operand == "D" else operand)
    return KernelError(
        "gemm",
        {f"copy_{operand.lower()}": op, "tile": mma.tile_mnk, "share": share},
        f"blocks of {op} do not make up a subgroup's share of {operand}: {why}",
        f"use a smaller block, or leave copy_{operand.lower()} out",
    )


def _unmoved(
    mma: TiledMma,
    operand: str,
    order: Order,
    numeric: Numeric | None,
    name: str,
    error: CuteError | None,
) -> KernelError:
    """Say why no message moves a subgroup's share, and what would."""
    op = mma.atom.op
    kind = numeric or {"A": op.A, "B": op.B}.get(operand, op.D)
    share = subgroup_share(mma, "C" if operand == "D" else operand)
    run = share[gmem_stride(operand, order).index(1)]
    words = f"a {'row' if order == 'row' else 'column'} of {name or operand}"
    count = f"{plural(run, 'value')} of {kind} ({run * kind.bits} bits)"
    condition = f"a subgroup's share of {words} is {count}"
    if run * kind.bits % 32:
        wrong = f"{condition}; a block-2D message moves whole dwords"
    else:
        why = f": {error.condition}" if error is not None else ""
        wrong = f"{condition}, and no block-2D message moves it without moving more{why}"
    return KernelError(
        "gemm",
        {name or operand: f"{kind}, {order}", "tile": mma.tile_mnk, "share": share},
        wrong,
        _ways_out(mma, operand, order, kind, name or operand),
    )


def _ways_out(mma: TiledMma, operand: str, order: Order, kind: Numeric, name: str) -> str:
    """Return the larger tile, the fewer subgroups and the order with which a copy was seen to fit.

    Along the modes of the operand, the contiguous one first; the least change of each kind. Where
    nothing of it fits, an MMA of more rows that does.
    """
    first, second = OPERAND_MODES["C" if operand == "D" else operand]
    if gmem_stride(operand, order)[0] != 1:
        first, second = second, first
    tile, grid = mma.tile_mnk, mma.atom_layout_mnk
    changes = [(by, modes) for by in (2, 4, 8) for modes in ((first,), (second,), (first, second))]
    larger = [_scaled(tile, modes, by) for by, modes in changes]
    counts = tuple(map(size, grid))
    fewer = [
        tuple(n // by if i in modes else n for i, n in enumerate(counts))
        for by, modes in changes
        if all(counts[i] % by == 0 for i in modes)
    ]
    other: Order = "col" if order == "row" else "row"
    op = mma.atom.op
    tiles = (t for t in larger if _fits(op, t, grid, operand, order, kind))
    grids = (n for n in fewer if _fits(op, tile, Layout(n), operand, order, kind))
    ways = [f"use a tile of {t}" for t in islice(tiles, 1)]
    ways += [f"use {n} subgroups" for n in islice(grids, 1)]
    if _fits(op, tile, grid, operand, other, kind):
        ways.append(f'store {name} as "{other}"')
    higher = [replace(op, M=m) for m in (2, 4, 8) if m > op.M and not ways]
    high = ((each, (max(tile[0], each.M * counts[0]), *tile[1:])) for each in higher)
    mmas = ((each, t) for each, t in high if _fits(each, t, grid, operand, order, kind))
    ways += [f"use {MmaAtom(each)} and a tile of {t}" for each, t in islice(mmas, 1)]
    return ", or ".join(ways)


def _scaled(sizes: tuple[int, ...], modes: tuple[int, ...], by: int) -> tuple[int, ...]:
    return tuple(n * by if i in modes else n for i, n in enumerate(sizes))


def _fits(
    op: Dpas, tile: tuple[int, ...], grid: Layout, operand: str, order: Order, kind: Numeric
) -> bool:
    """Whether messages of whole registers move what each subgroup of another tiling needs."""
    try:
        made = workgroup_mma(op, (tile[0], tile[1], tile[2]), grid)
        copy = _MAKERS[operand](made, gmem_stride(operand, order), kind)
        copy.block.messages(ANY_TARGET)
        reorder(copy_slots(copy), mma_slots(made, "C" if operand == "D" else operand))
    except CuteError:
        return False
    message = copy.atom.values * SUBGROUP * kind.bits // 8
    return copy.messages == 1 or message % grf_bytes() == 0


def subgroup_share(mma: TiledMma, operand: str) -> tuple[int, ...]:
    """Return the extents of the part of an operand's tile that one subgroup works on.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> subgroup_share(workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")), "A")
    (32, 32)
    """
    tile_m, tile_n, tile_k = mma.tile_mnk
    m, n, k = (size(mode) for mode in mma.atom_layout_mnk)
    shares = {"A": (tile_m // m, tile_k // k), "B": (tile_n // n, tile_k // k)}
    return shares.get(operand, (tile_m // m, tile_n // n))


def in_one_pass(slots: Layout | None, source: Numeric, target: Numeric) -> bool:
    """Tell whether elements are converted and brought to other registers by the same instructions.

    Where they are not, a `Convert` stands before the `Reorder`: see `passes`.
    """
    if slots is None or is_identity(slots) or source == target:
        return False
    return bool(passes(entries(slots), source.bits, target.bits))


def store_reorder(mma: TiledMma, copy: TiledCopy) -> Layout | None:
    """Return the reorder from accumulator order to a copy's, None where nothing moves.

    Conversions keep the numbers of elements, so that values narrower than a byte still lie in the
    order of the accumulator.
    """
    slots = reordered("D", copy, mma, mma_slots(mma, "C"), copy_slots(copy))
    return None if is_identity(slots) else slots


def reordered(
    name: str, copy: TiledCopy, mma: TiledMma, source: Layout, destination: Layout
) -> Layout:
    """Return the reorder between a copy's registers and those of the MMA, refused by name."""
    try:
        return reorder(source, destination)
    except KernelError as error:
        order: Order = "row" if gmem_stride(name[0], "row").index(1) == copy.x_mode else "col"
        raise KernelError(
            "gemm",
            {name: copy.op, "mma": mma.atom, "tile": mma.tile_mnk},
            f"a subgroup's part of {name} differs between {copy.op} and the MMA: {error.condition}",
            _ways_out(mma, name[0], order, copy.value_type, name),
        ) from error


# ------------------------------------------------------------ given copies
# The copies of a GEMM as its caller gives them: tiled copies, atoms or names of atoms.

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
        return given.sent  # what messages do, whatever a tiling says of owners
    atom = _demand_block(operand, get_atom(given) if isinstance(given, str) else given)
    wanted = "store" if operand == "D" else "load"
    way = as_operation(atom).message.op
    if way != wanted:
        raise KernelError(
            "gemm",
            {f"copy_{operand.lower()}": str(given)},
            f"{given} is a {way}, {operand} needs a {wanted}",
            f"name a {wanted}",
        )
    kind = numeric or as_numeric(getattr(mma.atom.op, operand))
    try:
        op = as_operation(atom, kind)
    except DTypeError as error:
        part = f"copy_{operand.lower()}"
        fix = f"name a copy of {kind.bits}-bit elements, or leave {part} out"
        raise KernelError("gemm", {part: str(given)}, error.condition, fix) from error
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


def _demand_block(operand: str, atom: object) -> Block2DOp | CopyAtom | LegacyCopyAtom:
    if isinstance(atom, (Block2DOp, CopyAtom, LegacyCopyAtom)):
        return atom
    raise KernelError(
        "gemm",
        {f"copy_{operand.lower()}": str(atom)},
        f"{atom} is not a block-2D copy",
        'name one, such as "XE_2D_U16x32x16_LD_N", or give make_block_2d_copy_A(mma, strides)',
    )
