"""Small wrong changes for `mutants.py`, floor by floor."""

from __future__ import annotations

from mutant_lists import (
    algebra,
    arch,
    atom,
    attention,
    drawing,
    emitting,
    esimd,
    executing,
    explaining,
    holding,
    kinds,
    layouts,
    machine,
    native,
    running,
    schedules,
    selecting,
    surfaces,
    trips,
    verifying,
)
from mutant_lists.mutant import Mutant

__all__ = ["FLOORS", "Mutant"]

FLOORS = {
    "arch": arch.MUTANTS,
    "machine": machine.MUTANTS,
    "atom": [*atom.MUTANTS, *selecting.MUTANTS],
    "drawing": drawing.MUTANTS,
    "emitting": emitting.MUTANTS,
    "esimd": esimd.MUTANTS,
    "native": native.MUTANTS,
    "kernel": [*schedules.MUTANTS, *kinds.MUTANTS, *attention.MUTANTS, *trips.KERNEL],
    "executing": executing.MUTANTS,
    "holding": holding.MUTANTS,
    "verifying": [*verifying.MUTANTS, *trips.MUTANTS],
    "explaining": explaining.MUTANTS,
    "running": running.MUTANTS,
    "cli": surfaces.MUTANTS,
    "algebra": [*layouts.MUTANTS, *algebra.MUTANTS],
}
