"""The statements at named barriers."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.kernel.ir.barriers import NamedBarrier, Role
from pycute_xe.kernel.ir.effects import NamedMeeting
from pycute_xe.kernel.ir.statements import Statement, touching
from pycute_xe.signatures import checked_fields

__all__ = ["NamedArrive", "NamedWait"]


@checked_fields
@dataclass(frozen=True, slots=True)
class NamedArrive(Statement):
    """Tell a named barrier that this subgroup has come, as producer, as consumer or as both.

    A consumer must wait before it arrives there again, a producer never waits.
    """

    touches = touching(indices="barrier.number", named="meeting")
    barrier: NamedBarrier
    role: Role = "both"

    @property
    def meeting(self) -> NamedMeeting:
        """The barrier, and the role in which this subgroup arrives."""
        return NamedMeeting(self.barrier, self.role)


@checked_fields
@dataclass(frozen=True, slots=True)
class NamedWait(Statement):
    """Wait until the named barrier at which this subgroup arrived has fired."""

    touches = touching(indices="barrier.number", named="meeting")
    barrier: NamedBarrier

    @property
    def meeting(self) -> NamedMeeting:
        """The barrier that is waited for."""
        return NamedMeeting(self.barrier)
