"""Count how often layout operations are right, refused or silently wrong on small layouts.

All layouts of one or two modes with extents 1 to 6 and strides 0 to 12; of all their pairs an even
sample. What is asked of each result stands in `postconditions.py` and is decided by listing every
offset with NumPy. The libraries see the same operands; an exception of any kind is a refusal. Of
these the last column counts those that CuTe C++ does not compile either, by a static assertion on
the operand that is inverted or complemented.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import pairwise, product
from pathlib import Path

from libraries import ROOT, Library, libraries, parser
from postconditions import BINARY, POSTCONDITIONS, Flat, flat_layout

Modes = tuple[tuple[int, ...], tuple[int, ...]]
Counts = dict[tuple[str, str], Counter[str]]
VERDICTS = ("right", "refused", "wrong")
IN_CUTE = "refused by C++ too"
CHUNK = 4000


def small_layouts() -> list[Modes]:
    """Shapes and strides of every layout of one or two modes."""
    modes = list(product(range(1, 7), range(13)))
    one = [((s,), (d,)) for s, d in modes]
    return one + [((s, t), (d, e)) for (s, d), (t, e) in product(modes, modes)]


def sampled_pairs(layouts: list[Modes], count: int) -> Iterator[tuple[Modes, Modes]]:
    """Pairs spread evenly over all of them: a stride that shares no factor with their number."""
    total = len(layouts) ** 2
    for k in range(min(count, total)):
        a, b = divmod(k * total // min(count, total), len(layouts))
        # The second index is turned with the first, so that no column is favoured.
        yield layouts[a], layouts[(b + a * 7919) % len(layouts)]


@cache
def flat(modes: Modes) -> Flat:
    """The leaves of an operand, its offsets listed once."""
    return Flat(*modes)


def judge(library: Library, operation: str, a: Modes, b: Modes) -> str:
    """Say whether one call was right, refused or wrong."""
    try:
        layout = library.layout(*a)
        arguments = (layout, library.layout(*b)) if operation in BINARY else (layout,)
        if operation == "complement":
            arguments = (layout, flat(b).cosize)
        result = flat_layout(library.operations[operation](*arguments))
    except Exception:  # noqa: BLE001 - each library refuses with errors of its own
        return "refused"
    return "right" if POSTCONDITIONS[operation](flat(a), flat(b), result) else "wrong"


@cache
def unordered(modes: Modes) -> bool:
    """Whether ``complement`` of C++ stops at "Non-injective Layout detected in complement"."""
    reach = 1
    for d, s in sorted((d, s) for s, d in zip(*modes, strict=True) if s > 1 and d > 0):
        if d < reach:
            return True
        reach = d * s
    return False


@cache
def indivisible(modes: Modes) -> bool:
    """Whether ``left_inverse`` of C++ stops at "Left inverse divisibility condition"."""
    moving = [(s, d) for s, d in zip(*modes, strict=True) if s > 1]
    if len(moving) == 2 and moving[0][0] * moving[0][1] == moving[1][1]:
        moving = moving[:1]  # the two are one mode there
    strides = sorted(d for _, d in moving if d > 0)
    return any(upper % lower for lower, upper in pairwise(strides))


# What an operation of C++ asserts of the layout that it inverts or complements.
ASSERTED: dict[str, Callable[[Modes, Modes], bool]] = {
    "complement": lambda a, _: unordered(a),
    "left_inverse": lambda a, _: indivisible(a),
    "logical_divide": lambda _, b: unordered(b),
}


def count(found: list[Library], pairs: list[tuple[Modes, Modes]]) -> Counts:
    """Counts by (library, operation) of each verdict."""
    counts = {(of.name, operation): Counter[str]() for of in found for operation in POSTCONDITIONS}
    known: dict[tuple[str, str, Modes], str] = {}
    for a, b in pairs:
        for library in found:
            for operation in POSTCONDITIONS:
                # What depends on A alone is judged once for neighbouring pairs.
                key = (library.name, operation, a)
                if not operation.endswith("inverse"):
                    verdict = judge(library, operation, a, b)
                elif key in known:
                    verdict = known[key]
                else:
                    verdict = known[key] = judge(library, operation, a, b)
                counts[library.name, operation][verdict] += 1
                if verdict == "refused" and operation in ASSERTED:
                    counts[library.name, operation][IN_CUTE] += ASSERTED[operation](a, b)
    return counts


def count_chunk(peers: Path, pairs: list[tuple[Modes, Modes]]) -> Counts:
    """Count in a process of its own, which finds the libraries itself."""
    return count(libraries(peers), pairs)


def count_all(peers: Path, pairs: list[tuple[Modes, Modes]]) -> Counts:
    """Count over all cores, with a line that tells how far it is."""
    chunks = [pairs[k : k + CHUNK] for k in range(0, len(pairs), CHUNK)]
    total: Counts = {}
    start = time.monotonic()
    with ProcessPoolExecutor() as pool:
        for done, counts in enumerate(pool.map(partial(count_chunk, peers), chunks), 1):
            for key, verdicts in counts.items():
                total.setdefault(key, Counter[str]()).update(verdicts)
            left = (time.monotonic() - start) / done * (len(chunks) - done)
            print(f"\r{done}/{len(chunks)} of {len(pairs):,} pairs, {left:.0f} s left ", end="")
            sys.stdout.flush()
    print()
    return total


def share(counts: Counts) -> str:
    """The counts as a Markdown table."""
    head = f"| operation | library | {' | '.join(VERDICTS)} | {IN_CUTE} |\n"
    rows = [head, "| --- | --- | ---: | ---: | ---: | ---: |\n"]
    for (name, operation), verdicts in sorted(counts.items(), key=lambda row: row[0][1]):
        numbers = [f"{verdicts[v]:,}" for v in VERDICTS]
        numbers.append(f"{verdicts[IN_CUTE]:,}" if operation in ASSERTED else "")
        rows.append(f"| `{operation}` | {name} | {' | '.join(numbers)} |\n")
    return "".join(rows)


def write_page(page: Path, table: str) -> None:
    """Put the table between the marks of the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition("<!-- counts -->\n")
    _, _, after = rest.partition("<!-- end of counts -->\n")
    text = f"{before}<!-- counts -->\n{table}<!-- end of counts -->\n{after}"
    page.write_text(text, encoding="utf-8")


def main() -> int:
    """Count, print and write the table; fail if this library was ever wrong."""
    options = parser(__doc__)
    options.add_argument("--pairs", type=int, default=200_000)
    options.add_argument("--page", type=Path, default=ROOT / "docs" / "enumeration.md")
    given = options.parse_args()
    found = libraries(given.peers)
    pairs = list(sampled_pairs(small_layouts(), given.pairs))
    counts = count_all(given.peers, pairs)
    table = share(counts)
    print(table)
    if len(found) == 3:
        write_page(given.page, f"Counts over {len(pairs):,} pairs:\n\n{table}")
    return any(counts[found[0].name, operation]["wrong"] for operation in POSTCONDITIONS)


if __name__ == "__main__":
    sys.exit(main())
