"""The field's attention configurations: built, checked and run, each against float64.

Rows are facts read from public sources (tests/data/README.md says which). Run as a program it
judges every row, writes the results and the table of docs/attention.md; a file named behind it
keeps what is done, row by row, and is gone on with.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from attention_problems import Problem, off, problem

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.verifying import Verdict

HERE = Path(__file__).parent
ROWS = HERE / "data" / "family_attention.tsv"
RESULTS = HERE / "data" / "family_attention_results.json"
PAGE = HERE.parent / "docs" / "attention.md"
# Relative to the largest value: of the weights' rounding, and the output's.
ALLOWED = {"bf16": 2e-2, "f16": 2e-3}
# Seconds for a proof.
BUDGET = 300.0
FORMS = ("whole", "keys over subgroups", "packed", "paged")
# What the sources make of a row that is refused.
THERE = {
    "… columns are not a multiple of the … of a tile": "in C++ `VTiles` is 0, and the reorder of O "
    "before its store does not compile"
}


@dataclass(frozen=True)
class Row:
    """One configuration, and how many rows of the sources have it."""

    group: str
    kind: str
    type: str
    out_type: str
    head: int
    tile: tuple[int, int, int]
    columns: int
    out: int
    subgroups: tuple[int, int]
    causal: bool
    packed: bool
    stages: int
    targets: tuple[str, ...]
    rows: int

    @property
    def multiplied(self) -> str:
        """The type of the DPAS: eight bits are widened."""
        return "f16" if self.type.startswith("f8") else self.type

    def mmas(self) -> tuple[cx.TiledMma, cx.TiledMma]:
        """Return the tilings of both products: C++ rounds their tiles up to whole DPAS."""
        (queries, keys, depth), (m, n) = self.tile, self.subgroups
        op = cx.XE_DPAS_TT(min(8, queries // m), "f32", self.multiplied)
        made = partial(cx.workgroup_mma, op, round_up=True)
        qk = made((queries, keys, depth), ((m, n, 1), (n, 1, 0)))
        return qk, made((queries, self.columns, keys), ((m, 1, n), (n, 0, 1)))

    @property
    def keys(self) -> int:
        """The keys of a tile as it is built."""
        return self.mmas()[0].tile_mnk[1]

    @property
    def form(self) -> str:
        """What a proof depends on: who shares the keys of a tile, and what says where rows are."""
        if self.packed or "chunk" in self.kind:
            return "packed"
        if "paged" in self.kind:
            return "paged"
        return "keys over subgroups" if self.subgroups[1] > 1 else "whole"

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of `attention`."""
        found: dict[str, Any] = {"out": self.out, "stages": self.stages, "kind": self.type}
        found |= {"causal": self.causal, "packed": self.packed, "out_type": self.out_type}
        if "paged" in self.kind or "chunk" in self.kind:
            found["page"] = max(64, self.keys)
        if "chunk" in self.kind:
            found |= {"packed": True, "causal": True}
        if "cachedkv" in self.kind:
            found["cached"] = True
        return found

    def problems(self, heads: int = 1) -> Iterator[Problem]:
        """Yield problems at three edges: below a tile, at it, and a little more than it."""
        queries, keys = self.tile[0], self.keys
        sizes = ((max(1, queries - 1), 0), (queries, keys), (queries + 1, keys + 1))
        for number, (m, n) in enumerate(sizes):
            m = 1 if "decode" in self.kind and number < 2 else m
            n = max(n, m + 1, keys - 1 + number)
            rng = np.random.default_rng(m + n)
            shape = {"heads": heads, "depth": self.head, "columns": self.head}
            yield problem(rng, self.mmas(), [(m, n)], **shape, **self.options)

    def ragged_problems(self) -> Iterator[Problem]:
        """Yield three sets of lengths: requests without keys, with one, and beside a tile's ends.

        Where each request has its own queries, there are none, one, or more than a tile has.
        """
        queries, keys, page = self.tile[0], self.keys, self.options.get("page", self.keys)
        counts = [(0, 1, keys), (page + 1, 0, keys - 1, 1), (1, 2 * page, keys + 1, 0)]
        own = [(0, 1, 2), (queries + 1, 0, 1, 1), (1, 3, queries, 0)]
        for number, (many, few) in enumerate(zip(counts, own, strict=True)):
            lengths = [(min(m, n), n) for m, n in zip(few, many, strict=True)]
            if not self.options["packed"]:
                m = 1 if "decode" in self.kind else (1, 2, min(queries, 17))[number]
                lengths = [(m, n) for n in many]
            shape = {"heads": 1, "depth": self.head, "columns": self.head}
            rng = np.random.default_rng(number)
            yield problem(rng, self.mmas(), lengths, **shape, **self.options)


def rows() -> tuple[Row, ...]:
    """Every configuration whose tiles the sources say."""
    lines = ROWS.read_text(encoding="utf-8").splitlines()[1:]
    return tuple(_row(line.split("\t")) for line in lines)


def _row(cells: list[str]) -> Row:
    head, q, k, d, columns, out, m, n, causal, packed, stages = map(int, cells[4:15])
    group, kind, numeric, out_type = cells[:4]
    flags, targets = (bool(causal), bool(packed)), tuple(cells[15].split("+"))
    tiles = ((q, k, d), columns, out, (m, n))
    return Row(
        group, kind, numeric, out_type, head, *tiles, *flags, stages, targets, int(cells[16])
    )


