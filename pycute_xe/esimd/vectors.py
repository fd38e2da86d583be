"""Vectors of a thread's registers: ``simd``, and views of parts of them.

Arithmetic follows C++: integers narrower than 32 bits are promoted to ``int`` first, so that
``low | (high << 16)`` of 16-bit vectors keeps its upper half. Python numbers take the type of the
vector that they meet.
"""

from __future__ import annotations

import inspect
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self, cast

import numpy as np

from pycute_xe.errors import DTypeError, ShapeError, quoted
from pycute_xe.esimd.arrays import MOST_ELEMENTS, merged, place_in, sizes_differ, type_name
from pycute_xe.esimd.conversions import (
    Array,
    called_on_a_result,
    common_type,
    divide,
    numbers,
    operand,
    ramp,
    remainder,
)
from pycute_xe.esimd.lint import fail
from pycute_xe.esimd.threads import computes
from pycute_xe.esimd.types import Type, dtype_of, whole

__all__ = ["Vector", "array_of", "simd", "simd_mask", "simd_view", "Record"]

# ------------------------------------------------------------ operators
# The operators of vectors, each in terms of one method.


Method = Callable[[Any, Any], Any]


def _operator(act: Method) -> tuple[Method, Method, Method]:
    """The methods of ``x + y``, of ``y + x`` where y is not a vector, and of ``x += y``."""

    def forward(self: Operators, other: Any) -> Any:
        return self._with(other, act)  # pyright: ignore[reportPrivateUsage]

    def swapped(self: Operators, other: Any) -> Any:
        return self._with(other, act, swapped=True)  # pyright: ignore[reportPrivateUsage]

    def onto(self: Operators, other: Any) -> Any:
        return self._onto(self._with(other, act))  # pyright: ignore[reportPrivateUsage]

    return forward, swapped, onto


class Operators(ABC):
    """C++'s operators, element by element; comparisons give masks, ``x += y`` keeps x's type."""

    __slots__ = ()

    @abstractmethod
    def _with(self, other: Any, act: Method, swapped: bool = False) -> Any:
        """Apply a function to both, element by element, in C++'s common type."""

    @abstractmethod
    def _onto(self, value: Any) -> Self:
        """Store a value here, converted to the own type."""

    __add__, __radd__, __iadd__ = _operator(operator.add)
    __sub__, __rsub__, __isub__ = _operator(operator.sub)
    __mul__, __rmul__, __imul__ = _operator(operator.mul)
    __truediv__, __rtruediv__, __itruediv__ = _operator(divide)
    __mod__, __rmod__, __imod__ = _operator(remainder)
    # Lambdas, since the type checker knows nothing of operator.and_ and its kin.
    __and__, __rand__, __iand__ = _operator(lambda a, b: a & b)
    __or__, __ror__, __ior__ = _operator(lambda a, b: a | b)
    __xor__, __rxor__, __ixor__ = _operator(lambda a, b: a ^ b)
    __lshift__, __rlshift__, __ilshift__ = _operator(lambda a, b: a << b)
    __rshift__, __rrshift__, __irshift__ = _operator(lambda a, b: a >> b)

    def __floordiv__(self, other: Any) -> Any:
        """Refuse what C++ has no operator for; so do ``other // x`` and ``x //= other``."""
        raise DTypeError(
            "//",
            {"left": self, "right": other},
            "C++ has no operator //",
            "use /: of integers it rounds towards zero, as in C++",
        )

    __rfloordiv__ = __floordiv__
    __ifloordiv__ = __floordiv__

    def __invert__(self) -> Any:
        return self._with(self, lambda own, _: np.invert(own))

    def __neg__(self) -> Any:
        return self._with(0, operator.sub, swapped=True)

    def __abs__(self) -> Any:
        return self._with(self, lambda own, _: np.abs(own))

    __lt__, __le__ = _operator(operator.lt)[0], _operator(operator.le)[0]
    __gt__, __ge__ = _operator(operator.gt)[0], _operator(operator.ge)[0]

    def __eq__(self, other: object) -> Any:  # type: ignore[override]
        """A mask, as in C++: element by element."""
        return self._with(other, operator.eq)

    def __ne__(self, other: object) -> Any:  # type: ignore[override]
        """A mask, as in C++: element by element."""
        return self._with(other, operator.ne)


# ------------------------------------------------------------ records
# What a vector remembers of how it was filled, for the lints that ask for the order.


Extents = tuple[int | None, int | None]


