"""Adds a page to the site that goes through the five source documents item by item."""

from __future__ import annotations

import csv
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
DOCUMENTS = {
    "esimd": ("ESIMD: 2D blocks, blocks and gathers", 41),
    "lsc": ("vISA manual: LSC_UNTYPED", 80),
    "slm": ("ESIMD: shared local memory", 40),
    "dpas": ("DPAS patterns for Xe2", 20),
    "xe2d": ("CUTLASS: 2D Copy Operations for Intel XE Architecture", 26),
}
INTRO = """# The source documents, item by item

Five documents say what this library is about. Each of their items is a row here: whether the
library expresses it, or the rule or the document that forbids it; whether a constraint is enforced;
the page that teaches it; and the test that runs it. A test goes through the table: every page and
section exists, every test exists, no item is missing.

"""


def rows(name: str) -> list[dict[str, str]]:
    """Return the items of a document: number, item, expressed, enforced, page, test."""
    with (DATA / f"coverage_{name}.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def page() -> str:
    """Return the page as Markdown."""
    lines = [
        INTRO,
        "| document | items | expressed | refused | enforced |\n",
        "| --- |" + " ---: |" * 4 + "\n",
    ]
    for name, (title, _) in DOCUMENTS.items():
        found = rows(name)
        refused = sum(row["expressed"].startswith("refused") for row in found)
        enforced = sum(row["enforced"].startswith("yes") for row in found)
        counts = (len(found), len(found) - refused, refused, enforced)
        lines.append(f"| {title} | {' | '.join(map(str, counts))} |\n")
    for name, (title, _) in DOCUMENTS.items():
        lines.append(f"\n## {title}\n\n| | item | expressed | enforced | taught | test |\n")
        lines.append("| ---: | --- | --- | --- | --- | --- |\n")
        lines += map(_line, rows(name))
    return "".join(lines)


def _line(row: dict[str, str]) -> str:
    where, _, anchor = row["page"].partition("#")
    taught = f"[{(anchor or Path(where).stem).replace('-', ' ')}]({row['page']})"
    test = row["test"].removeprefix("tests/").replace("_", "_<wbr>").replace("::", "<wbr>::")
    told = " | ".join(_plain(row[key]) for key in ("item", "expressed", "enforced"))
    return f"| {row['number']} | {told} | {taught} | <code>{test}</code> |\n"


def _plain(text: str) -> str:
    """Keep Markdown from reading signs of C++ as its own."""
    for sign in "\\|<>*_[]":
        text = text.replace(sign, f"\\{sign}" if sign not in "<>|" else f"&#{ord(sign)};")
    return text


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Create the page in memory."""
    files.append(File.generated(config, "coverage.md", content=page()))
    return files
