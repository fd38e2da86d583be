"""Small wrong changes to ESIMD's pitfalls, and to what its launches and vectors remember."""

from __future__ import annotations

from mutant_lists.mutant import mutants

EDGES = "tests/esimd/test_advice_edges.py tests/esimd/test_advice.py"
MORE = "tests/esimd/test_slm_more.py tests/esimd/test_advice_edges.py"

MUTANTS = [
    *mutants(
        "esimd/columns",
        f"{EDGES} tests/esimd/test_lints.py",
        ("x * size >= width > x and", "x * size > width > x and", "the right edge is outside"),
        ("(surface.height - 1) % unit", "surface.height % unit", "the height as it was given"),
        ("2 <= block.height < 8", "2 <= block.height < 16", "taller tiles are judged by 8 rows"),
        ("block.height == 1 or (", "block.height == 2 or (", "one row is adjacent"),
        ("block.count == 1 and row", "row", "block after block is another order"),
        ("inside = inside and 0 <= y", "inside = 0 <= y", "tiles over the left or right edge"),
        ("inside and (block", "(block", "tiles over the upper or lower edge"),
        (" or block.transpose or block.vnni", "", "packed tiles are not blocks"),
        ("if size == 1 or len", "if len", "bytes and elements are one"),
        ("if step == size * tile:", "if step >= size * tile:", "another factor is on purpose"),
    ),
    *mutants(
        "esimd/rows",
        EDGES,
        ("at + nbytes <= start", "at + nbytes < start", "a load behind a block leaves it"),
        ("(interval, size) != (now, nbytes)", "size != nbytes", "barriers end what is compared"),
        ("0 < abs(at - start)", "0 <= abs(at - start)", "the same block again does not overlap"),
        ("abs(at - start) < nbytes", "abs(at - start) <= nbytes", "neighbours do not overlap"),
    ),
    *mutants(
        "esimd/branches",
        "tests/esimd/test_advice.py",
        ("step.argval > at", "step.argval >= 0", "jumps that end before the call"),
        ("step.offset < at and ", "", "jumps behind the call"),
    ),
    *mutants(
        "esimd/items",
        "tests/esimd/test_grids.py",
        ("found = found * extent + at", "found = found + at * extent", "the last one is fastest"),
        ("* self.threads[at] + self.local[at]", "* self.threads[0] + self.local[at]", "extents"),
    ),
    *mutants(
        "esimd/records",
        f"{EDGES} tests/esimd/test_records.py",
        ("[-self.size :]", "", "the last writes count"),
        ("list(other._order)", "[]", "copies keep the order"),
        ("        made._order = list(self._order)\n", "", "copies keep the order"),
        ("        self.origin = other.origin\n", "", "copies keep where they come from"),
        ('        self.origin = ""\n        one', "        one", "a write ends it"),
    ),
    *mutants(
        "esimd/reserving",
        MORE,
        ("-(-(start or 0) // 16) * 16", "(start or 0)", "parts begin at multiples of 16"),
        ("        self._thread.parts.pop()", "        pass", "parts end with their block"),
    ),
    *mutants(
        "esimd/blocks",
        EDGES,
        ("    if how.hinted:\n        condition", "    if False:\n        condition", "with hints"),
        ("max(how.nbytes, kind.itemsize)", "how.nbytes", "elements lie at their size"),
    ),
    *mutants(
        "esimd/shared",
        EDGES,
        ("not 8 <= N <= 512", "not 4 <= N <= 1024", "usual sizes"),
        ("    forget(thread.group.rows, start, start + nbytes)\n", "", "loads use blocks"),
        ("    if starts.size:\n        forget", "    if False:\n        forget", "gathers too"),
    ),
    *mutants(
        "esimd/xmx",
        EDGES,
        ("if loaded and made in", "if made in", "an accumulator of zeros"),
        ("(acc.dtype, len(acc)) != (a_tile.dtype, len(a_tile))", "False", "types that differ"),
    ),
    *mutants(
        "esimd/math",
        MORE,
        ("            if odd:\n", "            if False:\n", "odd numbers of elements"),
        ('_two("max", a, b, np.fmax)', '_two("max", a, b, np.maximum)', "a NaN gives way"),
    ),
    *mutants(
        "arch/occupancy",
        "tests/arch/test_occupancy.py",
        ("if size >= slm_bytes", "if size > slm_bytes", "an exact size"),
        ("limit.bytes // reserved", "limit.bytes // slm_bytes", "what is set aside counts"),
        (
            "max((room.groups for room in self.slm)",
            "min((room.groups for room in self.slm)",
            "most",
        ),
    ),
]