class Record:
    """Which write each element of a vector comes from, and whether it is a tile as memory has it.

    Elements that a whole assignment or adjacent writes filled are not told apart. ``origin`` says
    what the whole vector is: "load", "product" (of a dpas), "constant", or "" for anything else.
    ``extents`` are those of the matrices behind a load or a product: along what the slow index of
    the vector counts, and along the fast one; None where they are not known.

    >>> record = Record(8)
    >>> record.wrote(range(0, 8, 2)), record.wrote(range(1, 8, 2)), record.interleaved(4, 2)
    (None, None, True)
    """

    __slots__ = ("_by", "_order", "extents", "origin", "plain_tile", "size")

    def __init__(self, size: int, plain_tile: bool = False, origin: str = "") -> None:
        """Start with elements of no known order."""
        self.size = size
        self.plain_tile = plain_tile
        self.origin = origin
        self.extents: Extents = (None, None)
        self._by: list[range | None] | None = None
        self._order: list[int] = []

    def wrote(self, lanes: range | None) -> None:
        """Note a write to some elements; ``None`` for bytes that are not whole elements of it.

        >>> record = Record(4)
        >>> record.wrote(range(0, 4, 2)), record.wrote(range(4)), record.interleaved(2, 2)
        (None, None, False)
        """
        self.plain_tile = False
        self.origin = ""
        self.extents = (None, None)
        one = lanes is not None and len(lanes) == 1 < self.size
        self._order = [*self._order, lanes[0]][-self.size :] if one and lanes is not None else []
        if lanes is None or len(lanes) == self.size:
            self._by = None
        elif self._by is not None or lanes.step != 1:
            by: list[range | None] = self._by or [None] * self.size
            for lane in lanes:
                by[lane] = lanes
            self._by = by

    def copy(self) -> Record:
        """The record of a copy of the vector.

        >>> Record(4, plain_tile=True).copy().plain_tile
        True
        """
        made = Record(self.size, self.plain_tile, self.origin)
        made.extents = self.extents
        made._order = list(self._order)
        made._by = None if self._by is None else list(self._by)
        return made

    def take(self, other: Record, plain_tile: bool) -> None:
        """Go on as the record of the vector that was copied here.

        >>> record, filled = Record(4), Record(4)
        >>> filled.wrote(range(0, 4, 2)), filled.wrote(range(1, 4, 2)), record.take(filled, False)
        (None, None, None)
        >>> record.interleaved(2, 2)
        True
        """
        self.plain_tile = plain_tile and other.plain_tile
        self.origin, self.extents = other.origin, other.extents
        self._by, self._order = other.copy()._by, list(other._order)

    def interleaved(self, lanes: int, elements: int) -> bool:
        """Whether every element comes from a write of all lanes, ``elements`` apart.

        Elements that were written one by one count where all lanes of one came before the next.

        >>> Record(4).interleaved(2, 2)
        False
        """
        if min(lanes, elements) < 2 or lanes * elements != self.size:
            return False
        if self._order == [e + n * elements for e in range(elements) for n in range(lanes)]:
            return True
        if self._by is None:
            return False
        parts = [range(e, self.size, elements) for e in range(elements)]
        return all(by == parts[i % elements] for i, by in enumerate(self._by))


# ------------------------------------------------------------ simd


