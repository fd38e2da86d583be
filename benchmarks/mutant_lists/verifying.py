"""Small wrong changes to proofs: what is compared, what is covered, what is in order."""

from __future__ import annotations

from mutant_lists.mutant import mutants

MAXIMA = "tests/verifying/test_unsound_maxima.py"
SUMS = "tests/verifying/test_conditional_sums.py"
UNSOUND = "tests/verifying/test_unsound.py"
TERMS = "tests/verifying/test_terms.py"
INOUT = "tests/verifying/test_inout.py"
CLASSES = "tests/verifying/test_classes.py"
PREFETCHING = "tests/verifying/test_prefetching.py"
OF_A_TILE = "tests/verifying/test_pieces.py"
PIECES = "tests/verifying/test_epilogue_tiles.py"
REDUCTIONS = "tests/verifying/test_reductions.py"
PARTS = "tests/verifying/test_parts.py"
PATIENCE = "tests/verifying/test_patience.py"
SLIPS = "tests/kernel/test_slips.py"
RESCALED = "tests/verifying/test_rescaled_sums.py tests/verifying/test_attention.py"

MUTANTS = [
    *mutants(
        "verifying/comparing",
        f"{TERMS} {MAXIMA} {SUMS} {CLASSES} {UNSOUND}",
        (
            "if not both.is_empty:\n                    twice",
            "if False:\n                    twice",
            "two terms that take one element",
        ),
        (
            "judged(points, mine, yours, None if as_set else repeated, ours[0])",
            "judged(points, mine, yours, None, ours[0])",
            "an element is summed once",
        ),
        (
            "repeated = None if as_set or mine.decides(by) else repeats(mine, points, names)",
            "repeated = None",
            "a term that takes an element twice",
        ),
        ("if not as_set and not yours.decides(by):", "if False:", "a claim that sums twice"),
        ("assuming(f, condition, holds) for f", "assuming(f, condition, True) for f", "cases"),
        ("as_set = mine.name in EXTREMES", "as_set = mine.name not in EXTREMES", "sets of maxima"),
        (
            "if not x.over and not y.over and x.guards == y.guards:",
            "if not x.over and not y.over:",
            "terms under conditions",
        ),
    ),
    *mutants(
        "verifying/differences",
        f"{TERMS} {CLASSES} {UNSOUND}",
        ('("missing", yours, mine,', '("missing", mine, mine,', "what is not summed"),
        ('("foreign", mine, yours,', '("foreign", mine, mine,', "what should not be summed"),
    ),
    *mutants(
        "verifying/racing",
        f"{INOUT} {UNSOUND} {PIECES}",
        (
            "if computed.isdisjoint({id(one.statement), id(other.statement)}):",
            "if True:",
            "two who compute round in two ways",
        ),
        ("return _is_copied(body)", "return True", "what is computed and then converted"),
        (
            "return _is_copied(then) and _is_copied(otherwise)",
            "return _is_copied(then) or _is_copied(otherwise)",
            "both sides of a condition",
        ),
        ("or abs(scale) < span:", "or False:", "tiles that overlap"),
        ("& (owners[1:] != owners[:-1])).any():", "& (owners[1:] < owners[:-1])).any():", "who"),
        (
            "return all(name in separated or n == Index(None, 1) for name, n in kernel.grid)",
            "return True",
            "work-groups that store to one tile",
        ),
    ),
    *mutants(
        "verifying/covering",
        f"{OF_A_TILE} {PIECES} {INOUT}",
        ("fills = len(group) == 1 or _is_box(joined)", "fills = True", "pieces fill a tile"),
        (
            "if any(sizes[name] != size for name, size in space.fixed.items()):",
            "if False:",
            "sizes that are fixed",
        ),
        (
            "if not _is_covered(space, _joined(writes), inside, np.array(hole), sizes):",
            "if True:",
            "what the next work-group stores",
        ),
    ),
    *mutants(
        "verifying/fetching",
        PREFETCHING,
        ("if not loop.start.is_constant:", "if False:", "a loop that begins anywhere"),
    ),
    *mutants(
        "verifying/questions",
        f"{INOUT} {REDUCTIONS} {UNSOUND}",
        (
            "if not all(isinstance(write.statement, AtomicStore) for _, write in mine):",
            "if False:",
            "stored and added to",
        ),
        (
            "if any(isinstance(s, Load) and s.operand == output for s in self",
            "if any(False for s in self",
            "loaded while others add",
        ),
        ("if numeric.name not in EXACT:", "if False:", "additions round"),
        ("if around == later.around:", "if True:", "a later store that is not always done"),
    ),
    *mutants(
        "verifying/loading",
        f"{INOUT} tests/verifying/test_memory.py",
        (
            "any(s.touched.meets for s in self.kernel.statements()) or has_roles(self.kernel)",
            "has_roles(self.kernel)",
            "a barrier may lie between",
        ),
    ),
    *mutants(
        "verifying/conditions",
        f"{UNSOUND} {CLASSES} tests/verifying/test_gemm.py",
        ("if reach.is_bounded:", "if False:", "right for small sizes alone is wrong"),
        ("good.told(all_sizes", "bad.told(all_sizes", "where it is right"),
    ),
    *mutants(
        "verifying/splitting",
        f"{TERMS} {REDUCTIONS} {SUMS} {MAXIMA} {UNSOUND}",
        ("if not as_set and not yours.decides(by):", "if False:", "which summand is which"),
        ("if not as_set and not here.decides(by):", "if False:", "an element taken twice"),
        (
            "whole_of_mine is not None and not (whole_of_mine & taken).is_empty:",
            "False:",
            "two parts that take one element",
        ),
        ("if wrong is None or wrong.is_empty:", "if True:", "other elements beside functions"),
    ),
    *mutants(
        "verifying/laws",
        f"{TERMS} {RESCALED}",
        ("if not _is_lowest(inner):", "if True:", "exp2 of minus infinity is zero"),
        ("        if _is_lowest(inner):", "        if False:", "what is masked is left out"),
        ("return sure and all(_is_finite((t,)) for t in families)", "return True", "finite"),
        ("if len(mine) < 2:", "if len(mine) < 3:", "exponentials put together"),
    ),
    *mutants(
        "verifying/abbreviating",
        f"{TERMS} {RESCALED}",
        ("if other == kind and number == count and self._same(", "if other == kind and (", "equal"),
        ("return (first, second) if names.are_clear else formulas", "return formulas", "names"),
    ),
    *mutants(
        "verifying/evaluating",
        f"{RESCALED} tests/verifying/test_numbers.py",
        ("near = np.isfinite(most) & (", "near = (", "infinity is near nothing"),
    ),
    *mutants(
        "verifying/patience",
        PATIENCE,
        ("max(left - units, left / 2)", "left / 2", "a trial ends where it is said"),
    ),
    *mutants(
        "holding/patience",
        PATIENCE,
        ("outer.spent += account.spent", "outer.spent += 0", "a part of the account around it"),
        ("if key not in account.kept:", "if True:", "what is remembered is made once"),
        ("if units < LONG:", "if True:", "long steps end in time"),
    ),
    *mutants(
        "verifying/calls",
        f"{PARTS} {PATIENCE}",
        (
            "timeout=max(0.0, seconds) if seconds < LONGEST else None",
            "timeout=max(0.0, seconds)",
            "clocks count so far",
        ),
        (
            "pace.units * most if most == pace.steps else left + 1",
            "pace.units * most",
            "the account is used up",
        ),
    ),
    *mutants(
        "verifying/prover",
        f"{INOUT} {SLIPS} tests/test_misused_calls.py",
        ("value < 1:", "value < 0:", "a size of 0"),
        (
            "if failure is not None and (large := _too_large(questions.kernel, failure)):",
            "if False:",
            "what no replay runs",
        ),
        ("(FINITE, RACES, *assumed)", "(FINITE, RACES)", "what a claim assumes"),
    ),
    *mutants(
        "verifying/failures",
        f"{PARTS} {INOUT}",
        ("return unit % 16, unit // 16 * packed + inside", "return unit % 16, unit // 16", "s4"),
        (
            "if point is None or all(point[size] < LONGEST",
            "if True or all(point[size] < LONGEST",
            "no surface is so large",
        ),
    ),
]
