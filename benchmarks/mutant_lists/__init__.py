"""Small wrong changes for `mutants.py`, floor by floor."""

from __future__ import annotations

from mutant_lists import (
    algebra,
    arch,
    atom,
    drawing,
    emitting,
    esimd,
    layouts,
    machine,
    native,
    running,
    selecting,
    surfaces,
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
    "running": running.MUTANTS,
    "cli": surfaces.MUTANTS,
    "algebra": [*layouts.MUTANTS, *algebra.MUTANTS],
}
