"""Small wrong changes to the fast executor: many work-groups at once, and whole matrices."""

from __future__ import annotations

from mutant_lists.mutant import mutants

RACING = "tests/executing/test_racing_stores.py"
SUMS = "tests/executing/test_planned_sums.py"
SCHEDULED = "tests/executing/test_scheduled.py"
PLANS = "tests/executing/test_plans.py"
KINDS = "tests/executing/test_fast_kinds.py"
FAST = "tests/executing/test_fast.py"
WRONG = "tests/executing/test_fast_wrong.py"
NAMED = "tests/verifying/test_named_barriers.py tests/kernel/test_specialised_gemm.py"
MIXED = "tests/kernel/test_mixed.py"
TILED = "tests/executing/test_tiled.py"

MUTANTS = [
    *mutants(
        "executing/groups/touching",
        f"{RACING} {SUMS} {SCHEDULED}",
        (
            'scratch = {o.name for o in kernel.operands if o.role == "scratch"}',
            "scratch = set[str]()",
            "memory to work in is shared by turns",
        ),
        ("full == window.full and window.aligned", "full == window.full", "tiles that overlap"),
        ("if kind != other or kind == WRITE]", "if kind == WRITE]", "loads beside stores"),
        ("doubtful |= final[flat] != codes", "doubtful |= False", "two in one statement"),
        (
            "if before is not None and before.reshape(",
            "if False and before.reshape(",
            "elements first",
        ),
        ("if self.tiles.get(one.name):", "if False:", "tiles first"),
        ("_MANY if several else me", "me", "several load a tile"),
        ("_WAYS + self._way(window.where)", "_WAYS", "subgroups of one work-group"),
    ),
    *mutants(
        "executing/groups/racing",
        f"{RACING} {SUMS} {SCHEDULED}",
        ("& (reads < 2) & (adds < 2)", "& (reads < 2)", "additions are in any order"),
        ("& ~other.own", "", "a subgroup reads what it stored itself"),
    ),
    *mutants(
        "executing/tiled/memory",
        TILED,
        ("if seen.any():", "if False:", "an element is stored once"),
        ("if step < end:", "if False:", "tiles that overlap are left"),
    ),
    *mutants(
        "executing/tiled/statements",
        TILED,
        ("block.demand(arrived=not arrives)", "block.demand(arrived=arrives)", "barriers are met"),
        ("source.own = source.own and own", "pass", "what is looked at is not written over"),
    ),
    *mutants(
        "executing/tiled/mapping",
        TILED,
        ("slots.count(statement.destination) == 1", "True", "what is read twice is kept"),
        ("numbers.max() < bound.min()", "numbers.min() < bound.min()", "a mask cuts a tile"),
    ),
    *mutants(
        "executing/groups/later",
        SUMS,
        ("if not tile.aligned or total.shape", "if total.shape", "tiles of a grid"),
        (
            "if (other.full, other.modes) != (tile.full, tile.modes):",
            "if False:",
            "all tiles are of one grid",
        ),
        ("if found is not None and found[0] == tile else", "if found else", "the same tile"),
        (
            "if self.raw(name).dtype != host_dtype(total.numeric):",
            "if False:",
            "a sum that is stored converted",
        ),
    ),
    *mutants(
        "executing/groups/sums",
        f"{SUMS} {SCHEDULED}",
        (
            "if not same or first[mode][1] != second[mode][0]:",
            "if not same:",
            "stretches of k that leave a gap",
        ),
        ("joined(old, new) or joined(new, old)", "joined(old, new)", "a stretch before another"),
        ("== 1 and not self._found else None", "== 1 else None", "what is computed is kept"),
        (
            "node.plus != 0 or",
            "",
            "a product that is added to something",
            "a window is planned behind a fill with zero: nothing is added to its product",
        ),
    ),
    *mutants(
        "executing/groups/late",
        f"{SUMS} {SCHEDULED}",
        (
            "or self.count != other.count or not",
            "or not",
            "fragments of one size",
            "where elements lie is a table of all of them, compared behind it",
        ),
        ("return np.where(inside,", "return np.where(True,", "outside a matrix are zeros"),
    ),
    *mutants(
        "executing/groups/meeting",
        NAMED,
        ("if counted != counts:", "if False:", "all count the same"),
        (
            "[:, None, :]) & ~own",
            "[:, None, :])",
            "a subgroup knows its own arrivals",
            "who learned that the others came arrived since then, and learned of itself with them",
        ),
        ("if not 1 <= number <= 31:", "if not 0 <= number <= 31:", "barrier 0 is another one"),
        ("if not 1 <= number <= 31:", "if not 1 <= number <= 32:", "there are 31"),
        ("if barrier.here.any():\n", "if False:\n", "a barrier that never fires"),
        (
            "(barrier.produced > counts[0]).any() or (",
            "(",
            "no more producers than are counted",
        ),
        ("barrier.ready &= ~mine\n            barrier.here", "barrier.here", "each round anew"),
        (
            "if (mine & ~barrier.owes).any():",
            "if False:",
            "who waits has arrived",
            "construction demands an arrival before each wait, in the same body",
        ),
    ),
    *mutants(
        "executing/groups/windows",
        f"{PLANS} {SUMS} {SCHEDULED}",
        (
            "begin is None or begin < 0 or step",
            "begin is None or step",
            "a window does not begin before its operand",
        ),
        (
            "if mode not in load.modes and begin >= shape[mode]:",
            "if False:",
            "a matrix behind the last of a batch",
        ),
        (
            'mixed = var in rest.names or "subgroup" in rest.names',
            "mixed = var in rest.names",
            "all subgroups load one tile",
        ),
        ("or written & set(names)", "", "what is stored is not kept"),
        ("or own[-1] is not products[0]", "", "the product comes last"),
        (
            "or kernel.fragment(accumulator).value_type.bits < 32",
            "",
            "narrow sums round after every instruction",
        ),
        ("len(set(names)) != len(names)\n        or ", "", "two loads of one operand"),
        (
            "or last <= first:",
            "or last < first:",
            "a loop without a trip",
            "who asks has left a loop without a trip already",
        ),
    ),
    *mutants(
        "executing/groups/units",
        f"{SUMS} {SCHEDULED}",
        (
            "(s.start.looked_up or s.stop.looked_up)",
            "s.start.looked_up",
            "how often is looked up",
            "done together or one by one, work-groups give the same",
        ),
        ("groups.active is not None or statement.gathers or", "", "what some subgroups add"),
        (
            "not statement.value and groups.active is None:",
            "not statement.value:",
            "what some subgroups fill",
        ),
        ("and not statement.value and groups", "and groups", "a fill with another number"),
        ('if value.function != "add" or', "if", "a maximum of two sums"),
    ),
    *mutants(
        "executing/groups/ahead",
        f"{SUMS} {SCHEDULED}",
        (
            "outside | (np.asarray(place) < 0) | (",
            "outside | (",
            "an element before the first is outside",
        ),
        (
            "min(first), trips, loop.var",
            "0, trips, loop.var",
            "the first trip of any work-group",
            "what no table says is looked up one by one",
        ),
    ),
    *mutants(
        "executing/groups/fetching",
        f"{SUMS} {SCHEDULED}",
        (
            "if at is None or not 0 <= at < groups",
            "if at is None or not 0 <= at <= groups",
            "a prefetch of the matrix behind the last",
        ),
        (
            "return all(isinstance(inner, Prefetch) for inner in statement.body) and",
            "return",
            "a condition of more than prefetches",
            "a walk over all that is inside refuses the rest",
        ),
    ),
    *mutants(
        "executing/whole_matrices/multiplying",
        f"{PLANS} {FAST} {MIXED} {WRONG}",
        (
            "if extent != b.axes[right.along].extent or not",
            "if not",
            "A and B are equally deep",
        ),
        (
            "not (_keeps_zero(a.node) or _keeps_zero(b.node))",
            "False",
            "zeros beyond K that are shifted",
        ),
        ("not taken\n                and ", "", "each axis of B has one of A"),
        ("narrow=op.D.bits < 32", "narrow=False", "narrow sums keep their order"),
        (
            "if axis.trips is None and (places == places[:, :, :1]).all():",
            "if (places == places[:, :, :1]).all():",
            "what moves with trips is k",
        ),
    ),
    *mutants(
        "executing/whole_matrices/fields",
        f"{WRONG} {FAST} {KINDS}",
        ("if start[0] + first > 0 or gaps.any():", "if gaps.any():", "a store begins at 0"),
        ("if start[0] + first > 0 or gaps.any():", "if start[0] + first > 0:", "tiles touch"),
        ("if not seen.all() or np", "if np", "a tile without holes"),
        ("if not field.known.all():", "if False:", "padding is unknown"),
        ("self.extent == other.extent\n            and ", "", "axes end together"),
    ),
    *mutants(
        "executing/whole_matrices/planning",
        f"{PLANS} {WRONG} {KINDS} {FAST} {MIXED}",
        (
            "if any(name in s.touched.to_memory for s in walk(planner.kernel.body)):",
            "if False:",
            "what is loaded changes",
        ),
        ("if (back < 0).any():", "if False:", "a reorder that reaches not all"),
        ("whole.min() < 0 or whole.max() >= extent", "whole.max() >= extent", "before the first"),
        ("whole.min() < 0 or whole.max() >= extent", "whole.min() < 0", "behind the last"),
        (
            "if isinstance(found, Constant) or planner.trips or twice:",
            "if isinstance(found, Constant) or twice:",
            "of stores in trips the last counts",
        ),
        ("if None in turned.axes or not covers(axes):", "if not covers(axes):", "one of many"),
        ("if None in turned.axes or not covers(axes):", "if None in turned.axes:", "all of D"),
        (
            "if index.looked_up or SUBGROUP_INDEX in index.names:",
            "if index.looked_up:",
            "subgroups at places of their own",
            "an index of a subgroup is refused there by another name",
        ),
        ("or not all(known.values())", "", "sizes of 0", "a product over no k is zero either way"),
    ),
    *mutants(
        "executing/whole_matrices/computing",
        f"{PLANS} {FAST} {KINDS} {MIXED}",
        ("found[..., ~inside] = 0", "pass", "k outside are zeros"),
        (
            "names.count(store.operand) == 1)",
            "True)",
            "what is stored over later",
            "a plan with two stores of one operand is not made",
        ),
        ("elif node.plus:", "elif False:", "an accumulator that begins with a number"),
    ),
    *mutants(
        "executing/whole_matrices/bodies",
        f"{PLANS} {FAST} {WRONG}",
        (
            "and (n in wide or updates.count(n) == 1)",
            "",
            "a narrow sum is rounded in between",
        ),
        ("if n not in others and", "if", "what else is done to a sum"),
    ),
]
