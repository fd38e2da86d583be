"""Operands as bytes: raw and vector operands, and predicates (vISA manual, 5_operands.md).

The binary names variables by their places in the tables of their kernel. ``V12`` and ``P3`` are
places 12 and 3; any other name is given the next free place, and the table that says so goes
along with the bytes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from pycute_xe.arch.lsc.codes import code, named, names_of, typed_names
from pycute_xe.arch.lsc.fields import null_or_name
from pycute_xe.errors import InputError, ShapeError
from pycute_xe.facts import rows
from pycute_xe.signatures import held_fields

__all__ = ["SIZES", "Cursor", "Tables", "pack", "predicate_root", "root", "tables"]

SIZES = {"ub": "B", "uw": "H", "ud": "I", "uq": "Q", "d": "i"}
"""The types of fields, as the module struct spells them."""

_RAW = re.compile(r"([^.]+)(?:\.([0-9]+))?")
_SCALAR = re.compile(r"([^(<]+)(?:\(([0-9]+),([0-9]+)\))?(?:<([0-9]+);([0-9]+),([0-9]+)>)?")
_VARIABLE, _PREDICATE = re.compile(r"V(0|[1-9][0-9]{0,8})"), re.compile(r"P([1-9][0-9]{0,3})")
_FIRST_FREE, _PREDICATES = 32, 4096


@held_fields
@dataclass(frozen=True, slots=True)
class Tables:
    """Which place each name has in a kernel's tables: pairs of variables, and of predicates.

    >>> from pycute_xe.arch.lsc import decode, encode, parse
    >>> code = encode(parse("lsc_load.ugm (M1,16) V33:d32 flat[V32]:a64")).code
    >>> print(decode(code, Tables((("where", 32), ("data", 33)))))
    lsc_load.ugm (M1,16) data:d32 flat[where]:a64
    """

    variables: tuple[tuple[str, int], ...] = ()
    predicates: tuple[tuple[str, int], ...] = ()

    def raw(self, name: str | None) -> bytes:
        """A raw operand: the variable and its offset in bytes; place 0 is the null register."""
        if name is None:
            return pack("raw", id=0, offset=0)
        match = _RAW.fullmatch(name)
        base, offset = (name, 0) if match is None else (match[1], int(match[2] or 0))
        if offset > 0xFFFF:
            raise _refused(name, f"the offset is {offset}, must be at most 65535", "use another")
        return pack("raw", id=dict(self.variables)[base], offset=offset)

    def scalar(self, value: int | str | None, kind: str = "ud") -> bytes:
        """A vector operand: an immediate, or an element of a variable; place 0 where left out."""
        if value is None:
            return pack(
                "general", tag=code("operand_class", "general"), id=0, row=0, column=0, region=0
            )
        if isinstance(value, int):
            kind = "d" if value < 0 else kind
            start = pack(
                "immediate", tag=code("operand_class", "immediate"), type=code("type", kind)
            )
            return start + struct.pack("<" + SIZES[kind], value)
        match = _SCALAR.fullmatch(value)
        if match is not None and null_or_name("encode", "operand", match[1]) is None:
            raise _refused(value, "the null register holds no number", "name another, or give it")
        if match is None or "." in value:
            condition = "an operand that is a number counts rows and columns, not bytes"
            raise _refused(value, condition, "write V7(1,0) for V7.64")
        row, column = int(match[2] or 0), int(match[3] or 0)
        if max(row, column) > 0xFF:
            raise _refused(value, "row and column must be at most 255", "name a nearer variable")
        return pack(
            "general",
            tag=code("operand_class", "general"),
            id=dict(self.variables)[match[1]],
            row=row,
            column=column,
            region=_region(value, match.groups()[3:]),
        )

    def predicate(self, text: str | None) -> int:
        """A predicate: its place in bits 0 to 11, how channels combine, and whether inverted."""
        if text is None:
            return 0
        combine = code("combine", text.partition(".")[2] or "each")
        inverted = int(text.startswith("!"))
        return dict(self.predicates)[predicate_root(text)] | combine << 13 | inverted << 15


def _region(value: str, parts: tuple[str | None, ...]) -> int:
    """The three numbers of a region, four bits each; all null where it is left out."""
    bits = 0
    for place, part in enumerate(parts):
        if part is not None:
            if part not in names_of("region").values():
                known = ", ".join(names_of("region").values())
                raise _refused(value, f"a region has no number {part}", f"use {known}")
            bits |= code("region", part) << 4 * place
    return bits


def root(value: str) -> str:
    """Return the variable of an operand, without offset and region.

    >>> root("V7.64"), root("S1(0,1)<0;1,0>")
    ('V7', 'S1')
    """
    return re.split(r"[.(<]", value, maxsplit=1)[0]


def predicate_root(text: str) -> str:
    """Return the predicate without its sign and ``.any``.

    >>> predicate_root("!P1.any")
    'P1'
    """
    return text.lstrip("!").partition(".")[0]


def tables(variables: Iterable[str], predicates: Iterable[str]) -> Tables:
    """Return places for names: those of ``V12`` and ``P3`` are their numbers.

    >>> dict(tables(["V33", "VDATA", "x"], ["P1"]).variables)
    {'V33': 33, 'VDATA': 32, 'x': 34}
    """
    return Tables(
        _places(variables, _VARIABLE, _FIRST_FREE),
        _places((p for p in predicates if p), _PREDICATE, 1),
    )


def _places(
    names: Iterable[str], plain: re.Pattern[str], first: int
) -> tuple[tuple[str, int], ...]:
    listed = list(dict.fromkeys(names))
    found: dict[str, int] = {}
    for name in listed:
        match = plain.fullmatch(name)
        if match and (plain is _VARIABLE or int(match[1]) < _PREDICATES):
            found[name] = int(match[1])
    for name in listed:
        if name not in found:
            while first in found.values():
                first += 1
            found[name] = first
    return tuple((name, found[name]) for name in listed)


@cache
def _operand(name: str) -> tuple[tuple[str, str], ...]:
    row = next(row for row in rows("lsc_binary", "operand") if row["name"] == name)
    return typed_names(row)


def pack(operand: str, **values: int) -> bytes:
    """Return the bytes of an operand, as far as values are given."""
    return b"".join(
        struct.pack("<" + SIZES[kind], values[name])
        for name, kind in _operand(operand)
        if name in values
    )


class Cursor:
    """Bytes and how far they have been read; places in tables become names again."""

    def __init__(self, data: bytes, known: Tables) -> None:
        """Start at the first byte."""
        self.data, self.place = data, 0
        self._variables = {place: name for name, place in known.variables}
        self._predicates = {place: name for name, place in known.predicates}

    def take(self, kind: str) -> int:
        """Read a number of a type; `InputError` where bytes are missing."""
        size = struct.calcsize("<" + SIZES[kind])
        part = self.data[self.place : self.place + size]
        if len(part) < size:
            raise self.error(f"the bytes end where {size} more must stand", "give all of them")
        self.place += size
        return int(struct.unpack("<" + SIZES[kind], part)[0])

    def error(self, condition: str, fix: str) -> InputError:
        """Make the error that names the byte."""
        return InputError("decode", {"byte": self.place}, condition, fix)

    def raw(self) -> str | None:
        """Read a raw operand."""
        place, offset = self.take("ud"), self.take("uw")
        if not place and offset:
            raise self.error("the null register has an offset", "make it 0")
        name = self._variables.get(place, f"V{place}") if place else None
        return name if name is None or not offset else f"{name}.{offset}"

    def scalar(self) -> int | str | None:
        """Read a vector operand; ``None`` where it is left out."""
        start, tag = self.place, self.take("ub")
        if named("operand_class", tag, start) == "immediate":
            start = self.place
            return self.take(named("type", self.take("ub"), start))
        place = self.take("ud")
        row, column, region = self.take("ub"), self.take("ub"), self.take("uw")
        name = self._variables.get(place, f"V{place}")
        start = self.place - 2
        if not place:
            if row or column or region:
                raise self.error("the null register has no region", "make it 0")
            return None
        if not region:
            return name + (f"({row},{column})" if row or column else "")
        if region >> 12:
            raise self.error("bits 12 to 15 of a region are reserved", "make them 0")
        parts = [named("region", region >> 4 * i & 15, start) for i in range(3)]
        return f"{name}({row},{column})<{parts[0]};{parts[1]},{parts[2]}>"

    def predicate(self) -> str | None:
        """Read a predicate."""
        start, bits = self.place, self.take("uw")
        if not bits:
            return None
        place = bits & 0xFFF
        if bits >> 12 & 1 or not place:
            raise self.error("bit 12 of a predicate is reserved, and 0 is none", "give its place")
        name, combine = (
            self._predicates.get(place, f"P{place}"),
            named("combine", bits >> 13 & 3, start),
        )
        return ("!" if bits >> 15 else "") + name + ("" if combine == "each" else f".{combine}")


def _refused(name: str, condition: str, fix: str) -> ShapeError:
    return ShapeError("encode", {"operand": name}, condition, fix)
