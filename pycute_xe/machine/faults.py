"""Floor 8: the faults of a work-group, each of its own class, for readers to tell them apart."""

from __future__ import annotations

from collections.abc import Mapping

from pycute_xe.errors import MachineError

__all__ = ["BoundsFault", "DeadlockFault", "RaceFault", "UnwrittenFault"]


class RaceFault(MachineError):
    """Two threads touch a byte, one of them writing, and nothing orders the two accesses.

    ``overlap`` says that both write, and that the later access reaches other bytes besides.
    """

    def __init__(
        self,
        operation: str,
        operands: Mapping[str, object],
        condition: str,
        fix: str = "",
        overlap: bool = False,
    ) -> None:
        """Keep what kind of race it is beside the four parts."""
        super().__init__(operation, operands, condition, fix)
        self.overlap = overlap
        self.args = (operation, self.operands, condition, fix, overlap)


class UnwrittenFault(MachineError):
    """A read of bytes that no thread has written."""


class BoundsFault(MachineError):
    """An access beyond the shared local memory that was asked for."""


class DeadlockFault(MachineError):
    """Threads wait at a barrier that the others never reach: hardware would hang."""
