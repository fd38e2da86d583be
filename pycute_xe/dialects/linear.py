"""Layouts that are linear over the field of two elements, as Triton describes ownership.

An input is a place: a register, a lane, a warp, a block. An output is a coordinate of a tensor.
Each bit of an input has a basis, the coordinate to which it leads alone; others are XORs of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from pycute_xe.algebra import coalesce
from pycute_xe.basis import Basis
from pycute_xe.composed import ComposedLayout
from pycute_xe.dialects.digits import Digit, layout_of_digits
from pycute_xe.dialects.elimination import Solver
from pycute_xe.errors import CoordError, DivisibilityError, RankError, ShapeError, quoted
from pycute_xe.f2 import F2, F2Layout, as_f2
from pycute_xe.int_tuple import leaves
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.typing import is_tuple, shown

__all__ = ["PLACES", "LinearLayout", "dims", "is_power"]

PLACES = ("register", "lane", "warp", "block")
"""The input dimensions of a distributed tensor, the innermost first."""

Vector = tuple[int, ...]


def is_power(value: object) -> bool:
    """Tell whether a value is an integer that is a power of two.

    >>> [n for n in range(9) if is_power(n)]
    [1, 2, 4, 8]
    """
    return type(value) is int and value > 0 and value & (value - 1) == 0


def dims(shape: Sequence[int]) -> dict[str, int]:
    """Name the dimensions of a tensor as Triton does.

    >>> dims((32, 16))
    {'dim0': 32, 'dim1': 16}
    """
    return {f"dim{i}": extent for i, extent in enumerate(shape)}


@typed_fields
@dataclass(frozen=True)
class LinearLayout:
    """Who owns what of a tensor: for each bit of register, lane, warp and block, a coordinate.

    ``bases`` has for each input dimension, by name, the coordinates of its bits, the lowest first;
    ``outs`` the output dimensions, by name, and their extents, powers of two. Both are mappings or
    pairs. Without ``outs`` these are ``dim0``, ``dim1``, … and as large as the bases reach.
    Law: ``L(x ^ y) == L(x) ^ L(y)``, bit by bit of inputs and coordinates. Units: elements.
    Raises `ShapeError` where bases or extents have another form, `CoordError` for a basis outside
    of the extents. C++: ``LinearLayout`` of Triton.

    >>> L = LinearLayout({"register": [[1, 0], [2, 0]], "lane": [[0, 1], [0, 2], [4, 0]]})
    >>> L(register=3, lane=5), L.shape
    ((7, 1), (8, 4))
    >>> print(L)
    #ttg.linear<{register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [4, 0]]}>
    """

    bases: Any
    outs: Any = None

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Bring bases and extents into one form and check them."""
        object.__setattr__(self, "bases", _read_bases(self.bases))
        vectors = [vector for _, basis in self.bases for vector in basis]
        object.__setattr__(self, "outs", _read_outs(self.outs, vectors))
        for name, basis in self.bases:
            for vector in basis:
                self._demand_inside(name, vector)

    def _demand_inside(self, name: str, vector: Vector) -> None:
        if len(vector) != len(self.outs):
            wrong = f"basis {list(vector)} of {name} has {len(vector)} coordinates, and the layout "
            wrong += f"{len(self.outs)} output dimensions"
            raise RankError("LinearLayout", {name: list(vector)}, wrong, "give one for each")
        for entry, (out, extent) in zip(vector, self.outs, strict=True):
            if not 0 <= entry < extent:
                wrong = f"basis {list(vector)} of {name} leaves {out}, which has extent {extent}"
                raise CoordError("LinearLayout", {name: list(vector)}, wrong, "enlarge outs")

    @property
    def ins(self) -> tuple[str, ...]:
        """The names of the input dimensions."""
        return tuple(name for name, _ in self.bases)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the output dimensions."""
        return tuple(extent for _, extent in self.outs)

    @typed
    def basis(self, name: str) -> tuple[Vector, ...]:
        """Return the bases of an input dimension; none where it has no bits or does not occur."""
        return dict(self.bases).get(name, ())

    @typed
    def size(self, name: str) -> int:
        """Return the extent of an input dimension: two to the number of its bases."""
        return 1 << len(self.basis(name))

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The bases as flat offsets, the first output dimension fastest, input by input."""
        return tuple(self.flat(vector) for _, basis in self.bases for vector in basis)

    @typed
    def flat(self, coordinate: Sequence[int]) -> int:
        """Return a coordinate as one number, the first dimension fastest.

        >>> LinearLayout({"lane": [[1, 0], [0, 1]]}, {"dim0": 8, "dim1": 2}).flat((3, 1))
        11
        """
        total, step = 0, 1
        for entry, extent in zip(coordinate, self.shape, strict=True):
            total, step = total + entry * step, step * extent
        return total

    @typed
    def coordinate(self, flat: int) -> Vector:
        """Return the coordinate of a flat offset; the inverse of `flat`."""
        entries: list[int] = []
        for extent in self.shape:
            flat, entry = divmod(flat, extent)
            entries.append(entry)
        return tuple(entries)

    @typed
    def at(self, flat: int) -> int:
        """Return the flat offset of a flat input, whose first dimension counts fastest."""
        total = 0
        for bit, column in enumerate(self.columns):
            total ^= column if flat >> bit & 1 else 0
        return total

    def __call__(self, **inputs: int) -> Vector:
        """Return the coordinate of a place; what is not named is zero.

        Raises `CoordError` for a place that does not exist.
        """
        flat, shift = 0, 0
        for name, basis in self.bases:
            value = inputs.pop(name, 0)
            if type(value) is not int or not 0 <= value < 1 << len(basis):
                wrong = f"{name} counts from 0 to {(1 << len(basis)) - 1}"
                raise CoordError("LinearLayout", {name: value}, wrong, "name a place that exists")
            flat, shift = flat | value << shift, shift + len(basis)
        if any(inputs.values()):
            wrong = f"its input dimensions are {', '.join(self.ins)}"
            raise CoordError("LinearLayout", inputs, wrong, "name one of these")
        return self.coordinate(self.at(flat))

    # ------------------------------------------------------- what it is like

    @cached_property
    def _solver(self) -> Solver:
        return Solver(self.columns)

    @property
    def is_surjective(self) -> bool:
        """Whether every element has an owner."""
        return 1 << self._solver.rank == _product(self.shape)

    @property
    def is_injective(self) -> bool:
        """Whether no element has two owners."""
        return not self._solver.dependent

    @typed
    def spare(self, name: str) -> tuple[int, ...]:
        """Return the bits of an input dimension that lead nowhere new: copies of other places.

        >>> LinearLayout({"lane": [[1], [0]], "warp": [[1], [2]]}).spare("warp")
        (0,)
        """
        start = 0
        for one, basis in self.bases:
            if one == name:
                bits = range(start, start + len(basis))
                return tuple(bit - start for bit in self._solver.dependent if bit in bits)
            start += len(basis)
        return ()

    # ------------------------------------------------------ layouts from layouts

    @typed
    def compose(self, outer: LinearLayout) -> LinearLayout:
        """Return ``outer`` after this layout.

        Law: ``L.compose(R)(x) == R(L(x))``. Raises `ShapeError` where the output dimensions of this
        one are not the input dimensions of ``outer``, or larger. C++: ``compose``.

        >>> L = LinearLayout({"lane": [[1], [2]]}, {"offset": 4})
        >>> print(L.compose(LinearLayout({"offset": [[0, 1], [1, 0]]})))
        #ttg.linear<{lane = [[0, 1], [1, 0]]}>
        """
        wrong = ""
        for name, extent in self.outs:
            if name not in outer.ins:
                wrong = f"{name} is not an input of the outer layout"
            elif extent > outer.size(name):
                wrong = f"{name} has extent {extent}, and the outer layout takes {outer.size(name)}"
        if wrong:
            given = {"inner": self, "outer": outer}
            raise ShapeError("compose", given, wrong, "compose what fits")
        names = [name for name, _ in self.outs]
        return LinearLayout(
            {
                name: [outer(**dict(zip(names, vector, strict=True))) for vector in basis]
                for name, basis in self.bases
            },
            outer.outs,
        )

    @typed
    def invert(self) -> LinearLayout:
        """Return the layout from coordinates to places.

        Law: ``L.compose(L.invert())`` is the identity. Raises `ShapeError` where an element has two
        owners or none. C++: ``invert``.

        >>> print(LinearLayout({"register": [[2]], "lane": [[1]]}).invert())
        #ttg.linear<{dim0 = [[0, 1], [1, 0]]}>
        """
        if not (self.is_injective and self.is_surjective):
            wrong = "an element has no owner" if self.is_injective else "an element has two owners"
            fix = "use invert_and_compose, which takes any of several owners"
            raise ShapeError("invert", {"L": self}, wrong, fix)
        return self._preimages(identity(dict(self.outs)))

    def _preimages(self, source: LinearLayout) -> LinearLayout:
        """Return a place of this layout for each basis of a layout into the same tensor."""
        places = {name: self.size(name) for name in self.ins}
        frame = identity(places)
        solved: dict[str, list[Vector]] = {}
        for name, basis in source.bases:
            solved[name] = []
            for vector in basis:
                place = self._solver.solve(self.flat(vector))
                if place is None:
                    wrong = f"element {list(vector)} of {name} has no owner in the outer layout"
                    given = {"inner": source, "outer": self}
                    raise ShapeError("invert_and_compose", given, wrong, "cover the tensor")
                solved[name].append(frame.coordinate(place))
        return LinearLayout(solved, places)

    @typed
    def invert_and_compose(self, outer: LinearLayout) -> LinearLayout:
        """Return for each place of this layout a place of ``outer`` that owns the same element.

        Law: ``outer(L.invert_and_compose(outer)(x)) == L(x)``. Where the element has several owners
        in ``outer``: an input dimension with the same bases on both sides is kept as it is, and
        else the lowest place counts. Raises `ShapeError` where the tensor of ``outer`` has other
        dimensions or is smaller, and where the element has no owner. C++: ``invertAndCompose``.

        >>> A = LinearLayout({"register": [[1]], "lane": [[2]]})
        >>> print(A.invert_and_compose(LinearLayout({"register": [[2]], "lane": [[1]]})))
        #ttg.linear<{register = [[0, 1]], lane = [[1, 0]]}>
        """
        inner = self._within(outer)
        same = [name for name in inner.ins if inner.basis(name) == outer.basis(name)]
        kept = _without(outer, same)
        if same and all(kept._solver.solve(c) is not None for c in _without(inner, same).columns):
            return inner._keeping(same, kept, outer)
        return outer._preimages(inner)

    def _within(self, outer: LinearLayout) -> LinearLayout:
        """Return this layout with the output dimensions of another, which may be larger."""
        reach = dict(self.outs)
        larger = all(reach.get(name, extent + 1) <= extent for name, extent in outer.outs)
        if not larger or len(reach) != len(outer.outs):
            wrong = f"one tensor is {_extents(self)}, the other {_extents(outer)}"
            fix = "name the same dimensions, as large in the outer one"
            raise ShapeError("invert_and_compose", {"inner": self, "outer": outer}, wrong, fix)
        order = [list(reach).index(name) for name, _ in outer.outs]
        bases = {name: [[v[i] for i in order] for v in basis] for name, basis in self.bases}
        return LinearLayout(bases, outer.outs)

    def _keeping(self, same: list[str], kept: LinearLayout, outer: LinearLayout) -> LinearLayout:
        """Solve for the other dimensions, where these stay as they are."""
        moved = kept._preimages(_without(self, same))
        sizes = {name: outer.size(name) for name in outer.ins}
        solved: dict[str, list[Vector]] = {}
        for name in self.ins:
            if name in same:
                solved[name] = [
                    tuple(1 << bit if one == name else 0 for one in outer.ins)
                    for bit in range(len(self.basis(name)))
                ]
            else:
                order = [one for one, _ in moved.outs]
                solved[name] = [
                    tuple(vector[order.index(one)] if one in order else 0 for one in outer.ins)
                    for vector in moved.basis(name)
                ]
        return LinearLayout(solved, sizes)

    # ------------------------------------------------ to and from layouts of CuTe

    @typed
    def as_f2(self, places: tuple[str, ...] | None = None) -> F2Layout:
        """Return the layout with one mode for each input dimension and XOR strides.

        Law: ``L.as_f2()(r, l, …) == L.flat(L(register=r, lane=l, …))``. A dimension without bits is
        a mode of extent 1.

        >>> print(LinearLayout({"lane": [[1], [3]]}).as_f2(("lane",)))
        ((2,2)):((F2(1),F2(3)))
        """
        names = self.ins if places is None else places
        shape, stride = list[Any](), list[Any]()
        for name in names:
            columns = [self.flat(vector) for vector in self.basis(name)]
            shape.append((2,) * len(columns) or 1)
            stride.append(tuple(map(F2, columns)) or F2(0))
        return F2Layout(tuple(shape), tuple(stride))

    @typed
    def as_layout(self, places: tuple[str, ...] = ("lane", "register")) -> Layout:
        """Return CuTe's layout: a mode for each of the places, to offsets in the tensor.

        Offsets count elements, the first dimension of the tensor fastest. Without other places it
        is the (work-item, value) layout. Law: it agrees with `as_f2`. Raises `DivisibilityError`
        where places are XORs that no sum of strides makes.

        >>> L = LinearLayout({"register": [[2, 0], [4, 0]], "lane": [[0, 1], [0, 2], [1, 0]]})
        >>> print(L.as_layout())
        ((4,2),4):((8,1),2)
        """
        taken, modes = 0, list[Layout]()
        for name in places:
            columns = [self.flat(vector) for vector in self.basis(name)]
            for column in columns:
                if taken & column:
                    wrong = f"bases of {name} share a bit with others, which carries in a sum"
                    fix = "use as_f2, whose strides are XORs"
                    raise DivisibilityError("as_layout", {"L": self}, wrong, fix)
                taken |= column
            mode = Layout((2,) * len(columns), tuple(columns)) if columns else Layout(1, 0)
            modes.append(coalesce(mode))
        return Layout(tuple(one.shape for one in modes), tuple(one.stride for one in modes))

    @typed
    def as_coordinates(self, places: tuple[str, ...] = ("lane", "register")) -> Layout:
        """Return CuTe's layout: a mode for each of the places, to coordinates in the tensor.

        Law: as `as_layout`, with strides ``E(0)``, ``E(1)``, …. Raises `DivisibilityError` as it
        does, and where a basis steps along two dimensions at once.

        >>> L = LinearLayout({"register": [[2, 0], [4, 0]], "lane": [[0, 1], [0, 2], [1, 0]]})
        >>> print(L.as_coordinates())
        ((4,2),4):((1@1,1@0),2@0)
        """
        self.as_layout(places)
        parts = list[list[Digit]]()
        for name in places:
            parts.append([])
            for vector in self.basis(name):
                along = [dim for dim, entry in enumerate(vector) if entry] or [0]
                if len(along) > 1:
                    wrong = f"basis {list(vector)} of {name} steps along {len(along)} dimensions"
                    fix = "use as_layout, whose offsets are flat"
                    raise DivisibilityError("as_coordinates", {"L": self}, wrong, fix)
                parts[-1].append((2, vector[along[0]], along[0]))
        return layout_of_digits(parts)

    @classmethod
    @typed
    def from_layout(
        cls,
        layout: Layout | ComposedLayout | F2Layout,
        shape: Sequence[int],
        places: tuple[str, ...] = ("lane", "register"),
    ) -> LinearLayout:
        """Return a thread-value layout of CuTe as bases.

        Each top mode of ``layout`` is one of the places. Its offsets count elements of a tensor of
        ``shape``, the first dimension fastest; strides of a basis, ``E(0)`` and ``E(1)``, are
        coordinates. Law: the inverse of `as_layout` and of `as_coordinates`.
        Raises `DivisibilityError` where the layout adds with carries, `ShapeError` for extents that
        are not powers of two.

        >>> atom = Layout.from_str("((2,8),(2,8)):((16,1),(8,32))")
        >>> print(LinearLayout.from_layout(atom, (16, 16)).basis("lane"))
        ((0, 1), (1, 0), (2, 0), (4, 0))
        """
        if len(layout) != len(places):
            wrong = f"it has {len(layout)} modes, and the places are {', '.join(places)}"
            raise RankError("from_layout", {"layout": layout}, wrong, "name a place for each mode")
        bad = [extent for extent in (*leaves(layout.shape), *shape) if not is_power(extent)]
        if bad:
            wrong = f"{bad[0]} is not a power of two"
            raise ShapeError("from_layout", {"layout": layout}, wrong, "pad it to one")
        frame = cls({}, dims(shape))
        if isinstance(layout, Layout):
            layout = _flattened(layout, frame)
        linear = layout if isinstance(layout, F2Layout) else as_f2(layout)
        bases: dict[str, list[Vector]] = {}
        for index, name in enumerate(places):
            reach = 1
            bases[name] = []
            for extent in leaves(linear.shape[index]):
                reach *= extent
            for bit in range(reach.bit_length() - 1):
                coord = tuple(1 << bit if i == index else 0 for i in range(len(places)))
                bases[name].append(_coordinate(frame, linear(coord), layout))
        ordered = sorted(bases, key=lambda one: (PLACES + tuple(bases)).index(one))
        return cls({name: bases[name] for name in ordered}, frame.outs)

    # ------------------------------------------------------------------ text

    def __str__(self) -> str:
        """The text of Triton's attribute."""
        parts = [f"{name} = [{', '.join(map(_row, basis))}]" for name, basis in self.bases]
        return f"#ttg.linear<{{{', '.join(parts)}}}>"

    def __repr__(self) -> str:
        """An expression that evaluates back."""
        return f"LinearLayout({dict(self.bases)!r}, {dict(self.outs)!r})"


