"""A plugin of pytest for `mutants.py`: the tests that took least time run first."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

MEASURED = Path("durations.json")
TOOK: defaultdict[str, float] = defaultdict(float)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort tests by what they took without a mutant; where that is not known, change nothing."""
    if MEASURED.exists():
        known: dict[str, float] = json.loads(MEASURED.read_text(encoding="utf-8"))
        items.sort(key=lambda item: known.get(item.nodeid, 0))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what setting a test up, running it and tearing it down took."""
    TOOK[report.nodeid] += report.duration


def pytest_sessionfinish() -> None:
    """Write the durations of a first run."""
    if not MEASURED.exists():
        MEASURED.write_text(json.dumps(TOOK), encoding="utf-8")
