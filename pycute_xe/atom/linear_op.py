"""Linear copy operations: blocks, shared local memory, gathers and scatters, atomics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Literal, cast

from pycute_xe.arch.rules import judge, rules
from pycute_xe.atom.spelling import as_name
from pycute_xe.errors import CuteError, DTypeError
from pycute_xe.facts import Row, rows
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.typing import shown

__all__ = [
    "XE_1D_LDSM",
    "XE_1D_LOAD_GLOBAL",
    "XE_1D_STORE_GLOBAL",
    "XE_1D_STSM",
    "XE_ATOMIC",
    "LinearOp",
    "UniversalCopy",
    "is_linear_name",
    "linear_names",
    "parse_linear_op",
]

Side = Literal["S", "D"]

_FACTS = {cast("str", row["name"]): row for row in rows("linear", "operation")}
_FAMILY = re.compile(r"XE_?1D|XE_?ATOM|Universal", re.IGNORECASE)
_SPELLED = re.compile(r"(\w+)\s*<([^<>]*)>")
_SIZES = ("u8", "u16", "u32", "u64", "u128", "u256", "u512")
# The names of C++ for types that have another here; others end in _t there.
_CPP = {"int": "s32", "double": "f64"}


@typed_fields
@dataclass(frozen=True)
class LinearOp:
    """One linear copy operation ``kind<S, D>``: ``S`` is the type it reads, ``D`` what it writes.

    Built by the functions named as in CUTLASS. Law: ``parse_linear_op(str(op)) == op``.
    Raises `CuteError` for an unknown kind, `DTypeError` for types that CUTLASS's static
    assertions refuse. Counterpart: ``include/cute/arch/copy_xe.hpp``.

    >>> op = XE_1D_LOAD_GLOBAL("u16", "u64")
    >>> print(op, op.vector, op.work_items)
    XE_1D_LOAD_GLOBAL<u16,u64> 4 16
    """

    kind: str
    S: Numeric
    D: Numeric

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Hold the types against the rows of ``atoms/linear.toml``."""
        if self.kind not in _FACTS:
            raise _unknown("LinearOp", self.kind)
        for side in ("S", "D"):
            object.__setattr__(self, side, as_numeric(getattr(self, side)))
        broken = _broken(self.kind, self.S, self.D)
        if broken:
            way_out = _way_out(self.kind, self.S, self.D)
            raise DTypeError(self.kind, {"S": self.S, "D": self.D}, "; ".join(broken), way_out)

    @property
    def fact(self) -> Row:
        """The row of ``atoms/linear.toml``."""
        return _FACTS[self.kind]

    @typed
    def side(self, side: Side) -> Numeric:
        """The type of one side."""
        return self.S if side == "S" else self.D

    @property
    def work_items(self) -> int:
        """The work-items of its traits: 16 for a block of a subgroup, 1 for one's own address."""
        return cast("int", self.fact["work_items"])

    @property
    def vector(self) -> int:
        """How many of the smaller type fit in the larger one, C++'s ``N``."""
        return max(self.S.bits, self.D.bits) // min(self.S.bits, self.D.bits)

    @property
    def moves(self) -> tuple[str, ...]:
        """What its messages are: load, store or atomic, in order."""
        return cast("tuple[str, ...]", self.fact["moves"])

    @property
    def is_store(self) -> bool:
        """Whether it only moves data from registers to memory."""
        return "load" not in self.moves

    @cached_property
    def registers(self) -> Numeric:
        """The type that one work-item holds in registers."""
        return self.side(cast("Side", self.fact["registers"]))

    @property
    def is_block(self) -> bool:
        """Whether the subgroup moves one contiguous block together."""
        return self.work_items > 1

    def __repr__(self) -> str:
        """The call that builds it."""
        return f"{self.kind}({', '.join(repr(t.name) for t in self._types)})"

    def to_cpp(self) -> str:
        """Return the C++ type: ``XE_1D_LDSM<uint32_t,uint32_t>``."""
        return f"{self.kind}<{self.S.to_cpp()},{self.D.to_cpp()}>"

    def __str__(self) -> str:
        """As C++ names the type, with the short names of the types."""
        return f"{self.kind}<{','.join(t.name for t in self._types)}>"

    @property
    def _types(self) -> tuple[Numeric, ...]:
        return (self.S,) if self.S == self.D else (self.S, self.D)


def linear_names() -> tuple[str, ...]:
    """Return the names of the operations, without types.

    >>> linear_names()[0], len(linear_names())
    ('XE_1D_LOAD_GLOBAL', 6)
    """
    return tuple(_FACTS)


def is_linear_name(text: str) -> bool:
    """Whether a name looks like that of a linear operation, perhaps misspelled.

    >>> is_linear_name("XE_1D_LDMS<u32>"), is_linear_name("XE_DPAS_TT<8,f32,bf16>")
    (True, False)
    """
    return _FAMILY.match(as_name(text).strip()) is not None


@typed
def parse_linear_op(text: str) -> LinearOp:
    """Return the operation of a name with its types: ``XE_1D_LDSM<u32>``, ``XE_ATOMIC<float>``.

    Types are named as here or as in C++ (``uint16_t``, ``float``, ``int``, ``double``). Raises
    `CuteError` for other names, with the nearest ones, `DTypeError` as `LinearOp` does.

    >>> parse_linear_op("XE_1D_STSM<uint128_t, uint32_t>")
    XE_1D_STSM('u128', 'u32')
    """
    match = _SPELLED.fullmatch(as_name(text).strip())
    kind = match[1] if match else text.strip().partition("<")[0]
    if kind not in _FACTS:
        raise _unknown("get_atom", text)
    words = match[2].split(",") if match else []
    if not 1 <= len(words) <= 2:
        way_out = f"write {kind}<S> or {kind}<S,D>, such as {kind}<f32>"
        raise CuteError(
            "get_atom", {"name": text}, f"{kind} takes one or two types, not {len(words)}", way_out
        )
    source, *rest = map(_type, words)
    return LinearOp(kind, source, rest[0] if rest else source)


