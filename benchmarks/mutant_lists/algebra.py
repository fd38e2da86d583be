"""Small wrong changes to the layout algebra."""

from __future__ import annotations

from mutant_lists.mutant import Mutant, mutants

TESTS = "pycute_xe/int_tuple pycute_xe/layout pycute_xe/algebra tests/layout tests/algebra"


def _in(file: str, *changes: tuple[str, ...]) -> list[Mutant]:
    return mutants(
        file, f"pycute_xe/{file}.py tests/algebra/test_against_cute.py {TESTS}", *changes
    )


MUTANTS = [
    *_in(
        "algebra/simplify",
        ("        if s == 1:\n", "        if s == 0:\n", "extents of 1 are dropped"),
        ("follows = s * d", "follows = s + d", "a mode ends after all of its steps"),
        (
            "[coalesce(layout[i], profile[i]) for i in range(count)]",
            "[coalesce(layout[i]) for i in range(count)]",
            "a profile may nest",
        ),
        (
            "tuple(1 if same(d, 0) else s for",
            "tuple(s for",
            "repeats are taken out",
        ),
        (
            "merged((s, d) for s, d in flat_modes(layout) if not same(d, 0))",
            "merged((s, d) for s, d in flat_modes(layout))",
            "repeats are taken out",
        ),
        ("tuple(d * n for d in", "tuple(d + n for d in", "scaling multiplies"),
    ),
    *_in(
        "algebra/compose",
        (
            "        if s == 1 and i != last:",
            "        if s == 1:",
            "the last mode is unbounded even with one element",
        ),
        (
            "            step = step // s\n            continue",
            "            step = 1\n            continue",
            "a step over whole modes goes on in the next",
        ),
        ("            if step % s:", "            if False:", "an uneven step is refused"),
        ("all((n - 1) * c < s for", "all((n - 1) * c <= s for", "a walk stops before an end"),
        (
            "return merged(out) if _carry(lhs, last) is None else None",
            "return merged(out)",
            "parts of a walk do not carry",
        ),
        (
            "if reach == 0 or s % step or left % reach:",
            "if reach == 0 or s % step:",
            "a walk that ends within a mode is refused",
        ),
        (
            "if reach == 0 or s % step or left % reach:",
            "if reach == 0 or left % reach:",
            "a step that does not divide the mode is refused",
        ),
        ("        left //= reach", "        left -= reach", "what is left is a factor"),
        (
            "        left //= reach\n        step = 1",
            "        left //= reach",
            "the next mode is walked one by one",
        ),
        ("if reached >= s:", "if reached > s:", "a carry is refused"),
        (
            "last = [end // s for end in last]",
            "last = list(last)",
            "carries are looked for in every mode",
        ),
        (
            "if shape != 1 and len(lhs) > 1:",
            "if len(lhs) > 1:",
            "single elements end nowhere",
            "an extent of 1 ends at 0 and adds nothing to a sum of ends",
        ),
        ("step = -(-step // s)", "step = step // s", "CuTe prints the idle stride rounded up"),
        (
            "        if stride == 0:\n            return shape, 0\n",
            "",
            "a repeat steps through nothing",
        ),
        (
            "parts = [composition(a[i], t) for",
            "parts = [composition(a[0], t) for",
            "each entry has its own mode",
        ),
        (
            "    return make_layout(*parts) if parts else unchecked((), ())",
            "    return make_layout(*parts, *list(a)[len(tiler) :])",
            "modes beyond the tuple drop out",
        ),
    ),
    *_in(
        "algebra/inverse",
        (
            "            if d < reach:",
            "            if False:",
            "modes that overlap are refused",
        ),
        (
            "hole = d // reach * reach if hole is None else hole",
            "hole = None",
            "a divide that leaves a hole is refused",
        ),
        (
            "        reach = d * s",
            "        reach = reach * s",
            "the next gap starts where the mode ends",
        ),
        (
            "-(-end // reach)",
            "end // reach",
            "the cotarget is reached",
        ),
        (
            "s > starts[d][0]",
            "s < starts[d][0]",
            "of modes that start together the longest counts",
        ),
        (
            "starts[d] = (s, where)\n        where = where * s",
            "starts[d] = (s, where)\n        where = where + s",
            "indices of the next mode start after this one's",
        ),
        (
            "out.append((s, at))\n        reach = reach * s",
            "out.append((s, at))\n        reach = reach + s",
            "the next mode starts where this one ends",
        ),
        (
            "not at_most(step * s, following):",
            "not at_most(step, following):",
            "overlaps have no inverse",
        ),
        (
            "(uneven and drift >= placed[0][0]) or",
            "",
            "uneven gaps have no inverse",
        ),
        (
            "out.append((following // step, at))",
            "out.append((s, at))",
            "gaps belong to the mode before them",
        ),
        ("[(placed[0][0], 0)] if placed else []", "[]", "nothing is hit before the first stride"),
        ("True) if same(d, 0)", "True) if same(d, 0) and s > 2", "every repeat maps to zero"),
    ),
    *_in(
        "algebra/divide",
        (
            "rest, hole = gaps(tile, extent)",
            "rest, hole = gaps(tile, extent - 1)",
            "the last element belongs to a tile",
        ),
        (
            "return tiles, rests + list(layout)[len(tiler) :]",
            "return tiles, rests",
            "modes beyond the tiler are in the rest",
        ),
        (
            "return [layout] if len(layout) == 1 else list(layout)",
            "return list(layout)",
            "CuTe leaves a single mode as it nests",
        ),
        (
            "make_layout(*unpacked(tile), *unpacked(rest))",
            "make_layout(*unpacked(rest), *unpacked(tile))",
            "the tile comes first",
        ),
        (
            "            tiles.append(layout[i])\n            rests.append(Layout(1, 0))",
            "            tiles.append(Layout(1, 0))\n            rests.append(layout[i])",
            "a mode kept whole is part of the tile",
        ),
    ),
    *_in(
        "algebra/product",
        (
            "product(block.shape) * cosize(copies)",
            "product(block.shape)",
            "there is a place for every copy",
        ),
        (
            "make_layout(c, b) for b, c",
            "make_layout(b, c) for b, c",
            "raked blocks are interleaved",
        ),
        (
            "order or tuple(range(len(extents)))",
            "tuple(range(len(extents)))",
            "copies go in the order asked for",
        ),
        (
            "tuple(map(ceil_div, extents, product_each(padded.shape)))",
            "extents",
            "copies fill the target and no more",
        ),
        (
            "padded = list(block) + [one] * (rank - len(block))",
            "padded = [one] * (rank - len(block)) + list(block)",
            "missing modes come last",
        ),
    ),
    *_in(
        "algebra/recast",
        ("1 if d > 0 else -1", "1", "one element may lie below the start"),
        ("    if n % d:\n", "    if False:\n", "elements do not straddle units"),
        ("    if d < 0 and s != 1:", "    if False:", "a run downwards tears units"),
        ("    if d < 0 and s != 1:", "    if d < 0:", "one element has no direction"),
        ("if not at_most(reach, n - 1):", "if not at_most(reach, n):", "leaves share a unit"),
        ("(n // d if at_most(n // d, s) else s)", "n // d", "a part of a unit reaches less far"),
        ("return ceil_div(s, n // abs(d))", "return s // (n // abs(d))", "a part is one unit"),
        ("if not same(modes[i][0], 1):", "if True:", "a leaf that moves counts the parts"),
        ("if i == growing else", "if d == 1 else", "one leaf counts the parts"),
    ),
    *_in(
        "algebra/common",
        ("s if d == 1 else 1", "s", "only elements in order are common"),
        (
            "lcm(start, other_start), gcd(end, other_end)",
            "max(start, other_start), min(end, other_end)",
            "steps are even in both shapes",
        ),
        (
            "if last % first == 0 and last > first:",
            "if last > first:",
            "steps are even in both shapes",
        ),
        ("sums.append((s, total))", "sums.append((s, d))", "both layouts count"),
    ),
    *_in(
        "algebra/rearrange",
        ("(abs(mode[1]), mode[0])", "(mode[1], mode[0])", "steps are compared by magnitude"),
        (
            "make_ordered_layout(filter_zeros(layout).shape, layout.stride)",
            "make_ordered_layout(layout.shape, layout.stride)",
            "repeats take no room",
        ),
    ),
    *_in(
        "algebra/relations",
        (
            "d <= out[-1][0] * out[-1][1]",
            "d < out[-1][0] * out[-1][1]",
            "a mode that continues another is one with it",
        ),
        ("d < 0 or d > reach", "d < 0 or d >= reach", "a stride may start where others end"),
        (
            "// self.steps[i + 1] + 1:",
            "// self.steps[i + 1]:",
            "as many coordinates as offsets fit without a collision",
        ),
        (
            "return e // common < s and d // common < t",
            "return e // common < s or d // common < t",
            "both modes must reach the common multiple",
        ),
        (
            "            low = max(low, 0)",
            "            low = max(low, 1 - s)",
            "half of the differences need no look",
            "a difference and its opposite cancel together: only the cost differs",
        ),
        (
            "while len(path) > 1 and path[-1] == 0:",
            "while len(path) > 9 and path[-1] == 0:",
            "E(0, 0) adds to what E(0) adds to",
        ),
        (
            "(len(modes) == 1 and bool(modes[0][1] == 1))",
            "(len(modes) == 1)",
            "contiguous steps are 1",
        ),
    ),
]
