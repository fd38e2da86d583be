"""Triton's encoding of the operands and the result of DPAS."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal, assert_never

from pycute_xe.dialects.growing import Growth, demand_shape
from pycute_xe.dialects.linear import LinearLayout, is_power
from pycute_xe.errors import InputError
from pycute_xe.signatures import typed_fields
from pycute_xe.typing import shown

__all__ = ["DpasEncoding"]

Part = Literal["A", "B", "C"]


@typed_fields
@dataclass(frozen=True)
class DpasEncoding:
    """``#ttig.dpas``: who owns C and D of a product made of DPAS, and by it A and B.

    One instruction is ``repeat_count`` rows, ``execution_size`` columns and ``systolic_depth *
    ops_per_chan`` of K. ``rep_cluster`` of them, (rows, columns), lie side by side in a subgroup
    before the next subgroup begins; a batch may stand in front. Law: lanes count along the units of
    a row, then down; units have 32 bits, but 16 for A unless its types have 32. Raises `InputError`
    as Triton refuses, and for other than powers of two. MLIR: ``DpasEncodingAttr``.

    >>> dpas = DpasEncoding(8, 8, 16, 2, 16, (4, 1), (1, 2))
    >>> print(dpas.linear((32, 32)))
    #ttg.linear<{register = [[1, 0], [2, 0], [4, 0], [0, 16]], \
