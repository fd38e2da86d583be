"""A kind of kernel is a file: a patch, applied to a copy of the package, takes 40 lines at most."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATCH = ROOT / "tests/drills/kind.patch"

USED = """
    import numpy as np, pycute_xe as cx

    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    kernel = cx.kernel.centred_gemm(mma, epilogue="acc * gain[n]", d_type="bf16")
    assert cx.check(kernel, "bmg")
    assert cx.verify(kernel), cx.verify(kernel)
    rng = np.random.default_rng(0)
    bf16 = cx.bulk.numpy_dtype("bf16")
    A, B = (rng.integers(-3, 4, s).astype(bf16) for s in ((40, 24), (24, 64)))
    P = A.astype(float) @ B.astype(float)
    wanted = ((P - P.mean(1, keepdims=True)) * 2).astype(bf16)
    for executor in ("fast", "reference"):
        D = cx.run(kernel, A, B, gain=np.full(64, 2, "f4"), executor=executor)
        assert np.array_equal(D, wanted), executor
    assert "centred_gemm" in cx.emit(kernel)
    wrong = kernel.replace(next(s for s in kernel.body if type(s).__name__ == "Map"), None)
    assert cx.verify(wrong).answer == "disproved"
    print("done")
"""


@pytest.mark.long
def test_a_kind_takes_forty_lines(tmp_path: Path) -> None:
    added = [x for x in PATCH.read_text(encoding="utf-8").splitlines() if x.startswith("+")]
    assert len([x for x in added if not x.startswith("+++")]) <= 40
    shutil.copytree(ROOT / "pycute_xe", tmp_path / "pycute_xe")
    shutil.copytree(ROOT / "atoms", tmp_path / "atoms")
    subprocess.run(["git", "apply", str(PATCH)], cwd=tmp_path, check=True)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(USED)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr[-2000:]
