"""How the tickets of a fetch-add are used: is each that of the work-group that drew it?

Whoever deals work out by tickets, runs kernels that draw them or proves what they are for asks this
of a kernel, and what else it has to know besides.
"""

from __future__ import annotations

from pycute_xe.kernel.index import Index, Looked
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.statements import Statement

__all__ = ["misused"]


def misused(kernel: Kernel, take: Statement) -> str:
    """Return why tickets are not used each by the work-group that drew it; empty if they are.

    Where they are, the counter begins with 0 and goes up by 1 with each ticket, no two work-groups
    keep theirs at one place, a ticket is looked up behind its statement alone, at the work-group's
    own place, and nothing else touches counter or tickets.
    """
    counter = take.touched.counter
    if counter is None or not counter.into:
        return f"{type(take).__name__} draws no ticket"
    if counter.by != Index(None, 1):
        return "tickets are not counted one by one"
    if kernel.operand(counter.operand).role != "scratch":
        return f"{counter.operand} need not begin with 0: it is not scratch"
    if not {name for name, _ in kernel.grid} <= {*map(str, counter.place)}:
        return f"work-groups keep their tickets in one place of {counter.into}"
    own, names = Looked(counter.into, counter.place), {counter.operand, counter.into}
    drawn = False
    for statement in kernel.statements():
        touched = statement.touched
        looked = {x for i in touched.indices for x in i.looked_up if x.operand in names}
        moved = names & {*touched.from_memory, *touched.to_memory, *touched.prefetched}
        first = statement is take and not drawn
        if looked - ({own} if drawn else set()) or (moved and not first):
            return f"{counter.operand} or {counter.into} is used beside"
        drawn = drawn or first
    return ""
