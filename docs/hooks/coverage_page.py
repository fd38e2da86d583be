"""Adds a page to the site that goes through the five source documents item by item."""

from __future__ import annotations

import csv
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
DOCUMENTS = {
    "esimd": ("ESIMD: 2D blocks, blocks and gathers", 45),
    "lsc": ("vISA manual: LSC_UNTYPED", 92),
    "slm": ("ESIMD: shared local memory", 48),
    "dpas": ("DPAS patterns for Xe2", 23),
    "xe2d": ("CUTLASS: 2D Copy Operations for Intel XE Architecture", 29),
}
INTRO = """# The source documents, item by item

Five documents say what this library is about. Each of their items is a row here, with an example
of it, and one that breaks the constraint in it, if there is one. Behind each stands what it comes
to: a value, `refuses` with the error and its rule, or `warns` with the finding. An item is
*expressed* if its example comes to a value, and *refused* if a rule forbids it, whose source is
then named; a constraint is *enforced* if what breaks it is refused or warned of. A test runs all
examples and compares; it also finds the page that teaches an item, and its test.

Examples with a number of threads are bodies of ESIMD kernels of so many threads, over a matrix
`x` of 64 × 256 halves and a matrix `y` of zeros; what follows *then* is asked when the kernel has
ended. `lsc_run` executes one message over the dwords 0, 1, 2, …; `atomic` one atomic; `encoded`
is a field of an instruction's bytes.

"""
VERDICTS = ("expressed", "refused", "undecided", "enforced")


def rows(name: str) -> list[dict[str, str]]:
    """Return the items of a document: their examples, what these come to, page and test."""
    with (DATA / f"coverage_{name}.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def verdicts(gives: str, refused: str) -> list[str]:
    """Return the verdicts on an item whose examples come to this."""
    found = ["expressed" if gives else "undecided"]
    if gives.startswith("refuses: "):
        found = ["refused"]
    if any(word in refused for word in ("refuses: ", "warns: ")):
        found.append("enforced")
    return found


def page() -> str:
    """Return the page as Markdown."""
    lines = [
        INTRO,
        "| document | items | expressed | refused | no code can decide | enforced |\n",
        "| --- |" + " ---: |" * 5 + "\n",
    ]
    for name, (title, _) in DOCUMENTS.items():
        found = rows(name)
        judged = [one for row in found for one in verdicts(row["gives"], row["refused"])]
        counts = (len(found), *map(judged.count, VERDICTS))
        lines.append(f"| {title} | {' | '.join(map(str, counts))} |\n")
    for name, (title, _) in DOCUMENTS.items():
        lines.append(
            f"\n## {title}\n\n| | item, taught and tested in | example, and what breaks it |\n"
        )
        lines.append("| ---: | --- | --- |\n")
        lines += map(_line, rows(name))
    return "".join(lines)


def _line(row: dict[str, str]) -> str:
    where, _, anchor = row["page"].partition("#")
    taught = f"[{(anchor or Path(where).stem).replace('-', ' ')}]({row['page']})"
    test = row["test"].removeprefix("tests/").replace("_", "_<wbr>").replace("::", "<wbr>::")
    mine, _, other = row["threads"].partition(",")
    told = verdicts(row["gives"], row["refused"])
    note = _plain(row["note"])
    example = _example(row["example"], mine, row["gives"]) or f"no code can decide: {note}"
    breaks = _example(row["breaks"], other or mine, row["refused"])
    shown = f"{example}<br><br>{breaks}" if breaks else example
    about = f"<br>{note}" if note and row["example"] else ""
    item = f"{_plain(row['item'])}<br>**{', '.join(told)}**{about}<br>{taught}"
    return f"| {row['number']} | {item}<br><code>{test}</code> | {shown} |\n"


def _example(code: str, threads: str, outcome: str) -> str:
    """An example with what it comes to, as one cell of a table."""
    if not code:
        return ""
    head = f"{threads} thread{'s' * (threads != '1')}:<br>" if threads else ""
    body = _code(code).replace("⏎", "<br>").replace(" then ", "<br><i>then</i> ")
    body = body.replace("    ", "&nbsp;" * 4)
    return f'{head}<code class="wrapped">{body}</code><br>→ {_code(outcome)}'


def _code(text: str) -> str:
    """Keep Markdown and HTML from reading signs of code as their own."""
    for sign in "&<>|*_[]\\`":
        text = text.replace(sign, f"&#{ord(sign)};") if sign != "&" else text.replace("&", "&amp;")
    return text


def _plain(text: str) -> str:
    """Keep Markdown from reading signs of C++ as its own."""
    for sign in "\\|<>*_[]":
        text = text.replace(sign, f"\\{sign}" if sign not in "<>|" else f"&#{ord(sign)};")
    return text


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Create the page in memory."""
    files.append(File.generated(config, "coverage.md", content=page()))
    return files
