"""Floor 0: element types, by name and width in bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pycute_xe.errors import DTypeError

__all__ = ["Numeric", "as_numeric", "numerics"]

Kind = Literal["float", "signed", "unsigned"]


@dataclass(frozen=True, slots=True)
class Numeric:
    """An element type: its name, its width in bits and its kind.

    Two types are equal when all three are. Get one by name with `as_numeric`.

    >>> as_numeric("bf16").bits
    16
    """

    name: str
    bits: int
    kind: Kind

    def __str__(self) -> str:
        """The name, as it is written in calls."""
        return self.name

    def __repr__(self) -> str:
        """An expression that evaluates back."""
        return f"as_numeric({self.name!r})"

    def to_cpp(self) -> str:
        """Return the name of the type in C++. Source: ``cute/numeric/numeric_types.hpp``.

        >>> as_numeric("bf16").to_cpp(), as_numeric("u4").to_cpp()
        ('bfloat16_t', 'uint4_t')
        """
        if self.kind == "float":
            return _CPP_FLOATS[self.name]
        return f"{'u' if self.kind == 'unsigned' else ''}int{self.bits}_t"

    @property
    def bytes(self) -> int:
        """Width in whole bytes; `DTypeError` for types narrower than a byte.

        >>> as_numeric("f32").bytes
        4
        """
        if self.bits % 8:
            raise DTypeError("bytes", {"type": self}, f"{self} is {self.bits} bits", "use .bits")
        return self.bits // 8


_TYPES = {
    t.name: t
    for t in (
        *(Numeric(f"f{bits}", bits, "float") for bits in (64, 32, 16)),
        Numeric("tf32", 32, "float"),
        Numeric("bf16", 16, "float"),
        Numeric("f8e4m3", 8, "float"),
        Numeric("f8e5m2", 8, "float"),
        Numeric("ue8m0", 8, "float"),
        Numeric("f4e2m1", 4, "float"),
        *(Numeric(f"s{bits}", bits, "signed") for bits in (64, 32, 16, 8, 4, 2)),
        *(Numeric(f"u{bits}", bits, "unsigned") for bits in (64, 32, 16, 8, 4, 2)),
    )
}

# Packs of elements that copies move whole: no arithmetic, no arrays.
_PACKS = {t.name: t for t in (Numeric(f"u{bits}", bits, "unsigned") for bits in (512, 256, 128))}

_CPP_FLOATS = {
    "f64": "double",
    "f32": "float",
    "f16": "half_t",
    "tf32": "tfloat32_t",
    "bf16": "bfloat16_t",
    "f8e4m3": "float_e4m3_t",
    "f8e5m2": "float_e5m2_t",
    "ue8m0": "float_ue8m0_t",
    "f4e2m1": "float_e2m1_t",
}

# The names other libraries use for the same types (NumPy, ml_dtypes, CuTe DSL).
_ALIASES = {
    "float64": "f64",
    "float32": "f32",
    "float": "f32",
    "float16": "f16",
    "half": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "float8_e8m0fnu": "ue8m0",
    "float4_e2m1fn": "f4e2m1",
    **{f"int{bits}": f"s{bits}" for bits in (64, 32, 16, 8, 4, 2)},
    **{f"uint{bits}": f"u{bits}" for bits in (512, 256, 128, 64, 32, 16, 8, 4, 2)},
}


def numerics() -> tuple[str, ...]:
    """Return every element type name, widest floats first.

    >>> "bf16" in numerics()
    True
    """
    return tuple(_TYPES)


def as_numeric(value: object) -> Numeric:
    """Return the element type that a name, a `Numeric` or a NumPy-like dtype stands for.

    Law: ``as_numeric(as_numeric(x)) == as_numeric(x)``. The name ``"float"`` is C++'s, of 32 bits;
    the class ``float`` is Python's, of 64. ``u128``, ``u256`` and ``u512`` are packs of elements
    that copies move whole; `numerics` leaves them out. Raises `DTypeError` for anything else,
    naming the types there are.

    >>> as_numeric("bfloat16")
    as_numeric('bf16')
    """
    if isinstance(value, Numeric):
        return value
    if value is float:  # Python's is a double, C++'s ``float`` is not: as NumPy reads the two
        return _TYPES["f64"]
    name = value if isinstance(value, str) else getattr(value, "name", None)
    if name is None:
        name = getattr(value, "__name__", None)
    known_as = _ALIASES.get(str(name), str(name))
    found = _TYPES.get(known_as) or _PACKS.get(known_as)
    if found is None:
        known = ", ".join(_TYPES)
        raise DTypeError("as_numeric", {"value": value}, "unknown element type", f"one of {known}")
    return found
