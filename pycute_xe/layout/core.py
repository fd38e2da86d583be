"""The layout itself, a shape and strides that nest alike.

Everything that takes a layout apart or measures it stands in the files beside this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Never, cast

from pycute_xe.basis import ArithTuple, Basis, BasisSum, basis_sum
from pycute_xe.errors import (
    CongruenceError,
    CoordError,
    InputError,
    RankError,
    ShapeError,
    UndecidableError,
    meant,
    quoted,
    with_article,
)
from pycute_xe.int_tuple import as_coordinate, compact_col_major, leaves, offset_of, rank_of
from pycute_xe.notation import cpp_layout, parse_layout
from pycute_xe.signatures import MOST_LEVELS, STUMBLES, blame, typed
from pycute_xe.typing import (
    TUPLE,
    Coord,
    IntTuple,
    Shape,
    Stride,
    Symbolic,
    adopted,
    agree,
    at_most,
    is_tuple,
    shown,
)

__all__ = [
    "Layout",
    "as_layout",
    "call_that_reads",
    "completed",
    "has_none",
    "slice_",
    "sliced",
    "unchecked",
]

# ------------------------------------------------------------ validity
# What makes a shape and strides a layout, and how their lack is reported.


def frozen(value: Any, name: str, level: int = 0) -> IntTuple:
    """Lists become tuples, so that a layout can never change under its owner.

    Raises `ShapeError` in the name of the argument where it nests deeper than `MOST_LEVELS`.

    >>> frozen([4, [2, 3]], "shape")
    (4, (2, 3))
    """
    if isinstance(value, list):
        value = tuple(cast("list[Any]", value))
    if isinstance(value, ArithTuple):
        return value  # a sum of basis elements, the stride of a leaf
    if not is_tuple(value):
        return adopted(value)
    if level >= MOST_LEVELS:
        raise ShapeError(
            "Layout",
            {name: f"<{type(value).__name__}>"},
            f"the {name} nests more than {MOST_LEVELS} levels deep",
            f"nest at most {MOST_LEVELS} levels",
        )
    return tuple(frozen(mode, name, level + 1) for mode in value)


def is_valid(shape: Any, stride: Any, level: int = 0) -> bool:
    """Tell quickly whether two trees of exact tuples, integers and basis elements make a layout."""
    if type(shape) is not TUPLE:
        return type(shape) is int and shape >= 1 and type(stride) in _LEAVES
    if type(stride) is not TUPLE or len(shape) != len(stride) or level >= MOST_LEVELS:
        return False
    for s, d in zip(shape, stride):
        if type(s) is int:
            if s < 1 or (type(d) is not int and type(d) not in _LEAVES):
                return False
        elif not is_valid(s, d, level + 1):
            return False
    return True


_LEAVES = frozenset({int, Basis, BasisSum})


def summed(shape: Shape, stride: Stride) -> Stride:
    """Return strides in which coordinates at leaves of the shape are sums of basis elements.

    >>> from pycute_xe.basis import E
    >>> summed((4, 8), (E(0) + E(1), 2))
    (E(0) + E(1), 2)
    """
    if isinstance(stride, ArithTuple):
        return stride if is_tuple(shape) else basis_sum(stride)
    if is_tuple(shape) and is_tuple(stride) and len(shape) == len(stride):
        return tuple(map(summed, shape, stride))
    return stride


def _is_one_stride(stride: Stride) -> bool:
    return type(stride) is int or isinstance(stride, (Basis, BasisSum, Symbolic))


_LEFT_OUT = cast("Shape", None)


def check_shape(part: Shape, whole: Shape) -> None:
    """Refuse a shape, of which ``part`` is a part, that has a leaf which is not an extent.

    >>> check_shape((4, 8), (4, 8))
    """
    if type(part) is int:
        if part >= 1:
            return
    elif is_tuple(part):
        for mode in part:
            check_shape(mode, whole)
        return
    elif isinstance(part, Symbolic) and _is_extent(part, whole):
        return
    wrong, fix = f"{quoted(part)} is not a positive integer", "use extents of 1 or more"
    if meant(part) not in ("", repr(part)):
        wrong = f"{quoted(part)} is {with_article(type(part).__name__)}, not an integer"
        fix = f"write {meant(part)}"
    elif isinstance(part, str):
        fix = call_that_reads(part)
    raise ShapeError("Layout", {"shape": whole}, wrong, fix)


def call_that_reads(text: str) -> str:
    """Return the call that reads what CuTe prints, for a text given in the place of a layout."""
    return f"use Layout.from_str({quoted(text)}) to read text"


def _is_extent(leaf: Symbolic, whole: Shape) -> bool:
    try:
        return at_most(1, leaf)
    except UndecidableError as error:
        raise error.within("Layout", {"shape": whole}) from None


def check_layout(shape: Shape, stride: Stride, whole_shape: Shape, whole_stride: Stride) -> None:
    """Refuse a shape and strides that do not nest alike, or have other leaves than a layout.

    >>> check_layout((4, 8), (8, 1), (4, 8), (8, 1))
    """
    if isinstance(stride, ArithTuple):
        raise ShapeError(
            "Layout",
            {"shape": whole_shape, "stride": whole_stride},
            f"stride {stride} is a coordinate, as a sum of basis elements is",
            "give each leaf one basis element k*E(i), or a plain tuple of strides",
        )
    if is_tuple(shape):
        if is_tuple(stride) and len(stride) == len(shape):
            for s, d in zip(shape, stride, strict=True):
                check_layout(s, d, whole_shape, whole_stride)
            return
        raise _incongruent(whole_shape, whole_stride)
    if type(shape) is not int or shape < 1:
        check_shape(shape, whole_shape)
    if is_tuple(stride):
        raise _incongruent(whole_shape, whole_stride)
    if type(stride) is not int and not isinstance(stride, (Basis, BasisSum, Symbolic)):
        raise ShapeError(
            "Layout",
            {"shape": whole_shape, "stride": whole_stride},
            f"stride {quoted(stride)} is neither an integer nor a basis element",
            "use integers or k*E(i)",
        )


def _other_arguments(given: tuple[Any, ...]) -> InputError:
    if given[0] is _LEFT_OUT:
        return InputError("Layout", {}, "the shape is missing", "write Layout((4, 8), (8, 1))")
    wrong = f"a layout takes a shape and a stride, not {len(given)} values"
    text = quoted(given)
    return InputError("Layout", {"values": text}, wrong, f"write Layout({text})")


def _incongruent(shape: Shape, stride: Stride) -> CongruenceError:
    fix = "give one stride for each leaf of the shape, nested alike"
    return CongruenceError(
        "Layout", {"shape": shape, "stride": stride}, "shape and stride nest differently", fix
    )


# ------------------------------------------------------------ core


class Layout:
    """A function from coordinates to offsets: a shape, and a stride for each of its leaves.

    Law: ``L(c) == crd2idx(c, L.shape, L.stride)``. Shapes are positive integers, nested at will;
    strides are integers (elements), basis elements ``k*E(i)`` or sums of those, nested alike. Any
    of these integers may be symbolic. Without strides the layout is compact, first mode fastest;
    with one stride for a tuple of extents it is that layout, each step so far.
    ``len(L)`` is the rank and ``L[i]`` a mode. Raises `ShapeError` for leaves that are not extents,
    `CongruenceError` where the two nest differently. C++: ``cute::Layout``.

    >>> L = Layout((4, 8), (8, 1))
    >>> print(L, L(1, 2), L(9), len(L), L[0])
    (4,8):(8,1) 10 10 2 4:8
    >>> L
    Layout((4, 8), (8, 1))
    >>> print(Layout((4, 8), 2))
    (4,8):(2,8)
    """

    __slots__ = ("_hash", "shape", "stride")
    # NumPy's numbers and arrays leave operators to this class, instead of listing its modes.
    __array_ufunc__ = None

    shape: Shape
    stride: Stride
    _hash: int

    _repr_mimebundle_ = shown

    def __init__(self, shape: Shape = _LEFT_OUT, stride: Stride = None, *more: Never) -> None:
        """Check the shape, the strides and that they nest alike."""
        if shape is _LEFT_OUT or more:
            raise _other_arguments((shape, stride, *more))
        try:
            if stride is None:
                shape = frozen(shape, "shape")
                check_shape(shape, shape)
                stride = compact_col_major(shape)
            elif not is_valid(shape, stride):
                # Lists, which become tuples, or a mistake, which is then explained.
                shape, stride = frozen(shape, "shape"), frozen(stride, "stride")
                if is_tuple(shape) and _is_one_stride(stride):
                    check_shape(shape, shape)
                    stride = compact_col_major(shape, stride)
                stride = summed(shape, stride)
                check_layout(shape, stride, shape, stride)
                agree(leaves((shape, stride)))
        except STUMBLES as error:
            blame(Layout.__init__, (self, shape, stride), error)
            raise
        _set_shape(self, shape)
        _set_stride(self, stride)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: layouts are values."""
        raise AttributeError(f"Layout is immutable; cannot set {name}")

    def __delattr__(self, name: str) -> None:
        """Refuse: layouts are values."""
        raise AttributeError(f"Layout is immutable; cannot delete {name}")

    @classmethod
    @typed
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
        shape, stride = parse_layout(text)
        if is_tuple(shape) and not is_tuple(stride):
            raise _incongruent(shape, stride)  # one stride for all is not what CuTe prints
        return cls(shape, stride)

    def to_cpp(self) -> str:
        """Return the C++ type of this layout, every number static.

        Raises `ShapeError` for a leaf that is not a number. C++: ``decltype`` of a static layout.

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
        try:
            try:
                index = offset_of(crd, self.shape, self.stride)
                return index if type(index) is int and index else completed(self.stride, index)
            except (CoordError, *STUMBLES):
                if not has_none(crd):
                    raise
                return slice_(crd, self)
        except (CoordError, *STUMBLES) as error:
            blame(Layout.__call__, (self, *coord), error)
            raise

    def __len__(self) -> int:
        """Return the rank: the number of top-level modes."""
        return rank_of(self.shape)

    @typed
    def __getitem__(self, index: int | slice) -> Layout:
        """Return one mode, or several as a layout of their own."""
        if not is_tuple(self.shape):
            if index in (0, -1):
                return self
            raise RankError("mode", {"layout": self, "index": index}, "the rank is 1", "use [0]")
        try:
            return unchecked(self.shape[index], self.stride[index])
        except (IndexError, TypeError):
            fix = f"use 0 to {len(self) - 1}"
            if is_tuple(index):
                fix = f"give the modes one by one: {', '.join(map(str, index))}"
            wrong = f"{quoted(index)} is not the number of a mode, the rank is {len(self)}"
            raise RankError("mode", {"layout": self, "index": index}, wrong, fix) from None

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


def completed(strides: Stride, value: Any) -> Any:
    """Add zeros for the modes that the strides name and the value leaves out; offsets stay."""
    if not moves(strides):
        return value
    zeros = [
        Basis(0, term.modes).as_coord()
        for d in leaves(strides)
        if isinstance(d, (Basis, BasisSum))
        for term in ((d,) if isinstance(d, Basis) else d.terms)
    ]
    return sum(zeros, as_coordinate(value))


def moves(stride: Any) -> bool:
    """Tell whether a tree of strides has a leaf that moves among coordinates.

    >>> from pycute_xe.basis import E
    >>> moves((4, (E(0), 1))), moves((4, 1))
    (True, False)
    """
    if type(stride) is not TUPLE:
        return isinstance(stride, (Basis, BasisSum))
    for d in stride:  # noqa: SIM110 - a generator would double the time
        if type(d) is not int and moves(d):
            return True
    return False


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


def as_layout(value: Any) -> Layout:
    """Return a layout as it is, and refuse anything else.

    Raises `ShapeError`, in which `blame` names the call and the argument.

    >>> as_layout((4, 8))
    Traceback (most recent call last):
    pycute_xe.errors.ShapeError: layout(value=(4, 8)): a tuple is not a plain layout. Way out: \
