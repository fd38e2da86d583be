"""Floor 2: the layout, a function from coordinates to offsets given by a shape and its strides.

``Layout(shape, stride)`` maps a coordinate to the inner product of its natural coordinate with the
strides. It is a value: immutable, hashable, compared by shape and stride. Operations that combine
layouts live one floor up, in `pycute_xe.algebra`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from pycute_xe.basis import Basis, E
from pycute_xe.errors import (
    CongruenceError,
    CoordError,
    RankError,
    ShapeError,
    UndecidableError,
)
from pycute_xe.int_tuple import (
    as_coordinate,
    compact_col_major,
    congruent,
    crd2idx,
    flatten_tuple,
    leaves,
    offset_of,
    product,
    rank_of,
    unflatten_tuple,
)
from pycute_xe.int_tuple import depth as tuple_depth
from pycute_xe.notation import cpp_layout, parse_layout
from pycute_xe.typing import Coord, IntTuple, Shape, Stride, is_tuple
from pycute_xe.unknown import Symbolic, adopted, at_most

__all__ = [
    "Layout",
    "append",
    "as_layout",
    "coshape",
    "cosize",
    "depth",
    "dice",
    "flatten",
    "get",
    "group",
    "make_identity_layout",
    "make_layout",
    "make_ordered_layout",
    "pair",
    "prepend",
    "rank",
    "replace",
    "select",
    "shape",
    "size",
    "slice_",
    "slice_and_offset",
    "stride",
    "take",
    "unchecked",
    "unflatten",
]


class Layout:
    """A function from coordinates to offsets: a shape, and a stride for each of its leaves.

    Law: ``L(c) == crd2idx(c, L.shape, L.stride)``. Shapes are positive integers, nested at will;
    strides are integers (elements) or basis elements ``k*E(i)``, nested alike. Any of these
    integers may be symbolic. Without strides the layout is compact, first mode fastest. ``len(L)``
    is the rank and ``L[i]`` a mode. Raises `ShapeError` for leaves that are no extents,
    `CongruenceError` where the two nest differently. C++: ``cute::Layout``.

    >>> L = Layout((4, 8), (8, 1))
    >>> print(L, L(1, 2), L(9), len(L), L[0])
    (4,8):(8,1) 10 10 2 4:8
    >>> L
    Layout((4, 8), (8, 1))
    """

    __slots__ = ("_hash", "shape", "stride")

    shape: Shape
    stride: Stride
    _hash: int

    def __init__(self, shape: Shape, stride: Stride = None) -> None:
        """Check the shape, the strides and that they nest alike."""
        if stride is None:
            shape = _frozen(shape)
            _check_shape(shape, shape)
            stride = compact_col_major(shape)
        elif not _is_valid(shape, stride):
            # Lists, which become tuples, or a mistake, which is then explained.
            shape, stride = _frozen(shape), _frozen(stride)
            _check(shape, stride, shape, stride)
        _set_shape(self, shape)
        _set_stride(self, stride)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: layouts are values."""
        raise AttributeError(f"Layout is immutable; cannot set {name}")

    def __delattr__(self, name: str) -> None:
        """Refuse: layouts are values."""
        raise AttributeError(f"Layout is immutable; cannot delete {name}")

    @classmethod
    def from_str(cls, text: str) -> Layout:
        """Return the layout that CuTe prints so; static integers ``_4`` and blanks may occur.

        Law: ``Layout.from_str(str(L)) == L``. ``(4)`` is the tuple ``(4,)``, which CuTe prints so.
        Raises `InputError` with the column where the text stops being a layout, and as `Layout`
        does. C++: the output of ``print(layout)``.

        >>> Layout.from_str("((2,4),8):((1,16),2)")
        Layout(((2, 4), 8), ((1, 16), 2))
        >>> Layout.from_str("(_4,_8):(1@0,_2@1)")
        Layout((4, 8), (E(0), 2*E(1)))
        """
        return cls(*parse_layout(text))

    def to_cpp(self) -> str:
        """Return the C++ type of this layout, every number static.

        Raises `ShapeError` for a leaf that is no number. C++: ``decltype`` of a static layout.

        >>> Layout((4, 8), (8, 1)).to_cpp()
        'Layout<Shape<_4,_8>,Stride<_8,_1>>'
        """
        return cpp_layout(self.shape, self.stride)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor."""
        return Layout, (self.shape, self.stride)

    def __call__(self, *coord: Coord) -> Any:
        """Return the offset of a coordinate, or the sub-layout where it holds ``None``.

        ``L(i)`` takes one integer for all modes, ``L(i, j)`` one entry for each mode; ``None`` is
        CuTe's ``_`` and keeps its mode: the result is then `slice_`. With basis strides the value
        is a coordinate with every mode that a stride names, zeros included.
        Raises `CoordError` when the coordinate does not fit.

        >>> Layout((4, 8), (8, 1))(2, None)
        Layout((8,), (1,))
        """
        crd: Coord = coord[0] if len(coord) == 1 else coord
        if type(crd) is not int and _has_none(crd):
            return slice_(crd, self)
        index = offset_of(crd, self.shape, self.stride)
        return index if type(index) is int and index else _completed(self.stride, index)

    def __len__(self) -> int:
        """Return the rank: the number of top-level modes."""
        return rank_of(self.shape)

    def __getitem__(self, index: int | slice) -> Layout:
        """Return one mode, or several as a layout of their own."""
        if not is_tuple(self.shape):
            if index in (0, -1):
                return self
            raise RankError("mode", {"layout": self, "index": index}, "the rank is 1", "use [0]")
        try:
            return unchecked(self.shape[index], self.stride[index])
        except (IndexError, TypeError):
            raise RankError(
                "mode",
                {"layout": self, "index": index},
                f"the rank is {len(self)}",
                "use an integer below the rank",
            ) from None

    def __iter__(self) -> Iterator[Layout]:
        """Yield the modes, first to last."""
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Equal shape and equal stride; functions that agree may still be unequal layouts."""
        if isinstance(other, Layout):
            return bool(self.shape == other.shape and self.stride == other.stride)
        return NotImplemented

    def __hash__(self) -> int:
        """Hash of shape and stride, computed once."""
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", hash((self.shape, self.stride)))
            return self._hash

    def __repr__(self) -> str:
        """An expression that evaluates back."""
        return f"Layout({self.shape!r}, {self.stride!r})"

    def __str__(self) -> str:
        """As CuTe prints: ``shape:stride``."""
        return f"{_text(self.shape)}:{_text(self.stride)}"


