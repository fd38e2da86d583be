"""Every name and template of a block-2D copy, as an atom, in tilings and in the tilings of MMAs.

Each is run and compared with an enumeration of its executed messages, and `verify` is held against
that: what it proves is what the run shows, what it disproves is not. Formulas are proved in both
orders of the values. What has no message or no order is refused by a row of ``atoms/``.

    python benchmarks/tiled_names.py [--count N] [--seed S] [--part I/N] [--kinds plain|all]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pycute_xe as cx
from pycute_xe.atom.formula import parts_of
from pycute_xe.bulk import layout_of
from pycute_xe.converting import host_dtype
from pycute_xe.cutlass.known_names import catalogue
from pycute_xe.errors import CuteError, LegalityError, ShapeError
from pycute_xe.facts import rows
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import numerics

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from executed_images import as_type, executed_places  # pyright: ignore[reportMissingImports]

FORMS = ("atom", "one block", "across", "down", "subgroups", "A", "B", "C")
BLOCKS = ("XE_2D_", "XE_LOAD_2D", "XE_STORE_2D", "XE_PREFETCH_2D")
PLAIN = {4: "u4", 8: "u8", 16: "u16", 32: "u32", 64: "u64"}
REASONS = tuple(str(row["condition"]) for row in rows("block2d_names", "without_order"))
BUDGET = 600.0
"""Of a verdict: no answer here may lack work."""

MMAS = {
    4: ("s32", "u4"),
    8: ("s32", "u8"),
    16: ("f32", "bf16"),
    32: ("f32", "tf32"),
}


@dataclass(frozen=True)
class Case:
    """A name with a type of its width."""

    name: str
    kind: str

    def __str__(self) -> str:
        """The name and the type."""
        return f"{self.name} of {self.kind}"


def cases(kinds: str = "all") -> list[Case]:
    """Return every name with every type of its width, or with the plain one."""
    out: list[Case] = []
    for name in map(str, catalogue()):
        if name.startswith(BLOCKS):
            atom: Any = cx.get_atom(name)
            bits = atom.value_type.bits
            every = [k for k in numerics() if cx.as_numeric(k).bits == bits]
            out += [Case(name, kind) for kind in (every if kinds == "all" else [PLAIN[bits]])]
    return out


# ------------------------------------------------------------ enumeration


def enumerated(copy: Any) -> np.ndarray:
    """Return the place in memory of each value: (subgroup, work-item, value, 2), -1 for none."""
    if not isinstance(copy, cx.TiledCopy):
        slots = executed_places(copy)
        return as_type(slots, copy.unit_bits // copy.value_type.bits)[None]
    atom: Any = copy.atom
    tile = copy.tiler_mn
    slots, step = executed_places(atom), atom.values * 16
    threads, values = (size(mode) for mode in copy.layout_tv_tiled)
    blocks, out = values // atom.values, []
    for subgroup in range(threads // 16):
        held = np.full(((blocks - 1) * step + max(step, len(slots)), 2), -1)
        for block in range(blocks):
            offset = copy.layout_tv_tiled(subgroup * 16, block * atom.values)
            start = np.array((offset % tile[0], offset // tile[0]))
            turned = slots if (copy.y_mode, copy.x_mode) == (0, 1) else slots[:, ::-1]
            moved = np.where(slots < 0, -1, turned + start)
            part = held[block * step : block * step + len(slots)]
            part[:] = np.where(moved < 0, part if atom.is_store else -1, moved)
        out.append(as_type(held, copy.unit_bits // copy.value_type.bits))
    return np.stack(out)


def claimed(copy: Any) -> np.ndarray:
    """Return the place of each value as layouts say: (subgroup, work-item, value, 2)."""
    if isinstance(copy, cx.TiledCopy):
        threads, values = (size(mode) for mode in copy.layout_tv_tiled)
        offsets = [[copy.layout_tv_tiled(t, v) for v in range(values)] for t in range(threads)]
        places = np.stack(np.divmod(np.array(offsets), copy.tiler_mn[0])[::-1], axis=-1)
        return places.reshape(-1, 16, values, 2)
    own = [[copy.place_in_memory(*place) for place in lane] for lane in copy.ownership()]
    return np.array(own)[None]


def memory_of(copy: Any) -> tuple[int, int]:
    """Return the rows and columns of the memory that a copy moves."""
    if isinstance(copy, cx.TiledCopy):
        return copy.tiler_mn[0], copy.tiler_mn[1]
    high, wide = copy.place_in_memory(copy.shape[0] - 1, copy.shape[1] - 1)
    return high + 1, wide + 1


def numbers(kind: Any, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return numbers that a type holds, few of them alike where it has many."""
    if kind.bits <= 8:
        return rng.choice([1, 2, 4], shape).astype(host_dtype(kind))
    return rng.integers(1, 200, shape).astype(host_dtype(kind))


