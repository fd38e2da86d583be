"""Small wrong changes to atoms: who owns what, which messages, what feeds what."""

from __future__ import annotations

from mutant_lists.mutant import mutants

LEGACY = (
    "tests/atom/test_legacy_copies.py tests/atom/test_legacy_lowering.py "
    "tests/atom/test_legacy_messages.py tests/atom/test_legacy_document.py "
    "tests/atom/test_cute_goldens.py tests/atom/test_formula_and_machine.py "
    "tests/atom/test_every_name.py"
)
LINEAR = (
    "tests/atom/test_linear_copies.py tests/atom/test_linear_names.py "
    "tests/atom/test_linear_machine.py"
)
FEEDING = "tests/atom/test_feeding_units.py tests/atom/test_feeding.py tests/atom/test_slips.py"
PICTURE = (
    "tests/atom/test_register_units.py tests/atom/test_slips.py "
    f"tests/atom/test_mma_registers.py {LEGACY}"
)

MUTANTS = [
    *mutants(
        "cutlass/legacy_copy",
        LEGACY,
        (
            "return self.m_major and not self.name.is_store",
            "return self.m_major",
            "traits of stores know row-major tensors only",
        ),
        (
            "return (down, right) == (0, 1) and extent % elements == 0",
            "return (down, right) == (0, 1)",
            "a value is whole in one work-item",
        ),
        (
            "turned = self._first_mode_contiguous != self._sides_swapped",
            "turned = self._first_mode_contiguous",
            "swapped sides turn the block",
        ),
        (
            "tv = composition(Layout((cols, rows), (rows, 1)), tv)",
            "tv = composition(Layout((rows, cols), (cols, 1)), tv)",
            "CUTLASS takes one block for the other",
        ),
        (
            "return self._holds_what_it_owns and not self._sides_swapped",
            "return self._holds_what_it_owns",
            "swapped sides are not faithful",
        ),
        (
            "(v * len(parts) + k, w) for v, w in values for k in parts",
            "(v + k, w) for v, w in values for k in parts",
            "transposed elements are cut along rows",
        ),
        (
            "in values[::wide] for k in parts",
            "in values for k in parts",
            "wide values take several elements",
        ),
    ),
    *mutants(
        "cutlass/legacy_lowering",
        LEGACY,
        ("if 0 < left - part < least:", "if False:", "no part is less than a dword"),
        ("if moved < wanted:", "if False:", "CUTLASS's message must move the block"),
        ('if vnni and op == "load" and width % vnni_width():', "if False:", "VNNI has rows of 16"),
        ("(2 if name.packed else 1)", "1", "packed names have blocks twice as wide"),
        (
            "abs(log2(name.rows / other)) for",
            "abs(name.rows - other) for",
            "distance counts doublings",
        ),
        (
            "not broken:\n        return messages_of(name)",
            "True:\n        return messages_of(name)",
            "what breaks a rule is refused",
        ),
        ("    if row_bits % 8:\n", "    if row_bits % 4:\n", "rows are whole bytes"),
        (
            "bits = transposed_bits(bits)\n    width",
            "pass\n    width",
            "small elements are transposed as dwords",
        ),
    ),
    *mutants(
        "cutlass/message_limits",
        f"tests/atom/test_message_limits.py {LEGACY}",
        (
            'min(rows, _bound("transpose-column-bytes") * 8 // bits)',
            "rows",
            "a transposed column has a limit of bytes",
        ),
        (
            'return rows, min(size["width"], size["row_bytes"] * 8 // bits)',
            'return rows, size["row_bytes"] * 8 // bits',
            "both widths bind",
        ),
        (
            "return alike and block >= least_elements(bits)",
            "return alike",
            "each block is a dword wide",
        ),
    ),
    *mutants(
        "atom/linear_lowering",
        LINEAR,
        ("min(most, count - first)", "most", "the last message is what is left"),
        ('32 if sfid == "slm" else 64', "64", "SLM has 32-bit addresses"),
        ("<= moved.bits)", "< moved.bits)", "the widest element that fits is moved"),
        (
            "yield from [None] * (room - held)",
            "yield from ()",
            "narrow elements leave room in a register",
        ),
        (
            'op.D if move == "store" and "load" in op.moves else op.registers',
            "op.registers",
            "a copy stores what it becomes",
        ),
    ),
    *mutants(
        "atom/register_picture",
        PICTURE,
        (
            "unit_bits % self.bits or unit_bits % 8",
            "unit_bits % self.bits",
            "units are whole bytes",
        ),
        (
            "-(-len(self.slots) * self.bits // (8 * grf_bytes()))",
            "len(self.slots) * self.bits // (8 * grf_bytes())",
            "part of a register is one",
        ),
        ("first = byte * 8 // self.bits", "first = byte // self.bits", "bytes have 8 bits"),
    ),
    *mutants(
        "atom/copy_answers",
        PICTURE,
        (
            "table.setdefault(place, (work_item, value))",
            "table[place] = (work_item, value)",
            "the first owner is told",
        ),
        (
            "firsts = range(work_item * whole, len(slots), SUBGROUP * whole)",
            "firsts = range(work_item, len(slots), SUBGROUP * whole)",
            "units go to work-items in turn",
        ),
        (
            "return tuple(sorted({x for _, x in owned[work_item]}))",
            "return tuple(x for _, x in owned[work_item])",
            "columns are named once",
        ),
    ),
    *mutants(
        "comparing/feed",
        FEEDING,
        (
            "            if all(_stays(held, bits, copy, mma) for held in self.places):",
            "            if any(_stays(held, bits, copy, mma) for held in self.places):",
            "every tile stays in its work-items",
        ),
        (
            '(destination, source) if self.operand == "D" else (source, destination)',
            "(source, destination)",
            "D goes from the MMA to the copy",
            "by rows the least equal widths always do, by columns no widths do",
        ),
        (
            "key=lambda pair: (pair[0] != pair[1], pair)",
            "key=lambda pair: pair",
            "one width is told before two",
            "where equal widths do, unequal ones cannot: one bit of a place is one of the element",
        ),
    ),
    *mutants(
        "comparing/feeding",
        FEEDING,
        (
            "runs_on = bool((held[:, 1:] - held[:, :-1] == 1).all())",
            "runs_on = bool((held[:, 1:] - held[:, :-1] >= 1).all())",
            "free means without holes",
        ),
        (
            'kind: Kind = "reorder" if broken is None or errors(broken) else "free"',
            'kind: Kind = "reorder" if broken is None else "free"',
            "operands are aligned",
            "tiles that run on start at whole rows, those of B at registers: all that errors ask",
        ),
        (
            '        return order == "col"\n',
            "        return False\n",
            "templates have the rows of memory",
        ),
    ),
    *mutants(
        "comparing/feeding_reasons",
        FEEDING,
        (
            "if high % rows == 0 and wide % cols == 0:",
            "if high % rows == 0:",
            "blocks hold whole tiles",
        ),
        (
            "if high < rows or wide < cols:",
            "if high < rows and wide < cols:",
            "too small in one direction is too small",
        ),
    ),
    *mutants(
        "comparing/operand_places",
        FEEDING,
        (
            "_broken_at(op, operand, held[0] * bits // 8)",
            "_broken_at(op, operand, held[0])",
            "offsets count bytes",
        ),
        (
            '"C": "src0", "D": "dst"',
            '"C": "dst", "D": "dst"',
            "each operand has its own rules",
        ),
    ),
]