def _completed(strides: Stride, value: Any) -> Any:
    """Add zeros for the modes that the strides name and the value leaves out; offsets stay."""
    if type(strides) is int:
        return value
    zeros = [Basis(0, d.modes).as_coord() for d in leaves(strides) if isinstance(d, Basis)]
    return sum(zeros, as_coordinate(value)) if zeros else value


def _is_valid(shape: Shape, stride: Stride) -> bool:
    """Tell quickly whether two trees of exact tuples, integers and basis elements make a layout."""
    if type(shape) is int:
        return shape >= 1 and type(stride) in _LEAVES
    if type(shape) is not tuple or type(stride) is not tuple:
        return False
    shapes, strides = cast("tuple[Any, ...]", shape), cast("tuple[Any, ...]", stride)
    if len(shapes) != len(strides):
        return False
    for s, d in zip(shapes, strides, strict=True):
        if type(s) is int:
            if s < 1 or type(d) not in _LEAVES:
                return False
        elif not _is_valid(s, d):
            return False
    return True


_LEAVES = frozenset({int, Basis})


def unchecked(shape: Shape, stride: Stride) -> Layout:
    """Build a layout from parts of checked layouts, which need no second check.

    For the library's own use: nothing is refused here.

    >>> unchecked((4,), (1,))
    Layout((4,), (1,))
    """
    layout = _new(Layout)
    _set_shape(layout, shape)
    _set_stride(layout, stride)
    return layout


