"""A tensor of a shape under an encoding: what readers are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

from pycute_xe.dialects.dpas_encoding import DpasEncoding
from pycute_xe.dialects.linear import LinearLayout, dims, is_power
from pycute_xe.dialects.reading import AnyEncoding, parse
from pycute_xe.dialects.triton import DotOperand, Linear
from pycute_xe.dialects.xegpu import XeGpuLayout, XeGpuSlice
from pycute_xe.errors import CoordError, InputError, ShapeError, quoted
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.signatures import shortly, typed, typed_fields
from pycute_xe.typing import is_tuple, shown

__all__ = ["Distributed", "layout_of"]

_MOST_PLACES = 1 << 20
_MOST_LANES = 32

Place = tuple[int, ...]
"""(subgroup, lane, value)."""


@typed_fields
@dataclass(frozen=True)
class Distributed:
    """A tensor of a shape, dealt out as an encoding says. Made by `layout_of`.

    ``subgroup_size`` is the number of lanes, where a layout of XeGPU names fewer: lanes beyond hold
    what lane ``t`` modulo these holds. Law: ``linear(register=v, lane=t, warp=s)`` is the element
    that value ``v`` of lane ``t`` of subgroup ``s`` is. Raises `CuteError` where the encoding does
    not fit the shape or the subgroup.

    >>> from pycute_xe.dialects import layout_of
    >>> C = layout_of("#ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, "
    ...     "opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [4, 1], repCluster = [1, 2]}>",
    ...     (32, 32))
    >>> print(C)
    32x32: 4 subgroups of 16 lanes, 16 values each
    >>> C.element(subgroup=1, lane=3, value=2), C.owners((10, 3))
    ((10, 3), ((1, 3, 2),))
    """

    encoding: Any
    shape: tuple[int, ...]
    subgroup_size: int | None = None

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Deal the tensor out once, so that what does not fit is refused here."""
        if not isinstance(self.encoding, AnyEncoding):
            wrong = f"{type(self.encoding).__name__} is not an encoding"
            given = {"encoding": quoted(self.encoding)}
            raise InputError("layout_of", given, wrong, "read one: dialects.parse(text)")
        if self.subgroup_size is not None:
            self._demand_lanes(self.subgroup_size)
        self.element()

    def _demand_lanes(self, lanes: int) -> None:
        named = self.encoding.lanes if self._is_xegpu else self.lanes
        if type(lanes) is not int or lanes < 1 or lanes % named:
            wrong = (
                f"a subgroup of {shortly(lanes)} lanes is not a multiple of the layout's {named}"
            )
            raise ShapeError("layout_of", {"subgroup_size": lanes}, wrong, "give 16 or 32")
        if lanes != named and (lanes > _MOST_LANES or lanes & (lanes - 1)):
            wrong = f"no subgroup has {lanes} lanes"
            raise ShapeError("layout_of", {"subgroup_size": lanes}, wrong, "give 16 or 32")
        if lanes != named and not self._is_xegpu:
            wrong = f"the layout names all {named} lanes of a subgroup"
            raise ShapeError("layout_of", {"subgroup_size": lanes}, wrong, f"give {named}")

    @property
    def _is_xegpu(self) -> bool:
        return isinstance(self.encoding, (XeGpuLayout, XeGpuSlice))

    @typed
    def widened(self, lanes: int) -> Distributed:
        """Return the tensor in a subgroup of so many lanes, if its layout leaves some of them out.

        Law: lane ``t`` holds what lane ``t`` modulo those of the layout holds. A layout that names
        another number of lanes, which does not divide ``lanes``, or is not of XeGPU, is returned as
        it is. MLIR: ``convert_layout`` of a part of the subgroup.

        >>> from pycute_xe.dialects import layout_of
        >>> text = "#xegpu.layout<lane_layout = [8, 1], lane_data = [1, 1]>"
        >>> layout_of(text, (8, 4)).widened(16).owners((3, 1))
        ((0, 3, 1), (0, 11, 1))
        """
        if self.lanes >= lanes or lanes % self.lanes or not self._is_xegpu:
            return self
        return replace(self, subgroup_size=lanes)

    @cached_property
    def linear(self) -> LinearLayout:
        """The tensor's owners as bases. Raises `ShapeError` for other than powers of two."""
        if self.subgroup_size is not None and self._is_xegpu:
            places = ("lane", "register", "warp")
            return LinearLayout.from_layout(self.ownership, self.shape, places)
        return self.encoding.linear(self.shape)

    @cached_property
    def ownership(self) -> Layout:
        """The layout (lane, value, subgroup) to coordinates.

        Raises `DivisibilityError` where owners are XORs, which ``linear`` says.
        """
        if self._is_xegpu:
            owned = self.encoding.ownership(self.shape)
            copies = (self.subgroup_size or self.encoding.lanes) // self.encoding.lanes
            if copies == 1:
                return owned
            lanes = make_layout(owned[0], Layout(copies, 0))
            return make_layout(lanes, owned[1], owned[2])
        return self.linear.as_coordinates(("lane", "register", "warp"))

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        if self._is_xegpu:
            lanes, values, subgroups = (size(self.ownership[i]) for i in range(3))
            return subgroups, lanes, values
        linear = self.linear
        return linear.size("warp"), linear.size("lane"), linear.size("register")

    @property
    def subgroups(self) -> int:
        """The subgroups of the work-group."""
        return self._sizes[0]

    @property
    def lanes(self) -> int:
        """The work-items of a subgroup."""
        return self._sizes[1]

    @property
    def values(self) -> int:
        """The values of a work-item."""
        return self._sizes[2]

    @typed
    def element(self, subgroup: int = 0, lane: int = 0, value: int = 0) -> Place:
        """Return the coordinate of a work-item's value. Raises `CoordError` for what is not."""
        if self._is_xegpu:
            asked = {"subgroup": subgroup, "lane": lane, "value": value}
            for (name, at), count in zip(asked.items(), self._sizes, strict=True):
                if type(at) is not int or not 0 <= at < count:
                    wrong = f"{name} counts from 0 to {count - 1}"
                    raise CoordError("element", {name: at}, wrong, "name a place that exists")
            return padded(self.ownership(lane, value, subgroup), len(self.shape))
        return self.linear(warp=subgroup, lane=lane, register=value)

    # ------------------------------------------------------- the same values, other coordinates

    @typed
    def reshape(self, shape: tuple[int, ...]) -> Distributed:
        """Return the tensor with its elements, counted row by row, in another shape.

        Law: element ``i``, counted with the last dimension fastest, has the same owners before and
        after. Raises `ShapeError` for another number of elements, and for extents that are not
        powers of two. MLIR: ``tt.reshape``.

        >>> from pycute_xe.dialects import layout_of
        >>> row = "#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [16], warpsPerCTA = [2], "
        >>> flat = layout_of(row + "order = [0]}>", (128,))
        >>> flat.reshape((8, 16)).owners((1, 3)), flat.owners((19,))
        (((0, 4, 3),), ((0, 4, 3),))
        """
        extents = tuple(dims(shape).values())
        if not extents or not all(map(is_power, extents)) or prod(extents) != prod(self.shape):
            wrong = f"{quoted(shape)} does not have the {prod(self.shape)} elements of the tensor, "
            wrong += "in extents that are powers of two"
            raise ShapeError("reshape", {"tensor": self}, wrong, f"write reshape({self.shape})")

        def moved(vector: Place) -> Place:
            index = 0
            for entry, extent in zip(vector, self.shape, strict=True):
                index = index * extent + entry
            out = list[int]()
            for extent in reversed(extents):
                index, entry = divmod(index, extent)
                out.append(entry)
            return tuple(reversed(out))

        return self._of_bases(moved, extents)

    @typed
    def trans(self, order: tuple[int, ...] | None = None) -> Distributed:
        """Return the tensor with its dimensions in another order; reversed without one.

        Law: dimension ``k`` of the result is dimension ``order[k]`` of this tensor. Raises
        `ShapeError` for what is not a permutation, and for extents that are not powers of two.
        MLIR: ``tt.trans``.

        >>> from pycute_xe.dialects import layout_of
        >>> text = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
        >>> layout_of(text, (8, 16)).trans().owners((5, 2))
        ((0, 5, 2),)
        """
        axes = tuple(reversed(range(len(self.shape)))) if order is None else tuple(order)
        if sorted(axes) != list(range(len(self.shape))):
            wrong = f"{quoted(order)} does not name each dimension once"
            fix = f"write trans({tuple(reversed(range(len(self.shape))))})"
            raise ShapeError("trans", {"tensor": self}, wrong, fix)
        extents = tuple(self.shape[axis] for axis in axes)
        return self._of_bases(lambda vector: tuple(vector[axis] for axis in axes), extents)

    @typed
    def broadcast(self, shape: tuple[int, ...]) -> Distributed:
        """Return the tensor with its elements repeated along dimensions of extent 1.

        Each work-item has in its registers all repetitions of an element that it owns: nothing
        moves. Law: what owns ``c`` owns, before, ``c`` with zeros along these dimensions. Raises
        `ShapeError` for another extent in a dimension whose extent is not 1, and for extents that
        are not powers of two. MLIR: ``tt.broadcast``, which leaves the choice of registers to the
        encoding.

        >>> from pycute_xe.dialects import layout_of
        >>> text = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>"
        >>> layout_of(text, (16, 1)).broadcast((16, 4)).owners((3, 2))
        ((0, 3, 2),)
        """
        extents = tuple(dims(shape).values())
        pairs = tuple(zip(extents, self.shape, strict=False))
        fits = len(extents) == len(self.shape) and all(a == b or b == 1 for a, b in pairs)
        if not fits or not all(map(is_power, extents)):
            wrong = f"{quoted(shape)} does not repeat a tensor {self.shape} along extents of 1"
            raise ShapeError(
                "broadcast", {"tensor": self}, wrong, "give the other extents as they are"
            )
        new = [
            tuple(1 << bit if i == dim else 0 for i in range(len(extents)))
            for dim, (extent, before) in enumerate(pairs)
            for bit in range(extent.bit_length() - 1 if before == 1 else 0)
        ]
        return self._of_bases(lambda vector: vector, extents, new)

    def _of_bases(
        self, moved: Callable[[Place], Place], shape: Place, registers: Iterable[Place] = ()
    ) -> Distributed:
        """Return the tensor of moved bases, and of more registers."""
        bases = {name: [moved(v) for v in basis] for name, basis in self.linear.bases}
        bases["register"] = [*bases.get("register", []), *registers]
        return Distributed(Linear(LinearLayout(bases, dims(shape))), shape)

    @property
    def cut(self) -> str:
        """What one instruction of DPAS takes and the tensor has not, in words; empty if none.

        Lanes outside of the tensor own copies, which a product would add again.
        """
        encoding = self.encoding
        match encoding:
            case DotOperand(parent=DpasEncoding() as dpas):
                part, wanted = encoding.part, dpas.instruction(encoding.part)
            case DpasEncoding():
                part, wanted = "C", encoding.instruction("C")
            case _:
                return ""
        first = len(self.shape) - 2
        for dim, (extent, least) in enumerate(zip(self.shape[first:], wanted, strict=True), first):
            if extent < least:
                tile = "x".join(map(str, wanted))
                words = f"one instruction takes {least}: its {part} is {tile}"
                return f"dimension {dim} has extent {extent}, and {words}"
        return ""

    @cached_property
    def by_element(self) -> Mapping[Place, tuple[Place, ...]]:
        """All (subgroup, lane, value) that own each element, by its coordinate.

        Raises `ShapeError` for more than a million of them.
        """
        places = self.subgroups * self.lanes * self.values
        if places > _MOST_PLACES:
            wrong = f"{places:,} places are more than are looked at one by one"
            raise ShapeError("layout_of", {"tensor": self}, wrong, "ask of a smaller tensor")
        owners: dict[Place, list[Place]] = {}
        for subgroup in range(self.subgroups):
            for lane in range(self.lanes):
                for value in range(self.values):
                    element = self.element(subgroup, lane, value)
                    owners.setdefault(element, []).append((subgroup, lane, value))
        return {element: tuple(places) for element, places in owners.items()}

    @typed
    def owners(self, element: Place) -> tuple[Place, ...]:
        """Return all (subgroup, lane, value) that own an element."""
        return self.by_element.get(tuple(element), ())

    def __str__(self) -> str:
        """The shape, and how many own how much."""
        extents = "x".join(map(str, self.shape))
        subgroups = f"{self.subgroups} subgroup{'s'[: self.subgroups != 1]}"
        return f"{extents}: {subgroups} of {self.lanes} lanes, {self.values} values each"


