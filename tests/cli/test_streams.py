"""The command line where a shell has closed its streams, and where it is interrupted early."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

EARLY = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, *_):
        if name == "pycute_xe.cli.app":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
from pycute_xe.__main__ import main
main()
"""


def shell(arguments: str) -> subprocess.CompletedProcess[str]:
    line = f"{sys.executable} -m pycute_xe {arguments}"
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ("layout 4:1 >&-", 0, ""),
        ("check gemm >&- 2>&-", 0, ""),
        ("check '(4,8):(8,1)' 2>&-", 2, ""),
        ("verify - <&-", 2, "standard input is closed"),
        ("mca - <&-", 2, "standard input is closed"),
        ("gemm --save - >&-", 2, "standard output is closed"),
        ("emit gemm >&-", 2, "standard output is closed"),
        ("--help >&-", 0, ""),
        ("emit gemm > /dev/full", 2, "No space left"),
    ],
)
@pytest.mark.long
def test_closed_streams(arguments: str, status: int, said: str) -> None:
    done = shell(arguments)
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_file_is_written_where_all_streams_are_closed(tmp_path: Path) -> None:
    file = tmp_path / "o.svg"
    assert shell(f"layout 4:1 --svg {file} <&- >&- 2>&-").returncode == 0
    assert file.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.long
def test_an_interrupt_while_modules_are_loaded_leaves_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, check=False)
    assert done.returncode == -signal.SIGINT
    assert done.stderr == b""
