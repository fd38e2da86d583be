"""Drills: a patch applied to a copy of the package, and a script that runs on the copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
DRILLS = ROOT / "tests" / "drills"


def copied(folder: Path) -> Path:
    """A copy of the package, with what Python compiled of it, and of its facts."""
    for name in ("pycute_xe", "atoms"):
        shutil.copytree(ROOT / name, folder / name)
    return folder


def applied(patch: str, root: Path, backwards: bool = False) -> list[tuple[str, int, int]]:
    """Apply a patch; the files that it changes, with the lines that it adds and removes.

    Hunks are told apart by ``@@``; what surrounds their changes must occur once in the file.
    """
    out: list[tuple[str, int, int]] = []
    for part in (DRILLS / patch).read_text(encoding="utf-8").split("--- a/")[1:]:
        name, _, *lines = part.splitlines()
        path, plus, minus = root / name, 0, 0
        for hunk in "\n".join(lines).split("@@\n")[1:]:
            marked = hunk.rstrip("\n").split("\n")
            old, new = (
                "\n".join(text[1:] for text in marked if text[:1] in (" ", sign)) for sign in "-+"
            )
            if backwards:
                old, new = new, old
            text = path.read_text(encoding="utf-8")
            assert text.count(old) == 1, f"{patch}: {text.count(old)} places in {name}"
            path.write_text(text.replace(old, new), encoding="utf-8")
            plus += sum(text.startswith("+") for text in marked)
            minus += sum(text.startswith("-") for text in marked)
        out.append((name, plus, minus))
    return out


def run(script: str, root: Path) -> None:
    """Run a script of the drills on a copy."""
    paths = [str(root), *(str(ROOT / "tests" / name) for name in ("", "kernel"))]
    done = subprocess.run(
        [sys.executable, "-B", str(DRILLS / script)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
