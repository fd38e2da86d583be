"""The migration page line by line, against what other CuTes print (tests/data/migration.txt)."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Any

from every import every

import pycute_xe as cx
from pycute_xe import algebra

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "migration.md").read_text(encoding="utf-8")
NAMES: dict[str, Any] = {name: getattr(cx, name) for name in cx.__all__} | {"algebra": algebra}
SWIZZLE = re.compile(r"\bSW?[<_](\d)[,_](\d)[,_](\d)>?")
OTHERS = {"CuTe DSL": 1, "pycute": 2}

Example = tuple[str, ...]


def plain(text: str) -> str:
    return text.replace("`", "").replace("**", "").strip()


def examples() -> dict[str, list[Example]]:
    """Per key: the call here, what C++ prints and, for a row of a table, what the others do."""
    text = (ROOT / "tests" / "data" / "migration.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    split = sorted(tuple(line.split(" || ")) for line in lines)
    return {key: [row[1:] for row in rows] for key, rows in groupby(split, lambda row: row[0])}


def table_rows() -> dict[str, list[str]]:
    """The rows of the tables of names, each by its first cell that is not a dash."""
    names = PAGE[PAGE.index("## Spelling") : PAGE.index("## The CuTe documents")]
    rows = [line.strip("| ").split(" | ") for line in names.splitlines() if line.startswith("| `")]
    rows += [line.strip("| ").split(" | ") for line in names.splitlines() if line[:4] == "| – "]
    assert {len(row) for row in rows} == {5}
    return {plain(next(cell for cell in row if cell != "–")): row for row in rows}


def paragraphs() -> list[str]:
    """The titles of the traps and of the deliberate differences."""
    _, *rest = PAGE[PAGE.index("## Traps on the way") :].split("\n- ")
    titles = [re.match(r"\*\*(.+?)\*\*", paragraph) for paragraph in rest]
    return [plain(title[1]) for title in titles if title]


def shown(call: str) -> str:
    """What a call prints, without blanks and without the comma behind a single entry."""
    try:
        value = eval(call, dict(NAMES))
    except cx.CuteError:
        return "refused"
    return value if isinstance(value, str) else re.sub(r",(?=\))|(?<=,) ", "", str(value))


ROWS, EXAMPLES = table_rows(), examples()


def test_every_row_and_paragraph_has_an_example() -> None:
    keys = [key for key in EXAMPLES if len(EXAMPLES[key][0]) == 4]
    assert sorted(keys) == sorted(ROWS)
    assert sorted(set(EXAMPLES) - set(keys)) == sorted(paragraphs())


@every("key", EXAMPLES)
def test_the_library_answers_as_the_page_says(key: str) -> None:
    for call, printed, *_ in EXAMPLES[key]:
        assert shown(call) == printed, call


@every("key", ROWS)
def test_the_call_of_the_last_column_is_the_one_that_was_run(key: str) -> None:
    row = ROWS[key]
    cell = row[0] if row[4] in ("same", "as C++") else row[3] if "PyCuTe" in row[4] else row[4]
    names = set(re.findall(r"([A-Za-z_]\w*)\(", re.sub(r"[<][^>]*[>]", "", cell))) & set(NAMES)
    run = " ".join(call for call, *_ in EXAMPLES[key])
    assert all(f"{name}(" in run for name in names - {"print_layout", "to_latex"}), names


@every("library", OTHERS)
@every("key", ROWS)
def test_a_cell_says_same_where_it_is(key: str, library: str) -> None:
    cell = ROWS[key][OTHERS[library]]
    recorded = [(row[1 + OTHERS[library]], row[1]) for row in EXAMPLES[key]]
    run = [
        (theirs if key.startswith("print") else SWIZZLE.sub(r"Sw<\1,\2,\3>", theirs), printed)
        for theirs, printed in recorded
        if theirs not in ("-", "?")
    ]
    assert (cell == "–") == all(theirs == "-" for theirs, _ in recorded)
    different = [theirs for theirs, printed in run if theirs != printed]
    prose = re.sub(r"`[^`]*`|\bsame\b|\band\b|\bor\b|[,\s]", "", cell)
    for theirs in different:
        assert prose or theirs in cell.replace(" ", ""), f"{cell} hides {theirs}"
