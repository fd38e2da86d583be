"""Many small cases as one test: what pytest spends on each item would be most of their time.

`every` takes what `pytest.mark.parametrize` takes. All cases run, and those that fail are told
together, each by its name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def every(
    names: str | tuple[str, ...],
    values: Iterable[Any],
    ids: Callable[[Any], object] | Iterable[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a test each of the values in turn, in one item."""
    arguments = [n.strip() for n in names.split(",")] if isinstance(names, str) else [*names]
    cases = [_bound(arguments, value) for value in values]
    labels = list(ids) if ids is not None and not callable(ids) else None

    def label(number: int) -> str:
        if labels is not None:
            return labels[number]
        shown = cases[number].values()
        return "-".join(str(ids(v)) if callable(ids) else repr(v) for v in shown)

    def wrap(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**others: Any) -> None:
            assert cases, "the list of cases is empty"
            failed: list[Exception] = []
            for number, case in enumerate(cases):
                try:
                    test(**others, **case)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - told below
                    error.add_note(f"case {number}: {label(number)}")
                    failed.append(error if isinstance(error, Exception) else Failed(str(error)))
            if len(failed) == 1:
                raise failed[0]
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)

        kept = [p for n, p in inspect.signature(test).parameters.items() if n not in arguments]
        run.__signature__ = inspect.Signature(kept)  # what is left are fixtures
        return run

    return wrap


class Failed(Exception):
    """A case in which something that was to be raised was not."""


def _bound(names: list[str], value: Any) -> dict[str, Any]:
    """The arguments of one case."""
    given = getattr(value, "values", None) if type(value).__name__ == "ParameterSet" else None
    parts = given if given is not None else (value,) if len(names) == 1 else value
    return dict(zip(names, parts, strict=True))
