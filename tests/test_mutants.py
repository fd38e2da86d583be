"""The list of deliberate mistakes stays usable: every one changes the sources as they are."""

from __future__ import annotations

from collections import Counter

from mutant_lists import FLOORS
from mutants import MUTANTS, ROOT, chosen_tests, key, killers, placed, stale


def test_every_mutant_applies() -> None:
    assert stale() == []


def test_no_mutant_is_listed_twice() -> None:
    counts = Counter((m.name, m.old, m.new) for m in MUTANTS)
    assert max(counts.values()) == 1
    assert len(FLOORS["algebra"]) >= 45
    assert len(MUTANTS) - len(FLOORS["algebra"]) >= 60


def test_the_tests_that_a_mutant_names_exist() -> None:
    assert all(mutant.tests for mutant in MUTANTS)
    named = {test for mutant in MUTANTS for test in mutant.tests} - {"doctests"}
    assert [test for test in named if not (ROOT / test).exists()] == []


def test_what_killed_a_mutant_before_is_among_the_tests_that_it_names() -> None:
    named = {key(mutant): (*chosen_tests(mutant, placed(mutant)),) for mutant in MUTANTS}
    assert len(named) == len(MUTANTS)
    known = killers()
    assert known
    assert set(known) <= set(named), "run: python benchmarks/mutants.py --record"
    assert [test for mutant, test in known.items() if not test.startswith(named[mutant])] == []


def test_what_killed_a_mutant_before_is_still_there() -> None:
    """A test that has another name by now would be looked for in vain, and the mutant rejudged."""
    gone: list[str] = []
    for test in sorted(set(killers().values())):
        file, _, name = test.partition("::")
        function = name.partition("[")[0].replace("::", ".").rpartition(".")[2]
        source = (ROOT / file).read_text(encoding="utf-8")
        is_module = name == file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if f"def {function}(" not in source and not is_module:
            gone.append(test)
    assert gone == [], "run: python benchmarks/mutants.py --record"
