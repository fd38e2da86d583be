"""Floor 6: the names of CUTLASS's older block-2D copy operations, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Literal, cast

from pycute_xe.atom.spelling import as_name, nearest_spelling
from pycute_xe.errors import CuteError, DTypeError, ShapeError
from pycute_xe.facts import Row, rows
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed_fields

__all__ = ["LARGEST_BLOCK", "LegacyCopyName", "parse_block2d_name", "shipped_names"]

Mode = Literal["N", "T", "V"]

_GRAMMAR = re.compile(
    r"XE_2D_(Packed_)?(U4|U8|U16|U32|U64|TF32)x([1-9][0-9]*)x([1-9][0-9]*)_(LD|ST)_([NTV])((?<=LD_.)::PREFETCH)?"
)
# The largest register file of a thread, 256 registers of 64 bytes, is 16 KB; the largest names that
# are written, 64x64 elements of 64 bits, are 32 KB.
LARGEST_BLOCK = 64 * 1024
_WITH_TYPE = re.compile(r"(XE_2D_(?:Packed_)?)([A-Za-z]+[A-Za-z0-9]*?)(x[1-9].*)")
_SPELLING = "XE_2D_[Packed_]<U4|U8|U16|U32|U64|TF32>x<rows>x<cols>_<LD|ST>_<N|T|V>[::PREFETCH]"


@typed_fields
@dataclass(frozen=True)
class LegacyCopyName:
    """A name ``XE_2D_[Packed_]<DataType>x<Rows>x<Cols>_<LD|ST>_<N|T|V>``, taken apart.

    ``rows`` and ``cols`` count elements, as the name does. A prefetch is the name with
    ``::PREFETCH`` behind it. Law: ``str(parse_block2d_name(s)) == s``. Raises `ShapeError` for
    parts the grammar has no name for, and for blocks above 64 KB: no thread's registers hold a
    quarter of that. Document: CUTLASS, "2D Copy Operations for Intel XE Architecture".

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
        """Refuse what the grammar cannot spell, and blocks larger than all registers."""
        whole = type(self.rows) is int and type(self.cols) is int
        if whole and max(self.rows, self.cols) > LARGEST_BLOCK * 2:  # of 4 bits
            raise _too_large(self.data_type, self.rows, self.cols)
        if not whole or _GRAMMAR.fullmatch(str(self)) is None:
            raise ShapeError(
                "LegacyCopyName",
                {"name": str(self)},
                f"no name has these parts; names read {_SPELLING}",
                "correct the name",
            )
        if self.rows * self.cols * self.bits > LARGEST_BLOCK * 8:
            raise _too_large(self.data_type, self.rows, self.cols)

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


def _short(size: int | str) -> int | str:
    """A size that fits into a message."""
    if isinstance(size, str):
        return size if len(size) < 20 else f"{size[:10]}…"
    return size if size < 10**19 else "10**19 or more"


def _too_large(data_type: str, rows_: int | str, cols: int | str) -> ShapeError:
    sizes = {"rows": rows_, "cols": cols}
    short = {side: _short(size) for side, size in sizes.items()}
    return ShapeError(
        "LegacyCopyName",
        {"data_type": data_type, **short},
        f"the block exceeds {LARGEST_BLOCK} bytes, four times the registers of any thread",
        "use several smaller blocks",
    )


def _refuse_type(text: str) -> None:
    """Say what to write for a name with a type where it has a width."""
    found = _WITH_TYPE.fullmatch(text.strip())
    try:
        numeric = as_numeric(found[2].lower()) if found else None
    except DTypeError:
        return
    if found and numeric:
        name = f"{found[1]}U{numeric.bits}{found[3]}"
        if _GRAMMAR.fullmatch(name):
            way_out = f'get_atom("{name}", "{numeric}")'
            condition = f"a name holds a width, as U{numeric.bits}; {numeric} is the value_type"
            raise CuteError("get_atom", {"name": text}, condition, f"write {way_out}")


def parse_block2d_name(text: str) -> LegacyCopyName:
    """Return the parts of a name of the grammar, shipped or not.

    Raises `CuteError` for any other text, with the nearest names that CUTLASS ships.

    >>> parse_block2d_name("XE_2D_U16x32x16_LD_T").shipped
    False
    """
    return _parsed(as_name(text).strip())


@lru_cache(maxsize=1 << 12)
def _parsed(text: str) -> LegacyCopyName:
    found = _GRAMMAR.fullmatch(text)
    if found is None:
        _refuse_type(text)
        near = nearest_spelling(text, shipped_names())
        tip = f"did you mean {', '.join(near)}?" if near else f"write {_SPELLING}"
        raise CuteError("get_atom", {"name": text}, f"the name does not read {_SPELLING}", tip)
    packed, data_type, rows_, cols, way, mode, twin = found.groups()
    if max(len(rows_), len(cols)) > 9:
        raise _too_large(data_type, rows_, cols)
    return LegacyCopyName(
        data_type,
        int(rows_),
        int(cols),
        cast("Mode", mode),
        way == "ST",
        packed is not None,
        twin is not None,
    )
