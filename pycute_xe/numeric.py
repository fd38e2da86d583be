"""Element types, a row for each, and which conversions between them change nothing."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from pycute_xe.errors import DTypeError, quoted
from pycute_xe.signatures import checked_fields
from pycute_xe.typing import shown

__all__ = ["Numeric", "Row", "as_numeric", "numerics", "is_exact", "whole_to"]


Kind = Literal["float", "signed", "unsigned"]


@checked_fields
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

    _repr_mimebundle_ = shown

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
        return self.column("cpp")

    @property
    def row(self) -> Row:
        """What is known of the type; `DTypeError` for one that has no row."""
        entry = _ROWS.get(self.name)
        if entry is None or (entry.bits, entry.kind) != (self.bits, self.kind):
            known = ", ".join(numerics())
            raise DTypeError("row", {"type": self}, "unknown element type", f"one of {known}")
        return entry

    def column(self, name: str) -> str:
        """Return what a column of the type's row says; `DTypeError` where it says nothing.

        >>> as_numeric("bf16").column("visa")
        'bf'
        """
        columns = ("dtype", "host", "cpp", "visa", "code", "mlir")
        if not isinstance(name, str) or name not in columns:  # pyright: ignore[reportUnnecessaryIsInstance]
            fix = f"ask for one of {', '.join(columns)}"
            raise DTypeError("column", {"type": self}, f"{quoted(name)} is not a column", fix)
        entry = getattr(self.row, name)
        if not entry:
            known = ", ".join(n for n, row in _ROWS.items() if getattr(row, name))
            raise DTypeError(name, {"type": self}, f"{self} has no {name}", f"use {known}")
        return entry

    @property
    def bytes(self) -> int:
        """Width in whole bytes; `DTypeError` for types narrower than a byte.

        >>> as_numeric("f32").bytes
        4
        """
        if self.bits % 8:
            raise DTypeError("bytes", {"type": self}, f"{self} is {self.bits} bits", "use .bits")
        return self.bits // 8


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of an element type: a column for each reader; one that is empty is refused.

    Of floats: the bits of the ``exponent``, those of the ``significand`` with the hidden one, what
    the largest exponent means (``top``: an infinity and NaNs, a NaN where all bits are set, or a
    number), whether there are numbers below the normal ones (``denormal``), and whether there are
    neither zero nor negative numbers (``positive``).
    ``dtype`` is NumPy's or ml_dtypes' type of it, ``host`` that of arrays where it has none;
    ``cpp`` its name in CuTe, ``aliases`` those that `as_numeric` takes besides these three, as
    NumPy, ml_dtypes, PyTorch, Triton and MLIR write it, ``spellings`` more of C++: those of
    cutlass/numeric_types.h, of compilers, and of dpas_type in cute/arch/mma_xe.hpp;
    ``visa`` the type in which instructions compute with it, ``code`` that in which its bits are
    read where they have to be widened first; ``mlir`` the type in MLIR.
    """

    name: str
    bits: int
    kind: Kind
    _: KW_ONLY
    exponent: int = 0
    significand: int = 0
    top: Literal["infinity", "nan", "number"] = "infinity"
    denormal: bool = True
    positive: bool = False
    dtype: str = ""
    host: str = ""
    cpp: str = ""
    aliases: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()
    visa: str = ""
    code: str = ""
    mlir: str = ""


def _integer(bits: int, kind: Kind, spellings: str = "", visa: str = "", mlir: str = "") -> Row:
    name = f"{'u' if kind == 'unsigned' else ''}int{bits}"
    also = tuple(filter(None, spellings.split(", ")))
    letter, dtype = kind[0], name if bits <= 64 else ""
    return Row(
        f"{letter}{bits}", bits, kind,
        dtype=dtype, cpp=f"{name}_t", aliases=(name,), spellings=also, visa=visa, mlir=mlir,
    )  # fmt: skip


