"""Floor 9: kernels with loops written out, where no form is known of what loops make.

A loop of few trips is the same in every problem, and so is the kernel without it. Of a problem of
given sizes all trips are known, and no question is asked about any trip. What is wrong there is
wrong; what is right there is right for these sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from pycute_xe.errors import CuteError
from pycute_xe.holding.contents import loops_named_in
from pycute_xe.holding.looping import written_by
from pycute_xe.kernel import Kernel, Loop, Statement
from pycute_xe.kernel.ir.trips import in_short_trips, in_trips, is_short
from pycute_xe.verifying.patience import work_left
from pycute_xe.verifying.verdict import Proof, Verdict

__all__ = ["given_few_trips", "given_sizes"]

Again = Callable[[Kernel, Mapping[str, int]], Verdict]

TRIPS = (2, 3)
LARGEST = 4096
"""The largest size that is tried, in elements."""


def given_few_trips(
    kernel: Kernel, fixed: Mapping[str, int], found: Verdict, again: Again
) -> Verdict:
    """Return a verdict with what is known once loops of few trips are written out.

    So places that depend on such a loop and on another one take turns with the other one alone,
    and no form is needed of what such a loop makes, nor a law for its sums.
    """
    if found.answer != "undecided" or not any(map(_fills, kernel.statements())):
        return found
    try:
        written = in_short_trips(kernel)
    except CuteError:
        return found
    if written == kernel:
        return found
    named = {proof.property: proof for proof in again(written, fixed).proofs}
    proofs = tuple(
        replace(named[proof.property], seconds=proof.seconds + named[proof.property].seconds)
        if proof.answer == "undecided" and named[proof.property].answer != "undecided"
        else proof
        for proof in found.proofs
    )
    shown = next((proof.counterexample for proof in proofs if proof.counterexample), None)
    return replace(found, proofs=proofs, counterexample=shown)


def _fills(statement: Statement) -> bool:
    """Whether a loop of few trips leaves something in registers, or in shared arrays."""
    return isinstance(statement, Loop) and is_short(statement) and bool(written_by((statement,)))


def given_sizes(kernel: Kernel, fixed: Mapping[str, int], found: Verdict, again: Again) -> Verdict:
    """Return a verdict with what small problems show of values that are undecided.

    Where all sizes are given, with what they are there.
    """
    reasons = " ".join(proof.reason for proof in found.proofs if _is_open(proof))
    if not reasons or found.answer != "undecided":
        return found
    known = fixed.keys() >= set(kernel.sizes)
    for sizes in (dict(fixed),) if known else _problems(kernel, fixed, loops_named_in(reasons)):
        if work_left() <= 0:
            return found
        try:
            verdict = again(in_trips(kernel, sizes), sizes)
        except (CuteError, RecursionError):  # formulas nest deeper with every trip
            continue
        proofs = tuple(_settled(proof, verdict, known) for proof in found.proofs)
        if proofs != found.proofs:
            shown = next((p.counterexample for p in proofs if p.counterexample), None)
            return replace(found, proofs=proofs, counterexample=shown)
    return found


def _is_open(proof: Proof) -> bool:
    return proof.property.endswith(" values") and bool(loops_named_in(proof.reason))


def _settled(proof: Proof, verdict: Verdict, known: bool) -> Proof:
    """Return what a small problem says of a property: that it holds counts if that was asked."""
    if not _is_open(proof):
        return proof
    mine = next(p for p in verdict.proofs if p.property == proof.property)
    if mine.answer == "disproved" or (mine and known):
        return replace(mine, seconds=proof.seconds + mine.seconds)
    return proof


def _problems(
    kernel: Kernel, fixed: Mapping[str, int], formless: set[str]
) -> Iterator[dict[str, int]]:
    """Yield sizes at which such a loop makes one trip, two, or three; the other sizes are 1."""
    ones = {name: fixed.get(name, 1) for name in kernel.sizes}
    yield ones
    loops = [s for s in kernel.statements() if isinstance(s, Loop) and s.var in formless]
    for trips in TRIPS:
        for name in kernel.sizes:
            mine = [loop for loop in loops if name in (loop.stop - loop.start).names]
            if name not in fixed and mine:
                yield from _least(ones, name, mine, trips)


def _least(
    ones: dict[str, int], name: str, loops: list[Loop], trips: int
) -> Iterator[dict[str, int]]:
    """Yield the problem with the least of a size at which one of some loops makes so many trips."""
    for size in range(1, LARGEST):
        sizes = ones | {name: size}
        for loop in loops:
            count = loop.stop - loop.start
            if count.names <= sizes.keys() and not count.looked_up and count.at(sizes) >= trips:
                yield sizes
                return
