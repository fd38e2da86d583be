"""Floor 9: indices of a kernel as integer expressions of C."""

from __future__ import annotations

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Quotient

__all__ = ["ELEMENT", "c_text", "divided", "plain_text"]

ELEMENT = "XE_ELEMENT_"
"""What the name of an operand follows where an element of it is an index."""


def c_text(index: Index) -> str:
    """Return an index as an expression of C; quotients round down, as they do in the index.

    An element of an operand is a call of the macro of its name, a scalar its name.

    >>> from pycute_xe.kernel.index import Tiles
    >>> c_text(32 * Index("k") + 64), c_text(Tiles("K", 32) - 1), c_text(Index("K") // 3)
    ('32 * k + 64', '((K + 31) >> 5) - 1', 'xe_floor(K, 3)')
    """
    parts: list[str] = []
    for atom, factor in index.terms:
        if isinstance(atom, str):
            text = atom
        elif isinstance(atom, Quotient):
            text = _quotient(atom)
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
        found = index.looked_up[0]
        name = str(found) if found.at else found.operand
        raise KernelError(
            "emit",
            {"index": index},
            f"{name} is an element of an operand, which is known only in a run",
            'use indices of sizes and loop variables, or emit "opencl"',
        )
    return c_text(index)


def _quotient(atom: Quotient) -> str:
    inner, divisor = c_text(atom.index), atom.divisor
    if divisor & (divisor - 1) == 0:
        held = inner if inner.isidentifier() else f"({inner})"
        return f"({held} >> {divisor.bit_length() - 1})"
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