def padded(point: Any, rank: int) -> Place:
    """Return what a layout of coordinates gives as a coordinate of a rank.

    >>> padded(0, 2), padded((3,), 2), padded((3, 1), 2)
    ((0, 0), (3, 0), (3, 1))
    """
    entries: tuple[int, ...] = point if is_tuple(point) else (point,)
    return (*entries, *(0,) * rank)[:rank]


@typed
def layout_of(
    encoding: Any,
    shape: tuple[int, ...],
    aliases: Mapping[str, str] | None = None,
    *,
    subgroup_size: int | None = None,
) -> Distributed:
    """Return a tensor of a shape under an encoding, its text or a `LinearLayout`.

    ``subgroup_size`` is the number of lanes where a layout of XeGPU, as one of ``lane_layout =
    [8, 1]``, takes part of a subgroup: further lanes hold copies. Readers take the tensor:
    ``explain``, ``draw``, ``diff``, ``feeds``, ``verify``. Raises as `parse` and the encoding do.

    >>> text = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
    >>> print(layout_of(text, (8, 16)).ownership)
    (16,8,1):(1@1,1@0,0)
    """
    if isinstance(encoding, str):
        encoding = parse(encoding, aliases)
    elif aliases is not None:
        given = {"aliases": quoted(aliases)}
        raise InputError("layout_of", given, "only text has aliases", "leave aliases out")
    if isinstance(encoding, LinearLayout):
        if encoding.outs != tuple(dims(shape).items()):
            wrong = f"the bases are of a tensor {'x'.join(map(str, encoding.shape))}"
            raise ShapeError("layout_of", {"shape": shape}, wrong, "give its shape")
        encoding = Linear(encoding)
    return Distributed(encoding, shape, subgroup_size)
