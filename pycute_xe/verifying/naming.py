"""Floor 9: the names of sizes and variables in formulas, and indices as formulas of them."""

from __future__ import annotations

from collections.abc import Mapping

from pycute_xe.errors import UndecidableError
from pycute_xe.kernel import Index, Kernel, Loop
from pycute_xe.kernel.index import SUBGROUP_INDEX, Quotient
from pycute_xe.kernel.ir.identities import extents_of

__all__ = ["Naming", "index_text"]


class Naming:
    """What sizes and variables of a kernel are called in formulas.

    Prefixes keep them apart from words that isl knows. Extents come in the order in which
    counterexamples are made small.

    >>> import pycute_xe as cx
    >>> names = Naming(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))))
    >>> names.sizes, names.grid
    (('S_M', 'S_N', 'S_K'), ('v_m', 'v_n'))
    """

    def __init__(self, kernel: Kernel) -> None:
        """Name every size and variable."""
        self.size_of = {name: f"S_{name}" for name in extents_of(kernel)}
        self.variable_of = {name: f"v_{name}" for name, _ in kernel.grid}
        for statement in kernel.statements():
            if isinstance(statement, Loop):
                self.variable_of[statement.var] = f"v_{statement.var}"
        self.sizes = tuple(self.size_of.values())
        self.grid = tuple(self.variable_of[name] for name, _ in kernel.grid)
        self.type_of = {o.name: o.value_type for o in kernel.operands}
        self.all: Mapping[str, str] = self.size_of | self.variable_of

    def text(self, index: Index, more: Mapping[str, str] | None = None) -> str:
        """Return an index as a formula; ``more`` names further variables."""
        return index_text(index, {**self.all, **(more or {})})


def index_text(index: Index, names: Mapping[str, str]) -> str:
    """Return an index as isl reads it. Raises `UndecidableError` for elements that are looked up.

    >>> index_text(Index("k") * 32 + (Index("M") + 7) // 8, {"k": "v_k", "M": "S_M"})
    '32*v_k + floor((S_M + 7)/8)'
    """
    parts: list[str] = []
    for atom, scale in index.terms:
        if isinstance(atom, str):
            if atom == SUBGROUP_INDEX and atom not in names:
                raise UndecidableError(
                    "verify",
                    {"index": index},
                    "a condition that depends on the subgroup is not followed",
                    'run it with executor="reference"',
                )
            inner = names.get(atom, atom)
            inner = inner if inner.isidentifier() else f"({inner})"
        elif isinstance(atom, Quotient):
            inner = f"floor(({index_text(atom.index, names)})/{atom.divisor})"
        else:
            raise UndecidableError(
                "verify", {"index": index}, f"{atom} is known only in a run", "run it"
            )
        parts.append(inner if scale == 1 else f"{scale}*{inner}")
    if index.offset or not parts:
        parts.append(str(index.offset))
    return " + ".join(parts)
