"""Writes what the gallery of the site records of its kernels: the verdict, and code by statement.

`python tests/gallery_records.py [NAMES]` writes docs/gallery/NAME.json anew, by the newest
compiler that `make compilers` unpacked, for `TARGET`. The site is built of the records, without a
compiler; a test compares them with the kernels.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "docs" / "hooks")]

from gallery_kernels import RECORDS, SOURCES, GalleryKernel  # noqa: E402

import pycute_xe as cx  # noqa: E402
from pycute_xe.arch.target import targets  # noqa: E402
from pycute_xe.kernel import Kernel  # noqa: E402

TARGET, COMPILER = "bmg", "26.27"


def names() -> list[str]:
    """The kernels of the gallery, by the names of their files."""
    return sorted(path.stem for path in SOURCES.glob("*.py"))


def kernel_of(name: str) -> Kernel:
    """Return a kernel of the gallery."""
    return GalleryKernel(name).kernel


def verdict_of(kernel: Kernel) -> dict[str, Any]:
    """What is proved of a kernel: the answer, and each property with its statement."""
    verdict = cx.verify(kernel)
    proofs = [[p.answer, str(p.property), str(p.statement)] for p in verdict.proofs]
    return {"answer": verdict.answer, "proofs": proofs}


def code_of(kernel: Kernel) -> dict[str, Any]:
    """What the compiler made of it: each statement with its instructions.

    What stands behind the end of the thread is left out: it has a hash of the text.
    """
    made = cx.native.explain(kernel, TARGET, compiler=COMPILER)
    parts: list[list[Any]] = []
    for part in made.parts:
        code = [[each.kind, each.text] for each in made.of(part) if each.kind != "dead"]
        if code or part.number >= 0:
            parts.append([part.depth, " ".join(part.title.split()), code])
    return {
        "compiler": made.compiler,
        "target": TARGET,
        "registers": made.registers,
        "scratch": made.scratch,
        "instructions": sum(len(code) for _, _, code in parts),
        "parts": parts,
    }


def record(name: str) -> dict[str, Any]:
    """Return the record of a kernel."""
    kernel = kernel_of(name)
    legal = [target for target in targets() if cx.check(kernel, target)]
    given = {"listing": str(kernel), "legal": legal, "verdict": verdict_of(kernel)}
    return {**given, "made": code_of(kernel)}


def main() -> None:
    """Write the records of the names that are given, by default of all."""
    RECORDS.mkdir(exist_ok=True)
    for name in sys.argv[1:] or names():
        made = record(name)
        text = json.dumps(made, indent=0, ensure_ascii=False)
        (RECORDS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        counts = f"{made['made']['instructions']} instructions, {made['made']['scratch']} scratch"
        print(
            f"{name}: {made['verdict']['answer']}, {counts}, {len(text):,} characters", flush=True
        )


if __name__ == "__main__":
    main()
