from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def visa() -> ModuleType:
    """The transcription of the vISA manual's pseudo-code."""
    spec = importlib.util.spec_from_file_location("visa", TESTS / "visa_pseudo_code.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def igc() -> dict[str, list[dict[str, Any]]]:
    """What Intel's graphics compiler answered: rows of "load" and "store"."""
    with gzip.open(TESTS / "data" / "igc_block2d.json.gz", "rt") as file:
        tables = json.load(file)
    return {
        op: [
            dict(zip(tables[op], values, strict=True))
            for values in zip(*tables[op].values(), strict=True)
        ]
        for op in ("load", "store")
    }
