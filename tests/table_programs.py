"""Random programs that look up tables, what they claim, and the truth by all small tables.

A quarter each: arithmetic on lookups, nested lookups, scatters (`table_scatters`), and segments:
rows of owners and sums over segments. The truth is a formula of its own, in `table_truth`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import islpy as isl
import numpy as np
from table_scatters import scatter
from table_truth import Program, column, count, is_right, looked, truth

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Claim, Element, Index, Kernel, KernelBuilder, Operand, Specification
from pycute_xe.kernel.index import Condition, Looked
from pycute_xe.kernel.spec.expression import Const, Expression, Total, Where, total
from pycute_xe.kernel.spec.tables import (
    Assumption,
    AtMost,
    Distinct,
    InRange,
    Permutation,
    Rising,
    Sorted,
)
from pycute_xe.verifying import Verdict

__all__ = ["KINDS", "answer", "program", "truth"]

Array = Any
T, H = Index("t"), Index("h")

# ------------------------------------------------------------ rows that are looked up


@dataclass(frozen=True)
class Row:
    """Which row of A is meant at t: one where a condition holds, another one elsewhere."""

    then: Index
    condition: Condition | None = None
    otherwise: Index = T

    @property
    def indices(self) -> tuple[Index, ...]:
        """Its indices."""
        c = self.condition
        return (self.then,) if c is None else (self.then, self.otherwise, c.index, c.below)

    def changed(self, change: Callable[[Index], Index]) -> Row:
        """Return it with its rows changed."""
        return replace(self, then=change(self.then), otherwise=change(self.otherwise))

    def expression(self) -> Expression:
        """Return it as a claim says it."""
        rows = [Element("A", (index, H)) for index in (self.then, self.otherwise)]
        if self.condition is None:
            return rows[0]
        return Where(self.condition.index, self.condition.below, *rows)

    def at(self, names: Mapping[str, Any], tables: Mapping[str, Array]) -> tuple[Array, Array]:
        """Return the row for all tables, and whether all that is looked up for it is inside."""
        found, fine = column(self.then, names, tables)
        if self.condition is None:
            return found, fine
        one, ok = column(self.condition.index, names, tables)
        other, also = column(self.condition.below, names, tables)
        second, good = column(self.otherwise, names, tables)
        holds = one < other
        return np.where(holds, found, second), ok & also & np.where(holds, fine, good)

    def __str__(self) -> str:
        """As it is claimed."""
        return str(self.expression())


def _kernel(name: str, row: Row, rows: Index) -> Kernel:
    """Return the kernel that stores the row of A to row t of D."""
    k = KernelBuilder(name, 1)
    A = k.input("A", "f32", ("P", 16))
    for table in sorted({x.operand for index in row.indices for x in index.looked_up}):
        k.input(table, "s32", (rows,))
    D = k.output("D", "f32", ("M", 16))
    (t,) = k.grid(t="M")
    named = {"t": t}

    def moved(index: Index) -> None:
        k.load("x", A, (1, 16), at=(index.substitute(named), 0))
        k.store(D, "x", at=(t, 0))

    if row.condition is None:
        moved(row.then)
        return k.build()
    one, other = (i.substitute(named) for i in (row.condition.index, row.condition.below))
    with k.when(one < other):
        moved(row.then)
    with k.when(other < one + 1):
        moved(row.otherwise)
    return k.build()


def with_claims(
    kernel: Kernel,
    claims: tuple[Claim, ...],
    assumed: tuple[Assumption, ...],
    tables: Mapping[str, tuple[Index, ...]],
) -> Kernel:
    """Return a kernel with what it claims, and the tables of which claims alone speak."""
    known = {o.name for o in kernel.operands}
    used = {x.operand for claim in claims for x in _looked_in(claim.value)}
    used |= {name for one in assumed for name in one.tables}
    more = [Operand(n, "s32", m) for n, m in tables.items() if n in used - known]
    operands = (*kernel.operands[:-1], *more, kernel.operands[-1])
    return replace(kernel, operands=operands, computes=Specification(claims, tables=assumed))


def _looked_in(value: Expression) -> set[Looked]:
    match value:
        case Element(_, at):
            return {x for index in at for x in index.looked_up}
        case Where(index, below, then, otherwise):
            own = {x for i in (index, below) for x in i.looked_up}
            return own | _looked_in(then) | _looked_in(otherwise)
        case Total(_, over, body):
            return {x for _, extent in over for x in extent.looked_up} | _looked_in(body)
        case _:
            return set()


def _right(row: Row, claimed: Row) -> Callable[[Mapping[str, int], Mapping[str, Array]], Array]:
    def right(sizes: Mapping[str, int], tables: Mapping[str, Array]) -> Array:
        good = np.ones(count(tables), bool)
        for t in range(sizes["M"]):
            names = {**sizes, "t": t}
            got, fine = row.at(names, tables)
            wanted, defined = claimed.at(names, tables)
            good &= fine & defined & (got == wanted) & (wanted >= 0) & (wanted < sizes["P"])
        return good

    return right


# ------------------------------------------------------------ indices at random


def _argument(rng: random.Random) -> Index:
    """Return a place in a table that t tells."""
    last = Index("M") - 1
    return rng.choice([T, T, T, T + 1, T // 2, T - T // 2, last - T, Index(), T % 2, last])


def _lookup(rng: random.Random, depth: int) -> Index:
    """Return an entry of a table; nested ones are looked up at what another one says."""
    at = _argument(rng)
    for _ in range(depth - 1):
        inner = looked(rng.choice("TU"), at)
        at = rng.choice([inner, inner, inner, inner // 2, inner + T % 2, inner - 1, T])
    return looked(rng.choice("TU"), at)


def _arithmetic(rng: random.Random, depth: int) -> Index:
    """Return arithmetic on lookups."""
    one = _lookup(rng, depth)
    other = rng.choice([_lookup(rng, 1), one, T, Index("P") - 1])
    match rng.randrange(12):
        case 0:
            return one + rng.choice([0, 1, -1])
        case 1:
            return one * 2 + rng.choice([0, 1])
        case 2:
            return (one + rng.choice([0, 1, 3])) // rng.choice([2, 3])
        case 3:
            return one % rng.choice([2, 3])
        case 4:
            return one + other
        case 5:
            return one - other
        case 6:
            return one * 2 - other
        case 7:
            return (one + other) // 2
        case 8:
            return one // 2 * 2 + other % 2
        case _:
            return one


def _row(rng: random.Random, depth: int) -> Row:
    if rng.random() < 0.65:
        return Row(_arithmetic(rng, depth))
    one = rng.choice([_lookup(rng, 1), T, looked("T", T) - looked("U", T)])
    condition = Condition(one, Index(None, rng.choice([0, 1, 2])))
    return Row(_arithmetic(rng, depth), condition, _arithmetic(rng, 1))


def _claimed(rng: random.Random, row: Row) -> Row:
    """Return a row that says the same in another way, or something else."""
    at = row.condition
    match rng.randrange(9):
        case 0:
            return row.changed(lambda index: index + 1)
        case 1:
            return row.changed(lambda index: _with_arguments(index, 1))
        case 2:
            return row.changed(_swapped)
        case 3 if at is not None:
            return replace(row, condition=Condition(at.index + 1, at.below))
        case 4 if at is not None:
            return Row(row.otherwise, Condition(at.below, at.index + 1), row.then)
        case 5 if at is None:
            first = row.then.substitute({"t": Index()})
            return Row(first, Condition(T, Index(None, 1)), row.then)
        case 6 if at is None:
            return Row(row.then, Condition(_lookup(rng, 1), Index(None, 2)), row.then)
        case _:
            return row


def _each(index: Index, change: Callable[[Looked], Index]) -> Index:
    """Return an index with its outer lookups changed."""
    out = Index(None, index.offset)
    for atom, scale in index.terms:
        out = out + (change(atom) if isinstance(atom, Looked) else Index.of({atom: 1}, 0)) * scale
    return out


def _with_arguments(index: Index, more: int) -> Index:
    return _each(index, lambda x: Index.element(x.operand, *(at + more for at in x.at)))


def _swapped(index: Index) -> Index:
    return _each(index, lambda x: Index.element("U" if x.operand == "T" else "T", *x.at))


def _assumed(rng: random.Random, rows: Index, depth: int) -> list[Assumption]:
    """Return what is assumed: of both tables, of one, or of none; now and then too little."""
    P, out = Index("P"), list[Assumption]()
    rises = rng.random() < 0.12
    if rng.random() < 0.85:
        limits = [P, P, P - 1, (P + 1) // 2, Index(None, 1)]
        for name in "TU":
            limit = P if rises else rng.choice(limits)
            out.append(InRange(name, rows if depth > 1 else limit))
            if depth > 1:
                out.append(AtMost(looked(name, Index("i")), P - 1, (("i", rows),)))
    if rises:
        out.append(Rising("T", P - 1, depth == 1 and rng.random() < 0.5))
    more = (
        Sorted("U"),
        Distinct("T"),
        Permutation("U"),
        AtMost(looked("T", Index("i")), looked("U", Index("i")), (("i", rows),)),
    )
    out += [one for one in more if rng.random() < 0.12]
    if out and rng.random() < 0.1:
        out.pop(rng.randrange(len(out)))
    return out


def _looking(rng: random.Random, number: int, kind: str) -> Program:
    """Return a program that loads a row that is looked up."""
    depth = rng.choice([2, 2, 3]) if kind == "nested" else 1
    rows = Index("M") + rng.choice([0, 1, 1])
    row = _row(rng, depth)
    claimed = _claimed(rng, row)
    assumed = tuple(_assumed(rng, rows, depth))
    kernel = _kernel(f"{kind}_{number}", row, rows)
    claims = (Claim("D", ("t", "h"), claimed.expression()),)
    kernel = with_claims(kernel, claims, assumed, {"T": (rows,), "U": (rows,)})
    told = f"D[t] = {row}, claimed {claimed}; {'; '.join(map(str, assumed))}; {rows} entries"
    small = [(m, p) for m in (1, 2, 3) for p in (1, 2, 3, 4, 6)]
    sizes = tuple({"M": m, "P": p} for m, p in (*small, (4, 2), (4, 5), (5, 3)))
    return Program(kernel, kind, told, _right(row, claimed), ("T", "U"), sizes)


# ------------------------------------------------------------ segments

B, S = Index("b"), Index("U")


def _owned(rng: random.Random, number: int) -> Program:
    """Rows of owners: each is loaded at some place, where its owner says."""
    k = KernelBuilder(f"owned_{number}", 1)
    A = k.input("A", "f32", ("N", 16))
    k.input("starts", "s32", (S,))
    k.input("longest", "s32", ())
    D = k.output("D", "f32", ("M", 16))
    longest = Index.element("longest")
    start, end = (looked("starts", B + i) for i in (0, 1))
    other = looked("others", B + rng.choice([0, 0, 0, 1]))
    row = rng.choice([other + Index("i"), other + Index("i"), start + Index("i"), other])
    if "others" in {x.operand for x in row.looked_up}:
        k.input("others", "s32", (S,))
    ends = rng.choice([end, end, end, end - 1, looked("starts", B + 2), end + 1])
    store = rng.choice([start, start, start, start + 1])
    b, i = k.grid(b=S - 1, i=rng.choice([longest, longest, longest - 1]))
    here = {"b": b, "i": i}
    turn = Index("i")
    with k.when(i < (ends - start).substitute(here)):
        k.load("x", A, (1, 16), at=(row.substitute(here), 0))
        k.store(D, "x", at=((store + turn).substitute(here), 0))
    claim_row = looked("others", B) + T - start
    inside = Where(T, end, Element("A", (claim_row, H)), Const(0.0))
    claimed = total("b", S - 1, Where(start, T + 1, inside, Const(0.0)))
    assumed: list[Assumption] = [Rising("starts", Index("M"))]
    own = end - start
    assumed.append(AtMost(own, longest, (("b", S - 1),)))
    assumed.append(AtMost(Index(), looked("others", B), (("b", S),)))
    assumed.append(AtMost(looked("others", B) + own, Index("N"), (("b", S - 1),)))
    if rng.random() < 0.15:
        assumed.pop(rng.randrange(len(assumed)))
    claims = (Claim("D", ("t", "h"), claimed),)
    tables = {"starts": (S,), "others": (S,), "longest": ()}
    kernel = with_claims(k.build(), claims, tuple(assumed), tables)
    told = f"D[{store + turn}] = A[{row}] for i < {ends - start}; {'; '.join(map(str, assumed))}"
    counts = kernel.grid[1][1]

    def right(sizes: Mapping[str, int], tables: Mapping[str, Array]) -> Array:
        return _owned_right(sizes, tables, counts, ends - start, store + turn, row)

    sizes = tuple({"M": m, "N": n, "U": u} for m in (1, 2, 3) for n in (2, 3) for u in (1, 2, 3))
    return Program(kernel, "owned", told, right, ("starts", "others", "longest"), sizes)


def _owned_right(
    sizes: Mapping[str, int], tables: Mapping[str, Array], counts: Index, length: Index,
    store: Index, row: Index,
) -> Array:  # fmt: skip
    n, rows, batches = count(tables), sizes["M"], sizes["U"] - 1
    scalars = {k: v for k, v in tables.items() if k != "longest"}
    longest = tables["longest"][:, 0]
    good = np.ones(n, bool)
    held = np.full((n, rows), -99)
    writers = np.zeros((n, rows), np.int64)
    most = longest + (counts - Index.element("longest")).offset
    for b in range(batches):
        for i in range(int(max(most.max(initial=0), 0))):
            names = {**sizes, "b": np.array([[b]]), "i": np.array([[i]])}
            runs = i < most
            size, fine = column(length, names, scalars)
            good &= ~runs | fine
            does = runs & fine & (i < size)
            at, fine = column(store, names, scalars)
            good &= ~does | fine
            source, fine = column(row, names, scalars)
            good &= ~does | fine
            source = np.where((source >= 0) & (source < sizes["N"]), source, -1)
            hits = does & (at >= 0) & (at < rows)
            where = np.flatnonzero(hits)
            writers[where, at[where]] += 1
            held[where, at[where]] = source[where]
    for t in range(rows):
        wanted = np.full(n, -98)
        owners = np.zeros(n, np.int64)
        for b in range(batches):
            starts, others = tables["starts"], tables["others"]
            mine = (starts[:, b] <= t) & (t < starts[:, b + 1])
            source = others[:, b] + t - starts[:, b]
            good &= ~mine | ((source >= 0) & (source < sizes["N"]))
            wanted = np.where(mine, source, wanted)
            owners += mine
        good &= (writers[:, t] == 1) & (owners == 1) & (held[:, t] == wanted)
    return good


def _segment(rng: random.Random, number: int) -> Program:
    """Sums over segments: rows from a start to the next one."""
    k = KernelBuilder(f"segment_{number}", 1)
    A = k.input("A", "f32", ("N", 16))
    k.input("starts", "s32", (S,))
    D = k.output("D", "f32", (S - 1, 16))
    E, R = Index("e"), Index("r")
    start, end = (looked("starts", E + i) for i in (0, 1))
    first = rng.choice([start, start, start, start + 1, Index()])
    last = rng.choice([end, end, end, end - 1, looked("starts", E + 2), start + 1])
    gathers = rng.random() < 0.5
    if gathers:
        k.input("rows", "s32", ("N",))
    row = looked("rows", R) if gathers else R
    if rng.random() < 0.15:
        row = row + 1
    (e,) = k.grid(e=S - 1)
    k.fill("acc", (1, 16))
    with k.loop("r", first.substitute({"e": e}), last.substitute({"e": e})) as r:
        k.load("x", A, (1, 16), at=(row.substitute({"r": r}), 0))
        k.map("acc", "acc + x")
    k.store(D, "acc", at=(e, 0))
    place = start + Index("j")
    source = looked("rows", place) if gathers else place
    claimed: Expression = total("j", end - start, Element("A", (source, H)))
    whole = rng.random() < 0.7
    assumed: list[Assumption] = [Rising("starts", Index("N"), whole)]
    if rng.random() < 0.9:
        assumed.append(InRange("rows", Index("N")))
    claims = (Claim("D", ("e", "h"), claimed),)
    kernel = with_claims(k.build(), claims, tuple(assumed), {"starts": (S,), "rows": (Index("N"),)})
    told = f"D[e] = sum of A[{row}] from {first} to {last}; {'; '.join(map(str, assumed))}"

    def right(sizes: Mapping[str, int], tables: Mapping[str, Array]) -> Array:
        return _segment_right(sizes, tables, first, last, row, source)

    sizes = tuple({"N": n, "U": u} for n in (1, 2, 3) for u in (1, 2, 3))
    return Program(kernel, "segment", told, right, ("starts", "rows"), sizes)


def _segment_right(
    sizes: Mapping[str, int], tables: Mapping[str, Array], first: Index, last: Index,
    row: Index, source: Index,
) -> Array:  # fmt: skip
    n, rows = count(tables), sizes["N"]
    good = np.ones(n, bool)
    for e in range(sizes["U"] - 1):
        mine, theirs = np.zeros((n, rows), np.int64), np.zeros((n, rows), np.int64)
        names = {**sizes, "e": np.array([[e]])}
        ends = [column(index, names, tables) for index in (first, last)]
        good &= ends[0][1] & ends[1][1]
        start, end = looked("starts", Index("e")), looked("starts", Index("e") + 1)
        (begins, fine), (stops, also) = (column(i, names, tables) for i in (start, end))
        good &= fine & also
        for r in range(-2, max(9, rows + 3)):
            does = (ends[0][0] <= r) & (r < ends[1][0])
            at, fine = column(row, {**names, "r": np.array([[r]])}, tables)
            good &= ~does | fine
            hits = np.flatnonzero(does & fine & (at >= 0) & (at < rows))
            mine[hits, at[hits]] += 1
            does = (r >= 0) & (begins + r < stops)
            at, fine = column(source, {**names, "j": np.array([[r]])}, tables)
            good &= ~does | (fine & (at >= 0) & (at < rows))
            hits = np.flatnonzero(does & fine & (at >= 0) & (at < rows))
            theirs[hits, at[hits]] += 1
        good &= (mine == theirs).all(axis=1)
    return good


KINDS = ("arithmetic", "nested", "scatter", "segment")


def program(number: int) -> Program:
    """Return one of the programs: the same for the same number, of those that are not refused."""
    rng = random.Random(number)
    while True:
        try:
            return _drawn(rng, number)
        except KernelError:
            continue


def _drawn(rng: random.Random, number: int) -> Program:
    match KINDS[number % 4]:
        case "arithmetic" | "nested" as kind:
            return _looking(rng, number, kind)
        case "scatter":
            return scatter(rng, number)
        case _:
            return rng.choice([_owned, _segment])(rng, number)


def _right_under(one: Program, verdict: Verdict) -> bool:
    """Whether a program that needs a condition is right for all small sizes that meet it.

    A verdict that leaves another property undecided says nothing of those sizes.
    """
    if {p.answer for p in verdict.proofs} & {"needs", "undecided"} != {"needs"}:
        return True
    needed = [p.condition for p in verdict.proofs if p.answer == "needs"]
    sizes = tuple(s for s in one.sizes if all(_meets(s, condition) for condition in needed))
    return truth(replace(one, sizes=sizes)) is not False


def _meets(sizes: Mapping[str, int], condition: str) -> bool:
    values = " and ".join(f"{name} = {size}" for name, size in sizes.items())
    return not isl.Set(f"{{ [{','.join(sizes)}] : ({condition}) and {values} }}").is_empty()


def answer(one: Program, verdict: Verdict, right: bool | None) -> bool:
    """Whether a verdict is true: what is proved is right, and what is disproved wrong as it shows.

    A program may be right for all small tables, and wrong for those of a counterexample. One that
    looks up what lies outside, in the order of its statements, has gone wrong by that; where one
    is wrong anyway, so may its claim have.
    """
    place = verdict.counterexample
    if verdict.answer in ("disproved", "needs"):
        if place is None or not cx.replay(one.kernel, place).shows:
            return False
        if place.claim == "bounds" and verdict.answer == "disproved":
            return True
        tables = {name: np.array(values) for name, (_, values) in place.tables.items()}
        wrong = right is False or not is_right(one, place.sizes, tables)
        return wrong and _right_under(one, verdict)
    return verdict.answer == "undecided" or right is not False
