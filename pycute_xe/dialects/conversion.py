"""What it takes to bring a tensor from one layout into another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from pycute_xe.dialects.dpas_encoding import DpasEncoding
from pycute_xe.dialects.elimination import Solver
from pycute_xe.dialects.linear import LinearLayout
from pycute_xe.dialects.tensors import Distributed
from pycute_xe.dialects.triton import DotOperand
from pycute_xe.errors import DTypeError, RankError, ShapeError
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import checked_fields, typed
from pycute_xe.typing import shown

__all__ = ["Conversion", "convert"]

Way = Literal["nothing", "registers", "shuffles", "slm"]


@checked_fields
@dataclass(frozen=True, repr=False)
class Conversion:
    """What a ``convert_layout`` costs. Made by `convert`.

    ``way``: "nothing" where each register stays, "registers" where each work-item has the elements
    that it needs, "shuffles" where its subgroup has them, "slm" where another subgroup does.
    ``moved`` names the places that change, and ``steps`` has for each place of the destination the
    place of the source from which it comes. ``slm_bytes`` is what a work-group stores in shared
    local memory, each element once; ``shuffled`` counts the values of a work-item that come from
    another one.
    """

    src: Distributed
    dst: Distributed
    dtype: Numeric
    way: Way
    moved: tuple[str, ...]
    steps: LinearLayout
    slm_bytes: int
    shuffled: int

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The first line."""
        return f"<Conversion {str(self).partition(chr(10))[0]}>"

    def __str__(self) -> str:
        """The way in words, and the bases that differ."""
        match self.way:
            case "nothing" if not self._differing():
                first = "nothing moves: both are one layout"
            case "nothing":
                first = "nothing moves: each register of dst is the same register of src"
            case "registers" if self._selects:
                first = "registers only: each work-item selects among the elements that it has"
            case "registers":
                first = "registers only: each work-item keeps its elements, in another order"
            case "shuffles":
                first = f"shuffles in each subgroup: {self.shuffled} values of a work-item"
            case "slm":
                first = f"through shared local memory: {self.slm_bytes} bytes of a work-group"
        return "\n".join([first, *self._differing()])

    @property
    def _selects(self) -> bool:
        """Whether a work-item has other elements before, or copies, and not only another order."""
        sides = self.src.linear, self.dst.linear
        bases = [Solver(map(side.flat, side.basis("register"))) for side in sides]
        return any(basis.dependent for basis in bases) or bases[0].rank != bases[1].rank

    def _differing(self) -> list[str]:
        lines = list[str]()
        for place in ("register", "lane", "warp"):
            before, after = self.src.linear.basis(place), self.dst.linear.basis(place)
            if before != after:
                lines.append(f"{place}: {_rows(before)} becomes {_rows(after)}")
        return lines


def _rows(basis: tuple[tuple[int, ...], ...]) -> str:
    return str([list(vector) for vector in basis])


