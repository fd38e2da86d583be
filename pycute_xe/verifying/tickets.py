"""Kernels that draw tickets from counters: what is proved, whatever the order of arrival.

What a ticket below the count is for is a kernel of its own, `dealt_tiles`, which is proved for all
sizes; its docstring has the law by which the whole follows. Where each work-group draws one ticket
and keeps it (`ticketed`), it goes on as if its tickets were given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NoReturn

from pycute_xe.errors import CuteError, KernelError
from pycute_xe.kernel import Index, InRange, Kernel, Specification, Statement, Tickets
from pycute_xe.kernel.ir.effects import CounterAccess
from pycute_xe.kernel.ir.tickets import misused
from pycute_xe.kernel.schedules.dealt_tiles import dealt_tiles
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.verdict import Proof, Verdict

__all__ = ["given_tickets", "ticketed", "undrawn"]

Again = Callable[[Kernel, Mapping[str, int]], Verdict]
"""What verifies a kernel with some sizes fixed."""

DRAWN = "each ticket is drawn once: the counter begins with 0 and only this launch adds to it"


def given_tickets(
    kernel: Kernel, fixed: Mapping[str, int], verdict: Verdict, again: Again
) -> Verdict:
    """Return a verdict with what holds of every ticket; of a kernel without any as it was."""
    if verdict.answer != "undecided" or not any(map(_draws, kernel.statements())):
        return verdict
    drawn = kernel.computes.tickets if kernel.computes is not None else ()
    try:
        alone = ticketed(kernel) if drawn else dealt_tiles(kernel)
    except CuteError as error:
        return replace(verdict, proofs=tuple(_left(p, error.condition) for p in verdict.proofs))
    sizes = {name: size for name, size in fixed.items() if name in alone.sizes}
    inner = {proof.property: _without(proof, drawn) for proof in again(alone, sizes).proofs}
    mine = {f"{one.operand} {what}" for one in drawn for what in ("coverage", "values")}
    proofs = tuple(
        replace(proof, answer="proved", reason="", assumptions=(*proof.assumptions, DRAWN))
        if proof.property in mine
        else _of_all(proof, inner.get(proof.property))
        for proof in verdict.proofs
    )
    return replace(verdict, proofs=proofs)


def _without(proof: Proof, drawn: tuple[Tickets, ...]) -> Proof:
    """Return a proof that does not assume of tickets what is drawn."""
    own = set(map(str, drawn))
    return replace(proof, assumptions=tuple(a for a in proof.assumptions if a not in own))


def _left(proof: Proof, why: str) -> Proof:
    return proof if proof.answer != "undecided" else replace(proof, reason=f"{proof.reason}; {why}")


def _of_all(proof: Proof, mine: Proof | None) -> Proof:
    """Return what the proof of one ticket's work says of a property."""
    if proof.answer != "undecided" or mine is None:
        return proof
    seconds = proof.seconds + mine.seconds
    if mine.answer != "proved":
        words = f"what is done with one ticket is {mine.answer} (ask verify(dealt_tiles(kernel)))"
        return replace(proof, reason=mine.reason or words, loops=mine.loops, seconds=seconds)
    return replace(mine, assumptions=(*mine.assumptions, DRAWN), seconds=seconds)


# ------------------------------------------------------------ a ticket for each work-group


def undrawn(_questions: object) -> NoReturn:
    """Raise `UndecidableError`: what tickets are is said of all work-groups at once."""
    fix = "let each work-group draw one, of what it looks up at its own place"
    raise undecided("tickets are decided by the order in which work-groups come", fix)


def ticketed(kernel: Kernel) -> Kernel:
    """Return the kernel behind its tickets: they are an input, of which it is known what they are.

    The law: where each work-group adds 1 once, to the counter that its entry of a table names, what
    the counters were before is, for equal entries, 0, 1, 2, … without a gap, each once, in the
    order of arrival; and each place of the tickets is that of one work-group. Raises `KernelError`
    for a kernel that does anything else with its counters or its tickets.
    """
    computes = kernel.computes
    draws = [s for s in kernel.statements() if _draws(s)]
    if computes is None or len(draws) != 1 or draws[0] not in kernel.body:
        raise _unticketed(kernel, "work-groups do not each draw one ticket")
    (take,) = draws
    counter = take.touched.counter
    if counter is None or counter.least is not None or not take.touched.only_counts:
        raise _unticketed(kernel, f"{type(take).__name__} does more than draw a ticket")
    if wrong := misused(kernel, take) or _not_own(kernel, counter, computes):
        raise _unticketed(kernel, wrong)
    (tickets,) = computes.tickets
    operands = tuple(
        replace(o, role="in") if o.name == counter.into else o
        for o in kernel.operands
        if o.name != counter.operand
    )
    body = tuple(s for s in kernel.body if s is not take)
    spec = replace(computes, tables=(*computes.tables, tickets), tickets=())
    return replace(kernel, operands=operands, body=body, computes=spec)


def _draws(statement: Statement) -> bool:
    """Whether a statement takes a ticket."""
    counter = statement.touched.counter
    return counter is not None and bool(counter.into)


def _not_own(kernel: Kernel, take: CounterAccess, computes: Specification) -> str:
    """Return why tickets are not as they are claimed."""
    grid, place = dict(kernel.grid), tuple(map(str, take.place))
    into, counter = kernel.operand(take.into), kernel.operand(take.operand)
    if len(computes.tickets) != 1 or computes.tickets[0].operand != take.into:
        return f"{take.into} is not claimed to be tickets"
    if sorted(place) != sorted(grid) or tuple(grid[n] for n in place) != into.modes:
        return f"work-groups do not each have a place of {take.into}"
    (tickets,) = computes.tickets
    entry = Index.element(tickets.of, *take.place)
    if take.at != (entry,):
        return f"tickets are not counted by what {entry} names"
    ranges = (x for x in computes.tables if isinstance(x, InRange) and x.operand == tickets.of)
    if not any((x.below,) == counter.modes and not x.when for x in ranges):
        return f"entries of {tickets.of} may lie outside of {take.operand}: assume InRange"
    return ""


def _unticketed(kernel: Kernel, wrong: str) -> KernelError:
    fix = "draw a ticket at the work-group's place, as moe_permute does"
    return KernelError("ticketed", {"kernel": kernel.name}, wrong, fix)
