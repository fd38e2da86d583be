"""Which conversions between element types change nothing."""

from __future__ import annotations

from pycute_xe.numeric import Numeric

__all__ = ["is_exact", "whole_to"]


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
