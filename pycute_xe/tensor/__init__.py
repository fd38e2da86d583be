"""Floor 4: tensors, something that can be indexed seen through a layout."""

from __future__ import annotations

from pycute_xe.tensor.core import Tensor, make_identity_tensor, make_tensor
from pycute_xe.tensor.cutting import local_partition, local_tile
from pycute_xe.tensor.recasting import recast

__all__ = [
    "Tensor",
    "local_partition",
    "local_tile",
    "make_identity_tensor",
    "make_tensor",
    "recast",
]
