"""Break the library on purpose, one small change at a time: do the tests notice?

Each mutant of `mutant_lists/` is put into a copy of the repository, and the tests that it names
run there until one fails: first the one that killed it before (`mutant_lists/killed_by.tsv`, which
`--record` rewrites), then all of them, the quick ones first. A survivor is either equivalent, and
the list says why, or shows what no test asks. `--floor`, `--only` and `--new` choose.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha1
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from tempfile import TemporaryDirectory

from anchors import Edit, edits, places
from forked import run
from mutant_lists import FLOORS, Mutant

ROOT = Path(__file__).resolve().parent.parent
# What the tests need; the rest of the repository is not copied.
COPIED = ("atoms", "benchmarks", "docs", "examples", "pycute_xe", "tests", "pyproject.toml")
MUTANTS = [mutant for floor in FLOORS.values() for mutant in floor]
# A test that reads the source would kill mutants without asking what they do.
MEANING = ("-k", "not every_raise_of_a_module")
TIMEOUT = 900
KILLERS = ROOT / "benchmarks/mutant_lists/killed_by.tsv"


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: which test killed it, or none."""

    mutant: Mutant
    killer: str
    seconds: float

    @property
    def verdict(self) -> str:
        """One word."""
        if self.killer:
            return "killed"
        return "equivalent" if self.mutant.equivalent else "SURVIVED"


def stale(root: Path = ROOT) -> list[str]:
    """Name the mutants whose code does not occur exactly once, or that change nothing."""
    found: list[str] = []
    for mutant in MUTANTS:
        count = len(edits(root, mutant.name, mutant.old, mutant.new))
        if count != 1 or " ".join(mutant.old.split()) == " ".join(mutant.new.split()):
            found.append(f"{mutant.name}: {mutant.old!r} occurs {count} times")
    return found


def placed(mutant: Mutant, root: Path = ROOT) -> Edit:
    """Return what a mutant makes of the module that it changes."""
    (edit,) = edits(root, mutant.name, mutant.old, mutant.new)
    return edit


def chosen_tests(mutant: Mutant, edit: Edit) -> list[str]:
    """The tests of a mutant, by their paths."""
    return [edit.path if test == "doctests" else test for test in mutant.tests]


def key(mutant: Mutant) -> str:
    """Name a mutant in the table of killers, as long as its change stays what it is."""
    change = "\0".join(" ".join(code.split()) for code in (mutant.old, mutant.new)).encode()
    name = mutant.name.rpartition(": ")[2]
    return f"{name} {sha1(change, usedforsecurity=False).hexdigest()[:12]}"


def killers() -> dict[str, str]:
    """Read which test killed a mutant when this was last recorded."""
    lines = KILLERS.read_text(encoding="utf-8").splitlines() if KILLERS.exists() else []
    return {mutant: _with_path(test) for mutant, _, test in (x.partition("\t") for x in lines)}


def _with_path(test: str) -> str:
    """Return a recorded test as pytest calls it: a doctest is recorded by its function alone."""
    kind, _, name = test.partition("::")
    found = places(ROOT, name) if kind == "doctest" else []
    found.sort(key=lambda place: place[0].path.count("/"))
    plain = name.rpartition(": ")[2]
    return next((f"{s.path}::{_dotted(s.path)}.{plain}" for s, _ in found), test)


def _recorded(test: str) -> str:
    """Return a test as it is recorded: in which file of the package a function is may change."""
    path, _, doctest = test.partition("::")
    package, name = Path(path).parent.name, doctest.removeprefix(f"{_dotted(path)}.")
    short = f"doctest::{package}: {name}"
    return short if path.startswith("pycute_xe/") and _with_path(short) == test else test


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def record(found: Iterable[Outcome]) -> None:
    """Write which tests kill, for the mutants judged now and for those judged before."""
    known = killers() | {key(o.mutant): o.killer for o in found}
    tests = {key(m): known.get(key(m), "") for m in MUTANTS}
    lines = [f"{mutant}\t{_recorded(test)}\n" for mutant, test in tests.items() if ".py" in test]
    KILLERS.write_text("".join(lines), encoding="utf-8")


def copied(target: Path) -> Path:
    """Copy the repository, without what it leaves behind when it runs."""
    ignore = shutil.ignore_patterns("__pycache__", ".*")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignore)
        else:
            shutil.copy(source, target / name)
    return target


def first_failure(copy: Path, tests: Iterable[str], examples: int, compiling: bool = False) -> str:
    """Run tests of a copy and return the first that fails, empty if none does."""
    code, lines = run(copy, [*MEANING, *tests], examples, TIMEOUT, compiling)
    if code == -signal.SIGALRM:
        return "does not end"
    # A module without doctests kills nothing.
    if code in (0, 5) or _missing(copy, lines):
        return ""
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0].partition(" ")[2] if failed else "the tests do not start"


def existing(copy: Path, tests: Iterable[str]) -> list[str]:
    """Return the tests that exist: a recorded one may have another name by now."""
    wanted = list(dict.fromkeys(tests))
    _, lines = run(copy, ["--collect-only", *wanted], 1, TIMEOUT) if wanted else (0, [])
    return [test for test in wanted if test not in _missing(copy, lines)]


