"""Triton's encodings of distributed tensors, those of its backend for Intel GPUs among them.

An encoding is a rule; with a tensor's shape it is a `LinearLayout`: ``encoding.linear(shape)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Literal

from pycute_xe.dialects.dpas_encoding import DpasEncoding
from pycute_xe.dialects.growing import Growth, demand_shape
from pycute_xe.dialects.linear import PLACES, LinearLayout, dims, is_power
from pycute_xe.errors import InputError, RankError, ShapeError
from pycute_xe.signatures import typed_fields
from pycute_xe.typing import shown

__all__ = ["Blocked", "DotOperand", "Linear", "Sliced", "Subgroup2DBlock"]

_MOST_WORK_ITEMS = 1 << 11


def _refuse(name: str, field: str, value: object, fix: str) -> InputError:
    return InputError(f"#{name}", {field: value}, f"{field} cannot be {value}", fix)


@typed_fields
@dataclass(frozen=True)
class Blocked:
    """``#ttg.blocked``: tiles of registers, of lanes and of warps, dimension by dimension.

    ``order`` names the dimensions, the one that counts fastest first. Law: registers, lanes and
    warps count through their tiles in this order. Raises `InputError` for sizes that are not
    powers of two, `RankError` for lists of other ranks. MLIR: ``BlockedEncodingAttr``.

    >>> print(Blocked((1, 4), (8, 4), (2, 1), (1, 0)).linear((16, 16)).basis("lane"))
    ((0, 4), (0, 8), (1, 0), (2, 0), (4, 0))
    """

    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_cta: tuple[int, ...]
    order: tuple[int, ...]

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Check ranks and sizes."""
        for field in ("size_per_thread", "threads_per_warp", "warps_per_cta"):
            sizes = getattr(self, field)
            if not all(map(is_power, sizes)):
                raise _refuse("ttg.blocked", field, list(sizes), "give powers of two")
            if len(sizes) != len(self.order):
                wrong = f"{field} = {list(sizes)} and order = {list(self.order)} differ in rank"
                raise RankError("#ttg.blocked", {field: list(sizes)}, wrong, "give equal ranks")
        if not self.order or sorted(self.order) != list(range(len(self.order))):
            fix = "name each dimension once, the fastest first"
            raise _refuse("ttg.blocked", "order", list(self.order), fix)
        if prod(self.threads_per_warp) * prod(self.warps_per_cta) > _MOST_WORK_ITEMS:
            fix = f"give at most {_MOST_WORK_ITEMS} work-items"
            raise _refuse("ttg.blocked", "warps_per_cta", list(self.warps_per_cta), fix)

    @property
    def rank(self) -> int:
        """The rank of the tensors."""
        return len(self.order)

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """Return who owns what of a tensor. Raises `ShapeError`, `RankError` for other shapes."""
        return self._grown(demand_shape("#ttg.blocked", shape, self.rank), None)

    def operand(self, shape: tuple[int, ...], operand: Literal[0, 1]) -> LinearLayout:
        """Return who owns what of A or B of a product that has this encoding.

        All of K lies in each work-item's registers.
        """
        if self.rank < 2:
            wrong = "a product has two dimensions at least"
            raise RankError("#ttg.dot_op", {"parent": self}, wrong, "give a parent of rank 2")
        shape = demand_shape("#ttg.dot_op", shape, self.rank)
        return self._grown(shape, self.rank - 1 if operand == 0 else self.rank - 2)

    def _grown(self, shape: tuple[int, ...], whole: int | None) -> LinearLayout:
        growth = Growth(self.rank)
        for dim in self.order:
            growth.by("register", dim, shape[dim] if dim == whole else self.size_per_thread[dim])
        for place, sizes in (("lane", self.threads_per_warp), ("warp", self.warps_per_cta)):
            for dim in self.order:
                if dim == whole:
                    growth.copied(place, sizes[dim])
                else:
                    growth.by(place, dim, sizes[dim])
        return growth.over(shape, self.order)

    def __str__(self) -> str:
        """The text of the attribute."""
        return (
            f"#ttg.blocked<{{sizePerThread = {list(self.size_per_thread)}, "
            f"threadsPerWarp = {list(self.threads_per_warp)}, "
            f"warpsPerCTA = {list(self.warps_per_cta)}, order = {list(self.order)}}}>"
        )


