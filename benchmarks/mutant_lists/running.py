"""Small wrong changes to races in memory and to what a run must show of a verdict."""

from __future__ import annotations

from mutant_lists.mutant import mutants

RACING = "tests/executing/test_racing_stores.py"
SEEN = "tests/verifying/test_seen.py"

MUTANTS = [
    *mutants(
        "machine/races",
        RACING,
        ("self.now[places] = data", "pass", "a write that changes nothing is not seen"),
    ),
    *mutants(
        "machine/accesses",
        RACING,
        ("| (adds == 1) | seen", "| (adds == 1)", "a read sees a write before it"),
        ("(write.old != write.value) & ~read.own", "(write.old != write.value)", "its own writes"),
    ),
    *mutants(
        "verifying/showing",
        SEEN,
        ("float(wanted), tolerance)", "float(wanted), 0.0)", "the tolerance of a replay counts"),
        ("for variant in VARIANTS:", "for variant in VARIANTS[:33]:", "sums that vanish"),
    ),
    *mutants(
        "kernel/kinds/attention_tile",
        "tests/kernel/test_attention_tile.py",
        ("if rows % 16:", "if rows % 8:", "a register has 16 lanes"),
    ),
]
