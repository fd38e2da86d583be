"""What the playground shows is what the library says, and its code in Python says the same."""

from __future__ import annotations

import contextlib
import io
import json

import pytest
from odd_requests import REQUESTS as REQUESTS_THAT_ARE_ODD
from random_expressions import random_expressions

import pycute_xe as cx
from pycute_xe.expressions import evaluate, python_text
from pycute_xe.playground import KINDS, answer
from pycute_xe.playground.atoms import known_names

OLDER, MMA = "XE_2D_U16x16x16_LD_N", "XE_DPAS_TT<8,f32,bf16>"
REQUESTS = {
    "expression": {"text": "composition((6,2):(8,2), (4,3):(3,1))"},
    "atom": {"name": OLDER, "target": "pvc"},
    "diff": {"one": OLDER, "other": "XE_2D_U16x16x16_LD_V"},
    "feeds": {"copy": OLDER, "mma": MMA, "operand": "B"},
    "tile": {"mma": MMA, "tile": "64,128,32", "subgroups": "2,4,1", "operand": "A"},
    "verify": {"name": OLDER, "row": "v", "column": "(t + 1) % 16"},
}


def _printed(code: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return out.getvalue()


def test_there_is_a_request_of_every_kind() -> None:
    assert REQUESTS.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", REQUESTS)
def test_answers_are_plain_and_complete(kind: str) -> None:
    shown = answer({"kind": kind, **REQUESTS[kind]})
    assert json.loads(json.dumps(shown)) == shown
    assert "error" not in shown
    assert all(heading and text for heading, text in shown["parts"])
    assert shown["python"].startswith("import pycute_xe as cx")
    if kind != "diff":
        assert shown["svg"].startswith("<svg ")


@pytest.mark.parametrize("kind", ["expression", "diff", "feeds"])
def test_the_python_prints_what_is_shown(kind: str) -> None:
    shown = answer({"kind": kind, **REQUESTS[kind]})
    printed = _printed(shown["python"]).rstrip("\n")
    assert printed in [text for _, text in shown["parts"]]


def test_the_python_of_an_expression_has_its_value() -> None:
    for text in random_expressions(200, seed=1):
        try:
            value = evaluate(text)
        except cx.CuteError:
            continue
        assert eval(python_text(text), {"cx": cx}) == value, text


def test_errors_are_those_of_the_library() -> None:
    for name in ("XE_2D_U16x32x16_LD_Q", "XE_DPAS_TT<9,f32,bf16>"):
        with pytest.raises(cx.CuteError) as raised:
            cx.get_atom(name)
        assert answer({"kind": "atom", "name": name})["error"] == str(raised.value)
    slip = answer({"kind": "expression", "text": "size(4:2"})
    assert slip["pointer"].splitlines()[1].index("^") == 2 + 8


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__.__bases__",
        "open('/etc/passwd')",
        "(lambda: 4)()",
        "[x for x in (1,)]",
        "exec(4)",
        "(" * 400,
        "8:1" * 4000,
    ],
)
def test_nothing_but_the_algebra_is_executed(text: str) -> None:
    """An expression is read by the grammar of layouts; formulas by that of indices."""
    assert "error" in answer({"kind": "expression", "text": text})
    assert "error" in answer({"kind": "verify", "name": OLDER, "row": text, "column": "t"})


@pytest.mark.parametrize("field", ["tile", "subgroups"])
@pytest.mark.parametrize("text", ["", "4", "a,b,c", "1,2,3,4", "0,0,0", "9999999,1,1"])
def test_a_wrong_tile_is_refused_in_words(field: str, text: str) -> None:
    request = {"kind": "tile", **REQUESTS["tile"], field: text}
    assert "Way out" in answer(request)["error"]


def test_a_wrong_formula_is_marked() -> None:
    shown = answer({"kind": "verify", **REQUESTS["verify"]})
    parts = dict(map(tuple, shown["parts"]))
    assert "value 0 of work-item 0 is said to be (0, 1), and is (0, 0)" in parts["Counterexample"]


@pytest.mark.whole
@pytest.mark.parametrize("at", range(0, len(REQUESTS_THAT_ARE_ODD), 10))
def test_odd_requests_are_answered_in_words(at: int) -> None:
    for request in REQUESTS_THAT_ARE_ODD[at : at + 10]:
        shown = answer(request)
        assert json.loads(json.dumps(shown)) == shown
        assert "Way out: " in shown["error"] if "error" in shown else shown["parts"], request


def test_a_tile_that_cannot_be_drawn_is_answered_all_the_same() -> None:
    asked = {"kind": "tile", "mma": MMA, "tile": "4096,4096,32", "subgroups": "8,4,1"}
    shown = answer(asked)
    parts = dict(map(tuple, shown["parts"]))
    assert parts["Refused"].startswith("what bmg takes instead: 256,256,32 by 8,4,1")
    assert parts["Drawing"].endswith("cells are more than a drawing can show (8192)")
    assert shown["svg"] == ""


@pytest.mark.long
def test_every_name_that_is_offered_is_answered() -> None:
    names = known_names()
    for name in [*names["copies"][::9], *names["mmas"][::5]]:
        shown = answer({"kind": "atom", "name": name})
        assert "error" not in shown, (name, shown)
