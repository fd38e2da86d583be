"""Random programs that look up tables, what they claim, and the truth by all small tables.

A quarter each: one lookup and arithmetic on it, nested lookups, rows of owners, and sums over
segments. The truth is a formula of its own: indices evaluated for all tables at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from pycute_xe.kernel import Claim, Element, Index, Kernel, KernelBuilder, Operand, Specification
from pycute_xe.kernel.index import Looked, Quotient
from pycute_xe.kernel.spec.expression import Const, Expression, Total, Where, total
from pycute_xe.kernel.spec.tables import Assumption, AtMost, InRange, Rising

__all__ = ["KINDS", "Program", "program", "truth"]

Array = Any
T, H = Index("t"), Index("h")


@dataclass(frozen=True)
class Program:
    """A kernel, and its truth: given sizes and all tables, is it right for each of them?"""

    kernel: Kernel
    kind: str
    told: str
    right: Callable[[Mapping[str, int], Mapping[str, Array]], Array]
    tables: tuple[str, ...]
    sizes: tuple[dict[str, int], ...]


def looked(operand: str, at: Index) -> Index:
    """Return an entry of a table."""
    return Index.element(operand, at)


# ------------------------------------------------------------ indices at all tables


def value(index: Index, names: Mapping[str, Array], tables: Mapping[str, Array]) -> Array:
    """Return an index for all tables at once, and whether all lookups are inside: (value, ok)."""
    out: Array = index.offset
    ok: Array = True
    for atom, scale in index.terms:
        match atom:
            case str():
                part, fine = names[atom], True
            case Quotient(inner, divisor):
                part, fine = value(inner, names, tables)
                part = part // divisor
            case Looked(operand, ()):
                part, fine = tables[operand], True
            case Looked(operand, (at,)):
                place, fine = value(at, names, tables)
                place, table = np.atleast_2d(place), tables[operand]
                inside = (place >= 0) & (place < table.shape[1])
                shape = (table.shape[0], *np.shape(place)[1:])
                kept = np.broadcast_to(np.where(inside, place, 0), shape)
                flat = kept.reshape(table.shape[0], -1)
                part = np.take_along_axis(table, flat, axis=1).reshape(kept.shape)
                fine = fine & inside
            case _:
                raise AssertionError(atom)
        out, ok = out + scale * part, ok & fine
    return out, ok


def every_table(shapes: Mapping[str, int], most: int) -> dict[str, Array]:
    """Return all tables of some lengths with entries below a number, side by side."""
    count = sum(shapes.values())
    rows = np.array(list(product(range(most), repeat=count)), np.int64).reshape(-1, count)
    out: dict[str, Array] = {}
    start = 0
    for name, length in shapes.items():
        out[name] = rows[:, start : start + length]
        start += length
    return out


# ------------------------------------------------------------ programs


def _gathered(
    name: str, index: Index, claimed: Index, assumed: tuple[Assumption, ...], rows: Index
) -> Kernel:
    """Return ``D[t, h] = A[claimed(t), h]``, in which the row at ``index`` is loaded."""
    k = KernelBuilder(name, 1)
    A = k.input("A", "f32", ("P", 16))
    for table in sorted({x.operand for x in index.looked_up}):
        k.input(table, "s32", (rows,))
    D = k.output("D", "f32", ("M", 16))
    (t,) = k.grid(t="M")
    k.load("x", A, (1, 16), at=(index.substitute({"t": t}), 0))
    k.store(D, "x", at=(t, 0))
    claims = (Claim("D", ("t", "h"), Element("A", (claimed, H))),)
    return with_claims(k.build(), claims, assumed, {"T": (rows,), "U": (rows,)})


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


def _row_right(
    index: Index, claimed: Index, assumed: tuple[Assumption, ...], modes: Mapping[str, Any]
) -> Callable[[Mapping[str, int], Mapping[str, Array]], Array]:
    def right(sizes: Mapping[str, int], tables: Mapping[str, Array]) -> Array:
        names = {**sizes, "t": np.arange(sizes["M"])[None]}
        got, fine = value(index, names, tables)
        wanted, defined = value(claimed, names, tables)
        inside = (wanted >= 0) & (wanted < sizes["P"])
        good = fine & defined & inside & (got == wanted)
        return np.broadcast_to(good, (count(tables), sizes["M"])).all(axis=1)

    return right


def count(tables: Mapping[str, Array]) -> int:
    """Return how many tables lie side by side."""
    return next(iter(tables.values())).shape[0]


def _affine(rng: random.Random, inner: Index) -> Index:
    """Return arithmetic on an index."""
    match rng.randrange(5):
        case 0:
            return inner + rng.choice([0, 1])
        case 1:
            return inner * 2
        case 2:
            return (inner + rng.choice([0, 1])) // 2
        case 3:
            return inner * 2 - inner
        case _:
            return inner


def _arguments(rng: random.Random) -> Index:
    return rng.choice([T, T, T + 1, T // 2, T - T // 2, Index(None, 0)])


def _spare(rng: random.Random, index: Index) -> Index:
    """Return an index that says the same in another way, or something else."""
    match rng.randrange(6):
        case 0:
            return index + 1
        case 1:
            return _with_arguments(index, 1)
        case 2:
            return index + T - T
        case 3:
            return _swapped(index)
        case _:
            return index


def _with_arguments(index: Index, more: int) -> Index:
    out = Index(None, index.offset)
    for atom, scale in index.terms:
        part = Index.of({atom: 1}, 0)
        if isinstance(atom, Looked):
            part = Index.element(atom.operand, *(at + more for at in atom.at))
        out = out + part * scale
    return out


def _swapped(index: Index) -> Index:
    out = Index(None, index.offset)
    for atom, scale in index.terms:
        part = Index.of({atom: 1}, 0)
        if isinstance(atom, Looked):
            part = Index.element("U" if atom.operand == "T" else "T", *atom.at)
        out = out + part * scale
    return out


ROWS = Index("M") + 1
MODES = {"T": (ROWS,), "U": (ROWS,)}


def _lookups(rng: random.Random, number: int, nested: bool) -> Program:
    inner = looked(rng.choice("TU"), _arguments(rng))
    if nested:
        inner = looked(rng.choice("TU"), rng.choice([inner, inner, inner // 2]))
    index = _affine(rng, inner)
    claimed = _spare(rng, index)
    twice = rng.random() < 0.8
    assumed: list[Assumption] = []
    if twice:
        below = rng.choice([Index("P"), (Index("P") - 1), (Index("P") + 1) // 2, Index("P")])
        if nested:
            assumed += [InRange(name, ROWS) for name in "TU"]
            assumed += [AtMost(looked(x, Index("i")), Index("P") - 1, (("i", ROWS),)) for x in "TU"]
        else:
            assumed += [InRange(name, below) for name in "TU"]
    if rng.random() < 0.3:
        assumed.append(Rising("T", Index("P") - 1, whole=rng.random() < 0.5))
    kernel = _gathered(f"lookup_{number}", index, claimed, tuple(assumed), ROWS)
    told = f"D[t] = A[{index}], claimed A[{claimed}]; {'; '.join(map(str, assumed))}"
    right = _row_right(index, claimed, tuple(assumed), MODES)
    sizes = tuple({"M": m, "P": p} for m in (1, 2) for p in (1, 2, 4, 6))
    return Program(kernel, "nested" if nested else "lookup", told, right, ("T", "U"), sizes)


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
            size, fine = (np.broadcast_to(x, (n, 1))[:, 0] for x in value(length, names, scalars))
            good &= ~runs | fine
            does = runs & fine & (i < size)
            at, fine = (np.broadcast_to(x, (n, 1))[:, 0] for x in value(store, names, scalars))
            good &= ~does | fine
            source, fine = (np.broadcast_to(x, (n, 1))[:, 0] for x in value(row, names, scalars))
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
    kernel = with_claims(k.build(), claims, tuple(assumed), {"starts": (S,), "rows": ("N",)})
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
        ends = [_column(value(index, names, tables), n) for index in (first, last)]
        good &= ends[0][1] & ends[1][1]
        start, end = looked("starts", Index("e")), looked("starts", Index("e") + 1)
        (begins, fine), (stops, also) = (_column(value(i, names, tables), n) for i in (start, end))
        good &= fine & also
        for r in range(-2, 9):
            does = (ends[0][0] <= r) & (r < ends[1][0])
            at, fine = _column(value(row, {**names, "r": np.array([[r]])}, tables), n)
            good &= ~does | fine
            hits = np.flatnonzero(does & fine & (at >= 0) & (at < rows))
            mine[hits, at[hits]] += 1
            does = (r >= 0) & (begins + r < stops)
            at, fine = _column(value(source, {**names, "j": np.array([[r]])}, tables), n)
            good &= ~does | (fine & (at >= 0) & (at < rows))
            hits = np.flatnonzero(does & fine & (at >= 0) & (at < rows))
            theirs[hits, at[hits]] += 1
        good &= (mine == theirs).all(axis=1)
    return good


def _column(pair: tuple[Array, Array], n: int) -> tuple[Array, Array]:
    found, fine = (np.broadcast_to(x, (n, 1))[:, 0] for x in pair)
    return found, fine


KINDS = ("lookup", "nested", "owned", "segment")


def program(number: int) -> Program:
    """Return one of the programs: the same for the same number."""
    rng = random.Random(number)
    match KINDS[number % 4]:
        case "lookup":
            return _lookups(rng, number, nested=False)
        case "nested":
            return _lookups(rng, number, nested=True)
        case "owned":
            return _owned(rng, number)
        case _:
            return _segment(rng, number)


MOST = {1: 6, 2: 6, 3: 6, 4: 4, 5: 3, 6: 3}
"""Below what entries are, by how many a problem has."""


def truth(one: Program) -> bool | None:
    """Whether a program is right for all small sizes and all small tables that are allowed.

    None where none are allowed.
    """
    modes = {o.name: o.modes for o in one.kernel.operands}
    assert one.kernel.computes is not None
    some = False
    for sizes in one.sizes:
        known = [t for t in one.tables if t in modes]
        shapes = {t: modes[t][0].at(sizes) if modes[t] else 1 for t in known}
        length = sum(shapes.values())
        tables = every_table(shapes, MOST.get(length, 2))
        kept = np.ones(count(tables), bool)
        for assumption in one.kernel.computes.tables:
            kept &= keeps(assumption, modes, tables, sizes)
        tables = {name: table[kept] for name, table in tables.items()}
        some = some or count(tables) > 0
        if count(tables) and not one.right(sizes, tables).all():
            return False
    return True if some else None


def keeps(
    one: Assumption, modes: Mapping[str, Any], tables: Mapping[str, Array], sizes: Mapping[str, int]
) -> Array:
    """Return which of many tables keep an assumption: its laws at all values of their variables."""
    out = np.ones(count(tables), bool)
    for law in one.laws(modes):
        ranges = (range(max(0, extent.at(sizes))) for _, extent in law.over)
        for place in product(*ranges):
            named = zip((name for name, _ in law.over), place, strict=True)
            names = {**sizes, **{name: np.array([[at]]) for name, at in named}}

            def holds(left: Index, right: Index, sign: str, at: Mapping[str, Any] = names) -> Array:
                sides = (_entry(side, at, tables) for side in (left, right))
                return SIGNS[sign](*sides)

            asked = np.ones(count(tables), bool)
            for relation in law.when:
                asked &= holds(*relation)
            met = [holds(*relation) for relation in law.then]
            out &= ~asked | (np.all(met, axis=0) if law.joined else np.any(met, axis=0))
    return out


SIGNS: dict[str, Callable[[Array, Array], Array]] = {
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


def _entry(index: Index, names: Mapping[str, Any], tables: Mapping[str, Array]) -> Array:
    found, _ = _column(value(index, names, tables), count(tables))
    return found
