"""The systolic matrix instruction and where its operands lie in registers, by formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import cast

from pycute_xe.arch.dpas.types import (
    dpas_types,
    nearest_types,
    operations,
    precisions,
    register_types,
    types_broken,
)
from pycute_xe.arch.rules import Broken
from pycute_xe.arch.target import Target, get_target
from pycute_xe.errors import CuteError, DTypeError, ShapeError
from pycute_xe.facts import rows
from pycute_xe.layout import Layout
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["Dpas"]


@dataclass(frozen=True, slots=True)
class Dpas:
    """``D = C + A·B``: D and C are (M, N), A is (M, K), B is (K, N), addressed as (N, K).

    N is the execution size; K is the depth times the operations of a channel, set by the wider of
    A and B. A is src2, B src1, C src0 (the accumulator). Types may be given by name.
    Raises `DTypeError` for types without a row, naming the nearest rows, and `ShapeError` for an
    M or execution size that the instruction does not have.
    Document: vISA manual, DPAS.md. C++: ``XE_DPAS_TT<M, D, A, B, C>``.

    >>> dpas = Dpas(8, as_numeric("f32"), as_numeric("bf16"), as_numeric("bf16"), as_numeric("f32"))
    >>> dpas.M, dpas.N, dpas.K, str(dpas)
    (8, 16, 16, 'dpas.bf.bf.8.8 (M1,16)')
    """

    M: int
    D: Numeric
    A: Numeric
    B: Numeric
    C: Numeric
    exec_size: int = 16

    def __post_init__(self) -> None:
        """Resolve names, then refuse what has no row."""
        for name in "DABC":
            object.__setattr__(self, name, as_numeric(getattr(self, name)))
        _check_types((self.D.name, self.A.name, self.B.name, self.C.name))
        shape = _shape()
        if type(self.M) is not int or not shape["repeat_min"] <= self.M <= shape["repeat_max"]:
            raise ShapeError(
                "Dpas",
                {"M": self.M},
                f"M must be {shape['repeat_min']} to {shape['repeat_max']}",
                "use a legal M and issue more instructions",
            )
        if self.exec_size != shape["exec_size"]:
            raise ShapeError(
                "Dpas",
                {"exec_size": self.exec_size},
                f"exec_size must be {shape['exec_size']} on every supported target",
                "leave it out",
            )

    def to_cpp(self) -> str:
        """Return the C++ type of the operation.

        >>> Dpas(8, *map(as_numeric, ("f32", "bf16", "bf16", "f32"))).to_cpp()
        'XE_DPAS_TT<8,float,bfloat16_t,bfloat16_t,float>'
        """
        types = ",".join(t.to_cpp() for t in (self.D, self.A, self.B, self.C))
        return f"XE_DPAS_TT<{self.M},{types}>"

    def __str__(self) -> str:
        """Text as the vISA assembler takes it, operands left out."""
        name = precisions()
        text = f"dpas.{name[self.B.name]}.{name[self.A.name]}.{self.depth}.{self.M}"
        return f"{text} (M1,{self.exec_size})"

    def broken_rules(self, target: str | Target) -> tuple[Broken, ...]:
        """Return the rules of a target that the types break; empty if it has the instruction.

        Raises `TargetError` for an unknown target.

        >>> Dpas(8, *map(as_numeric, ("s32", "s8", "u4", "u32"))).broken_rules("lnl")
        ()
        """
        d, a, b, c = map(_spelling, (self.D.name, self.A.name, self.B.name, self.C.name))
        return types_broken(b, a, d, c, get_target(target).name)

    @property
    def N(self) -> int:
        """Columns of B, C and D: the execution size."""
        return self.exec_size

    @property
    def K(self) -> int:
        """The depth times the operations of a channel."""
        return self.depth * self.operations

    @property
    def depth(self) -> int:
        """Stages of the systolic array."""
        return _shape()["depth"]

    @property
    def operations(self) -> int:
        """Multiply-adds of one 32-bit channel in one stage, set by the wider type; at most 8."""
        return operations()[max(self.A.bits, self.B.bits)]

    @property
    def position_A(self) -> Layout:
        """(M, K) → element index of src2: row-major, in A's own width, without gaps.

        >>> print(Dpas(8, *map(as_numeric, ("f32", "bf16", "bf16", "f32"))).position_A)
        (8,16):(16,1)
        """
        return Layout((self.M, self.K), (self.K, 1))

    @property
    def position_B(self) -> Layout:
        """(N, K) → element index of src1: consecutive k of one column share a channel (VNNI).

        A dword holds as many k as fit B's own width: of a B narrower than A, one register feeds
        several stages.

        >>> print(Dpas(8, *map(as_numeric, ("f32", "bf16", "bf16", "f32"))).position_B)
        (16,(2,8)):(2,(1,32))
        """
        pack = _shape()["channel_bits"] // self.B.bits
        if pack == 1:
            return Layout((self.N, self.K))
        return Layout((self.N, (pack, self.K // pack)), (pack, (1, pack * self.N)))

    @property
    def position_C(self) -> Layout:
        """(M, N) → element index of src0 and of the destination: row-major.

        >>> print(Dpas(8, *map(as_numeric, ("f32", "bf16", "bf16", "f32"))).position_C)
        (8,16):(16,1)
        """
        return Layout((self.M, self.N), (self.N, 1))

    @property
    def bytes_A(self) -> int:
        """Register bytes of A."""
        return self.M * self.K * self.A.bits // 8

    @property
    def bytes_B(self) -> int:
        """Register bytes of B."""
        return self.K * self.N * self.B.bits // 8

    @property
    def bytes_C(self) -> int:
        """Register bytes of the accumulator C."""
        return self.M * self.N * self.C.bits // 8

    @property
    def bytes_D(self) -> int:
        """Register bytes of the destination D."""
        return self.M * self.N * self.D.bits // 8


def _check_types(types: tuple[str, str, str, str]) -> None:
    if types in _types():
        return
    d, a, b, c = map(_spelling, types)
    said = "; ".join(f"{why.condition} [{why.source}]" for why in types_broken(b, a, d, c))
    near = " or ".join(f"({', '.join(row)})" for row in nearest_types(types))
    raise DTypeError(
        "Dpas",
        dict(zip("DABC", types, strict=True)),
        f"no instruction takes these types: {said}",
        f"(D, A, B, C) = {near}",
    )


def _spelling(name: str) -> str:
    spelled = {**precisions(), **register_types()}
    return spelled.get(name, name)


@cache
def _types() -> frozenset[tuple[str, str, str, str]]:
    return frozenset(dpas_types())


@cache
def _shape() -> Mapping[str, int]:
    """The one shape row; targets that differ would need one each."""
    found = rows("dpas", "shape")
    if len(found) != 1:
        raise CuteError(
            "Dpas", {"rows": len(found)}, "the targets have different shapes", "name a target"
        )
    return cast("Mapping[str, int]", found[0])