# The slots' own setters: `Layout` refuses assignment, and these are the quickest way around it.
_new = object.__new__
_set_shape: Any = Layout.__dict__["shape"].__set__
_set_stride: Any = Layout.__dict__["stride"].__set__


def _frozen(value: Any) -> IntTuple:
    """Lists become tuples, so that a layout can never change under its owner."""
    if isinstance(value, list):
        value = tuple(cast("list[Any]", value))
    return tuple(map(_frozen, value)) if is_tuple(value) else adopted(value)


def _check_shape(part: Shape, whole: Shape) -> None:
    if type(part) is int:
        if part >= 1:
            return
    elif is_tuple(part):
        for mode in part:
            _check_shape(mode, whole)
        return
    elif isinstance(part, Symbolic) and _is_extent(part, whole):
        return
    raise ShapeError(
        "Layout",
        {"shape": whole},
        f"{part!r} is not a positive integer",
        "use extents of 1 or more",
    )


def _is_extent(leaf: Symbolic, whole: Shape) -> bool:
    try:
        return at_most(1, leaf)
    except UndecidableError as error:
        raise error.within("Layout", {"shape": whole}) from None


def _check(shape: Shape, stride: Stride, whole_shape: Shape, whole_stride: Stride) -> None:
    if is_tuple(shape):
        if is_tuple(stride) and len(stride) == len(shape):
            for s, d in zip(shape, stride, strict=True):
                _check(s, d, whole_shape, whole_stride)
            return
        raise _incongruent(whole_shape, whole_stride)
    if type(shape) is not int or shape < 1:
        _check_shape(shape, whole_shape)
    if is_tuple(stride):
        raise _incongruent(whole_shape, whole_stride)
    if type(stride) is not int and not isinstance(stride, (Basis, Symbolic)):
        raise ShapeError(
            "Layout",
            {"shape": whole_shape, "stride": whole_stride},
            f"stride {stride!r} is neither an integer nor a basis element",
            "use integers or k*E(i)",
        )


def _incongruent(shape: Shape, stride: Stride) -> CongruenceError:
    return CongruenceError(
        "Layout",
        {"shape": shape, "stride": stride},
        "shape and stride nest differently",
        "give one stride for each leaf of the shape, nested alike",
    )


def _has_none(coord: Coord) -> bool:
    if is_tuple(coord):
        for entry in coord:  # noqa: SIM110 - a generator would double the cost of a call
            if type(entry) is not int and _has_none(entry):
                return True
        return False
    return coord is None


def _text(value: IntTuple) -> str:
    if is_tuple(value):
        return f"({','.join(map(_text, value))})"
    return str(value)


def make_layout(*parts: Any) -> Layout:
    """Build a layout from a shape, a shape and strides, or several layouts as its modes.

    Law: ``make_layout(A, B)[0] == A``. Raises as `Layout` does. C++: ``make_layout``.

    >>> print(make_layout((4, 8)), make_layout(Layout(4, 2), Layout(8, 16)))
    (4,8):(1,4) (4,8):(2,16)
    """
    if parts and all(isinstance(part, Layout) for part in parts):
        return unchecked(tuple(p.shape for p in parts), tuple(p.stride for p in parts))
    if len(parts) in (1, 2) and not any(isinstance(part, Layout) for part in parts):
        return Layout(*parts)
    raise ShapeError(
        "make_layout",
        {"parts": parts},
        "neither a shape (and strides) nor a list of layouts",
        "make_layout(shape), make_layout(shape, stride) or make_layout(layout, layout, …)",
    )


def as_layout(value: Any) -> Layout:
    """Return a layout as it is, and refuse anything else.

    Raises `ShapeError`.

    >>> as_layout((4, 8))
    Traceback (most recent call last):
    pycute_xe.errors.ShapeError: layout(value=(4, 8)): a tuple is no layout. Way out: \
Layout((4, 8)) or make_layout(…)
    """
    if isinstance(value, Layout):
        return value
    kind = type(value).__name__
    article = "an" if kind[0] in "aeiou" else "a"
    raise ShapeError(
        "layout",
        {"value": repr(value)},
        f"{article} {kind} is no layout",
        f"Layout({value!r}) or make_layout(…)",
    )


