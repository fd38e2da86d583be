"""What a mutant is: a small wrong change, and the tests that should see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A change: the exact text, what it becomes, and why someone should notice.

    ``tests`` are the ones that run, the quick ones first. ``equivalent`` says why
    the change cannot be noticed, where that is so.
    """

    file: str
    old: str
    new: str
    why: str
    equivalent: str = ""
    tests: tuple[str, ...] = ()


def mutants(file: str, tests: str, *changes: tuple[str, ...]) -> list[Mutant]:
    """List changes of one module, with the tests of it, separated by spaces.

    >>> mutants("facts", "tests/a.py tests/b.py", ("old", "new", "why"))[0].tests
    ('tests/a.py', 'tests/b.py')
    """
    path, run = f"pycute_xe/{file}.py", tuple(tests.split())
    return [Mutant(path, *change, tests=run) for change in changes]
