"""The field's other configurations: converted and scaled operands, groups, schedules, epilogues.

Each is built, checked, verified and run, and compared with NumPy's float64, as `family_gemms` does
with the plain ones. Rows are facts read from public sources (tests/data/README.md says which, and
what they leave open). Run as a program it judges every row and writes its table of docs/family.md.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import family_gemms
import numpy as np
from family_gemms import ORDER, PAGE, PRECISION, summed, table

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel, scheduled, whole_tiles
from pycute_xe.kernel.schedules import Grouped, StreamK, plan_tables, tile_counts

HERE = Path(__file__).parent
ROWS = HERE / "data" / "family_forms.tsv"
RESULTS = HERE / "data" / "family_forms_results.json"
DIGITS = {**PRECISION, "f8e4m3": 4, "f8e5m2": 3}
GROUPED = re.compile(r"(\w+)\[([^\]]*)\]")


@dataclass(frozen=True)
class Row:
    """One configuration, and how many rows of the sources have it."""

    group: str
    name: str
    form: str
    A: str
    B: str
    compute: str
    acc: str
    C: str
    D: str
    orders: str
    tile: tuple[int, int, int]
    subgroups: tuple[int, int]
    stages: int
    targets: tuple[str, ...]
    how: dict[str, Any] = field(default_factory=dict)
    rows: int = 1

    def kernel(self) -> Kernel:
        """Build the kernel, or raise the library's refusal."""
        m, n = self.subgroups
        op = cx.XE_DPAS_TT(8, self.acc, self.compute)
        mma = cx.workgroup_mma(op, tile=self.tile, subgroups=((m, n, 1), (n, 1, 0)))
        return FORMS[self.form](self, mma)

    def provable(self, kernel: Kernel) -> Kernel:
        """The kernel that is proved: of one that follows a plan, what it does with a tile."""
        return whole_tiles(kernel) if FORMS[self.form] is _planned else kernel

    def given(self) -> dict[str, Any]:
        """The keyword arguments of a kind of kernel: types, orders, transforms, epilogue."""
        types = {**self.how.get("types", {}), "A": self.A, "B": self.B}
        given = {**self.how, "types": types, "d_type": self.D}
        if self.C != "-":
            given |= {"epilogue": "alpha*acc + beta*C", "orders": {"C": ORDER[self.orders[2]]}}
            types["C"] = self.C
        if "C" in given.get("epilogue", ""):
            given["epilogue_tile"] = (8, 16)  # what CUTLASS's epilogue loads of C at a time
        return given

    @property
    def heading(self) -> str:
        """The group, the form and the types under which it is counted."""
        form = "" if self.form == "gemm" else f", {self.form}"
        return f"{self.group}{form}: {self.A}·{self.B} by {self.compute} → {self.acc}"


def rows() -> tuple[Row, ...]:
    """Every configuration that is not a plain GEMM, and those of plain ones that stream-K deals."""
    lines = ROWS.read_text(encoding="utf-8").splitlines()[1:]
    return (*(_row(line.split("\t")) for line in lines), *_streamed())


def _streamed() -> Iterator[Row]:
    """The plain GEMMs whose tiles are dealt by stream-K.

    One for each type, accumulator, tile and order of A and B stands for all: of their grids and
    types of C and D it has another each time.
    """
    alike: dict[tuple[Any, ...], list[family_gemms.Row]] = {}
    for row in family_gemms.rows():
        if row.streamed:
            alike.setdefault((row.A, row.acc, row.orders[:2], row.tile), []).append(row)
    for number, found in enumerate(alike.values()):
        row = found[number % len(found)]
        types = (row.A, row.B, row.A, row.acc, row.C, row.D, row.orders)
        place = (row.tile, row.subgroups, row.stages, row.targets)
        yield Row(row.group, "", "stream_k", *types, *place, rows=sum(x.streamed for x in found))


def _row(cells: list[str]) -> Row:
    tile, grid = (tuple(map(int, cell.split("x"))) for cell in cells[10:12])
    how = {} if cells[14] == "-" else json.loads(cells[14])
    stages, targets = int(cells[12]), tuple(cells[13].split("+"))
    return Row(*cells[:10], tile, grid, stages, targets, how, int(cells[15]))


