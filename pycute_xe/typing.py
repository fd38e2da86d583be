"""Names for the nested integers that the whole library speaks in, numbers or not yet numbers.

An ``IntTuple`` is an integer or a tuple of ``IntTuple``. ``4`` and ``(4,)`` are different values.
A ``Tiler`` is a layout, an integer, ``None`` (keep the mode whole) or a tuple of tilers.

The algebra computes with Python's operators and asks two questions: does one value divide another,
and is one at most another. A `Symbolic` value answers from what is assumed of it, or raises
`UndecidableError`. Where such values come from does not concern the algebra.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cmp_to_key, wraps
from typing import Any, ParamSpec, TypeAlias, TypeGuard, TypeVar

from pycute_xe.errors import UndecidableError

__all__ = [
    "Coord",
    "IntTuple",
    "Mode",
    "Shape",
    "Stride",
    "TUPLE",
    "Tiler",
    "is_tuple",
    "Symbolic",
    "adopted",
    "agree",
    "at_most",
    "built",
    "glance",
    "in_order",
    "is_integer",
    "named",
    "naming",
    "read_document",
    "register_documents",
    "register_subjects",
    "asked_of",
    "register_names",
    "register_shower",
    "register_source",
    "shown",
    "same",
]


# A recursive alias of ``int | tuple[IntTuple, ...]`` cannot hold the symbolic values and basis
# elements that leaves may also be; constructors check what the type cannot say.
IntTuple: TypeAlias = Any
Shape: TypeAlias = IntTuple
Stride: TypeAlias = IntTuple
Coord: TypeAlias = IntTuple
Tiler: TypeAlias = Any
Mode: TypeAlias = tuple[Any, Any]


TUPLE: Any = tuple
"""The type of a tree that is not a leaf, for code too quick to call `is_tuple`."""


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """Tell whether a value is a tuple rather than a leaf.

    >>> is_tuple((4,)), is_tuple(4)
    (True, False)
    """
    return isinstance(value, tuple)


_P = ParamSpec("_P")
_T = TypeVar("_T")


class Symbolic(ABC):
    """An integer known by assumptions only; ``+ - * // %`` and comparisons work as on integers.

    ``a == b`` tells whether the two are equal whatever the symbols are, and never raises. Order,
    sign and truth are answered where all values of the symbols give the same answer, and raise
    `UndecidableError` elsewhere.
    """

    __slots__ = ()

    @abstractmethod
    def at_most(self, other: Any) -> bool:
        """Tell whether ``self <= other`` for all values of the symbols."""

    @abstractmethod
    def at_least(self, other: Any) -> bool:
        """Tell whether ``self >= other`` for all values of the symbols."""

    @abstractmethod
    def differs(self, other: Any) -> bool:
        """Tell whether ``self != other`` for all values of the symbols."""

    @abstractmethod
    def undecided(self, relation: str, other: Any) -> UndecidableError:
        """Return the error that names the fact which would decide ``self <relation> other``."""

    @abstractmethod
    def coordinate(self, name: str) -> Any:
        """Return a symbol that stands for every integer from 0 up to, not including, this one."""


_SOURCES: dict[str, Callable[[Any], Any]] = {}


def register_source(package: str, adopt: Callable[[Any], Any]) -> None:
    """Let leaves whose type comes from a package become symbolic values through ``adopt``.

    >>> register_source("a_package", int)
    """
    _SOURCES[package] = adopt


def adopted(leaf: Any) -> Any:
    """Return a leaf of a registered package as a symbolic value, any other leaf as it is.

    >>> adopted(4)
    4
    """
    if type(leaf) is int or not _SOURCES:
        return leaf
    # A class made by hand may have no module.
    source = _SOURCES.get(str(type(leaf).__module__).partition(".")[0])
    return source(leaf) if source else leaf


_READERS: list[Callable[..., Any]] = []


def register_names(read: Callable[..., Any]) -> None:
    """Let `named` read text by ``read``, which knows the names of higher floors.

    >>> read = _READERS[0]
    >>> register_names(read)
    """
    _READERS[:] = [read]


def named(value: Any, *more: Any) -> Any:
    """Return the atom that text names, and any other value as it is.

    ``more`` is given to ``get_atom`` beside the text. Raises `CuteError` for an unknown name.

    >>> named(4), named("XE_DPAS_TT<8,f32,bf16>").shape_mnk
    (4, (8, 16, 16))
    """
    return _READERS[0](value, *more) if isinstance(value, str) else value


_SUBJECTS: list[Callable[[str, Any], Any]] = []


def register_subjects(read: Callable[[str, Any], Any]) -> None:
    """Let `asked_of` read what is named by ``read``, which knows the values of higher floors.

    >>> read = _SUBJECTS[0]
    >>> register_subjects(read)
    """
    _SUBJECTS[:] = [read]


def asked_of(verb: str, value: Any) -> Any:
    """Return what a text, a file or a value names, as every verb reads it.

    Raises `InputError` for what the verb does not take.

    >>> asked_of("owner", "XE_DPAS_TT<8,f32,bf16>").shape_mnk
    (8, 16, 16)
    """
    return _SUBJECTS[0](verb, value)


_DOCUMENTS: list[Callable[..., Any]] = []


def register_documents(read: Callable[..., Any]) -> None:
    """Let `read_document` read documents by ``read``, which knows the values of higher floors.

    >>> read = _DOCUMENTS[0]
    >>> register_documents(read)
    """
    _DOCUMENTS[:] = [read]


def read_document(text: str | bytes) -> Any:
    """Return the value of a document, as ``from_json`` does and with what it raises.

    >>> from pycute_xe.files import to_json
    >>> read_document(to_json((4, 8)))
    (4, 8)
    """
    return _DOCUMENTS[0](text)


def glance(value: Any) -> str:
    """Return the kind of a value and the first line of its text, as ``repr`` of a long one.

    >>> glance(4)
    '<int 4>'
    """
    line = str(value).partition("\n")[0]
    short = line if len(line) <= 120 else f"{line[:119].rstrip()}…"
    return f"<{type(value).__name__} {short}>"


def built(value: Any) -> str:
    """Return the call that builds a dataclass: fields in order, those of their defaults left out.

    Law: evaluated where its names are known, it is the value.

    >>> from pycute_xe.atom import XE_LOAD_2D, make_block_2d_copy
    >>> copy = make_block_2d_copy(XE_LOAD_2D(16, 8, 16), ("ld", 1), "bf16")
    >>> built(copy)[-58:]
    ", Layout((16, 8), (8, 1)), (8, 16), gmem_stride=('ld', 1))"
    """
    from dataclasses import MISSING, fields  # what takes a third of the time of an import

    given: list[str] = []
    skipped = False
    for field in fields(value):
        current = getattr(value, field.name)
        if field.default is not MISSING and current == field.default:
            skipped = True
        else:
            given.append(f"{field.name}={current!r}" if skipped else repr(current))
    return f"{type(value).__name__}({', '.join(given)})"


_SHOWERS: list[Callable[[Any], Mapping[str, str]]] = []


def register_shower(show: Callable[[Any], Mapping[str, str]]) -> None:
    """Let `shown` ask ``show``, which knows the readers of higher floors.

    >>> show = _SHOWERS[0]
    >>> register_shower(show)
    """
    _SHOWERS[:] = [show]


def shown(value: Any, include: object = None, exclude: object = None) -> dict[str, str]:
    """Return what notebooks show of a value, by MIME type: its text, and a picture or a table.

    A value's class has it as ``_repr_mimebundle_``, which Jupyter and its relatives ask for.

    >>> from pycute_xe.layout import Layout
    >>> sorted(shown(Layout((2, 2))))
    ['image/svg+xml', 'text/plain']
    """
    del include, exclude  # a notebook leaves out what it does not show
    return dict(_SHOWERS[0](value))


def is_integer(value: object) -> bool:
    """Tell whether a value is an integer, known or not.

    >>> is_integer(4), is_integer(4.0)
    (True, False)
    """
    return type(value) is int or isinstance(value, Symbolic)


def at_most(a: Any, b: Any) -> bool:
    """Choose between a branch for ``a <= b`` and one for ``a >= b`` that agree where both hold.

    Raises `UndecidableError` where neither holds for all values of the symbols.

    >>> at_most(3, 4), at_most(4, 4), at_most(5, 4)
    (True, True, False)
    """
    if type(a) is int and type(b) is int:
        return a <= b
    if isinstance(a, Symbolic):
        if a.at_most(b):
            return True
        if a.at_least(b):
            return False
        raise a.undecided("<=", b)
    if isinstance(b, Symbolic):
        if b.at_least(a):
            return True
        if b.at_most(a):
            return False
        raise b.undecided(">=", a)
    return bool(a <= b)


def same(a: Any, b: Any) -> bool:
    """Tell whether two values are equal, where it matters that they are never so otherwise.

    Raises `UndecidableError` where they are equal for some values of the symbols only.

    >>> same(3, 3), same(3, 4)
    (True, False)
    """
    if a == b:
        return True
    value, other = (a, b) if isinstance(a, Symbolic) else (b, a)
    if isinstance(value, Symbolic) and not value.differs(other):
        raise value.undecided("==", other)
    return False


def agree(leaves: Iterable[Any]) -> None:
    """Refuse leaves among which one name stands for two different symbols, as adding them does.

    >>> agree((4, 8))
    """
    total: Any = 0
    for leaf in leaves:
        if isinstance(leaf, Symbolic):
            total = total + leaf


def naming(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Let what a function cannot decide be asked in its name, with its operands.

    >>> naming(abs)(-3)
    3
    """

    @wraps(function)
    def named(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return function(*args, **kwargs)
        except UndecidableError as error:
            from inspect import signature  # as `dataclasses` above

            operands = dict(zip(signature(function).parameters, args, strict=False))
            raise error.within(function.__name__, {**operands, **kwargs}) from None

    return named


def in_order(modes: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Put a list of tuples into the order of their first entries, and return it.

    Raises `UndecidableError` where the order depends on the symbols.

    >>> in_order([(4, 2), (1, 4)])
    [(1, 4), (4, 2)]
    """
    for mode in modes:
        if type(mode[0]) is not int:
            return sorted(modes, key=cmp_to_key(_by_first))
    modes.sort()
    return modes


def _by_first(one: tuple[Any, ...], other: tuple[Any, ...]) -> int:
    if one[0] == other[0]:
        return 0
    return -1 if at_most(one[0], other[0]) else 1
