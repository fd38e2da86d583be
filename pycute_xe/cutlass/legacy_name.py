"""The names of CUTLASS's older block-2D copy operations, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Literal, cast

from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.atom.spelling import as_name, nearest_spelling
from pycute_xe.errors import CuteError, DivisibilityError, DTypeError, ShapeError
from pycute_xe.facts import Row, rows
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed, typed_fields

__all__ = [
    "LARGEST_BLOCK",
    "LegacyCopyName",
    "parse_block2d_name",
    "shipped_names",
    "Step",
    "Steps",
    "adjacent_columns",
    "memory_steps",
    "places",
    "register_steps",
]

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

    def fact_of(self, key: str) -> object:
        """Return what the row of a shipped name says under a key, else ``None``."""
        return self.fact.get(key) if self.fact else None

    @property
    def shipped(self) -> bool:
        """Whether CUTLASS ships an operation of this name."""
        return self.fact is not None

    @property
    def traits(self) -> Literal["usable", "unusable", "none"]:
        """Whether CUTLASS has traits for it, without which no copy can be built there."""
        traits = self.fact.get("traits", "usable") if self.fact else "none"
        return cast("Literal['usable', 'unusable', 'none']", traits)

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


@typed
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
    match = _WITH_TYPE.fullmatch(text.strip())
    try:
        numeric = as_numeric(match[2].lower()) if match else None
    except DTypeError:
        return
    if match and numeric:
        name = f"{match[1]}U{numeric.bits}{match[3]}"
        if _GRAMMAR.fullmatch(name):
            way_out = f'get_atom("{name}", "{numeric}")'
            condition = f"a name holds a width, as U{numeric.bits}; {numeric} is the value_type"
            raise CuteError("get_atom", {"name": text}, condition, f"write {way_out}")


@typed
def parse_block2d_name(text: str) -> LegacyCopyName:
    """Return the parts of a name of the grammar, shipped or not.

    Raises `CuteError` for any other text, with the nearest names that CUTLASS ships.

    >>> parse_block2d_name("XE_2D_U16x32x16_LD_T").shipped
    False
    """
    return _parsed(as_name(text).strip())


@lru_cache(maxsize=1 << 12)
def _parsed(text: str) -> LegacyCopyName:
    match = _GRAMMAR.fullmatch(text)
    if match is None:
        _refuse_type(text)
        near = nearest_spelling(text, shipped_names())
        tip = f"did you mean {', '.join(near)}?" if near else f"write {_SPELLING}"
        raise CuteError("get_atom", {"name": text}, f"the name does not read {_SPELLING}", tip)
    packed, data_type, rows_, cols, way, mode, twin = match.groups()
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


# ------------------------------------------------------------ legacy steps
# How a block is dealt to 16 work-items, from the parts of an older name.

# One mode of a (work-item, value) map: its extent, and the rows and columns it steps.
Step = tuple[int, int, int]
Steps = tuple[tuple[Step, ...], tuple[Step, ...]]


def register_steps(name: LegacyCopyName) -> Steps:
    """Return the modes of the work-items and of the values of each, in `logical_shape`.

    Raises `DivisibilityError` for a block whose columns 16 work-items cannot share evenly.

    >>> from pycute_xe.cutlass import parse_block2d_name
    >>> register_steps(parse_block2d_name("XE_2D_Packed_U8x8x64_LD_N"))
    (((16, 0, 2),), ((2, 0, 1), (2, 0, 32), (8, 1, 0)))
    """
    rows, cols = name.logical_shape
    if name.fact_of("dealt") == "by eight":
        return ((8, 0, 1), (2, 1, 0)), ((cols // 8, 0, 8), (rows // 2, 2, 0))
    adjacent = adjacent_columns(name)
    group = SUBGROUP * adjacent
    if cols % group:
        return _narrow(name, rows, cols)
    inner, across = (adjacent, 0, 1), (cols // group, 0, group)
    down = _down(name, rows, across)
    if name.fact_of("order") == "rows first":
        down = ((rows, 1, 0), across)
    return ((SUBGROUP, 0, adjacent),), (inner, *down)


def memory_steps(name: LegacyCopyName) -> tuple[Step, ...] | None:
    """Return the modes that CUTLASS's traits list for the memory side; ``None``: the values."""
    side = name.fact_of("memory_side")
    if side is None:
        return None
    if side == "one value":
        return ((1, 0, 0),)
    rows, cols = name.logical_shape
    if side == "contiguous":
        return (cols, 0, 1), (rows // SUBGROUP, 1, 0)
    inner, across, down = register_steps(name)[1]
    return inner, down, across


def adjacent_columns(name: LegacyCopyName) -> int:
    """Return how many adjacent columns a work-item takes of each group of them.

    One of a name that is not packed. Two of a packed one, as documented; of 4-bit elements as many
    of 8, 4 and 2 as the columns allow.

    >>> adjacent_columns(parse_block2d_name("XE_2D_Packed_U4x8x64_LD_N"))
    4
    """
    if not name.packed or name.bits >= 8:
        return 2 if name.packed else 1
    cols = name.logical_shape[1]
    return next((n for n in (8, 4) if cols % (SUBGROUP * n) == 0), 2)


def _down(name: LegacyCopyName, rows: int, across: Step) -> tuple[Step, ...]:
    """Order the values of a work-item: from column to column first, then down the rows.

    VNNI hides here: 16-bit copies take the two rows of a dword first, narrower ones all rows.
    """
    if name.mode != "V":
        return across, (rows, 1, 0)
    if name.bits == 16 and rows % 2 == 0:
        return (2, 1, 0), across, (rows // 2, 2, 0)
    return (rows, 1, 0), across


def _narrow(name: LegacyCopyName, rows: int, cols: int) -> Steps:
    """Deal a block narrower than 16 columns: element ``x + cols * y`` to work-item ``… mod 16``."""
    count = rows * cols
    if not name.packed and SUBGROUP % cols == 0:
        if count % SUBGROUP == 0:
            at_once = SUBGROUP // cols
            return ((cols, 0, 1), (at_once, 1, 0)), ((rows // at_once, at_once, 0),)
        if SUBGROUP % count == 0:  # too few elements: the other work-items repeat them
            return ((cols, 0, 1), (rows, 1, 0), (SUBGROUP // count, 0, 0)), ((1, 0, 0),)
    unit = "pairs of columns" if name.packed else "columns"
    raise DivisibilityError(
        "get_atom",
        {"name": name},
        f"16 work-items cannot share {rows} rows of {cols} columns evenly by {unit}",
        f"use columns in multiples of {SUBGROUP * (2 if name.packed else 1)}",
    )


def places(steps: tuple[Step, ...]) -> list[tuple[int, int]]:
    """Every (row, column) of a list of modes, first mode fastest."""
    out = [(0, 0)]
    for extent, down, right in steps:
        out = [(y + i * down, x + i * right) for i in range(extent) for y, x in out]
    return out
