"""Layouts as text, read as CuTe's ``print`` writes them and written as C++ types.

The grammar, blanks allowed between tokens::

    layout  = tree ":" tree
    tree    = leaf | "(" [ tree { "," tree } [ "," ] ] ")"
    leaf    = term { "+" term }                          e.g. 3@0+2@1
    term    = integer | "_" integer { "@" integer }      e.g. 4  _4  -2  3@1@0
"""

from __future__ import annotations

import re
from typing import Any, NoReturn, cast

from pycute_xe.basis import Basis, BasisSum, basis_sum
from pycute_xe.errors import InputError, ShapeError
from pycute_xe.signatures import MOST_LEVELS, typed
from pycute_xe.typing import IntTuple, Shape, Stride, is_tuple

__all__ = ["cpp_layout", "cpp_tree", "parse_layout"]

_LEAF = re.compile(r"_?(-?\d+)((?:@\d+)*)")
_BLANKS = re.compile(r"\s*")


@typed
def parse_layout(text: str) -> tuple[Shape, Stride]:
    """Return the shape and the stride of a printed layout.

    ``(4)`` is the 1-tuple that CuTe prints so, not the integer in brackets; ``_4`` is ``4``;
    ``3@1@0`` is ``3*E(0, 1)``. The two trees are read, not compared. Raises `InputError` with the
    column (counted from 1) where the text stops being a layout.

    >>> parse_layout("((_2,_4),8):((1,16),1@0)")
    (((2, 4), 8), ((1, 16), E(0)))
    >>> parse_layout("(4,8:(1,4)")
    Traceback (most recent call last):
    pycute_xe.errors.InputError: from_str(text='(4,8:(1,4)'): column 5: ',' or ')' expected, not \
':'. Way out: write shape:stride, as in ((2,4),8):((1,16),2)
    """
    if not isinstance(cast("object", text), str):
        raise InputError(
            "from_str",
            {"text": repr(text)},
            f"text is of type {type(text).__name__}",
            'give a str, as in Layout.from_str("(4,8):(8,1)")',
        )
    reader = _Reader(text)
    shape = reader.tree()
    reader.take(":", "':'")
    stride = reader.tree()
    reader.end()
    return shape, stride


class _Reader:
    """A position in a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.level = 0

    def peek(self) -> str:
        """Skip blanks and return the next character, empty at the end."""
        blanks = _BLANKS.match(self.text, self.at)
        self.at = blanks.end() if blanks else self.at
        return self.text[self.at : self.at + 1]

    def take(self, symbol: str, wanted: str) -> None:
        """Step over a symbol."""
        if self.peek() != symbol:
            self.fail(wanted)
        self.at += 1

    def end(self) -> None:
        """Refuse what follows."""
        if self.peek():
            self.fail("the end")

    def tree(self) -> IntTuple:
        """Read a leaf or a tuple."""
        if self.peek() != "(":
            return self.leaf()
        self.level += 1
        if self.level > MOST_LEVELS:
            self.refuse(f"brackets nest more than {MOST_LEVELS} levels deep", "nest fewer levels")
        self.at += 1
        modes: list[Any] = []
        while self.peek() != ")":
            modes.append(self.tree())
            if self.peek() == ",":
                self.at += 1
            elif self.peek() != ")":
                self.fail("',' or ')'")
        self.level -= 1
        self.at += 1
        return tuple(modes)

    def leaf(self) -> Any:
        """Read an integer, a basis element or a sum of those."""
        value: Any = self.term()
        while (isinstance(value, Basis) or is_tuple(value)) and self.peek() == "+":
            self.at += 1
            self.peek()
            value = value + self.term()
        return basis_sum(value) if is_tuple(value) else value

    def term(self) -> Any:
        """Read an integer or a basis element."""
        match = _LEAF.match(self.text, self.at)
        if match is None:
            self.fail("an integer or '('")
        self.at = match.end()
        value = int(match[1])
        path = match[2].split("@")[1:]
        return Basis(value, tuple(int(mode) for mode in reversed(path))) if path else value

    def fail(self, wanted: str) -> NoReturn:
        """Refuse at the current column."""
        token = self.peek()
        self.refuse(
            f"{wanted} expected, not {repr(token) if token else 'the end'}",
            "write shape:stride, as in ((2,4),8):((1,16),2)",
        )

    def refuse(self, condition: str, fix: str) -> NoReturn:
        """Say what is wrong at the current column."""
        given = {"text": repr(self.text)}
        raise InputError("from_str", given, f"column {self.at + 1}: {condition}", fix)


@typed
def cpp_layout(shape: Shape, stride: Stride) -> str:
    """Return the C++ type of a static layout.

    Basis strides become ``E<1>``, or ``ScaledBasis<_3,1>`` when scaled; a number that CuTe has no
    ``_n`` for is an ``Int<n>``. Raises `ShapeError` for a
    leaf that is not an integer, such as a symbol: a type needs numbers.

    >>> cpp_layout(((2, 4), 8), ((1, 16), 2))
    'Layout<Shape<Shape<_2,_4>,_8>,Stride<Stride<_1,_16>,_2>>'
    >>> cpp_layout((4, 33), (Basis(1, (1,)), Basis(3, (0, 1))))
    'Layout<Shape<_4,Int<33>>,Stride<E<1>,ScaledBasis<_3,0,1>>>'
    """
    return f"Layout<{_tree(shape, 'Shape')},{_tree(stride, 'Stride')}>"


@typed
def cpp_tree(tree: Stride, name: str) -> str:
    """Return the C++ type of a nested tuple of static integers, ``name`` being its template.

    Raises `ShapeError` for a leaf that is not an integer.

    >>> cpp_tree((8, (33, 4)), "Shape")
    'Shape<_8,Shape<Int<33>,_4>>'
    """
    return _tree(tree, name)


def _tree(tree: Stride, name: str) -> str:
    if is_tuple(tree):
        return f"{name}<{','.join([_tree(mode, name) for mode in tree])}>"
    if isinstance(tree, Basis):
        path = ",".join(map(str, tree.modes))
        if tree.value == 1:
            return f"E<{path}>"
        return f"ScaledBasis<{_tree(tree.value, name)},{path}>"
    if isinstance(tree, BasisSum):
        raise ShapeError(
            "to_cpp",
            {"stride": tree},
            "the stride is along several axes, which a C++ stride of a layout is not",
            "use strides along one axis each",
        )
    if type(tree) is not int:
        raise ShapeError(
            "to_cpp",
            {"leaf": tree},
            "the value of the leaf is not known",
            "substitute numbers first",
        )
    return f"_{tree}" if tree >= 0 and tree in _NAMED else f"Int<{tree}>"


# The constants that cute/numeric/integral_constant.hpp has named ``_n`` in all its versions.
_NAMED = frozenset(
    {*range(11), 12, 16, 24, 32, 64, 96, 128, 192, 256, 384, 512, 768}
    | {1 << n for n in range(10, 20)}
)
