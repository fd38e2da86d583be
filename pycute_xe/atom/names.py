"""Floor 6: atoms by the names CUTLASS gives them."""

from __future__ import annotations

import re

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.errors import CuteError, ShapeError
from pycute_xe.numeric import as_numeric

__all__ = ["get_atom"]

_TYPE = r"(F32|BF16|F16)"
_LEGACY = re.compile(rf"XE_(\d+)x(\d+)x(\d+)_{_TYPE}{_TYPE}{_TYPE}{_TYPE}_TT")
_TEMPLATE = re.compile(r"XE_DPAS_TT<\s*(\d+)\s*,([^>]*)>")
# The names C++ tests and printouts use beside the types' own.
_SHORT = {"f": "f32", "bf": "bf16", "hf": "f16", "d": "s32", "ud": "u32"}


def get_atom(name: str) -> MmaAtom:
    """Return the MMA atom of a name CUTLASS gives it, older or newer.

    Older names, such as ``XE_8x16x16_F32BF16BF16F32_TT``, have the ownership of CUTLASS's older
    atoms, see `MmaAtom`; newer ones are written ``XE_DPAS_TT<8,f32,bf16>``.
    Raises `CuteError` for a name of neither kind, `ShapeError` for extents that no DPAS of the
    types has.

    >>> print(get_atom("XE_8x16x16_F32BF16BF16F32_TT").tv_layout_B)
    (16,16):(1,16)
    """
    legacy = _LEGACY.fullmatch(name.strip())
    if legacy:
        m, n, k = (int(part) for part in legacy.groups()[:3])
        d, a, b, c = (as_numeric(part.lower()) for part in legacy.groups()[3:])
        atom = MmaAtom(Dpas(m, d, a, b, c), legacy=True)
        if atom.shape_mnk != (m, n, k):
            raise ShapeError(
                "get_atom",
                {"name": name},
                f"a DPAS of these types is {atom.shape_mnk}, not {(m, n, k)}",
                atom.name,
            )
        return atom
    template = _TEMPLATE.fullmatch(name.strip())
    if template:
        words = [word.strip() for word in template[2].split(",")]
        types = [as_numeric(_SHORT.get(word, word)) for word in words]
        if 2 <= len(types) <= 4:
            d, a = types[:2]
            b = types[2] if len(types) > 2 else a
            c = types[3] if len(types) > 3 else d
            return MmaAtom(Dpas(int(template[1]), d, a, b, c))
    raise CuteError(
        "get_atom",
        {"name": name},
        "no MMA atom has this name",
        "write XE_8x16x16_F32BF16BF16F32_TT or XE_DPAS_TT<8,f32,bf16>",
    )