class Vector(Operators):
    """What `simd` and `simd_view` share: elements, arithmetic, comparison, reading."""

    __slots__ = ("buffer", "lanes", "record")
    __array_priority__ = 1000  # NumPy leaves mixed arithmetic to this class

    def __init__(self, data: Array, record: Record, lanes: range | None) -> None:
        """Wrap an array of rank 1, not copied; lanes says which elements of the record it is."""
        if not isinstance(data, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
            given = {"data": type(data).__name__}
            raise ShapeError(type(self).__name__, given, "data is not an array", "simd(T, N, init)")
        computes()
        self.buffer = data
        self.record = record
        self.lanes = lanes

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return self.buffer.dtype

    def __len__(self) -> int:
        return self.buffer.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.buffer)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """A copy, so that NumPy never writes to registers."""
        return np.array(self.buffer, dtype=dtype)

    def __repr__(self) -> str:
        """Type, size and the first elements."""
        shown = ", ".join(map(str, self.buffer[:8])) + (", …" if len(self) > 8 else "")
        return f"{type(self).__name__}<{type_name(self.dtype)}, {len(self)}>({shown})"

    def __getitem__(self, index: Any) -> Any:
        """An element, or elements of a slice as an array; C++ ``x[i]``."""
        element = self.buffer[place_in(len(self), index)]
        return element.copy() if isinstance(index, slice) else element

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write an element, or with ``[:]`` all of them; C++ ``x[i] = value``, ``view = value``."""
        where = place_in(len(self), index)
        carried = value.history().copy() if isinstance(value, Vector) else None
        self._put(where, value)
        lanes = None if self.lanes is None else self._lanes_at(self.lanes, where)
        self.record.wrote(lanes)
        if carried is None and lanes is not None and len(lanes) == self.record.size:
            self.record.origin = "constant" if np.ndim(value) == 0 else ""
        if carried is not None and lanes is None and self._is_whole(where):
            self.record.extents = carried.extents
        if carried is not None and lanes == range(carried.size) == range(self.record.size):
            # Only elements below a dword are packed, so only they can lack it.
            self.record.take(carried, plain_tile=self.dtype.itemsize < 4)

    def _is_whole(self, where: Any) -> bool:
        """Whether a write fills every byte of the vector that this is a view of."""
        base = self.buffer.base
        return where == slice(None) and base is not None and base.nbytes == self.buffer.nbytes

    def _lanes_at(self, lanes: range, where: Any) -> range:
        if isinstance(where, slice):
            return lanes[cast("slice[Any, Any, Any]", where)]
        lane = lanes[cast("int", where)]
        return range(lane, lane + 1)

    def _put(self, where: Any, value: Any) -> None:
        computes()
        room = self.buffer[where].size
        data = array_of(value, "assign").reshape(-1)
        if data.size not in (1, room):
            raise sizes_differ("assign", room, data.size)
        # Conversions narrow as in C++: values wrap, and floats out of range are not reported.
        with np.errstate(all="ignore"):
            converted = data.astype(self.dtype)
        self.buffer[where] = converted if data.size > 1 else converted[0]

    def _onto(self, value: Any) -> Self:
        """``x += y``: in the type of x; the order of the elements stays."""
        self._put(slice(None), value)
        if self.lanes is None or len(self.lanes) != self.record.size:
            self.record.wrote(self.lanes)
        return self

    def history(self) -> Record:
        """What is remembered of how these elements were filled; see the lints PX207 and PX302.

        >>> simd("u8", 4).history().plain_tile
        False
        """
        if self.lanes == range(self.record.size):
            return self.record
        in_order = self.lanes is None or self.lanes.step == 1
        part = Record(len(self), in_order and self.record.plain_tile, self.record.origin)
        part.extents = self.record.extents if in_order else (None, None)
        return part

    def read(self) -> simd:
        """Return a vector of its own with these elements.

        >>> simd("u8", 4, [1, 2, 3, 4]).select(2, 2, 1).read()
        simd<u8, 2>(2, 4)
        """
        made = simd.wrap(self.buffer.copy())
        made.record = self.history().copy()
        return made

    def merge(self, value: Any, mask: Any, other: Any = None) -> None:
        """Take the elements of ``value`` where a mask is on, and of ``other`` where it is off.

        Without ``other`` the elements whose mask is off stay. Raises `ShapeError` for a mask or
        values of another size. C++: ``x.merge(value, mask)``, ``x.merge(value, other, mask)``.

        >>> x = simd("s32", 4, [1, 2, 3, 4])
        >>> x.merge(0, x > 2)
        >>> x
        simd<s32, 4>(1, 2, 0, 0)
        """
        rest = self if other is None else other
        given = (array_of(mask, "merge"), array_of(value, "merge"), array_of(rest, "merge"))
        self[:] = merged(len(self), self.dtype, *given)

    def select(self, count: int, stride: int, offset: int = 0) -> simd_view:
        """Return a view of ``count`` elements, ``stride`` apart, from element ``offset`` on.

        Writing to the view, ``x.select(16, 2, 0)[:] = y``, writes to the vector.
        Raises `ShapeError` outside the vector. C++: ``x.select<count, stride>(offset)``.

        >>> x = simd("u8", 4, 0)
        >>> x.select(2, 2, 1)[:] = 7
        >>> x
        simd<u8, 4>(0, 7, 0, 7)
        """
        count, stride, offset = whole("select", count=count, stride=stride, offset=offset)
        last = offset + (count - 1) * stride
        if count < 1 or stride < 1 or offset < 0 or last >= len(self):
            raise ShapeError(
                "select",
                {"count": count, "stride": stride, "offset": offset},
                f"element {last} is outside the vector of {len(self)}",
                "select fewer elements, or from an earlier one",
            )
        part = slice(offset, last + 1, stride)
        lanes = None if self.lanes is None else self.lanes[part]
        return simd_view(self.buffer[part], self.record, lanes)

    def bit_cast_view(self, T: Type) -> simd_view:
        """Return a view of the same bytes as elements of another type.

        Lint PX102 for a vector that no variable holds: in C++ the view would dangle. It is found
        from the instructions of the calling function. Raises `ShapeError` where the bytes do
        not fill whole elements. C++: ``x.template bit_cast_view<T>()``.

        >>> packed = simd("u32", 1, [0x3c004000])
        >>> packed.bit_cast_view("f16").read()
        simd<f16, 2>(2.0, 1.0)
        """
        if isinstance(self, simd) and called_on_a_result(inspect.currentframe()):
            raise fail("PX102", "bit_cast_view", {"vector": self}, "no variable holds the vector")
        kind = dtype_of(T)
        if not self.buffer.flags.c_contiguous or self.buffer.nbytes % kind.itemsize:
            raise ShapeError(
                "bit_cast_view",
                {"vector": self, "T": type_name(kind)},
                "the bytes are not adjacent, or do not fill whole elements",
                "read() the view first, or choose a type that fits",
            )
        lanes = self.lanes if kind.itemsize == self.dtype.itemsize else None
        return simd_view(self.buffer.view(kind), self.record, lanes)

    def combined(self, other: Any, act: Callable[[Any, Any], Any]) -> simd:
        """Return what a function makes of each two elements, in C++'s common type."""
        return self._with(other, act)  # pyright: ignore[reportPrivateUsage]

    def _with(self, other: Any, act: Callable[[Any, Any], Any], swapped: bool = False) -> simd:
        left, right = _meet(self, other)
        try:
            with np.errstate(all="ignore"):
                result = act(right, left) if swapped else act(left, right)
        except TypeError:
            raise DTypeError(
                "operator",
                {"T": type_name(left.dtype)},
                "C++ does not define this operator for the elements",
                "convert them to another type first: simd(T, N, x)",
            ) from None
        return simd.wrap(np.asarray(result))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise ShapeError(
            "simd", {"vector": self}, "a vector is neither true nor false", "use any() or all()"
        )

    def any(self) -> bool:
        """Whether some element is not zero.

        >>> (simd("s32", 4, 1) > 2).any()
        False
        """
        return bool(self.buffer.any())

    def all(self) -> bool:
        """Whether no element is zero.

        >>> (simd("s32", 4, 1) < 2).all()
        True
        """
        return bool(self.buffer.all())


