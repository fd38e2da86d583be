"""Floor 7: row and column sums beside a product: what all work-groups add to a vector."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from itertools import cycle, product
from math import isnan
from typing import TYPE_CHECKING

from pycute_xe.atom.block2d_op import XE_STORE_2D
from pycute_xe.atom.copy_atom import make_copy_atom
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.ir.statements import AtomicStore, Reduce
from pycute_xe.kernel.kinds.vectors import vector_copy, vector_gather
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Slot,
    leaves,
    rebuilt,
    total,
)
from pycute_xe.kernel.spec.functions import function
from pycute_xe.kernel.spec.parsing import parse
from pycute_xe.layout import cosize
from pycute_xe.numeric import Numeric, as_numeric

if TYPE_CHECKING:
    from pycute_xe.kernel.kinds.epilogue import Tail

__all__ = ["add_reduction", "is_reduction"]

_KEY = re.compile(r"(\w+)\[(\w+(?:\s*,\s*\w+)*)\]")
_OTHER = {"m": "n", "n": "m"}
F32, S32 = as_numeric("f32"), as_numeric("s32")


def is_reduction(name: str) -> bool:
    """Tell whether an output is named with its indices, as a vector of sums is."""
    return "[" in name


def add_reduction(epilogue: Tail, key: str, text: str, d_value: Expression) -> None:
    """Append what adds a row or column sum to a vector, ``rowsum[m]`` from ``sum(n, D[m,n])``.

    Every subgroup reduces its part of the tile and adds it atomically, so the vector is an operand
    that a run is given, and keeps what it had. ``D[m,n]`` in the text is the value that D gets.
    Raises `KernelError` for anything but a sum, and for one that is not zero outside the matrix.
    """
    name, letter = _output(epilogue, key)
    summed = _body(text, letter, epilogue.frame.indices)
    whole = tuple(map(Index, epilogue.frame.indices))
    value = rebuilt(summed, lambda x: d_value if x == Element("D", whole) else x)
    value = epilogue.declared(value)
    _demand_zero_outside(key, text, value, _OTHER[letter])
    accumulator = epilogue.frame.mma.atom.op.D
    exact = value == Slot("acc") and accumulator in (F32, S32)
    held, numeric = "tCrC", accumulator
    if not exact:
        numeric = F32
        held = epilogue.computed(name, value, F32, also_plain=True)
    _store_sum(epilogue, name, letter, held, numeric)
    extent = epilogue.frame.extents["mn".index(_OTHER[letter])]
    place = tuple(Index(i) for i in epilogue.frame.indices if i != _OTHER[letter])
    wrapped = numeric if numeric == S32 else None
    claim = Element(name, place) + total(_OTHER[letter], extent, value, accumulator=wrapped)
    epilogue.sums.append((name, tuple(map(str, place)), claim))


def _store_sum(epilogue: Tail, name: str, letter: str, held: str, numeric: Numeric) -> None:
    frame = epilogue.frame
    declared = as_numeric(frame.types.get(name, numeric))
    if declared != numeric:
        raise KernelError(
            "epilogue",
            {name: declared},
            f"the sums that are added are of {numeric}, {name} is declared as {declared}",
            f'declare it as "{numeric}"',
        )
    loads = vector_copy(frame.mma, letter, numeric)
    width = loads.op.message.width
    copy = replace(loads, atom=make_copy_atom(XE_STORE_2D(numeric.bits, 1, width), numeric))
    slots = copy.messages * copy.atom.values
    sums = epilogue.fragment(f"tEs{name}", numeric, slots)
    gather = vector_gather(frame.mma, letter)
    if cosize(gather) % width:
        raise KernelError(
            "epilogue",
            {name: numeric, "mma": frame.mma},
            f"a subgroup has {cosize(gather)} sums, a message of {width} would add beyond them",
            f"give each subgroup a multiple of {width} {'rows' if letter == 'm' else 'columns'}",
        )
    epilogue.stores.append(Reduce("sum", held, sums, gather))
    modes = (*frame.lead, frame.extents["mn".index(letter)])
    epilogue.outs.append(Operand(name, numeric, modes, role="inout"))
    at = (*frame.first, frame.corner["mn".index(letter)])
    epilogue.stores.append(AtomicStore(copy, name, at, sums, (None, len(modes) - 1)))


def _output(epilogue: Tail, key: str) -> tuple[str, str]:
    """Return the name and the last index of an output such as ``rowsum[m]``."""
    found = _KEY.fullmatch(key.strip())
    lead = epilogue.frame.indices[:-2]
    places: list[str] = re.split(r"\s*,\s*", found[2]) if found else []
    if found is None or tuple(places[:-1]) != lead or places[-1] not in _OTHER:
        known = " or ".join(f"total[{','.join((*lead, i))}]" for i in "mn")
        raise KernelError(
            "epilogue",
            {"also": key},
            "a vector of sums has one element for each row or column",
            f"write {known}",
        )
    return found[1], places[-1]


def _body(text: str, letter: str, indices: tuple[str, ...]) -> Expression:
    """Return what is summed over the other index."""
    other = _OTHER[letter]
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        tree = None
    match tree:
        case ast.Call(ast.Name("sum"), [ast.Name(over), inner], []) if over == other:
            return parse(ast.unparse(inner), frozenset({"acc"}), indices)
        case _:
            raise KernelError(
                "epilogue",
                {"text": text[:80]},
                f"a vector over {letter} is a sum over {other}",
                f'write "sum({other}, acc)"',
            )


# Any number may stand in an element, `verify` asks for all of them. One sign or both may be outside
# of what a function takes, which says nothing.
_SAMPLES = (0.6180339887498949, -1.324717957244746, 3.0)


def _demand_zero_outside(key: str, text: str, value: Expression, over: str) -> None:
    """Refuse a sum that elements beyond the last row or column would add to."""
    read = list(dict.fromkeys(x for x in leaves(value) if isinstance(x, Element)))
    samples = product(_SAMPLES, repeat=min(len(read), 4))
    found = [_outside(value, over, dict(zip(read, cycle(s), strict=False))) for s in samples]
    known = [x for x in found if not isnan(x)]
    if not known or any(known):
        raise KernelError(
            "epilogue",
            {"also": key, "text": text},
            f"what is summed over {over} is not zero beyond the matrix, where tiles reach",
            f"multiply it by what depends on {over}, or sum what is zero where acc is",
        )


def _outside(value: Expression, over: str, numbers: dict[Element, float]) -> float:
    """Return the value where what depends on ``over`` is zero, as loads beyond an edge give it."""
    import numpy as np

    match value:
        case Const(number):
            return number
        case Slot():
            return 0.0
        case Element():
            return 0.0 if over in map(str, value.at) else numbers[value]
        case Rounded(_, body):
            return _outside(body, over, numbers)
        case Apply(name, arguments):
            values = [np.float64(_outside(x, over, numbers)) for x in arguments]
            with np.errstate(all="ignore"):
                return float(function(name, len(values)).meaning(np, *values))
        case _:
            return float("nan")
