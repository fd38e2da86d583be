"""Named barriers: where some subgroups produce and others consume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, as_index
from pycute_xe.signatures import checked_fields

__all__ = ["ROLES", "Arriving", "NamedBarrier", "Role"]

Role = Literal["producer", "consumer", "both"]


@dataclass(frozen=True, slots=True)
class Arriving:
    """What a subgroup is counted as where it arrives, in messages and in words."""

    produces: int
    consumes: int
    message: Literal["producer", "consumer", "producer_consumer"]
    words: str


ROLES: dict[Role, Arriving] = {
    "producer": Arriving(1, 0, "producer", "producer"),
    "consumer": Arriving(0, 1, "consumer", "consumer"),
    "both": Arriving(1, 1, "producer_consumer", "producer and consumer"),
}
"""By role. Only those that consume wait."""


@checked_fields
@dataclass(frozen=True, slots=True)
class NamedBarrier:
    """A barrier by its number, 1 to 31, and how many subgroups produce and consume there.

    It fires when so many of each have arrived; producers go on at once, consumers wait. The number
    may depend on a loop's variable. Raises `KernelError` for counts below 1 and a constant number
    that does not exist. Document: DPC++ ESIMD reference, ``named_barrier_signal``.

    >>> print(NamedBarrier(Index("k") % 3 + 1, producers=4, consumers=12))
    barrier k-3*(k/3)+1 of 4 producers and 12 consumers
    """

    number: Index
    producers: int
    consumers: int

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "number", as_index(self.number))
        wrong = ""
        if self.number.is_constant and not 1 <= self.number.offset <= 31:
            wrong = f"the number is {self.number}, which must be 1 to 31"
        for what in ("producers", "consumers"):
            count = getattr(self, what)
            if type(count) is not int or count < 1:
                wrong = f"{what} is {count!r}, which must be 1 or more"
        if wrong:
            raise KernelError("NamedBarrier", {"number": self.number}, wrong, "use 1")

    def __str__(self) -> str:
        """The number and the counts."""
        counts = f"{self.producers} producers and {self.consumers} consumers"
        return f"barrier {self.number} of {counts}"
