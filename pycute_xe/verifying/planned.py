"""Floor 9: kernels that look their work up in a plan's tables: what is proved, given a plan.

What a work-group does with a whole tile is a kernel of its own, which is proved for all sizes. That
each tile is in the tables once, and that its pieces are all of it, is said of a plan by `covers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pycute_xe.errors import CuteError
from pycute_xe.kernel import Await, Kernel, Signal, whole_tiles
from pycute_xe.kernel.kinds.whole_tiles import any_piece, follows_a_plan
from pycute_xe.verifying.verdict import Proof, Verdict

__all__ = ["given_a_plan"]

Again = Callable[[Kernel, Mapping[str, int]], Verdict]

PLAN = "work and count are the tables of a plan of which covers(plan) says that it is right"
NOT_ALONE = "what its work-groups do with one tile is not a kernel of its own"
WHOLE = f"{PLAN}, and that its pieces are whole tiles"


def given_a_plan(kernel: Kernel, fixed: Mapping[str, int], found: Verdict, again: Again) -> Verdict:
    """Return a verdict with what holds for plans; of a kernel that follows none as it was."""
    if found.answer != "undecided" or not follows_a_plan(kernel):
        return found
    alone = NOT_ALONE if kernel.shared else _made(whole_tiles, kernel)
    waits = any(isinstance(s, (Await, Signal)) for s in kernel.statements())
    inner = _asked(alone, fixed, again) if isinstance(alone, Kernel) else None
    parts = _made(any_piece, kernel) if inner is not None and waits else ""
    piece = _asked(parts, fixed, again) if isinstance(parts, Kernel) else found
    proofs: list[Proof] = []
    for proof in found.proofs:
        if proof.answer != "undecided" or proof.property == "counters":
            proofs.append(proof)
        elif waits and proof.property in ("registers", "bounds"):
            proofs.append(_proved(piece, proof) or proof)
        elif inner is None:
            proofs.append(replace(proof, reason=f"{proof.reason}; {alone}"))
        else:
            proofs.append(_judged(proof, inner, waits))
    return replace(found, proofs=tuple(proofs))


def _made(make: Callable[[Kernel], Kernel], kernel: Kernel) -> Kernel | str:
    """Return the kernel that is made of what one does with a tile, or what stands in its way."""
    try:
        return make(kernel)
    except CuteError as error:
        return f"{error.condition} ({error.fix})" if error.fix else error.condition


def _asked(kernel: Kernel, fixed: Mapping[str, int], again: Again) -> Verdict:
    return again(kernel, {name: size for name, size in fixed.items() if name in kernel.sizes})


def _proved(verdict: Verdict, like: Proof) -> Proof | None:
    found = (p for p in verdict.proofs if p.property == like.property and p)
    return next((replace(p, assumptions=(*p.assumptions, PLAN)) for p in found), None)


def _judged(proof: Proof, inner: Verdict, waits: bool) -> Proof:
    """Return what the proof of whole tiles says of a property."""
    mine = next(p for p in inner.proofs if p.property == proof.property)
    sure = mine and all(p for p in inner.proofs if p.property == "registers")
    seconds = proof.seconds + mine.seconds
    if not sure:
        words = mine.reason or f"what a work-group does with a whole tile is {mine.answer}"
        fix = "" if mine.reason else " (ask verify(whole_tiles(kernel)))"
        return replace(proof, reason=f"{words}{fix}", seconds=seconds)
    if waits:
        words = (
            "pieces of a tile are added up by several work-groups; with whole tiles it is proved "
            "for all sizes (ask verify(whole_tiles(kernel)), and covers(plan) of a plan's pieces)"
        )
        return replace(proof, reason=words, seconds=seconds)
    return replace(mine, assumptions=(*mine.assumptions, WHOLE), seconds=seconds)
