"""Atoms by the names CUTLASS gives them."""

from __future__ import annotations

import re
from typing import Any

from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.dpas.types import numeric_name
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_atom import CopyAtom, as_copy, make_copy_atom
from pycute_xe.atom.linear_copy import LinearCopyAtom, make_linear_copy_atom
from pycute_xe.atom.linear_op import LinearOp, is_linear_name, parse_linear_op
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.atom.spelling import as_name, nearest_spelling
from pycute_xe.cutlass.known_names import catalogue, form_of, parse_template_name
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.cutlass.legacy_name import parse_block2d_name
from pycute_xe.errors import CuteError, ShapeError, quoted
from pycute_xe.facts import rows
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed
from pycute_xe.typing import Symbolic

__all__ = ["as_atom", "get_atom"]

_TYPE = r"(F32|TF32|BF16|F16|S32|S8|U8)"
_SIZE = "([0-9]{1,9})"
_LEGACY = re.compile(rf"XE_{_SIZE}x{_SIZE}x{_SIZE}_{_TYPE}{_TYPE}{_TYPE}{_TYPE}_TT")
_TEMPLATE = re.compile(rf"XE_DPAS_TT<\s*{_SIZE}\s*,([^>]*)>")
_DPAS = ("XE_DPAS", "XE_DPAS_TT")
_DPAS_TT = "XE_DPAS_TT<M,D,A[,B[,C]]>, such as XE_DPAS_TT<8,f32,bf16>"
_COPY = re.compile(r"XE_?2D", re.IGNORECASE)  # misspelled ones too