def _gemm(row: Row, mma: Any) -> Kernel:
    a, b, _, d = (ORDER[letter] for letter in row.orders)
    return cx.kernel.gemm(mma, a, b, d, row.stages, **row.given())


def _planned(row: Row, mma: Any) -> Kernel:
    a, b, _, d = (ORDER[letter] for letter in row.orders)
    given = {name: value for name, value in row.given().items() if name != "epilogue_tile"}
    groups: Any = "none" if row.form == "stream_k" else "batch"
    fixup = row.form == "stream_k"
    return scheduled(mma, a, b, d, row.stages, groups=groups, fixup=fixup, **given)


def _block_scaled(row: Row, _mma: Any) -> Kernel:
    """An MMA that the library names and refuses."""
    cx.get_atom(row.name)
    raise AssertionError(f"{row.name} has rows: describe the kernel")


def _chained(row: Row, mma: Any) -> Kernel:
    return cx.kernel.chained_gemm(mma, mma, stages=row.stages)


def _softmax(row: Row, mma: Any) -> Kernel:
    return cx.kernel.softmax_gemm(mma, stages=row.stages)


def _top(row: Row, mma: Any) -> Kernel:
    return cx.kernel.top_k_gemm(mma, stages=row.stages)


FORMS: dict[str, Callable[[Row, Any], Kernel]] = {
    "gemm": _gemm,
    "none": _block_scaled,
    "experts": _planned,
    "grouped": _planned,
    "stream_k": _planned,
    "chained": _chained,
    "softmax": _softmax,
    "topk": _top,
}


# ------------------------------------------------------------------ inputs and what is expected


def arrays(row: Row, kernel: Kernel, sizes: dict[str, int], exact: bool) -> dict[str, Any]:
    """Inputs of a problem: small numbers whose sums are exact, or values of the whole type."""
    rng = np.random.default_rng(sum(sizes.values()))
    out: dict[str, Any] = {}
    for operand in kernel.inputs:
        if operand.name in ("work", "count"):
            continue
        kind, shape = operand.value_type, tuple(mode.at(sizes) for mode in operand.modes)
        dtype = numpy_dtype("f32" if kind.name == "tf32" else kind)
        if operand.name in ("alpha", "beta"):
            values: Any = np.float64(2.0 if operand.name == "alpha" else -1.0)
        elif "scale" in operand.name or operand.name in ("sa", "sb"):
            # What is divided by one stays whole: CUTLASS cuts off what the library would round.
            most = 1 if "scale" in row.how.get("transform_a", "") and row.compute == "s8" else 2
            values = np.exp2(rng.integers(-1, most, shape))
        elif exact or row.compute == "s8":
            values = rng.integers(0 if kind.kind == "unsigned" else -2, 3, shape)
        elif kind.kind == "float":
            values = rng.integers(-7, 8, shape) / 8  # four bits, which all types hold
        else:
            low = 0 if kind.kind == "unsigned" else -(1 << (kind.bits - 1))
            values = rng.integers(low, low + (1 << kind.bits), shape)
        out[operand.name] = np.asarray(values).astype(dtype)
    return {name: value if value.shape else value.item() for name, value in out.items()}


def _told(text: str, given: dict[str, Any], places: dict[str, np.ndarray]) -> np.ndarray:
    """An expression of arrays, elementwise: ``scale[k/128,n]`` at the places of k and n."""
    names: dict[str, Any] = {n: np.asarray(v, dtype=np.float64) for n, v in given.items()}
    names |= FUNCTIONS

    def looked(match: re.Match[str]) -> str:
        name, indices = match.groups()
        at = (eval(i.replace("/", "//"), {}, dict(places)) for i in indices.split(","))
        names[f"{name}_"] = names[name][tuple(at)]
        return f"{name}_"

    return np.asarray(eval(GROUPED.sub(looked, text), {}, names))


def _erf(x: np.ndarray) -> np.ndarray:
    from math import erf

    return np.vectorize(erf)(x)


