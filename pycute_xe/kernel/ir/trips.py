"""Loops written out trip by trip, as problems of given sizes go through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.barriers import NamedBarrier
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.statements import If, Loop, Statement
from pycute_xe.kernel.spec.expression import Expression
from pycute_xe.signatures import typed

__all__ = ["in_short_trips", "in_trips", "is_short"]

MOST = 1000
"""Statements that are written out."""
FEW = 8
"""Trips of a loop that is short."""


@typed
def in_trips(kernel: Kernel, sizes: Mapping[str, int]) -> Kernel:
    """Return the kernel without loops that does what the kernel does in a problem of given sizes.

    Law: a run of a problem of these sizes gives the same outputs. ``sizes`` binds extents by name,
    in elements. Raises `KernelError` where a loop's trips depend on more than sizes (on a
    work-group's place, or on what is looked up), and for more than 1,000 statements.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")), stages=0)
    >>> body = in_trips(gemm, {"M": 1, "N": 1, "K": 64}).body
    >>> [type(s).__name__ for s in body].count("Mma")
    2
    """
    known = {name: Index(None, size) for name, size in sizes.items()}
    alone = {name for name, count in kernel.grid if count.substitute(known) == Index(None, 1)}
    out = _Out(kernel, known | dict.fromkeys(alone, Index(None, 0)))
    return replace(kernel, body=tuple(out.written(kernel.body, {})))


@typed
def in_short_trips(kernel: Kernel) -> Kernel:
    """Return the kernel with its loops of few trips, the same in every problem, written out.

    Loops that claim something stay. Law: a run gives the same outputs. Raises `KernelError` for
    more than 1,000 statements.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")), stages=2)
    >>> loops = [s for s in in_short_trips(gemm).statements() if type(s).__name__ == "Loop"]
    >>> [loop.var for loop in loops]
    ['k']
    """
    return replace(kernel, body=tuple(_Out(kernel, {}, is_short).written(kernel.body, {})))


def is_short(loop: Loop) -> bool:
    """Whether a loop has few trips, the same in every problem, and claims nothing."""
    trips = loop.stop - loop.start
    return (
        not loop.holds and loop.start.is_constant and trips.is_constant and 0 < trips.offset <= FEW
    )


class _Out:
    def __init__(
        self,
        kernel: Kernel,
        known: Mapping[str, Index],
        chosen: Callable[[Loop], bool] = lambda _: True,
    ) -> None:
        self.kernel, self.known, self.left, self.chosen = kernel, known, MOST, chosen

    def written(
        self, body: tuple[Statement, ...], bound: Mapping[str, Index]
    ) -> Iterator[Statement]:
        for statement in body:
            self.left -= 1
            if self.left < 0:
                raise self.refusal(f"more than {MOST} statements would be written out")
            if isinstance(statement, Loop) and not self.chosen(statement):
                inner = tuple(self.written(statement.body, bound))
                if inner:
                    start, stop = (i.substitute(bound) for i in (statement.start, statement.stop))
                    holds = _with(statement.holds, bound)
                    yield replace(statement, start=start, stop=stop, body=inner, holds=holds)
            elif isinstance(statement, Loop):
                first = self.bound(statement, statement.start, bound)
                end = self.bound(statement, statement.stop, bound)
                for trip in range(first, end):
                    yield from self.written(
                        statement.body, {**bound, statement.var: Index(None, trip)}
                    )
            elif isinstance(statement, If):
                inner = tuple(self.written(statement.body, bound))
                index, below = (i.substitute(bound) for i in (statement.index, statement.below))
                missing = (index - below).substitute(self.known)
                if not missing.is_constant and inner:
                    yield If(index, below, inner)
                elif missing.offset < 0:
                    yield from inner
            else:
                yield _with(statement, bound)

    def bound(self, loop: Loop, index: Index, bound: Mapping[str, Index]) -> int:
        value = index.substitute(bound).substitute(self.known)
        if not value.is_constant:
            raise self.refusal(f"the trips of the loop over {loop.var} depend on {value}")
        return value.offset

    def refusal(self, condition: str) -> KernelError:
        return KernelError("in_trips", {"kernel": self.kernel.name}, condition, "bind more sizes")


def _with(value: Any, bound: Mapping[str, Index]) -> Any:
    """Return a statement, or a part of one, with variables of loops bound."""
    if isinstance(value, Index):
        return value.substitute(bound)
    if isinstance(value, tuple):
        return tuple(_with(one, bound) for one in value)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, (Statement, Expression, NamedBarrier)):
        return replace(
            value, **{f.name: _with(getattr(value, f.name), bound) for f in fields(value)}
        )
    return value