class simd_view(Vector):
    """Part of a vector, or its bytes under another type; writing to it writes to the vector."""

    __slots__ = ()


class simd(Vector):
    """A vector of N elements of type T, in registers.

    ``init`` is one number for all elements or N of them; without it they are zero. With a step the
    elements are init, init + step, …. Conversions are those of C++. A Python integer is an ``int``
    there, one that does not fit unsigned as in hexadecimal, then of 64 bits. Raises `ShapeError`
    for another number of elements, `DTypeError` for what holds no numbers.
    C++: ``simd<T, N> x(init)``, ``simd<T, N> x(base, step)``.

    >>> x = simd("u16", 4, [1, 2, 3, 4])
    >>> x + 1, x << 15
    (simd<s32, 4>(2, 3, 4, 5), simd<s32, 4>(32768, 65536, 98304, 131072))
    """

    __slots__ = ()

    def __init__(self, T: Type, N: int, init: Any = 0, step: Any = None) -> None:
        """Allocate and fill the elements."""
        if type(N) is not int or not 1 <= N <= MOST_ELEMENTS:
            if type(N) is not int:
                condition, fix = (
                    f"{quoted(N)} is not a number of elements",
                    "write simd(float_, 16)",
                )
            else:
                condition = f"a vector must have at least one element and at most {MOST_ELEMENTS:,}"
                fix = "use several vectors" if N > 0 else "use 1 or more"
            raise ShapeError("simd", {"N": N}, condition, fix)
        kind = dtype_of(T)
        super().__init__(np.zeros(N, dtype=kind), Record(N), range(N))
        self[:] = init if step is None else ramp(kind, N, array_of(init), array_of(step))

    @classmethod
    def wrap(cls, data: Array) -> simd:
        """Wrap an array that nothing else writes to."""
        made = cls.__new__(cls)
        Vector.__init__(made, data, Record(data.size), range(data.size))
        return made


def simd_mask(N: int, init: Any = True) -> simd:
    """Return a vector of N conditions, for predicates. C++: ``simd_mask<N>``.

    >>> simd_mask(4, [1, 0, 0, 1])
    simd<bool, 4>(True, False, False, True)
    """
    return simd(bool, N, init)


def array_of(value: Any, operation: str = "simd") -> Array:
    """Return the elements of a vector, a sequence or a number, else `DTypeError`."""
    return value.buffer if isinstance(value, Vector) else numbers(operation, value)


def _meet(vector: Vector, other: Any) -> tuple[Array, Array]:
    """Two operands in the type in which C++ would compute."""
    mine = vector.buffer
    theirs = other.buffer if isinstance(other, Vector) else operand(other, mine.dtype)
    if theirs.size not in (1, mine.size):
        raise sizes_differ("operator", mine.size, theirs.size)
    common = common_type(mine.dtype, theirs.dtype)
    with np.errstate(all="ignore"):
        return mine.astype(common), theirs.reshape(-1).astype(common)
