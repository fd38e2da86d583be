"""Floor 6: what block-2D copies are told of memory: strides, shape and type of a tensor."""

from __future__ import annotations

from operator import index
from typing import Any

from pycute_xe.errors import DTypeError, KernelError
from pycute_xe.layout import Layout
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.tensor import Tensor
from pycute_xe.typing import is_tuple
from pycute_xe.unknown import Symbolic

__all__ = ["GlobalStride", "demand_blocks", "memory", "memory_type"]

GlobalStride = tuple[Any, ...] | Tensor


def demand_blocks(counts: object, rank: int, sv_layout: object) -> None:
    """Refuse anything but a count of blocks for each mode, and a layout of them."""
    wrong = ""
    if not is_tuple(counts) or not all(type(count) is int and count > 0 for count in counts):
        wrong = "atom_shape is not a tuple of positive integers"
    elif len(counts) != rank:
        wrong = f"atom_shape has {len(counts)} modes, the strides have {rank}"
    elif sv_layout is not None and not isinstance(sv_layout, Layout):
        wrong = f"sv_layout is not a layout but {type(sv_layout).__name__}"
    elif isinstance(sv_layout, Layout) and len(sv_layout) != 2:
        wrong = f"sv_layout has {len(sv_layout)} modes, not (subgroup, message)"
    if wrong:
        fix = "count blocks along each mode, such as (2, 1), and number them by Layout((2, 1))"
        raise KernelError("make_block_2d_copy", {}, wrong, fix)


def _plain(stride: Any) -> Any:
    """A stride as an integer, where it counts as one; names and symbols stay."""
    if isinstance(stride, (str, Symbolic)):
        return stride
    try:
        if not isinstance(stride, bool):
            return index(stride)
    except TypeError:
        pass
    raise KernelError(
        "make_block_2d_copy",
        {"stride": type(stride).__name__},
        "a stride is neither an integer nor a name",
        'give strides such as ("ld", 1) or (1024, 1)',
    )


def memory(gmem: GlobalStride) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    """Return the strides of a tensor, and its shape where it is known.

    Raises `KernelError` for anything but a tensor of two modes or more, or their strides.

    >>> memory(("ld", 1))
    (('ld', 1), None)
    """
    if isinstance(gmem, Tensor):
        layout = gmem.beneath
        if is_tuple(layout.stride) and is_tuple(layout.shape):
            return layout.stride, layout.shape
        gmem = (layout.stride,)
    if not is_tuple(gmem) or len(gmem) < 2:
        raise KernelError(
            "make_block_2d_copy",
            {"gmem": gmem},
            "a block-2D copy needs a tensor of two modes or more, or their strides",
            'give a tensor or strides such as ("ld", 1)',
        )
    return tuple(map(_plain, gmem)), None


def memory_type(
    gmem: GlobalStride, value_type: Numeric | str | None, operand_type: Numeric | str
) -> Numeric:
    """Return the type in memory: as asked for, else the tensor's own, else the operand's.

    Raises `DTypeError` when the tensor holds values of another width than is asked for.

    >>> memory_type(("ld", 1), None, "bf16")
    as_numeric('bf16')
    """
    dtype = getattr(getattr(gmem, "data", None), "dtype", None)
    held = None if dtype is None else as_numeric(getattr(dtype, "name", str(dtype)))
    if value_type is None:
        return held or as_numeric(operand_type)
    asked = as_numeric(value_type)
    if held is not None and held.bits != asked.bits:
        raise DTypeError(
            "make_block_2d_copy",
            {"tensor": held, "value_type": asked},
            f"the tensor holds {held}, {held.bits} bits each, not {asked}",
            f"leave value_type out, or convert the data to {asked} first",
        )
    return asked
