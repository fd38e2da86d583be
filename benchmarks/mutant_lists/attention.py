"""Small wrong changes to attention: masks, parts of the keys, what is put together, refusals."""

from __future__ import annotations

from mutant_lists.mutant import mutants

RUN = "tests/executing/test_attention.py"
SLIPS = "tests/kernel/test_attention_tile.py"
FAULTS = "tests/executing/test_attention_faults.py"

MUTANTS = [
    *mutants(
        "kernel/kinds/attention",
        RUN,
        (
            "stop = (keys.count + (form.tile[1] - 1)) // form.tile[1]",
            "stop = keys.count // form.tile[1]",
            "the last tile of keys counts",
        ),
        (
            'stop = (stop + (form.splits - 1) - Index("s")) // form.splits',
            "stop = stop // form.splits",
            "parts of the keys have different numbers of tiles",
        ),
    ),
    *mutants(
        "kernel/kinds/attention_form",
        f"{SLIPS} {RUN} {FAULTS}",
        (
            'return Index("h") // self.group',
            "return Index()",
            "a head of queries reads its own head of keys",
        ),
        ("min(self.window) < 0", "max(self.window) < 0", "both sides of a window"),
        (
            "self.lse and (self.packed or self.rows % 16)",
            "self.lse and self.packed",
            "lse is stored 16 queries at a time",
        ),
        (
            "(self.page < keys or self.page % keys)",
            "self.page % keys",
            "a page of 0 keys is none",
        ),
        (
            "elif self.out < columns or self.out % columns:",
            "elif self.out % columns:",
            "0 columns of the output",
        ),
        (
            "elif self.across > 1 and self.across != self.qk.num_subgroups:",
            "elif False:",
            "queries and keys shared out at once",
        ),
        (
            'self._starts("m", self.qk) != self._starts("m", self.pv)',
            "False",
            "both products share the queries alike",
        ),
        (
            "if self.cached and self.page is not None:",
            "if False:",
            "a cache beside pages",
        ),
        (
            "self.splits > 1 and not (self.lse and",
            "self.splits > 1 and not (",
            "parts are put together by their lse",
        ),
    ),
    *mutants(
        "kernel/kinds/attention_masks",
        RUN,
        ("min(more, behind)", "max(more, behind)", "causal and a window: the nearer end"),
        ("(beside - before, key + 1)", "(beside - before, key)", "the first key of a window"),
        (
            "first + (queries - 1), start + (width - 1)",
            "first, start + (width - 1)",
            "the last query of a tile sees most",
        ),
        (
            "early if number == 0 and form.window is not None else late",
            "late",
            "a window begins for the first query",
        ),
    ),
    *mutants(
        "kernel/kinds/attention_claim",
        RUN,
        (
            "[(j, (key // width + 1) * width)]",
            "[(j, key + 1)]",
            "a weight is rounded against the maximum of its tile",
        ),
        (
            'sums = apply("max", sums, 1.0)',
            "pass",
            "a part without a key for a query has the output 0",
        ),
        (
            "own = key // form.tile[1] % form.splits",
            "own = key % form.splits",
            "parts take tiles of keys in turn",
        ),
        (
            'Where(t, Index.element("starts", b + 1), value, Const(0.0))',
            "value",
            "a row belongs to one batch",
        ),
    ),
    *mutants(
        "kernel/kinds/attention_combine",
        f"{SLIPS} {RUN}",
        ("if rows.count % 16:", "if False:", "lse is read 16 at a time"),
        (
            'Slot("tSum") * Slot("tFix") + Slot("tNow")',
            'Slot("tSum") + Slot("tNow")',
            "sums follow the maximum",
        ),
        ("(parts, b, h, m, e)) * weight)", "(parts, b, h, m, e)))", "parts are weighted"),
    ),
    *mutants(
        "kernel/kinds/attention_end",
        RUN,
        (
            "if v < form.vtiles - 1:",
            "if False:",
            "a tile is read before the next is written over it",
        ),
        ('Slot("tSrMax") * log(2.0)', 'Slot("tSrMax")', "maxima are in base 2"),
        (
            "Layout(16 * self.rows.slots, 0)",
            "Layout(16 * self.rows.slots, 1)",
            "one sink for all rows of a head",
        ),
        (
            "out.append(If(place, form.queries, (store,)))",
            "out.append(store)",
            "rows behind a batch are another one's",
        ),
        (
            'sums = apply("max", Slot("tSrSum"), 1.0) if form.splits > 1 else Slot("tSrSum")',
            'sums = Slot("tSrSum")',
            "a part without keys is 0, no NaN",
        ),
    ),
    *mutants(
        "kernel/kinds/attention_loop",
        RUN,
        (
            'if form.page is not None and keys.k == "K":',
            "if False:",
            "no page behind the last is prefetched",
        ),
        (
            "form.tile_of(keys) + form.stages * form.splits",
            "form.tile_of(keys) + form.stages",
            "the tile that this part comes to is prefetched",
        ),
        ("LOWEST = -(2.0**127)", "LOWEST = 0.0", "scores may all be far below zero"),
    ),
    *mutants(
        "kernel/kinds/attention_rows",
        RUN,
        (
            'both = "max" if how == "max" else "add"',
            'both = "add"',
            "halves of a register are put together alike",
        ),
        ("kept = self.count * width", "kept = self.count", "which half is which"),
    ),
    *mutants(
        "kernel/kinds/attention_tile",
        SLIPS,
        (
            "elif qk.num_subgroups != pv.num_subgroups:",
            "elif False:",
            "both products have the same subgroups",
        ),
        (
            "qk.tile_mnk[0] != pv.tile_mnk[0] or qk.tile_mnk[1] != pv.tile_mnk[2]",
            "qk.tile_mnk[0] != pv.tile_mnk[0]",
            "the weights are as deep as the scores are wide",
        ),
    ),
]
