"""Epilogues: what is right is proved and computed, what is wrong is disproved and shown."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import zlib
from typing import Any

import numpy as np
import pytest
from epilogues import RIGHT, WRONG, value_of
from sampling import sampled

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import KernelError, MachineError
from pycute_xe.kernel import Claim, Kernel, Map, Specification, rounded_to
from pycute_xe.kernel.kinds.vectors import vector_gather
from pycute_xe.kernel.spec.expression import Rounded

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 16), ((2, 1, 1), (1, 1, 1)))
SIZES = {"M": 19, "N": 37, "K": 21}
SOME = sampled(RIGHT, 12)
U = {"f32": 2.0**-22, "bf16": 2.0**-8, "f16": 2.0**-10}


def arrays(kernel: Kernel, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    out: dict[str, Any] = {}
    for operand in kernel.inputs:
        shape = tuple(mode.at(SIZES) for mode in operand.modes)
        values = rng.integers(-8, 9, shape) / 8 if shape else rng.integers(1, 5) / 4
        if operand.name == "denominator":
            values = rng.integers(1, 5, shape) / 2
        out[operand.name] = np.asarray(values).astype(numpy_dtype(operand.value_type))
    return out


@pytest.mark.parametrize(("epilogue", "meaning"), SOME, ids=[e[0] for e, _ in SOME])
def test_what_is_right_is_proved_and_computed(epilogue: Any, meaning: Any) -> None:
    text, types, d_type = epilogue
    kernel = cx.kernel.gemm(MMA, epilogue=text, types=types, d_type=d_type)
    verdict = cx.verify(kernel)
    assert verdict, str(verdict)
    given = arrays(kernel, zlib.crc32(text.encode()))
    wanted = value_of(meaning, given)
    out = np.asarray(cx.run(kernel, **given), np.float64)
    bound = U[d_type or "f32"] * (np.abs(wanted) + 8)
    assert (np.abs(out - wanted) <= bound).all()


def kernels(done: str, said: str, done_type: str, said_type: str) -> Kernel:
    """A kernel that computes one epilogue and claims another, over the operands of both."""
    ours = cx.kernel.gemm(MMA, epilogue=done, d_type=done_type)
    theirs = cx.kernel.gemm(MMA, epilogue=said, d_type=said_type)
    known = {operand.name: operand for operand in ours.operands}
    more = tuple(o for o in theirs.operands if o.name not in known)
    claim = theirs.computes.of("D").value if theirs.computes else None
    if done_type != said_type and not isinstance(claim, Rounded):
        claim = rounded_to(said_type, claim)
    return dataclasses.replace(
        ours,
        operands=(*more, *ours.operands),
        computes=Specification((Claim("D", ("m", "n"), claim),)),
    )


def taken_otherwise(done: str, said: str) -> bool:
    """Whether a vector of one is a vector of the other mode in the other."""
    modes = [dict(re.findall(r"(\w+)\[(\w)\]", text)) for text in (done, said)]
    return any(modes[1].get(name, mode) != mode for name, mode in modes[0].items())


@pytest.mark.parametrize(("done", "said", "done_type", "said_type"), sampled(WRONG, 10))
def test_what_is_wrong_is_disproved_and_shown(
    done: str, said: str, done_type: str, said_type: str
) -> None:
    if taken_otherwise(done, said):
        with contextlib.suppress(KernelError):
            kernels(done, said, done_type, said_type)
            pytest.fail("an index runs past the operand that is claimed")
        return
    kernel = kernels(done, said, done_type, said_type)
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", str(verdict)
    found = verdict.counterexample
    assert found is not None
    for executor in ("reference", "fast"):
        try:
            assert cx.replay(kernel, found, executor=executor).shows, str(found)
        except MachineError:
            assert found.faults


@pytest.mark.parametrize("name", ["bias", "scale"])
def test_a_vector_of_the_other_mode_is_disproved(name: str) -> None:
    """The rows of a vector taken for its columns: the program's gather, not the claim, is wrong."""
    right = cx.kernel.gemm(MMA, epilogue=f"acc + {name}[n]")
    mapped = next(s for s in right.statements() if isinstance(s, Map))
    by_rows = tuple((fragment, vector_gather(MMA, "m")) for fragment, _ in mapped.gathers)
    wrong = right.replace(mapped, dataclasses.replace(mapped, gathers=by_rows))
    verdict = cx.verify(wrong)
    assert verdict.answer == "disproved"
    assert verdict.counterexample is not None
    assert cx.replay(wrong, verdict.counterexample).shows
