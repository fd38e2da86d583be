"""Small wrong changes to what chooses, deals and compares atoms."""

from __future__ import annotations

from mutant_lists.mutant import mutants

CHOICE = "tests/atom/test_selecting.py tests/atom/test_cute_goldens.py"
WIDTHS = "tests/atom/test_reorder_widths.py tests/atom/test_cute_goldens.py"
SEARCH = "tests/atom/test_searching.py tests/atom/test_differing.py"
ANY = "tests/atom/test_tiled_any.py"
NAMED = "tests/kernel/test_named_copies.py"
TILED = "tests/atom/test_tiled_partitions.py tests/atom/test_cute_goldens.py"

MUTANTS = [
    *mutants(
        "atom/selection",
        CHOICE,
        (
            "rest = [i for i in range(len(gmem_stride)) if i not in unit[:1]]",
            "rest = [i for i in range(len(gmem_stride)) if i not in unit]",
            "a second mode of stride 1 may be the strided one",
        ),
        (
            "half_register = min(GRF_BYTES * 8 // 2 // register_type.bits, 16)",
            "half_register = 16",
            "a run is at least half a register",
        ),
        (
            "XE_LOAD_2D_TRANSPOSE(bits, gcd(32, run_y), width",
            "XE_LOAD_2D_TRANSPOSE(bits, run_y, width",
            "a message has up to 32 rows",
        ),
        (
            "run_x = extents[x] if resize else walk.run(x)",
            "run_x = walk.run(x)",
            "values of another width are reordered anyway",
        ),
        (
            "run_y = extents[y] if resize else walk.run(y)",
            "run_y = walk.run(y)",
            "values of another width are reordered anyway",
        ),
        (
            "gcd(min(row, 4 * block), extents[x])",
            "gcd(row, extents[x])",
            "a message has up to four blocks",
        ),
        ("gcd(run_y, 8), block_width", "gcd(run_y, 32), block_width", "a store has up to 8 rows"),
        (
            '"vnni" if packed and bits in (8, 16) else "plain"',
            '"vnni" if packed else "plain"',
            "VNNI packs 8 and 16 bits",
        ),
        (
            '"transpose" if extent * bits >= 16 else "plain"',
            '"transpose"',
            "below two bytes nothing is transposed",
        ),
        (
            "return [*modes, modes[0]], True",
            "return modes, True",
            "CUTLASS adds the mode of the packing at the end",
            "the first mode of a kind is taken, so that one repeated at the end never is",
        ),
        (
            "if bits >= 32 or len(modes) < 2 or modes[0][0] != 32 // bits:",
            "if bits >= 32 or len(modes) < 2:",
            "a packing fills a dword",
        ),
        ("step.value >= at_least", "step.value > at_least", "a run of just so many will do"),
    ),
    *mutants(
        "atom/reordering",
        f"{WIDTHS} tests/atom/test_feeding.py",
        (
            "extent % (SUBGROUP * max(source, destination)) == 0",
            "extent % (SUBGROUP * source) == 0",
            "runs fill registers on both sides",
        ),
        ("if step == 1 and extent % SUBGROUP == 0:", "if step == 1:", "runs have 16 elements"),
        ("modes[: len(start)] == start", "modes[:1] == start[:1]", "the whole start is compared"),
        (
            '"UV": [(SUBGROUP, destination), (destination, 1)]',
            '"UV": [(SUBGROUP, source), (source, 1)]',
            "a channel of the destination is filled",
        ),
        (
            '"VU": [(source, SUBGROUP), (SUBGROUP, 1)]',
            '"VU": [(destination, SUBGROUP), (SUBGROUP, 1)]',
            "a channel of the source is emptied",
        ),
        (
            "spread = (source // destination, destination * SUBGROUP)",
            "spread = (source // destination, SUBGROUP)",
            "a channel is spread over several",
        ),
        (
            "gathered = (destination // source, source)",
            "gathered = (destination // source, destination)",
            "several channels are gathered",
        ),
        ("if values % packed:", "if False:", "work-items have whole bytes"),
        (
            "return coalesce(slots) == Layout(size(slots))",
            "return size(slots) == size(coalesce(slots))",
            "an identity moves nothing",
        ),
    ),
    *mutants(
        "atom/tiled_copy",
        TILED,
        (
            "if threads % lanes or values % self.atom.values:",
            "if threads % lanes:",
            "values fill messages",
        ),
        (
            "one = composition(one, composition(right_inverse(reference), side))",
            "pass",
            "lanes of a subgroup share an address",
        ),
        (
            "return self._tidfrg(layout, self.atom.layout_src_tv)",
            "return self._tidfrg(layout, self.atom.layout_dst_tv)",
            "the source of a store is registers",
        ),
        ("or not 0 <= thread < count:", "or not 0 <= thread <= count:", "threads count from 0"),
        (
            "composition(threads, Layout(self.num_subgroups, SUBGROUP))\n        messages",
            "composition(threads, Layout(self.num_subgroups))\n        messages",
            "a subgroup starts every 16 threads",
        ),
    ),
    *mutants(
        "atom/copy_makers",
        ANY,
        ("if not is_bijective(layout):", "if False:", "work-items are numbered once"),
        (
            "TiledCopy(atom, copy.layout_src_tv_tiled",
            "TiledCopy(atom, copy.layout_dst_tv_tiled",
            "a source is not a destination",
        ),
        (
            'TiledCopy(atom, mma.tv_layout_B_tiled, mma.operand_tile("B"))',
            'TiledCopy(atom, mma.tv_layout_A_tiled, mma.operand_tile("A"))',
            "B is not A",
        ),
        (
            "together = raked_product(thr_layout, val_layout)",
            "together = raked_product(val_layout, thr_layout)",
            "values lie inside work-items",
        ),
    ),
    *mutants(
        "atom/retiling",
        ANY,
        ("upcast(inverse, threads * count)", "upcast(inverse, count)", "groups of all threads"),
        ("list(rest)[1:]", "list(rest)", "the values' rest is one"),
        ("Layout(filter_zeros(first).shape)", "Layout(first.shape)", "what is shared is held once"),
        ("zipped_divide(order, atom_values)", "zipped_divide(order, 1)", "atoms stay whole"),
    ),
    *mutants(
        "cutlass/legacy_templates",
        NAMED,
        ("if len(sent) > 1:", "if len(sent) > 2:", "messages of two sizes are refused"),
        (
            "message.height, width, message.width)",
            "message.height, width, width)",
            "blocks lie side by side",
        ),
        (
            'return "XE_LOAD_2D_VNNI" if message.vnni else "XE_LOAD_2D"',
            'return "XE_LOAD_2D"',
            "VNNI is kept",
        ),
    ),
    *mutants(
        "kernel/kinds/given_copies",
        NAMED,
        ("if down % rows or across % columns:", "if down % rows:", "whole blocks across"),
        ("if op.message.op != wanted:", "if False:", "loads are not stores"),
        ('"store" if operand == "D"', '"store" if operand == "B"', "D is stored"),
    ),
    *mutants(
        "comparing/search_filters",
        SEARCH,
        ("if ends[0] > ends[1]:", "if False:", "the least comes first"),
        (
            "type(n) is int and n > 0 for n in numbers",
            "n > 0 for n in numbers",
            "True is not a size",
        ),
        ("if feeds is None and alone:", "if False:", "an operand alone is refused"),
    ),
]
