"""Names for the arrays that the readers of kernels compute with."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Ints"]

Array: TypeAlias = NDArray[Any]
Ints: TypeAlias = NDArray[np.int64]
