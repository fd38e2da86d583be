from __future__ import annotations

import inspect

import pytest
from every import every


def judged(*values: int) -> str:
    @every("value", values, ids=str)
    def small(value: int) -> None:
        assert value < 3

    with pytest.raises(Exception) as raised:
        small()
    shown = [raised.value, *getattr(raised.value, "exceptions", ())]
    return " ".join(note for error in shown for note in getattr(error, "__notes__", ()))


def test_every_case_runs_and_those_that_fail_are_named() -> None:
    assert judged(1, 7, 2, 5) == "case 1: 7 case 3: 5"
    assert judged(1, 7) == "case 1: 7"


def test_a_list_without_cases_fails() -> None:
    @every("value", ())
    def none(value: int) -> None: ...

    with pytest.raises(AssertionError, match="empty"):
        none()


def test_what_is_not_a_case_stays_a_fixture(tmp_path: object) -> None:
    @every("value, square", [(2, 4), pytest.param(3, 9, id="three")])
    def squares(value: int, square: int, tmp_path: object) -> None:
        assert value * value == square
        assert tmp_path

    squares(tmp_path=tmp_path)
    assert list(inspect.signature(squares).parameters) == ["tmp_path"]


def test_an_error_that_was_not_raised_is_a_failed_case() -> None:
    @every("value", [1, 0])
    def divides(value: int) -> None:
        with pytest.raises(ZeroDivisionError):
            1 / value

    with pytest.raises(Exception, match="DID NOT RAISE"):
        divides()
