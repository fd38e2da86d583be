"""Floor 6: atoms by the names CUTLASS gives them."""

from __future__ import annotations

import re
from typing import Any

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.block2d_name import parse_block2d_name
from pycute_xe.atom.copy_atom import CopyAtom, make_copy_atom
from pycute_xe.atom.known_names import catalogue
from pycute_xe.atom.legacy_copy import LegacyCopyAtom
from pycute_xe.atom.linear_copy import LinearCopyAtom, make_linear_copy_atom
from pycute_xe.atom.linear_op import is_linear_name, parse_linear_op
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.atom.spelling import nearest_spelling
from pycute_xe.atom.template_name import parse_template_name
from pycute_xe.errors import CuteError, ShapeError
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["get_atom"]

_TYPE = r"(F32|TF32|BF16|F16|S32|S8|U8)"
_LEGACY = re.compile(rf"XE_(\d+)x(\d+)x(\d+)_{_TYPE}{_TYPE}{_TYPE}{_TYPE}_TT")
_TEMPLATE = re.compile(r"XE_DPAS_TT<\s*(\d+)\s*,([^>]*)>")
_COPY = re.compile(r"XE_?2D", re.IGNORECASE)  # misspelt ones too
# The names C++ tests and printouts use beside the types' own.
_SHORT = {"f": "f32", "bf": "bf16", "hf": "f16", "d": "s32", "ud": "u32"}


def get_atom(
    name: str,
    value_type: Numeric | str | None = None,
    gmem_stride: tuple[Any, ...] | None = None,
) -> MmaAtom | LegacyCopyAtom | CopyAtom | LinearCopyAtom:
    """Return the atom of a name CUTLASS gives it, or of any name of its grammar of block-2D copies.

    MMA atoms: older names, such as ``XE_8x16x16_F32BF16BF16F32_TT``, have the ownership of
    CUTLASS's older atoms, see `MmaAtom`; newer ones are written ``XE_DPAS_TT<8,f32,bf16>``.
    Copy atoms: ``XE_2D_…``, see `LegacyCopyAtom`, for values of ``value_type`` (the name's own by
    default) and a tensor of strides ``gmem_stride`` (rows contiguous by default); templates such as
    ``XE_LOAD_2D<16,32,32,16>``, see `CopyAtom`, for unsigned values of their width by default; and
    linear ones with their types, ``XE_1D_LDSM<u32,u128>``, see `LinearCopyAtom`.
    Law: takes every name of `catalogue`, and what atoms print as theirs.
    Raises `CuteError` for a name of no kind, with the nearest ones, `ShapeError` for extents that
    no DPAS of the types has.

    >>> print(get_atom("XE_8x16x16_F32BF16BF16F32_TT").tv_layout_B)
    (16,16):(1,16)
    >>> print(get_atom("XE_2D_U16x32x16_LD_V", "bf16").layout_dst_tv)
    (16,32):(1,16)
    """
    text = name.strip()
    if _COPY.match(text):
        return _copy_atom(text, value_type, gmem_stride)
    op = parse_template_name(text)
    linear = is_linear_name(text)
    if gmem_stride is not None or (value_type is not None and op is None and not linear):
        raise CuteError(
            "get_atom",
            {"name": name, "value_type": value_type, "gmem_stride": gmem_stride},
            "only block-2D copies take strides, and only copies a value type",
            "leave them out",
        )
    if op is not None:
        return make_copy_atom(op, f"u{op.bits}" if value_type is None else value_type)
    if linear:
        return make_linear_copy_atom(parse_linear_op(text), value_type)
    return _mma_atom(text)


def _copy_atom(
    name: str, value_type: Numeric | str | None, gmem_stride: tuple[Any, ...] | None
) -> LegacyCopyAtom:
    parts = parse_block2d_name(name)
    moved = parts.value_type if value_type is None else as_numeric(value_type)
    if gmem_stride is not None and (type(gmem_stride) is not tuple or not gmem_stride):
        raise ShapeError(
            "get_atom",
            {"name": name, "gmem_stride": gmem_stride},
            "gmem_stride is no tuple of strides",
            "write ('ld', 1) or (1, 'ld')",
        )
    # As CUTLASS tells them apart: the first mode has the stride 1 that is known beforehand.
    first = gmem_stride is not None and type(gmem_stride[0]) is int and gmem_stride[0] == 1
    return LegacyCopyAtom(parts, moved, first)


def _mma_atom(name: str) -> MmaAtom:
    legacy = _LEGACY.fullmatch(name)
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
    template = _TEMPLATE.fullmatch(name)
    if template:
        words = [word.strip() for word in template[2].split(",")]
        types = [as_numeric(_SHORT.get(word, word)) for word in words]
        if 2 <= len(types) <= 4:
            d, a = types[:2]
            b = types[2] if len(types) > 2 else a
            c = types[3] if len(types) > 3 else d
            return MmaAtom(Dpas(int(template[1]), d, a, b, c))
    near = nearest_spelling(name, catalogue())
    forms = "XE_2D_U16x32x16_LD_N, XE_8x16x16_F32BF16BF16F32_TT, XE_DPAS_TT<8,f32,bf16>"
    raise CuteError(
        "get_atom",
        {"name": name},
        "no atom has this name",
        f"did you mean {', '.join(near)}?" if near else f"write {forms} or XE_LOAD_2D<16,32,16>",
    )
