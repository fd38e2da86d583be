"""The way of a thread through machine code: which instructions, and where trips of a loop begin."""

from __future__ import annotations

from collections import Counter

from pycute_xe.errors import InputError
from pycute_xe.native.clocks.text import Listing

__all__ = ["main_loop", "path_of", "spans_of"]

_MOST = 400_000


def spans_of(listing: Listing) -> list[tuple[int, int]]:
    """Return the first and last instruction of every loop: what a jump goes back to, the jump."""
    return [
        (listing.labels[line.target], line.number)
        for line in listing.lines
        if line.target in listing.labels and listing.labels[line.target] <= line.number
    ]


def main_loop(listing: Listing) -> tuple[int, int] | None:
    """Return the innermost loop with most DPAS, of several the longest; None without a loop."""
    every = spans_of(listing)
    inner = [s for s in every if not any(s != o and s[0] <= o[0] and o[1] <= s[1] for o in every)]

    def weight(span: tuple[int, int]) -> tuple[int, int]:
        code = listing.lines[span[0] : span[1] + 1]
        return sum(line.kind == "dpas" for line in code), len(code)

    return max(inner, key=weight, default=None)


def path_of(
    listing: Listing, trips: int, main: tuple[int, int] | None
) -> tuple[list[int], frozenset[int]]:
    """Return the instructions of a thread in their order, and where trips of the main loop begin.

    A jump back is taken until its loop has made so many trips (loops around the main one: one);
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
        around = main is not None and spans[at] < main[0] and at > main[1]
        again = made[at] < (1 if around else trips)
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
