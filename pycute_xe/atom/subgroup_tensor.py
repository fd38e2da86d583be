"""Floor 6: the registers of a whole subgroup, and which elements of a tile they hold."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.algebra import composition, right_inverse
from pycute_xe.errors import ShapeError
from pycute_xe.layout import Layout, size
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.tensor import Tensor

__all__ = ["SubgroupTensor", "in_order", "make_subgroup_tensor"]


@typed_fields
@dataclass(frozen=True, slots=True)
class SubgroupTensor:
    """One work-item's registers with the layout of its whole subgroup.

    ``tv_layout`` maps (work-item, value) to where in the subgroup's part of a tile the value lies,
    values in the order of the registers. Raises `ShapeError` where registers and values differ in
    number. C++: ``SubgroupTensor``, whose ``tensor()`` and ``tv_layout()`` these are.
    """

    tensor: Tensor
    tv_layout: Layout

    def __post_init__(self) -> None:
        """Check that the values are those of the registers."""
        held = size(self.tensor.beneath)
        if len(self.tv_layout) != 2 or size(self.tv_layout[1]) != held:
            raise ShapeError(
                "make_subgroup_tensor",
                {"tensor": self.tensor, "tv_layout": self.tv_layout},
                f"{self.tv_layout} does not map (work-item, value) of {held} values",
                "give a layout of two modes, the second of as many values as the tensor",
            )

    def __str__(self) -> str:
        """The registers and the layout."""
        return f"{self.tensor}, of the subgroup {self.tv_layout}"


@typed
def make_subgroup_tensor(tensor: Tensor, tv_layout: Layout) -> SubgroupTensor:
    """Return registers with the layout of their subgroup. C++: ``make_subgroup_tensor``.

    >>> from pycute_xe.tensor import make_tensor
    >>> print(make_subgroup_tensor(make_tensor(None, Layout(8)), Layout((16, 8), (8, 1))))
    0 o 8:1, of the subgroup (16,8):(8,1)
    """
    return SubgroupTensor(tensor, tv_layout)


def in_order(registers: Tensor, values: Layout) -> Layout:
    """Return a layout of values in the order of the registers that hold them.

    >>> from pycute_xe.tensor import make_tensor
    >>> print(in_order(make_tensor(None, Layout((2, 4), (4, 1))), Layout((2, 4))))
    (4,2):(2,1)
    """
    order = right_inverse(registers.beneath)
    return values if order == Layout(size(order)) else composition(values, order)
