from __future__ import annotations

import gc
from collections.abc import Generator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
import visa_pseudo_code
from golden import rows
from hypothesis import settings
from sampling import EXAMPLES, WHOLE

# A slow machine must not fail a test: no example has a deadline. EXAMPLES=5 makes a quick run.
# The same examples in every run, except for those of `make fuzz`, whose seed is printed.
settings.register_profile(
    "project", deadline=None, print_blob=True, max_examples=EXAMPLES, derandomize=not WHOLE
)
settings.load_profile("project")
MOST_CASES = 3
ONE_LONG_TEST_IN = 40
# What is imported and collected stays: looking for garbage in it takes time and finds none.
gc.disable()


@pytest.fixture(scope="session")
def visa() -> ModuleType:
    """The transcription of the vISA manual's pseudo-code."""
    return visa_pseudo_code


@pytest.fixture(scope="session")
def igc() -> dict[str, list[dict[str, Any]]]:
    """What Intel's graphics compiler answered: rows of "load" and "store"."""
    tables = rows("igc_block2d")
    return {
        op: [
            dict(zip(tables[op], values, strict=True))
            for values in zip(*tables[op].values(), strict=True)
        ]
        for op in ("load", "store")
    }


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for tests in the files below, not for doctests: only the package has these."""
    return [found for found in (yield) if type(found) is pytest.Module]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run of the long tests be one part of several."""
    parser.addoption("--part", default="0/1", metavar="I/N", help="of the long tests, part I of N")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take a sample of the cases of tests that have many, and of long tests, the same in every run.

    All of them run in `make fuzz`, where a test or its file is asked for by name, as for mutants,
    and where it is marked ``whole``; all long tests run in `make long`, or one part of them.
    """
    if WHOLE or not all(Path(argument).is_dir() for argument in config.args):
        return
    cases: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            cases.setdefault((str(item.path), item.originalname), []).append(item)
    left: set[pytest.Item] = set()
    for (_, name), many in cases.items():
        if len(many) > MOST_CASES and many[0].get_closest_marker("whole") is None:
            left.update(Random(name).sample(many, len(many) - MOST_CASES))
    part, parts = map(int, config.option.part.split("/"))
    if "long" not in config.option.markexpr:
        part, parts = 0, ONE_LONG_TEST_IN
    for item in items:
        own = Random(f"{item.path.name} {item.name}").randrange(parts)
        if item.get_closest_marker("long") is not None and own != part:
            left.add(item)
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=[*left])


def pytest_collection_finish() -> None:
    """Take what was imported and collected out of the sight of every later garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000)
    gc.enable()