def _type(word: str) -> Numeric:
    name = word.strip().removeprefix("cutlass::").removesuffix("_t")
    return as_numeric(_CPP.get(name, name))


def _unknown(operation: str, text: str) -> CuteError:
    head = text.strip().partition("<")
    near = get_close_matches(head[0].strip(), _FACTS, n=2, cutoff=0.6)
    types = head[1] + head[2] if head[1] else "<f32>"
    tip = f"did you mean {' or '.join(name + types for name in near)}?" if near else ""
    known = ", ".join(_FACTS)
    return CuteError(
        operation, {"name": text}, f"no linear copy has this name; there are {known}", tip
    )


def _broken(kind: str, S: Numeric, D: Numeric) -> list[str]:
    """The static assertions that types break, each with its source."""
    s, d = (max(1, t.bits // 8) for t in (S, D))
    quantities = {
        "s_bits": S.bits,
        "d_bits": D.bits,
        "s_bytes": s,
        "d_bytes": d,
        "vector": max(s, d) // min(s, d),
    }
    breaches = judge(rules("linear", "condition", "", kind), quantities)
    broken = [f"{b.rule}: {b.condition} [{b.source}]" for b in breaches]
    for operand, allowed, row in _named_types(kind):
        numeric = S if operand == "S" else D
        if numeric.name not in allowed:
            must = f"{operand} is {numeric}, must be {' or '.join(allowed)}"
            broken.append(f"{row['id']}: {must} [{row['source']}]")
    return broken


def _named_types(kind: str) -> list[tuple[str, tuple[str, ...], Row]]:
    """(operand, types by name, row) of the rows that list types."""
    return [
        (cast("str", row["operand"]), cast("tuple[str, ...]", row["one_of"]), row)
        for row in rows("linear", "type")
        if row["op"] == kind
    ]


def _way_out(kind: str, S: Numeric, D: Numeric) -> str:
    """The types that would be legal for D, else for S, else for both."""
    listed = {operand: names for operand, names, _ in _named_types(kind)}
    working = [n for n in listed.get("D", _SIZES) if not _broken(kind, S, as_numeric(n))]
    if working:
        return f"with S = {S}, use D = {' or '.join(working)}"
    working = [n for n in listed.get("S", _SIZES) if not _broken(kind, as_numeric(n), D)]
    if working:
        return f"with D = {D}, use S = {' or '.join(working)}"
    return f"use {kind}<{listed.get('S', _SIZES)[0]}>"


def _op(kind: str, S: Numeric | str, D: Numeric | str | None) -> LinearOp:
    source = as_numeric(S)
    return LinearOp(kind, source, source if D is None else as_numeric(D))


@typed
def XE_1D_LOAD_GLOBAL(S: Numeric | str, D: Numeric | str | None = None) -> LinearOp:
    """Load ``16 * N`` elements ``S`` that lie together in global memory, ``N = D / S`` for each.

    ``N`` is 1, 2, 4 or 8. Raises as `LinearOp` does.

    >>> print(XE_1D_LOAD_GLOBAL("u16", "u128"))
    XE_1D_LOAD_GLOBAL<u16,u128>
    """
    return _op("XE_1D_LOAD_GLOBAL", S, D)


@typed
def XE_1D_STORE_GLOBAL(S: Numeric | str, D: Numeric | str | None = None) -> LinearOp:
    """Store ``16 * N`` elements ``D`` side by side to global memory, ``N = S / D`` of each.

    ``N`` is 1, 2, 4 or 8. Raises as `LinearOp` does.

    >>> XE_1D_STORE_GLOBAL("u64", "u16").vector
    4
    """
    return _op("XE_1D_STORE_GLOBAL", S, D)


@typed
def XE_1D_LDSM(S: Numeric | str, D: Numeric | str | None = None) -> LinearOp:
    """Load one ``D`` from shared local memory, each work-item at its own address.

    ``D`` is as large as ``S`` at least. Raises as `LinearOp` does.

    >>> XE_1D_LDSM("u32", "u128").registers.bits
    128
    """
    return _op("XE_1D_LDSM", S, D)


@typed
def XE_1D_STSM(S: Numeric | str, D: Numeric | str | None = None) -> LinearOp:
    """Store one ``S`` to shared local memory, each work-item at its own address.

    ``S`` is as large as ``D`` at least. Raises as `LinearOp` does.

    >>> XE_1D_STSM("u128", "u32").is_store
    True
    """
    return _op("XE_1D_STSM", S, D)


@typed
def XE_ATOMIC(S: Numeric | str, D: Numeric | str | None = None) -> LinearOp:
    """Add one ``S`` to a ``D`` in global memory, each work-item at its own address.

    ``S`` is f32, f64 or s32. Raises as `LinearOp` does.

    >>> XE_ATOMIC("f32").moves
    ('atomic',)
    """
    return _op("XE_ATOMIC", S, D)


@typed
def UniversalCopy(S: Numeric | str, D: Numeric | str | None = None) -> LinearOp:
    """Assign one ``S`` to a ``D``, each work-item at its own addresses: a gather or a scatter.

    Raises as `LinearOp` does. Counterpart: ``include/cute/arch/copy.hpp``.

    >>> UniversalCopy("u128").work_items
    1
    """
    return _op("UniversalCopy", S, D)