def pair(first: Layout, second: Layout) -> Layout:
    """Return ``make_layout(first, second)``, without asking what the two are.

    >>> print(pair(Layout(4, 2), Layout(8, 16)))
    (4,8):(2,16)
    """
    return unchecked((first.shape, second.shape), (first.stride, second.stride))


def make_identity_layout(shape: Shape) -> Layout:
    """Return the layout that maps each coordinate to itself, with basis strides.

    Law: ``make_identity_layout(s)(c) == c``. C++: ``make_identity_layout``.

    >>> print(make_identity_layout((4, 8)))
    (4,8):(1@0,1@1)
    """
    checked = Layout(shape)

    def strides(part: Shape, path: tuple[int, ...]) -> Stride:
        if is_tuple(part):
            return tuple(strides(p, (*path, i)) for i, p in enumerate(part))
        return E(*path) if path else E(0)

    return unchecked(checked.shape, strides(checked.shape, ()))


def make_ordered_layout(shape: Shape, order: IntTuple) -> Layout:
    """Return a compact layout whose leaves run in the given order: the least order is fastest.

    Ties run left to right; size-1 leaves get stride 0. Raises `CongruenceError` when shape and
    order nest differently. C++: ``make_ordered_layout``.

    >>> print(make_ordered_layout((4, 8, 2), (2, 0, 1)))
    (4,8,2):(16,1,8)
    """
    checked = Layout(shape)
    if not all(isinstance(r, (int, Symbolic)) for r in leaves(order)):
        raise ShapeError(
            "make_ordered_layout",
            {"shape": shape, "order": order},
            "an order is an integer for each leaf",
            "use 0 for the fastest leaf, 1 for the next",
        )
    extents, ranks = flatten_tuple(checked.shape), flatten_tuple(order)
    if not congruent(checked.shape, order):
        raise CongruenceError(
            "make_ordered_layout",
            {"shape": shape, "order": order},
            "shape and order nest differently",
            "give one order for each leaf, nested alike",
        )
    strides: list[Any] = [0] * len(extents)
    current = 1
    for i in sorted(range(len(extents)), key=lambda i: ranks[i]):
        if extents[i] != 1:
            strides[i] = current
            current *= extents[i]
    return unchecked(checked.shape, unflatten_tuple(tuple(strides), checked.shape))


def shape(value: Any, *modes: int) -> Shape:
    """Return the shape of a layout (or of a tensor), or of one of its modes.

    >>> shape(Layout((4, (2, 3))), 1)
    (2, 3)
    """
    return _part(value.shape, modes)


def stride(value: Any, *modes: int) -> Stride:
    """Return the strides of a layout, or of one of its modes.

    >>> stride(Layout((4, 8), (8, 1)), 0)
    8
    """
    return _part(value.stride, modes)


def _part(tree: IntTuple, modes: tuple[int, ...]) -> IntTuple:
    for mode in modes:
        if not is_tuple(tree) or not -len(tree) <= mode < len(tree):
            raise RankError(
                "mode",
                {"of": tree, "mode": mode},
                "there is no such mode",
                "use a mode below the rank",
            )
        tree = tree[mode]
    return tree


def size(value: Any, *modes: int) -> Any:
    """Return the number of coordinates: the product of the extents (of one mode if given).

    >>> size(Layout((4, 8))), size(Layout((4, 8)), 1)
    (32, 8)
    """
    tree = value.shape if hasattr(value, "shape") else value
    return product(_part(tree, modes))


def rank(value: Any, *modes: int) -> int:
    """Return the number of modes, 1 for a layout whose shape is an integer.

    >>> rank(Layout((4, (2, 3)))), rank(Layout(4))
    (2, 1)
    """
    return rank_of(_part(value.shape if hasattr(value, "shape") else value, modes))