@typed
def convert(src: Distributed, dst: Distributed, dtype: Numeric | str | None = None) -> Conversion:
    """Return what a ``convert_layout`` from one layout of a tensor to another costs.

    Law: ``src(steps(x))`` is the element of place ``x`` of ``dst``. Of several owners in ``src``
    that in the same register counts first, then one in the same work-item, then in the same
    subgroup; the way is the first of these that all places of ``dst`` find. Without a ``dtype`` it
    is one of the width that an operand of DPAS has, else of 32 bits. Where a layout of XeGPU has
    fewer lanes than the other, further lanes hold copies, see `layout_of`.
    Raises `DTypeError` for another width than that, `ShapeError` for tensors of two shapes, for one
    that is smaller than an instruction's operand, and where lanes or subgroups are not as many;
    `RankError` for two ranks. MLIR: ``ttg.convert_layout``.

    >>> from pycute_xe.dialects import layout_of
    >>> blocked = "#ttg.blocked<{sizePerThread = [1, %d], threadsPerWarp = [%d, %d], "
    >>> blocked += "warpsPerCTA = [1, 1], order = [1, 0]}>"
    >>> a, b = (layout_of(blocked % x, (16, 16)) for x in ((1, 1, 16), (16, 16, 1)))
    >>> print(convert(a, b))
    shuffles in each subgroup: 16 values of a work-item
    register: [[1, 0], [2, 0], [4, 0], [8, 0]] becomes [[0, 1], [0, 2], [0, 4], [0, 8]]
    lane: [[0, 1], [0, 2], [0, 4], [0, 8]] becomes [[1, 0], [2, 0], [4, 0], [8, 0]]
    """
    src, dst = _of_one_width(src, dst)
    _demand_like(src, dst)
    kind = _type_of(src, dst, dtype)
    way, steps = _cheapest(src.linear, dst.linear)
    moved = tuple(place for place in steps.ins if not _stays(steps, place))
    shuffled = _shuffled(steps) if way == "shuffles" else 0
    elements = prod(src.shape) if way == "slm" else 0
    nbytes = -(-elements * kind.bits // 8)
    return Conversion(src, dst, kind, way, moved, steps, nbytes, shuffled)


_WAYS: tuple[tuple[Way, tuple[str, ...]], ...] = (
    ("nothing", ("register", "lane", "warp")),
    ("registers", ("lane", "warp")),
    ("shuffles", ("warp",)),
    ("slm", ()),
)
"""Each way with the places that stay, the cheapest first."""


def _cheapest(src: LinearLayout, dst: LinearLayout) -> tuple[Way, LinearLayout]:
    """Return the first way by which all places of ``dst`` find their element, and from where."""
    for way, staying in _WAYS:
        steps = _steps(src, dst, staying)
        if steps is not None:
            return way, steps
    # Raises for an element without an owner in `src`.
    return "slm", dst.invert_and_compose(src)


def _steps(src: LinearLayout, dst: LinearLayout, staying: tuple[str, ...]) -> LinearLayout | None:
    """Return from where places come if some stay as they are; None where these do not suffice.

    A bit of a place that stays leads to one element on each side: what lies between the two must be
    reached by the other places of ``src``. A bit of another place stays, too, where registers alone
    reach what lies between.
    """
    sizes = {name: src.size(name) for name in src.ins}
    if any(dst.size(name) > sizes.get(name, 1) for name in staying):
        return None
    free = _Reach(src, tuple(name for name in src.ins if name not in staying))
    registers = _Reach(src, ("register",))
    solved: dict[str, list[tuple[int, ...]]] = {}
    for name in dst.ins:
        solved[name] = []
        for bit, vector in enumerate(dst.basis(name)):
            wanted, place = dst.flat(vector), None
            if (name != "register" and bit in _bits(src, name)) or name in staying:
                reach = free if name in staying else registers
                place = reach.place(wanted ^ src.flat(src.basis(name)[bit]), {name: 1 << bit})
            if place is None and name not in staying:
                place = free.place(wanted, {})
            if place is None:
                return None
            solved[name].append(place)
    return LinearLayout(solved, sizes)


class _Reach:
    """The elements that some places of a layout reach, and by which of their bits."""

    def __init__(self, layout: LinearLayout, names: tuple[str, ...]) -> None:
        self.names = layout.ins
        self.bits = [(name, bit) for name in names for bit in _bits(layout, name)]
        self.solver = Solver(layout.flat(layout.basis(name)[bit]) for name, bit in self.bits)

    def place(self, element: int, start: Mapping[str, int]) -> tuple[int, ...] | None:
        """Return the place of a flat element beside a start; None where it is out of reach."""
        picked = self.solver.solve(element)
        if picked is None:
            return None
        place = dict.fromkeys(self.names, 0) | dict(start)
        for index, (name, bit) in enumerate(self.bits):
            place[name] |= (picked >> index & 1) << bit
        return tuple(place.values())


def _bits(layout: LinearLayout, name: str) -> range:
    return range(len(layout.basis(name)))


def _of_one_width(src: Distributed, dst: Distributed) -> tuple[Distributed, Distributed]:
    """Return both with as many lanes, where a layout of XeGPU leaves some of the other's out."""
    lanes = max(src.lanes, dst.lanes)
    return src.widened(lanes), dst.widened(lanes)


def _type_of(src: Distributed, dst: Distributed, dtype: Numeric | str | None) -> Numeric:
    """Return the type of the elements, which fills the channels of a DPAS."""
    kind = None if dtype is None else as_numeric(dtype)
    for name, side in (("src", src), ("dst", dst)):
        one = side.encoding
        if isinstance(one, DotOperand) and isinstance(one.parent, DpasEncoding):
            ops = one.parent.ops_per_chan
            kind = kind or as_numeric(f"u{32 // ops}")
            if kind.bits * ops != 32:
                wrong = f"opsPerChan = {ops} of {name} takes {32 // ops}-bit types, not {kind}"
                fix = f"use a type of {32 // ops} bits"
                raise DTypeError("convert", {name: side, "dtype": kind}, wrong, fix)
    return kind or as_numeric("f32")


def _demand_like(src: Distributed, dst: Distributed) -> None:
    given = {"src": src, "dst": dst}
    if len(src.shape) != len(dst.shape):
        wrong = f"src has rank {len(src.shape)}, dst rank {len(dst.shape)}"
        raise RankError("convert", given, wrong, "convert tensors of one shape")
    for dim, (one, other) in enumerate(zip(src.shape, dst.shape, strict=True)):
        if one != other:
            wrong = f"dimension {dim} has extent {one} in src and {other} in dst"
            raise ShapeError("convert", given, wrong, "convert tensors of one shape")
    for name, side in given.items():
        if side.cut:
            fix = "take a larger tensor, or a layout for it that is not of DPAS"
            raise ShapeError("convert", {name: side}, f"{name}: {side.cut}", fix)
    for what, one, other in (
        ("lanes", src.lanes, dst.lanes),
        ("subgroups", src.subgroups, dst.subgroups),
    ):
        if one != other:
            wrong = f"src has {one} {what}, dst {other}: one kernel has one number of {what}"
            raise ShapeError("convert", given, wrong, f"give both {one} {what}")


def _stays(steps: LinearLayout, place: str) -> bool:
    """Whether all of a place comes from itself, and no other place leads there."""
    index = [name for name, _ in steps.outs].index(place) if place in dict(steps.outs) else None
    if index is None:
        return not steps.basis(place)
    for name, basis in steps.bases:
        for bit, vector in enumerate(basis):
            wanted = 1 << bit if name == place else 0
            if vector[index] != wanted:
                return False
    return True


def _shuffled(steps: LinearLayout) -> int:
    """Values of a work-item that come from another lane, for some lane."""
    lane = [name for name, _ in steps.outs].index("lane")
    values = steps.size("register")
    for name in steps.ins:
        stays = [1 << bit if name == "lane" else 0 for bit in _bits(steps, name)]
        if name != "register" and [v[lane] for v in steps.basis(name)] != stays:
            return values
    # Values whose lanes cancel out stay where they are, as the sum of two that go one way.
    return values - (values >> Solver(v[lane] for v in steps.basis("register")).rank)
