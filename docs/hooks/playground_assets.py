"""Brings the playground's assets into the site: Pyodide from npm, the library as a wheel, its page.

Pyodide is installed by its package name at a pinned version into ``build/playground``, and copied
beside the page: nothing is loaded from elsewhere. Where npm is missing, or cannot fetch it, the
build says so, and the page shows how to install the library instead. ``PLAYGROUND=require`` makes
that an error.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

ROOT = Path(__file__).resolve().parents[2]
PYODIDE = "314.0.7"
"""The version of the package ``pyodide`` on npm."""
NEEDED = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
"""Its files that a browser loads."""
MADE = ROOT / "build" / "playground"
log = logging.getLogger("mkdocs.plugins.playground")


def pyodide() -> Path | None:
    """Return the folder of the installed package; None, with a reason, where it cannot be."""
    folder = MADE / "node_modules" / "pyodide"
    manifest = folder / "package.json"
    if manifest.exists() and json.loads(manifest.read_text())["version"] == PYODIDE:
        return folder
    npm = shutil.which("npm")
    if npm is None:
        return _without("npm is missing")
    MADE.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--silent"]
    done = subprocess.run(
        [*command, f"pyodide@{PYODIDE}"], cwd=MADE, capture_output=True, text=True
    )
    if done.returncode or not manifest.exists():
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return _without(f"npm cannot install pyodide {PYODIDE}: {last}")
    return folder


def _without(why: str) -> None:
    words = f"{why}: the playground's page shows how to install the library instead"
    if os.environ.get("PLAYGROUND") == "require":
        raise RuntimeError(words)
    log.info(words)


def wheel(folder: Path) -> Path:
    """Build the library's wheel into a folder, with the tools that are installed, and return it."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True)
    built = sorted(folder.glob("*.whl"))
    if done.returncode or not built:
        raise RuntimeError(f"the wheel cannot be built: {done.stdout[-500:]}{done.stderr[-500:]}")
    return built[-1]


def on_post_build(config: MkDocsConfig, **_: object) -> None:
    """Copy Pyodide and the wheel beside the page, and say in a file what is there."""
    if os.environ.get("WHOLE_SITE", "true") == "false":
        return
    folder = Path(config.site_dir) / "assets" / "playground"
    folder.mkdir(parents=True, exist_ok=True)
    installed, manifest = pyodide(), {"pyodide": "", "wheel": ""}
    if installed is not None:
        for name in NEEDED:
            shutil.copy2(installed / name, folder / name)
        manifest = {"pyodide": PYODIDE, "wheel": wheel(folder).name}
    (folder / "assets.json").write_text(json.dumps(manifest) + "\n")
