"""Runs that are recorded, and played again on other numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from compiled_kinds import CASES
from sampling import sampled

from pycute_xe.errors import UndecidableError
from pycute_xe.executing.arrays import plans
from pycute_xe.executing.arrays.recording import Changed, Recorded, Tape, decided, recorded, shaped
from pycute_xe.executing.problem import Problem, prepare


def moved(array: Any) -> Any:
    """Finite numbers in other places; what lies behind a length stays NaN, and there alone."""
    out = array.copy()
    finite = np.isfinite(array.astype(np.float64))
    out[finite] = np.roll(array[finite], 1)
    return out


def others(problem: Problem) -> Problem:
    """The same sizes and tables, and all other numbers in other places."""
    tables = {looked.operand for looked in plans.plan(problem.kernel).looked}
    inputs = {name: x if name in tables else moved(x) for name, x in problem.inputs.items()}
    return replace(problem, inputs=inputs)


@pytest.mark.parametrize("name", sampled(CASES, 12, always=["attention, pages", "parts of K"]))
@pytest.mark.long
def test_what_is_played_is_what_is_recorded(name: str) -> None:
    """Bit for bit: the first run is of other numbers, and the last one is recorded anew."""
    kernel, given = CASES[name].make()
    problem = prepare(kernel, (), given, None)
    try:
        plan = plans.plan(kernel)
        plan.run(others(problem))
    except UndecidableError:
        return
    tapes = [*plan.tapes.values()]
    played = plan.run(problem)
    assert [*plan.tapes.values()] == tapes
    plan.tapes.clear()
    anew = plan.run(problem)
    for output in kernel.outputs:
        assert played[output.name].tobytes() == anew[output.name].tobytes()
    plan.tapes.clear()


@recorded
def doubled(array: Any) -> Any:
    return array * 2


@recorded
def filled(array: Any, value: Any) -> None:
    array[...] = value


def played(tape: Tape, *arrays: Any) -> None:
    assert tape.ended()
    tape.play([*arrays])


def test_steps_are_done_in_order_and_those_that_no_other_needs_are_not() -> None:
    tape = Tape()
    x, out = tape.input(np.ones(2)), tape.input(np.zeros(2))
    filled(out, doubled(doubled(x)))
    doubled(out)
    assert isinstance(x, Recorded)
    result = np.zeros(2)
    played(tape, np.array([3.0, 5.0]), result)
    assert result.tolist() == [12, 20]
    assert len(tape.steps) == 3


def test_a_shape_that_an_array_had_before_takes_no_step() -> None:
    tape = Tape()
    x, out = tape.input(np.ones(6)), tape.input(np.zeros(6))
    filled(out, shaped(shaped(shaped(doubled(x), (2, 3)), (3, 2)), (6,)))
    result = np.zeros(6)
    played(tape, np.arange(6.0), result)
    assert result.tolist() == [0, 2, 4, 6, 8, 10]
    assert len(tape.steps) == 2


def test_numbers_that_decide_otherwise_end_it() -> None:
    tape = Tape()
    assert decided(lambda x: bool(x.all()), tape.input(np.ones(2)))
    played(tape, np.array([7.0, 1.0]))
    with pytest.raises(Changed):
        tape.play([np.zeros(2)])


def test_nothing_is_computed_beside_a_tape() -> None:
    """A function that is not recorded refuses a recorded array: its numbers would stay the same."""
    x: Any = Tape().input(np.ones(2))
    for function in (np.asarray, np.sum, lambda x: np.where([True, False], x, 0), lambda x: x + 1):
        with pytest.raises(TypeError):
            function(x)
    with pytest.raises(TypeError, match="no longer the same"):
        filled(np.zeros(2), x)


def test_a_tape_that_takes_too_much_room_is_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pycute_xe.executing.arrays.recording.ROOM", 8)
    tape = Tape()
    x = tape.input(np.zeros(2))
    filled(x, np.ones(2))
    filled(x, np.ones(2) * 2)
    assert not tape.ended()
