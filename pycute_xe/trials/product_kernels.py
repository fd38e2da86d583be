"""A small program that multiplies registers as they lie, and claims who holds which factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.algebra.compose import index_at
from pycute_xe.atom import TiledMma
from pycute_xe.atom.mma_atom import Operand as Role
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.bulk import layout_of, table
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Operand
from pycute_xe.kernel.ir.statements import Fill, Load, Mma, Statement, Store
from pycute_xe.kernel.spec.expression import Element, total
from pycute_xe.kernel.spec.specification import Claim, Specification
from pycute_xe.layout import size
from pycute_xe.numeric import Numeric
from pycute_xe.trials.copy_kernels import Dumped

__all__ = ["Factors", "Missing", "factors_of", "multiplication", "owned_places"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Missing:
    """An element that a subgroup needs for a product, and does not hold."""

    subgroup: int
    operand: str
    element: tuple[int, int]
    wanted: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Factors:
    """Of a subgroup, (slot of C, number of k) → the slot of A and that of B that are multiplied."""

    a: Ints
    b: Ints


def owned_places(mma: TiledMma, operand: str) -> Ints:
    """Return (work-item, value, 2): the coordinate in its tile of each value of A, B or C.

    A counts (m, k), B (n, k), C (m, n), as ``tv_layout_*_tiled`` say.
    """
    layout = getattr(mma, f"tv_layout_{operand}_tiled")
    extent = mma.operand_tile(operand)[0]
    offsets = table(layout).reshape(-1, size(layout[0])).T
    return np.stack((offsets % extent, offsets // extent), axis=-1)


def factors_of(mma: TiledMma, subgroup: int) -> Factors | Missing:
    """Return which register elements make each element of C, by the layouts of a tiled MMA.

    The sum goes through the k of which the subgroup holds factors, ascending.
    """
    names: tuple[Role, ...] = ("A", "B", "C")
    tables = {name: _slots(mma, name, subgroup) for name in names}
    at = {name: _slot_at(tables[name], mma.operand_tile(name)) for name in "AB"}
    mine = [(at[name] >= 0).any(axis=0) for name in "AB"]
    depth = np.flatnonzero(mine[0] | mine[1])
    rows, columns = tables["C"].T
    a, b = at["A"][rows][:, depth], at["B"][columns][:, depth]
    for name, slots, along in (("A", a, rows), ("B", b, columns)):
        if (slots < 0).any():
            slot, number = np.argwhere(slots < 0)[0].tolist()
            place = (int(along[slot]), int(depth[number]))
            return Missing(subgroup, name, place, (int(rows[slot]), int(columns[slot])))
    return Factors(a, b)


def _slot_at(places: Ints, shape: tuple[int, int]) -> Ints:
    """Return the register element that holds each coordinate of a tile, -1 for none."""
    out = np.full(shape, -1, np.int64)
    out[tuple(places.T)] = np.arange(len(places))
    return out


def _slots(mma: TiledMma, operand: Role, subgroup: int) -> Ints:
    """Return the coordinate of each register element of a subgroup, read in the atom's units."""
    mine = owned_places(mma, operand)[subgroup * SUBGROUP : (subgroup + 1) * SUBGROUP]
    per = mma.atom.unit_bits(operand) // getattr(mma.atom.op, operand).bits
    units = mine.reshape(SUBGROUP, -1, per, 2).transpose(1, 0, 2, 3)
    return units.reshape(-1, 2)


def multiplication(mma: TiledMma, factors: Factors | None = None) -> Kernel:
    """Return a kernel that multiplies registers of subgroups as they lie in memory.

    Row ``g`` of A, B and D are registers of a subgroup, one subgroup below the other; what is
    claimed of D is the sum of products of the slots that ``factors`` pairs, without it nothing.
    Raises `KernelError` where these are not sums of digits.
    """
    op, subgroups = mma.atom.op, mma.num_subgroups
    slots = {name: size(mma.fragment(name)[1]) for name in "ABC"}
    dumped = {n: Dumped(getattr(op, n), subgroups, slots[n]) for n in "ABC"}
    operands = [_operand(name, dumped[name], "in") for name in "AB"]
    operands.append(_operand("D", dumped["C"], "out"))
    body: list[Statement] = [
        Load(dumped[n].copy(slots[n], loads=True), n, (Index(), Index()), f"tCr{n}") for n in "AB"
    ]
    body.append(Fill("tCrC", 0))
    body.append(Mma(mma, "tCrC", "tCrA", "tCrB"))
    body.append(Store(dumped["C"].copy(slots["C"], loads=False), "D", (Index(), Index()), "tCrC"))
    fragments = tuple(Fragment(f"tCr{n}", getattr(op, n), slots[n]) for n in "ABC")
    claims = None if factors is None else _claim(op.D, dumped, factors)
    name = f"registers of {mma.atom}"
    return Kernel(name, subgroups, tuple(operands), fragments, (), tuple(body), claims)


def _claim(kind: Numeric, dumped: dict[str, Dumped], factors: Factors) -> Specification:
    g, i = Index("g"), Index("i")
    out = dumped["C"]
    subgroups = out.subgroups
    subgroup = g // out.rows if subgroups > 1 else Index()
    slot = (g % out.rows if subgroups > 1 else g) * out.width + i
    a = _element("A", dumped["A"], subgroup, factors.a, slot)
    b = _element("B", dumped["B"], subgroup, factors.b, slot)
    value = total("k", factors.a.shape[1], a * b, accumulator=kind)
    return Specification((Claim("D", ("g", "i"), value),))


def _operand(name: str, dumped: Dumped, role: Any) -> Operand:
    return Operand(name, dumped.value, (dumped.subgroups * dumped.rows, dumped.width), role=role)


def _element(name: str, dumped: Dumped, subgroup: Index, slots: Ints, slot: Index) -> Element:
    """Return the element of the registers in memory that a table of (slot of C, k) gives."""
    k = Index("k")
    row, column = _sum(slots // dumped.width, slot, k), _sum(slots % dumped.width, slot, k)
    if row is None or column is None:  # what digits do not say apart they may say together
        whole = _sum(slots, slot, k)
        if whole is None:
            wrong = "the factors of an element are not sums of digits of its slot and of k"
            fix = "use a permutation whose layouts nest evenly"
            raise KernelError("multiplication", {"operand": name}, wrong, fix)
        row, column = whole // dumped.width, whole % dumped.width
    return Element(name, (subgroup * dumped.rows + row, column))


def _sum(table: Ints, slot: Index, k: Index) -> Index | None:
    """Return a table of (slot, k) as an index of both; None where no sum of digits is it."""
    down, right, first = table[:, 0], table[0], int(table[0, 0])
    if (table != down[:, None] + right[None] - first).any():
        return None
    along, across = (layout_of([i - first for i in x.tolist()]) for x in (down, right))
    if along is None or across is None:
        return None
    return index_at(along, slot) + index_at(across, k) + first
