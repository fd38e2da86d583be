"""Floor 7: the statements by which the subgroups of a work-group wait for one another."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.kernel.ir.statement import Statement, Touched, once
from pycute_xe.signatures import held_fields

__all__ = ["BarrierArrive", "BarrierWait", "Fence"]


@held_fields
@dataclass(frozen=True, slots=True)
class BarrierArrive(Statement):
    """Tell a split barrier of the work-group that this subgroup has come."""

    @property
    @once
    def touched(self) -> Touched:
        """Arrives."""
        return Touched(meets="arrive")


@held_fields
@dataclass(frozen=True, slots=True)
class BarrierWait(Statement):
    """Wait until every subgroup of the work-group has come."""

    @property
    @once
    def touched(self) -> Touched:
        """Waits."""
        return Touched(meets="wait")


@held_fields
@dataclass(frozen=True, slots=True)
class Fence(Statement):
    """Make earlier stores to shared memory visible to those who are met at a later barrier.

    A barrier alone does not wait for stores: without a fence between the store and the arrival
    `check` refuses the kernel, `verify` disproves it, and the `reference` executor stops. Source:
    the row ``fence`` of ``atoms/arch.toml``.
    """

    @property
    @once
    def touched(self) -> Touched:
        """Orders memory."""
        return Touched(meets="fence")
