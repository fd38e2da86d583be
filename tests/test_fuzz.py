"""Junk calls and damaged files, a seeded sample: `make fuzz` makes 200,000 and 20,000 of them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import fuzz_calls
import fuzz_files
import pytest
from fuzz_values import subjects


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The alarm of a call that takes too long, and a folder for what calls write."""
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGPROF, fuzz_calls.stop)
    yield
    signal.signal(signal.SIGPROF, before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.long
def test_junk_is_refused_by_name() -> None:
    assert len(subjects()) > 600
    assert fuzz_calls.failures(0, 0, 700) == []


def test_the_sample_is_made_of_refusals_and_of_results() -> None:
    """Neither all calls are refused, nor are they all taken."""
    errors = [fuzz_calls.attempt(*fuzz_calls.drawn(0, n)) for n in range(0, 1_500, 10)]
    refused = sum(error is not None for error in errors)
    assert 15 < refused < 135


def test_an_error_of_pythons_own_is_a_failure() -> None:
    def stumbles(operand: str) -> int:
        return {"A": 1}[operand]

    import inspect

    subject = fuzz_calls.Subject("stumbles", stumbles, inspect.signature(stumbles))
    error = fuzz_calls.attempt(subject, ("D",), {})
    assert isinstance(error, KeyError)
    assert not fuzz_calls.allowed(error, subject, ("D",), {})


def test_damaged_files_are_refused_in_one_line(tmp_path: Path) -> None:
    found: list[tuple[int, BaseException | None]] = []
    for number in range(250):
        ending, data = fuzz_files.damaged(0, number)
        path = tmp_path / f"a{ending}"
        path.write_bytes(data)
        found.append((number, fuzz_files.trouble(path)))
    assert [one for one in found if one[1] is not None] == []