@typed_fields
@dataclass(frozen=True)
class Linear:
    """``#ttg.linear``: the bases themselves, of a tensor of one shape.

    Law: ``linear(shape)`` is ``bases`` for its own shape; of a larger tensor registers count on, of
    a smaller one the places outside own copies. MLIR: ``LinearEncodingAttr``.

    >>> print(Linear(LinearLayout({"lane": [[1], [2]]})).linear((8,)).basis("register"))
    ((4,),)
    """

    bases: LinearLayout

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Refuse places that a tensor does not have, and elements without an owner."""
        strange = [name for name in self.bases.ins if name not in PLACES]
        if strange:
            raise _refuse("ttg.linear", "bases", strange[0], f"name {', '.join(PLACES)}")
        if not self.bases.outs:
            raise _refuse("ttg.linear", "bases", "empty", "give at least one basis")
        if not self.bases.is_surjective:
            wrong = "an element has no owner"
            fix = "give bases that reach every coordinate below the largest"
            raise ShapeError("#ttg.linear", {"bases": self.bases}, wrong, fix)

    @property
    def rank(self) -> int:
        """The rank of the tensors."""
        return len(self.bases.outs)

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """Return who owns what of a tensor. Raises `ShapeError`, `RankError` for other shapes."""
        growth = Growth(self.rank)
        for place in PLACES:
            growth.bases[place] = list(self.bases.basis(place))
        growth.reach = list(self.bases.shape)
        shape = demand_shape("#ttg.linear", shape, self.rank)
        return growth.over(shape, reversed(range(self.rank)))

    def __str__(self) -> str:
        """The text of the attribute."""
        return str(self.bases)


@typed_fields
@dataclass(frozen=True)
class Subgroup2DBlock:
    """``#ttig.subgroup_2d_block``: what messages that load blocks of a matrix leave in registers.

    ``instr_shape`` is the (height, width) of one block, ``num_blocks`` how many lie side by side in
    a message. ``order`` is (1, 0) for A and (0, 1) for B: its first dimension is K, along which
    warps own the same. Law: lanes count along a row, then down; a row that is wider than the lanes
    gives each lane neighbours. Raises `InputError` as Triton refuses. MLIR:
    ``Subgroup2DBlockEncodingAttr``.

    >>> block = Subgroup2DBlock((32, 16), 2, (0, 1), 2, 16, (8, 4))
    >>> print(block.linear((32, 256)).basis("warp"))
    ((0, 32), (0, 64), (0, 0), (0, 0), (0, 0))
    """

    instr_shape: tuple[int, ...]
    num_blocks: int
    order: tuple[int, ...]
    k_width: int
    threads_per_warp: int
    warps_per_cta: tuple[int, ...]

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Refuse what Triton refuses, and other than powers of two."""
        name = "ttig.subgroup_2d_block"
        for field in ("instr_shape", "warps_per_cta"):
            sizes = getattr(self, field)
            if len(sizes) != 2 or not all(map(is_power, sizes)):
                raise _refuse(name, field, list(sizes), "give two powers of two")
        if sorted(self.order) != [0, 1]:
            raise _refuse(name, "order", list(self.order), "give [1, 0] for A, [0, 1] for B")
        if not is_power(self.num_blocks):
            raise _refuse(name, "num_blocks", self.num_blocks, "give a power of two")
        if self.k_width not in (1, 2, 4):
            raise _refuse(name, "k_width", self.k_width, "give 1, 2 or 4")
        if self.threads_per_warp != 16:
            raise _refuse(name, "threads_per_warp", self.threads_per_warp, "give 16")
        if prod(self.instr_shape) < self.threads_per_warp:
            fix = "give a block of at least 16 elements"
            raise _refuse(name, "instr_shape", list(self.instr_shape), fix)

    @property
    def rank(self) -> int:
        """The rank of the tensors: 2."""
        return 2

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """Return who owns what of a tensor. Raises `ShapeError`, `RankError` for other shapes."""
        shape = demand_shape("#ttig.subgroup_2d_block", shape, self.rank)
        high, wide = self.instr_shape
        lanes, growth = self.threads_per_warp, Growth(self.rank)
        growth.by("register", 1, wide // lanes)
        growth.by("lane", 1, min(wide, lanes))
        growth.by("lane", 0, lanes // min(wide, lanes))
        growth.by("register", 0, high // growth.reach[0])
        growth.by("register", 1, self.num_blocks)
        for dim in (1, 0):
            if dim == self.order[0]:
                growth.copied("warp", self.warps_per_cta[dim])
            else:
                growth.by("warp", dim, self.warps_per_cta[dim])
        return growth.over(shape, self.order)

    def __str__(self) -> str:
        """The text of the attribute."""
        return (
            f"#ttig.subgroup_2d_block<{{warpsPerCTA = {list(self.warps_per_cta)}, "
            f"instrShape = {list(self.instr_shape)}, numBlocks = {self.num_blocks}, "
            f"order = {list(self.order)}, kWidth = {self.k_width}, "
            f"threadsPerWarp = {self.threads_per_warp}}}>"
        )


@typed_fields
@dataclass(frozen=True)
class DotOperand:
    """``#ttg.dot_op``: A (``op_idx`` 0) or B (1) of a product whose result has the parent encoding.

    Law: ``k_width`` of a DPAS parent is the elements of a unit: of a 16-bit one for A (one for
    32-bit types), of a dword for B; a blocked parent has 0. Raises `InputError` for others.
    MLIR: ``DotOperandEncodingAttr``.

    >>> dpas = DpasEncoding(8, 8, 16, 2, 16, (1, 1), (1, 1))
    >>> print(DotOperand(1, dpas, 2).linear((16, 16)).basis("register"))
    ((1, 0), (2, 0), (4, 0), (8, 0))
    """

    op_idx: int
    parent: Blocked | DpasEncoding
    k_width: int = 0

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Refuse other operands, parents and widths."""
        if self.op_idx not in (0, 1):
            raise _refuse("ttg.dot_op", "op_idx", self.op_idx, "give 0 for A, 1 for B")
        match self.parent:
            case DpasEncoding():
                wanted = self.parent.k_width(self.part)
            case Blocked():
                wanted = 0
            case _:
                fix = "give a DPAS or a blocked encoding"
                raise _refuse("ttg.dot_op", "parent", type(self.parent).__name__, fix)
        if isinstance(self.parent, DpasEncoding):
            self.parent.demand_units(self.part)
        if self.k_width != wanted:
            fix = f"write kWidth = {wanted}, which the parent implies"
            raise _refuse("ttg.dot_op", "kWidth", self.k_width, fix)

    @property
    def part(self) -> Literal["A", "B"]:
        """The operand: A or B."""
        return "A" if self.op_idx == 0 else "B"

    @property
    def rank(self) -> int:
        """The rank of the tensors."""
        return self.parent.rank

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """Return who owns what of a tensor. Raises `ShapeError`, `RankError` for other shapes."""
        if isinstance(self.parent, DpasEncoding):
            return self.parent.linear(shape, self.part)
        return self.parent.operand(shape, 0 if self.op_idx == 0 else 1)

    def __str__(self) -> str:
        """The text of the attribute."""
        width = f", kWidth = {self.k_width}" if self.k_width else ""
        return f"#ttg.dot_op<{{opIdx = {self.op_idx}, parent = {self.parent}{width}}}>"


@typed_fields
@dataclass(frozen=True)
class Sliced:
    """``#ttg.slice``: what remains of a tensor without one dimension, as after a reduction.

    Law: the places of the parent, whose tensor has extent 1 there, without registers that are
    copies. Raises `InputError` for another dimension. MLIR: ``SliceEncodingAttr``.

    >>> print(Sliced(1, Blocked((1, 4), (8, 4), (2, 1), (1, 0))).linear((16,)).basis("lane"))
    ((0,), (0,), (1,), (2,), (4,))
    """

    dim: int
    parent: Any

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Refuse dimensions that the parent does not have."""
        if not isinstance(self.parent, Encoding):
            fix = "give an encoding"
            raise _refuse("ttg.slice", "parent", type(self.parent).__name__, fix)
        if not 0 <= self.dim < self.parent.rank or self.parent.rank < 2:
            fix = f"the parent has rank {self.parent.rank}, of which one must remain"
            raise _refuse("ttg.slice", "dim", self.dim, fix)

    @property
    def rank(self) -> int:
        """The rank of the tensors: one less than the parent's."""
        return self.parent.rank - 1

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """Return who owns what of a tensor. Raises `ShapeError`, `RankError` for other shapes."""
        shape = demand_shape("#ttg.slice", shape, self.rank)
        whole = self.parent.linear((*shape[: self.dim], 1, *shape[self.dim :]))
        bases = {
            place: [vector[: self.dim] + vector[self.dim + 1 :] for vector in basis]
            for place, basis in whole.bases
        }
        bases["register"] = [vector for vector in bases["register"] if any(vector)]
        return LinearLayout(bases, dims(shape))

    def __str__(self) -> str:
        """The text of the attribute."""
        return f"#ttg.slice<{{dim = {self.dim}, parent = {self.parent}}}>"


Encoding = Blocked | Linear | Subgroup2DBlock | DotOperand | Sliced | DpasEncoding
