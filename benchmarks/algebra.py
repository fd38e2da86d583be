"""Time the layout algebra against NVIDIA's pycute and tensor-layouts, in one process, as ratios.

Every call is the first on fresh operands, built anew outside the clock, with all of a library's
validation on. The libraries take turns within a round, so that a busy machine disturbs all alike; a
figure is the least over the rounds of the mean over the operands, in µs per call. A second table
has random operands: 200 nested layouts for each operation, such as every library answers.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from importlib import import_module
from math import prod
from statistics import geometric_mean
from typing import Any

from libraries import Library, libraries, parser

import pycute_xe as cx

Modes = tuple[Any, Any]  # the shape and the stride of an operand

# Two to four modes, flat and nested; A and B of the same column meet in the binary operations.
LAYOUTS: tuple[Modes, ...] = (
    ((4, 8), (8, 1)),
    ((64, 64), (64, 1)),
    (((2, 4), 8), ((1, 16), 2)),
    ((8, 2, 4), (1, 32, 8)),
    (((4, 2), (2, 8)), ((1, 16), (4, 32))),
)
TILERS: tuple[Modes, ...] = (
    ((2, 4), (2, 4)),
    ((16, 8), (1, 64)),
    ((2, 2), (1, 8)),
    ((4, 2, 2), (1, 8, 16)),
    (((2, 2), 4), ((1, 8), 16)),
)
COPIES: tuple[Modes, ...] = (
    ((2, 3), (1, 2)),
    ((4, 2), (2, 1)),
    ((2, 2, 3), (1, 2, 4)),
    ((2, (2, 2)), (4, (1, 2))),
    ((2, 5), (1, 2)),
)
COORDS = (19, (17, 33), ((1, 2), 5), (5, 1, 2), ((3, 1), 9))
SPANS = (256, 8192, 256, 256, 512)
SQUARE: Modes = ((64, 64), (64, 1))
HUGE: Modes = ((1 << 20, 1 << 20), (1 << 20, 1))  # 2^40 elements
SMALL: Modes = ((4, 4), (4, 1))

# The eight figures of the summary: their geometric mean leaves `construct` out.
TIMED = (
    "construct",
    "call",
    "coalesce",
    "composition",
    "complement",
    "logical_divide",
    "logical_product",
    "right_inverse",
)
COPIES_OF_CASES = 20


def cases(library: Library, name: str) -> list[tuple[Any, ...]]:
    """Fresh arguments of one operation."""
    of = library.layout
    if name == "construct":
        return list(LAYOUTS)
    if name == "call":
        return [(of(*a), c) for a, c in zip(LAYOUTS, COORDS, strict=True)]
    if name == "complement":
        return [(of(*b), span) for b, span in zip(TILERS, SPANS, strict=True)]
    if name in ("composition", "logical_divide"):
        return [(of(*a), of(*b)) for a, b in zip(LAYOUTS, TILERS, strict=True)]
    if name == "logical_product":
        return [(of(*a), of(*b)) for a, b in zip(LAYOUTS, COPIES, strict=True)]
    return [(of(*a),) for a in LAYOUTS]


def function(library: Library, name: str) -> Callable[..., Any]:
    """What is timed under a name."""
    if name == "construct":
        return library.layout
    if name == "call":
        return lambda layout, coord: layout(coord)
    return library.operations[name]


def microseconds(call: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> float:
    """Mean time of one call over a list of arguments."""
    start = time.perf_counter_ns()
    for case in arguments:
        call(*case)
    return (time.perf_counter_ns() - start) / 1e3 / len(arguments)


def least(
    found: list[Library], rounds: int, one: Callable[[Library], tuple[Callable[..., Any], Any]]
) -> list[float]:
    """The least mean of each library over the rounds; ``one`` gives a function and fresh cases."""
    best = [float("inf")] * len(found)
    for _ in range(rounds):
        for i, library in enumerate(found):
            call, arguments = one(library)
            best[i] = min(best[i], microseconds(call, arguments))
    return best


def time_operation(found: list[Library], name: str, rounds: int) -> list[float]:
    """Microseconds of one operation in each library."""
    return least(
        found,
        rounds,
        lambda library: (
            function(library, name),
            [case for _ in range(COPIES_OF_CASES) for case in cases(library, name)],
        ),
    )


def time_table(found: list[Library], rounds: int) -> list[float]:
    """Microseconds of all offsets of a 64 × 64 layout in each library."""
    return least(
        found,
        rounds,
        lambda library: (library.table, [(library.layout(*SQUARE),) for _ in range(5)]),
    )


def random_modes(rng: random.Random, most: int, extents: tuple[int, ...]) -> Modes:
    """A nested shape of two to so many leaves, compact strides in any order with some gaps."""
    shape = [rng.choice(extents) for _ in range(rng.randint(2, most))]
    stride, reach = [0] * len(shape), 1
    for place in rng.sample(range(len(shape)), len(shape)):
        reach *= rng.choice((1, 1, 1, 2))
        stride[place] = reach
        reach *= shape[place]
    trees: list[Any] = list(zip(shape, stride, strict=True))
    while len(trees) > 1 and (len(trees) > 3 or rng.random() < 0.7):  # some neighbours into one
        at = rng.randrange(len(trees) - 1)
        inner = trees[at : at + rng.choice((2, 2, 3))]
        trees[at : at + len(inner)] = [tuple(zip(*inner, strict=True))]
    shapes, strides = zip(*trees, strict=True)
    return trees[0] if len(trees) == 1 else (shapes, strides)


def random_operands(found: list[Library], name: str, count: int = 200) -> list[tuple[Any, ...]]:
    """Operands of one operation that every library answers: layouts as modes, the rest as it is."""
    rng = random.Random(name)
    out: list[tuple[Any, ...]] = []
    while len(out) < count:
        first = random_modes(rng, 6, (2, 3, 4, 8))
        size = product(first[0])
        second: dict[str, Any] = {
            "call": rng.randrange(size) if rng.random() < 0.5 else entries(rng, first[0]),
            "complement": size * rng.choice((1, 2, 4, 8)) * 64,
        }
        if name in ("composition", "logical_divide", "logical_product"):
            second[name] = random_modes(rng, 4, (2, 2, 3, 4))
        case = (first, second[name]) if name in second else (first,)
        try:
            for library in found:
                function(library, name)(*operands(library, name, case))
        except Exception:  # noqa: BLE001 - refused by one of them, each with errors of its own
            continue
        out.append(case)
    return out


def entries(rng: random.Random, shape: Any) -> Any:
    """A random coordinate of a shape, nested as it is."""
    if isinstance(shape, tuple):
        return tuple(entries(rng, part) for part in shape)
    return rng.randrange(shape)


def product(shape: Any) -> int:
    """The number of coordinates."""
    return prod(map(product, shape)) if isinstance(shape, tuple) else shape


def operands(library: Library, name: str, case: tuple[Any, ...]) -> tuple[Any, ...]:
    """Fresh arguments of a library from modes."""
    if name == "construct":
        return case[0]
    layouts = 1 if name in ("call", "complement") else len(case)
    return (*(library.layout(*modes) for modes in case[:layouts]), *case[layouts:])


def print_random(found: list[Library], rounds: int) -> None:
    """The table of random operands, and its geometric mean."""
    print("\nof 200 random nested layouts")
    means: list[list[float]] = []
    for name in TIMED:
        every = random_operands(found, name)
        times = least(
            found,
            rounds,
            lambda library, name=name, every=every: (
                function(library, name),
                [operands(library, name, case) for case in every],
            ),
        )
        print_row(name, times)
        means += [times] if name != "construct" else []
    print_row("geometric mean", [geometric_mean(column) for column in zip(*means, strict=True)])


def print_row(name: str, times: list[float]) -> None:
    """One line: the times, then how often each peer's is ours."""
    ratios = "".join(f"{peer / times[0]:9.1f}x" for peer in times[1:])
    print(f"{name:16}" + "".join(f"{t:15.2f}" for t in times) + ratios, flush=True)


