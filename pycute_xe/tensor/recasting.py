"""Floor 4: the bytes of a tensor as elements of another width."""

from __future__ import annotations

from typing import Any

from pycute_xe.algebra import recast_layout
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import DivisibilityError, DTypeError
from pycute_xe.f2 import F2Layout
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed
from pycute_xe.tensor.core import Tensor

__all__ = ["recast"]


@typed
def recast(
    tensor: Tensor, value_type: Numeric | str, before: Numeric | str | None = None
) -> Tensor:
    """Return the tensor over the same bytes as elements of another type.

    Law: the layout is ``recast_layout(layout, old bits, new bits)``, the base counts new elements,
    and element ``c`` lies in the bytes that the old elements of ``c`` have. ``before`` is the type
    of a tensor that has no data; that of an array is its own. Raises `DTypeError` for data that are
    not a flat array of whole bytes, `DivisibilityError` for a base inside a new element, and
    as `recast_layout` does. C++: ``recast<NewType>(tensor)``.

    >>> from pycute_xe.layout import Layout
    >>> from pycute_xe.tensor import make_tensor
    >>> print(recast(make_tensor(None, Layout((8, 4), (1, 8))), "u32", "bf16"))
    0 o (4,4):(1,4)
    """
    new = as_numeric(value_type)
    old = _type_of(tensor.data) if before is None else as_numeric(before)
    layout = tensor.layout
    if isinstance(layout, F2Layout):
        layout = tensor.beneath  # refuses
    base = tensor.base
    if type(base) is not int or base * old.bits % new.bits:
        raise DivisibilityError(
            "recast",
            {"tensor": tensor, "from": old, "to": new},
            f"the base {base} of {old.bits}-bit elements is not at a whole element of {new.bits}",
            "recast the whole tensor before it is cut",
        )
    data = tensor.data if tensor.data is None else _seen(tensor.data, old, new)
    return Tensor(data, base * old.bits // new.bits, recast_layout(layout, old.bits, new.bits))


def _type_of(data: Any) -> Numeric:
    """Return the type of an array's elements."""
    if hasattr(data, "dtype"):
        return as_numeric(data.dtype)
    held = "no data" if data is None else f"data of {type(data).__name__}"
    raise DTypeError(
        "recast",
        {"data": held},
        f"a tensor with {held} has no element type",
        'say which: recast(tensor, "u32", "bf16")',
    )


def _seen(data: Any, old: Numeric, new: Numeric) -> Any:
    """Return an array's bytes in another type."""
    flat = hasattr(data, "view") and data.ndim == 1 and data.flags.c_contiguous
    whole = min(old.bits, new.bits) >= 8 and flat and data.dtype.itemsize * 8 == old.bits
    if whole and data.nbytes * 8 % new.bits == 0:
        return data.view(numpy_dtype(new))
    raise DTypeError(
        "recast",
        {"from": old, "to": new},
        "the data are not a flat array of whole elements of both types",
        "give a one-dimensional contiguous NumPy array of types of 8 bits or more",
    )
