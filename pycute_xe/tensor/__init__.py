"""Tensors, something that can be indexed seen through a layout."""

from __future__ import annotations

from pycute_xe.tensor.core import (
    Tensor,
    domain_offset,
    local_partition,
    local_tile,
    make_identity_tensor,
    make_tensor,
    recast,
)

__all__ = [
    "Tensor",
    "domain_offset",
    "local_partition",
    "local_tile",
    "make_identity_tensor",
    "make_tensor",
    "recast",
]
