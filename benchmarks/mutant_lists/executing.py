"""Small wrong changes to the fast executor: terms on whole arrays, and what it leaves alone."""

from __future__ import annotations

from mutant_lists.mutant import mutants

PLACES = "tests/executing/test_arrays_places.py"
AGREEMENT = "tests/executing/test_arrays_agreement.py"
RACING = "tests/executing/test_racing_stores.py"
SUMS = "tests/executing/test_planned_sums.py"
SCHEDULED = "tests/executing/test_scheduled.py"
PLANS = "tests/executing/test_plans.py"
FAST = "tests/executing/test_fast.py"
WRONG = "tests/executing/test_fast_wrong.py"
KINDS = "tests/executing/test_fast_kinds.py tests/executing/test_kinds.py"

MUTANTS = [
    *mutants(
        "executing/arrays/places",
        PLACES,
        ("parts[axes] = parts[axes] + numbers if", "parts[axes] = numbers if", "parts add up"),
        (
            "first, offset = divmod(self.offset",
            "first, offset = (0, self.offset)\n        _ = divmod(self.offset",
            "whole offsets go out",
            "what stays inside is divided with the rest",
        ),
        (
            "if np.array_equal(np.broadcast_to(total, numbers.shape), numbers):",
            "if True:",
            "lines are not all",
        ),
    ),
    *mutants(
        "executing/arrays/values",
        f"{PLACES} {FAST}",
        (
            "low, high = max(first, 0), max(0, min(first + at.size, extent))",
            "low, high = max(first, 0), max(0, first + at.size)",
            "rows end with the operand",
        ),
        (
            "if not inside.all():\n        found = np.where(",
            "if False:\n        found = np.where(",
            "outside is zero",
        ),
    ),
    *mutants(
        "executing/arrays/points",
        PLACES,
        (
            "offset = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)",
            "offset = np.arange(total)",
            "each loop begins anew",
        ),
        (
            "return [*rest, group.some(holds)]",
            "return [*rest, group]",
            "conditions leave points out",
        ),
    ),
    *mutants(
        "executing/arrays/contracting",
        f"{FAST} {WRONG} {AGREEMENT}",
        ("if start is None or narrow:", "if start is None or True:", "a start is added"),
        ("if narrow and start is not None:", "if False:", "a narrow start is rounded with the sum"),
    ),
    *mutants(
        "executing/arrays/terms",
        f"{PLACES} {AGREEMENT} {KINDS}",
        (
            "if not np.array_equal(own.reshape(own.shape + (1,) * rank) + along, table):",
            "if False:",
            "a table that does not only add",
        ),
    ),
    *mutants(
        "executing/arrays/states",
        AGREEMENT,
        (
            "index = space.index if space.again is None else space.again",
            "index = space.index",
            "registers that share a place",
        ),
    ),
    *mutants(
        "executing/arrays/lifting",
        f"{AGREEMENT} {KINDS}",
        (
            "if order is not None and not narrow:",
            "if False:",
            "sums of a tile in one order",
            "terms are shared where the order is one: it saves time",
        ),
    ),
    *mutants(
        "executing/arrays/evaluating",
        f"{FAST} {WRONG} {AGREEMENT} {KINDS}",
        (
            "if masked and length.range[0] < length.range[1]:",
            "if False:",
            "bounds that differ are masked",
        ),
        ("both = one & other", "both = one | other", "both factors lie outside"),
        (
            'if numeric.kind != "float" or (numeric.bits >= 32',
            "if (numeric.bits >= 32",
            "integers stay what they are",
        ),
        (
            "return Value(one.axes, wrap(widened(one.array, one.type), to), to)",
            "return Value(one.axes, convert(widened(one.array, one.type), to), to)",
            "lowest bits are kept",
        ),
        (
            "low, high = test.range if has_points(test) else (0, -1)",
            "low, high = 0, -1",
            "conditions inside products",
        ),
        ("if narrow and len(products) > 1 and turns:", "if False:", "narrow sums round in turn"),
    ),
    *mutants(
        "executing/arrays/scanning",
        f"{AGREEMENT} tests/executing/test_attention.py",
        ("if not everyone:", "if False:", "who is done keeps its state"),
        (
            "env[var] = ev.place(place)",
            "pass",
            "the state of a trip of the loop around",
            "no kind has a recurrence inside a loop",
        ),
    ),
    *mutants(
        "executing/arrays/storing",
        f"{RACING} {PLANS} {WRONG} {AGREEMENT} {SCHEDULED}",
        ("if gathered(touched, at)[1].any():", "if False:", "an element is stored once"),
        ("if any(axis in value.axes for axis in others):", "if False:", "several writers differ"),
        (
            "if loaded and any(axis.size > 1 for axis in others):",
            "if False:",
            "what is loaded is stored once",
        ),
        ("inside = inside & (compact(test, axes) < 0)", "pass", "some subgroups store"),
    ),
    *mutants(
        "executing/arrays/counters",
        f"{SCHEDULED} {SUMS}",
        ("if not _before(one, other, totals):", "if False:", "a counter orders tiles"),
        (
            "other.reached.get(counter, 0) > totals[counter] - by",
            "other.reached.get(counter, 0) > 0",
            "a wait that others' signals reach",
        ),
    ),
    *mutants(
        "executing/arrays/faults",
        f"{AGREEMENT} {KINDS} {WRONG} {PLANS} {RACING} {SCHEDULED}",
        (
            "if _happens(run, read.around, guards):",
            "if False:",
            "what was never written is not read",
        ),
        ("if numbers.min() + min(ahead) < low or", "if", "a batch before the first"),
        ("if numbers.size and (numbers % ratio).any():", "if False:", "blocks begin at elements"),
        ("return not clashes(kernel)", "return True", "barriers lie between"),
        (
            "if around != beyond or not _same_tiles(load, other):",
            "if False:",
            "others load what is stored",
        ),
    ),
]
