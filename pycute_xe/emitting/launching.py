"""Floor 9: what a kernel in C finds at its start: its work-group's place, elements of operands."""

from __future__ import annotations

import re

from pycute_xe.emitting.indices import ELEMENT, c_text
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Operand
from pycute_xe.kernel.index import Index

__all__ = ["elements", "group_numbers", "launch_axes", "pitch_name"]

AXES = 3


def launch_axes(kernel: Kernel) -> tuple[tuple[tuple[str, Index], ...], ...]:
    """Return the axes of a grid as a launch has them: from the third on they share one.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> [[name for name, _ in axes] for axes in launch_axes(gemm)]
    [['m'], ['n']]
    """
    alone = tuple((axis,) for axis in kernel.grid[: AXES - 1])
    rest = kernel.grid[AXES - 1 :]
    return (*alone, rest) if rest else alone


def group_numbers(kernel: Kernel) -> list[str]:
    """Return the declarations of the grid's variables, the first of a shared axis fastest.

    A shared axis is parted by subtraction: a division of two numbers that only a launch knows takes
    this compiler some thirty instructions in 64 bits, and the outer axes are short.
    """
    out: list[str] = []
    for axis, (first, *others) in enumerate(launch_axes(kernel)):
        name, count = first
        out.append(f"{'' if others else 'const '}int {name} = get_group_id({axis});")
        for after, more in others:
            extent = c_text(count)
            out.append(f"int {after} = 0;")
            out.append(f"for (; {name} >= {extent}; {name} -= {extent}) ++{after};")
            name, count = after, more
    return out


def elements(kernel: Kernel, lines: list[str]) -> list[str]:
    """Return a macro for each operand of which lines read elements as indices.

    Raises `KernelError` for operands that are not s32 or lie in another order.
    """
    found = set(re.findall(rf"{ELEMENT}(\w+)\(", "\n".join(lines)))
    return [_element(o) for o in kernel.operands if o.name in found]


def _element(operand: Operand) -> str:
    if operand.value_type.name != "s32" or operand.contiguous != len(operand.modes) - 1:
        raise KernelError(
            "emit",
            {"operand": operand},
            "its elements are read as indices, which are s32 and row-major",
            "use an operand of s32",
        )
    names = [f"I{mode}" for mode in range(len(operand.modes))]
    steps = [pitch_name(operand, mode) for mode in range(len(names) - 1)] + ["4"]
    place = " + ".join(f"{step} * ({name})" for step, name in zip(steps, names, strict=True))
    return (
        f"#define {ELEMENT}{operand.name}({', '.join(names)}) XE_ELEMENT({operand.name}, {place})"
    )


def pitch_name(operand: Operand, mode: int) -> str:
    """Return the parameter that is the bytes between neighbours along a mode."""
    rest = [m for m in range(len(operand.modes)) if m != operand.contiguous]
    return f"{operand.name}_pitch" if rest == [mode] else f"{operand.name}_pitch{mode}"