def _missing(copy: Path, lines: list[str]) -> set[str]:
    """The tests that pytest was given and did not find."""
    return {line.rpartition(f"{copy}/")[2] for line in lines if "not found: " in line}


def judged(mutant: Mutant, edit: Edit, copy: Path, examples: int, before: str = "") -> Outcome:
    """Apply a mutant to a copy, run the tests, first the one that failed before, and undo it.

    A test that fails without the mutant too, as one may on a busy machine, kills nothing.
    """
    file = copy / edit.path
    source = file.read_text(encoding="utf-8")
    written = file.stat()
    start = time.perf_counter()
    file.write_text(edit.text, encoding="utf-8")
    try:
        # One after the other, for collecting a file may take longer than the test that notices.
        tests = (before, *chosen_tests(mutant, edit))
        killer = next(filter(None, (first_failure(copy, [t], examples) for t in tests if t)), "")
    finally:
        file.write_text(source, encoding="utf-8")
        # What was compiled without a mutant stays valid.
        os.utime(file, ns=(written.st_atime_ns, written.st_mtime_ns))
    if ".py" in killer and killer != before and first_failure(copy, [killer], examples):
        killer = ""
    return Outcome(mutant, killer, time.perf_counter() - start)


def prepared(
    mutants: dict[Mutant, Edit], folder: Path, jobs: int, examples: int
) -> dict[Mutant, str]:
    """Make copies that pass the tests; return which test killed a mutant before, if it exists."""
    first = copied(folder / "0")
    known = killers()
    there = set(existing(first, filter(None, (known.get(key(m)) for m in mutants))))
    before = {m: test for m in mutants if (test := known.get(key(m), "")) in there}
    fresh = ((m, edit) for m, edit in mutants.items() if m not in before)
    rest = dict.fromkeys(test for m, edit in fresh for test in chosen_tests(m, edit))
    failed = first_failure(first, [*rest, *dict.fromkeys(before.values())], examples, True)
    if failed:
        sys.exit(f"without any mutant {failed} fails")
    # Copied with what that run compiled and measured, and from one source: edits change nothing.
    for i in range(1, jobs):
        shutil.copytree(first, folder / str(i))
    return before


COPY: list[Path] = []
"""The copy of a worker, once it has taken one."""


def outcomes(mutants: dict[Mutant, Edit], jobs: int, examples: int) -> Iterator[Outcome]:
    """Judge all mutants, in several copies at once, and yield them as they end."""
    with TemporaryDirectory() as folder:
        before = prepared(mutants, Path(folder), jobs, examples)
        context = get_context("fork")
        free: SimpleQueue[Path] = context.SimpleQueue()
        for i in range(jobs):
            free.put(Path(folder, str(i)))
        with context.Pool(jobs, lambda: COPY.append(free.get())) as pool:
            cases = [(m, edit, examples, before.get(m, "")) for m, edit in mutants.items()]
            yield from pool.imap(_one, cases)


def _one(case: tuple[Mutant, Edit, int, str]) -> Outcome:
    mutant, edit, examples, before = case
    return judged(mutant, edit, COPY[0], examples, before)


def shown(outcome: Outcome) -> str:
    """One line of the table."""
    mutant = outcome.mutant
    change = f"{mutant.name}: {' '.join(mutant.new.split())}"
    reason = outcome.killer or mutant.equivalent or mutant.why
    return f"{outcome.verdict:10} {outcome.seconds:6.1f} s  {change[:70]:70}  {reason}"


def main() -> int:
    """Judge the mutants and say how many fell."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--examples", type=int, default=25)
    parser.add_argument("--floor", choices=FLOORS, action="append", help="may be given repeatedly")
    parser.add_argument("--record", action="store_true", help="note which tests killed")
    parser.add_argument("--only", default="", help="mutants whose file, name or code has this")
    parser.add_argument("--new", action="store_true", help="mutants that no test is known to kill")
    options = parser.parse_args()
    floors = options.floor or FLOORS
    if gone := stale():
        sys.exit("\n".join(["update mutant_lists:", *gone]))
    known = killers() if options.new else {}
    listed = {
        mutant: placed(mutant)
        for floor in floors
        for mutant in FLOORS[floor]
        if not (options.new and (key(mutant) in known or mutant.equivalent))
    }
    chosen = {
        m: edit
        for m, edit in listed.items()
        if any(options.only in text for text in (edit.path, m.name, m.old, m.new))
    }
    found: list[Outcome] = []
    for outcome in outcomes(chosen, options.jobs, options.examples):
        found.append(outcome)
        print(f"{len(found):3}/{len(chosen)} {shown(outcome)}", flush=True)
        if options.record:
            record(found)
    counts = {v: sum(o.verdict == v for o in found) for v in ("killed", "equivalent", "SURVIVED")}
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if counts["SURVIVED"] else 0


if __name__ == "__main__":
    sys.exit(main())
