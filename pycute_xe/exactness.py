"""Floor 1: which conversions between element types change nothing."""

from __future__ import annotations

from pycute_xe.numeric import Numeric

__all__ = ["is_exact", "whole_to"]

# (bits of the exponent's range, bits of the significand, the hidden one included)
_FLOATS = {
    "f64": (11, 53),
    "f32": (8, 24),
    "tf32": (8, 11),
    "bf16": (8, 8),
    "f16": (5, 11),
    "f8e5m2": (5, 3),
    "f8e4m3": (4, 4),
    "f4e2m1": (2, 2),
}


def whole_to(numeric: Numeric) -> int:
    """Return the number up to which a type of floats holds all integers.

    >>> from pycute_xe.numeric import as_numeric as t
    >>> whole_to(t("f32")), whole_to(t("f8e4m3"))
    (16777216, 16)
    """
    return 1 << _FLOATS[numeric.name][1] if numeric.name in _FLOATS else 1


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
    if to.name not in _FLOATS:
        return False
    exponent, significand = _FLOATS[to.name]
    if source.kind != "float":
        digits = source.bits - (source.kind == "signed")
        return digits <= significand and digits < 1 << (exponent - 1)
    if source.name == "ue8m0":  # powers of two, the least of them below the normal numbers
        return to.name in ("bf16", "f32", "f64")
    if source.name not in _FLOATS or (source.name == "bf16" and to.name == "tf32"):
        return False  # a tf32 has no numbers below the normal ones
    return _FLOATS[source.name][0] <= exponent and _FLOATS[source.name][1] <= significand
