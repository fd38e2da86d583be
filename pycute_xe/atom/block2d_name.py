"""Floor 6: the names of CUTLASS's older block-2D copy operations, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Literal, cast

from pycute_xe.atom.spelling import nearest_spelling
from pycute_xe.errors import CuteError, ShapeError
from pycute_xe.facts import Row, rows
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["Block2DName", "parse_block2d_name", "shipped_names"]

Mode = Literal["N", "T", "V"]

_GRAMMAR = re.compile(
    r"XE_2D_(Packed_)?(U4|U8|U16|U32|U64|TF32)x([1-9]\d*)x([1-9]\d*)_(LD|ST)_([NTV])((?<=LD_.)::PREFETCH)?"
)
_SPELLING = "XE_2D_[Packed_]<U4|U8|U16|U32|U64|TF32>x<rows>x<cols>_<LD|ST>_<N|T|V>[::PREFETCH]"


@dataclass(frozen=True)
class Block2DName:
    """A name ``XE_2D_[Packed_]<DataType>x<Rows>x<Cols>_<LD|ST>_<N|T|V>``, taken apart.

    ``rows`` and ``cols`` count elements, as the name does. A prefetch is the name with
    ``::PREFETCH`` behind it. Law: ``str(parse_block2d_name(s)) == s``. Raises `ShapeError` for
    parts the grammar has no name for. Document: CUTLASS, "2D Copy Operations for Intel XE
    Architecture".

    >>> name = parse_block2d_name("XE_2D_U16x16x8_LD_T")
    >>> name.bits, name.logical_shape, name.memory_shape, name.shipped
    (16, (8, 16), (16, 8), True)
    """

    data_type: str
    rows: int
    cols: int
    mode: Mode = "N"
    is_store: bool = False
    packed: bool = False
    is_prefetch: bool = False

    def __post_init__(self) -> None:
        """Refuse what the grammar has no word for."""
        if _GRAMMAR.fullmatch(str(self)) is None:
            raise ShapeError(
                "Block2DName",
                {"name": str(self)},
                "the grammar has no such name",
                _SPELLING,
            )

    @cached_property
    def value_type(self) -> Numeric:
        """The type of the name, unsigned but for tf32."""
        return as_numeric(self.data_type.lower())

    @property
    def bits(self) -> int:
        """Bits of one element of the name."""
        return self.value_type.bits

    @cached_property
    def fact(self) -> Row | None:
        """The row of ``atoms/block2d_names.toml``, ``None`` for a name that is not shipped."""
        return _facts().get(str(self))

    def says(self, key: str) -> object:
        """Return what the row of a shipped name says under a key, else ``None``."""
        return self.fact.get(key) if self.fact else None

    @property
    def shipped(self) -> bool:
        """Whether CUTLASS ships an operation of this name."""
        return self.fact is not None

    @property
    def traits(self) -> Literal["usable", "unusable", "none"]:
        """Whether CUTLASS has traits for it, without which no copy can be built there."""
        found = self.fact.get("traits", "usable") if self.fact else "none"
        return cast("Literal['usable', 'unusable', 'none']", found)

    @cached_property
    def counts(self) -> Literal["memory", "logical"]:
        """What rows and columns of a transposed name count: the block in memory or the result.

        The two differ for ``LD_T`` only. Shipped names say it in their row. Of the others those
        whose columns fill 16 work-items count the result, as the document describes it; the rest
        count memory, as CUTLASS does for all but one of its own.
        """
        if self.mode != "T":
            return "logical"
        plain = replace(self, is_prefetch=False) if self.is_prefetch else self
        fact = self.fact or plain.fact
        if fact:
            return cast("Literal['memory', 'logical']", fact["rows"])
        return "memory" if self.cols % 16 else "logical"

    @property
    def logical_shape(self) -> tuple[int, int]:
        """(rows, columns) of the block that work-items own, in elements."""
        swap = self.counts == "memory"
        return (self.cols, self.rows) if swap else (self.rows, self.cols)

    @property
    def memory_shape(self) -> tuple[int, int]:
        """(rows, elements of a row) of the block in memory; the second is contiguous."""
        rows_, cols = self.logical_shape
        return (cols, rows_) if self.mode == "T" else (rows_, cols)

    def __str__(self) -> str:
        """The name as CUTLASS spells it."""
        packed = "Packed_" if self.packed else ""
        way = "ST" if self.is_store else "LD"
        twin = "::PREFETCH" if self.is_prefetch else ""
        return f"XE_2D_{packed}{self.data_type}x{self.rows}x{self.cols}_{way}_{self.mode}{twin}"


@cache
def _facts() -> dict[str, Row]:
    return {cast("str", row["name"]): row for row in rows("block2d_names", "name")}


def shipped_names() -> tuple[str, ...]:
    """Return the names CUTLASS ships: 90 copies, then the prefetches that 31 of them carry.

    >>> len(shipped_names())
    121
    """
    return tuple(_facts())


def parse_block2d_name(text: str) -> Block2DName:
    """Return the parts of a name of the grammar, shipped or not.

    Raises `CuteError` for any other text, with the nearest names that CUTLASS ships.

    >>> parse_block2d_name("XE_2D_U16x32x16_LD_T").shipped
    False
    """
    found = _GRAMMAR.fullmatch(text.strip())
    if found is None:
        near = nearest_spelling(text, shipped_names())
        tip = f"did you mean {', '.join(near)}?" if near else f"write {_SPELLING}"
        raise CuteError("get_atom", {"name": text}, f"no name of the grammar {_SPELLING}", tip)
    packed, data_type, rows_, cols, way, mode, twin = found.groups()
    return Block2DName(
        data_type,
        int(rows_),
        int(cols),
        cast("Mode", mode),
        way == "ST",
        packed is not None,
        twin is not None,
    )
