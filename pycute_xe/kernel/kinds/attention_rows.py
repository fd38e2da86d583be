"""Floor 7: rows of scores in registers: where each element is, and what a row comes to."""

from __future__ import annotations

from functools import lru_cache

from pycute_xe.algebra.simplify import flat_modes
from pycute_xe.atom.reordering import layout_of
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir.operands import Fragment
from pycute_xe.kernel.ir.statements import Map, Part, Reduce, Statement
from pycute_xe.kernel.kinds.vectors import accumulator_places, vector_gather
from pycute_xe.kernel.spec.expression import Slot, apply
from pycute_xe.kernel.spec.reductions import reduction
from pycute_xe.layout import Layout
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["Rows", "place_in_tile"]

F32 = as_numeric("f32")


@lru_cache(maxsize=64)
def place_in_tile(mma: TiledMma, letter: str) -> Index:
    """Return the row ("m") or column ("n") of a register element of C, as an index.

    It names ``subgroup`` and ``element``. Raises `KernelError` where no layout says it.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (128, 64, 32), ((8, 1, 1), (1, 1, 1)))
    >>> print(place_in_tile(mma, "m"))
    16*subgroup+element/16-16*(element/16/16)
    """
    part = accumulator_places(mma, letter)
    starts = part.min(axis=1)
    inside = part[0] - starts[0]
    if (part - starts[:, None] != inside).any():
        raise _unplaced(mma)
    return _index(starts.tolist(), SUBGROUP_INDEX, mma) + _index(
        inside.tolist(), ELEMENT_INDEX, mma
    )


def _index(values: list[int], name: str, mma: TiledMma) -> Index:
    """Return values at 0, 1, 2, … as an index of a name."""
    layout = layout_of(values)
    if layout is None:
        raise _unplaced(mma)
    out, before, modes = Index(), 1, list(flat_modes(layout))
    for number, (extent, step) in enumerate(modes):
        digit = Index(name) // before
        if number < len(modes) - 1:
            digit = digit % extent
        out, before = out + digit * step, before * extent
    return out


def _unplaced(mma: TiledMma) -> KernelError:
    return KernelError(
        "attention", {"mma": mma}, "no layout places the scores", "use workgroup_mma"
    )


class Rows:
    """The rows of a subgroup's scores, one number for each.

    A fragment of rows holds row ``r`` in element ``r``; fewer than 16 rows are repeated until they
    fill a register. ``of_scores`` and ``of_out`` map elements of accumulators to their rows.
    """

    def __init__(self, qk: TiledMma, pv: TiledMma) -> None:
        """Read the rows off the accumulators."""
        self.of_scores, self.of_out = vector_gather(qk, "m"), vector_gather(pv, "m")
        places = accumulator_places(qk, "m")[0]
        self.rows = places - places.min()
        self.count = int(self.rows.max()) + 1
        self.slots = -(-self.count // 16)
        self.mma = qk

    def fragment(self, name: str, numeric: Numeric = F32) -> Fragment:
        """Return a fragment of rows."""
        return Fragment(name, numeric, self.slots)

    @property
    def folds(self) -> int:
        """How often halves of a register are put together."""
        return (16 // self.count).bit_length() - 1 if self.count < 16 else 0

    def fragments(self, name: str) -> tuple[Fragment, ...]:
        """Return what `reduce` into a fragment of that name needs, itself included."""
        parts = [f"{name}{i}{half}" for i in range(self.folds) for half in "ab"]
        last = [f"{name}{i}" for i in range(self.folds)]
        return tuple(map(self.fragment, (*parts, *last, name)))

    def reduce(self, how: str, source: str, name: str) -> tuple[Statement, ...]:
        """Return what puts the sum or maximum of every row of scores into a fragment of rows.

        Fewer than 16 rows are first reduced to as many parts as fill a register: lanes far apart
        of one row. Each fold then puts two halves of it together and repeats what comes out.
        """
        if not self.folds:
            return (Reduce(how, source, name, self.of_scores),)
        width = 16 // self.count
        parts = [int(row) + self.count * (e % 16 % width) for e, row in enumerate(self.rows)]
        slots = layout_of(parts)
        if slots is None:
            raise _unplaced(self.mma)
        held = f"{name}0"
        out: list[Statement] = [Reduce(how, source, held, slots)]
        both = reduction(how).combine
        for step in range(self.folds):
            width //= 2
            kept = self.count * width
            halves = Layout((kept, 16 // kept), (1, 0))
            a, b = (f"{name}{step}{half}" for half in "ab")
            to = name if step == self.folds - 1 else f"{name}{step + 1}"
            out += [Part(held, a, halves), Part(held, b, halves, kept)]
            out.append(Map(to, apply(both, Slot(a), Slot(b))))
            held = to
        return tuple(out)