def identity(extents: Mapping[str, int]) -> LinearLayout:
    """Return the layout of each dimension onto itself.

    >>> print(identity({"lane": 4, "warp": 2}))
    #ttg.linear<{lane = [[1, 0], [2, 0]], warp = [[0, 1]]}>
    """
    names = list(extents)
    return LinearLayout(
        {
            name: [
                tuple(1 << bit if one == name else 0 for one in names)
                for bit in range(extents[name].bit_length() - 1)
            ]
            for name in names
        },
        extents,
    )


def _row(vector: Vector) -> str:
    return str(list(vector))


def _extents(layout: LinearLayout) -> str:
    return "x".join(map(str, layout.shape)) + f" ({', '.join(name for name, _ in layout.outs)})"


def _product(extents: Iterable[int]) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total


def _without(layout: LinearLayout, names: list[str]) -> LinearLayout:
    kept = {name: basis for name, basis in layout.bases if name not in names}
    return LinearLayout(kept, layout.outs)


def _coordinate(frame: LinearLayout, flat: Any, layout: Any) -> Vector:
    if flat >= _product(frame.shape):
        wrong = f"it reaches offset {flat} of {_product(frame.shape)} elements"
        raise CoordError("from_layout", {"layout": layout}, wrong, "give the tensor's shape")
    return frame.coordinate(flat)


