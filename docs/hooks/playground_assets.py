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
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

from pycute_xe.playground.atoms import known_names

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


COMPILE = """
import { readFileSync, writeFileSync } from "node:fs";
const [folder, wheel, into] = process.argv.slice(2);
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: `${folder}/` });
try {
  python.unpackArchive(new Uint8Array(readFileSync(wheel)).buffer, "wheel");
  python.runPython(readFileSync(0, "utf8"));
} catch (error) {  // as Node prints it, it comes behind all of Pyodide's text
  console.error(error.message);
  process.exit(1);
}
writeFileSync(into, python.FS.readFile("/tmp/library.zip"));
"""
PACK = """
import sys, zipfile
from pathlib import Path
from py_compile import PycInvalidationMode, compile as compiled
from pycute_xe.playground import answer
for request in (
    {"kind": "expression", "text": "composition((6,2):(8,2), (4,3):(3,1))"},
    {"kind": "atom", "name": "XE_2D_U16x32x16_LD_V"},
    {"kind": "feeds", "copy": "XE_2D_U16x16x16_LD_N", "mma": "XE_DPAS_TT<8,f32,bf16>"},
    {"kind": "verify", "name": "XE_2D_U16x16x16_LD_N", "row": "v", "column": "t"},
):
    assert "error" not in answer(request), answer(request)
loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
root = Path(sys.modules["pycute_xe"].__file__).parent
with zipfile.ZipFile("/tmp/library.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
    def pack(file, name):  # without the file's date: the same library makes the same archive
        entry = zipfile.ZipInfo(str(name))
        entry.compress_type = zipfile.ZIP_DEFLATED
        out.writestr(entry, file.read_bytes(), compresslevel=9)
    for path in sorted(root.rglob("*")):
        if str(path) in loaded:
            done = Path(compiled(path, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH))
            # It stands in the place of a module; packages read their own text.
            packed = done if path.stem == "__init__" else path.with_suffix(".pyc")
            pack(done, packed.relative_to(root.parent))
            if packed != done:
                continue
        if path.is_file() and "__pycache__" not in path.parts:
            pack(path, path.relative_to(root.parent))
"""


def compiled(built: Path, installed: Path) -> Path:
    """Return the wheel's files, modules as the browser's Python has compiled them, as an archive.

    Compiling them in the browser would take most of the time to the first answer. Where Node is
    missing, or does not do it, the wheel itself is used.
    """
    node, archive = shutil.which("node"), built.with_suffix(".zip")
    if node is None:
        return built
    script = MADE / "compile.mjs"
    script.write_text(COMPILE)
    archive.unlink(missing_ok=True)
    command = [node, *map(str, (script, installed, built, archive))]
    done = subprocess.run(command, input=PACK, capture_output=True, text=True, check=False)
    if done.returncode or not archive.exists():
        log.warning(f"the playground's modules are not compiled: {done.stderr.strip()[-300:]}")
        return built
    built.unlink()
    return archive


def _made() -> tuple[Path, Path] | None:
    """Return where Pyodide is installed, and the library for it."""
    installed = pyodide()
    return None if installed is None else (installed, compiled(wheel(MADE), installed))


_making: list[Future[tuple[Path, Path] | None]] = []


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Begin to make what the playground loads, which goes on while pages are made."""
    if os.environ.get("WHOLE_SITE", "true") != "false":
        _making.append(ThreadPoolExecutor(1).submit(_made))
    return config


def on_post_build(config: MkDocsConfig, **_: object) -> None:
    """Copy Pyodide and the library beside the page, and say in a file what is there."""
    if not _making:
        return
    made = _making.pop().result()
    folder = Path(config.site_dir) / "assets" / "playground"
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"pyodide": "", "wheel": ""}
    if made is not None:
        installed, library = made
        for path in (*(installed / name for name in NEEDED), library):
            shutil.copy2(path, folder / path.name)
        manifest = {"pyodide": PYODIDE, "wheel": library.name}
        (folder / "names.json").write_text(json.dumps(known_names()))
    (folder / "assets.json").write_text(json.dumps(manifest) + "\n")
    _without_sources(Path(config.site_dir))


def _without_sources(site: Path) -> None:
    """Remove what no reader loads: maps of scripts, and the search in other languages."""
    unread = [*site.rglob("*.map"), *(site / "assets" / "javascripts" / "lunr").rglob("*.js")]
    for path in unread:
        path.unlink()
