"""Kernels whose work-groups take tickets from a counter: what is proved, whatever the order.

What a ticket below the count is for is a kernel of its own, `dealt_tiles`, which is proved for all
sizes; its docstring has the law by which the whole follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pycute_xe.errors import CuteError
from pycute_xe.kernel import FetchAdd, Kernel
from pycute_xe.kernel.serving.dealt import dealt_tiles
from pycute_xe.verifying.verdict import Proof, Verdict

__all__ = ["given_tickets"]

Again = Callable[[Kernel, Mapping[str, int]], Verdict]
"""What verifies a kernel with some sizes fixed."""

DRAWN = "each ticket is drawn once: the counter begins with 0 and only this launch adds to it"


def given_tickets(
    kernel: Kernel, fixed: Mapping[str, int], verdict: Verdict, again: Again
) -> Verdict:
    """Return a verdict with what holds of every ticket; of a kernel without any as it was."""
    if verdict.answer != "undecided" or not any(
        isinstance(s, FetchAdd) for s in kernel.statements()
    ):
        return verdict
    try:
        alone = dealt_tiles(kernel)
    except CuteError as error:
        return replace(verdict, proofs=tuple(_left(p, error.condition) for p in verdict.proofs))
    sizes = {name: size for name, size in fixed.items() if name in alone.sizes}
    inner = {proof.property: proof for proof in again(alone, sizes).proofs}
    proofs = tuple(_of_all(proof, inner.get(proof.property)) for proof in verdict.proofs)
    return replace(verdict, proofs=proofs)


def _left(proof: Proof, why: str) -> Proof:
    return proof if proof.answer != "undecided" else replace(proof, reason=f"{proof.reason}; {why}")


def _of_all(proof: Proof, mine: Proof | None) -> Proof:
    """Return what the proof of one ticket's work says of a property."""
    if proof.answer != "undecided" or mine is None:
        return proof
    seconds = proof.seconds + mine.seconds
    if mine.answer != "proved":
        words = f"what is done with one ticket is {mine.answer} (ask verify(dealt_tiles(kernel)))"
        return replace(proof, reason=mine.reason or words, seconds=seconds)
    return replace(mine, assumptions=(*mine.assumptions, DRAWN), seconds=seconds)
