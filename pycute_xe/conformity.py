"""Whether a value is of an annotated type, and what its leaves are."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from typing import (
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
)

from pycute_xe.typing import is_tuple

__all__ = [
    "MOST_LEVELS",
    "conforms",
    "is_leaf",
    "is_own",
    "leaves_of",
    "levels_of",
    "types_decide",
    "types_in",
]

# Where the leaves of tuples of integers come from, apart from Python.
_INTEGERS = ("pycute_xe.basis", "pycute_xe.symbolic", "pycute_xe.f2", "pycute_xe.unknown", "sympy")

MOST_LEVELS = 100
"""How deep tuples may nest: layouts and text that nest deeper are refused, and arguments with which
Python's own limit is met."""


def levels_of(value: Any) -> int:
    """How deep tuples nest, counted without recursion, to one more than is allowed."""
    level, tuples = 0, {id(value): value} if is_tuple(value) else {}
    while level <= MOST_LEVELS and any(map(len, tuples.values())):
        parts = (part for one in tuples.values() for part in one)
        # What occurs twice is looked into once; most parts are integers.
        tuples = {id(part): part for part in parts if type(part) is not int and is_tuple(part)}
        level += 1
    return level


def leaves_of(value: Any) -> Iterator[Any]:
    """Yield the leaves of a tuple, however deep."""
    pending = [value]
    while pending:
        one = pending.pop()
        if is_tuple(one):
            pending += reversed(one)
        else:
            yield one


def is_leaf(value: Any) -> bool:
    """Whether a value may be a leaf: an integer, a symbolic one, a basis element or ``None``."""
    return value is None or type(value) is int or type(value).__module__.startswith(_INTEGERS)


def is_own(value: Any) -> bool:
    """Whether a value is a leaf, or another value of the library."""
    return is_leaf(value) or type(value).__module__.startswith("pycute_xe.")


def conforms(value: Any, kind: Any) -> bool:
    """Tell whether a value is of an annotated type, items of tuples and mappings included.

    >>> conforms((1, "x"), tuple[int, ...]), conforms({"K": 32}, Mapping[str, int])
    (False, True)
    """
    origin, inner = get_origin(kind), get_args(kind)
    if kind is None:
        return value is None
    if origin in (Union, types.UnionType):
        return any(conforms(value, one) for one in inner)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if isinstance(origin, type):
        return isinstance(value, origin) and _parts_conform(value, origin, inner)
    if not isinstance(kind, type):
        return True
    if kind is int:
        return type(value) is int or (is_leaf(value) and value is not None)
    if kind is float:
        return type(value) in (int, float)
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol
        return True


def _parts_conform(value: Any, origin: type, inner: tuple[Any, ...]) -> bool:
    if issubclass(origin, Mapping) and len(inner) == 2:
        return all(conforms(k, inner[0]) and conforms(v, inner[1]) for k, v in value.items())
    if origin is not tuple or not inner:
        return True
    if inner[-1] is Ellipsis:
        return all(conforms(part, inner[0]) for part in _to_look_at(value, inner[0]))
    return len(value) == len(inner) and all(map(conforms, value, inner))


def _to_look_at(parts: tuple[Any, ...], kind: Any) -> Iterable[Any]:
    """The parts of a tuple that decide: one of each type where the type alone decides."""
    plain = get_origin(kind) is None and isinstance(kind, type)
    if plain and not getattr(kind, "_is_protocol", False):
        found: dict[Any, Any] = {type(part): part for part in parts}
        return found.values()
    return parts


def types_in(value: object) -> object:
    """Return the type of a value; of a tuple, the types of its parts.

    >>> types_in(4), types_in((4, "x"))
    (<class 'int'>, (<class 'int'>, <class 'str'>))
    """
    return tuple(map(type, value)) if is_tuple(value) and type(value) is tuple else type(value)


def types_decide(value: object, kind: Any) -> bool:
    """Tell whether what conforms to a kind conforms with all values of the same `types_in`.

    >>> types_decide((4,), tuple[int, ...]), types_decide(((4,),), tuple[Any, ...])
    (True, False)
    """
    if is_tuple(value) and (type(value) is not tuple or any(map(is_tuple, value))):
        return False
    return _by_type(kind)


def _by_type(kind: Any) -> bool:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType, tuple):
        return all(map(_by_type, inner))
    if origin is Literal:
        return False
    if isinstance(origin, type):
        return not issubclass(origin, Mapping)
    return not getattr(kind, "_is_protocol", False)
