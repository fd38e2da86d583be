"""A tensor of a shape under an encoding: what readers are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pycute_xe.dialects.dpas_encoding import DpasEncoding
from pycute_xe.dialects.linear import LinearLayout, dims
from pycute_xe.dialects.reading import AnyEncoding, parse
from pycute_xe.dialects.triton import DotOperand, Linear
from pycute_xe.dialects.xegpu import XeGpuLayout, XeGpuSlice
from pycute_xe.errors import InputError, ShapeError, quoted
from pycute_xe.layout import Layout, size
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.typing import is_tuple, shown

__all__ = ["Distributed", "layout_of"]

_MOST_PLACES = 1 << 20

Place = tuple[int, ...]
"""(subgroup, lane, value)."""


@typed_fields
@dataclass(frozen=True)
class Distributed:
    """A tensor of a shape, dealt out as an encoding says. Made by `layout_of`.

    Law: ``linear(register=v, lane=t, warp=s)`` is the element that value ``v`` of lane ``t`` of
    subgroup ``s`` is. Raises `CuteError` where the encoding does not fit the shape.

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

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Deal the tensor out once, so that what does not fit is refused here."""
        if not isinstance(self.encoding, AnyEncoding):
            wrong = f"{type(self.encoding).__name__} is not an encoding"
            given = {"encoding": quoted(self.encoding)}
            raise InputError("layout_of", given, wrong, "read one: dialects.parse(text)")
        self.element()

    @cached_property
    def linear(self) -> LinearLayout:
        """The tensor's owners as bases. Raises `ShapeError` for other than powers of two."""
        return self.encoding.linear(self.shape)

    @cached_property
    def ownership(self) -> Layout:
        """The layout (lane, value, subgroup) to coordinates.

        Raises `DivisibilityError` where owners are XORs, which ``linear`` says.
        """
        if isinstance(self.encoding, (XeGpuLayout, XeGpuSlice)):
            return self.encoding.ownership(self.shape)
        return self.linear.as_coordinates(("lane", "register", "warp"))

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        if isinstance(self.encoding, (XeGpuLayout, XeGpuSlice)):
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
        if isinstance(self.encoding, (XeGpuLayout, XeGpuSlice)):
            return padded(self.ownership(lane, value, subgroup), len(self.shape))
        return self.linear(warp=subgroup, lane=lane, register=value)

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
    encoding: Any, shape: tuple[int, ...], aliases: Mapping[str, str] | None = None
) -> Distributed:
    """Return a tensor of a shape under an encoding, its text or a `LinearLayout`.

    Readers take it: ``explain``, ``draw``, ``diff``, ``feeds``, ``verify``. Raises as `parse` and
    the encoding do.

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
    return Distributed(encoding, shape)