def depth(value: Any) -> int:
    """Return how deep the shape nests.

    >>> depth(Layout((4, (2, 3))))
    2
    """
    return tuple_depth(value.shape if hasattr(value, "shape") else value)


def coshape(layout: Layout) -> IntTuple:
    """Return the extents of the smallest box of offsets that holds the image, counted from zero.

    For integer strides that is `cosize`; for basis strides the extents of the coordinate box.
    C++: ``coshape``.

    >>> coshape(Layout((2, 4), (1, 4))), coshape(make_identity_layout((2, 4)))
    (14, (2, 4))
    """
    total: Any = 0
    shape = flatten_tuple(as_layout(layout).shape)
    for s, d in zip(shape, flatten_tuple(layout.stride), strict=True):
        value = d.value if isinstance(d, Basis) else d
        total = total + (s - 1) * (-d if value < 0 else d)
    return _plus_one(_completed(layout.stride, total))


def _plus_one(tree: IntTuple) -> IntTuple:
    return tuple(map(_plus_one, tree)) if is_tuple(tree) else tree + 1


def cosize(layout: Layout) -> Any:
    """Return one more than the largest offset: the elements a buffer must have.

    Strides count by magnitude, as in CuTe. For basis strides the size of the coordinate box.
    C++: ``cosize``.

    >>> cosize(Layout((4, 8), (1, 5)))
    39
    """
    reach = 1
    shape = flatten_tuple(as_layout(layout).shape)
    for s, d in zip(shape, flatten_tuple(layout.stride), strict=True):
        if type(d) is not int:
            return product(coshape(layout))
        reach = reach + (s - 1) * (-d if d < 0 else d)
    return reach


def slice_(coord: Coord, layout: Layout) -> Layout:
    """Return the modes where the coordinate holds ``None``, without the offset of the others.

    Law: ``slice_(c, L)(d) + L(c with 0 for None) == L(c with d for None)``.
    Raises `CoordError` when the coordinate does not fit. C++: ``slice``.

    >>> print(slice_((None, 2), Layout((4, 8), (8, 1))))
    (4):(8)
    """
    if coord is None:
        return layout
    return unchecked(_sliced(coord, layout.shape), _sliced(coord, layout.stride))


def _sliced(coord: Coord, tree: IntTuple, keep_none: bool = True) -> tuple[Any, ...]:
    if is_tuple(coord):
        if not is_tuple(tree) or len(tree) != len(coord):
            raise CoordError(
                "slice",
                {"coord": coord, "of": tree},
                "the coordinate has other modes",
                "give one entry for each mode, or None to keep all",
            )
        parts = (_sliced(c, t, keep_none) for c, t in zip(coord, tree, strict=True))
        return tuple(leaf for part in parts for leaf in part)
    return (tree,) if (coord is None) == keep_none else ()


def dice(coord: Coord, layout: Layout) -> Layout:
    """Return the modes where the coordinate holds no ``None``: what `slice_` leaves out.

    Raises `CoordError` when the coordinate does not fit. C++: ``dice``.

    >>> print(dice((None, 2), Layout((4, 8), (8, 1))))
    (8):(1)
    """
    if not is_tuple(coord):
        return Layout((), ()) if coord is None else layout
    return unchecked(_sliced(coord, layout.shape, False), _sliced(coord, layout.stride, False))


def slice_and_offset(coord: Coord, layout: Layout) -> tuple[Layout, Any]:
    """Return the slice at a coordinate and the offset at which it starts.

    Law: ``L(c with d for None) == offset + sub(d)``. C++: ``slice_and_offset``.

    >>> slice_and_offset((None, 2), Layout((4, 8), (8, 1)))
    (Layout((4,), (8,)), 2)
    """
    return slice_(coord, layout), crd2idx(_zeroed(coord), layout.shape, layout.stride)


def _zeroed(coord: Coord) -> Coord:
    if is_tuple(coord):
        return tuple(map(_zeroed, coord))
    return 0 if coord is None else coord