def _flattened(layout: Layout, frame: LinearLayout) -> Layout:
    """Return a layout of coordinates as one of flat offsets."""
    steps = [
        frame.flat([int(i == one) for i in range(len(frame.shape))])
        for one in range(len(frame.shape))
    ]

    def flat(stride: Any) -> Any:
        if is_tuple(stride):
            return tuple(map(flat, stride))
        if not isinstance(stride, Basis):
            return stride
        if len(stride.modes) != 1 or stride.modes[0] >= len(steps):
            wrong = f"{stride} is not a dimension of the tensor"
            raise RankError("from_layout", {"layout": layout}, wrong, "use E(0), E(1), …")
        return stride.value * steps[stride.modes[0]]

    return Layout(layout.shape, flat(layout.stride))


# ------------------------------------------------------------ what is given


def _pairs(given: Any) -> list[tuple[Any, Any]]:
    """The items of a mapping, or pairs as they stand. Raises `TypeError`, `ValueError`."""
    items: Iterable[Any] = cast("Any", given.items()) if isinstance(given, Mapping) else given
    return [(name, value) for name, value in items]


def _read_bases(given: Any) -> tuple[tuple[str, tuple[Vector, ...]], ...]:
    try:
        read = [(name, _vectors(basis)) for name, basis in _pairs(given)]
    except (TypeError, ValueError):
        raise _misshapen(given) from None
    good = all(type(n) is str and all(type(e) is int for v in b for e in v) for n, b in read)
    if not good or len(dict(read)) != len(read):
        raise _misshapen(given)
    return tuple(read)


