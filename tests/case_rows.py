"""Cases of other libraries as rows of text: what is asked, operands, and a result where one is.

A line that starts with `=` names what is asked of the lines below. A row is `operand | operand`,
or `operand | operand -> result`. `{a;b}` stands for each of some alternatives, `{0..3}` for each
number; `<a;b>` for the alternatives of one line taken together. Values are layouts as CuTe prints
them, with `F5` for XOR strides and letters for symbols; tilers as `[4:1;8:2]`, ratios as `1/2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import product as combinations
from pathlib import Path
from typing import Any

import pycute_xe as cx
from pycute_xe import Basis, Layout
from pycute_xe.f2 import F2, F2Layout
from pycute_xe.int_tuple import leaves

SYMBOLS = dict(zip("NMXY", cx.symbols("N M X Y"), strict=True))
CLOSING = {"<": ">", "{": "}"}


def split(text: str, sign: str) -> list[str]:
    """Parts of a text at a sign that no bracket encloses."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == sign and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def alternatives(text: str, opening: str) -> list[list[str]]:
    """What stands between each pair of brackets of a kind, a range of numbers written out."""
    out: list[list[str]] = []
    for part in re.findall(f"{opening}([^{opening}]*?){CLOSING[opening]}", text):
        ends = re.fullmatch(r"(\d+)\.\.(\d+)", part)
        numbers = range(int(ends[1]), int(ends[2]) + 1) if ends else ()
        out.append(list(map(str, numbers)) if ends else split(part, ";"))
    return out


def filled(text: str, opening: str, chosen: tuple[str, ...]) -> str:
    """A text with one alternative in the place of each pair of brackets."""
    for one in chosen:
        text = re.sub(f"{opening}[^{opening}]*?{CLOSING[opening]}", one, text, count=1)
    return text


def expanded(row: str) -> Iterator[str]:
    """Each case that a line stands for."""
    row = row.replace("->", "→")
    together = alternatives(row, "<")
    for chosen in zip(*together, strict=True) if together else [()]:
        text = filled(row, "<", chosen)
        for several in combinations(*alternatives(text, "{")):
            yield filled(text, "{", several)


def tree(text: str) -> Any:
    """An integer, a coordinate, a shape or strides; `_` is ``None``."""
    text = re.sub(r"\bF(\d+)", r"F2(\1)", text)

    def element(match: re.Match[str]) -> str:
        return f"at({match[1]},{','.join(match[2].split('@')[:0:-1])})"

    text = re.sub(r"(F2\(\d+\)|-?\d+)((?:@\d+)+)", element, text)
    text = re.sub(r"(?<![\w)])_(?!\w)", "None", text)
    return eval(text, {"at": lambda v, *path: Basis(v, path), "F2": F2, **SYMBOLS})


def value(text: str) -> Any:
    """A layout, a tiler in brackets, a ratio or a tree."""
    if text.startswith("["):
        return tuple(map(value, split(text[1:-1], ";")))
    if len(parts := split(text, ":")) > 1:
        shape, stride = map(tree, parts)
        xor = any(isinstance(d, F2) for d in leaves(stride))
        return F2Layout(shape, stride) if xor else Layout(shape, stride)
    return Fraction(text) if re.fullmatch(r"1/\d+", text) else tree(text)


def cases(path: Path) -> Iterator[tuple[str, list[str], str]]:
    """Name, operands and wanted result of each case of a file."""
    names = [""]
    for row in path.read_text().splitlines():
        if row.startswith("= "):
            names = list(expanded(row[2:]))
            continue
        for name in names:
            for case in expanded(row):
                given, _, wanted = case.partition("→")
                yield name, split(given, "|"), wanted.strip()
