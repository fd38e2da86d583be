"""Floor 6: the part of a tiled MMA that one work-item holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycute_xe.atom.retiling import fragment_layout
from pycute_xe.layout import Layout, make_layout
from pycute_xe.signatures import typed
from pycute_xe.tensor import Tensor, make_tensor

if TYPE_CHECKING:
    from pycute_xe.atom.tiled_mma import TiledMma

__all__ = ["OPERAND_MODES", "ThrMma"]

# The modes of (M, N, K) that each operand has.
OPERAND_MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}


@dataclass(frozen=True)
class ThrMma:
    """The part of a tiled MMA that one work-item holds. C++: ``ThrMMA``."""

    mma: TiledMma
    thr_vmnk: tuple[int, ...]

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
        return make_tensor(None, fragment_layout(self.partition_A(tensor).beneath))

    @typed
    def partition_fragment_B(self, tensor: Tensor) -> Tensor:
        """Return registers for this work-item's part of B: see `partition_fragment_A`."""
        return make_tensor(None, fragment_layout(self.partition_B(tensor).beneath))

    @typed
    def partition_fragment_C(self, tensor: Tensor) -> Tensor:
        """Return registers for this work-item's part of C, colexicographic."""
        return make_tensor(None, Layout(self.partition_C(tensor).beneath.shape))
