"""Random kernels on which the array executor and the simulator must give the same bits.

Programs of a `KernelBuilder`: loads, maps, conversions, reductions, shared memory, loops with
state, atomic additions, and (`executor_products`) products, vectors, scalars, conditions, tables;
integers of all widths at the limits of their types, floats small enough that every result is exact.
Matrices lie by rows or by columns. Outputs are compared bit for bit, twice with
each kernel, since a run is recorded and played again. What one executor refuses, both refuse.

    python benchmarks/executor_programs.py --count 5000 --seed 0
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import executor_products
import numpy as np
from numpy.typing import NDArray

import pycute_xe as cx
from pycute_xe.converting import convert, host_dtype
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Index, Kernel, KernelBuilder, Tiles

INTEGERS = ("s8", "u8", "s16", "u16", "s32", "u32", "s32", "u32", "s64", "u64")
FLOATS = ("f32", "f32", "bf16", "f16")
Order: TypeAlias = Literal["row", "col"]
ORDERS: tuple[Order, ...] = ("row", "row", "row", "col")
SIDE = 32
"""Rows and columns of a tile: whole messages of every type."""

UNARY = ("{x} + {x}", "{x}*{x}", "-{x}", "abs({x})", "relu({x})", "{x} + 1", "3*{x} - 2", "{x}*{c}")
BINARY = (
    "{x} + {y}",
    "{x} - {y}",
    "{x}*{y}",
    "max({x}, {y})",
    "min({x}, {y})",
    "max({x} + {y}, {x})",
    "min({x}*{y}, {c})",
    "abs({x} - {y})",
    "clamp({x} + {y}, -5, {c})",
    "relu({x}*{y} - {x})",
)


@dataclass
class Program:
    """A kernel that is being written, and what fragments it has, by type."""

    r: random.Random
    k: KernelBuilder
    fragments: dict[str, str]
    tile: Any
    unused: set[str]
    bounds: dict[str, float]
    """No float of a fragment is larger: sums whose bound is below 2**24 are exact in any order."""
    count: int = 0

    def fresh(self) -> str:
        """Return a name of a new fragment."""
        self.count += 1
        return f"v{self.count}"

    def pick(self) -> str:
        """Return a fragment, the last ones more often: everything is to be used."""
        names = list(self.fragments)
        return names[-1] if self.r.random() < 0.6 else self.r.choice(names)

    def added(self, name: str, kind: str, *sources: str) -> None:
        """Remember a fragment, and what it uses."""
        self.unused -= set(sources)
        self.unused.add(name)
        self.fragments[name] = kind
        known = [self.bounds[x] for x in sources] or [3.0]
        self.bounds[name] = 6 * (max(known) + 1) * (min(known) + max(known) + 5)

    @property
    def can_sum(self) -> bool:
        """Whether a sum of a row of the last fragment is the same in any order."""
        last = list(self.fragments)[-1]
        return self.fragments[last] in INTEGERS or self.bounds[last] * SIDE < 2**24

    def gathered(self) -> None:
        """Combine what is not used yet with the last fragment."""
        last = list(self.fragments)[-1]
        for other in sorted(self.unused - {last}):
            if (self.fragments[last] in INTEGERS) != (self.fragments[other] in INTEGERS):
                for kind in ("s8", self.fragments[last]):  # small numbers are exact
                    if self.fragments[other] == kind:
                        continue
                    name = self.fresh()
                    self.k.convert(name, other, kind)
                    self.added(name, kind, other)
                    self.bounds[name] = 128
                    other = name
            name, kind = self.fresh(), self.fragments[last]
            form = self.r.choice(["{x} + {y}", "max({x}, {y})", "{x} - {y}"])
            self.k.map(name, form.format(x=last, y=other), kind)
            self.added(name, kind, last, other)
            last = name

    def constant(self, kind: str) -> int:
        """Return a constant, at the limits of a type at times."""
        if kind not in INTEGERS:
            return self.r.choice([0, 1, 2, 5])
        bits = int(kind[1:])
        ends = [0, 1, 7, (1 << min(bits, 32) - 1) - 1, -(1 << min(bits, 32) - 1)]
        return self.r.choice(ends)

    def mapped(self) -> None:
        """Compute a fragment from one or two of one kind: integers, or floats."""
        x = self.pick()
        whole = self.fragments[x] in INTEGERS
        like = [n for n, t in self.fragments.items() if (t in INTEGERS) == whole]
        y = self.r.choice(like)
        kind = self.r.choice(INTEGERS if whole else FLOATS)
        kind = self.fragments[x] if self.r.random() < 0.6 else kind
        form = self.r.choice(UNARY if self.r.random() < 0.5 else BINARY)
        text = form.format(x=x, y=y, c=self.constant(kind))
        name = self.fresh()
        self.k.map(name, text, kind)
        self.added(name, kind, x, *([y] if "{y}" in form else []))

    def converted(self) -> None:
        """Convert a fragment to another type."""
        source, kind = self.pick(), self.r.choice((*INTEGERS, "f32"))
        wide = kind == "f32" and self.fragments[source] not in (*FLOATS, "s8", "u8")
        if kind == self.fragments[source] or wide:
            return
        name = self.fresh()
        self.k.convert(name, source, kind)
        self.added(name, kind, source)
        self.bounds[name] = max(self.bounds[source], 256.0)


def inputs_of(r: random.Random, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return numbers of a type: of integers the limits among them, of floats small ones."""
    rng = np.random.default_rng(r.randrange(1 << 30))
    if kind not in INTEGERS:
        return rng.integers(-3, 4, shape).astype(np.float32)
    dtype = host_dtype(kind)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    ends = np.array([low, low + 1, high, high - 1, 0, 1, 2, 3, min(high, 46341)], dtype=object)
    out = rng.integers(low, high, shape, dtype=dtype, endpoint=True)
    some = rng.random(shape) < 0.6
    out[some] = ends[rng.integers(0, len(ends), shape)][some].astype(dtype)
    small = rng.random() < 0.3
    return (out % 7).astype(dtype) if small else out


