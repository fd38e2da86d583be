"""The text of a kernel's body as it grows, statement by statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Meanings, Operand, Statement
from pycute_xe.kernel.index import Index, Quotient
from pycute_xe.kernel.ir.listing import line_in

__all__ = [
    "Writes",
    "Writer",
    "demand_entries",
    "ELEMENT",
    "c_text",
    "divided",
    "plain_text",
    "elements",
    "group_numbers",
    "launch_axes",
    "pitch_name",
]

# ------------------------------------------------------------ indices
# Indices of a kernel as integer expressions of C.

ELEMENT = "XE_ELEMENT_"
"""What the name of an operand follows where an element of it is an index."""


def c_text(index: Index, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return an index as an expression of C; quotients round down, as they do in the index.

    An element of an operand is a call of the macro of its name, a scalar its name; ``names`` are
    other names of sizes and variables.

    >>> from pycute_xe.kernel.index import Tiles
    >>> c_text(32 * Index("k") + 64), c_text(Tiles("K", 32) - 1), c_text(Index("K") // 3)
    ('32 * k + 64', '((K + 31) >> 5) - 1', 'xe_floor(K, 3)')
    """
    parts: list[str] = []
    for atom, factor in index.terms:
        if isinstance(atom, str):
            text = names.get(atom, atom)
        elif isinstance(atom, Quotient):
            text = _quotient(atom, names)
        elif atom.at:
            text = f"{ELEMENT}{atom.operand}({', '.join(map(c_text, atom.at))})"
        else:
            text = atom.operand
        sign = "-" if factor < 0 else "+" if parts else ""
        scaled = text if abs(factor) == 1 else f"{abs(factor)} * {text}"
        parts.append(f" {sign} {scaled}" if parts else f"{sign}{scaled}")
    if index.offset or not parts:
        sign = "-" if index.offset < 0 else "+"
        parts.append(f" {sign} {abs(index.offset)}" if parts else str(index.offset))
    return "".join(parts)


def plain_text(index: Index) -> str:
    """Return an index as an expression of C, where elements of operands cannot be read.

    Raises `KernelError` for an element of an operand taken as an index.

    >>> plain_text(Index("k") + 1)
    'k + 1'
    """
    if index.looked_up:
        element = index.looked_up[0]
        name = str(element) if element.at else element.operand
        raise KernelError(
            "emit",
            {"index": index},
            f"{name} is an element of an operand, which is known only in a run",
            'use indices of sizes and loop variables, or emit "opencl"',
        )
    return c_text(index)


def _quotient(atom: Quotient, names: Mapping[str, str]) -> str:
    inner, divisor = c_text(atom.index, names), atom.divisor
    if divisor & (divisor - 1) == 0:
        operand = inner if inner.isidentifier() else f"({inner})"
        return f"({operand} >> {divisor.bit_length() - 1})"
    return f"xe_floor({inner}, {divisor})"


def divided(index: Index, factor: int, divisor: int) -> Index:
    """Return ``index * factor / divisor`` where the division leaves nothing.

    Raises `KernelError` where it may leave something.

    >>> print(divided(64 * Index("k") + 32, 4, 8))
    32*k+16
    """
    scaled = index * factor
    if scaled.offset % divisor or any(c % divisor for _, c in scaled.terms):
        raise KernelError(
            "emit",
            {"index": index},
            f"{index} is not a multiple of {divisor // factor}, the elements that one element of "
            "the message holds",
            "align the tiles to the elements of the message",
        )
    return scaled // divisor


# ------------------------------------------------------------ writer

Writes = Callable[[Any, Any], None]
"""How a kind of statement is written: it takes the writer and the statement."""


class Writer:
    """Lines at a depth; ``entries`` is the table of the language.

    ``owners`` says of each line which statement wrote it: its number, outer before inner, from 0.
    """

    def __init__(self, kernel: Kernel, entries: Meanings[Writes], level: int) -> None:
        """Start with nothing written."""
        self.kernel = kernel
        self.entries = entries
        self.lines: list[str] = []
        self.owners: list[int] = []
        self.level = level
        self._owner, self._written = -1, 0

    def put(self, text: str) -> None:
        """Append a line at the present depth."""
        self.lines.append("  " * self.level + text)
        self.owners.append(self._owner)

    def body(self, body: tuple[Statement, ...]) -> None:
        """Write statements, each under its line of the listing."""
        outer = self._owner
        for statement in body:
            meaning = self.entries[statement]
            self._owner, self._written = self._written, self._written + 1
            self.put(f"// {line_in(self.kernel, statement)}")
            meaning(self, statement)
        self._owner = outer

    def inside(self, body: tuple[Statement, ...]) -> None:
        """Write statements one level deeper."""
        self.level += 1
        self.body(body)
        self.level -= 1

    def block(self, head: str, body: tuple[Statement, ...]) -> None:
        """Write statements in braces."""
        self.put(f"{head} {{")
        self.inside(body)
        self.put("}")


def demand_entries(kernel: Kernel, entries: Meanings[Writes]) -> None:
    """Refuse a kernel that has a kind of statement for which a language has no entry."""
    for statement in kernel.statements():
        entries[statement]


# ------------------------------------------------------------ launching
# What a kernel in C finds at its start: its work-group's place, elements of operands.

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
    names = set(re.findall(rf"{ELEMENT}(\w+)\(", "\n".join(lines)))
    return [_element(o) for o in kernel.operands if o.name in names]


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
