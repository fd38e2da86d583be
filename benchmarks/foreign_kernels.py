"""Machine code made of other projects' OpenCL C by every compiler here, read by `native.timing`.

    python benchmarks/foreign_kernels.py FOLDER [--only TEXT]

FOLDER holds clones of the repositories of benchmarks/foreign_kernels.tsv, as OWNER/NAME, at the
commits that stand there; none of their text is part of this project. Each row is a text, of one or
more files one behind the other, and options of the compiler. Every kernel of each binary is
read and run: one that is refused is named, with the longest time.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections import Counter
from pathlib import Path

from pycute_xe.errors import CuteError
from pycute_xe.native import timing
from pycute_xe.native.compiler import kernels_of
from pycute_xe.native.toolchain import toolchains

LIST = Path(__file__).with_suffix(".tsv")
TARGETS = ("pvc", "bmg")


def text_of(folder: Path, repository: str, files: str) -> str:
    """The files of a row; a raw string of C++ or an argument of a macro is taken out of these."""
    every = (folder / repository / name for name in files.split())
    parts = (path.read_text(encoding="utf-8") for path in every)
    left = ('R"(', ')"', "MSTRINGIFY(")
    lines = (line for part in parts for line in part.splitlines() if line.strip() not in left)
    text = "\n".join(lines)
    return text.rstrip().removesuffix(")") if text.count("(") < text.count(")") else text


def main() -> int:
    """Compile and read every row; print a line for each and what is refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="rows whose files have this in their name")
    asked = parser.parse_args()
    with LIST.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if asked.only in row["files"]]
    read, failed, longest = Counter[str](), list[str](), (0.0, "")
    made = [(chain, target) for chain in toolchains() for target in TARGETS]
    for row in rows:
        text = text_of(asked.folder, row["repository"], row["files"])
        title = f"{row['repository']} {row['files'].split()[-1]}"
        shown: list[str] = []
        for chain, target in made:
            if target not in chain.targets:
                continue
            maker = f"{chain.version[:5]} {target}"
            try:
                binary = chain.assembled(text, target, row["options"])
                for name in kernels_of(binary):
                    since = time.perf_counter()
                    timing(binary, target, kernel=name)
                    took = time.perf_counter() - since
                    longest = max(longest, (took, f"{title} {name} {maker}"))
                    read[f"{maker}, kernels"] += 1
                read[f"{maker}, binaries"] += 1
                shown.append(f"{maker}: {len(kernels_of(binary))}")
            except CuteError as error:
                failed.append(f"{title} {maker}: {str(error)[:200]}")
        print(f"{title}: {'; '.join(shown)}", flush=True)
    print(f"read {dict(read)}; {len(failed)} refused")
    print(f"the longest took {longest[0]:.1f} s, {longest[1]}")
    print("\n".join(failed))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
