"""Floor 6: the C++ templates of atoms and their tilings, entered in the table of meanings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.atom.copy_atom import CopyAtom, make_copy_atom
from pycute_xe.atom.linear_op import LinearOp, linear_names
from pycute_xe.atom.mma_atom import MmaAtom, make_mma_atom
from pycute_xe.atom.mma_makers import workgroup_mma
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.cutlass.legacy_name import LegacyCopyName
from pycute_xe.cutlass.reading_meanings import (
    COUNTS,
    MEANINGS,
    Number,
    Slip,
    demand,
    meaning,
    said,
)
from pycute_xe.cutlass.reading_modes import modes_of
from pycute_xe.int_tuple import product_each
from pycute_xe.layout import Layout
from pycute_xe.numeric import Numeric
from pycute_xe.typing import is_tuple

__all__ = ["COUNTS", "MEANINGS", "unwrapped"]

AnyOp = Block2DOp | LinearOp | LegacyCopyName
_OPERATION = "write one, such as XE_LOAD_2D<16,32,32,16>"
_ATOM = "write MMA_Atom<XE_DPAS_TT<8,float,bfloat16_t>>"


@dataclass(frozen=True)
class Traits:
    """A copy operation with what its traits add: modes of the tensor, the type of the values."""

    op: AnyOp
    x_mode: int | None = None
    y_mode: int | None = None
    value_type: Numeric | None = None
    first_is_contiguous: bool = False


@dataclass(frozen=True)
class _Copy:
    """A copy atom with its traits."""

    atom: CopyAnswers
    traits: Traits


def unwrapped(value: Any) -> Any:
    """Return a value as users see it: a number without its wrapper, a copy without its traits.

    >>> unwrapped(Number(8))
    8
    """
    if isinstance(value, Number):
        return value.value
    if isinstance(value, Traits):
        return value.op
    return value.atom if isinstance(value, _Copy) else value


@meaning("MMA_Atom", "MMA_Traits", least=1)
def _(op: Any) -> MmaAtom:
    fix = "write XE_DPAS_TT<8,float,bfloat16_t>"
    return make_mma_atom(demand(0, op, (Dpas, MmaAtom), "an MMA operation", fix))


@meaning("TiledMMA", least=2, most=3)
def _(atom: Any, atoms: Any, tile: Any = (None, None, None)) -> TiledMma:
    demand(0, atom, MmaAtom, "an MMA atom", _ATOM)
    demand(1, atoms, Layout, "a layout", "write Layout<Shape<_8,_4,_1>,Stride<_4,_1,_0>>")
    demand(2, tile, tuple, "a tile", "write Tile<_256,_256,_32> or leave it out")
    return TiledMma(atom, atoms, tile)


@meaning("TiledMMAHelper<>::TiledMMA", least=3)
def _(atom: Any, tile: Any, subgroups: Any) -> TiledMma:
    demand(0, atom, MmaAtom, "an MMA atom", _ATOM)
    demand(1, tile, Layout, "a layout", "write Layout<Shape<_256,_256,_32>>")
    demand(2, subgroups, Layout, "a layout", "write Layout<Shape<_8,_4,_1>,Stride<_4,_1,_0>>")
    return workgroup_mma(atom, cast("Any", product_each(tile.shape)), subgroups)


@meaning("Copy_Traits", least=1, most=5)
def _(op: Any, *rest: Any) -> Traits:
    demand(0, op, (Block2DOp, LinearOp, LegacyCopyName), "a copy operation", _OPERATION)
    if isinstance(op, LegacyCopyName) and len(rest) < 2:
        return Traits(op, first_is_contiguous=bool(rest) and _first_is_one(rest[0]))
    if not rest:
        return Traits(op)
    if not isinstance(op, Block2DOp) or len(rest) < 3:
        condition = f"the arguments after {said(op)} do not fit its traits"
        raise Slip(1, condition, "write Copy_Traits<XE_LOAD_2D<…>,_1,_0,bfloat16_t,Stride<_0,_0>>")
    x, y = (demand(i, rest[i - 1], int, "a mode", "write _0 or _1") for i in (1, 2))
    held = demand(3, rest[2], Numeric, "a type", "write bfloat16_t")
    return Traits(op, x, y, held)


def _first_is_one(strides: Any) -> bool:
    demand(1, strides, tuple, "a tuple of strides", "write Stride<_1,int64_t,int64_t>")
    ones = [i for i, stride in enumerate(strides) if type(stride) is int and stride == 1]
    if ones not in ([0], [1]):
        condition = "not exactly one stride is _1, that of the first or the second mode"
        raise Slip(1, condition, "write Stride<int64_t,_1,int64_t> or Stride<_1,int64_t,int64_t>")
    return ones == [0]


@meaning("Copy_Atom", least=2)
def _(op: Any, value_type: Any) -> _Copy:
    demand(0, op, (Block2DOp, LinearOp, LegacyCopyName, Traits), "a copy operation", _OPERATION)
    held = demand(1, value_type, Numeric, "a type", "write one, such as bfloat16_t")
    traits = op if isinstance(op, Traits) else Traits(op)
    if traits.value_type not in (None, held):
        condition = f"the traits move {traits.value_type.to_cpp()}, the atom {held.to_cpp()}"
        raise Slip(1, condition, "write the same type twice")
    if isinstance(traits.op, LegacyCopyName):
        return _Copy(LegacyCopyAtom(traits.op, held, traits.first_is_contiguous), traits)
    made: Any = make_copy_atom
    return _Copy(made(traits.op, held), traits)


@meaning("TiledCopy", least=3)
def _(copy: Any, layout: Any, tiler: Any) -> TiledCopy:
    demand(0, copy, _Copy, "a copy atom", "write Copy_Atom<XE_LOAD_2D<16,8,16>, bfloat16_t>")
    demand(1, layout, Layout, "a layout", "write Layout<Shape<_16,_8>,Stride<_8,_1>>")
    tile = _extents(tiler)
    atom, traits = copy.atom, copy.traits
    if traits.x_mode is not None or not isinstance(atom, CopyAtom):
        x, y = traits.x_mode or 0, traits.y_mode or 0
        return TiledCopy(atom, layout, tile, x, y)
    found = modes_of(atom, layout, tile)
    if found is None:
        condition = f"the layout does not begin with one block of {atom}"
        raise Slip(1, condition, "write the traits with their modes, Copy_Traits<…,_1,_0,…>")
    return TiledCopy(atom, layout, tile, *found)


def _extents(tiler: Any) -> tuple[int, ...]:
    if is_tuple(tiler) and all(isinstance(mode, (int, Layout)) for mode in tiler):
        if any(isinstance(mode, Layout) and mode != Layout(mode.shape) for mode in tiler):
            raise Slip(
                2, "a mode of the tiler is not contiguous", "write the extents, Shape<_8,_16>"
            )
        modes = (mode.shape if isinstance(mode, Layout) else mode for mode in tiler)
        return tuple(product_each((*modes,)))
    raise Slip(2, f"{said(tiler)} is not a tile", "write Shape<_256,_32>")


def _linear(kind: str) -> Callable[..., LinearOp]:
    def read(source: Any, destination: Any = None) -> LinearOp:
        fix = "write one, such as uint32_t"
        demand(0, source, Numeric, "a type", fix)
        found = source if destination is None else demand(1, destination, Numeric, "a type", fix)
        return LinearOp(kind, source, found)

    return read


for _kind in linear_names():
    meaning(_kind, least=1, most=2)(_linear(_kind))
