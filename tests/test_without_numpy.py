"""Layouts, atoms and tilings answer without NumPy as they do with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import without_numpy

from pycute_xe import get_atom, verify
from pycute_xe.trials.enumerating import enumerated

HERE = Path(__file__).parent
ATOMS = sorted(
    {*without_numpy.NAMES, "XE_2D_U16x16x16_LD_N", "XE_2D_U8x32x32_LD_N", "XE_2D_U8x32x32_LD_V"}
)
# Their doctests and tests never make an array.
FOLDERS = ("algebra", "layout", "explaining", "printing", "drawing", "cutlass")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the checkout on its path and nothing else of this process."""
    path = {"PYTHONPATH": str(HERE.parent), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=path, cwd=HERE, check=False)


@pytest.mark.long
def test_every_answer_is_the_same_without_numpy() -> None:
    alone = _run("without_numpy.py")
    assert alone.returncode == 0, alone.stderr[-2000:]
    answers = json.loads(alone.stdout)
    assert answers["loaded"] == []
    assert answers["digests"] == without_numpy.digests()
    refused = [name for name, text in answers["digests"].items() if "Error" in text]
    assert len(refused) <= 3, refused


@pytest.mark.long
def test_their_doctests_run_without_numpy() -> None:
    """Those of modules below kernels that make no array, in a process that blocks the packages."""
    result = _run("blocked_doctests.py")
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-2000:]
    ran = int(result.stdout.split()[0])
    assert ran > 300


@pytest.mark.parametrize("name", ATOMS)
@pytest.mark.parametrize("formula", [(None, None), ("v", "t"), ("v // 2", "t + 16*(v % 2)")])
def test_enumeration_answers_as_the_machine_does(
    name: str, formula: tuple[str | None, str | None]
) -> None:
    """The machine moves each element; enumeration reads the register picture."""
    atom = get_atom(name)
    row, column = formula
    by_machine = verify(atom, row=row, column=column, order="registers")
    by_pictures = enumerated(atom, row, column, order="registers")
    moved = {proof.property: proof for proof in by_machine.proofs}
    for proof in by_pictures.proofs:
        # Blocks of 1D copies and formulas beyond the prover's reach stay undecided on one side.
        other = moved.get(proof.property)
        if other is None or "undecided" in (proof.answer, other.answer):
            continue
        assert proof.answer == other.answer, (proof, other)
        if proof.counterexample and other.counterexample:
            assert proof.counterexample.message == other.counterexample.message
