"""What a function, a reduction, a type or a target takes: one file, and every reader has it."""

from __future__ import annotations

from pathlib import Path

import drilling
import pytest

MOST = {"function": 10, "reduction": 1, "type": 2, "target": 13}
"""The lines that each may add."""


@pytest.mark.parametrize("drill", MOST)
@pytest.mark.long
def test_one_file_is_enough(drill: str, tmp_path: Path) -> None:
    root = drilling.copied(tmp_path)
    if drill == "reduction":  # the package has it: first it is taken out
        drilling.applied("reduction.patch", root, backwards=True)
    drilling.run(f"without_{drill}.py", root)
    changes = drilling.applied(f"{drill}.patch", root)
    assert len(changes) == 1
    assert changes[0][1] <= MOST[drill]
    assert changes[0][2] == 0
    drilling.run(f"with_{drill}.py", root)


@pytest.mark.long
def test_a_statement_takes_eight_files(tmp_path: Path) -> None:
    """Both executors, the prover, drawings, vISA, OpenCL C and CuTe have it, and XeGPU refuses."""
    root = drilling.copied(tmp_path)
    drilling.run("without_statement.py", root)
    changes = drilling.applied("statement.patch", root)
    assert len(changes) <= 8
    assert sum(added for _, added, _ in changes) <= 60
    assert sum(removed for *_, removed in changes) <= 1
    drilling.run("with_statement.py", root)
