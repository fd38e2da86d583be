"""The operators of vectors, each in terms of one method."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from pycute_xe.errors import DTypeError
from pycute_xe.esimd.conversions import divide, remainder

__all__ = ["Operators"]


class Operators(ABC):
    """C++'s operators, element by element; comparisons give masks, ``x += y`` keeps x's type."""

    __slots__ = ()

    @abstractmethod
    def _with(self, other: Any, act: Callable[[Any, Any], Any], swapped: bool = False) -> Any:
        """Apply a function to both, element by element, in C++'s common type."""

    @abstractmethod
    def _onto(self, value: Any) -> Self:
        """Store a value here, converted to the own type."""

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, operator.add, swapped=True)

    def __iadd__(self, other: Any) -> Self:
        return self._onto(self._with(other, operator.add))

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, operator.sub, swapped=True)

    def __isub__(self, other: Any) -> Self:
        return self._onto(self._with(other, operator.sub))

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, operator.mul, swapped=True)

    def __imul__(self, other: Any) -> Self:
        return self._onto(self._with(other, operator.mul))

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, divide)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, divide, swapped=True)

    def __itruediv__(self, other: Any) -> Self:
        return self._onto(self._with(other, divide))

    def __floordiv__(self, other: Any) -> Any:
        """Refuse what C++ has no operator for; so do ``other // x`` and ``x //= other``."""
        raise DTypeError(
            "//",
            {"left": self, "right": other},
            "C++ has no operator //",
            "use /: of integers it rounds towards zero, as in C++",
        )

    __rfloordiv__ = __floordiv__
    __ifloordiv__ = __floordiv__

    def __mod__(self, other: Any) -> Any:
        return self._with(other, remainder)

    def __rmod__(self, other: Any) -> Any:
        return self._with(other, remainder, swapped=True)

    def __imod__(self, other: Any) -> Self:
        return self._onto(self._with(other, remainder))

    # Lambdas, since the type checker knows nothing of operator.and_ and its kin.
    def __and__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a & b)

    def __rand__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a & b, swapped=True)

    def __iand__(self, other: Any) -> Self:
        return self._onto(self._with(other, lambda a, b: a & b))

    def __or__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a | b)

    def __ror__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a | b, swapped=True)

    def __ior__(self, other: Any) -> Self:
        return self._onto(self._with(other, lambda a, b: a | b))

    def __xor__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a ^ b)

    def __rxor__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a ^ b, swapped=True)

    def __ixor__(self, other: Any) -> Self:
        return self._onto(self._with(other, lambda a, b: a ^ b))

    def __lshift__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a << b)

    def __rlshift__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a << b, swapped=True)

    def __ilshift__(self, other: Any) -> Self:
        return self._onto(self._with(other, lambda a, b: a << b))

    def __rshift__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a >> b)

    def __rrshift__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a >> b, swapped=True)

    def __irshift__(self, other: Any) -> Self:
        return self._onto(self._with(other, lambda a, b: a >> b))

    def __invert__(self) -> Any:
        return self._with(self, lambda own, _: np.invert(own))

    def __neg__(self) -> Any:
        return self._with(0, operator.sub, swapped=True)

    def __abs__(self) -> Any:
        return self._with(self, lambda own, _: np.abs(own))

    def __lt__(self, other: Any) -> Any:
        return self._with(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._with(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._with(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._with(other, operator.ge)

    def __eq__(self, other: object) -> Any:  # type: ignore[override]
        """A mask, as in C++: element by element."""
        return self._with(other, operator.eq)

    def __ne__(self, other: object) -> Any:  # type: ignore[override]
        """A mask, as in C++: element by element."""
        return self._with(other, operator.ne)