@typed
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
    ``XE_LOAD_2D<16,32,32,16>``, see `CopyAtom`, for unsigned values of their width by default, also
    by OpenCL's and SPIR-V's names, ``intel_sub_group_2d_block_read_16b_32r16x2c``; and linear ones
    with their types, ``XE_1D_LDSM<u32,u128>``, see `LinearCopyAtom`.
    Law: takes every name of `catalogue`, and what atoms print as theirs.
    Raises `CuteError` for an unknown name, with the nearest ones, `ShapeError` for extents that
    no DPAS of the types has and for strides neither row-major nor column-major.

    >>> print(get_atom("XE_8x16x16_F32BF16BF16F32_TT").tv_layout_B)
    (16,16):(1,16)
    >>> print(get_atom("XE_2D_U16x32x16_LD_V", "bf16").layout_dst_tv)
    (16,32):(1,16)
    """
    text = as_name(name).strip()
    if _COPY.match(text):
        return _copy_atom(text, value_type, gmem_stride)
    op = parse_template_name(text)
    if op is not None:
        _refuse_stride(name, gmem_stride)
        return make_copy_atom(op, f"u{op.bits}" if value_type is None else value_type)
    if is_linear_name(text):
        linear = parse_linear_op(text)
        _refuse_stride(name, gmem_stride)
        return make_linear_copy_atom(linear, value_type)
    atom = _mma_atom(text)
    _refuse_stride(name, gmem_stride)
    if value_type is not None:
        condition = "an MMA has its types in its name"
        given = {"name": name, "value_type": value_type}
        raise CuteError("get_atom", given, condition, "leave value_type out")
    return atom


@typed
def as_atom(value: Any) -> Any:
    """Return the atom of an operation, and any other value as it is.

    Law: an operation and its atom give one value.

    >>> from pycute_xe.atom import XE_LOAD_2D
    >>> print(as_atom(XE_LOAD_2D(16, 8, 16)), type(as_atom(XE_LOAD_2D(16, 8, 16))).__name__)
    XE_LOAD_2D<16,8,16> CopyAtom
    """
    if isinstance(value, Dpas):
        return MmaAtom(value)
    return as_copy(value) if isinstance(value, (Block2DOp, LinearOp)) else value


def _refuse_stride(name: str, gmem_stride: tuple[Any, ...] | None) -> None:
    if gmem_stride is not None:
        raise CuteError(
            "get_atom",
            {"name": name, "gmem_stride": gmem_stride},
            "only block-2D copies take strides, those of names XE_2D_…",
            "leave gmem_stride out; make_block_2d_copy(op, gmem_stride, value_type) takes them "
            "for XE_LOAD_2D and its relatives",
        )


def _copy_atom(
    name: str, value_type: Numeric | str | None, gmem_stride: tuple[Any, ...] | None
) -> LegacyCopyAtom:
    parts = parse_block2d_name(name)
    moved = parts.value_type if value_type is None else as_numeric(value_type)
    return LegacyCopyAtom(parts, moved, _first_is_contiguous(name, gmem_stride))


def _first_is_contiguous(name: str, gmem_stride: tuple[Any, ...] | None) -> bool:
    """As CUTLASS tells tensors apart: by the stride 1 that is known beforehand."""
    if gmem_stride is None:
        return False
    condition = "gmem_stride is not a tuple of strides, one per mode of the tensor"
    if type(gmem_stride) is tuple and len(gmem_stride) >= 2:
        ones = [i for i, stride in enumerate(gmem_stride) if type(stride) is int and stride == 1]
        strange = [stride for stride in gmem_stride if not _is_stride(stride)]
        if strange:
            condition = f"{quoted(strange[0])} is not a stride: use an integer or a name"
        elif ones in ([0], [1]):
            return ones == [0]
        else:
            condition = "not exactly one stride is 1, that of the first or the second mode"
    raise ShapeError(
        "get_atom",
        {"name": name, "gmem_stride": gmem_stride},
        condition,
        "write ('ld', 1) for contiguous rows or (1, 'ld') for contiguous columns",
    )


def _is_stride(stride: object) -> bool:
    return (type(stride) is int and stride >= 0) or isinstance(stride, (str, Symbolic))


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
    if name.startswith("XE_BDPAS"):
        raise _block_scaled(name)
    template = _TEMPLATE.fullmatch(name)
    if template:
        words = [word.strip() for word in template[2].split(",")]
        types = [as_numeric(numeric_name(word)) for word in words]
        if 2 <= len(types) <= 4:
            d, a = types[:2]
            b = types[2] if len(types) > 2 else a
            c = types[3] if len(types) > 3 else d
            return MmaAtom(Dpas(int(template[1]), d, a, b, c))
    raise _misnamed(name)


def _block_scaled(name: str) -> CuteError:
    row = next(row for row in rows("dpas", "refused") if row["id"] == "block-scaled")
    condition = f"{row['condition']} [{row['source']}]"
    return CuteError("get_atom", {"name": name}, condition, str(row["fix"]))


def _misnamed(name: str) -> CuteError:
    """What to suggest for an unknown name: the form of the template, or the nearest names."""
    kind, *parameters = re.split(r"\s*[<(]", name, maxsplit=1)
    form = form_of(kind) or (kind in _DPAS and not (kind == "XE_DPAS" and parameters) and _DPAS_TT)
    if form:
        return CuteError(
            "get_atom", {"name": name}, "the parameters do not match the template", f"write {form}"
        )
    if re.match(r"[\s(]*_?\d", name) and ":" in name:
        wrong = "the text is a layout, and not the name of an atom"
        fix = f"write Layout.from_str({quoted(name)}), in a shell: pycute-xe layout {quoted(name)}"
        return CuteError("get_atom", {"name": name}, wrong, fix)
    near = nearest_spelling(name, catalogue())
    forms = "XE_2D_U16x32x16_LD_N, XE_8x16x16_F32BF16BF16F32_TT, XE_DPAS_TT<8,f32,bf16>"
    return CuteError(
        "get_atom",
        {"name": name},
        "no atom has this name",
        f"did you mean {', '.join(near)}?" if near else f"write {forms} or XE_LOAD_2D<16,32,16>",
    )