def program(r: random.Random) -> tuple[Kernel, dict[str, str]]:
    """Return a kernel and the types of its inputs."""
    groups = r.choice([1, 2])
    k = KernelBuilder("program", groups)
    tile = k.parts((SIDE, SIDE), (groups, 1))
    kinds = {name: r.choice(INTEGERS if r.random() < 0.8 else FLOATS) for name in "AB"}
    lies: dict[str, Order] = {name: r.choice(ORDERS) for name in kinds}
    inputs = {name: k.input(name, kind, ("M", "N"), lies[name]) for name, kind in kinds.items()}
    looped = r.random() < 0.4
    m, n = k.grid(m=Tiles("M", SIDE), n=1 if looped else Tiles("N", SIDE))
    p = Program(r, k, {}, tile, set(), {})
    at = (m * SIDE, Index() if looped else n * SIDE)
    if looped:
        _looped(p, inputs, kinds, m)
    else:
        for name, operand in inputs.items():
            k.load(name.lower(), operand, tile, at=at)
            p.added(name.lower(), kinds[name])
    for _ in range(r.randint(1, 5)):
        (p.converted if r.random() < 0.25 else p.mapped)()
    p.gathered()
    _ended(p, r.choice(ORDERS), at)
    return k.build(), kinds


def _looped(p: Program, inputs: dict[str, Any], kinds: dict[str, str], m: Index) -> None:
    """Combine tiles of a row in a loop that carries a fragment."""
    kind = kinds["A"]
    p.k.fill("acc", p.tile, p.r.choice([0, 1]), kind)
    forms = ["acc + x", "max(acc, x)", "max(acc, x + x)", "acc + x*x", "abs(acc - x)", "2*acc + x"]
    if kind not in INTEGERS:  # what grows is not exact for long
        forms = ["acc + x", "max(acc, x)", "max(acc, x + x)"]
    with p.k.loop("t", p.r.choice([0, 0, 1]), Tiles("N", SIDE)) as t:
        p.k.load("x", inputs["A"], p.tile, at=(m * SIDE, t * SIDE))
        p.k.map("acc", p.r.choice(forms), kind)
    p.k.load("b", inputs["B"], p.tile, at=(m * SIDE, 0))
    p.added("b", kinds["B"])
    p.added("acc", kind)