FUNCTIONS: dict[str, Any] = {
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * 0.5 * (1 + _erf(x / np.sqrt(2))),
    "f32": lambda x: x,
    "s8": lambda x: np.rint(x).clip(-128, 127),
}


def expected(row: Row, given: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """What NumPy alone computes in float64, and how far a result may be from it.

    A product may err by the roundings of its two operands to the type that is multiplied, the sum
    by K·2⁻²⁴ of the sum of their sizes, an epilogue by a few roundings in f32, and the output by
    one of its type.
    """
    m, n = np.arange(given["A"].shape[-2]), np.arange(given["B"].shape[-1])
    k = np.arange(given["A"].shape[-1])
    sides = {"A": {"m": m[:, None], "k": k[None]}, "B": {"k": k[:, None], "n": n[None]}}
    texts = {"A": row.how.get("transform_a", "A"), "B": row.how.get("transform_b", "B")}
    texts = {name: text.replace("[l,", "[") for name, text in texts.items()}  # of one problem
    a, b = (_told(texts[name], given, sides[name]) for name in "AB")
    value, sizes = a @ b, np.abs(a) @ np.abs(b)
    if row.acc == "f32":
        unit = 3 * 2.0 ** -PRECISION[row.compute] if texts != {"A": "A", "B": "B"} else 0
        off = (k.size * 2.0**-24 + unit) * sizes
    else:
        off = np.zeros_like(value)
    epilogue = "alpha*acc + beta*C" if row.C != "-" else row.how.get("epilogue", "acc")
    if epilogue != "acc":
        before = value
        value = _told(epilogue, given | {"acc": before}, {"m": m[:, None], "n": n[None]})
        off = 4 * off + 2.0**-18 * (np.abs(value) + np.abs(before) + 1)
    if numpy_dtype(row.D).kind == "i":
        limits = np.iinfo(numpy_dtype(row.D))
        value = value.clip(limits.min, limits.max)
    elif row.acc != row.D:
        off = off + 2.0 ** -DIGITS.get(row.D, 24) * (np.abs(value) + off) + 2.0**-25
    return value, off


def edges(row: Row) -> tuple[dict[str, int], ...]:
    """Three problems at the edges: less than a tile, a little more than one, and one row.

    Of stream-K the one whose tiles have several pieces.
    """
    (m, n, k), batch = row.tile, {"L": 2} if row.how.get("batch") else {}
    sizes = ((m - 1, n - 3, k - 1), (m + 1, n + 5, 2 * k + 3), (1, n, k + 8))
    if row.form in ("softmax", "topk", "chained"):  # a tile has all columns of the first product
        sizes = tuple((x, n, z) for x, _, z in sizes)
    if row.form == "stream_k":
        sizes = sizes[1:2]
    return tuple({"M": x, "N": y, "K": z} | batch for x, y, z in sizes)


def wrong_runs(row: Row, kernel: Kernel, executor: Any) -> Iterator[dict[str, int]]:
    """The problems in which a run differs from NumPy's result by more than it may."""
    for sizes, exact in zip(edges(row), (True, False, True), strict=False):
        problem = PROBLEMS.get(row.form, _single)(row, kernel, sizes, exact)
        found = cx.run(kernel, executor=executor, **problem.given)
        out = np.asarray(getattr(found, "D", found)).astype(np.float64)
        inexact = {"gelu", "silu"} & {*re.findall(r"\w+", row.how.get("epilogue", ""))}
        sure = exact and not inexact and row.form not in ("softmax", "topk")
        for place, (wanted, off) in problem.expected:
            part = out if place is None else out[place]
            if not close(row, part, wanted, 0 * off if sure else off):
                yield sizes
                break


def close(row: Row, out: np.ndarray, wanted: np.ndarray, off: np.ndarray) -> bool:
    """Whether a result is the rounded one wanted, or within its bound."""
    with np.errstate(over="ignore", invalid="ignore"):  # f8e4m3 has no infinity: it becomes NaN
        rounded = wanted.astype(np.float32).astype(numpy_dtype(row.D)).astype(np.float64)
    equal = (out == rounded) | (np.isnan(out) & np.isnan(rounded))
    return bool((equal | ((np.abs(out - wanted) <= off) & (off > 0))).all())


@dataclass(frozen=True)
class Problem:
    """What a run is given, and what is expected where in its output, each with its bound."""

    given: dict[str, Any]
    expected: list[tuple[Any, tuple[np.ndarray, np.ndarray]]]


def _single(row: Row, kernel: Kernel, sizes: dict[str, int], exact: bool) -> Problem:
    given = arrays(row, kernel, sizes, exact)
    return Problem(given, [(None, expected(row, given))])


def _stream(row: Row, kernel: Kernel, sizes: dict[str, int], exact: bool) -> Problem:
    """One problem in pieces, more than one for most tiles."""
    plan = StreamK(5, least=1).plan(tile_counts(*(sizes[x] for x in "MNK"), row.tile))
    given = arrays(row, kernel, sizes | SCRATCH, exact)
    return Problem(given | plan_tables(plan), [(None, expected(row, given))])


def _grouped(row: Row, kernel: Kernel, sizes: dict[str, int], exact: bool) -> Problem:
    """Three problems, the second empty and the third small, in arrays as large as the first."""
    small = {"M": 1, "N": row.tile[1] // 2, "K": row.tile[2]}
    problems = (sizes, {"M": 0, "N": 1, "K": 1}, {x: min(sizes[x], small[x]) for x in "MNK"})
    sizes_of = (problems[0], problems[2])
    first, last = (tile_counts(*(p[x] for x in "MNK"), row.tile) for p in sizes_of)
    plan = Grouped(3).plan(first, (0, 1, 1), last)
    given = arrays(row, kernel, sizes | SCRATCH | {"L": len(problems)}, exact)
    wanted: list[tuple[Any, tuple[np.ndarray, np.ndarray]]] = []
    for number, p in enumerate(problems):
        given["A"][number, p["M"] :] = given["A"][number, :, p["K"] :] = 0
        given["B"][number, :, p["N"] :] = given["B"][number, p["K"] :] = 0
        part = np.s_[number, : p["M"], : p["N"]]
        whole = expected(row, {n: _of(x, number) for n, x in given.items()})
        wanted.append((part, (whole[0][part[1:]], whole[1][part[1:]])))
    return Problem(given | plan_tables(plan), wanted)


def _experts(row: Row, kernel: Kernel, sizes: dict[str, int], exact: bool) -> Problem:
    """Three experts, the second without rows: rows of all, one after the other, without padding.

    Each expert's rows are a matrix of its own, that begins where those of the last one end, as a
    pointer into them does.
    """
    counts = (sizes["M"], 0, 3)
    starts = np.cumsum([0, *counts])
    tiles = (tile_counts(count, sizes["N"], sizes["K"], row.tile) for count in counts if count)
    first, last = tiles
    plan = Grouped(3).plan(first, (0, *first[1:]), last)
    given = arrays(row, kernel, sizes | SCRATCH | {"L": 3, "M": max(counts)}, exact)
    all_rows = given["A"].reshape(-1, sizes["K"])[: starts[-1]].copy()
    given["A"][:] = 0
    wanted: list[tuple[Any, tuple[np.ndarray, np.ndarray]]] = []
    for number, count in enumerate(counts):
        given["A"][number, :count] = mine = all_rows[starts[number] : starts[number + 1]]
        one = {n: _of(x, number) for n, x in given.items()}
        wanted.append((np.s_[number, :count], expected(row, one | {"A": mine})))
    return Problem(given | plan_tables(plan), wanted)


def _of(value: Any, number: int) -> Any:
    """The part of a batch that belongs to one problem; a scalar belongs to all."""
    return value[number] if isinstance(value, np.ndarray) else value


def _two(row: Row, kernel: Kernel, sizes: dict[str, int], exact: bool) -> Problem:
    """Two products, the first one rounded to the type that is multiplied."""
    given = arrays(row, kernel, sizes | {"J": row.tile[1]}, exact)
    a, b0, b1 = (np.asarray(given[n], dtype=np.float64) for n in ("A", "B0", "B1"))
    first = (a @ b0).astype(np.float32).astype(numpy_dtype(row.compute)).astype(np.float64)
    off = 2.0**-9 * (np.abs(a) @ np.abs(b0) @ np.abs(b1))
    return Problem(given, [(None, (first @ b1, off))])


def _weights(row: Row, kernel: Kernel, sizes: dict[str, int], exact: bool) -> Problem:
    given = arrays(row, kernel, sizes, exact)
    scores = given["A"].astype(np.float64) @ given["B"].astype(np.float64)
    power = np.exp(scores - scores.max(1, keepdims=True))
    value = power / power.sum(1, keepdims=True)
    return Problem(given, [(None, (value, 2.0**-12 * value + 2.0**-20))])


def _largest(row: Row, kernel: Kernel, sizes: dict[str, int], exact: bool) -> Problem:
    """The two largest values of a row, those equal to them included; no sum is rounded."""
    given = arrays(row, kernel, sizes, exact=True)
    scores = given["A"].astype(np.float64) @ given["B"].astype(np.float64)
    second = np.array([[[*sorted({*line})][-2:][0]] for line in scores.tolist()])
    power = np.where(scores >= second, np.exp(scores - scores.max(1, keepdims=True)), 0)
    value = power / power.sum(1, keepdims=True)
    return Problem(given, [(None, (value, 2.0**-12 * value + 2.0**-20))])


# Tables and counters that a plan fills in; their sizes matter to nobody.
SCRATCH = {"U": 1, "P": 1}
PROBLEMS = {
    "stream_k": _stream,
    "grouped": _grouped,
    "experts": _experts,
    "chained": _two,
    "softmax": _weights,
    "topk": _largest,
}


# ------------------------------------------------------------------ the judgement and the page


def judged(row: Row, reference: bool = False) -> dict[str, Any]:
    """Describe, check, verify and run a row; say how each went."""
    out: dict[str, Any] = {"row": asdict(row), "built": True, "check": {}, "wrong": []}
    out |= {"heading": row.heading, "seconds": 0.0}
    try:
        kernel = row.kernel()
    except CuteError as error:
        return out | {"built": False, "refused": f"{type(error).__name__}: {error.condition}"}
    for target in row.targets:
        out["check"][target] = sorted({f.broken.rule for f in cx.check(kernel, target).errors})
    verdict = cx.verify(row.provable(kernel), budget=60)  # as others may keep the machine busy
    out |= {"verdict": verdict.answer, "seconds": round(verdict.seconds, 3)}
    for executor in ("fast", "reference") if reference else ("fast",):
        out["wrong"] += [[executor, sizes] for sizes in wrong_runs(row, kernel, executor)]
    return out


MADE = re.compile(r"(<!-- made: family_forms (\w+) -->\n).*?(<!-- end of made -->\n)", re.DOTALL)


def page(text: str, results: dict[str, Any]) -> str:
    """The page with its table as the results say."""
    return MADE.sub(lambda m: f"{m[1]}{table(results, False)}{m[3]}", text)


def _judge(numbered: tuple[int, Row]) -> dict[str, Any]:
    number, row = numbered
    return judged(row, reference=number % 16 == 0)


def main() -> None:
    """Judge every row, and write what came of it where none was left out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1, help="judge one row in so many")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    todo = list(enumerate(rows()))[:: asked.every]
    found: list[dict[str, Any]] = []
    with Pool(asked.workers) as pool:
        for number, one in enumerate(pool.imap(_judge, todo, chunksize=2), 1):
            found.append(one)
            if one["wrong"] or one.get("verdict", "proved") != "proved":
                print(one, flush=True)
            if number % 50 == 0:
                print(f"{number} of {len(todo)}", flush=True)
    results = summed(found)
    words = json.dumps(results, indent=1, ensure_ascii=False)
    print(words)
    if asked.every == 1:
        RESULTS.write_text(words + "\n", encoding="utf-8")
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
