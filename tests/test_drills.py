"""What a function, a reduction, a type or a target takes: one file, and every reader has it."""

from __future__ import annotations

from pathlib import Path

import drilling
import pytest

MOST = {"function": 10, "reduction": 1, "type": 2, "target": 13}
"""The lines that each may add."""


@pytest.mark.parametrize("drill", MOST)
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