def run_is_enumerated(copy: Any, rng: np.random.Generator) -> bool:
    """Run a copy on numbers; tell whether it moves what its executed messages do."""
    atom: Any = copy.atom if isinstance(copy, cx.TiledCopy) else copy
    held, memory = enumerated(copy), memory_of(copy)
    blank = np.zeros(memory, host_dtype(copy.value_type))  # bits, that not every type takes for 0
    nothing = float(blank.astype("f8").reshape(-1)[0])
    inside: Any = ((held >= 0) & (held < memory)).all(axis=-1)
    at = tuple(np.where(inside, held[..., i], 0) for i in (0, 1))
    if not atom.is_store:
        given = numbers(copy.value_type, memory, rng)
        wanted = np.where(inside, given[at].astype("f8"), nothing)
        there = np.asarray(cx.run(copy, given)).astype("f8").reshape(wanted.shape)
        return bool((there == wanted).all())
    stored = numbers(copy.value_type, held.shape[:-1], rng)
    given = stored if isinstance(copy, cx.TiledCopy) else stored[0]
    there = cx.run(copy, given, into=blank)
    wanted = np.full(memory, nothing)
    for subgroup in range(len(held)):  # later messages, which have later values, store over others
        moved = inside[subgroup].T
        rows_, columns = (x[subgroup].T[moved] for x in at)
        wanted[rows_, columns] = stored[subgroup].T[moved].astype("f8")
    return bool((np.asarray(there).astype("f8") == wanted).all())


# ------------------------------------------------------------ forms


def tilings(atom: Any) -> dict[str, Any]:
    """Return four tilings of an atom whose layout is what registers hold, or else its own."""
    try:
        places = atom.in_order("registers")
    except CuteError:
        places = atom.ownership()
    parts = parts_of(places)
    if parts is None:
        return {}
    rows_, columns = atom.shape
    out: dict[str, Any] = {}
    for form, (down, right, subgroups) in {
        "one block": (1, 1, False),
        "across": (1, 2, False),
        "down": (3, 1, False),
        "subgroups": (2, 2, True),
    }.items():
        tile = (rows_ * down, columns * right)
        lanes, values = (_offsets(parts, i, tile[0]) for i in (0, 1))
        more = Layout((down, right), (rows_, columns * tile[0]))
        if subgroups:
            tv = make_layout(make_layout(lanes, more), values)
        else:
            tv = make_layout(lanes, make_layout(values, more))
        out[form] = cx.make_tiled_copy(atom, tv, tile)
    return out


def _offsets(parts: Any, mode: int, step: int) -> Layout:
    """Return the offset in a tile of a work-item, or of a value, from its row and its column."""
    count = size(parts[0][mode])
    listed = [parts[0][mode](i) + parts[1][mode](i) * step for i in range(count)]
    layout = layout_of(listed)
    if layout is None:
        raise CuteError("tilings", {"mode": mode}, "no layout lists these offsets", "")
    return layout


def copies(case: Case) -> Iterator[tuple[str, Any]]:
    """Return the forms of a name: an atom, its tilings, and those of an MMA's operands."""
    atom: Any = cx.get_atom(case.name, case.kind)
    yield "atom", atom
    yield from tilings(atom).items()
    types = MMAS.get(atom.value_type.bits)
    if types is None:
        return
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, *types), (32, 32, 64), ((1, 1, 1), (1, 1, 0)))
    for operand, make in zip(
        "ABC", (cx.make_tiled_copy_A, cx.make_tiled_copy_B, cx.make_tiled_copy_C), strict=True
    ):
        try:
            yield operand, make(atom, mma)
        except CuteError:
            continue  # its values do not make whole atoms


# ------------------------------------------------------------ judging


