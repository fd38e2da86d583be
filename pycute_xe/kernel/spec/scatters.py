"""Claims that scatter: the place of an output at which something lies is looked up."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.kernel.index import Index
from pycute_xe.kernel.spec.expression import Expression, as_expression, check_depth
from pycute_xe.signatures import checked_fields

__all__ = ["Scatter"]


@checked_fields
@dataclass(frozen=True, slots=True)
class Scatter:
    """``output[at] = value`` for all values of variables, and nothing else changes.

    ``over`` are the variables with how far each runs, which earlier ones may tell; of ``when``,
    pairs ``one < other``, all hold. A place outside of the output is none: a negative slot leaves
    its token out. A place that is named twice has no value. Places that are not
    named keep what they held; of an operand that held nothing (``role="out"``) nothing is claimed
    there.

    >>> from pycute_xe.kernel.spec.expression import Element
    >>> t, h = Index("t"), Index("h")
    >>> over = (("t", Index("T")), ("h", Index("H")))
    >>> print(Scatter("D", (Index.element("slots", t), h), over, Element("K", (t, h))))
    D[slots[t],h] = K[t,h] for t < T, h < H
    """

    output: str
    at: tuple[Index, ...]
    over: tuple[tuple[str, Index], ...]
    value: Expression
    when: tuple[tuple[Index, Index], ...] = ()

    def __post_init__(self) -> None:
        """Turn a number into an expression, and check how deep it nests."""
        object.__setattr__(self, "value", as_expression(self.value))
        check_depth("Scatter", {"output": self.output}, self.value)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names that stand for all values."""
        return tuple(name for name, _ in self.over)

    @property
    def place(self) -> str:
        """The place, as text."""
        return ",".join(map(str, self.at))

    def __str__(self) -> str:
        """As an equation, and how far its variables run."""
        over = [f"{one} < {other}" for one, other in (*self.over, *self.when)]
        return f"{self.output}[{self.place}] = {self.value} for {', '.join(over)}"
