"""Small wrong changes to schedules: how tiles are dealt out, cut, checked and timed."""

from __future__ import annotations

from mutant_lists.mutant import mutants

TESTS = "tests/kernel/test_schedules.py"
FOLLOWED = f"{TESTS} tests/executing/test_scheduled.py"

MUTANTS = [
    *mutants(
        "kernel/schedules/covering",
        TESTS,
        (
            "0 <= piece.start < piece.stop <= depth",
            "0 <= piece.start <= piece.stop <= depth",
            "a piece computes something",
        ),
        ("known = 0 <= group < len(plan.groups)", "known = group < len(plan.groups)", "group -1"),
        (
            "turns != list(range(count)) or any(piece.parts != count for _, piece in placed)",
            "turns != list(range(count))",
            "how many parts a piece thinks there are",
        ),
        (
            "for soon in order[:i] if late is order[-1] else order[:1]:",
            "for soon in order[:1]:",
            "the last piece waits for all",
        ),
        ("mine[x] > mine[y]}", "mine[x] < mine[y]}", "a unit does its pieces in order"),
        ("lambda: _turns(tiles),\n", "", "who is first and last"),
        (
            "if not (0 <= m < rows and 0 <= n < columns and inside):",
            "if not (m < rows and n < columns and inside):",
            "tiles begin at 0",
        ),
    ),
    *mutants(
        "kernel/schedules/timing",
        TESTS,
        ("self._launch(0, place)", "self._launch(0, 0)", "each unit has a place"),
        ("self._launch(time, place)", "self._launch(time, 0)", "the next unit takes the place"),
        ("if self.plan.units[unit]:", "if True:", "units without work"),
        ("room < min(1, len(plan.units))", "room < 0", "one place at least"),
        ("slot.end - slot.ready for slot", "slot.end - slot.start for slot", "what is waiting"),
    ),
    *mutants(
        "kernel/schedules/dealing",
        TESTS,
        ("0 <= self.log_swizzle <= 8", "0 <= self.log_swizzle <= 9", "strips of 256 at most"),
        ("min(self.cores, tiles)", "self.cores", "no unit without a tile"),
        ("1 <= cores <= MOST_CORES", "1 <= cores < MOST_CORES", "as many cores as are said"),
    ),
    *mutants(
        "kernel/schedules/grouping",
        TESTS,
        ('lambda: Raster("M")', "lambda: Raster()", "what CUTLASS numbers groups by"),
        ("or min(n, k, *tile) < 1:", "or False:", "N and K are positive"),
    ),
    *mutants(
        "kernel/schedules/plan",
        TESTS,
        ("if self.needs < 0 or self.gives < 0:", "if self.gives < 0:", "counters start at 0"),
        (
            'behind_all = fixup == "ordered" or (last and fixup == "unordered")',
            'behind_all = fixup == "ordered"',
            "the last piece waits for all",
        ),
        (
            "return self.gives if self.turn < self.parts - 1 else 0",
            "return self.gives",
            "nothing comes behind the last piece",
        ),
        (
            'return "first" if not self.turn else "last"',
            'return "middle" if not self.turn else "last"',
            "who begins a tile",
        ),
    ),
    *mutants(
        "kernel/schedules/splitting",
        FOLLOWED,
        ("parts = min(self.parts, depth,", "parts = min(self.parts,", "no empty parts"),
        (
            'self.cores if self.rules == "xe" else depth)',
            "depth)",
            "CUTLASS cuts no more often than there are cores",
        ),
        ("if inside < self.least:", "if inside <= self.least:", "a stretch that is just long"),
        (
            "if inside > depth - self.least else at",
            "if inside >= depth - self.least else at",
            "the rest of a tile that is just long",
        ),
        ("or 2 * rest >= grid):", "or 2 * rest > grid):", "a wave that is just half full"),
        ("or depth <= self.least or", "or depth < self.least or", "8 tiles of K are few"),
        (
            "work[(units + number) % grid]",
            "work[number % grid]",
            "whole tiles begin with who has no stretch",
        ),
        ("max(full - 1, 0) * grid", "full * grid", "the last wave or two are streamed"),
        ("MIN_TILES = 8", "MIN_TILES = 9", "CUTLASS's shortest stretch"),
    ),
    *mutants(
        "kernel/schedules/tables",
        FOLLOWED,
        ("max(numbers) >= 1 << 31", "max(numbers) > 1 << 31", "2**31 is beyond 32 bits"),
        ("min(numbers) < 0 or", "", "numbers below 0"),
        ("int(p.turn == p.parts - 1)", "int(p.turn == p.parts)", "who has the epilogue"),
        ('plan.fixup == "atomic" and piece.parts > 1', 'plan.fixup == "atomic"', "whole tiles"),
    ),
]
