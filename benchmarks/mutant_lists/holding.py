"""Small wrong changes to what registers and shared memory are said to hold, and in which order."""

from __future__ import annotations

from mutant_lists.mutant import mutants

LATE = "tests/verifying/test_shared_programs.py"
SUMS = "tests/verifying/test_conditional_sums.py"
MAXIMA = "tests/verifying/test_unsound_maxima.py"
SHARED = "tests/verifying/test_shared.py"
NAMED = "tests/verifying/test_named_barriers.py"
PARTS = "tests/verifying/test_parts.py"
NUMBERS = "tests/verifying/test_numbers.py"
INVARIANTS = "tests/verifying/test_invariants.py"
PLACES = "tests/verifying/test_shared_places.py"
LOOPS = "tests/verifying/test_loops.py"
FORMS = "tests/verifying/test_forms.py"
SLM = "tests/verifying/test_slm_faults.py"
SPECIAL = "tests/kernel/test_specialised_gemm.py"
UNSOUND = "tests/verifying/test_unsound.py"
REDUCTIONS = "tests/verifying/test_reductions.py"
RESCALED = "tests/verifying/test_rescaled_sums.py tests/verifying/test_attention.py"

MUTANTS = [
    *mutants(
        "holding/adding",
        f"{FORMS} {LOOPS} {SUMS} {MAXIMA} {UNSOUND}",
        (
            "if inner is not None and name not in carried_by(second, loop):",
            "if inner is not None:",
            "a sum that is doubled is none",
            "terms that hold what is carried are refused behind it",
        ),
        ('if self.function not in ("", function):', "if False:", "a maximum of a sum"),
        ("if len(functions) > 1:", "if False:", "a sum here, a maximum there"),
        ('"max": -inf', '"max": 0.0', "what adds nothing to a maximum"),
        (
            "own and one.fragment == other.fragment and",
            "own and",
            "of two fragments",
        ),
        ("if any(narrow) or (", "if (", "narrow sums round in their own way"),
    ),
    *mutants(
        "holding/turns",
        f"{SHARED} {SLM}",
        (
            "values = range(int(self.least), -difference.offset)",
            "values = range(int(self.least), -difference.offset - 1)",
            "the last of the first few trips",
        ),
    ),
    *mutants(
        "holding/sharing",
        f"{PLACES} {SHARED} {SLM} {SPECIAL}",
        ("kept = to.size - 1 - last", "kept = last", "of two stores the later stays"),
        ("low < 0 or high >= array.elements", "low < 0 or high > array.elements", "the last"),
        ("low < 0 or high >= array.elements", "high >= array.elements", "before the first"),
        ("if array.value_type.bits < 8:", "if False:", "narrow elements cannot be addressed"),
        ("if (owner != owner[:1]).any():", "if False:", "what different statements stored"),
        (
            "if 0 < loop.stop.offset <= MOST_TURNS else 0",
            "if loop.stop.offset <= MOST_TURNS else 0",
            "a loop without trips",
        ),
        ("owner[:, unwritten] = len(flat.parts)", "pass", "what was never written"),
    ),
    *mutants(
        "holding/ordering",
        f"tests/kernel/test_fences.py {PLACES} {SHARED} {SLM} {LATE}",
        ("if self.access.writes and not self.fenced:", "if False:", "stores need a fence"),
        (
            "            begun |= new\n",
            "            break\n",
            "what is open when a second trip begins",
        ),
        (
            "if not (first.writes or second.writes):",
            "if not (first.writes and second.writes):",
            "a load beside a store",
        ),
        (
            "((low[inside] != subgroup) | (high[inside] != subgroup))",
            "(low[inside] != subgroup)",
            "the first who uses an element and another",
        ),
        ("second.at.at({var: t + later.count})", "second.at.at({var: t})", "a trip later"),
        (
            "            self.meet(_Open(access), access)\n",
            "            pass\n",
            "in one statement",
        ),
        (
            "if at_least(loop.stop - loop.start, self.kernel) >= 1:",
            "if True:",
            "a loop that may not be run",
        ),
        ("plain = later.since", "plain = True or later.since", "a loop further out goes on"),
    ),
    *mutants(
        "holding/rounds",
        f"{NAMED} {SPECIAL}",
        ("if not 1 <= event.number <= 31:", "if not 1 <= event.number <= 32:", "31 barriers"),
        ("if counted != counts:", "if False:", "all count the same"),
        ("if number in arrivals:", "if False:", "who arrives twice"),
        ("return self.stuck() or self.clash()", "return self.clash()", "who waits for ever"),
        ("return self.stuck() or self.clash()", "return self.stuck()", "what is in no order"),
        (
            "mover.fenced = tuple(map(max, mover.fenced, arrival.fenced))",
            "mover.fenced = mover.known",
            "stores behind the last fence are not seen",
        ),
        (
            "and known[second.mover] <= second.at",
            "",
            "what is in another order is in order",
        ),
        ("return one != two or len(self.movers[one].who) > 1", "return one != two", "two alike"),
        ("if len(rounds) <= mine:", "if len(rounds) < mine:", "which round is waited for"),
    ),
    *mutants(
        "holding/problems",
        f"{NAMED} {SPECIAL} {LATE}",
        ("shape.period *= one.turns // gcd(one.turns, grown)", "pass", "turns of a loop"),
        ("if len(free) > 1:", "if False:", "two sizes decide"),
        (
            "        else:\n            self.refuse(index)\n\n    def refuse",
            "\n    def refuse",
            "midway",
        ),
        (
            "if index.names & others or index.looked_up:",
            "if index.looked_up:",
            "what depends on the subgroup",
        ),
    ),
    *mutants(
        "holding/periods",
        LATE,
        ("more = atom.divisor // gcd(atom.divisor, grown)", "more = atom.divisor", "drift"),
        ("steps = lcm(steps, parts[-1][0])", "steps = max(steps, parts[-1][0])", "joint periods"),
        ("(inner.low - (divisor - 1)) / divisor", "inner.low / divisor", "a line from below"),
    ),
    *mutants(
        "holding/computing",
        f"{NUMBERS} {UNSOUND} {REDUCTIONS}",
        ('or to.name == "tf32" else node', "else node", "tf32 keeps 10 bits"),
        ("if counts.min() != counts.max():", "if False:", "each takes as many"),
        (
            "to.bits < 32 else node\n\n\ndef _copied",
            "to.bits < 8 else node\n\n\ndef _copied",
            "s16",
        ),
        (
            "node if isinstance(node, Converted) and node.to == to else",
            "node if isinstance(node, Converted) else",
            "a conversion to another type",
        ),
        (
            "if isinstance(start, Accumulated) and start.numeric == op.D:",
            "if isinstance(start, Accumulated):",
            "sums in two types",
        ),
    ),
    *mutants(
        "holding/roles",
        f"{PLACES} {SPECIAL}",
        ("if writers.setdefault(name, mine) != mine:", "if False:", "one set of writers"),
        ("one and not other for one, other", "other and not one for one, other", "who reads"),
    ),
    *mutants(
        "holding/looping",
        f"{LOOPS} {INVARIANTS} {UNSOUND} {PARTS} {SUMS}",
        (
            "surely = at_least(loop.stop - loop.start, kernel) >= 1",
            "surely = True",
            "a loop that may not be run",
        ),
        ('promised(name, "start", before[name],', 'promised(name, "start", claim,', "at first"),
        ('promised(name, "step", after[name],', 'promised(name, "step", claim,', "each trip"),
        (
            "ended = {name: _at(claim, loop, loop.stop) for",
            "ended = {name: _at(claim, loop, loop.stop - 1) for",
            "what is claimed behind the last trip",
        ),
        ("if any(t.reads or t.updates for t in touched):", "if False:", "a condition in a loop"),
    ),
    *mutants(
        "holding/entering",
        f"{FORMS} {LOOPS} {INVARIANTS} {UNSOUND} {PARTS} {SUMS} {RESCALED}",
        ("*self.out[name].parts)]", ")]", "what a trip leaves unwritten"),
        ("if not any(name in carried_by(term, loop) for", "if True or any(name for", "a term"),
    ),
    *mutants(
        "holding/scaling",
        f"{FORMS} {RESCALED}",
        ("numeric.bits >= 32", "numeric.bits >= 8", "a sum that rounds at every trip"),
        ("inner.by is None and by is not None", "by is not None", "two factors"),
        ("then is not None and alike(after, taken(then, held.which))", "then is not None", "m'"),
        ("if side.by is None and not still:", "if False:", "a maximum that goes on alone"),
        ("if now is None or not _is_finite(now):", "if now is None:", "an infinite exponent"),
        ("after = since(Index(variable) + 1)", "after = since(Index(variable))", "which maximum"),
        (
            "return any(map(_is_finite, arguments)) and all(map(_is_below, arguments))",
            "return True",
            "a maximum without a number",
        ),
    ),
    *mutants(
        "holding/looping",
        RESCALED,
        ("if plain and times[id(statement)] == 1:", "if plain:", "a statement done twice"),
    ),
    *mutants(
        "holding/claiming",
        INVARIANTS,
        (
            'if value.accumulator is None or value.how != "sum":',
            "if True:",
            "a claimed sum is added in a type",
        ),
        ("if index.names & {SUBGROUP_INDEX, ELEMENT_INDEX}:", "if False:", "alike everywhere"),
        ("content.count == self.count else None", "True else None", "of another size"),
    ),
    *mutants(
        "holding/digits",
        PARTS,
        ("divisor * extent == count)", "True)", "the last digit has no end"),
        ("if line.size % n == 0 and", "if", "a digit repeats"),
    ),
    *mutants(
        "holding/entering",
        f"{LOOPS} {INVARIANTS} {UNSOUND} {PARTS} {SUMS}",
        ("loop.start + 1, before, earlier)", "loop.start, before, earlier)", "the first trip"),
    ),
    *mutants(
        "holding/folding",
        "tests/verifying/test_folding.py",
        ("or (apart != apart[0]).any()", "", "another distance at each position"),
        ("if HOWS.get(function) != how or how", "if how", "the sum of two maxima"),
        (
            "over != beyond:\n                return",
            "False:\n                return",
            "of other extents",
        ),
        ("    if alike(x, y):", "    if False:", "the same set twice"),
        ("x.operand != y.operand or", "", "elements of two operands"),
        ("j.offset - i.offset for", "0 for", "distances in the base"),
        (
            "        case (Call(f, a), Call(g, b)) if f == g:",
            "        case (Call(f, a), Call(g, b)):",
            "two functions",
        ),
    ),
    *mutants(
        "holding/placing",
        "tests/verifying/test_own_stores.py",
        ("table=x.table[who]", "table=x.table[: who.size]", "what the first subgroups hold"),
    ),
    *mutants(
        "verifying/changing",
        "tests/verifying/test_inout.py",
        ("int(rows[0]), table[rows]", "0, table[rows]", "other subgroups touch it"),
    ),
    *mutants(
        "verifying/questions",
        "tests/verifying/test_own_stores.py",
        (
            "int(write.who[view.subgroup[flat]])",
            "int(view.subgroup[flat])",
            "counted among those that store",
        ),
    ),
]
