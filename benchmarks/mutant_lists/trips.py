"""Small wrong changes to loops that are written out, and to what small problems decide."""

from __future__ import annotations

from mutant_lists.mutant import mutants

TRIPS = "tests/kernel/test_trips.py"
UNROLLING = "tests/verifying/test_unrolling.py"

KERNEL = mutants(
    "kernel/ir/trips",
    f"{TRIPS} {UNROLLING}",
    ("count.substitute(known) == Index(None, 1)", "True", "which place of many is known"),
    ("range(first, end)", "range(first, end - 1)", "the last trip"),
    ("range(first, end)", "range(end)", "the first trip"),
    ("elif missing.offset < 0:", "elif missing.offset <= 0:", "a condition at its limit"),
    ("if not missing.is_constant and inner:", "if False:", "conditions on a place"),
    ("yield If(index, below, inner)", "yield from inner", "conditions that stay"),
    ("if self.left < 0:", "if False:", "how much is written out"),
    (
        "index.substitute(bound).substitute(self.known)",
        "index.substitute(self.known)",
        "inner loops",
    ),
    ("return value.substitute(bound)", "return value", "variables of loops in statements"),
)

MUTANTS = mutants(
    "verifying/unrolling",
    UNROLLING,
    ('mine.answer == "disproved" or (mine and known)', "mine or True", "a small problem's proof"),
    ("(mine and known)", "mine", "what is right in one problem alone"),
    ("(mine and known)", "False", "what is proved for given sizes"),
    ("TRIPS = (2, 3)", "TRIPS = ()", "problems of more trips than one"),
    ("shown = next((p.counterexample", "shown = next((None and p.counterexample", "what shows it"),
)
