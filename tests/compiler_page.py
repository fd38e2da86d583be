"""Writes the tables of docs/compiler.md: what Intel's compiler and the rules say of each message.

`PYTHONPATH=. python tests/compiler_page.py` writes them anew from tests/data; a test compares.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from compiler_rows import Row, compared

from pycute_xe.arch.lsc import Block2DMessage
from pycute_xe.arch.target import errors

PAGE = Path(__file__).resolve().parent.parent / "docs" / "compiler.md"
START, END = "<!-- agreement -->\n", "<!-- end of agreement -->\n"
TABLES = {
    "load_store": "loads and stores, strided and quad ones",
    "atomics": "atomics",
    "cache_hints": "caching pairs",
    "block2d_load": "block-2D loads",
    "block2d_store": "block-2D stores",
}


def page(text: str) -> str:
    """The page with its tables as they are now."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}{_verdicts()}\n{_registers()}\n{_laxer()}{END}{after}"


def _said(row: Row) -> str:
    """What the rules say: legal, warned (no more than warnings) or refused."""
    broken = row.broken
    return "refused" if errors(broken) else "warned" if broken else "legal"


def _verdicts() -> str:
    titles = (
        "messages",
        "rows",
        "no verdict",
        *(f"{v}, {s} here" for v in _VERDICTS for s in _SAID),
    )
    lines = [f"| {' | '.join(titles)} |", "| --- |" + " ---: |" * 8]
    for name, title in TABLES.items():
        count = Counter((row.verdict == "r", _said(row)) for row in _judged(name))
        rows = compared(name)
        cells = [len(rows), len(rows) - len(_judged(name))]
        cells += [count[key] for key in ((r, s) for r in (True, False) for s in _SAID)]
        lines.append(f"| {title} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return "\n".join(lines) + "\n"


_VERDICTS = ("rejected", "accepted")
_SAID = ("legal", "warned", "refused")


def _judged(name: str) -> list[Row]:
    return [row for row in compared(name) if row.verdict != "-"]


def _registers() -> str:
    lines = ["| register counts of compiled messages | rows | equal |", "| --- | ---: | ---: |"]
    for name, title in TABLES.items():
        found = [row for row in compared(name) if row.verdict == "a" and _counts(row)]
        if found:
            equal = sum(_counts(row) == row.registers for row in found)
            lines.append(f"| {title} | {len(found):,} | {equal:,} |")
    return "\n".join(lines) + "\n"


def _counts(row: Row) -> tuple[int, ...]:
    """Destination, addresses and data in the order of the assembly text, as far as it is known."""
    message = row.message
    if isinstance(message, Block2DMessage):
        if message.block.op == "store":
            return (1, message.source_registers("pvc"))[: len(row.registers)]
        return (min(31, message.registers("pvc")), 1)[: len(row.registers)]
    counts = {
        "d": message.registers("pvc"),
        "a": message.address_registers("pvc"),
        "s": message.source_registers("pvc"),
    }
    order = {"load": "da", "store": "as"}.get(message.operation.kind, "das")
    return tuple(counts[which] for which in order)


def _laxer() -> str:
    count: Counter[str] = Counter()
    sources: dict[str, tuple[str, str]] = {}
    for name in TABLES:
        for row in compared(name):
            for broken in row.broken if row.verdict in "av" else ():
                count[broken.rule] += 1
                sources[broken.rule] = (broken.level, broken.source)
    lines = ["| rule | level | accepted rows | who says so |", "| --- | --- | ---: | --- |"]
    for rule, rows in sorted(count.items(), key=lambda item: (-item[1], item[0])):
        level, source = sources[rule]
        lines.append(f"| `{rule}` | {level} | {rows:,} | {source} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
