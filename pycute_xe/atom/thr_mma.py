"""The part of a tiled MMA that one work-item holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycute_xe.algebra.compose import flat_modes
from pycute_xe.atom.subgroup_tensor import SubgroupTensor, fragment_layout, in_order
from pycute_xe.errors import InputError, ShapeError, quoted, with_article
from pycute_xe.int_tuple import product_each
from pycute_xe.layout import Layout, make_identity_layout, make_layout, size
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.tensor import Tensor, make_tensor
from pycute_xe.typing import is_integer, is_tuple, shown

if TYPE_CHECKING:
    from pycute_xe.atom.tilings import TiledMma

__all__ = ["OPERAND_MODES", "ThrMma", "demand_extents"]

# The modes of (M, N, K) that each operand has.
OPERAND_MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}


# ------------------------------------------------------------ permutations
# What the modes of a permutation of a tiled MMA may be.


def demand_extents(permutation: tuple[object, ...]) -> None:
    """Refuse what is neither an extent nor a layout, and a layout that repeats a place."""
    for mode in permutation:
        if isinstance(mode, Layout):
            if any(type(n) is int and n > 1 and d == 0 for n, d in flat_modes(mode)):
                raise ShapeError(
                    "make_tiled_mma",
                    {"permutation": permutation},
                    f"{mode} visits a place several times: it has a stride of 0",
                    f"use an extent, such as {size(mode)}, or strides that differ from 0",
                )
            continue
        if mode is None or (type(mode) is int and mode > 0):
            continue
        raise ShapeError(
            "make_tiled_mma",
            {"permutation": permutation},
            f"{quoted(mode)} is not an extent of the tile, nor a layout",
            "use None, a positive integer or a layout for each of M, N and K",
        )


# ------------------------------------------------------------ thr mma


@typed_fields
@dataclass(frozen=True)
class ThrMma:
    """The part of a tiled MMA that one work-item holds. C++: ``ThrMMA``."""

    mma: TiledMma
    thr_vmnk: tuple[int, ...]

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Refuse parts of what is not a tiled MMA."""
        from pycute_xe.atom.tilings import TiledMma

        if not isinstance(self.mma, TiledMma):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = with_article(type(self.mma).__name__)
            fix = "give a TiledMma, or call its get_slice(thr)"
            raise InputError("ThrMma", {"mma": self.mma}, f"mma is {kind}", fix)
        coordinate = self.thr_vmnk
        if not is_tuple(coordinate) or len(coordinate) != 4 or not all(map(is_integer, coordinate)):
            condition = f"{quoted(coordinate)} is not a coordinate (V, M, N, K)"
            raise InputError("ThrMma", {"thr_vmnk": coordinate}, condition, "write (0, 0, 0, 0)")

    def __repr__(self) -> str:
        """The call that builds it."""
        return f"{self.mma!r}.get_slice({self.mma.thr_layout_vmnk(*self.thr_vmnk)})"

    def _partition(self, operand: str, tensor: Tensor) -> Tensor:
        i, j = OPERAND_MODES[operand]
        split = self.mma.thrfrg(operand, tensor.beneath)
        v, thr = self.thr_vmnk[0], self.thr_vmnk[1:]
        place = split[0](v, (thr[i], thr[j]))
        frg, rest = split[1]
        return tensor.rearranged(make_layout(frg, *rest), place)

    @typed
    def partition_A(self, tensor: Tensor) -> Tensor:
        """Return this work-item's elements of an (M, K) tensor: (FrgV, RestM, RestK)."""
        return self._partition("A", tensor)

    @typed
    def partition_B(self, tensor: Tensor) -> Tensor:
        """Return this work-item's elements of an (N, K) tensor: (FrgV, RestN, RestK)."""
        return self._partition("B", tensor)

    @typed
    def partition_C(self, tensor: Tensor) -> Tensor:
        """Return this work-item's elements of an (M, N) tensor: (FrgV, RestM, RestN)."""
        return self._partition("C", tensor)

    @typed
    def partition_fragment_A(self, tensor: Tensor) -> Tensor:
        """Return registers for this work-item's part of A, (FrgV, RestM, RestK), without data.

        Law: as many as `partition_A` has elements, those of one instruction first. C++:
        ``partition_fragment_A``, ``make_fragment_A(partition_A(tensor))``.

        >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
        >>> from pycute_xe.tensor import make_identity_tensor
        >>> mine = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")).get_slice(0)
        >>> print(mine.partition_fragment_A(make_identity_tensor((256, 32))))
        0 o (8,4,2):(1,8,32)
        """
        return self.make_fragment_A(self.partition_A(tensor))

    @typed
    def partition_fragment_B(self, tensor: Tensor) -> Tensor:
        """Return registers for this work-item's part of B: see `partition_fragment_A`."""
        return self.make_fragment_B(self.partition_B(tensor))

    @typed
    def partition_fragment_C(self, tensor: Tensor) -> Tensor:
        """Return registers for this work-item's part of C, colexicographic."""
        return self.make_fragment_C(self.partition_C(tensor))

    @typed
    def make_fragment_A(self, part: Tensor) -> Tensor:
        """Return registers for a part that `partition_A` gave: see `partition_fragment_A`."""
        return self._made("A", part)

    @typed
    def make_fragment_B(self, part: Tensor) -> Tensor:
        """Return registers for a part that `partition_B` gave: see `partition_fragment_A`."""
        return self._made("B", part)

    @typed
    def make_fragment_C(self, part: Tensor) -> Tensor:
        """Return registers for a part that `partition_C` gave, colexicographic."""
        return self._made("C", part)

    def _made(self, operand: str, part: Tensor) -> Tensor:
        """Return registers of a part's shape, refused where the part is not of one instruction."""
        values = size(getattr(self.mma.atom, f"tv_layout_{operand}")[1])
        if len(part) < 3 or size(part.beneath[0]) != values:
            raise ShapeError(
                f"make_fragment_{operand}",
                {"part": part, "mma": self.mma.atom},
                f"{part.shape} is not (values, repetitions, repetitions) with {values} values",
                f"give partition_{operand}(tensor)",
            )
        layout = Layout(part.shape) if operand == "C" else fragment_layout(part.beneath)
        return make_tensor(None, layout)

    @typed
    def partition_sg_fragment_A(self, tensor: Tensor) -> SubgroupTensor:
        """Return the registers that this work-item's subgroup holds of a tile of A.

        Law: `SubgroupTensor.tv_layout` says where in the subgroup's part of the tile the values of
        each of its work-items lie, in the order of the registers; `reorder` compares two of them.
        C++: ``partition_sg_fragment_A``.

        >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
        >>> from pycute_xe.tensor import make_identity_tensor
        >>> mine = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")).get_slice(0)
        >>> print(mine.partition_sg_fragment_A(make_identity_tensor((256, 32))).tv_layout)
        (16,(8,4,2)):(1@1,(1@0,8@0,16@1))
        """
        return self._of_subgroup("A", tensor)

    @typed
    def partition_sg_fragment_B(self, tensor: Tensor) -> SubgroupTensor:
        """Return what the subgroup holds of a tile of B: see `partition_sg_fragment_A`."""
        return self._of_subgroup("B", tensor)

    @typed
    def partition_sg_fragment_C(self, tensor: Tensor) -> SubgroupTensor:
        """Return what the subgroup holds of a tile of C: see `partition_sg_fragment_A`."""
        return self._of_subgroup("C", tensor)

    def _of_subgroup(self, operand: str, tensor: Tensor) -> SubgroupTensor:
        registers = getattr(self, f"partition_fragment_{operand}")(tensor)
        places = make_identity_layout(product_each(tensor.shape))
        (lanes, _), (values, rest) = self.mma.thrfrg(operand, places)
        spread = make_layout(values, *rest)
        return SubgroupTensor(registers, make_layout(lanes, in_order(registers, spread)))
