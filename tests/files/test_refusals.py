"""What is not a document is refused by the place of what is wrong, and nothing is executed."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import fuzz_documents
import pytest
from every import every

import pycute_xe as cx
from pycute_xe.errors import InputError
from pycute_xe.files import MOST_CHARACTERS, MOST_DEPTH, MOST_DIGITS, MOST_TEXT, MOST_VALUES
from pycute_xe.kernel import Claim, Fragment, Slot


def document(kind: str, value: Any) -> str:
    return json.dumps({"format": "pycute_xe", "version": 1, "kind": kind, "value": value})


def refused(text: Any) -> tuple[str, str]:
    """Return the place that a refusal names, and its condition."""
    with pytest.raises(InputError) as caught:
        cx.from_json(text)
    assert caught.value.fix
    assert "\n" not in str(caught.value)
    return str(caught.value.operands["at"]), caught.value.condition


def gemm() -> Any:
    return json.loads(fuzz_documents.whole_documents()[10])


Change = Callable[[Any], None]


def at(*path: Any, to: Any) -> Change:
    def change(tree: Any) -> None:
        for step in path[:-1]:
            tree = tree[step]
        tree[path[-1]] = to

    return change


def without(*path: Any) -> Change:
    def change(tree: Any) -> None:
        for step in path[:-1]:
            tree = tree[step]
        del tree[path[-1]]

    return change


BODY = ("value", "body")
COPY = (*BODY, 2, "body", 1, "copy")
DAMAGE: tuple[tuple[Change, str, str], ...] = (
    (at("format", to="cute"), "$.format", "'cute' is not 'pycute_xe'"),
    (at("version", to=2), "$.version", "version 2 is not 1"),
    (at("version", to=True), "$.version", "version True is not 1"),
    (at("kind", to="Kernle"), "$.kind", "'Kernle' is not a kind of value"),
    (at("kind", to=3), "$.kind", "3 is not the name of a kind"),
    (at("kind", to="Layout"), "$.value", "'Kernel' is not the class of a value here"),
    (without("version"), "$", "a document is an object of format, version, kind, value"),
    (at("more", to=1), "$", "a document is an object of format, version, kind, value"),
    (at("value", "class", to="eval"), "$.value", "'eval' is not the class of a value here"),
    (without("value", "name"), "$.value", 'Kernel needs "name", which is missing'),
    (at("value", "mma", to=1), "$.value", "Kernel does not have the key 'mma'"),
    (at("value", "subgroups", to="4"), "$.value.subgroups", "'4' is not an integer"),
    (at("value", "subgroups", to=4.0), "$.value.subgroups", "4.0 is not an integer"),
    (at("value", "subgroups", to=True), "$.value.subgroups", "True is not an integer"),
    (at("value", "subgroups", to=10**9), "$.value", "gemm: subgroups must be 1 to 256"),
    (at("value", "subgroups", to=8), "$.value", "the copy is shared by 4 subgroups"),
    (at("value", "operands", 0, "role", to="x"), "$.value.operands[0].role", "'x' is not 'in'"),
    (at("value", "operands", 0, "name", to="a b"), "$.value.operands[0]", "not an identifier"),
    (at("value", "operands", 1, "value_type", to="f33"), "$.value.operands[1].value_type", "type"),
    (at("value", "operands", 1, "value_type", to="half"), "$.value.operands[1].value_type", "f16"),
    (at("value", "grid", 0, to=["m"]), "$.value.grid[0]", "the list has 1 entries, not 2"),
    (at(*BODY, to={}), "$.value.body", "an object is not a list"),
    (at(*BODY, 0, to=None), "$.value.body[0]", "null is not one of"),
    (at(*BODY, 0, "class", to="Layout"), "$.value.body[0]", "'Layout' is not the class"),
    (without(*BODY, 0, "class"), "$.value.body[0]", 'the object does not say its "class"'),
    (at(*COPY, "atom", "op", "bits", to=17), "$.value.body[2].body[1].copy.atom.op", "size"),
    (at(*COPY, "atom", to=[]), "$.value.body[2].body[1].copy.atom", "a list is not"),
    (at(*COPY, "tiler_mn", 1, to=[4]), "$.value.body[2].body[1].copy.tiler_mn[1]", "a list is not"),
    (
        at(*COPY, "layout_tv_tiled", "shape", to=[4, [-8, 2]]),
        "$.value.body[2].body[1].copy.layout_tv_tiled",
        "Layout",
    ),
)


@every(("change", "place", "said"), DAMAGE, ids=[place for _, place, _ in DAMAGE])
def test_damage_is_refused_by_its_place(change: Change, place: str, said: str) -> None:
    tree = gemm()
    change(tree)
    found, condition = refused(json.dumps(tree))
    assert found == place
    assert said in condition


def nested(levels: int) -> str:
    return document("tuple", 0).replace(": 0}", ": " + "[" * levels + "]" * levels + "}")


TEXTS: tuple[tuple[Any, str, str], ...] = (
    ("", "$", "it is not JSON"),
    ("[1, 2", "$", "it is not JSON"),
    (None, "$", "NoneType is not the text of a document"),
    (b"\xff\xfe{", "$", "byte 0 is not UTF-8"),
    (document("tuple", []).encode("utf-16"), "$", "byte 0 is not UTF-8"),
    ("{}" + " " * MOST_CHARACTERS, "$", "characters"),
    ("[" * 500_000, "$", "levels deep"),
    (nested(MOST_DEPTH), "$.value" + "[0]" * (MOST_DEPTH - 1), "levels deep"),
    (document("tuple", [1, 2**40, 10**MOST_DIGITS]), "$.value[2]", "1,001 digits"),
    (document("tuple", []).replace("[]", "[1, 1e999]"), "$.value[1]", "no float is as large"),
    (document("tuple", []).replace("[]", "[NaN]"), "$.value[0]", "JSON does not have NaN"),
    (document("tuple", [[1.5]]), "$.value[0][0]", "1.5 is not an integer"),
    (document("tuple", [True]), "$.value[0]", "True is not"),
    (document("tuple", ["x" * (MOST_TEXT + 1)]), "$.value[0]", "65,537 characters"),
    (document("tuple", ["\ud800"]), "$.value[0]", "half of a character"),
    (document("tuple", [[1] * MOST_VALUES]), "$.value[0]", "more than 50,000 values"),
    (
        document("Layout", {"class": "Layout", "shape": 4}).replace("4}", '4, "shape": 4}'),
        "$.value",
        "the key 'shape' occurs twice",
    ),
    (document("Layout", {"$ref": "#"}), "$.value", 'does not say its "class"'),
    (document("Swizzle", {"class": "Swizzle", "bits": 3, "base": 0, "shift": 1}), "$.value", "3"),
    (
        document("Const", {"class": "Const", "value": "nan:0000000000000000"}),
        "$.value.value",
        "nan",
    ),
    (document("Numeric", ["f32"]), "$.value", "a list is not the name of an element type"),
    (document("Statement", {}), "$.kind", "'Statement' is not a kind of value"),
    (document("os.system", "true"), "$.kind", "'os.system' is not a kind of value"),
)


@every(("text", "place", "said"), TEXTS, ids=[said for _, _, said in TEXTS])
def test_texts_that_are_not_documents(text: Any, place: str, said: str) -> None:
    found, condition = refused(text)
    assert found == place
    assert said in condition


def index(terms: Any, offset: int = 0) -> dict[str, Any]:
    return {"class": "Index", "terms": terms, "offset": offset}


def quotient(inner: Any, divisor: int) -> dict[str, Any]:
    return {"class": "Quotient", "index": inner, "divisor": divisor}


K = index([["k", 1]])
SYMBOL = {"class": "Assumed", "name": "M", "multiple_of": 1, "at_least": 1, "at_most": None}


@every(
    ("kind", "value", "said"),
    [
        ("Index", index([["k", 1], ["k", 2]]), "not collected"),
        ("Index", index([["k", 0]]), "not collected"),
        ("Index", index([["m", 1], ["k", 1]]), "not collected"),
        ("Index", index([["k); exit(", 1]]), "identifier"),
        ("Index", index([[quotient(K, 0), 1]]), "a divisor is 1 or more"),
        ("Index", index([[quotient(index([["k", 4]]), 2), 1]]), "not collected"),
        ("Index", index([[{"class": "Looked", "operand": "a b", "at": [K]}, 1]]), "identifier"),
        ("SymbolicInt", ([], [[1, [["M", 1]]]]), "the symbol 'M' is not listed"),
        ("SymbolicInt", ([SYMBOL, SYMBOL | {"at_least": 2}], []), "two different symbols"),
        ("SymbolicInt", ([SYMBOL], [[3, []]]), "the terms are a plain integer"),
        ("SymbolicInt", ([SYMBOL], [[1, [["M", 99]]]]), "not a list of at most"),
        ("SymbolicInt", ([SYMBOL], [[1, [[[[[1, [["M", 1]]]], []], 1]]]]), "1 or more"),
        ("SymbolicInt", ([SYMBOL], 4), "not a list of at most"),
        ("SymbolicInt", ([SYMBOL] * 99, []), "99 symbols are more than 16"),
        ("SymbolicInt", ([SYMBOL | {"name": "import"}], []), "a name must be"),
    ],
)
def test_indices_and_symbols_are_checked_like_any(kind: str, value: Any, said: str) -> None:
    if isinstance(value, tuple):
        value = {"class": kind, "symbols": value[0], "terms": value[1]}
    place, condition = refused(document(kind, value))
    assert place.startswith("$.value")
    assert said in condition


@dataclass(frozen=True)
class Swizzle:
    """A class of a listed name that is not the listed class."""

    bits: int = 0


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = (value,)
    return value


@every(
    ("value", "place", "said"),
    [
        (object(), "$", "'object' is not a kind of value"),
        (4, "$", "'int' is not a kind of value"),
        (print, "$", "is not a kind of value"),
        (Swizzle(), "$.value", "is not an object of class Swizzle"),
        ((1, 2.5), "$.value[1]", "2.5 is not an integer"),
        ((1, ([2],)), "$.value[1][0]", "a list is not an integer"),
        (deep(MOST_DEPTH), "$.value" + "[0]" * (MOST_DEPTH - 1), "levels deep"),
        ((10**MOST_DIGITS,), "$.value[0]", "digits"),
        (Fragment("x", cx.Numeric("f33", 33, "float"), 1), "$.value.value_type", "element type"),
        (Claim("D", ("a" * 70_000,), Slot("x")), "$.value.indices[0]", "70,000 characters"),
    ],
)
def test_what_cannot_be_read_is_not_written(value: Any, place: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        cx.to_json(value)
    assert caught.value.operands["at"] == place
    assert said in caught.value.condition


def test_names_are_looked_up_in_the_table_alone() -> None:
    before = set(sys.modules)
    for name in (
        "antigravity",
        "this.d",
        "pycute_xe.native.compiler.compile",
        "Region",
        "__main__",
    ):
        refused(document(name, {"class": name}))
        refused(document("tuple", [{"class": name}]))
    assert not {"antigravity", "this"} & (set(sys.modules) - before)


@pytest.fixture
def clock() -> Iterator[None]:
    before = signal.signal(signal.SIGPROF, fuzz_documents.stop)
    yield
    signal.signal(signal.SIGPROF, before)


@pytest.mark.usefixtures("clock")
def test_damaged_documents_are_refused_or_read_alike() -> None:
    """`make fuzz` refuses 10,000 of them."""
    found = [fuzz_documents.outcome(fuzz_documents.damaged(0, n))[0] for n in range(200)]
    assert set(found) == {"refused", "same"}
    assert found.count("refused") > 150
