"""Layouts of the XeGPU dialect of MLIR: a tensor dealt out to subgroups, instructions and lanes.

Each level has a tile (``sg_data``, ``inst_data``, ``lane_data``) and, but for instructions, a grid
of owners (``sg_layout``, ``lane_layout``). Where tile times grid is less than what is dealt out,
the grid goes round; where it is more, owners that lie outside own what those inside do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from pycute_xe.dialects.digits import Digit, layout_of_digits
from pycute_xe.dialects.linear import LinearLayout
from pycute_xe.errors import DivisibilityError, InputError, RankError, ShapeError, quoted
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed_fields
from pycute_xe.typing import shown

__all__ = ["XeGpuLayout", "XeGpuSlice"]

_GRIDS = ("sg_layout", "sg_data", "inst_data", "lane_layout", "lane_data")
_MOST = 1 << 24


@dataclass
class _Dealt:
    """The digits of lanes, values and subgroups, the fastest first."""

    lanes: list[Digit]
    values: list[Digit]
    subgroups: list[Digit]


def _deal(what: str, whole: int, tile: int, owners: int) -> tuple[int, int, int]:
    """Return how many owners differ, how many are copies, and how often they go round."""
    if whole % tile == 0:
        tiles = whole // tile
        if tiles % owners == 0:
            return owners, 1, tiles // owners
        if owners % tiles == 0:
            return tiles, owners // tiles, 1
    wrong = f"{what}: {owners} owners of {tile} elements do not go round {whole} evenly"
    raise DivisibilityError("#xegpu.layout", {what: whole}, wrong, "let one divide the other")


@typed_fields
@dataclass(frozen=True)
class XeGpuLayout:
    """``#xegpu.layout``: who owns what of a tensor, by subgroup, instruction and lane.

    ``order`` names the dimensions along which owners count, the fastest first; the last dimension
    where it is left out. Without ``sg_data`` it is the tensor divided among the grid. Law: owner
    ``o`` of a grid has, in round ``r``, the tile at ``(r * grid + o) * tile``, modulo the extent.
    Raises `InputError` for an incomplete layout, `RankError` for lists of other ranks. MLIR:
    ``LayoutAttr``.

    >>> layout = XeGpuLayout(sg_layout=(2, 1), sg_data=(8, 16), lane_layout=(1, 16),
    ...                      lane_data=(1, 1))
    >>> print(layout.ownership((32, 16)))
    (16,(8,2),2):(1@1,(1@0,16@0),8@0)
    """

    sg_layout: tuple[int, ...] | None = None
    sg_data: tuple[int, ...] | None = None
    inst_data: tuple[int, ...] | None = None
    lane_layout: tuple[int, ...] | None = None
    lane_data: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Refuse tiles without grids, and grids of lanes without tiles; other ranks."""
        given = {name: getattr(self, name) for name in _GRIDS if getattr(self, name) is not None}
        if not given.keys() & {"sg_layout", "inst_data", "lane_layout"}:
            raise self._refusal("it lacks sg_layout, inst_data and lane_layout", "write one")
        if "sg_data" in given and "sg_layout" not in given:
            raise self._refusal("sg_data stands without sg_layout", "write both")
        if ("lane_data" in given) != ("lane_layout" in given):
            raise self._refusal("lane_layout and lane_data need each other", "write both")
        if self.order is not None and not given.keys() & {"sg_layout", "lane_layout"}:
            raise self._refusal("order stands without a grid", "leave it out")
        for name, sizes in given.items():
            if not sizes or any(one < 1 for one in sizes) or prod(sizes) > _MOST:
                raise self._refusal(f"{name} cannot be {list(sizes)}", "give extents from 1 on")
            if len(sizes) != self.rank:
                wrong = f"{name} = {list(sizes)} has another rank than {self.rank}"
                raise RankError("#xegpu.layout", {name: list(sizes)}, wrong, "give equal ranks")
        if self.order is not None and sorted(self.order) != list(range(self.rank)):
            fix = "name each dimension once, the fastest first"
            raise self._refusal(f"order cannot be {list(self.order)}", fix)

    def _refusal(self, wrong: str, fix: str) -> InputError:
        return InputError("#xegpu.layout", {"text": str(self)}, wrong, fix)

    @property
    def rank(self) -> int:
        """The rank of the tensors."""
        return len(next(g for g in map(self._field, _GRIDS) if g is not None))

    def _field(self, name: str) -> tuple[int, ...] | None:
        return getattr(self, name)

    @property
    def lanes(self) -> int:
        """The lanes of a subgroup; 1 where the layout does not deal out to lanes."""
        return prod(self.lane_layout or (1,))

    @property
    def subgroups(self) -> int:
        """The subgroups; 1 where the layout does not deal out to subgroups."""
        return prod(self.sg_layout or (1,))

    def ownership(self, shape: tuple[int, ...]) -> Layout:
        """Return the layout (lane, value, subgroup) to coordinates of a tensor.

        Values count along the last dimension of a lane's share of an instruction, instruction by
        instruction, round by round, each by rows. Raises `DivisibilityError` where a level does
        not deal out evenly, `RankError` for another rank.
        """
        return _layout(self._dealt(shape), tuple(range(self.rank)))

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """Return who owns what as bases; subgroups are warps, values registers.

        Raises as `ownership` does, and `ShapeError` for extents that are not powers of two.
        """
        return _linear(self.ownership(shape), shape)

    def _dealt(self, shape: tuple[int, ...]) -> _Dealt:
        extents = _demand_extents(shape, self.rank)
        order = self.order or tuple(reversed(range(self.rank)))
        rounds, instructions, shares = list[Digit](), list[Digit](), list[Digit]()
        lanes, subgroups = dict[int, list[Digit]](), dict[int, list[Digit]]()
        for dim in reversed(range(self.rank)):
            whole, owners = extents[dim], self.sg_layout[dim] if self.sg_layout else 1
            tile = self.sg_data[dim] if self.sg_data else self._share(whole, owners)
            differ, copies, times = _deal("sg_layout", whole, tile, owners)
            subgroups[dim] = [(differ, tile, dim), (copies, 0, dim)]
            rounds.append((times, differ * tile, dim))
            one = self.inst_data[dim] if self.inst_data else tile
            if tile % one:
                wrong = f"instructions of {one} do not divide a subgroup's {tile}"
                given = {"inst_data": one, "sg_data": tile}
                raise DivisibilityError("#xegpu.layout", given, wrong, "let it divide")
            instructions.append((tile // one, one, dim))
            owners, part = (
                (self.lane_layout[dim], self.lane_data[dim])
                if self.lane_layout and self.lane_data
                else (1, one)
            )
            differ, copies, times = _deal("lane_layout", one, part, owners)
            lanes[dim] = [(differ, part, dim), (copies, 0, dim)]
            shares += [(part, 1, dim), (times, differ * part, dim)]
        return _Dealt(
            [digit for dim in order for digit in lanes[dim]],
            shares + instructions + rounds,
            [digit for dim in order for digit in subgroups[dim]],
        )

    def _least(self) -> tuple[int, ...]:
        """The tensor that each level deals out in one round."""
        extents = list[int]()
        for dim in range(self.rank):
            lanes = 1
            if self.lane_layout and self.lane_data:
                lanes = self.lane_layout[dim] * self.lane_data[dim]
            tile = self.inst_data[dim] if self.inst_data else lanes
            if self.sg_layout:
                tile = self.sg_layout[dim] * (self.sg_data[dim] if self.sg_data else tile)
            extents.append(tile)
        return tuple(extents)

    def _share(self, whole: int, owners: int) -> int:
        if whole % owners:
            wrong = f"{owners} subgroups do not divide {whole} elements, and sg_data is left out"
            given = {"sg_layout": owners, "extent": whole}
            raise DivisibilityError("#xegpu.layout", given, wrong, "give sg_data")
        return whole // owners

    def __str__(self) -> str:
        """The text of the attribute."""
        fields = [
            f"{name} = {list(sizes)}"
            for name in (*_GRIDS, "order")
            if (sizes := self._field(name)) is not None
        ]
        return f"#xegpu.layout<{', '.join(fields)}>"


@typed_fields
@dataclass(frozen=True)
class XeGpuSlice:
    """``#xegpu.slice``: what remains of a tensor without some dimensions, as after a reduction.

    Law: the owners of the parent; those that differ only along a dropped dimension own the same.
    Raises `InputError` for other dimensions. MLIR: ``SliceAttr``.

    >>> parent = XeGpuLayout(lane_layout=(1, 16), lane_data=(1, 1))
    >>> print(XeGpuSlice(parent, (1,)).ownership((8,)))
    (16,8,1):(0,1@0,0)
    """

    parent: Any
    dims: tuple[int, ...]

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Refuse dimensions that the parent does not have, and to drop them all."""
        if not isinstance(self.parent, (XeGpuLayout, XeGpuSlice)):
            wrong = f"its parent is {type(self.parent).__name__}"
            raise InputError(
                "#xegpu.slice", {"parent": quoted(self.parent)}, wrong, "give a layout"
            )
        inside = all(0 <= dim < self.parent.rank for dim in self.dims)
        if not self.dims or not inside or len(set(self.dims)) != len(self.dims):
            wrong = f"dims cannot be {list(self.dims)}: the parent has rank {self.parent.rank}"
            raise InputError("#xegpu.slice", {"dims": list(self.dims)}, wrong, "name some once")
        if len(self.dims) == self.parent.rank:
            wrong = "no dimension remains"
            raise InputError("#xegpu.slice", {"dims": list(self.dims)}, wrong, "keep one")

    @property
    def rank(self) -> int:
        """The rank of the tensors."""
        return self.parent.rank - len(self.dims)

    @property
    def lanes(self) -> int:
        """The lanes of a subgroup, as in the parent."""
        return self.parent.lanes

    @property
    def subgroups(self) -> int:
        """The subgroups, as in the parent."""
        return self.parent.subgroups

    def ownership(self, shape: tuple[int, ...]) -> Layout:
        """Return the layout (lane, value, subgroup) to coordinates of a tensor.

        Raises as ``ownership`` of the parent does.
        """
        kept = [dim for dim in range(self.parent.rank) if dim not in self.dims]
        return _layout(self._dealt(shape), tuple(range(len(kept))))

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """Return who owns what as bases. Raises as ``linear`` of the parent does."""
        return _linear(self.ownership(shape), shape)

    def _dealt(self, shape: tuple[int, ...]) -> _Dealt:
        extents = _demand_extents(shape, self.rank)
        kept = [dim for dim in range(self.parent.rank) if dim not in self.dims]
        whole = self._whole(dict(zip(kept, extents, strict=True)))
        dealt: _Dealt = self.parent._dealt(whole)

        def dropped(digits: Iterable[Digit], copies: bool) -> list[Digit]:
            return [
                (n, step, kept.index(dim)) if dim in kept else (n if copies else 1, 0, 0)
                for n, step, dim in digits
            ]

        return _Dealt(
            dropped(dealt.lanes, True), dropped(dealt.values, False), dropped(dealt.subgroups, True)
        )

    def _whole(self, kept: dict[int, int]) -> tuple[int, ...]:
        """The smallest tensor of the parent that the grids deal out without a second round."""
        grid: tuple[int, ...] = self.parent._least()
        return tuple(kept[dim] if dim in kept else grid[dim] for dim in range(self.parent.rank))

    def _least(self) -> tuple[int, ...]:
        grid = self.parent._least()
        return tuple(grid[dim] for dim in range(len(grid)) if dim not in self.dims)

    def __str__(self) -> str:
        """The text of the attribute."""
        return f"#xegpu.slice<{self.parent}, dims = {list(self.dims)}>"


def _demand_extents(shape: Any, rank: int) -> tuple[int, ...]:
    extents = cast("tuple[Any, ...]", tuple(shape) if type(shape) in (tuple, list) else ())
    if not extents or any(type(e) is not int or e < 1 for e in extents):
        wrong = f"{quoted(shape)} is not a tensor's shape"
        raise ShapeError("#xegpu.layout", {"shape": quoted(shape)}, wrong, "give (32, 32)")
    if len(extents) != rank:
        wrong = f"the tensor has rank {len(extents)}, and the layout rank {rank}"
        raise RankError("#xegpu.layout", {"shape": quoted(shape)}, wrong, f"give {rank} extents")
    return extents


def _layout(dealt: _Dealt, dims: tuple[int, ...]) -> Layout:
    parts = dealt.lanes, dealt.values, dealt.subgroups
    return layout_of_digits([(n, step, dims[dim]) for n, step, dim in part] for part in parts)


def _linear(ownership: Layout, shape: tuple[int, ...]) -> LinearLayout:
    return LinearLayout.from_layout(ownership, shape, ("lane", "register", "warp"))
