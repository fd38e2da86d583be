"""The list of deliberate mistakes stays usable: every one changes the sources as they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from anchors import edits
from mutant_lists import FLOORS
from mutants import MUTANTS, ROOT, chosen_tests, key, killers, placed, stale


@pytest.mark.long
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


@pytest.mark.long
def test_what_killed_a_mutant_before_is_among_the_tests_that_it_names() -> None:
    named = {key(mutant): (*chosen_tests(mutant, placed(mutant)),) for mutant in MUTANTS}
    assert len(named) == len(MUTANTS)
    known = killers()
    assert known
    assert set(known) <= set(named), "run: python benchmarks/mutants.py --record"
    assert [test for mutant, test in known.items() if not test.startswith(named[mutant])] == []


@pytest.mark.long
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


BEFORE = """
class Walker:
    def step(self, one, other):
        if one and not (
            other
        ):
            return [one for one in other
                    if one]
        elif other: return 0
        match one:
            case (first, *_) if first:
                return first


LIMIT: int = 4
"""


def written(root: Path, path: str, text: str) -> None:
    file = root / "pycute_xe" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "found"),
    [
        ("Walker.step", "one and not other", "one", "if (one):"),
        ("Walker.step", "[one for one in other if one]", "[*other]", "return ([*other])"),
        ("Walker.step", "if other:", "if not other:", "elif not other:"),
        ("Walker", "case (first, *_) if first:", "case (first, *_):", "case (first, *_):\n"),
        ("Walker.step", "return first", "pass\nraise ValueError", "pass\n                raise"),
        ("LIMIT", "4", "5", "LIMIT: int = (5)"),
    ],
)
@pytest.mark.parametrize("path", ["walking.py", "deep/merged.py"])
def test_a_mutant_follows_its_function_into_another_file(
    tmp_path: Path, path: str, name: str, old: str, new: str, found: str
) -> None:
    """The name counts and the code: not the file, what else is in it, or how it is formatted."""
    written(tmp_path, path, "def other():\n    return 4\n" + BEFORE)
    (edit,) = edits(tmp_path, name, old, new)
    assert edit.path == f"pycute_xe/{path}"
    assert found in edit.text
    compile(edit.text, path, "exec")


@pytest.mark.parametrize(
    ("name", "old", "count"),
    [("Walker.step", "other", 3), ("step", "one and not other", 0), ("Walker.step", "4", 0)],
)
def test_what_is_not_there_once_is_counted(tmp_path: Path, name: str, old: str, count: int) -> None:
    written(tmp_path, "walking.py", BEFORE)
    assert len(edits(tmp_path, name, old, "one")) == count


def test_a_package_tells_two_functions_of_one_name_apart(tmp_path: Path) -> None:
    for folder in ("holding", "verifying"):
        written(tmp_path, f"{folder}/any.py", "def _stored():\n    return 1\n")
    assert len(edits(tmp_path, "_stored", "1", "2")) == 2
    assert [e.path for e in edits(tmp_path, "holding: _stored", "1", "2")] == [
        "pycute_xe/holding/any.py"
    ]
