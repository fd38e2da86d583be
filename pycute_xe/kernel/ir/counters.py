"""Floor 7: statements by which work-groups wait for one another: counters in memory."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.kernel.index import Index, as_index
from pycute_xe.kernel.ir.statement import Statement, Touched, once
from pycute_xe.signatures import held_fields

__all__ = ["Await", "Signal"]


@held_fields
@dataclass(frozen=True, slots=True)
class _Counting(Statement):
    """What a work-group does to an element of an integer operand, ``at`` an index for each mode.

    All its subgroups meet before, and again after.
    """

    operand: str
    at: tuple[Index, ...]

    def __post_init__(self) -> None:
        """Turn integers and names into indices."""
        object.__setattr__(self, "at", tuple(map(as_index, self.at)))
        for name in ("least", "by"):
            if hasattr(self, name):
                object.__setattr__(self, name, as_index(getattr(self, name)))


@held_fields
@dataclass(frozen=True, slots=True)
class Await(_Counting):
    """Wait until a counter is ``least`` or more; what was stored before it became so is seen then.

    C++: ``cutlass::GenericBarrier::wait_eq``, ``wait_lt``, of counters that only grow.
    """

    least: Index

    @property
    @once
    def touched(self) -> Touched:
        """Reads the counter and meets the work-group."""
        indices = (*self.at, self.least)
        return Touched(from_memory=(self.operand,), indices=indices, meets="both")


@held_fields
@dataclass(frozen=True, slots=True)
class Signal(_Counting):
    """Add ``by`` to a counter, behind all that the work-group has stored.

    C++: ``cutlass::GenericBarrier::arrive_inc``.
    """

    by: Index

    @property
    @once
    def touched(self) -> Touched:
        """Updates the counter and meets the work-group."""
        counter, indices = (self.operand,), (*self.at, self.by)
        return Touched(from_memory=counter, to_memory=counter, indices=indices, meets="both")
