"""Random calls of `compat.pycute` beside pycute's own: the counts of docs/migration.md.

Layouts of one to three modes, half of them with strides that go on from each other in some order.
What pycute answers is right where listing all offsets says so. Needs pycute beside this library:
``python benchmarks/pycute_calls.py --peers ENVIRONMENT``, with the environment of `make bench`.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from importlib import import_module
from typing import Any

from libraries import libraries, parser

from pycute_xe.compat import pycute as ours

UNARY = ("coalesce", "filter", "right_inverse", "left_inverse")
BINARY = ("composition", "logical_divide", "zipped_divide", "tiled_divide")
BINARY += ("logical_product", "zipped_product", "tiled_product")
EXTENTS, STRIDES = (1, 2, 2, 3, 4, 4, 6, 8), (0, 1, 1, 2, 3, 4, 6, 8, 12, 16)
COTARGET = 48


def random_modes(rng: random.Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape and strides: any, or compact ones with gaps in any order."""
    shape = [rng.choice(EXTENTS) for _ in range(rng.randint(1, 3))]
    stride = [rng.choice(STRIDES) for _ in shape]
    if rng.random() < 0.5:
        reach = 1
        for place in rng.sample(range(len(shape)), len(shape)):
            reach *= rng.choice((1, 1, 1, 2, 3))
            stride[place] = reach
            reach *= shape[place]
    return tuple(shape), tuple(stride)


def called(module: Any, name: str, a: Any, b: Any) -> Any:
    """The answer of a library, or ``None`` where it raises."""
    more = () if name in UNARY else (COTARGET,) if name == "complement" else (module.Layout(*b),)
    try:
        return getattr(module, name)(module.Layout(*a), *more)
    except Exception:  # noqa: BLE001 - any exception counts
        return None


def inverse_is_right(name: str, layout: Any, answer: Any) -> bool:
    """Whether an inverse undoes the layout, by listing."""
    if name == "right_inverse":
        return all(layout(answer(i)) == i for i in range(answer.size()))
    return all(answer(layout(i)) == i for i in range(layout.size()))


def main() -> int:
    """Count equal texts, pycute's errors and differences; fail for a right inverse that differs."""
    options = parser(__doc__)
    options.add_argument("--calls", type=int, default=20_000)
    given = options.parse_args()
    libraries(given.peers)  # puts the peers on the path
    theirs: Any = import_module("pycute")

    rng = random.Random(7)
    counts: Counter[str] = Counter()
    for _ in range(given.calls):
        name = rng.choice((*UNARY, *BINARY, "complement"))
        a, b = random_modes(rng), random_modes(rng)
        answer, mine = called(theirs, name, a, b), called(ours, name, a, b)
        what = "refused here" if mine is None else "answered here"
        if answer is None:
            counts["both raise" if mine is None else "pycute raises, answered here"] += 1
        elif mine is not None and str(answer) == str(mine):
            counts["equal"] += 1
        elif name.endswith("inverse") and inverse_is_right(name, theirs.Layout(*a), answer):
            counts["a right inverse differs"] += 1
        else:
            counts[f"another answer, {what}"] += 1
    for what, count in counts.most_common():
        print(f"{count:>7,}  {what}")
    return counts["a right inverse differs"]


if __name__ == "__main__":
    sys.exit(main())
