"""Floor 6: what a C++ name without arguments stands for: numbers, element types, operations."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from pycute_xe.atom.spelling import nearest_spelling
from pycute_xe.cutlass.legacy_name import parse_block2d_name
from pycute_xe.cutlass.names import get_atom
from pycute_xe.numeric import Numeric, as_numeric, numerics

__all__ = ["cpp_names", "meaning_of_name", "nearest_name"]

_STATIC = re.compile(r"_([0-9]{1,18})")
_OLDER_MMA = re.compile(r"XE_[0-9]+x[0-9]+x[0-9]+_[A-Z0-9]+_TT")


@cache
def cpp_names() -> dict[str, Numeric]:
    """Return the element types by their names in C++, and by those of the library.

    >>> cpp_names()["bfloat16_t"], cpp_names()["unsigned char"]
    (as_numeric('bf16'), as_numeric('u8'))
    """
    packs = ("u128", "u256", "u512")
    own = {name: as_numeric(name) for name in numerics()}
    own |= {found.to_cpp(): found for found in map(as_numeric, (*numerics(), *packs))}
    every = tuple(own.values())
    return own | {spelling: found for found in every for spelling in found.row.spellings}


def meaning_of_name(name: str, member: str) -> Any:
    """Return what a name stands for, and `NotImplemented` for an unknown one.

    ``_8`` is 8, ``_`` and ``Underscore`` are ``None``, a type of elements is a `Numeric`, an older
    operation its name or atom. Raises as `parse_block2d_name` does.

    >>> meaning_of_name("_8", ""), meaning_of_name("half_t", "")
    (8, as_numeric('f16'))
    """
    static = _STATIC.fullmatch(name)
    if static and not member:
        return int(static[1])
    if name in ("_", "Underscore") and not member:
        return None
    if name.startswith("XE_2D_") and member in ("", "PREFETCH"):
        return parse_block2d_name(f"{name}::{member}" if member else name)
    if _OLDER_MMA.fullmatch(name) and not member:
        return get_atom(name)
    return NotImplemented if member else cpp_names().get(name, NotImplemented)


def nearest_name(name: str, others: tuple[str, ...]) -> str:
    """Return a tip for an unknown name: those most like it.

    >>> nearest_name("bfloat_t", ())
    'did you mean bfloat16_t, ...?'
    """
    known = (*others, *cpp_names(), "Underscore")
    near = nearest_spelling(name, known)
    return f"did you mean {', '.join(near)}?" if near else "write the type in full"
