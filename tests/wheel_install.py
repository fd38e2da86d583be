"""Build the wheel, install it into a clean environment and use it from there.

Run by `make wheel`. The clean environment borrows the dependencies that are installed
already, so that nothing is downloaded; the package itself comes from the wheel alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PROBE = """
import json
from importlib import metadata
import pycute_xe
from pycute_xe import facts
print(json.dumps({
    "package": pycute_xe.__file__,
    "version": [pycute_xe.__version__, metadata.version("pycute-xe")],
    "targets": [str(row["name"]) for row in facts.rows("arch", "target")],
}))
"""


def build_wheel(folder: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the wheel does not build:\n{done.stdout}{done.stderr}")
    return next(folder.glob("*.whl"))


def check_contents(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    facts = {f"pycute_xe/_atoms/{path.name}" for path in (ROOT / "atoms").glob("*.toml")}
    expected = facts | {"pycute_xe/py.typed", "pycute_xe/__init__.py"}
    missing = sorted(expected - names)
    stray = sorted(name for name in names if not name.startswith(("pycute_xe/", "pycute_xe-")))
    if missing or stray or not facts:
        sys.exit(f"the wheel lacks {missing or 'nothing'} and should not hold {stray or 'a thing'}")


def install(wheel: Path, folder: Path) -> Path:
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    where = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", where))
    # A .pth line only appends to sys.path: the editable install listed by another .pth file
    # of the borrowed folder stays invisible.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    options = ["install", "--quiet", "--no-deps", "--no-index", "--force-reinstall"]
    subprocess.run([*pip, *options, str(wheel)], check=True)
    return python


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build_wheel(folder / "dist")
        check_contents(wheel)
        python = install(wheel, folder / "env")
        run = {"cwd": folder, "check": True, "text": True, "capture_output": True}
        seen = json.loads(subprocess.run([python, "-c", PROBE], **run).stdout)
        if not Path(seen["package"]).is_relative_to((folder / "env").resolve()):
            sys.exit(f"imported from {seen['package']}, not from the wheel")
        if len(set(seen["version"])) != 1 or not seen["targets"]:
            sys.exit(f"the installed package is incomplete: {seen}")
        subprocess.run([python.with_name("pycute-xe"), "--help"], **run)
        print(f"wheel: {wheel.name} installs and knows {', '.join(seen['targets'])}")


if __name__ == "__main__":
    main()
