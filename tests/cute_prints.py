"""What CuTe's ``print`` shows of golden data, written from its format and from nothing else.

Sources: print in cute/layout.hpp, container/tuple.hpp, numeric/integral_constant.hpp,
numeric/arithmetic_tuple.hpp, atom/mma_atom.hpp and atom/copy_atom.hpp of CUTLASS.
"""

from __future__ import annotations

from typing import Any

__all__ = ["copy_text", "layout_text", "mma_text", "tiled_copy_text", "tiled_mma_text", "tree_text"]


def tree_text(value: Any) -> str:
    """A nested list of static integers and basis strides."""
    if isinstance(value, list):
        return f"({','.join(map(tree_text, value))})"
    if isinstance(value, dict):
        return f"_{value['value']}" + "".join(f"@{mode}" for mode in reversed(value["basis"]))
    return value if value == "_" else f"_{value}"


def layout_text(layout: dict[str, Any]) -> str:
    """A layout."""
    return f"{tree_text(layout['shape'])}:{tree_text(layout['stride'])}"


def _mode(mode: Any) -> str:
    return layout_text(mode) if isinstance(mode, dict) else tree_text(mode)


def mma_text(row: dict[str, Any]) -> str:
    """``print(mma_atom)``."""
    lines = {
        "ThrID": "_16:_1",
        "Shape_MNK": tree_text(row["shape_mnk"]),
        **{f"Layout{name}_TV": layout_text(row[name]) for name in "ABC"},
    }
    return "MMA_Atom\n" + "".join(f"  {key + ':':12}{value}\n" for key, value in lines.items())


def tiled_mma_text(row: dict[str, Any], atom: dict[str, Any]) -> str:
    """``print(tiled_mma)``."""
    permutation = ",".join(map(_mode, row["permutation"]))
    return (
        f"TiledMMA\n  ThrLayoutVMNK:  {layout_text(row['thr_layout_vmnk'])}\n"
        f"  PermutationMNK: ({permutation})\n{mma_text(atom)}"
    )


def copy_text(row: dict[str, Any], bits: int) -> str:
    """``print(copy_atom)``."""
    names = ("ValLayoutSrc", "ValLayoutDst", "ValLayoutRef")
    layouts = "".join(f"  {name}: {layout_text(row[name])}\n" for name in names)
    return f"Copy_Atom\n  ThrID:        _16:_1\n{layouts}  ValueType:    {bits}b\n"


def tiled_copy_text(tiled: dict[str, Any], row: dict[str, Any], bits: int) -> str:
    """``print(tiled_copy)``."""
    return (
        f"TiledCopy\n  Tiler_MN:       {tree_text(tiled['Tiler_MN'])}\n"
        f"  TiledLayout_TV: {layout_text(tiled['TV'])}\n{copy_text(row, bits)}"
    )
