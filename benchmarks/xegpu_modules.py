"""Count what MLIR makes of the XeGPU modules of the field's 1,018 configurations.

Each is said by `emit(kernel, "xegpu")` or refused by name; verified by mlir-opt; lowered to XeVM,
where the loads of a column-major B must be transposed; and lowered to SPIR-V by MLIR's own
pipeline. Writes the table of docs/xegpu.md. Needs mlir-opt-22 (Debian: mlir-22-tools).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

import pycute_xe as cx
from pycute_xe.errors import CuteError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from family_gemms import Row, rows  # pyright: ignore[reportMissingImports]
from mlir_cases import DEFAULT, PIPELINE, loads, refusal  # pyright: ignore[reportMissingImports]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "xegpu.md"
MADE = re.compile(r"(<!-- made: xegpu_modules -->\n).*?(<!-- end of made -->\n)", re.DOTALL)
STEPS = ("said", "verified", "lowered to XeVM", "lowered to SPIR-V")


def judged(row: Row) -> tuple[str, int, str]:
    """The types of a configuration, how many steps it takes, and why it takes no more."""
    name = f"{row.A} · {row.B} → {row.acc} → {row.D}"
    try:
        text = cx.emit(row.kernel(), "xegpu")
    except CuteError as error:
        return name, 0, error.condition
    why = refusal(text)
    if why:
        return name, 1, why
    why = refusal(text, PIPELINE)
    if why:
        return name, 2, why
    if any(turned for _, turned in loads(text)) != (row.orders[1] == "c"):
        return name, 2, "the transposition is lost"
    why = refusal(text, DEFAULT)
    return (name, 3, why) if why else (name, 4, "")


def tables(found: list[tuple[str, int, str]]) -> str:
    """How many configurations of each types take each step, and why the others do not."""
    lines = [f"| types | configurations | {' | '.join(STEPS)} |", f"| --- |{' ---: |' * 5}"]
    names = [*dict.fromkeys(name for name, _, _ in found), ""]
    for name in names:
        steps = [step for types, step, _ in found if name in ("", types)]
        counts = [len(steps), *(sum(s >= i + 1 for s in steps) for i in range(4))]
        lines.append(f"| {name or 'all'} | {' | '.join(f'{c:,}' for c in counts)} |")
    lines += ["", "| message | not | configurations |", "| --- | --- | ---: |"]
    why = Counter((step, re.sub(r"<[^<>]*>", "<…>", text)) for _, step, text in found if text)
    lines += [f"| {_code(text)} | {STEPS[s]} | {n} |" for (s, text), n in why.most_common()]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return f"`{text.removeprefix('error: ').replace('|', '/')}`"


def main() -> None:
    """Judge every configuration, and write the table where none was left out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1, help="judge one configuration in so many")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with Pool(asked.workers) as pool:
        found = list(pool.imap(judged, rows()[:: asked.every], chunksize=8))
    print(text := tables(found))
    if asked.every == 1:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(MADE.sub(lambda m: f"{m[1]}{text}{m[2]}", page), encoding="utf-8")


if __name__ == "__main__":
    main()