_ROWS = {
    row.name: row
    for row in (
        Row("f64", 64, "float", exponent=11, significand=53, dtype="float64", cpp="double",
            aliases=("fp64",)),
        Row("f32", 32, "float", exponent=8, significand=24, dtype="float32", cpp="float",
            aliases=("fp32", "single"), spellings=("f",), visa="f", mlir="f32"),
        Row("f16", 16, "float", exponent=5, significand=11, dtype="float16", cpp="half_t",
            aliases=("fp16", "half"), spellings=("half", "hf"), visa="hf", mlir="f16"),
        Row("tf32", 32, "float", exponent=8, significand=11, denormal=False, host="float32",
            cpp="tfloat32_t", aliases=("tfloat32",), visa="f", mlir="tf32"),
        Row("bf16", 16, "float", exponent=8, significand=8, dtype="bfloat16", cpp="bfloat16_t",
            spellings=("bfloat16", "bf"), visa="bf", code="uw", mlir="bf16"),
        Row("f8e4m3", 8, "float", exponent=4, significand=4, top="nan", dtype="float8_e4m3fn",
            cpp="float_e4m3_t", aliases=("e4m3", "e4m3fn", "f8e4m3fn", "fp8e4nv", "float8e4nv"),
            code="ub"),
        Row("f8e5m2", 8, "float", exponent=5, significand=3, dtype="float8_e5m2",
            cpp="float_e5m2_t", aliases=("e5m2", "fp8e5", "float8e5"), code="ub"),
        Row("ue8m0", 8, "float", exponent=8, significand=1, top="nan", positive=True,
            dtype="float8_e8m0fnu", cpp="float_ue8m0_t", aliases=("e8m0", "f8e8m0fnu"), code="ub"),
        Row("f4e2m1", 4, "float", exponent=2, significand=2, top="number", dtype="float4_e2m1fn",
            cpp="float_e2m1_t", aliases=("e2m1", "f4e2m1fn"), spellings=("e2m1",), code="ub"),
        _integer(64, "signed", "long, long int, long long"),
        _integer(32, "signed", "int, d", visa="d", mlir="i32"),
        _integer(16, "signed", "short, short int"),
        _integer(8, "signed", "signed char", visa="b", mlir="i8"),
        _integer(4, "signed", "int4b_t"),
        _integer(2, "signed", "int2b_t"),
        _integer(64, "unsigned", "unsigned long, long unsigned int, unsigned long long"),
        _integer(32, "unsigned", "unsigned, unsigned int, ud", visa="ud"),
        _integer(16, "unsigned", "unsigned short, short unsigned int"),
        _integer(8, "unsigned", "unsigned char", visa="ub"),
        _integer(4, "unsigned", "uint4b_t"),
        _integer(2, "unsigned", "uint2b_t"),
        # Packs of elements that copies move whole: no arithmetic, no arrays.
        *(_integer(bits, "unsigned") for bits in (512, 256, 128)),
    )
}  # fmt: skip
"""By name. A new element type is one more row."""

_TYPES = {name: Numeric(name, row.bits, row.kind) for name, row in _ROWS.items()}
_ALIASES = {
    alias: row.name
    for row in _ROWS.values()
    for alias in (row.dtype, row.cpp, *row.aliases)
    if alias
}


def numerics() -> tuple[str, ...]:
    """Return every element type name, widest floats first.

    >>> "bf16" in numerics()
    True
    """
    return tuple(name for name, numeric in _TYPES.items() if numeric.bits <= 64)


def as_numeric(value: object) -> Numeric:
    """Return the element type that a name, a `Numeric` or a dtype stands for.

    Names are those of CuTe, NumPy, ml_dtypes, PyTorch and Triton; dtypes those of the last four.
    Law: ``as_numeric(as_numeric(x)) == as_numeric(x)``. The name ``"float"`` is C++'s, of 32 bits;
    the class ``float`` is Python's, of 64. ``u128``, ``u256`` and ``u512`` are packs of elements
    that copies move whole; `numerics` leaves them out. Raises `DTypeError` for anything else,
    with the nearest names and the types there are.

    >>> as_numeric("bfloat16"), as_numeric("half_t"), as_numeric("fp32"), as_numeric("e4m3")
    (as_numeric('bf16'), as_numeric('f16'), as_numeric('f32'), as_numeric('f8e4m3'))
    """
    if isinstance(value, Numeric):
        return value
    if value is float:  # Python's is a double, C++'s ``float`` is not: as NumPy reads the two
        return _TYPES["f64"]
    name = value if isinstance(value, str) else getattr(value, "name", None)
    if name is None:  # PyTorch's types say theirs in their text alone
        is_torch = type(value).__module__ == "torch"
        name = value if is_torch else getattr(value, "__name__", None)
    text = str(name).removeprefix("torch.")
    numeric = _TYPES.get(_ALIASES.get(text, text))
    if numeric is None:
        raise _unknown(value, text)
    return numeric


def _unknown(value: object, text: str) -> DTypeError:
    from difflib import get_close_matches

    known = ", ".join(numerics())
    near = get_close_matches(text.lower(), (*_TYPES, *_ALIASES), 3, 0.7)
    fix = f"did you mean {', '.join(near)}? " if near else ""
    return DTypeError(
        "as_numeric", {"value": value}, "unknown element type", f"{fix}one of {known}"
    )


def whole_to(numeric: Numeric) -> int:
    """Return the number up to which a type of floats holds all integers.

    >>> from pycute_xe.numeric import as_numeric as t
    >>> whole_to(t("f32")), whole_to(t("f8e4m3"))
    (16777216, 16)
    """
    row = numeric.row
    return 1 if row.positive or numeric.kind != "float" else 1 << row.significand


def is_exact(source: Numeric, to: Numeric) -> bool:
    """Tell whether a type holds every value of another.

    >>> from pycute_xe.numeric import as_numeric as t
    >>> is_exact(t("bf16"), t("f32")), is_exact(t("s32"), t("f32")), is_exact(t("u8"), t("f16"))
    (True, False, True)
    """
    if source == to:
        return True
    if to.kind != "float":
        if source.kind == "float" or (source.kind == "signed" and to.kind == "unsigned"):
            return False
        return source.bits + (source.kind != to.kind) <= to.bits
    given, taken = source.row, to.row
    if taken.positive:
        return False
    if source.kind != "float":
        digits = source.bits - (source.kind == "signed")
        return digits <= taken.significand and digits < 1 << (taken.exponent - 1)
    if given.denormal and not taken.denormal and given.exponent == taken.exponent:
        return False
    return given.exponent <= taken.exponent and given.significand <= taken.significand
