"""The numbers that stand for names in the binary form: rows of ``atoms/lsc_binary.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import cast

from pycute_xe.arch.lsc.operations import operations
from pycute_xe.errors import InputError
from pycute_xe.facts import Row, rows

__all__ = [
    "BLOCKS",
    "Form",
    "code",
    "codes",
    "form_of",
    "named",
    "names_of",
    "opcode",
    "sub_operations",
    "typed_names",
]

BLOCKS = ("load_block2d", "store_block2d")


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of an instruction in their order, each with its type."""

    name: str
    fields: tuple[tuple[str, str], ...]


@cache
def sub_operations() -> Mapping[str, int]:
    """Return the number of every sub-operation, the block-2D ones included.

    Document: vISA manual, LSC_UNTYPED.md, LscSubOp.

    >>> len(sub_operations()), sub_operations()["load_block2d"], sub_operations()["atomic_xor"]
    (31, 3, 26)
    """
    found = {op.name: op.code for op in operations().values()}
    for row in rows("lsc", "block_operation"):
        found[cast("str", row["name"])] = cast("int", row["code"])
    return MappingProxyType(dict(sorted(found.items(), key=lambda item: item[1])))


@cache
def opcode(name: str = "LSC_UNTYPED") -> int:
    """Return the first byte of an instruction.

    >>> hex(opcode())
    '0x89'
    """
    return next(
        cast("int", row["code"]) for row in rows("lsc_binary", "opcode") if row["name"] == name
    )


@cache
def form_of(op: str) -> Form:
    """Return the form of an operation.

    >>> form_of("load_strided").name, form_of("atomic_iadd").name
    ('strided', 'addressed')
    """
    forms = rows("lsc_binary", "form")
    own = [row for row in forms if op in cast("tuple[str, ...]", row.get("ops", ()))]
    if not own:
        kind = operations()[op].kind
        own = [row for row in forms if kind in cast("tuple[str, ...]", row["kinds"])]
    return Form(cast("str", own[0]["name"]), typed_names(own[0]))


def typed_names(row: Row) -> tuple[tuple[str, str], ...]:
    """Return the names and types of a row's fields: ``("LscSubOp", "ub")``."""
    pairs = (text.split(":") for text in cast("tuple[str, ...]", row["fields"]))
    return tuple((name, kind) for name, kind in pairs)


@cache
def codes(field: str) -> Mapping[str, int]:
    """Return the numbers of the names that a field takes.

    >>> dict(codes("AddrSize"))
    {'16': 1, '32': 2, '64': 3}
    """
    for row in rows("lsc_binary", "code"):
        if row["field"] == field:
            return cast("Mapping[str, int]", row["names"])
    return MappingProxyType({})


def code(field: str, name: object) -> int:
    """Return the number of a name, or of a number such as a vector size."""
    return codes(field)[str(name)]


@cache
def names_of(field: str) -> Mapping[int, str]:
    """Return the names of a field by their numbers."""
    return MappingProxyType({number: name for name, number in codes(field).items()})


def named(field: str, number: int, place: int) -> str:
    """Return the name that a number stands for; `InputError` if none does."""
    found = names_of(field).get(number)
    if found is None:
        known = ", ".join(f"{n} ({name})" for n, name in sorted(names_of(field).items()))
        raise InputError(
            "decode", {"byte": place}, f"{field} is {number}, which no row names", f"use {known}"
        )
    return found
