"""Layouts as matrices over the field of two elements, and what Gauss makes of them.

A layout of XOR strides whose extents are powers of two is linear in the bits of its index: a matrix
of bits, and an offset that is added by XOR. Products, inverses, ranks and images are those of the
matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import DivisibilityError, RankError, ShapeError
from pycute_xe.f2 import F2, F2Layout, as_f2
from pycute_xe.int_tuple import leaves, product, unflatten_tuple
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.typing import Shape, is_tuple

__all__ = [
    "BitMatrix",
    "bit_matrix",
    "coalesced",
    "complement_of_bits",
    "composed_bits",
    "divided_bits",
    "from_bit_matrix",
    "image_of_bits",
    "left_inverse_of_bits",
    "right_inverse_of_bits",
    "summed_bits",
]


@typed_fields
@dataclass(frozen=True, slots=True)
class BitMatrix:
    """A matrix of bits: column ``j``, as a number, is where bit ``j`` of an index goes.

    Law: ``M(x)`` is the XOR of the columns of the bits of ``x``; ``(A @ B)(x) == A(B(x))``. Raises
    `ShapeError` for columns that are not non-negative integers.

    >>> M = BitMatrix((1, 2, 5, 10))
    >>> M(0b0100), M.rank, M.rows
    (5, 4, ((1, 0, 1, 0), (0, 1, 0, 1), (0, 0, 1, 0), (0, 0, 0, 1)))
    """

    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the columns."""
        columns: tuple[Any, ...] = tuple(self.columns)
        if any(type(column) is not int or column < 0 for column in columns):
            raise ShapeError(
                "BitMatrix",
                {"columns": self.columns},
                "a column is not a non-negative integer",
                "give the image of each bit, as in BitMatrix((1, 2, 5))",
            )
        object.__setattr__(self, "columns", columns)

    def __call__(self, x: int) -> int:
        """Return the XOR of the columns of the bits of ``x``."""
        total = 0
        for j, column in enumerate(self.columns):
            if x >> j & 1:
                total ^= column
        return total

    def __matmul__(self, other: BitMatrix) -> BitMatrix:
        """Return the product: first ``other``, then this one."""
        reached = max((column.bit_length() for column in other.columns), default=0)
        if reached > len(self.columns):
            raise ShapeError(
                "BitMatrix",
                {"left": self, "right": other},
                f"the right one reaches bit {reached - 1} of {len(self.columns)} columns",
                "give the left one a column for each bit",
            )
        return BitMatrix(tuple(map(self, other.columns)))

    @property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The entries, row by row from bit 0 of the result, as far as a bit is set."""
        height = max((column.bit_length() for column in self.columns), default=0)
        return tuple(tuple(column >> i & 1 for column in self.columns) for i in range(height))

    @property
    def rank(self) -> int:
        """How many columns do not add up from others."""
        return len(_reduced(self.columns))

    @property
    def kernel(self) -> tuple[int, ...]:
        """Indices whose sums are all that goes to 0."""
        out: list[int] = []
        pivots: dict[int, tuple[int, int]] = {}
        for j, column in enumerate(self.columns):
            value, made = _eliminated(pivots, column, 1 << j)
            if value:
                pivots[value.bit_length() - 1] = value, made
            else:
                out.append(made)
        return tuple(out)

    def solve(self, value: int) -> int | None:
        """Return an index that goes to a value, or ``None`` where none does.

        >>> BitMatrix((1, 3)).solve(2), BitMatrix((1, 3)).solve(4)
        (3, None)
        """
        pivots: dict[int, tuple[int, int]] = {}
        for j, column in enumerate(self.columns):
            rest, made = _eliminated(pivots, column, 1 << j)
            if rest:
                pivots[rest.bit_length() - 1] = rest, made
        rest, made = _eliminated(pivots, value, 0)
        return None if rest else made


def _eliminated(pivots: dict[int, tuple[int, int]], value: int, made: int) -> tuple[int, int]:
    """Return what pivots leave of a value, and the index that makes the difference."""
    rest = value
    for bit in range(value.bit_length() - 1, -1, -1):
        if rest >> bit & 1 and bit in pivots:
            rest ^= pivots[bit][0]
            made ^= pivots[bit][1]
    return rest, made


def _reduced(values: Sequence[int]) -> list[int]:
    """Return the ascending basis of a span in which each leading bit stands in one member."""
    basis: list[int] = []
    for value in values:
        rest = value
        for member in sorted(basis, reverse=True):
            rest = min(rest, rest ^ member)
        if rest:
            top = 1 << (rest.bit_length() - 1)
            basis = [member ^ rest if member & top else member for member in basis]
            basis.append(rest)
    return sorted(basis)


@typed
def bit_matrix(layout: Layout | ComposedLayout | F2Layout) -> BitMatrix:
    """Return the matrix of a layout whose size is a power of two and that adds without carries.

    Law: ``layout(i) == layout(0) ^ bit_matrix(layout)(i)`` for every index. Raises
    `DivisibilityError` for extents that are not powers of two, and as `as_f2`. The counterpart is
    ``to_F2_matrix`` of tensor-layouts.

    >>> from pycute_xe.swizzle import Swizzle
    >>> bit_matrix(ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4)))).columns
    (1, 2, 5, 10)
    """
    linear = as_f2(layout)
    columns: list[int] = []
    for s, d in zip(leaves(linear.shape), leaves(linear.stride), strict=True):
        columns += _columns(linear, s, d.value)
    return BitMatrix(tuple(columns))


def _columns(layout: F2Layout, extent: int, stride: int) -> list[int]:
    if extent & (extent - 1):
        raise DivisibilityError(
            "bit_matrix",
            {"layout": layout},
            f"the extent {extent} is not a power of two",
            "use extents of 2, 4, 8, …",
        )
    return [stride << i for i in range(extent.bit_length() - 1)]


@typed
def from_bit_matrix(
    matrix: BitMatrix | Sequence[int], shape: Shape = None, offset: int = 0
) -> F2Layout:
    """Return the layout of a matrix: as few modes as it has, or those of a shape.

    Law: ``bit_matrix(from_bit_matrix(M)) == M``, and the layout has the value ``offset`` at 0.
    A leaf of the shape whose columns are not shifts of each other becomes several. Raises
    `DivisibilityError` where the shape has another size than the matrix has indices.

    >>> print(from_bit_matrix(BitMatrix((1, 2, 5, 10))))
    (4,4):(F2(1),F2(5))
    """
    columns = matrix.columns if isinstance(matrix, BitMatrix) else BitMatrix(tuple(matrix)).columns
    if shape is None:
        s, d = _modes(columns)
        return F2Layout(s, d, offset)
    size: Any = product(Layout(shape).shape)
    if size != 1 << len(columns):
        raise DivisibilityError(
            "from_bit_matrix",
            {"shape": shape, "columns": columns},
            f"the shape has {size} indices, the matrix {1 << len(columns)}",
            "use a shape of powers of two, together as many",
        )
    rest = list(columns)
    tree = _shaped(Layout(shape).shape, rest)
    return F2Layout(*tree, offset)


def _shaped(shape: Shape, rest: list[int]) -> tuple[Any, Any]:
    """Return a shape and strides for the first columns, which are taken from the list."""
    if is_tuple(shape):
        parts = [_shaped(mode, rest) for mode in shape]
        return tuple(s for s, _ in parts), tuple(d for _, d in parts)
    count = shape.bit_length() - 1
    mine, rest[:] = rest[:count], rest[count:]
    return _modes(mine)


def _modes(columns: Sequence[int]) -> tuple[Any, Any]:
    """Return the fewest extents and strides that have these columns, in order."""
    runs: list[list[int]] = []
    for column in columns:
        if runs and runs[-1][-1] << 1 == column:
            runs[-1].append(column)
        else:
            runs.append([column])
    shape, stride = tuple(1 << len(run) for run in runs), tuple(F2(run[0]) for run in runs)
    match len(runs):
        case 0:
            return 1, F2(0)
        case 1:
            return shape[0], stride[0]
        case _:
            return shape, stride


def coalesced(layout: F2Layout, keeps_last: bool = False) -> F2Layout:
    """Return the same function with the fewest modes; one of extent 1 may stay at the end.

    Two modes are one where the first has a power of two for its extent, so that no index carries
    from it, and the second goes on where it ends.

    >>> print(coalesced(F2Layout((2, (2, 4)), (F2(1), (F2(2), F2(9))))))
    (4,4):(F2(1),F2(9))
    >>> print(coalesced(F2Layout((3, 2, 2), (F2(1), F2(3), F2(6)))))
    (3,4):(F2(1),F2(3))
    """
    modes: list[tuple[int, int]] = []
    every = list(zip(leaves(layout.shape), leaves(layout.stride), strict=True))
    for i, (s, stride) in enumerate(every):
        d = stride.value
        if modes and modes[-1][0] & (modes[-1][0] - 1) == 0 and modes[-1][0] * modes[-1][1] == d:
            modes[-1] = modes[-1][0] * s, modes[-1][1]
        elif s != 1 or (keeps_last and i == len(every) - 1):
            modes.append((s, d))
    shape, stride = tuple(s for s, _ in modes), tuple(F2(d) for _, d in modes)
    if len(modes) == 1:
        return F2Layout(shape[0], stride[0], layout.offset)
    return F2Layout(shape, stride, layout.offset) if modes else F2Layout(1, F2(0), layout.offset)


def composed_bits(a: F2Layout, b: F2Layout) -> F2Layout:
    """Return ``a ∘ b`` of two layouts of XOR strides, with the modes of ``b``.

    Law: ``composed_bits(a, b)(c) == a(b(c))``. Raises `ShapeError` where ``b`` reaches beyond the
    indices of ``a``.

    >>> X = F2Layout((4, 4), (F2(1), F2(5)))
    >>> print(composed_bits(X, X))
    (4,4):(F2(1),F2(4))
    """
    outer, inner = bit_matrix(a), bit_matrix(b)
    if b.offset >> len(outer.columns):
        raise ShapeError(
            "composition",
            {"a": a, "b": b},
            f"the offset {b.offset} of b is beyond the {1 << len(outer.columns)} indices of a",
            "give a as many indices",
        )
    return from_bit_matrix(outer @ inner, b.shape, outer(b.offset) ^ a.offset)


def summed_bits(a: F2Layout, b: F2Layout) -> F2Layout:
    """Return the layout of the XOR of two layouts' offsets, index by index.

    Raises `DivisibilityError` where the sizes differ, and for extents that are not powers of two
    where the modes of both differ.

    >>> print(summed_bits(F2Layout(8, F2(1)), F2Layout((2, 4), (F2(2), F2(4)))))
    8:F2(3)
    """
    one, other, offset = coalesced(a), coalesced(b), a.offset ^ b.offset
    if one.shape == other.shape or not any(d.value for d in leaves(other.stride)):
        strides = zip(leaves(one.stride), cycle(leaves(other.stride)), strict=False)
        if product(one.shape) == product(other.shape):
            total = unflatten_tuple(tuple(d + e for d, e in strides), one.shape)
            return coalesced(F2Layout(one.shape, total, offset))
    left, right = bit_matrix(a).columns, bit_matrix(b).columns
    if len(left) != len(right):
        raise DivisibilityError(
            "layout_add",
            {"a": a, "b": b},
            f"the sizes {1 << len(left)} and {1 << len(right)} differ",
            "use layouts of one size",
        )
    columns = [x ^ y for x, y in zip(left, right, strict=True)]
    return from_bit_matrix(columns, None, a.offset ^ b.offset)


def right_inverse_of_bits(layout: F2Layout) -> F2Layout:
    """Return the longest ``R`` of a power of two with ``layout(R(i)) == i``.

    Longer where the last extent is not a power of two and ``R`` ends with its mode. Raises
    `DivisibilityError` where the offset 0 is not hit, or another extent is not one.

    >>> X = F2Layout((4, 4), (F2(1), F2(5)))
    >>> print(right_inverse_of_bits(X))
    (4,4):(F2(1),F2(5))
    >>> print(right_inverse_of_bits(F2Layout((4, 3), (F2(1), F2(4)))))
    12:F2(1)
    """
    *inner, last = leaves(layout.shape)
    if last & (last - 1):
        return _right_inverse_up_to(layout, product(tuple(inner)), last)
    matrix = bit_matrix(layout)
    start = matrix.solve(layout.offset)
    if start is None:
        raise DivisibilityError(
            "right_inverse",
            {"layout": layout},
            "no index has the offset 0",
            "take the offset out of the layout",
        )
    columns: list[int] = []
    while (index := matrix.solve(1 << len(columns))) is not None:
        columns.append(index)
    return from_bit_matrix(columns, None, start)


def _right_inverse_up_to(layout: F2Layout, start: int, last: int) -> F2Layout:
    """Return the right inverse of a layout whose last mode, from an index on, is cut short."""
    bits = last.bit_length()
    flat = tuple(leaves(layout.shape))[:-1]
    whole = F2Layout((*flat, 1 << bits), tuple(leaves(layout.stride)), layout.offset)
    columns = bit_matrix(right_inverse_of_bits(whole)).columns
    # The indices below the last mode, and those that count its steps in order.
    below = [column for column in columns if column < start]
    if list(columns[len(below) :]) == [start << i for i in range(bits)] and not layout.offset:
        inverse = from_bit_matrix(below)
        modes = (*leaves(inverse.shape), last), (*leaves(inverse.stride), F2(start))
        return coalesced(F2Layout(*modes))
    while below != list(columns[: len(below)]):
        below.pop()
    short = F2Layout((*flat, 1), tuple(leaves(layout.stride)), layout.offset)
    return right_inverse_of_bits(short)


def left_inverse_of_bits(layout: F2Layout) -> F2Layout:
    """Return ``R`` with ``R(layout(i)) == i`` for an injective layout of XOR strides.

    Raises `DivisibilityError` where two indices share an offset.

    >>> X = F2Layout((4, 4), (F2(1), F2(10)))
    >>> R = left_inverse_of_bits(X)
    >>> [R(X(i)) for i in range(16)] == list(range(16))
    True
    """
    matrix = bit_matrix(layout)
    if matrix.rank < len(matrix.columns):
        raise DivisibilityError(
            "left_inverse",
            {"layout": layout},
            f"the indices 0 and {matrix.kernel[0]} have one offset",
            "leave out the modes that repeat offsets",
        )
    wide = max(layout.offset, *matrix.columns, 0).bit_length()
    # Bits that the columns do not reach are filled up with units, whose index counts as 0.
    spans = list(matrix.columns)
    for i in range(wide):
        if BitMatrix(tuple(spans)).solve(1 << i) is None:
            spans.append(1 << i)
    whole, mask = BitMatrix(tuple(spans)), (1 << len(matrix.columns)) - 1
    columns = [(whole.solve(1 << i) or 0) & mask for i in range(wide)]
    return from_bit_matrix(columns, None, BitMatrix(tuple(columns))(layout.offset))


def complement_of_bits(layout: F2Layout, cotarget: Any = 1) -> F2Layout:
    """Return a layout of the offsets that XOR strides leave out, up to a power of two.

    Law: with ``R`` the result, each offset below ``2**k`` is ``layout(i) ^ layout(0) ^ R(j)`` of
    equally many pairs, one where ``layout`` is injective; ``2**k`` is the least power of two that
    holds the strides' bits and ``cotarget`` offsets. Strides of ``R`` are single bits, ascending.
    Raises `ShapeError` where the cotarget is not a positive integer or a shape.

    >>> print(complement_of_bits(F2Layout((2, 2), (F2(1), F2(6))), 16))
    (2,2):(F2(2),F2(8))
    """
    end: Any = product(cotarget.shape if isinstance(cotarget, Layout) else cotarget)
    if type(end) is not int or end < 1:
        wrong, fix = "the cotarget must be a positive integer", "use a size, or a shape"
        raise ShapeError("complement", {"layout": layout, "cotarget": cotarget}, wrong, fix)
    spans = [*bit_matrix(layout).columns]
    free: list[int] = []
    for i in range(max(end - 1, *spans, 0).bit_length()):
        if BitMatrix(tuple(spans)).solve(1 << i) is None:
            spans.append(1 << i)
            free.append(1 << i)
    return from_bit_matrix(free)


def divided_bits(layout: F2Layout, tiler: Any) -> F2Layout:
    """Return (tile, rest) of a layout of XOR strides, or of each of its modes by a tuple.

    Law: mode 0 is ``composition(layout, tiler)``; tile and rest together have each offset as often
    as the layout. Raises `DivisibilityError` where the tiler is not a power of two or does not
    divide the layout, `RankError` for more tilers than modes.

    >>> X = F2Layout((4, 4), (F2(1), F2(5)))
    >>> print(divided_bits(X, 2))
    (2,(2,4)):(F2(1),(F2(2),F2(5)))
    """
    if tiler is None:
        return layout
    if is_tuple(tiler):
        return _divided_by_mode(layout, tiler)
    tile = as_f2(Layout(tiler) if type(tiler) is int else tiler)
    count = product(layout.shape)
    whole = all(n & (n - 1) == 0 for n in leaves((tile.shape, layout.shape)))
    rest = complement_of_bits(tile, count) if whole else tile
    if not whole or product(tile.shape) * product(rest.shape) != count:
        raise DivisibilityError(
            "logical_divide",
            {"layout": layout, "tiler": tiler},
            f"the tile {tile} does not divide the {count} indices of the layout",
            "use powers of two, and a tile whose offsets are indices of the layout",
        )
    return composed_bits(
        layout, F2Layout((tile.shape, rest.shape), (tile.stride, rest.stride), tile.offset)
    )


def _divided_by_mode(layout: F2Layout, tiler: tuple[Any, ...]) -> F2Layout:
    shapes, strides = (
        list(tree) if is_tuple(tree) else [tree] for tree in (layout.shape, layout.stride)
    )
    if len(tiler) > len(shapes):
        raise RankError(
            "logical_divide",
            {"layout": layout, "tiler": tiler},
            f"the tiler has {len(tiler)} modes, the layout {len(shapes)}",
            "give at most one entry for each mode",
        )
    offset = layout.offset
    for i, part in enumerate(tiler):
        divided = divided_bits(F2Layout(shapes[i], strides[i]), part)
        shapes[i], strides[i], offset = divided.shape, divided.stride, offset ^ divided.offset
    return F2Layout(tuple(shapes), tuple(strides), offset)


def image_of_bits(layout: F2Layout) -> F2Layout:
    """Return the offsets of a layout of XOR strides, each once, in increasing order.

    >>> X = image_of_bits(F2Layout((4, 4), (F2(2), F2(3))))
    >>> [X(i) for i in range(16)] == list(range(16))
    True
    """
    basis = _reduced(bit_matrix(layout).columns)
    lowest = layout.offset
    for member in sorted(basis, reverse=True):
        lowest = min(lowest, lowest ^ member)
    return from_bit_matrix(basis, None, lowest)
