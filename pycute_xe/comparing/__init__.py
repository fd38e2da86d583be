"""What is asked of two atoms, or of all: does it feed, what differs, which one does.

Atoms come as values or names (`atom_arguments`). `feeding` compares the registers of a copy with
those that an MMA reads, `differences` two atoms, or what one says with what it does; `searches`
goes through the catalogue, an `atom_record` for each; `holders` say who owns an element. `changes`
are the record of a comparison, which `pycute_xe.differing` makes of other values too. Answers are
values that print.
"""

from __future__ import annotations

from pycute_xe.comparing.atom_record import AtomRecord, describe_atom
from pycute_xe.comparing.changes import Change, Difference, Row
from pycute_xe.comparing.differences import AtomDiff, diff_atoms
from pycute_xe.comparing.feeding import Feed, feeds
from pycute_xe.comparing.holders import ElementOwner, element_at, owner
from pycute_xe.comparing.searches import search_atoms

__all__ = [
    "AtomDiff",
    "AtomRecord",
    "Change",
    "Difference",
    "ElementOwner",
    "Feed",
    "Row",
    "describe_atom",
    "diff_atoms",
    "element_at",
    "feeds",
    "owner",
    "search_atoms",
]
