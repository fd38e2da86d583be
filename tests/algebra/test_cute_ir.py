"""What CuTe IR's own tests expect of its operations, asked of the library.

`tests/data/cute_ir.txt` has the operands and the result of each operation on static types in
`cutlass_compiler/cute_ir/test` and `cutlass_compiler/test` of CUTLASS at commit 7107b05, once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pycute_xe as cx
from pycute_xe import E, Layout, Swizzle
from pycute_xe.basis import ArithTuple
from pycute_xe.errors import CuteError
from pycute_xe.int_tuple import product, product_each

ROWS = (Path(__file__).parents[1] / "data" / "cute_ir.txt").read_text().splitlines()


def tree(text: str) -> Any:
    """An integer, a coordinate or a stride, with `_` as ``None``."""
    text = re.sub(r"(\d+)((?:@\d+)+)", lambda m: f"{m[1]}*E({m[2][1:].replace('@', ',')})", text)
    text = re.sub(r"E\(([\d,]+)\)", lambda m: f"E[{','.join(m[1].split(',')[::-1])}]", text)
    text = text.replace("_", "None").replace(")", ",)").replace("(,)", "()")
    return eval(text.replace("[", "(").replace("]", ")"), {"E": E})


def tile(text: str) -> Any:
    """A tiler: a layout, `_`, or several in brackets."""
    if not text.startswith("["):
        return Layout.from_str(text) if ":" in text else tree(text)
    parts, depth = [""], 0
    for letter in text[1:-1]:
        depth += (letter in "[(") - (letter in ")]")
        if letter == ";" and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return tuple(map(tile, parts))


def swizzle(text: str) -> Swizzle:
    return Swizzle(*map(int, re.findall(r"\d+", text)))


def composed(text: str) -> Any:
    outer, offset, inner = text.split(" o ")
    function = swizzle(outer) if outer.startswith("S") else Layout.from_str(outer)
    return cx.make_composed_layout(function, tree(offset), Layout.from_str(inner))


KINDS: dict[str, Callable[[str], Any]] = {
    "layout": Layout.from_str,
    "composed_layout": composed,
    "swizzle": swizzle,
    "tile": tile,
    **dict.fromkeys(("shape", "stride", "coord", "int_tuple"), tree),
}


def value(text: str) -> Any:
    kind, _, rest = text.partition(" ")
    return KINDS[kind](rest)


def zeroed(coord: Any) -> Any:
    return tuple(map(zeroed, coord)) if isinstance(coord, tuple) else coord or 0


def summed(a: Any, b: Any) -> Any:
    return ArithTuple(a) + b if isinstance(a, tuple) else a + ArithTuple(b)


NAMED: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("to_int_tuple", "to_shape", "to_coord", "to_stride", "get"), lambda x: x),
    "get_shape": lambda x: tuple(m.shape for m in x) if isinstance(x, tuple) else x.shape,
    "get_stride": lambda x: x.stride,
    "tuple_product": product,
    "tuple_product_each": product_each,
    "tuple_add": summed,
    "tuple_sub": lambda a, b: ArithTuple(a) - b,
    "layout_eval": lambda coord, layout: layout(zeroed(coord)),
    "composed_get_inner": lambda x: x.outer if hasattr(x, "outer") else x.swizzle,
    "composed_get_outer": lambda x: x.inner if hasattr(x, "inner") else x.layout,
    "composed_get_offset": lambda x: x.offset,
    "make_layout": Layout,
}

# What is another answer here, and how often, by the page on migration or by C++.
APART = {
    "ceil_div": 2,  # by a tile
    "tuple_sub": 3,  # what is subtracted from an entry that is left out is added there
    "coalesce": 1,  # of the empty layout: `1:0`
    "complement": 6,  # extents of 1 beyond what was asked for
    "left_inverse": 1,  # of a layout that repeats offsets: no inverse there
    "flat_divide": 2,
    "tiled_divide": 1,  # by `_` beside a nested tile
    "zipped_divide": 1,
    "raked_product": 1,  # an extent of 1 stands in the last mode
    "tile_to_shape": 1,  # rounded up where it is asked for
}


def agrees(got: Any, wanted: Any) -> bool:
    if got == wanted:
        return True
    shape = getattr(wanted, "shape", None)
    if shape is None or getattr(got, "shape", None) != shape:
        return False
    count = product(shape)
    return all(got(i) == wanted(i) for i in range(0, count, count // 256 + 1))


def test_cute_ir_gives_the_same() -> None:
    apart = Counter[str]()
    for row in ROWS:
        head, *operands, _, wanted = row.split("\t")
        operation, _, modes = head.rstrip(">").partition("<")
        act = NAMED.get(operation) or getattr(cx, operation)
        given = [*map(value, operands), *(map(int, modes.strip("[]").split(",")) if modes else ())]
        try:
            got = act(*given)
        except CuteError:
            apart[operation] += 1
            continue
        apart[operation] += not agrees(got, value(wanted))
    assert {name: count for name, count in apart.items() if count} == APART
