"""Element types, cache hints and data sizes under the names that ESIMD gives them."""

from __future__ import annotations

import operator
from enum import Enum
from typing import Any

import numpy as np

from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import DTypeError, InputError, quoted
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import shortly

__all__ = [
    "Type",
    "atomic_op",
    "bfloat16",
    "cache_hint",
    "double",
    "dtype_of",
    "float_",
    "half",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "lsc_data_size",
    "nbarrier_role",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "tokens",
    "whole",
]

Type = Numeric | str | np.dtype[Any] | type
"""What names an element type: one of the constants here, a name such as "f16", a NumPy dtype."""

half = as_numeric("f16")
bfloat16 = as_numeric("bf16")
float_ = as_numeric("f32")
double = as_numeric("f64")
int8_t, int16_t, int32_t, int64_t = (as_numeric(f"s{bits}") for bits in (8, 16, 32, 64))
uint8_t, uint16_t, uint32_t, uint64_t = (as_numeric(f"u{bits}") for bits in (8, 16, 32, 64))


def dtype_of(T: Type) -> np.dtype[Any]:
    """Return the NumPy dtype of an element type of a vector; `DTypeError` for types below a byte.

    >>> dtype_of(half).name, dtype_of("tf32").name, dtype_of(bool).name
    ('float16', 'float32', 'bool')
    """
    if T is bool or (isinstance(T, np.dtype) and T.kind == "b"):
        return np.dtype(np.bool_)
    numeric = as_numeric(T)
    if numeric.bits < 8:
        raise DTypeError(
            "simd", {"T": numeric}, "elements must have at least 8 bits", "pack them in uint8_t"
        )
    return numpy_dtype(numeric.row.host or numeric)


class _Named(Enum):
    """Members that are refused by name."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        known = ", ".join(f"{cls.__name__}.{member.name}" for member in cls)
        given = {"value": shortly(value)}
        raise DTypeError(cls.__name__, given, "it does not exist", f"use {known}")


class cache_hint(_Named):
    """What to do at one cache level; the value is the token of the vISA text.

    >>> cache_hint.write_back.value
    'wb'
    """

    none = "df"
    uncached = "uc"
    cached = "ca"
    write_back = "wb"
    write_through = "wt"
    streaming = "st"
    read_invalidate = "ri"


class lsc_data_size(_Named):
    """The size of one element in memory, in bits; ``default_size`` is that of the type.

    >>> lsc_data_size.u16.value
    16
    """

    default_size = 0
    u8 = 8
    u16 = 16
    u32 = 32
    u64 = 64


class atomic_op(_Named):
    """What an atomic update does; the value is the name of the vISA operation.

    >>> atomic_op.add.value
    'iadd'
    """

    inc = "iinc"
    dec = "idec"
    load = "load"
    store = "store"
    add = "iadd"
    sub = "isub"
    smin = "smin"
    smax = "smax"
    umin = "umin"
    umax = "umax"
    cmpxchg = "icas"
    fadd = "fadd"
    fsub = "fsub"
    fmin = "fmin"
    fmax = "fmax"
    fcmpxchg = "fcas"
    bit_and = "and"
    bit_or = "or"
    bit_xor = "xor"


class nbarrier_role(_Named):
    """What a thread does at a named barrier: it produces, consumes, or both."""

    producer_consumer = 0
    producer = 1
    consumer = 2


# ------------------------------------------------------------ checks
# What every call asks of its arguments before it uses them: whole numbers, cache hints.


def whole(operation: str, **values: object) -> tuple[int, ...]:
    """Return numbers as ints, in order; `InputError` for anything but integers.

    >>> whole("select", count=2, stride=1)
    (2, 1)
    """
    return tuple(_whole(operation, name, value) for name, value in values.items())


def _whole(operation: str, name: str, value: object) -> int:
    try:
        return operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        operands = {name: quoted(value)}
        raise InputError(operation, operands, f"{name} must be an integer", "use an int") from None


def tokens(operation: str, l1: object, l3: object, l2: object = cache_hint.none) -> tuple[str, str]:
    """Return the vISA tokens of two cache hints; `InputError` for anything else.

    ``l2`` is what ESIMD's manual calls the cache of ``l3``: one of the two is given.

    >>> tokens("block_load", cache_hint.cached, cache_hint.none)
    ('ca', 'df')
    """
    hints: list[str] = []
    for name, value in (("l1", l1), ("l3", l3), ("l2", l2)):
        if not isinstance(value, cache_hint):
            known = ", ".join(f"cache_hint.{hint.name}" for hint in cache_hint)
            operands = {name: quoted(value)}
            raise InputError(operation, operands, f"{name} must be a cache hint", f"one of {known}")
        hints.append(value.value)
    if "df" not in hints[1:]:
        operands = {"l2": quoted(l2), "l3": quoted(l3)}
        condition = "l2 and l3 are two names of one cache, and both are given"
        raise InputError(operation, operands, condition, "give one of them")
    return hints[0], next((hint for hint in hints[1:] if hint != "df"), "df")
