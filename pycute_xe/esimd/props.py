"""What an access promises or asks for beside its operands: alignment and cache hints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from pycute_xe.errors import InputError, quoted
from pycute_xe.esimd.types import Type, cache_hint, dtype_of, tokens, whole

__all__ = [
    "Asked",
    "alignment",
    "asked",
    "cache_hint_L1",
    "cache_hint_L2",
    "cache_hint_L3",
    "overaligned_tag",
    "properties",
    "Pointer",
    "pointer_of",
    "reinterpret_cast",
]

# ------------------------------------------------------------ pointers
# Pointers to global memory, with the arithmetic of C++: they count elements, not bytes.


@dataclass(frozen=True, slots=True)
class Pointer:
    """A byte address that knows the type it points to. A kernel gets one for each array.

    Law: ``(p + n).address == p.address + n * p.dtype.itemsize``, as in C++.

    >>> p = Pointer(np.dtype(np.float16), 4096)
    >>> (p + 3).address, (p + 8) - p
    (4102, 8)
    """

    dtype: np.dtype[Any]
    address: int

    def __add__(self, count: int) -> Pointer:
        (elements,) = whole("Pointer", elements=count)
        return Pointer(self.dtype, self.address + elements * self.dtype.itemsize)

    __radd__ = __add__

    def __sub__(self, other: int | Pointer) -> Any:
        """A pointer, or the elements between two pointers."""
        if isinstance(other, Pointer):
            return (self.address - other.address) // self.dtype.itemsize
        (elements,) = whole("Pointer", elements=other)
        return self + -elements

    def __getitem__(self, index: object) -> NoReturn:
        """Refuse: a work-item reads memory by messages."""
        wrong = "a pointer has no elements: memory is read by messages"
        fix = f"write block_load(T, N, p + {quoted(index)}), or gather"
        raise InputError("Pointer", {"index": index}, wrong, fix)


def reinterpret_cast(T: Type, ptr: Pointer) -> Pointer:
    """Return the same address as a pointer to another type. C++: ``reinterpret_cast<T*>(ptr)``.

    >>> (reinterpret_cast("u32", Pointer(np.dtype(np.float16), 0)) + 1).address
    4
    """
    return Pointer(dtype_of(T), pointer_of("reinterpret_cast", ptr).address)


def pointer_of(operation: str, value: object, T: Type | None = None) -> Pointer:
    """Return a pointer, of the type that an operation wants; `InputError` for other things."""
    if not isinstance(value, Pointer):
        raise InputError(
            operation,
            {"ptr": type(value).__name__},
            "ptr must be a Pointer",
            "pass the array to esimd.launch: the kernel gets a pointer for it",
        )
    if T is not None and value.dtype != dtype_of(T):
        raise InputError(
            operation,
            {"T": T, "ptr": f"pointer to {value.dtype}"},
            "the pointer points to another type",
            "reinterpret_cast(T, ptr), or name the type of the array",
        )
    return value


# ------------------------------------------------------------ props

_NONE = cache_hint.none


class alignment:
    """The address is a multiple of so many bytes, a power of two. C++: ``alignment<nbytes>``.

    >>> alignment(16).nbytes
    16
    """

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: int) -> None:
        """Keep the promise; `InputError` unless it is a power of two."""
        (promised,) = whole("alignment", nbytes=nbytes)
        if promised < 1 or promised & (promised - 1):
            condition = f"an alignment must be a power of two of bytes, not {promised}"
            raise InputError("alignment", {"nbytes": promised}, condition, "use 4, 8, 16 … bytes")
        self.nbytes = promised


class overaligned_tag(alignment):
    """The older name of `alignment`. C++: ``overaligned_tag<nbytes>{}``.

    >>> overaligned_tag(8).nbytes
    8
    """

    __slots__ = ()


class _Level:
    """A cache hint for one level."""

    __slots__ = ("hint",)
    level = ""

    def __init__(self, hint: cache_hint) -> None:
        """Keep the hint; `InputError` for anything else."""
        tokens(type(self).__name__, hint, _NONE)
        self.hint = hint


class cache_hint_L1(_Level):
    """What to do at L1. C++: ``cache_hint_L1<hint>``.

    >>> cache_hint_L1(cache_hint.streaming).hint.value
    'st'
    """

    __slots__ = ()
    level = "l1"


class cache_hint_L3(_Level):
    """What to do at L3. C++: ``cache_hint_L3<hint>``."""

    __slots__ = ()
    level = "l3"


class cache_hint_L2(cache_hint_L3):
    """The same cache as `cache_hint_L3`, under the name that newer headers give it."""

    __slots__ = ()


class properties:
    """A list of `alignment` and cache hints. C++: ``properties{cache_hint_L1<…>, alignment<…>}``.

    Raises `InputError` for anything else, and for the same property twice.

    >>> len(properties(cache_hint_L1(cache_hint.cached), alignment(16)).values)
    2
    """

    __slots__ = ("values",)

    def __init__(self, *values: alignment | _Level) -> None:
        """Keep the properties."""
        for value in values:
            if not isinstance(value, (alignment, _Level)):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise _unknown("properties", value)
        self.values = values


@dataclass(frozen=True, slots=True)
class Asked:
    """The hints of an access, and the alignment that it promises, if any."""

    l1: cache_hint
    l3: cache_hint
    nbytes: int | None

    @property
    def hinted(self) -> bool:
        """Whether there is a cache hint."""
        return (self.l1, self.l3) != (_NONE, _NONE)

    def tokens(self, operation: str) -> tuple[str, str]:
        """The hints as tokens of the vISA text."""
        return tokens(operation, self.l1, self.l3)


def asked(
    operation: str,
    given: tuple[Any, ...],
    l1: Any = _NONE,
    l3: Any = _NONE,
    l2: Any = _NONE,
    nbytes: Any = None,
) -> Asked:
    """Return what keywords and property lists ask for together; `InputError` for one twice.

    >>> asked("block_load", (overaligned_tag(16),), l1=cache_hint.cached).nbytes
    16
    """
    tokens(operation, l1, l3, l2)
    by_name: dict[str, Any] = {}
    for name, hint in (("l1", l1), ("l3", l3), ("l3", l2)):
        if hint is not _NONE:
            by_name[name] = hint
    values = [value for one in given for value in _values(operation, one)]
    for value in [*values, *([] if nbytes is None else [alignment(nbytes)])]:
        name = value.level if isinstance(value, _Level) else "alignment"
        if name in by_name:
            raise InputError(
                operation, {"property": name}, f"{name} is given twice", "give it once"
            )
        by_name[name] = value.hint if isinstance(value, _Level) else value.nbytes
    return Asked(by_name.get("l1", _NONE), by_name.get("l3", _NONE), by_name.get("alignment"))


def _values(operation: str, given: object) -> tuple[Any, ...]:
    if isinstance(given, properties):
        return given.values
    if isinstance(given, alignment):
        return (given,)
    raise _unknown(operation, given)


def _unknown(operation: str, given: object) -> InputError:
    condition = "a property is an alignment or a cache hint of one level"
    fix = "properties(cache_hint_L1(cache_hint.cached), alignment(16))"
    return InputError(operation, {"given": quoted(given)}, condition, fix)