def flatten(layout: Layout) -> Layout:
    """Return the same function of a flat shape: every leaf a mode. C++: ``flatten``.

    >>> print(flatten(Layout(((2, 3), 4))))
    (2,3,4):(1,2,6)
    """
    if not is_tuple(as_layout(layout).shape):
        return layout
    return unchecked(flatten_tuple(layout.shape), flatten_tuple(layout.stride))


def unflatten(layout: Layout, profile: IntTuple) -> Layout:
    """Nest a flat layout as ``profile`` nests. Raises `CongruenceError`. C++: ``unflatten``.

    >>> print(unflatten(Layout((2, 3, 4)), ((0, 0), 0)))
    ((2,3),4):((1,2),6)
    """
    flat = flatten(layout)
    return unchecked(
        unflatten_tuple(flatten_tuple(flat.shape), profile),
        unflatten_tuple(flatten_tuple(flat.stride), profile),
    )


def group(layout: Layout, begin: int, end: int) -> Layout:
    """Gather modes ``begin`` to ``end - 1`` into one. C++: ``group<B,E>``.

    >>> print(group(Layout((2, 3, 4)), 0, 2))
    ((2,3),4):((1,2),6)
    """
    modes = list(as_layout(layout))
    if not 0 <= begin < end <= len(modes):
        raise RankError(
            "group",
            {"layout": layout, "begin": begin, "end": end},
            f"no such range of {len(modes)} modes",
            "0 <= begin < end <= rank",
        )
    return make_layout(*modes[:begin], make_layout(*modes[begin:end]), *modes[end:])


def get(layout: Layout, *modes: int) -> Layout:
    """Return a mode, or a mode within a mode. C++: ``layout<i,j>``.

    >>> print(get(Layout((2, (3, 4))), 1, 0))
    3:2
    """
    for mode in modes:
        layout = layout[mode]
    return layout


def select(layout: Layout, *modes: int) -> Layout:
    """Return a layout of the chosen modes, in the order given. C++: ``select<i,j>``.

    >>> print(select(Layout((2, 3, 4)), 2, 0))
    (4,2):(6,1)
    """
    return make_layout(*(as_layout(layout)[mode] for mode in modes))


def take(layout: Layout, begin: int, end: int) -> Layout:
    """Return modes ``begin`` to ``end - 1``. C++: ``take<B,E>``.

    >>> print(take(Layout((2, 3, 4)), 1, 3))
    (3,4):(2,6)
    """
    return layout[begin:end]


def replace(layout: Layout, mode: int, by: Layout) -> Layout:
    """Return the layout with one mode replaced. Raises `RankError`. C++: ``replace<i>``.

    >>> print(replace(Layout((2, 3)), 1, Layout(5, 7)))
    (2,5):(1,7)
    """
    modes = list(layout)
    if not -len(modes) <= mode < len(modes):
        raise RankError(
            "replace",
            {"layout": layout, "mode": mode},
            f"the rank is {len(modes)}",
            "use a mode below the rank, or append",
        )
    modes[mode] = by
    return make_layout(*modes)


def append(layout: Layout, mode: Layout, up_to_rank: int | None = None) -> Layout:
    """Add a mode at the end, as often as it takes to reach ``up_to_rank`` (once if not given).

    C++: ``append``.

    >>> print(append(Layout((2, 3)), Layout(1, 0), 4))
    (2,3,1,1):(1,2,0,0)
    """
    count = 1 if up_to_rank is None else up_to_rank - len(as_layout(layout))
    return make_layout(*as_layout(layout), *([mode] * count)) if count > 0 else layout


def prepend(layout: Layout, mode: Layout, up_to_rank: int | None = None) -> Layout:
    """Add a mode at the front, as often as it takes to reach ``up_to_rank``. C++: ``prepend``.

    >>> print(prepend(Layout((2, 3)), Layout(1, 0)))
    (1,2,3):(0,1,2)
    """
    count = 1 if up_to_rank is None else up_to_rank - len(as_layout(layout))
    return make_layout(*([mode] * count), *as_layout(layout)) if count > 0 else layout
