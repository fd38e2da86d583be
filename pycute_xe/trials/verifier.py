"""Floor 10: `verify`, the verb: what a prover says, once it has been tried on the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

from pycute_xe.errors import CuteError
from pycute_xe.holding.patience import allowed, work_left
from pycute_xe.kernel import Counterexample, Kernel
from pycute_xe.signatures import typed
from pycute_xe.trials.replaying import shown
from pycute_xe.trials.trial import LIMIT, trial
from pycute_xe.verifying.prover import BUDGET, WORK_A_SECOND, prove
from pycute_xe.verifying.verdict import Proof, Tried, Verdict

__all__ = ["verify"]

REPORT = "please report this kernel as a defect of pycute_xe"


@typed
def verify(
    kernel: Kernel, params: Mapping[str, int] | None = None, *, budget: float = BUDGET
) -> Verdict:
    """Prove that a kernel computes what it claims for all sizes >= 1, or find where it does not.

    The proofs follow the statements: what messages put into registers, what instructions take them
    for, what is summed and what is stored, and compare that with ``kernel.computes``; they do not
    trust what the layouts of copies claim. ``params`` fixes some of the sizes, by name; ``budget``
    is a time in seconds, infinity for no end. It stands for an amount of work that an idle machine
    does in a part of it: what is decided, and what is left undecided, is the same however busy the
    machine is. Where it is too slow even so, the clock stops what is left, which is said.
    Every answer is tried on the machine, which shares no statement's meaning with the proofs: a
    counterexample is replayed, and a proof run at small sizes, as ``tried`` of the verdict says. An
    answer that its run contradicts is undecided, with what to report.
    Raises `KernelError` for what is not a kernel and for statements without a meaning here,
    `InputError` for other params.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> bool(verify(gemm))
    True
    >>> import dataclasses
    >>> loop = gemm.loop("k")
    >>> short = gemm.replace(loop, dataclasses.replace(loop, stop=loop.stop - 1))
    >>> print(str(verify(short).counterexample).splitlines()[0])
    D values: D[0, 0]: A·B is not summed
    """
    start = perf_counter()
    found = prove(kernel, params, budget=budget)
    with allowed(budget * WORK_A_SECOND, budget - found.seconds):
        tried = _tried(kernel, dict(params or {}), found)
    return replace(tried, seconds=perf_counter() - start)


def _tried(kernel: Kernel, fixed: dict[str, int], found: Verdict) -> Verdict:
    """Return a verdict whose answers were tried."""
    if found.answer == "proved":
        return _proof_tried(kernel, fixed, found, int(min(LIMIT, work_left())))
    proofs = tuple(_replayed(kernel, proof) for proof in found.proofs)
    kept = {proof.counterexample for proof in proofs} - {None}
    least = found.counterexample if found.counterexample in kept else None
    left = [proof.counterexample for proof in proofs if proof.counterexample is not None]
    return replace(found, proofs=proofs, counterexample=least or next(iter(left), None))


def _proof_tried(kernel: Kernel, fixed: dict[str, int], found: Verdict, limit: int) -> Verdict:
    """Return a verdict whose proof was run; undecided where the machine says otherwise."""
    tried, wrong = trial(kernel, fixed, limit)
    if wrong is None:
        return replace(found, tried=tried)
    reason = f"the proof says it is right, the machine contradicts it {wrong.words}: {REPORT}"
    undone = f"{wrong.output} values"
    proofs = tuple(
        replace(proof, answer="undecided", reason=reason)
        if not wrong.output or proof.property == undone
        else proof
        for proof in found.proofs
    )
    return replace(found, proofs=proofs, tried=Tried(tried.runs, reason))


def _replayed(kernel: Kernel, proof: Proof) -> Proof:
    """Return a proof whose counterexample was seen to be one, undecided where it was not."""
    if proof.counterexample is None:
        return proof
    if not (why := _unseen(kernel, proof.counterexample)):
        return proof
    sizes = " ".join(f"{name}={size}" for name, size in proof.counterexample.sizes.items())
    reason = f"{proof.counterexample.message} at {sizes}, {why}"
    return replace(proof, answer="undecided", counterexample=None, condition="", reason=reason)


def _unseen(kernel: Kernel, counterexample: Counterexample) -> str:
    """Say why a replay does not show a counterexample; empty where it does."""
    try:
        return "" if shown(kernel, counterexample) else f"but a replay shows nothing: {REPORT}"
    except CuteError as error:
        return f"which is not replayed: {error.condition}"
