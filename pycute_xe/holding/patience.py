"""The account of work that a question may take.

Work is counted in units of about a microsecond on an idle machine, the same for the same question
whatever else the machine does and whatever is remembered from before: answers depend on the work
alone. A clock is read only where the caller sets a deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from typing import Any, TypeVar

from pycute_xe.clock import Deadline, deadline_set
from pycute_xe.errors import KernelError

__all__ = [
    "a_while",
    "Account",
    "DeadlineError",
    "TooHardError",
    "allowed",
    "at_most",
    "charge",
    "remembered",
    "remembering",
    "time_left",
    "too_hard",
    "work_done",
    "work_left",
]


class TooHardError(KernelError):
    """A question was given up: the work that it may take was used up."""


class DeadlineError(TooHardError):
    """A question was stopped at the deadline that the caller set, before its work was done."""


def too_hard(why: str) -> TooHardError:
    """Return the refusal of a question."""
    return TooHardError("verify", {}, why, "use strides that nest evenly")


@dataclass
class Account:
    """How much work is allowed and how much is done, in units, and the deadline of the caller.

    ``kept`` is what was computed once and is remembered, for as long as the account is open.
    """

    work: float
    deadline: Deadline | None = None
    spent: float = 0
    kept: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any])

    def charge(self, units: float) -> None:
        """Count work that is to be done. Raises `TooHardError` where it is not allowed."""
        self.spent += units
        if self.spent > self.work:
            raise too_hard(
                f"the work that the budget allows is used up, after {self.work:,.0f} units"
            )
        if self.deadline is not None:
            self._demand_time(self.deadline, units)

    def _demand_time(self, deadline: Deadline, units: float) -> None:
        """Raise `DeadlineError` after the deadline, and before a step that would end after it."""
        left = deadline.left
        if left >= 0 and self._lasts(units, deadline.elapsed) <= left + SPARE:
            return
        raise DeadlineError(
            "verify",
            {},
            f"stopped at the deadline, {deadline.seconds:g} s after the call (seconds=)",
            "give a later deadline, or leave seconds out",
        )

    def _lasts(self, units: float, passed: float) -> float:
        """Return about how many seconds one step takes that is long: it cannot be stopped."""
        if units < LONG:
            return 0.0
        return units * (passed + units * 1e-6) / self.spent


T = TypeVar("T")

LONG, SPARE = 20_000, 0.25
"""Units of a step that is begun only if it will end in time, and the seconds it may be late."""

_account: ContextVar[Account | None] = ContextVar("_account", default=None)


@contextmanager
def allowed(work: float) -> Generator[Account]:
    """Open an account of so many units, with the deadline that the caller set, if any.

    Inside another one it is part of that.

    >>> with allowed(10):
    ...     charge(7)
    ...     print(work_left())
    ...     charge(7)
    Traceback (most recent call last):
    pycute_xe.holding.patience.TooHardError: verify(...): the work that the budget allows...
    """
    outer = _account.get()
    if outer is not None:
        work = min(work, outer.work - outer.spent)
    account = Account(work, deadline_set())
    token = _account.set(account)
    try:
        yield account
    finally:
        _account.reset(token)
        if outer is not None:
            outer.spent += account.spent


@contextmanager
def at_most(units: float) -> Generator[None]:
    """Let what is done inside take no more than so many units of the account's work."""
    account = _account.get()
    if account is None:
        yield
        return
    work = account.work
    account.work = min(work, account.spent + units)
    try:
        yield
    finally:
        account.work = work


def charge(units: float) -> None:
    """Count work that is to be done; every step that may be one of many does.

    Raises `TooHardError` where the account does not allow it, `DeadlineError` after a deadline.
    """
    account = _account.get()
    if account is not None:
        account.charge(units)


def remembered(key: Hashable, make: Callable[[], T]) -> T:
    """Return what was made for a key under this account; work is not remembered any longer.

    What outlived an account would make a second question cheaper than the first.
    """
    account = _account.get()
    if account is None:
        return make()
    if key not in account.kept:
        account.kept[key] = make()
    return account.kept[key]


@contextmanager
def remembering() -> Generator[None]:
    """Remember what is made once while this is open, also where no work is counted."""
    if _account.get() is not None:
        yield
        return
    with allowed(inf):
        yield


def work_left() -> float:
    """Return the units that are left; infinity without an account.

    >>> work_left()
    inf
    """
    account = _account.get()
    return inf if account is None else account.work - account.spent


def work_done() -> float:
    """Return the units that were counted so far; none without an account."""
    account = _account.get()
    return 0 if account is None else account.spent


def time_left() -> float | None:
    """Return the seconds until the deadline that the caller set, None without a deadline."""
    account = _account.get()
    return None if account is None or account.deadline is None else account.deadline.left


def a_while(units: float) -> Callable[[], bool]:
    """Return what tells whether a trial goes on: for so much work, at most half of what is left.

    >>> with allowed(100):
    ...     goes_on = a_while(1000)
    ...     charge(49)
    ...     goes_on()
    ...     charge(1)
    ...     goes_on()
    True
    False
    """
    left = work_left()
    if left == inf:
        return lambda: True
    least = max(left - units, left / 2)
    return lambda: work_left() > least
