"""Floor 9: a verdict on identities, in the words of the kernel whose they are."""

from __future__ import annotations

from dataclasses import replace

from pycute_xe.kernel import Counterexample, Kernel
from pycute_xe.kernel.ir.identities import Identities
from pycute_xe.verifying.verdict import Proof, Verdict

__all__ = ["in_words_of"]


def in_words_of(kernel: Kernel, names: Identities, verdict: Verdict) -> Verdict:
    """Return a verdict with the kernel's names in the place of its identities.

    What the kernel's specification assumes is a text of its own, and stays.
    """
    own = kernel.computes.assumes if kernel.computes is not None else ()

    def proof(one: Proof) -> Proof:
        return replace(
            one,
            property=names.text(one.property),
            statement=names.text(one.statement),
            assumptions=tuple(a if a in own else names.text(a) for a in one.assumptions),
            condition=names.text(one.condition),
            reason=names.text(one.reason),
            counterexample=one.counterexample and _of_names(names, one.counterexample),
        )

    return replace(
        verdict,
        scope=names.text(verdict.scope),
        proofs=tuple(map(proof, verdict.proofs)),
        counterexample=verdict.counterexample and _of_names(names, verdict.counterexample),
    )


def _of_names(names: Identities, place: Counterexample) -> Counterexample:
    return replace(
        place,
        claim=names.text(place.claim),
        message=names.text(place.message),
        sizes={names.text(name): size for name, size in place.sizes.items()},
        operand=names.text(place.operand),
        where={names.text(name): number for name, number in place.where.items()},
        output=names.text(place.output),
        filled={names.text(name): number for name, number in place.filled.items()},
    )
