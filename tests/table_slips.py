"""Kernels that look up the wrong element of a table: a right one with one index changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pycute_xe.kernel import Kernel
from pycute_xe.kernel.index import Index, Looked, Quotient
from pycute_xe.kernel.ir.identities import _Change  # pyright: ignore[reportPrivateUsage]

__all__ = ["changed", "looked_up_as"]

Lookup = Callable[[Looked], Index | None]


class _Slip(_Change):
    def __init__(self, change: Callable[[Index], Index]) -> None:
        super().__init__({}, {})
        self.change = change

    def index(self, index: Index, scope: Mapping[str, str]) -> Index:
        return self.change(index)


def changed(kernel: Kernel, change: Callable[[Index], Index]) -> Kernel:
    """Return a kernel with the indices of its statements changed; what it claims stays."""
    slip = _Slip(change)
    return replace(kernel, body=tuple(slip.statement(s, {}) for s in kernel.body))


def looked_up_as(change: Lookup) -> Callable[[Index], Index]:
    """Return a change of lookups: of those for which something is given, inner ones first."""

    def of(index: Index) -> Index:
        out = Index(None, index.offset)
        for atom, scale in index.terms:
            match atom:
                case str():
                    part = Index(atom)
                case Quotient(inner, divisor):
                    part = of(inner) // divisor
                case Looked(operand, at):
                    own = Looked(operand, tuple(map(of, at)))
                    found = change(own)
                    part = Index.of({own: 1}, 0) if found is None else found
            out = out + part * scale
        return out

    return of
