"""The library in the browser's Python, under Node: the same answers as here, text for text.

Pyodide is the one that the site is built with; its answers to random expressions, to odd requests
and to every shipped atom are compared with those of this Python. Without npm and node it says so
and ends well.

    python benchmarks/in_the_browser.py [--expressions 500] [--seed 0] [--every 40]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "docs" / "hooks")]

from odd_requests import REQUESTS  # noqa: E402
from playground_assets import pyodide, wheel  # noqa: E402
from random_expressions import random_expressions  # noqa: E402

from pycute_xe.cutlass.known_names import catalogue  # noqa: E402
from pycute_xe.playground import answer  # noqa: E402

SCRIPT = """
import { readFileSync, writeFileSync } from "node:fs";
const [folder, wheel, asked, into] = process.argv.slice(2);
const begin = performance.now();
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: `${folder}/` });
const started = performance.now();
python.unpackArchive(new Uint8Array(readFileSync(wheel)).buffer, "wheel");
python.runPython("import json\\nfrom pycute_xe.playground import answer");
const imported = performance.now();
python.globals.set("asked", readFileSync(asked, "utf8"));
const shown = python.runPython("json.dumps([answer(one) for one in json.loads(asked)])");
const code = "import sys; json.dumps([m for m in ('numpy', 'sympy') if m in sys.modules])";
const loaded = python.runPython(code);
writeFileSync(into, JSON.stringify({
  shown: JSON.parse(shown), loaded: JSON.parse(loaded),
  seconds: [started - begin, imported - started, performance.now() - imported].map((s) => s / 1e3),
}));
"""


def compared(requests: list[dict[str, str]]) -> int:
    """Print how many answers differ, and the first of them; return how many.

    Both Pythons answer at the same time.
    """
    folder, node = pyodide(), shutil.which("node")
    if folder is None or node is None:
        print("in the browser: npm or node is missing, nothing is compared")
        return 0
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "run.mjs").write_text(SCRIPT)
        (work / "asked.json").write_text(json.dumps(requests))
        paths = [str(p) for p in (folder, wheel(work), work / "asked.json", work / "shown.json")]
        with subprocess.Popen([node, str(work / "run.mjs"), *paths], cwd=work) as there:
            begin = perf_counter()
            mine = json.loads(json.dumps([answer(request) for request in requests]))
            here = perf_counter() - begin
        if there.returncode:
            raise RuntimeError(f"Pyodide ended with {there.returncode}")
        other = json.loads((work / "shown.json").read_text())
    valued = sum("error" not in shown for shown in mine)
    print(f"{valued} of {len(requests)} answers have a value, the others are refusals")
    apart = [
        i for i, pair in enumerate(zip(mine, other["shown"], strict=True)) if pair[0] != pair[1]
    ]
    start, load, answers = other["seconds"]
    print(
        f"{len(requests)} answers, {len(apart)} of them differ from this Python's; "
        f"Pyodide starts in {start:.1f} s, imports in {load:.1f} s, answers in {answers:.1f} s "
        f"(here {here:.1f} s); other packages loaded: {other['loaded'] or 'none'}"
    )
    for i in apart[:3]:
        print(requests[i], mine[i], other["shown"][i], sep="\n  ")
    return len(apart)


def names(every: int) -> list[str]:
    """Return the names that are compared: all that CUTLASS ships, all templates of copies.

    Those that take types of values stand with every admissible pair of them. Of the MMA template,
    whose answers are long, one in so many.
    """
    listed = [str(name) for name in catalogue()]
    mmas = [name for name in listed if name.startswith("XE_DPAS_TT")]
    others = [name for name in listed if not name.startswith("XE_DPAS_TT")]
    shipped = [name for name in others if "<" not in name or name.startswith("XE_1D_")]
    templates = len(others) - len(shipped)
    print(
        f"{len(shipped)} names of CUTLASS with their types, all {templates} templates of copies, "
        f"{len(mmas[::every])} of {len(mmas)} MMAs"
    )
    return [*others, *mmas[::every]]


def main() -> int:
    """Compare expressions and atoms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expressions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=40, help="one MMA of the template in so many")
    given = parser.parse_args()
    texts = random_expressions(given.expressions, given.seed)
    requests = [{"kind": "expression", "text": text} for text in texts]
    requests += REQUESTS
    requests += [{"kind": "atom", "name": name} for name in names(given.every)]
    return int(compared(requests) > 0)


if __name__ == "__main__":
    sys.exit(main())
