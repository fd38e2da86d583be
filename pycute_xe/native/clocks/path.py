"""The way of a thread through machine code: which instructions, and where trips of a loop begin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from pycute_xe.errors import InputError
from pycute_xe.native.clocks.text import Listing

__all__ = ["Way", "loops_of", "path_of", "spans_of", "way_of"]

_MOST = 400_000


def spans_of(listing: Listing) -> list[tuple[int, int]]:
    """Return the first and last instruction of every loop: what a jump goes back to, the jump."""
    return [
        (listing.labels[line.target], line.number)
        for line in listing.lines
        if line.target in listing.labels and listing.labels[line.target] <= line.number
    ]


@dataclass(frozen=True, slots=True)
class Way:
    """Instructions of a thread in their order, the main loop, its trips, where these begin.

    ``left_out`` are those before and behind the loop that are too many to be run.
    """

    path: tuple[int, ...]
    main: tuple[int, int] | None
    trips: int
    heads: frozenset[int]
    left_out: int


def way_of(listing: Listing, trips: Callable[[tuple[int, int] | None], int], most: int) -> Way:
    """Return the way of a thread, of so many instructions where a loop can be told from the rest.

    The main loop is the first of `loops_of` that a thread comes to; ``trips`` says how many it
    makes. Raises as `path_of`.
    """
    for main in loops_of(listing):
        many = trips(main)
        path, heads = path_of(listing, many, main)
        if not heads:
            continue
        stop = max(at for at, number in enumerate(path) if main[0] <= number <= main[1]) + 1
        stop = max(stop, min(len(path), most))
        start = min(max(0, stop - most), min(heads))
        cut = frozenset(at - start for at in heads)
        return Way(tuple(path[start:stop]), main, many, cut, len(path) - (stop - start))
    path, _ = path_of(listing, 1, None)
    return Way(tuple(path), None, 1, frozenset(), 0)


def loops_of(listing: Listing) -> list[tuple[int, int]]:
    """Return the innermost loops, that with most DPAS first, of several the longest."""
    every = spans_of(listing)
    inner = [s for s in every if not any(s != o and s[0] <= o[0] and o[1] <= s[1] for o in every)]

    def weight(span: tuple[int, int]) -> tuple[int, int]:
        code = listing.lines[span[0] : span[1] + 1]
        return sum(line.kind == "dpas" for line in code), len(code)

    return sorted(inner, key=weight, reverse=True)


def path_of(
    listing: Listing, trips: int, main: tuple[int, int] | None
) -> tuple[list[int], frozenset[int]]:
    """Return the instructions of a thread in their order, and where trips of the main loop begin.

    A jump back is taken until its loop has made so many trips (other loops than the main: one);
    a conditional jump forward is taken only where it leaves a loop that an unconditional one
    closes. Raises `InputError` for a way that does not end.
    """
    out: list[int] = []
    heads: list[int] = []
    made: Counter[int] = Counter()
    spans = {stop: start for start, stop in spans_of(listing)}
    at = 0
    while at < len(listing.lines):
        line = listing.lines[at]
        if main and at == main[0]:
            heads.append(len(out))
        out.append(at)
        if len(out) > _MOST:
            wrong = f"a thread takes more than {_MOST:,} instructions"
            raise InputError("timing", {"trips": trips}, wrong, "give fewer trips")
        if "EOT" in line.options:
            break
        at = _next(listing, at, trips, main, made, spans)
    return out, frozenset(heads)


def _next(
    listing: Listing,
    at: int,
    trips: int,
    main: tuple[int, int] | None,
    made: Counter[int],
    spans: dict[int, int],
) -> int:
    line = listing.lines[at]
    if line.op not in ("jmpi", "goto", "while") or line.target not in listing.labels:
        return at + 1
    to = listing.labels[line.target]
    free = line.predicate in ("", "W")
    if at in spans:
        made[at] += 1
        again = made[at] < (trips if main is not None and at == main[1] else 1)
        if again:
            return to
        made[at] = 0
        return at + 1 if not free else _exit(listing, spans[at], at)
    leaves = any(
        spans[stop] <= at <= stop < to and listing.lines[stop].predicate in ("", "W")
        and made[stop] + 1 >= trips
        for stop in spans
    )  # fmt: skip
    return to if free or leaves else at + 1


def _exit(listing: Listing, start: int, stop: int) -> int:
    """Where a loop that is closed by an unconditional jump is left."""
    targets = (listing.labels.get(one.target, 0) for one in listing.lines[start : stop + 1])
    return max((t for t in targets if t > stop), default=stop + 1)
