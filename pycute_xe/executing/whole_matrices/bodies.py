"""Floor 9: what the body of a loop writes, and what an expression asks for."""

from __future__ import annotations

from pycute_xe.kernel import Expression, Kernel, Loop, walk
from pycute_xe.kernel.spec.expression import Apply, Rounded, Total, Where

__all__ = ["asks_indices", "written_in"]


def asks_indices(value: Expression) -> bool:
    """Whether an expression depends on indices other than by its leaves."""
    if isinstance(value, Apply):
        return any(map(asks_indices, value.arguments))
    return (
        asks_indices(value.body)
        if isinstance(value, Rounded)
        else isinstance(value, (Where, Total))
    )


def written_in(kernel: Kernel, loop: Loop) -> tuple[set[str], frozenset[str]]:
    """Return the fragments that a loop writes, and those it only adds products to.

    A narrow accumulator is rounded in between, so that only one product may be added to it.
    """
    touched = [s.touched for s in walk(loop.body)]
    written = {name for t in touched for name in (*t.writes, *t.updates)}
    updates = [name for t in touched for name in t.updates]
    others = {name for t in touched for name in (*t.reads, *t.writes)}
    wide = {n for n in updates if kernel.fragment(n).value_type.bits >= 32}
    sums = {n for n in updates if n not in others and (n in wide or updates.count(n) == 1)}
    return written, frozenset(sums)
