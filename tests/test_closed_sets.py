"""The check of `make lint` for closed sets finds what it is for, and nothing in the package."""

from __future__ import annotations

import closed_sets
import pytest

from pycute_xe.kernel.ir.barriers import ROLES
from pycute_xe.kernel.spec.functions import REDUCTIONS
from pycute_xe.numeric import as_numeric, numerics

WRONG = {
    "a conditional expression": 'x = add if how == "sum" else most',
    "of an attribute": 'x = add if statement.how != "max" else most',
    "among others": 'x = 1 if deep and kind.name in ("bf16", "tf32") else 2',
    "an else": 'if row.law == "sum":\n    a()\nelse:\n    b()',
    "the last else of several": (
        'if how == "sum":\n    a()\nelif how == "max":\n    b()\nelse:\n    c()'
    ),
    "a default": 'x = {"f32": 1, "f16": 2}.get(name, 3)',
    "a default of a named table": '_BITS = {"bf16": 8}\nx = _BITS.get(kind.name, 15)',
    "a role": 'x = 0 if statement.role == "consumer" else 1',
}
RIGHT = {
    "a row": "x = ROWS[how].ufunc",
    "an else that refuses": 'if how == "sum":\n    a()\nelse:\n    raise ValueError',
    "another question": 'x = 1 if word == "sum" else 2',
    "no member": 'x = 1 if how == "often" else 2',
    "a reason": '# closed: only sums round\nx = 1 if how == "sum" else 2',
    "no default": 'x = {"f32": 1}.get(name)',
    "a default of None": 'x = {"f32": 1}.get(name, None)',
    "other keys": 'x = {"left": 1}.get(name, 2)',
    "no else": 'if how == "sum":\n    a()',
}


@pytest.mark.parametrize("name", WRONG)
def test_what_leaves_a_member_to_a_default_is_reported(name: str) -> None:
    assert len(list(closed_sets.findings(WRONG[name]))) == 1


@pytest.mark.parametrize("name", RIGHT)
def test_what_does_not_is_not(name: str) -> None:
    assert list(closed_sets.findings(RIGHT[name])) == []


@pytest.mark.long
def test_the_package_leaves_no_member_to_a_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert closed_sets.main() == 0, capsys.readouterr().out


def test_the_sets_are_those_of_the_package() -> None:
    types = {*numerics(), *(str(as_numeric(f"u{bits}")) for bits in (128, 256, 512))}
    assert types <= closed_sets.SETS["types"]
    assert closed_sets.SETS["reductions"] == set(REDUCTIONS)
    assert closed_sets.SETS["laws"] == {row.law for row in REDUCTIONS.values()}
    assert closed_sets.SETS["roles at barriers"] == set(ROLES)
