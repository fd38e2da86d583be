"""Who owns what of a copy as formulas of work-item t and value v, written from its layout."""

from __future__ import annotations

from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.int_tuple import leaves
from pycute_xe.layout import Layout

__all__ = ["ownership_formula", "row_and_column"]


def ownership_formula(atom: CopyAnswers) -> tuple[str, str] | None:
    """Return row and column of value v of work-item t; None where the layouts say another.

    >>> from pycute_xe.cutlass import get_atom
    >>> ownership_formula(get_atom("XE_2D_U16x16x16_LD_N"))
    ('v', 't')
    """
    owners = atom.layout_ref_tv
    formula = row_and_column(owners, atom.shape[1])
    listed = atom.ownership()
    places = [
        [divmod(owners(t, v), atom.shape[1]) for v in range(len(h))] for t, h in enumerate(listed)
    ]
    return formula if places == [list(map(tuple, values)) for values in listed] else None


def row_and_column(owners: Layout, columns: int) -> tuple[str, str] | None:
    """Return row and column of value v of work-item t, of a layout to column + columns * row.

    None where a stride is neither within a row nor a number of rows.

    >>> row_and_column(Layout((16, (2, 8)), (2, (1, 32))), 32)
    ('v // 2', '2*t + v % 2')
    """
    rows: list[str] = []
    cols: list[str] = []
    for name, shapes, strides in zip("tv", owners.shape, owners.stride, strict=True):
        before, extents = 1, tuple(leaves(shapes))
        for at, (extent, stride) in enumerate(zip(extents, leaves(strides), strict=True)):
            is_last = at == len(extents) - 1
            digit = _digit(name, before, None if is_last else extent)
            before *= extent
            if stride == 0 or extent == 1:
                continue
            if stride % columns == 0:
                rows.append(_times(stride // columns, digit))
            elif stride * (extent - 1) < columns:
                cols.append(_times(stride, digit))
            elif (
                columns % stride == 0 and (columns // stride) and extent % (columns // stride) == 0
            ):
                # The mode goes on in the next row.
                within = columns // stride
                cols.append(_times(stride, _digit(name, before // extent, within)))
                rows.append(
                    _digit(
                        name,
                        columns // stride * (before // extent),
                        None if is_last else extent // within,
                    )
                )
            else:
                return None
    return " + ".join(rows) or "0", " + ".join(cols) or "0"


def _digit(name: str, before: int, extent: int | None) -> str:
    text = name if before == 1 else f"{name} // {before}"
    return text if extent is None else f"{text} % {extent}"


def _times(factor: int, digit: str) -> str:
    if factor == 1:
        return digit
    return f"{factor}*{digit}" if digit.isalpha() else f"{factor}*({digit})"
