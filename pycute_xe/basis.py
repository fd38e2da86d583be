"""Basis elements ``E(i)``, the strides of coordinate layouts.

A basis element is a unit vector of a coordinate space; scaled by an integer and added to others it
gives a coordinate. A layout with such strides maps to coordinates instead of offsets.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, NoReturn

from pycute_xe.errors import CoordError, ShapeError
from pycute_xe.signatures import shortly, typed
from pycute_xe.typing import Symbolic, adopted, is_tuple

__all__ = [
    "ArithTuple",
    "Basis",
    "BasisSum",
    "E",
    "basis_get",
    "basis_sum",
    "coefficients",
    "is_basis",
]


class ArithTuple(tuple[Any, ...]):
    """A coordinate: a tuple that adds and scales mode by mode; missing modes count as zero.

    Law: ``(a + b)[i] == a[i] + b[i]``, and ``a == b`` where the entries are equal, with zeros for
    those that one of them lacks; plain tuples count as coordinates. The hash is that of the plain
    tuple, so members of a set count with their zeros. Raises `ShapeError` where an offset (an
    integer other than 0) is added, as where a layout mixes both kinds of strides.

    >>> ArithTuple((1, 2)) + ArithTuple((0, 5, 3))
    ArithTuple((1, 7, 3))
    >>> ArithTuple((1,)) == (1, 0), ArithTuple((1,)) == (0, 1)
    (True, False)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Tell whether two coordinates are equal; missing modes count as zero, as does 0."""
        if type(other) is int:
            return other == 0 and _equal(self, ())
        return _equal(self, other) if is_tuple(other) else NotImplemented

    def __ne__(self, other: object) -> bool:
        """Tell whether two coordinates differ."""
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        """Hash of the plain tuple, zeros included."""
        return hash(tuple(self))

    @typed
    def __add__(self, other: Any) -> Any:
        """Add mode by mode; zero is the neutral element, and other integers are refused."""
        if isinstance(other, int):
            return _unless_offset(self, other)
        if isinstance(other, (Basis, BasisSum)):
            other = other.as_coord()
        if not is_tuple(other):
            return NotImplemented
        return _add(self, other)

    def __radd__(self, other: Any) -> Any:
        """Addition commutes."""
        return self.__add__(other)

    def __mul__(self, scale: Any) -> Any:
        """Scale every mode by an integer."""
        return ArithTuple(_scale(leaf, scale) for leaf in self)

    __rmul__ = __mul__

    def __neg__(self) -> ArithTuple:
        """The opposite coordinate."""
        return self * -1

    def __sub__(self, other: Any) -> Any:
        """Subtract mode by mode; zero changes nothing, and other integers are refused."""
        return self + _negated(other) if _subtracts(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        """Subtract from a coordinate, or from zero."""
        return -self + other

    def __lt__(self, other: Any) -> bool:
        """Tell whether the index of this coordinate is less: the last mode that differs decides."""
        return _below(self, _coord_of("<", self, other))

    def __gt__(self, other: Any) -> bool:
        """Tell whether the index of this coordinate is more."""
        return _below(_coord_of(">", self, other), self)

    def __le__(self, other: Any) -> bool:
        """Tell whether the index of this coordinate is not more."""
        return not self > other

    def __ge__(self, other: Any) -> bool:
        """Tell whether the index of this coordinate is not less."""
        return not self < other

    def __repr__(self) -> str:
        """An expression that evaluates back."""
        return f"ArithTuple({tuple(self)!r})"

    def __str__(self) -> str:
        """As the plain tuple prints."""
        return f"({', '.join(map(str, self))})" if len(self) != 1 else f"({self[0]},)"


def _equal(left: Any, right: Any) -> bool:
    if is_tuple(left) or is_tuple(right):
        pairs = zip_longest(_coord(left), _coord(right), fillvalue=0)
        return all(_equal(x, y) for x, y in pairs)
    return bool(left == right)


def _below(left: Any, right: Any) -> bool:
    """Tell whether one coordinate comes before another, the last mode counting most."""
    if not is_tuple(left) and not is_tuple(right):
        return bool(left < right)
    pairs = list(zip_longest(_coord(left), _coord(right), fillvalue=0))
    for x, y in reversed(pairs):
        if not _equal(x, y):
            return _below(x, y)
    return False


def _coord_of(sign: str, coord: Any, other: Any) -> Any:
    """Return the other side of a comparison as a coordinate; zero is one, an offset is not."""
    if isinstance(other, (Basis, BasisSum)):
        return other.as_coord()
    if is_tuple(other):
        return other
    if type(other) is int and other == 0:
        return ()
    raise ShapeError(
        sign,
        {"left": coord, "right": other},
        f"{coord} is a coordinate and {other} is not",
        "compare coordinates, or a coordinate with 0",
    )


def _subtracts(value: Any) -> bool:
    """Tell whether a value can be what is taken from a coordinate."""
    return isinstance(value, (int, tuple, Basis, BasisSum))


def _negated(value: Any) -> Any:
    if is_tuple(value):
        return ArithTuple(_negated(part) for part in value)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__neg__"):
        given = {"right": shortly(value)}
        raise ShapeError("-", given, "an entry is not an integer", "subtract coordinates")
    return -value


def _add(left: Any, right: Any) -> Any:
    """Add two entries; a step along an axis and one along a part of it have no sum."""
    if is_tuple(left) and is_tuple(right):
        return ArithTuple(_add(x, y) for x, y in zip_longest(left, right, fillvalue=0))
    if is_tuple(left) or is_tuple(right):
        parts: tuple[Any, Any] = (left, right) if is_tuple(left) else (right, left)
        whole, leaf = parts
        if leaf == 0:
            return ArithTuple(_add(part, 0) for part in whole)
        return leaf if _equal(whole, 0) else _unless_offset(ArithTuple(whole), leaf)
    return left + right


def _unless_offset(coord: Any, other: int) -> Any:
    """Return the coordinate plus zero, or refuse: C++ does, at compile time."""
    if other == 0:
        return coord
    raise ShapeError(
        "add",
        {"left": coord, "right": other},
        f"{coord} is a coordinate and {other} an offset, which have no sum",
        "give a layout strides of one kind, and zeros",
    )


def _scale(part: Any, scale: Any) -> Any:
    # A nested mode may be a plain tuple, whose own ``*`` repeats it.
    return ArithTuple(_scale(p, scale) for p in part) if is_tuple(part) else part * scale


def _coord(value: Any) -> tuple[Any, ...]:
    """An integer stands for a coordinate of one mode, zero for the empty one."""
    if is_tuple(value):
        return value
    return (value,) if value else ()


class Basis:
    """A scaled basis element ``value * E(*modes)``: immutable, hashable, adds to a coordinate.

    ``E(0, 1)`` is the unit of mode 1 inside mode 0. Prints as CuTe prints: ``3*E(0, 1)`` is
    ``3@1@0``. Counterpart: ``cute::ScaledBasis``.

    >>> print(3 * E(0, 1), 2 * E(0) + 3 * E(1))
    3@1@0 (2, 3)
    """

    __slots__ = ("_hash", "modes", "value")

    modes: tuple[int, ...]
    value: Any
    _hash: int

    def __init__(self, value: Any, modes: tuple[int, ...]) -> None:
        """Keep the scale and the path of modes, outermost first."""
        if not is_tuple(modes) or not modes or any(type(m) is not int or m < 0 for m in modes):
            raise CoordError("E", {"modes": modes}, "modes must be non-negative integers", "E(0)")
        if type(value) is not int and not isinstance(value, Symbolic):
            value = self._scale_of(value)
        set_ = object.__setattr__
        set_(self, "value", value)
        set_(self, "modes", modes)
        set_(self, "_hash", hash((value, modes)))

    @staticmethod
    def _scale_of(value: Any) -> Any:
        """Return a scale of another kind as an integer or a symbolic one, or refuse it."""
        value = adopted(value)
        if type(value) is int or isinstance(value, Symbolic):
            return value
        raise ShapeError(
            "Basis",
            {"value": repr(value)},
            "a basis element must be scaled by an integer; XOR strides have no axes",
            "use integers, or F2Layout for offsets that add by XOR",
        )

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: basis elements are values."""
        raise AttributeError(f"Basis is immutable; cannot set {name}")

    def __delattr__(self, name: str) -> None:
        """Refuse: basis elements are values."""
        raise AttributeError(f"Basis is immutable; cannot delete {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor."""
        return Basis, (self.value, self.modes)

    def __mul__(self, scale: Any) -> Any:
        """Scale; zero times a basis element is the integer zero."""
        if isinstance(scale, (Basis, tuple)):
            return NotImplemented
        if type(scale) in (str, float, list) or hasattr(scale, "__array__"):
            kind = type(scale).__name__  # pyright: ignore[reportUnknownArgumentType]
            given = {"basis": self, "scale": kind}
            raise ShapeError(
                "Basis", given, "a basis element must be scaled by an integer", "use one"
            )
        value = self.value * scale
        return Basis(value, self.modes) if value != 0 else 0

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        """The opposite direction."""
        return self * -1

    def __add__(self, other: Any) -> Any:
        """Add into a coordinate; zero is the neutral element, and other integers are refused."""
        if isinstance(other, int):
            return _unless_offset(self, other)
        if isinstance(other, Basis) and other.modes == self.modes:
            total = self.value + other.value
            return Basis(total, self.modes) if total != 0 else 0
        if isinstance(other, (Basis, tuple)):
            return self.as_coord() + (other.as_coord() if isinstance(other, Basis) else other)
        return NotImplemented

    def __radd__(self, other: Any) -> Any:
        """Addition commutes."""
        return self.__add__(other)

    def __sub__(self, other: Any) -> Any:
        """Subtract; the difference along one axis is a basis element again."""
        return self + _negated(other) if _subtracts(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        """Subtract from a coordinate, or from zero."""
        return -self + other

    def as_coord(self) -> ArithTuple:
        """Return the coordinate this element is: zeros but for its own mode.

        >>> (3 * E(1)).as_coord()
        ArithTuple((0, 3))
        """
        coord: Any = self.value
        for mode in reversed(self.modes):
            coord = ArithTuple((0,) * mode + (coord,))
        return coord

    def __eq__(self, other: object) -> bool:
        """Equal scale and equal path."""
        if isinstance(other, Basis):
            return self.modes == other.modes and bool(self.value == other.value)
        return NotImplemented

    def __hash__(self) -> int:
        """Hash of scale and path."""
        return self._hash

    def __repr__(self) -> str:
        """An expression that evaluates back."""
        unit = f"E({', '.join(map(str, self.modes))})"
        if self.value == 0:  # ``0*E(0)`` is the integer 0
            return f"Basis({self.value!r}, {self.modes!r})"
        return unit if self.value == 1 else f"{self.value!r}*{unit}"

    def __str__(self) -> str:
        """As CuTe prints: the scale, then the path from the inside out."""
        scale = str(self.value)
        # A symbolic sum needs brackets; a number never does.
        scale = f"({scale})" if " " in scale else scale
        return "@".join((scale, *map(str, reversed(self.modes))))


class BasisSum:
    """A stride along several axes at once: a sum of basis elements, one for each axis.

    Made by a layout of a coordinate that is given as the stride of a leaf. Adds to a coordinate and
    scales; what needs a single axis refuses it. Prints its terms: ``1@0+2@1``.

    >>> diagonal = basis_sum(E(0) + 2 * E(1))
    >>> print(diagonal, 3 * diagonal, diagonal.as_coord())
    1@0+2@1 3@0+6@1 (1, 2)
    """

    __slots__ = ("terms",)

    terms: tuple[Basis, ...]

    def __init__(self, terms: tuple[Basis, ...]) -> None:
        """Keep the terms, in the order of their axes."""
        object.__setattr__(self, "terms", tuple(sorted(terms, key=lambda term: term.modes)))

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: strides are values."""
        raise AttributeError(f"BasisSum is immutable; cannot set {name}")

    def __delattr__(self, name: str) -> None:
        """Refuse: strides are values."""
        raise AttributeError(f"BasisSum is immutable; cannot delete {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor."""
        return BasisSum, (self.terms,)

    def as_coord(self) -> ArithTuple:
        """Return the coordinate that the sum is.

        >>> basis_sum(E(0) + E(2)).as_coord()
        ArithTuple((1, 0, 1))
        """
        total: Any = ArithTuple(())
        for term in self.terms:
            total = total + term
        return total

    def __mul__(self, scale: Any) -> Any:
        """Scale every term."""
        if isinstance(scale, (Basis, BasisSum, tuple)):
            return NotImplemented
        return basis_sum(ArithTuple(self.as_coord() * scale))

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        """The opposite direction."""
        return self * -1

    def __add__(self, other: Any) -> Any:
        """Add into a coordinate; zero is the neutral element, and other integers are refused."""
        return self if type(other) is int and other == 0 else self.as_coord() + other

    def __radd__(self, other: Any) -> Any:
        """Addition commutes."""
        return self.__add__(other)

    def __eq__(self, other: object) -> bool:
        """Equal terms."""
        if isinstance(other, BasisSum):
            return self.terms == other.terms
        return NotImplemented

    def __hash__(self) -> int:
        """Hash of the terms."""
        return hash(self.terms)

    def refuse(self, *_: Any) -> NoReturn:
        """Refuse: what was asked takes one axis. Raises `ShapeError`."""
        raise ShapeError(
            "stride",
            {"stride": self},
            f"the stride {self} moves along {len(self.terms)} axes at once",
            "use strides along one axis each; composition, coalesce and layout_add take sums",
        )

    __lt__ = __gt__ = __le__ = __ge__ = __mod__ = __rmod__ = refuse
    __floordiv__ = __rfloordiv__ = __abs__ = __int__ = __index__ = refuse

    def __repr__(self) -> str:
        """An expression that a layout reads as this stride."""
        return " + ".join(map(repr, self.terms))

    def __str__(self) -> str:
        """The terms as CuTe prints them."""
        return "+".join(map(str, self.terms))


def basis_sum(coord: Any) -> Any:
    """Return a coordinate as a stride: zero, a basis element, or a sum of several.

    >>> basis_sum(E(0) + E(1)), basis_sum(ArithTuple((0, 3))), basis_sum(ArithTuple((0, 0)))
    (E(0) + E(1), 3*E(1), 0)
    """
    terms = tuple(_terms(coord, ()))
    return BasisSum(terms) if len(terms) > 1 else terms[0] if terms else 0


def coefficients(stride: Any) -> tuple[Any, ...]:
    """Return the numbers in a stride: an integer itself, or the scale along each axis.

    >>> coefficients(3), coefficients(2 * E(1)), coefficients(basis_sum(E(0) + 4 * E(1)))
    ((3,), (2,), (1, 4))
    """
    terms = stride.terms if isinstance(stride, BasisSum) else (stride,)
    return tuple([term.value if isinstance(term, Basis) else term for term in terms])


def _terms(part: Any, path: tuple[int, ...]) -> list[Basis]:
    if is_tuple(part):
        return [term for i, entry in enumerate(part) for term in _terms(entry, (*path, i))]
    return [Basis(part, path)] if part != 0 else []


def E(*modes: int) -> Basis:
    """Return the unit basis element of a mode, or of a mode within a mode.

    Law: ``crd2idx(c, shape, E(i)) == c * E(i)``. Raises `CoordError` for negative modes.
    Counterpart: ``cute::E<0,1>``.

    >>> E(0, 1)
    E(0, 1)
    """
    return Basis(1, modes)


def is_basis(value: object) -> bool:
    """Tell whether a stride is a basis element.

    >>> is_basis(E(0)), is_basis(4)
    (True, False)
    """
    return isinstance(value, Basis)


def basis_get(stride: Any, entry: Any) -> Any:
    """Return the part of ``entry`` that a basis element points at, or ``entry`` for an integer.

    Law: ``basis_get(E(i), t) == t[i]``. Raises `CoordError` where the path leaves the tuple,
    `ShapeError` for a sum of basis elements.
    Counterpart: ``cute::basis_get``.

    >>> basis_get(5 * E(1), ("a", "b"))
    'b'
    """
    if isinstance(stride, ArithTuple):
        stride = basis_sum(stride)
    if isinstance(stride, BasisSum):
        stride.refuse()
    if not isinstance(stride, Basis):
        return entry
    part = entry
    for mode in stride.modes:
        if not is_tuple(part) or mode >= len(part):
            raise CoordError(
                "basis_get",
                {"stride": stride, "entry": entry},
                f"the entry has no mode {mode}",
                "give a tuple that nests as deep as the stride points",
            )
        part = part[mode]
    return part
