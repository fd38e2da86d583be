"""`from … import *` leaves Python's own names alone."""

from __future__ import annotations

import builtins

import pytest

import pycute_xe as cx
from pycute_xe import esimd, native

PACKAGES = (
    *("pycute_xe", "pycute_xe.esimd", "pycute_xe.native", "pycute_xe.kernel", "pycute_xe.dialects"),
    *("pycute_xe.arch", "pycute_xe.arch.lsc", "pycute_xe.machine", "pycute_xe.symbolic"),
    *("pycute_xe.files", "pycute_xe.costing", "pycute_xe.exploring", "pycute_xe.analysing"),
)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_builtin_is_replaced(package: str) -> None:
    names: dict[str, object] = {}
    exec(f"from {package} import *", names)
    assert not (names.keys() - {"__builtins__"}) & {*dir(builtins)}
    assert len(names) > 2


def test_these_names_are_attributes_all_the_same() -> None:
    for module, wanted in ((esimd, "max min sum"), (native, "compile"), (cx, "filter")):
        for name in wanted.split():
            assert getattr(module, name) is not getattr(builtins, name)
