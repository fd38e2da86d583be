"""A target like bmg: every reader judges on it what it judges there, but for what the rows say."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import pycute_xe as cx
from pycute_xe.arch import get_target, lsc, occupancy, targets
from pycute_xe.arch.banks import banks
from pycute_xe.arch.dpas import Dpas
from pycute_xe.cli import main

assert list(targets()) == ["pvc", "bmg", "lnl", "ptl", "xyz"]
xyz, bmg = get_target("xyz"), get_target("bmg")
assert (xyz.threads, xyz.grf_bytes, xyz.exec_size) == (bmg.threads, bmg.grf_bytes, bmg.exec_size)
assert (xyz.threads_per_core(128), bmg.threads_per_core(128)) == (32, 64)
assert (xyz.slm_bytes, bmg.slm_bytes) == (16384, 131072)
assert [limit.bytes for limit in xyz.slm] == [16384]
assert banks("xyz") == banks("bmg")
assert occupancy(16_000, 8, "xyz", 256).groups == 1

# A product, by every reader of kernels.
mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
kernel = cx.kernel.gemm(mma)
for sizes in ({"M": 64, "N": 64, "K": 64}, {"M": 64, "N": 63, "K": 64}):
    there, here = (cx.check(kernel, target, sizes=sizes) for target in ("bmg", "xyz"))
    assert (here.errors, here.warnings) == (there.errors, there.warnings)
    assert "xyz (A card that no document has)" in str(here)
assert cx.verify(kernel), cx.verify(kernel)
rng = np.random.default_rng(0)
bf16 = cx.bulk.numpy_dtype("bf16")
A, B = (rng.integers(-3, 4, s).astype(bf16) for s in ((40, 24), (24, 64)))
for executor in ("reference", "fast"):
    D = cx.run(kernel, A, B, executor=executor, target="xyz")
    assert np.array_equal(D, A.astype(int) @ B.astype(int)), executor
assert cx.draw(kernel, "A")
assert all(cx.emit(kernel, to) for to in ("opencl", "visa", "cute", "xegpu"))
with pytest.raises(cx.CuteError, match="machine code for xyz is not read here"):
    cx.native.compile(kernel, "xyz")
shared = cx.kernel.slm_gemm(mma, stages=3)
assert cx.check(shared, "bmg")
(over,) = cx.check(shared, "xyz").errors
assert "must be at most 16384" in str(over), over

# Atoms and messages: what is refused there is refused here, by the same rows.
for name in ("XE_LOAD_2D<16,32,32,16>", "XE_LOAD_2D_VNNI<8,32,32,16>", "XE_STORE_2D<16,8,16>"):
    atom = cx.get_atom(name)
    assert atom.messages("xyz") == atom.messages("bmg")
    assert atom.op.message.broken_rules("xyz") == atom.op.message.broken_rules("bmg")
    assert "xyz" in str(cx.explain(atom, "xyz"))
records = [cx.search_atoms(kind="load", target=target) for target in ("bmg", "xyz")]
assert [r.name for r in records[0]] == [r.name for r in records[1]]
eights = Dpas(8, *map(cx.as_numeric, ("f32", "f8e5m2", "f8e5m2", "f32")))
assert eights.broken_rules("xyz") == eights.broken_rules("bmg") != ()
for text in (
    "lsc_load.ugm (M1,32) V13:d32x2 bti(4)[V12]:a32",
    "lsc_load.ugm.ca.wb (M1,32) V13:d32 flat[V12]:a64",
    "lsc_load_block2d.ugm (M1,1) V1:d16.16x32nn flat[a,63,31,63,0,0]",
):
    message = lsc.parse(text)
    assert message.check("xyz") == message.check("bmg")
    assert message.registers("xyz") == message.registers("bmg")
    assert cx.explain(message, "xyz")
    if message.check("bmg") == ():
        assert lsc.descriptor_of(message, "xyz") == lsc.descriptor_of(message, "bmg")
done = CliRunner().invoke(main, ["check", "XE_LOAD_2D<16,32,32,16>", "--target", "xyz"])
assert done.exit_code == 0, done.output
assert "xyz" in done.output
