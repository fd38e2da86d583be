"""Floor 4: what is asked of a symbolic integer: order, zero, and what no answer is known to."""

from __future__ import annotations

from typing import Any, cast

from pycute_xe.errors import UndecidableError
from pycute_xe.signatures import typed
from pycute_xe.symbolic.advice import way_out
from pycute_xe.symbolic.assumed import Known, joined
from pycute_xe.symbolic.integer_sets import HOLDS, always
from pycute_xe.symbolic.terms import Expr
from pycute_xe.unknown import Symbolic, adopted

__all__ = ["Asked", "operand"]


class Asked(Symbolic):
    """An expression of symbols that answers where all their values agree.

    Raises `UndecidableError` with the fact that would decide where they do not.
    """

    __slots__ = ("expr", "known")

    expr: Expr
    known: Known

    def __bool__(self) -> bool:
        """Tell whether the value is never zero."""
        if self._always("!=", 0):
            return True
        raise self.undecided("==", 0)

    def __lt__(self, other: Any) -> bool:
        """Below, for all values or for none."""
        return self._decided("<", ">=", other)

    def __le__(self, other: Any) -> bool:
        """At most, for all values or for none."""
        return self._decided("<=", ">", other)

    def __gt__(self, other: Any) -> bool:
        """Above, for all values or for none."""
        return self._decided(">", "<=", other)

    def __ge__(self, other: Any) -> bool:
        """At least, for all values or for none."""
        return self._decided(">=", "<", other)

    def at_most(self, other: Any) -> bool:
        """Tell whether the value is at most another for all values of the symbols."""
        return self._always("<=", other)

    def at_least(self, other: Any) -> bool:
        """Tell whether the value is at least another for all values of the symbols."""
        return self._always(">=", other)

    def differs(self, other: Any) -> bool:
        """Tell whether the value differs from another for all values of the symbols."""
        return self._always("!=", other)

    def _decided(self, relation: str, opposite: str, other: Any) -> bool:
        if operand(other) is None:
            return NotImplemented
        if self._always(relation, other):
            return True
        if self._always(opposite, other):
            return False
        raise self.undecided(relation, other)

    def _always(self, relation: str, other: Any) -> bool:
        difference: Any = self - other
        if isinstance(difference, Asked):
            return always(relation, difference.expr, difference.known)
        return HOLDS[relation](difference, 0)

    @typed
    def undecided(self, relation: str, other: Any) -> UndecidableError:
        """Return the error that names the fact which would decide ``self <relation> other``."""
        fact = f"{self} {relation} {other}"
        both = joined(self.known, other.known) if isinstance(other, Asked) else self.known
        difference: Any = self - cast("Any", other)
        return UndecidableError(
            "decide",
            {"question": fact},
            f"needs {fact}, which is not known: {'; '.join(map(str, both.values()))}",
            way_out(difference.expr, difference.known, relation),
            fact,
        )

    def _no_number(self, *_: object) -> Any:
        raise UndecidableError(
            "number",
            {"value": self},
            "a number is needed here, and this depends on symbols",
            f"substitute(…, {'=…, '.join(self.known)}=…) puts numbers in",
            f"the value of {self}",
        )

    # A table, a loop or the bits of a value need the number itself.
    __index__ = __and__ = __rand__ = __xor__ = __rxor__ = __or__ = __ror__ = _no_number


def operand(value: Any) -> Any:
    """Return an integer or a symbolic value, ``None`` for anything else."""
    value = adopted(value)
    return value if isinstance(value, (int, Asked)) else None
