"""Small wrong changes to kinds of kernels: plans, shared memory, several products, rows, types."""

from __future__ import annotations

from mutant_lists.mutant import mutants

SCHEDULED = "tests/executing/test_scheduled.py"
SLM = "tests/kernel/test_slm_gemm.py"
SPECIAL = "tests/kernel/test_specialised_gemm.py"
TOGETHER = "tests/kernel/test_products_together.py"
ROWS = "tests/kernel/test_row_softmax.py"
RECIPES = "tests/kernel/test_recipes.py"
MIXED = "tests/kernel/test_mixed.py"
WHOLE = "tests/verifying/test_whole_tiles.py"

MUTANTS = [
    *mutants(
        "kernel/kinds/fixup",
        f"{SCHEDULED} {WHOLE}",
        ("If(first, one, (wait, add))", "If(first, one, (add,))", "who adds waits first"),
        (
            "joined = (If(first, one, (wait, load,",
            "joined = (If(first, one, (load,",
            "the last piece waits for the others",
        ),
        ("If(none, first, (store,))", "If(none, last, (store,))", "the first piece stores"),
        (
            '(*frame.first, table_field("m"), table_field("n"))',
            '(*frame.first, table_field("m"), Index())',
            "each tile has a counter",
        ),
    ),
    *mutants(
        "kernel/kinds/recipe",
        f"{SCHEDULED} {SLM} {RECIPES}",
        (
            'None if plan.groups == "stacked" else claim',
            "claim",
            "what stacked experts compute is not one formula",
        ),
        (
            "stop = (trips - s + (parts - 1)) // parts",
            "stop = trips // parts",
            "parts have different numbers of tiles",
        ),
        ('Tiles("K", tile_k * self.chunk)', 'Tiles("K", tile_k)', "no more parts than there are"),
        ("and not 1 <= given.stages <= 3:", "and not 1 <= given.stages <= 4:", "3 stages at most"),
        ("and not 1 <= given.stages <= 3:", "and not 0 <= given.stages <= 3:", "1 stage at least"),
        ("is not None and numeric.bits < 8:", "is not None and False:", "either may be too narrow"),
        ("schedule.plan and bool(stages),", "False,", "pieces share no stage"),
        ("not epilogue.is_plain or", "False or", "an epilogue needs the sum"),
    ),
    *mutants(
        "kernel/kinds/gemms",
        f"{SCHEDULED} {TOGETHER}",
        ("type(count) is not int or count < 1", "type(count) is not int", "one part at least"),
        ("elif used != set(HELD):", "elif not used:", "both accumulators are read"),
        (
            'op.D.name != "f32" or op.C != op.D',
            'op.D.name != "f32"',
            "what goes in is what comes out",
        ),
    ),
    *mutants(
        "kernel/kinds/mainloop",
        f"{SLM} {SPECIAL}",
        (
            "(*loads(k), *own, BarrierArrive(), BarrierWait(), *stores(k), *MEET)",
            "(*loads(k), *own, *stores(k), *MEET)",
            "a tile is read before the next is written over it",
        ),
        (
            "for trip in range(stages - 1))",
            "for trip in range(stages))",
            "one stage stays free",
        ),
        (
            "If(Index(None, stages - 1), k, (NamedArrive(empty",
            "If(Index(None, stages), k, (NamedArrive(empty",
            "the first stage that is filled again",
        ),
        (
            "If(k + stages, part.stop, (NamedArrive(empty",
            "If(k, part.stop, (NamedArrive(empty",
            "no subgroup waits for the last stages",
        ),
        (
            "Fence(),\n        NamedArrive(full",
            "NamedArrive(full",
            "stores are seen before the barrier fires",
        ),
    ),
    *mutants(
        "kernel/kinds/chained_gemm",
        TOGETHER,
        ("elif middle % depth:", "elif depth > middle:", "whole tiles between the products"),
        ("max(unfit(first), unfit(second))", "unfit(first)", "either product"),
        ("elif second.atom.op.A.bits < 8:", "elif False:", "narrow elements cannot be addressed"),
    ),
    *mutants(
        "kernel/kinds/endings",
        f"{TOGETHER} {SLM}",
        ("if size(mma.atom_layout_mnk[2]) != 1:", "if False:", "nothing adds up parts of K"),
        (
            "if op.C != op.D:",
            "if False:",
            "what goes in is what comes out",
            "the construction of a kernel refuses it in the same words",
        ),
        (
            "return replace(x, at=tuple(i.substitute(index) for i in x.at))",
            "return x",
            "a product at another column",
        ),
    ),
    *mutants(
        "kernel/kinds/row_softmax",
        ROWS,
        ("elif rows % 16:", "elif rows % 8:", "rows fill registers"),
        ("column // (self.mma.tile_mnk[1] // self.beside)", "column * 0", "who is beside"),
        ("if groups_k != 1:", "if False:", "parts of sums have no maximum"),
    ),
    *mutants(
        "kernel/kinds/top_k",
        ROWS,
        ("if not 1 <= count <= MOST:", "if not 0 <= count <= MOST:", "one value at least"),
        ("MOST = 8", "MOST = 9", "8 values at most"),
        ("(low,) if count > 1 else ()", "(low,)", "no registers for what is not computed"),
        (
            'lower = apply("below", Slot("tCrC"), Slot(f"tSr{last}"))',
            'lower = apply("below", Slot("tCrC"), Slot("tSrTop0"))',
            "each value is below the one before",
        ),
    ),
    *mutants(
        "kernel/kinds/transforming",
        f"{MIXED} {SCHEDULED}",
        ("if group % depth:", "if depth % group:", "groups are whole tiles"),
        (
            "if seen.setdefault(leaf.operand, leaf.at) != leaf.at:",
            "if False:",
            "a vector has one index",
        ),
        ("or len(groups) > 1:", "or False:", "one group along k"),
        ('if index == Index("k"):\n        return 1', "if False:\n        return 1", "groups of 1"),
    ),
    *mutants(
        "kernel/kinds/side",
        f"{MIXED} {SCHEDULED}",
        (
            'whole = self.compute.kind == "float" and is_exact(self.copy.value_type, self.compute)',
            'whole = self.compute.kind == "float"',
            "what is loaded is not rounded before it is scaled",
        ),
        (
            "return element if exact else rounded_to(self.compute, element)",
            "return element",
            "a conversion rounds",
        ),
        (
            "return tuple(dict.fromkeys(o for transform in found for o in transform.operands))",
            "return tuple(o for transform in found for o in transform.operands)",
            "a scalar of both sides is one operand",
        ),
    ),
    *mutants(
        "kernel/kinds/whole_tiles",
        WHOLE,
        ("if len(leads) > 1:", "if False:", "stacked experts are refused"),
        (
            "made.index.offset < made.below.offset",
            "made.index.offset <= made.below.offset",
            "what the plan rules out is gone",
        ),
        (
            "(kernel.grid, turns.var, turns.start, turns.stop) != planned",
            "(turns.var, turns.start, turns.stop) != planned[1:]",
            "the grid is the plan's",
        ),
        (
            "if f.name in used)",
            "if f.name)",
            "no registers for what is not done",
        ),
    ),
]
