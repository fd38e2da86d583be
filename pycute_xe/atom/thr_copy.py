"""Floor 6: the part of a tiled copy that one work-item takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycute_xe.algebra import composition
from pycute_xe.atom.retiling import retile_layout
from pycute_xe.atom.subgroup_tensor import SubgroupTensor
from pycute_xe.int_tuple import product_each
from pycute_xe.layout import Layout, make_identity_layout, make_layout, size
from pycute_xe.signatures import typed
from pycute_xe.tensor import Tensor, make_tensor

if TYPE_CHECKING:
    from pycute_xe.atom.tiled_copy import TiledCopy

__all__ = ["ThrCopy"]


@dataclass(frozen=True)
class ThrCopy:
    """The part of a tiled copy that one work-item takes. C++: ``ThrCopy``."""

    copy: TiledCopy
    thread: int

    def _partition(self, tensor: Tensor, split: Layout) -> Tensor:
        threads, values, rest = split
        return tensor.rearranged(make_layout(values, *rest), threads(self.thread))

    def _retile(self, tensor: Tensor) -> Tensor:
        copy = self.copy
        layout = retile_layout(
            tensor.beneath, copy.layout_tv_tiled, copy.tiler_mn, copy.atom.values
        )
        return tensor.rearranged(layout)

    @typed
    def retile_S(self, tensor: Tensor) -> Tensor:
        """Return a fragment that an MMA partitioned, seen as this copy's source: (CpyV, rest…)."""
        return self._retile(tensor)

    @typed
    def retile_D(self, tensor: Tensor) -> Tensor:
        """Return a fragment that an MMA partitioned, seen as this copy's destination."""
        return self._retile(tensor)

    @typed
    def partition_S(self, tensor: Tensor) -> Tensor:
        """Return the source elements of this work-item: ((FrgV, FrgX), RestM, RestN)."""
        return self._partition(tensor, self.copy.tidfrg_S(tensor.beneath))

    @typed
    def partition_D(self, tensor: Tensor) -> Tensor:
        """Return the destination elements of this work-item: ((FrgV, FrgX), RestM, RestN)."""
        return self._partition(tensor, self.copy.tidfrg_D(tensor.beneath))

    @typed
    def partition_sg_fragment_S(self, tensor: Tensor) -> SubgroupTensor:
        """Return the registers that a subgroup copies a tile from, as a store does.

        Law as of `ThrMma.partition_sg_fragment_A`. C++: ``partition_sg_fragment_S``.
        """
        return self._of_subgroup(tensor, "S")

    @typed
    def partition_sg_fragment_D(self, tensor: Tensor) -> SubgroupTensor:
        """Return the registers that a subgroup copies a tile into, as a load does.

        >>> from pycute_xe.atom import XE_DPAS_TT, make_block_2d_copy_A, workgroup_mma
        >>> from pycute_xe.tensor import make_identity_tensor
        >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
        >>> mine = make_block_2d_copy_A(mma, ("ld", 1)).get_slice(0)
        >>> print(mine.partition_sg_fragment_D(make_identity_tensor((256, 32))).tv_layout)
        (16,(((32,2),1),1,1)):(1@1,(((1@0,16@1),0),0,0))
        """
        return self._of_subgroup(tensor, "D")

    def _of_subgroup(self, tensor: Tensor, side: str) -> SubgroupTensor:
        places = make_identity_layout(product_each(tensor.shape))
        threads, values, rest = getattr(self.copy, f"tidfrg_{side}")(places)
        held = make_layout(values, *rest)
        lanes = composition(threads, Layout(size(self.copy.atom.thr_id)))
        registers = make_tensor(None, Layout(held.shape))
        return SubgroupTensor(registers, make_layout(lanes, held))
