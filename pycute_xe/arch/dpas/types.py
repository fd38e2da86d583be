"""Which element types DPAS takes: the rows of the facts, and what they say of other types."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import cast

from pycute_xe.arch.rules import Broken
from pycute_xe.arch.target import targets
from pycute_xe.facts import Row, rows, rows_for
from pycute_xe.numeric import as_numeric

__all__ = [
    "dpas_types",
    "listed_types",
    "nearest_types",
    "numeric_name",
    "operations",
    "precisions",
    "register_types",
    "row_bits",
    "spellings",
    "types_broken",
]

Types = tuple[str, str, str, str]


@cache
def dpas_types() -> tuple[Types, ...]:
    """Return the type names (D, A, B, C) of every instruction that the facts hold.

    >>> ("f32", "bf16", "bf16", "f32") in dpas_types(), ("s32", "s8", "u2", "u32") in dpas_types()
    (True, True)
    """
    return _of(rows("dpas", "combination"))


@cache
def listed_types() -> tuple[Types, ...]:
    """Return those of `dpas_types` that one of `targets` has.

    >>> ("f32", "f4e2m1", "f4e2m1", "f32") in listed_types()
    False
    """
    combinations = rows("dpas", "combination")
    return _of(tuple(r for r in combinations if {*targets()} & {*_names(r, "targets")}))


def _of(combinations: tuple[Row, ...]) -> tuple[Types, ...]:
    types = (
        each for row in combinations for each in product(*(_names(row, key) for key in "dabc"))
    )
    return tuple(dict.fromkeys(cast("Types", each) for each in types))


def nearest_types(types: Types, most: int = 4) -> tuple[Types, ...]:
    """Return the instructions that agree with a request in the most places, at most so many.

    >>> nearest_types(("f16", "bf16", "bf16", "f32"))
    (('f32', 'bf16', 'bf16', 'f32'), ('bf16', 'bf16', 'bf16', 'f32'))
    """
    agreement = {row: sum(map(str.__eq__, row, types)) for row in dpas_types()}
    best = max(agreement.values())
    return tuple(row for row, n in agreement.items() if n == best)[:most]


@cache
def precisions(column: str = "visa") -> Mapping[str, str]:
    """Return how the instruction spells each type of A and B: in vISA, or in ``assembly``.

    >>> precisions()["bf16"], precisions("assembly")["s8"]
    ('bf', 'b')
    """
    return {str(row["type"]): str(row[column]) for row in rows("dpas", "precision")}


@cache
def register_types() -> Mapping[str, str]:
    """Return how the instruction spells each type of C and D.

    >>> register_types()["s32"]
    'd'
    """
    return {str(row["type"]): str(row["visa"]) for row in rows("dpas", "register")}


@cache
def operations() -> Mapping[int, int]:
    """Return the operations of a channel in one step, by the bits of the wider operand.

    >>> operations()[16]
    2
    """
    table = rows("dpas", "operations")
    return {cast("int", row["bits"]): cast("int", row["count"]) for row in table}


@cache
def spellings() -> tuple[str, ...]:
    """Return every precision that text may name, those that no target has included.

    >>> spellings()[:3], "e2m1" in spellings()
    (('bf', 'hf', 'tf32'), True)
    """
    refused = [name for row in rows("dpas", "refused") for name in _names(row, "visa")]
    return tuple(dict.fromkeys((*precisions().values(), *refused)))


def numeric_name(visa: str) -> str:
    """Return the element type of vISA's spelling; the spelling itself if no type has it.

    >>> numeric_name("ud"), numeric_name("hf"), numeric_name("df")
    ('u32', 'f16', 'df')
    """
    return _numeric_names().get(visa, visa)


@cache
def _numeric_names() -> Mapping[str, str]:
    return {visa: name for name, visa in (*precisions().items(), *register_types().items())}


def row_bits(
    src1: str, src2: str, dst: str | None, src0: str | None, depth: int, exec_size: int
) -> tuple[int, int, int]:
    """Return the bits of a row of dst, of src0 and of src2; 0 for types that do not exist.

    Where the type of dst or src0 is not known, the narrowest legal one counts.

    >>> row_bits("hf", "hf", "f", None, 8, 16)
    (512, 256, 256)
    """
    combination = _combination(src1, src2, None)
    if combination is None:
        return 0, 0, 0
    rows_of: list[int] = []
    for part, given in (("dst", dst), ("src0", src0)):
        bits = {spelled: _bits(spelled) for spelled in _spelled(combination, part)}
        rows_of.append(exec_size * (min(bits.values()) if given is None else bits.get(given, 0)))
    k = depth * operations()[max(_bits(src1), _bits(src2))]
    return rows_of[0], rows_of[1], k * _bits(src2)


def types_broken(
    src1: str, src2: str, dst: str | None, src0: str | None, target: str | None = None
) -> tuple[Broken, ...]:
    """Return why no instruction takes these types, in vISA's spelling; empty if one does.

    ``None`` stands for a type that is not known, and for no particular target. Every reason is a
    row of the facts.

    >>> [b.rule for b in types_broken("bf", "hf", "f", "f", "pvc")]
    ['pair']
    >>> types_broken("s8", "u4", "d", None, "pvc")
    ()
    """
    combination = _combination(src1, src2, target)
    if combination is None:
        refused = [r for r in _reasons("refused", target) if {src1, src2} & set(_names(r, "visa"))]
        if refused:
            return tuple(_broken(row, src1, src2) for row in refused)
        if unknown := _not_multiplied(src1, src2, target):
            return unknown
        integers = all(as_numeric(numeric_name(src)).kind != "float" for src in (src1, src2))
        about = (row for row in _reasons("pair", target) if row["integers"] == integers)
        return tuple(_broken(row, src1, src2) for row in about)
    return tuple(
        _outside(combination, part, given)
        for part, given in (("dst", dst), ("src0", src0))
        if given is not None and given not in _spelled(combination, part)
    )


def _combination(src1: str, src2: str, target: str | None) -> Row | None:
    """The row that has a pair of operands."""
    for row in _rows("combination", target):
        b, a = ({precisions()[name] for name in _names(row, key)} for key in "ba")
        if src1 in b and src2 in a:
            return row
    return None


def _spelled(combination: Row, part: str) -> list[str]:
    """The types that a combination allows dst or src0, as vISA spells them."""
    key = {"dst": "d", "src0": "c"}[part]
    return [register_types()[name] for name in _names(combination, key)]


def _outside(combination: Row, part: str, given: str) -> Broken:
    wanted = " or ".join(_spelled(combination, part))
    return Broken(
        f"{combination['id']}-{part}",
        "error",
        f"{part} is {given}, must be {wanted} with these operands",
        str(combination["source"]),
        f"make {part} {wanted}",
    )


def _broken(row: Row, src1: str, src2: str) -> Broken:
    condition = f"{row['condition']}; these are {src1} and {src2}"
    return Broken(str(row["id"]), "error", condition, str(row["source"]), str(row["fix"]))


def _not_multiplied(src1: str, src2: str, target: str | None) -> tuple[Broken, ...]:
    """Why nothing is multiplied: a type that is not a precision, or a target without rows."""
    spelled = precisions().values()
    given = next((src for src in (src1, src2) if src not in spelled), None)
    if given is not None:
        condition, fix = f"DPAS multiplies no {numeric_name(given)}", f"use {', '.join(spelled)}"
    elif not _rows("combination", target):
        condition = f"no row says what DPAS multiplies on {target}"
        fix = "add it to rows of atoms/dpas.toml"
    else:
        return ()
    return (Broken("precision", "error", condition, "vISA manual, DPAS.md, precisions", fix),)


def _bits(visa: str) -> int:
    return as_numeric(numeric_name(visa)).bits


def _rows(table: str, target: str | None) -> tuple[Row, ...]:
    return rows("dpas", table) if target is None else rows_for("dpas", table, target)


def _reasons(table: str, target: str | None) -> tuple[Row, ...]:
    """The rows of reasons: those of a target, or those that hold on all."""
    reasons = _rows(table, target)
    return reasons if target else tuple(row for row in reasons if "targets" not in row)


def _names(row: Row, key: str) -> tuple[str, ...]:
    return cast("tuple[str, ...]", row[key])