Layout((4, 8)) or make_layout(…)
    """
    if isinstance(value, Layout):
        return value
    kind = type(value).__name__
    way_out = f"Layout({meant(value) or quoted(value)}) or make_layout(…)"
    if isinstance(value, str) and not meant(value):
        way_out = call_that_reads(value)
    elif hasattr(value, "layout"):
        way_out = "use its .layout, which is beneath the swizzle"
    elif hasattr(value, "shape"):
        way_out = "use a layout of integer strides"
    wrong = f"{with_article(kind)} is not a plain layout"
    error = ShapeError("layout", {"value": quoted(value)}, wrong, way_out)
    error.refused = (value,)
    raise error


def has_none(coord: Coord) -> bool:
    """Whether a coordinate leaves modes open: None stands in it."""
    if isinstance(coord, TUPLE):
        for entry in coord:  # noqa: SIM110 - a generator would double the cost of a call
            if type(entry) is not int and has_none(entry):
                return True
        return False
    return coord is None


def _text(value: IntTuple) -> str:
    if is_tuple(value):
        return f"({','.join(map(_text, value))})"
    return str(value)


def slice_(coord: Coord, layout: Layout) -> Layout:
    """Return the modes where the coordinate holds ``None``, without the offset of the others.

    Law: ``slice_(c, L)(d) + L(c with 0 for None) == L(c with d for None)``.
    Raises `CoordError` when the coordinate does not fit. C++: ``slice``.

    >>> print(slice_((None, 2), Layout((4, 8), (8, 1))))
    (4):(8)
    """
    if coord is None:
        return as_layout(layout)
    layout = as_layout(layout)
    return unchecked(sliced(coord, layout.shape), sliced(coord, layout.stride))


def sliced(coord: Coord, tree: IntTuple, keep_none: bool = True) -> tuple[Any, ...]:
    """Return the modes of a tree where a coordinate holds ``None``, or those where it does not.

    >>> sliced((None, 2), (4, 8)), sliced((None, 2), (4, 8), keep_none=False)
    ((4,), (8,))
    """
    if is_tuple(coord):
        if not is_tuple(tree) or len(tree) != len(coord):
            raise CoordError(
                "slice",
                {"coord": coord, "of": tree},
                "the coordinate and what it slices differ in their modes",
                "give one entry for each mode, or None to keep all",
            )
        parts = (sliced(c, t, keep_none) for c, t in zip(coord, tree, strict=True))
        return tuple(leaf for part in parts for leaf in part)
    return (tree,) if (coord is None) == keep_none else ()
