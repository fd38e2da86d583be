"""pytest in forks of this process, for `mutants.py`: what takes long to import is imported once.

Nothing of the package may be imported here, for every fork runs the tests of another copy of it.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile

# Most of a short run would be importing these.
import hypothesis  # noqa: F401
import numpy as np  # noqa: F401
import pytest

OPTIONS = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "quick_first")
# The warnings of a test are errors; that hypothesis is imported already is none.
IMPORTED = ("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")


def run(
    copy: Path, tests: Iterable[str], examples: int, seconds: int, compiling: bool = False
) -> tuple[int, list[str]]:
    """Run tests of a copy until one fails; return how pytest ends and what it prints.

    A run that takes longer than so many seconds is ended by a signal, and returns its number,
    negative. ``compiling`` keeps what is compiled: right for a copy that nothing has changed.
    """
    with TemporaryFile("w+", encoding="utf-8") as out:
        child = os.fork()
        if not child:
            _run(copy, [*OPTIONS, *IMPORTED, *tests], examples, seconds, compiling, out.fileno())
        _, status = os.waitpid(child, 0)
        out.seek(0)
        return os.waitstatus_to_exitcode(status), out.read().splitlines()


def _run(
    copy: Path, arguments: list[str], examples: int, seconds: int, compiling: bool, out: int
) -> None:
    code = 1
    try:
        signal.alarm(seconds)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(copy)
        paths = [str(copy), str(copy / "benchmarks")]
        os.environ |= {"EXAMPLES": str(examples), "PYTHONPATH": os.pathsep.join(paths)}
        if not compiling:
            os.environ["PYTHONDONTWRITEBYTECODE"] = "no"
        else:
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = not compiling
        sys.path[:0] = paths
        # pytest would import a module whose doctests come first once more than its package does.
        for file in (a for a in arguments if a.startswith("pycute_xe/") and a.endswith(".py")):
            with suppress(Exception):
                import_module(file.removesuffix(".py").replace("/", "."))
        code = int(pytest.main(arguments))
    except BaseException:  # noqa: BLE001 - this process ends here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