def print_speed(found: list[Library], rounds: int) -> None:
    """The table of the operations, the geometric means and the table of offsets."""
    peers = found[1:]
    heads = "".join(f"{library.name:>15}" for library in found)
    print(f"{'µs per call':16}{heads}" + "".join(f"  /{p.name[:7]:>7}" for p in peers))
    rows = {name: time_operation(found, name, rounds) for name in TIMED}
    for name, times in rows.items():
        print_row(name, times)
    others = [times for name, times in rows.items() if name != "construct"]
    print_row("geometric mean", [geometric_mean(column) for column in zip(*others, strict=True)])
    print_row("4,096 offsets", time_table(found, rounds))


def print_growth(library: Library, rounds: int) -> None:
    """The same operations on 16 and on 2^40 elements: the cost is that of the modes."""
    of = library.layout

    def arguments(name: str, modes: Modes) -> list[tuple[Any, ...]]:
        layout = of(*modes)
        half = modes[0][0] // 2
        second: dict[str, Any] = {
            "call": 7,
            "composition": of((half, 2), (2, modes[0][0])),
            "complement": 1 << 44,
            "logical_divide": of((half, 2), (2, modes[0][0])),
            "logical_product": of((2, 3)),
        }
        return [(layout, second[name]) if name in second else (layout,)] * 50

    print(f"\n{'µs per call':16}{'16 elements':>14}{'2^40 elements':>16}")
    for name in TIMED[1:]:
        small, huge = (
            least([library], rounds, lambda of, m=m, n=name: (function(of, n), arguments(n, m)))[0]
            for m in (SMALL, HUGE)
        )
        print(f"{name:16}{small:14.2f}{huge:16.2f}", flush=True)


def print_symbolic() -> None:
    """The first call of a compact layout of eight symbolic modes with a symbolic index."""
    import_module("pycute_xe.symbolic")
    print("\nms of the first call of 8 symbolic modes with a symbolic index")
    for order in (range(8), range(8, 0, -1), (3, 1, 4, 0, 5, 7, 2, 6)):
        names = [f"s{order[0]}{i}" for i in range(8)]
        layout = cx.make_ordered_layout(tuple(map(cx.symbol, names)), tuple(order))
        index = cx.symbol(f"i{order[0]}")
        start = time.perf_counter_ns()
        layout(index)
        print(f"strides of order {tuple(order)}: {(time.perf_counter_ns() - start) / 1e6:.1f}")


def main() -> None:
    """Print all tables."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=30)
    given = options.parse_args()
    found = libraries(given.peers)
    gc.disable()
    print_speed(found, given.rounds)
    print_random(found, given.rounds)
    print_growth(found[0], given.rounds)
    print_symbolic()


if __name__ == "__main__":
    main()