def judged(case: Case, copy: Any, rng: np.random.Generator) -> str:
    """Return what is found of a form: proved, disproved and why, refused, or "wrong: …"."""
    prefetch = "PREFETCH" in case.name
    try:
        verdict = cx.verify(copy, budget=BUDGET, order=None if prefetch else "registers")
    except LegalityError as error:
        return f"illegal: {error.condition.partition(':')[0]}"
    if verdict.answer == "undecided":
        broken = [finding.broken.rule for finding in cx.check(copy).errors]
        if broken:
            return f"undecided, refused by check: {broken[0]}"
        return "wrong: undecided " + "; ".join(p.reason for p in verdict.proofs if p.reason)
    if prefetch:
        return f"{verdict.answer}, a prefetch"
    if not run_is_enumerated(copy, rng):
        return "wrong: the run differs from the enumeration"
    said, held = claimed(copy), enumerated(copy)
    values = said.shape[2]
    right = held.shape[2] >= values and bool((said == held[:, :, :values]).all())
    right = right and bool((held[:, :, values:] < 0).all())
    if right != (verdict.answer == "proved"):
        failed = [p.property for p in verdict.proofs if p.answer != "proved"]
        return f"wrong: {verdict.answer} {failed}, and the enumeration says {right}"
    if right:
        return "proved"
    same = all(  # padding lies between values, too
        np.array_equal(np.sort(mine), np.sort(own[own >= 0]))
        for mine, own in zip(_codes(said), _codes(held), strict=True)
    )
    try:
        answer = cx.verify(copy, budget=BUDGET, order="layout").answer
    except ShapeError:  # what the layout lists is not in registers
        answer = "disproved"
    if answer == "proved":
        said_so = "proved, in the order of its layout"
        return said_so if same else "wrong: proved, and work-items hold what others own"
    return "disproved, values in another order" if same else "disproved, other owners"


def _codes(places: np.ndarray) -> np.ndarray:
    """Return a number for each place, a row for each work-item; negative for padding."""
    return (places[..., 0] * 4096 + places[..., 1]).reshape(-1, places.shape[2])


def formulas(case: Case) -> Iterator[tuple[str, str]]:
    """Return what is found of the formula of an atom in each order."""
    atom: Any = cx.get_atom(case.name, case.kind)
    if "PREFETCH" in case.name:
        return
    for order in ("layout", "registers"):
        try:
            row, column = atom.formula(order=order)
            verdict = cx.verify(atom, row=row, column=column, order=order)
        except LegalityError:
            yield order, "illegal"
        except CuteError as error:
            named = [reason for reason in REASONS if reason in error.condition]
            yield order, f"refused: {named[0]}" if named else f"wrong: {error.condition}"
        else:
            right = verdict.answer == "proved"
            yield order, "proved" if right else f"wrong: {verdict.answer}"


def judge(cases_: list[Case], seed: int = 0) -> Counter[tuple[str, str]]:
    """Judge every form of cases; print what is wrong. Return how many there are of each answer."""
    counts: Counter[tuple[str, str]] = Counter()
    rng = np.random.default_rng(seed)
    for case in cases_:
        try:
            answers = [(form, judged(case, copy, rng)) for form, copy in copies(case)]
            answers += [(f"formula, {order}", found) for order, found in formulas(case)]
        except CuteError as error:
            answers = [("all", f"wrong: {error}")]
        for form, found in answers:
            counts[form, found] += 1
            if found.startswith("wrong"):
                print(case, form, found, flush=True)
    return counts


def main() -> None:
    """Judge all cases, or so many at random; exit with 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=0, help="of names with types; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="0/1", help="I/N: each N-th case, from the I-th")
    parser.add_argument("--kinds", choices=("all", "plain"), default="all")
    given = parser.parse_args()
    chosen, start = cases(given.kinds), time.perf_counter()
    random.Random(given.seed).shuffle(chosen)
    first, parts = map(int, given.part.split("/"))
    chosen = (chosen[: given.count] if given.count else chosen)[first::parts]
    counts = judge(chosen, given.seed)
    for (form, found), count in sorted(counts.items()):
        print(f"{count:6} {form:<20} {found}")
    print(f"{len(chosen)} names with types in {time.perf_counter() - start:.0f} s")
    raise SystemExit(any(found.startswith("wrong") for _, found in counts))


if __name__ == "__main__":
    main()