def judged(row: Row) -> dict[str, Any]:
    """Describe, check and run a row; say how each went."""
    out: dict[str, Any] = {"heading": f"{row.group}: {row.kind}, {row.type}", "rows": row.rows}
    out |= {"check": {}, "refused": "", "wrong": 0}
    try:
        kernel = cx.kernel.attention(*row.mmas(), **row.options)
    except CuteError as error:
        why = re.sub(r"\d+", "…", error.condition)
        return out | {"refused": f"{why}; {THERE[why]}" if why in THERE else why}
    for target in row.targets:
        found = cx.check(kernel, target)
        out["check"][target] = sorted({f.broken.rule for f in found.errors})
    for given in row.problems():
        try:
            error = off(cx.run(given.kernel, **given.operands), given)
        except CuteError as stopped:
            error, out["stopped"] = np.inf, str(stopped)
        if not error <= ALLOWED[row.multiplied] + (4e-3 if row.out_type == "bf16" else 0.0):
            out["wrong"] += 1
            out["off"] = float(error)
    return out


def proved(row: Row) -> Verdict:
    """Return what `verify` says of a row's kernel, for all lengths."""
    kernel = cx.kernel.attention(*row.mmas(), **row.options)
    return cx.verify(kernel, budget=BUDGET)


# ------------------------------------------------------------------ the page

TITLES = (
    "group: kind, type",
    "rows",
    "described",
    "legal on PVC, on BMG",
    "refused",
    "proved",
    "run and equal",
)
MADE = re.compile(r"(<!-- made: family_attention -->\n).*?(<!-- end of made -->\n)", re.DOTALL)


def summed(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Count outcomes by group, kind and type, in rows of the sources."""
    groups: dict[str, Any] = {}
    for one in found:
        none: dict[str, Any] = {"rows": 0, "described": 0, "legal": {}, "refused": {}}
        none |= {"proved": 0, "undecided": {}, "equal": 0}
        into, count = groups.setdefault(one["heading"], none), one["rows"]
        into["rows"] += count
        if one["refused"]:
            into["refused"][one["refused"]] = into["refused"].get(one["refused"], 0) + count
            continue
        into["described"] += count
        into["proved"] += count * (one["verify"] == "proved")
        if one["verify"] != "proved":
            why = f"{one['verify']}: {one['form']}"
            into["undecided"][why] = into["undecided"].get(why, 0) + count
        into["equal"] += count * (not one["wrong"])
        for target, rules in one["check"].items():
            name = "refused" if rules else "legal"
            key = f"{target}: {', '.join(rules)}" if rules else target
            into[name][key] = into[name].get(key, 0) + count
    return groups


def page(text: str, results: dict[str, Any]) -> str:
    """The page with its table as the results say."""
    lines = [f"| {' | '.join(TITLES)} |", "| --- | ---: | ---: | ---: | --- | ---: | ---: |"]
    for name, found in results.items():
        legal = ", ".join(_legal(found, target) for target in ("pvc", "bmg"))
        refused = "; ".join(f"{words} ({count})" for words, count in found["refused"].items())
        counts = (found["proved"], found["equal"])
        cells = (name, found["rows"], found["described"], legal, refused or "–", *counts)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", _proofs(results)]
    return MADE.sub(lambda m: m[1] + "\n".join(lines) + "\n" + m[2], text)


def _proofs(results: dict[str, Any]) -> str:
    """Say how many rows are proved for all lengths, and of which form the others are."""
    left: dict[str, int] = {}
    for found in results.values():
        for why, count in found["undecided"].items():
            left[why] = left.get(why, 0) + count
    counts = (sum(found[key] for found in results.values()) for key in ("proved", "described"))
    others = "; ".join(f"{why.removeprefix('undecided: ')} ({n})" for why, n in left.items())
    proved_, described = counts
    undecided = f" Undecided: {others}." if others else ""
    return f"Proved for all lengths: {proved_} of {described} rows.{undecided}"


def _legal(found: dict[str, Any], target: str) -> str:
    """Count the legal rows; a dash where none is for the target."""
    judged_ = any(words.startswith(target) for words in (*found["refused"], *found["legal"]))
    return str(found["legal"].get(target, 0)) if judged_ else "–"


def main(kept: Path) -> None:
    """Judge every row that is not in a file of results yet, and write what came of all."""
    kept.touch()
    found = {one["row"]: one for one in map(json.loads, kept.read_text().splitlines())}
    for row in sorted(rows(), key=lambda row: FORMS.index(row.form)):
        if repr(row) in found:
            continue
        one = found[repr(row)] = {"row": repr(row)} | judged(row)
        if not one["refused"]:
            verdict = proved(row)
            reasons = {proof.property: proof.reason for proof in verdict.proofs if proof.reason}
            one |= {"verify": verdict.answer, "why": reasons, "form": row.form}
        with kept.open("a") as file:
            file.write(json.dumps(one) + "\n")
        print(*(one.get(key) for key in ("row", "refused", "wrong", "verify", "why")), flush=True)
    counts = summed([found[repr(row)] for row in rows()])
    words = json.dumps(counts, indent=1, ensure_ascii=False)
    RESULTS.write_text(words + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), counts), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else f"{mkdtemp()}/rows.jsonl"))
