"""What the prover tries, in turn, where its questions leave a kernel undecided.

Each strategy asks the prover about another kernel, or about given sizes, and says what the answers
decide of the kernel that was given. `STRATEGIES` is all of them, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from pycute_xe.errors import CuteError
from pycute_xe.holding.loops import written_by
from pycute_xe.holding.patience import work_left
from pycute_xe.kernel import Kernel, Loop, Statement, whole_tiles
from pycute_xe.kernel.ir.trips import in_short_trips, in_trips, is_short
from pycute_xe.kernel.schedules.whole_tiles import any_piece
from pycute_xe.verifying.tickets import Again, given_tickets
from pycute_xe.verifying.verdict import Proof, Verdict

__all__ = ["STRATEGIES", "Strategy", "given_sizes"]

# ------------------------------------------------------------ unrolling
# Kernels with loops written out, where no form is known of what loops make.
#
# A loop of few trips is the same in every problem, and so is the kernel without it. Of a problem of
# given sizes all trips are known, and no question is asked about any trip. What is wrong there is
# wrong; what is right there is right for these sizes alone.

TRIPS = (2, 3)
LARGEST = 4096
"""The largest size that is tried, in elements."""


def given_few_trips(
    kernel: Kernel, fixed: Mapping[str, int], verdict: Verdict, again: Again
) -> Verdict:
    """Return a verdict with what is known once loops of few trips are written out.

    So places that depend on such a loop and on another one take turns with the other one alone,
    and no form is needed of what such a loop makes, nor a law for its sums.
    """
    if verdict.answer != "undecided" or not any(map(_fills, kernel.statements())):
        return verdict
    try:
        written = in_short_trips(kernel)
    except CuteError:
        return verdict
    if written == kernel:
        return verdict
    named = {proof.property: proof for proof in again(written, fixed).proofs}
    proofs = tuple(
        replace(named[proof.property], seconds=proof.seconds + named[proof.property].seconds)
        if proof.answer == "undecided" and named[proof.property].answer != "undecided"
        else proof
        for proof in verdict.proofs
    )
    shown = next((proof.counterexample for proof in proofs if proof.counterexample), None)
    return replace(verdict, proofs=proofs, counterexample=shown)


def _fills(statement: Statement) -> bool:
    """Whether a loop of few trips leaves something in registers, or in shared arrays."""
    return isinstance(statement, Loop) and is_short(statement) and bool(written_by((statement,)))


def given_sizes(kernel: Kernel, fixed: Mapping[str, int], before: Verdict, again: Again) -> Verdict:
    """Return a verdict with what small problems show of values that are undecided.

    Where all sizes are given, with what they are there.
    """
    loops = {loop for proof in before.proofs if _is_open(proof) for loop in proof.loops}
    if not loops or before.answer != "undecided":
        return before
    known = fixed.keys() >= set(kernel.sizes)
    for sizes in (dict(fixed),) if known else _problems(kernel, fixed, loops):
        if work_left() <= 0:
            return before
        try:
            verdict = again(in_trips(kernel, sizes), sizes)
        except (CuteError, RecursionError):  # formulas nest deeper with every trip
            continue
        proofs = tuple(_settled(proof, verdict, known) for proof in before.proofs)
        if proofs != before.proofs:
            shown = next((p.counterexample for p in proofs if p.counterexample), None)
            return replace(before, proofs=proofs, counterexample=shown)
    return before


def _is_open(proof: Proof) -> bool:
    return proof.property.endswith(" values") and bool(proof.loops)


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


# ------------------------------------------------------------ planned
# Kernels that look their work up in a plan's tables: what is proved, given a plan.
#
# What a work-group does with a whole tile is a kernel of its own, which is proved for all sizes.
# That each tile is in the tables once, and that its pieces are all of it, is said of a plan by
# `covers`.


PLAN = "work and count are the tables of a plan of which covers(plan) says that it is right"
NOT_ALONE = "what its work-groups do with one tile is not a kernel of its own"
WHOLE = f"{PLAN}, and that its pieces are whole tiles"


def given_a_plan(
    kernel: Kernel, fixed: Mapping[str, int], verdict: Verdict, again: Again
) -> Verdict:
    """Return a verdict with what holds for plans; of a kernel that follows none as it was."""
    if verdict.answer != "undecided" or kernel.plan is None:
        return verdict
    alone = NOT_ALONE if kernel.shared else _made(whole_tiles, kernel)
    waits = any(s.touched.counter is not None for s in kernel.statements())
    inner = _planned_asked(alone, fixed, again) if isinstance(alone, Kernel) else None
    parts = _made(any_piece, kernel) if inner is not None and waits else ""
    piece = _planned_asked(parts, fixed, again) if isinstance(parts, Kernel) else verdict
    proofs: list[Proof] = []
    for proof in verdict.proofs:
        if proof.answer != "undecided" or proof.property == "counters":
            proofs.append(proof)
        elif waits and proof.property in ("registers", "bounds"):
            proofs.append(_proved(piece, proof) or proof)
        elif inner is None:
            proofs.append(replace(proof, reason=f"{proof.reason}; {alone}"))
        else:
            proofs.append(_judged(proof, inner, waits))
    return replace(verdict, proofs=tuple(proofs))


def _made(make: Callable[[Kernel], Kernel], kernel: Kernel) -> Kernel | str:
    """Return the kernel that is made of what one does with a tile, or what stands in its way."""
    try:
        return make(kernel)
    except CuteError as error:
        return f"{error.condition} ({error.fix})" if error.fix else error.condition


def _planned_asked(kernel: Kernel, fixed: Mapping[str, int], again: Again) -> Verdict:
    return again(kernel, {name: size for name, size in fixed.items() if name in kernel.sizes})


def _proved(verdict: Verdict, like: Proof) -> Proof | None:
    proofs = (p for p in verdict.proofs if p.property == like.property and p)
    return next((replace(p, assumptions=(*p.assumptions, PLAN)) for p in proofs), None)


def _judged(proof: Proof, inner: Verdict, waits: bool) -> Proof:
    """Return what the proof of whole tiles says of a property."""
    mine = next(p for p in inner.proofs if p.property == proof.property)
    sure = mine and all(p for p in inner.proofs if p.property == "registers")
    seconds = proof.seconds + mine.seconds
    if not sure:
        words = mine.reason or f"what a work-group does with a whole tile is {mine.answer}"
        fix = "" if mine.reason else " (ask verify(whole_tiles(kernel)))"
        return replace(proof, reason=f"{words}{fix}", loops=mine.loops, seconds=seconds)
    if waits:
        words = (
            "pieces of a tile are added up by several work-groups; with whole tiles it is proved "
            "for all sizes (ask verify(whole_tiles(kernel)), and covers(plan) of a plan's pieces)"
        )
        return replace(proof, reason=words, loops=(), seconds=seconds)
    return replace(mine, assumptions=(*mine.assumptions, WHOLE), seconds=seconds)


# ------------------------------------------------------------ strategies


@dataclass(frozen=True)
class Strategy:
    """What is tried of an undecided kernel: a name, what it asks, and how it goes on."""

    name: str
    asks: str
    attempt: Callable[[Kernel, Mapping[str, int], Verdict, Again], Verdict]


STRATEGIES = (
    Strategy("tickets", "what is done with one ticket, as a kernel of its own", given_tickets),
    Strategy("plan", "what is done with one tile of a plan, as a kernel of its own", given_a_plan),
    Strategy("short loops", "the kernel with its loops of few trips written out", given_few_trips),
    Strategy("sizes", "the kernel with all loops written out, at given sizes", given_sizes),
)
"""In the order in which they are tried; the first that decides everything is the last."""
