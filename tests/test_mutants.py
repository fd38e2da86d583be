"""The list of deliberate mistakes stays usable: every one changes the sources as they are."""

from __future__ import annotations

from collections import Counter

from mutant_list import MUTANTS
from mutants import stale


def test_every_mutant_applies() -> None:
    assert stale() == []


def test_no_mutant_is_listed_twice() -> None:
    counts = Counter((m.file, m.old, m.new) for m in MUTANTS)
    assert max(counts.values()) == 1
    assert len(MUTANTS) >= 45