def _vectors(basis: Iterable[Iterable[Any]]) -> tuple[Vector, ...]:
    return tuple(tuple(vector) for vector in basis)


def _misshapen(given: Any) -> ShapeError:
    wrong = "bases are rows of integers for each input dimension, by name, each name once"
    fix = 'LinearLayout({"register": [[1, 0]], "lane": [[0, 1]]})'
    return ShapeError("LinearLayout", {"bases": quoted(given)}, wrong, fix)


def _read_outs(given: Any, vectors: list[Vector]) -> tuple[tuple[str, int], ...]:
    if given is None:
        rank = max(map(len, vectors), default=0)
        reach = [max(v[i] if i < len(v) else 0 for v in vectors) for i in range(rank)]
        return tuple(dims([1 << max(0, entry).bit_length() for entry in reach]).items())
    try:
        read = _pairs(given)
    except (TypeError, ValueError):
        read = list[tuple[Any, Any]]([("", quoted(given))])
    for name, extent in read:
        if type(name) is not str or not is_power(extent):
            wrong = f"extent {quoted(extent)} of {quoted(name)} is not a power of two"
            fix = 'give {"dim0": 32, "dim1": 16}'
            raise ShapeError("LinearLayout", {"outs": quoted(given)}, wrong, fix)
    return tuple(read)