lane = [[0, 1], [0, 2], [0, 4], [0, 8]], warp = [[8, 0], [16, 0]], block = []}>
    >>> dpas.tile("A"), dpas.tile("B"), dpas.tile("C")
    ((8, 16), (16, 32), (8, 32))
    """

    repeat_count: int
    systolic_depth: int
    execution_size: int
    ops_per_chan: int
    threads_per_warp: int
    warps_per_cta: tuple[int, ...]
    rep_cluster: tuple[int, ...]

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Check each field, the ranks, and that an instruction fills the lanes."""
        self._demand("repeat_count", self.repeat_count in (1, 2, 4, 8), "1, 2, 4 or 8")
        self._demand("systolic_depth", self.systolic_depth == 8, "8")
        self._demand("execution_size", self.execution_size in (8, 16), "16, or 8 for Xe-HPG")
        self._demand("ops_per_chan", self.ops_per_chan in (1, 2, 4), "1, 2 or 4")
        lanes = self.threads_per_warp in (8, 16, 32)
        wide = lanes and self.threads_per_warp >= self.execution_size
        self._demand("threads_per_warp", wide, "16 or 32, and not less than executionSize")
        for field in ("warps_per_cta", "rep_cluster"):
            sizes: tuple[int, ...] = getattr(self, field)
            good = len(sizes) in (2, 3) and all(is_power(one) for one in sizes)
            self._demand(field, good, "two powers of two, or three with the batch")
        equal = len(self.warps_per_cta) == len(self.rep_cluster)
        self._demand("rep_cluster", equal, "as many sizes as warpsPerCTA has")
        self._demand("rep_cluster", self.rank == 2 or self.rep_cluster[0] == 1, "a batch of 1")
        most = prod(self.warps_per_cta) * self.threads_per_warp <= 1 << 11
        self._demand("warps_per_cta", most, "at most 2048 work-items")
        fills = self.repeat_count * self.execution_size >= self.threads_per_warp
        self._demand("repeat_count", fills, "enough rows for all lanes of C")

    def _demand(self, field: str, good: bool, wanted: str) -> None:
        if not good:
            value = str(getattr(self, field))
            wrong = f"{field} cannot be {value}"
            raise InputError("#ttig.dpas", {field: value}, wrong, f"give {wanted}")

    @property
    def rank(self) -> int:
        """The rank of the tensors: 2, or 3 with a batch."""
        return len(self.warps_per_cta)

    @property
    def k(self) -> int:
        """The extent of K of one instruction, in elements."""
        return self.systolic_depth * self.ops_per_chan

    def instruction(self, part: Part) -> tuple[int, int]:
        """Return the (rows, columns) of an operand of one instruction."""
        match part:
            case "A":
                return self.repeat_count, self.k
            case "B":
                return self.k, self.execution_size
            case "C":
                return self.repeat_count, self.execution_size
        assert_never(part)

    def tile(self, part: Part) -> tuple[int, int]:
        """Return the (rows, columns) of an operand of one cluster: the derived A, B and C."""
        rows, cols = self.instruction(part)
        down, right = self.rep_cluster[-2:]
        return rows * (1 if part == "B" else down), cols * (1 if part == "A" else right)

    def k_width(self, part: Literal["A", "B"]) -> int:
        """Return the elements of one unit of A or B, which ``kWidth`` of ``#ttg.dot_op`` says."""
        return self.ops_per_chan if part == "B" else max(1, self.ops_per_chan // 2)

    def demand_units(self, part: Part) -> tuple[int, int]:
        """Return the (rows, columns) of an operand of one instruction, in units of its lanes.

        Raises `InputError` where there are fewer of them than lanes.
        """
        high, wide = self.instruction(part)
        packed, lanes = 1 if part == "C" else self.k_width(part), self.threads_per_warp
        high, wide = (high // packed, wide) if part == "B" else (high, wide // packed)
        if high * wide < lanes:
            wrong = f"{part} of one instruction has {high * wide} units for {lanes} lanes"
            given = {"repeatCount": self.repeat_count, "threadsPerWarp": lanes}
            raise InputError("#ttig.dpas", given, wrong, "raise repeatCount, or take fewer lanes")
        return high, wide

    def linear(self, shape: tuple[int, ...], part: Part = "C") -> LinearLayout:
        """Return who owns what of a tensor: the result, or A (M, K) or B (K, N) of its product.

        Raises `ShapeError`, `RankError` for other shapes, `InputError` where one instruction has
        fewer units of A than there are lanes.
        """
        shape = demand_shape("#ttig.dpas", shape, self.rank)
        growth, row, col = Growth(self.rank), self.rank - 2, self.rank - 1
        self._one(growth, part, row, col)
        if part != "A":
            growth.by("register", col, self.rep_cluster[col])
        if part != "B":
            growth.by("register", row, self.rep_cluster[row])
        whole = {"A": col, "B": row, "C": None}[part]
        for dim in reversed(range(self.rank)):
            if dim == whole:
                growth.copied("warp", self.warps_per_cta[dim])
            else:
                growth.by("warp", dim, self.warps_per_cta[dim])
        # Registers go on along K first; of C along rows.
        order = (row, col) if part == "B" else (col, row)
        return growth.over(shape, (*order, *range(row)))

    def _one(self, growth: Growth, part: Part, row: int, col: int) -> None:
        """Grow one instruction: its units, the lanes along them, the registers below."""
        lanes = self.threads_per_warp
        high, wide = self.demand_units(part)
        packed = 1 if part == "C" else self.k_width(part)
        growth.by("register", row if part == "B" else col, packed)
        across = min(wide, lanes)
        growth.by("lane", col, across)
        growth.by("lane", row, lanes // across)
        growth.by("register", col, wide // across)
        growth.by("register", row, high // (lanes // across))

    def __str__(self) -> str:
        """The text of the attribute, with the derived A, B and C."""
        front = [1] * (self.rank - 2)
        tiles = [f"{p} = {[*front, *self.tile(p)]}" for p in ("A", "B", "C")]
        return (
            f"#ttig.dpas<{{repeatCount = {self.repeat_count}, "
            f"systolicDepth = {self.systolic_depth}, executionSize = {self.execution_size}, "
            f"opsPerChan = {self.ops_per_chan}, threadsPerWarp = {self.threads_per_warp}, "
            f"warpsPerCTA = {list(self.warps_per_cta)}, repCluster = {list(self.rep_cluster)}, "
            f"{', '.join(tiles)}}}>"
        )
