"""Floor 6: atoms and their tilings from the lines that CuTe prints of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.atom.copy_atom import CopyAtom
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.cutlass.reading_candidates import copy_printed_so, mma_printed_so
from pycute_xe.cutlass.reading_modes import modes_of
from pycute_xe.errors import InputError, ShapeError
from pycute_xe.int_tuple import leaves
from pycute_xe.layout import Layout
from pycute_xe.typing import is_tuple

__all__ = ["copy_atom", "mma_atom", "tiled_copy", "tiled_mma"]

Lines = dict[str, Any]


def mma_atom(lines: Lines, op: Any) -> MmaAtom:
    """Return the atom of ``print(mma_atom)``, of the operation ``op`` where several print so.

    Raises `CuteError` with the candidates.
    """
    _demand_layouts(lines, "ThrID", "LayoutA_TV", "LayoutB_TV", "LayoutC_TV")
    layouts = (lines["LayoutA_TV"], lines["LayoutB_TV"], lines["LayoutC_TV"])
    return mma_printed_so(lines["ThrID"], lines["Shape_MNK"], layouts, op)


def tiled_mma(lines: Lines, op: Any) -> TiledMma:
    """Return the tiling of ``print(tiled_mma)``; see `mma_atom`."""
    atom = mma_atom(lines, op)
    _demand_layouts(lines, "ThrLayoutVMNK")
    threads = cast("Layout", lines["ThrLayoutVMNK"])
    condition = "ThrLayoutVMNK does not have the modes V, M, N, K, with 16 work-items as V"
    if len(threads) != 4:
        raise ShapeError("print", {"ThrLayoutVMNK": threads}, condition, "paste the whole line")
    shape, stride = threads.shape, threads.stride
    if any(type(d) is not int or d % SUBGROUP for d in leaves(stride[1:])):
        raise ShapeError("print", {"ThrLayoutVMNK": threads}, condition, "paste the whole line")
    subgroups = Layout(shape[1:], _divided(stride[1:]))
    found = TiledMma(atom, subgroups, _permutation(lines["PermutationMNK"]))
    if found.thr_layout_vmnk != threads:
        raise ShapeError("print", {"ThrLayoutVMNK": threads}, condition, "paste the whole line")
    return found


def _divided(stride: Any) -> Any:
    return tuple(map(_divided, stride)) if is_tuple(stride) else stride // SUBGROUP


def _permutation(modes: Any) -> tuple[Any, ...]:
    if is_tuple(modes):
        return modes
    raise ShapeError(
        "print", {"PermutationMNK": modes}, "it is not a tile (M, N, K)", "paste the whole line"
    )


def copy_atom(lines: Lines, op: Any, value_type: Any) -> CopyAnswers:
    """Return the atom of ``print(copy_atom)``; see `mma_atom`, and ``value_type`` of the width."""
    return _copy_atom(lines, op, value_type, lambda _: True)


def _copy_atom(
    lines: Lines, op: Any, value_type: Any, fits: Callable[[CopyAnswers], bool]
) -> CopyAnswers:
    names = ("ThrID", "ValLayoutSrc", "ValLayoutDst", "ValLayoutRef")
    _demand_layouts(lines, *names)
    layouts = tuple(lines[name] for name in names)
    bits = lines["ValueType"]
    if "Kind" not in lines:
        return copy_printed_so(layouts, bits, op, value_type, fits)
    own = _own_operation(lines)
    found = copy_printed_so(layouts, bits, own, value_type, fits)
    if op is not None and copy_printed_so(layouts, bits, op, value_type, fits) != found:
        raise InputError("print", {"op": op}, f"the print names {own} itself", "leave op out")
    return found


def _own_operation(lines: Lines) -> Block2DOp:
    """The operation that the print of a block-2D atom names."""
    width = lines["Width"]
    sizes = (lines["CopyType"], lines["Height"], width, lines.get("BlockWidth", width))
    if not all(type(size) is int for size in sizes):
        fix = "paste the lines as they were printed"
        raise InputError("print", {"sizes": sizes}, "a size is not an integer", fix)
    return Block2DOp(lines["Kind"], *sizes)


def tiled_copy(lines: Lines, op: Any, value_type: Any) -> TiledCopy:
    """Return the tiling of ``print(tiled_copy)``; see `copy_atom`."""
    _demand_layouts(lines, "TiledLayout_TV")
    tile, layout = lines["Tiler_MN"], lines["TiledLayout_TV"]
    if not is_tuple(tile) or not all(type(extent) is int for extent in tile):
        fix = "paste the line Tiler_MN as it was printed"
        raise InputError("print", {"Tiler_MN": tile}, "it is not a tuple of extents", fix)

    def fits(atom: CopyAnswers) -> bool:
        return not isinstance(atom, CopyAtom) or modes_of(atom, layout, tile) is not None

    atom = _copy_atom(lines, op, value_type, fits)
    if not isinstance(atom, CopyAtom):
        return TiledCopy(cast("Any", atom), layout, tile, 1, 0)  # which says why not
    found = modes_of(atom, layout, tile)
    if found is None or found != (lines.get("XMode", found[0]), lines.get("YMode", found[1])):
        raise ShapeError(
            "print",
            {"TiledLayout_TV": layout},
            f"it does not begin with one block of {atom}",
            "paste the print of one tiled copy",
        )
    return TiledCopy(atom, layout, tile, *found)


def _demand_layouts(lines: Lines, *names: str) -> None:
    for name in names:
        if not isinstance(lines[name], Layout):
            raise InputError("print", {name: lines[name]}, "it is not a layout", "write 16:1")