def _ended(p: Program, order: Order, at: tuple[Any, ...]) -> None:
    """Store the last fragment: as it is, reduced, through shared memory, or added by atomics."""
    last = list(p.fragments)[-1]
    kind, way = p.fragments[last], p.r.random()
    if way < 0.15:
        p.k.shared("S", kind, (SIDE, SIDE))
        p.k.share("S", last)
        p.k.barrier()
        p.k.take("back", "S", p.tile)
        last = "back"
        if p.r.random() < 0.5 and kind in INTEGERS:
            p.k.map("again", "max(back, back + back)", kind)
            last = "again"
    elif way < 0.3:
        p.k.reduce("total", p.r.choice(["max", "min", *["sum"] * p.can_sum]), last, axis=1)
        D = p.k.output("D", kind, ("M",))
        p.k.store(D, "total", at=(at[0],))
        return
    if way > 0.8 and kind in ("s32", "u32", "f32"):
        D = p.k.inout("D", kind, ("M", "N"), order)
        p.k.atomic_add(D, last, at=at)
        return
    D = p.k.output("D", kind, ("M", "N"), order)
    p.k.store(D, last, at=at)


# ---------------------------------------------------------------- comparing


def answer(kernel: Kernel, given: dict[str, Any], executor: Any) -> NDArray[Any] | str:
    """Return the output as bits, or the class of what refuses it."""
    try:
        out = cx.run(kernel, **given, executor=executor)
    except CuteError as error:
        return type(error).__name__
    if kernel.outputs[0].value_type.kind == "float":
        out = out + np.zeros((), out.dtype)  # zeros of both signs are one: see `run`
    return np.ascontiguousarray(out).view(np.uint8)


def held(kernel: Kernel, given: dict[str, Any]) -> str:
    """Run a kernel on both executors; return "equal", "refused", or what differs."""
    fast, slow = (answer(kernel, given, way) for way in ("fast", "reference"))
    if isinstance(fast, str) or isinstance(slow, str):
        ends = [x if isinstance(x, str) else "runs" for x in (fast, slow)]
        return "refused" if ends[0] == ends[1] else f"one is refused: {ends}"
    if np.array_equal(fast, slow):
        return "equal"
    return f"{int((fast != slow).sum())} bytes of {fast.size} differ"


def compared(kernel: Kernel, kinds: dict[str, str], r: random.Random) -> str:
    """Return "equal", "refused", or what differs; each kernel is run twice on other numbers."""
    sizes = (r.choice([1, 16, 19, 33]), r.choice([1, 16, 21, 40]))
    known = {operand.name: operand for operand in kernel.operands}
    answers: list[str] = []
    for _ in range(2):
        given: dict[str, Any] = {x: inputs_of(r, kind, sizes) for x, kind in kinds.items()}
        given = {x: array for x, array in given.items() if x in known}
        D = known["D"]
        if D.role == "inout":
            given["D"] = inputs_of(r, D.value_type.name, sizes)
        dtype = {x: kind for x, kind in kinds.items() if x in given and kind not in INTEGERS}
        if any(kind in ("bf16", "f16") for kind in dtype.values()):
            given |= {x: _narrow(given[x], kind) for x, kind in dtype.items()}
        answers.append(held(kernel, given))
        if answers[-1] not in ("equal", "refused"):
            return f"{answers[-1]} at {sizes}"
    return "refused" if "refused" in answers else "equal"


def judged(r: random.Random) -> str:
    """Return "equal", "refused", why no kernel was made, or what differs, with the kernel."""
    products = r.random() < 0.3
    try:
        kernel, kinds = (executor_products.program(r), {}) if products else program(r)
    except CuteError as error:
        return "not built" if "is never used" in str(error) else f"not built: {str(error)[:60]}"
    found = multiplied(kernel, r) if products else compared(kernel, kinds, r)
    return found if found in ("equal", "refused") else f"{found}\n{kernel}"


def multiplied(kernel: Kernel, r: random.Random) -> str:
    """Return the same of a kernel of products."""
    answers: list[str] = []
    for _ in range(2):
        given = executor_products.inputs_of(kernel, r)
        answers.append(held(kernel, given))
        if answers[-1] not in ("equal", "refused"):
            return f"{answers[-1]} at {given['L']}"
    return "refused" if "refused" in answers else "equal"


def _narrow(array: NDArray[Any], kind: str) -> NDArray[Any]:
    return convert(array, cx.as_numeric(kind))


def main() -> int:
    """Compare the executors on so many programs; say which differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(asked.count):
        found = judged(random.Random(f"{asked.seed} {number}"))
        known = found in ("equal", "refused") or found.startswith("not built")
        counts[found if known else "different"] += 1
        if not known:
            wrong.append(found)
            print(f"program {number}: {found}", flush=True)
    print(*(f"{name}: {count}" for name, count in counts.most_common(12)), sep="\n")
    print(f"{asked.count} programs, {len(wrong)} on which the executors differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
