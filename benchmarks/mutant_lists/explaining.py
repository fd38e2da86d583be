"""Small wrong changes to explanations: what is said of a result, and whether it is so."""

from __future__ import annotations

from mutant_lists.mutant import mutants

EXPLAIN = "tests/explaining/test_explain.py"
ATOMS = "tests/explaining/test_atoms.py"

MUTANTS = [
    *mutants(
        "explaining/composing",
        EXPLAIN,
        ("if reached >= s:", "if reached > s:", "walks that meet the end of a mode"),
        ("last = [end // s for end in last]", "pass", "what is left for the next mode"),
        ("step = -(-step // s)", "step = step // s", "what CuTe prints for a single element"),
        ("if len(tiler) < len(a):", "if False:", "modes that drop out are told"),
        ('count != 1 else "just"', 'count == 1 else "just"', "how often a step passes"),
        (
            "uneven = here > 0 and (s % step or left % here)",
            "uneven = here > 0 and s % step",
            "by",
            "a step that divides the mode goes straight on in groups of what fits in it, or not",
        ),
    ),
    *mutants(
        "explaining/dividing",
        EXPLAIN,
        ("if hole is not None and hole < total:", "if hole is not None:", "a hole behind the end"),
    ),
    *mutants(
        "explaining/inverting",
        EXPLAIN,
        ("if d not in starts or s > starts[d][0]:", "if d not in starts:", "the longer mode"),
        ("if following < step * s:", "if following <= step * s:", "strides that just touch"),
        ("hole = first if hole is None else hole", "hole = first", "the first hole"),
    ),
    *mutants(
        "explaining/simplifying",
        EXPLAIN,
        ("if s == 1 and not (keep_last and i == len(modes) - 1):", "if s == 1:", "the last mode"),
    ),
    *mutants(
        "explaining/gathering",
        EXPLAIN,
        ("if len(tiler) > len(layout):", "if False:", "too many entries"),
        (
            "out = make_layout(first, *unpacked(second))",
            "out = make_layout(first, second)",
            "tiled",
        ),
    ),
    *mutants(
        "explaining/telling_feeds",
        ATOMS,
        (
            'isinstance(feed.copy, CopyAtom) and feed.order == "col"',
            "False",
            "rows and columns of a turned load",
        ),
        ('found[1].kind != "free", default', 'found[1].kind == "free", default', "free first"),
        ("if atom.value_type.bits == 32 else 2]", "if True else 2]", "C has 32 bits"),
    ),
]
