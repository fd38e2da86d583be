"""What is done with each ticket of a counter, as a kernel of its own."""

from __future__ import annotations

from dataclasses import replace

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Looked
from pycute_xe.kernel.ir.effects import CounterAccess
from pycute_xe.kernel.ir.identities import named
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.program import walk
from pycute_xe.kernel.ir.statements import If, Loop, Statement
from pycute_xe.kernel.ir.tickets import misused
from pycute_xe.kernel.spec.specification import never_negative
from pycute_xe.signatures import typed

__all__ = ["dealt_tiles"]


@typed
def dealt_tiles(kernel: Kernel) -> Kernel:
    """Return the kernel in which each ticket has a work-group of its own.

    The law: where a work-group goes on until a ticket is not below ``count``, and takes as many as
    there are, tickets are 0, 1, 2, … without a gap; so each one below ``count`` is drawn, once, and
    what is done with it is done once. All subgroups meet where a ticket is taken: shared memory
    passes from one to the next in order, once a `Fence` is behind its stores. Raises `KernelError`
    for a kernel that does anything else with its counter, or whose work depends on more than the
    ticket.
    """
    (turns,) = kernel.body if len(kernel.body) == 1 else (None,)
    if not isinstance(turns, Loop) or len(turns.body) != 2:
        raise _undealt(kernel, "its body is not a loop of a ticket and what is done with it")
    statement, done = turns.body
    take = statement.touched.counter if statement.touched.only_counts else None
    if take is None or not take.into or take.least is not None or not isinstance(done, If):
        raise _undealt(kernel, "its loop does not begin with a ticket, under a condition behind it")
    ticket = Index.element(take.into, *take.place)
    if (done.index, turns.start, turns.stop) != (ticket, Index(), done.below):
        raise _undealt(kernel, "it does not go on until the tickets are used up")
    ranges = ((turns.var, turns.stop), *kernel.grid)
    own = {name for name, _ in ranges}
    body = named(done.body, Looked(take.into, take.place), take.into)
    wrong = _lost(kernel, take, ranges) or misused(kernel, statement)
    if wrong := wrong or _not_a_deal(kernel, take, own, done.below, body):
        raise _undealt(kernel, wrong)
    gone = {take.operand, take.into}
    operands = tuple(o for o in kernel.operands if o.name not in gone)
    return replace(kernel, operands=operands, grid=((take.into, done.below),), body=body)


def _not_a_deal(
    kernel: Kernel, take: CounterAccess, own: set[str], count: Index, body: tuple[Statement, ...]
) -> str:
    """Return why tickets are not each drawn once, or their work is not a kernel of its own."""
    if any(i.names or i.looked_up for i in take.at):
        return "tickets are not counted at one place"
    if kernel.operand(take.into).role != "scratch":
        return f"{take.into} must be scratch: which ticket it has at the end is open"
    indices = (i for s in walk(body) for i in s.touched.indices)
    if own & {n for i in (*indices, count) for n in i.names} or count.looked_up:
        return "what is done depends on the work-group, not on the ticket alone"
    if not _is_fenced(body):
        return "no fence lies between a store to shared memory and the next ticket"
    return ""


def _lost(kernel: Kernel, take: CounterAccess, ranges: tuple[tuple[str, Index], ...]) -> str:
    """Return why a ticket may lack a place, or a work-group that takes it, at some sizes."""
    for name, at in ((take.operand, take.at), (take.into, take.place)):
        for index, extent in zip(at, kernel.operand(name).modes, strict=True):
            if not all(never_negative(i, ranges) for i in (index, extent - 1 - index)):
                return f"{index} may lie outside of {name}"
    empty = (
        f"the grid may be empty along {name}"
        for name, n in kernel.grid
        if not never_negative(n - 1, ())
    )
    return next(empty, "")


def _is_fenced(body: tuple[Statement, ...]) -> bool:
    """Whether a fence is behind every store to shared memory, however conditions turn out."""
    for statement in reversed(body):
        if statement.touched.meets == "fence":
            return True
        if statement.touched.to_shared:
            return False
        if isinstance(statement, (Loop, If)) and not _is_fenced(statement.body):
            return False
    return True


def _undealt(kernel: Kernel, wrong: str) -> KernelError:
    fix = "write a loop of a ticket and a condition on it, as dealt_gemm does"
    return KernelError("dealt_tiles", {"kernel": kernel.name}, wrong, fix)
