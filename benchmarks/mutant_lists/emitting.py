"""Small wrong changes to the languages that kernels are emitted in."""

from __future__ import annotations

from mutant_lists.mutant import mutants

REGIONS = "tests/emitting/test_regions.py"
VISA = "tests/emitting/test_visa.py"
LANES = "tests/emitting/test_lanes.py"
STATEMENTS = "tests/emitting/test_statements.py"
OPENCL = "tests/emitting/test_opencl.py"
NAMES = "tests/emitting/test_names.py"
CODES = "tests/native/test_codes.py"

RENAMING = "tests/kernel/test_renaming.py"

MUTANTS = [
    *mutants(
        "kernel/ir/renaming",
        RENAMING,
        (
            "return self.pieces[byte // self.piece] + byte % self.piece",
            "return byte",
            "pieces lie elsewhere",
        ),
        (
            "if (rows != rows[:, :1] + np.arange(elements)).any():",
            "if False:",
            "an operand stays in one piece",
        ),
        (
            "if found is not None and _safe(kernel, reorder):",
            "if found is not None:",
            "no statement may tell the fragments apart",
        ),
    ),
    *mutants(
        "emitting/copying",
        VISA,
        ("digit = digit % extent\n", "pass\n", "a digit of a number ends"),
        ("out + digit * step, below * extent", "out + digit * step, below", "digits one by one"),
        ("at[mode] += moved", "at[mode] = moved", "a tile begins where the statement says"),
        (
            "moved = shared[axis] + offsets[axis]",
            "moved = shared[axis]",
            "each message has its place",
        ),
        ('"ud", j * step)', '"ud", 0)', "each message has its registers"),
        (
            "message, register, surface, x, y if y_mode is None",
            "message, register, surface, y, x if y_mode is None",
            "x, then y",
        ),
    ),
    *mutants(
        "emitting/elementwise",
        f"{VISA} {STATEMENTS}",
        (
            'to = place(name, "ud", at, None)',
            'to = place(name, "ud", 0, None)',
            "a fill goes on",
        ),
        (
            '                self.alu("mov.sat", to, read)\n',
            '                self.alu("mov", to, read)\n',
            "32-bit integers saturate",
        ),
        (
            '        self.alu("mov.sat", to, source)\n',
            '        self.alu("mov", to, source)\n',
            "narrow integers saturate",
        ),
        (
            'self.alu("rnde", wide, widened(self, source, given))',
            'self.alu("mov", wide, widened(self, source, given))',
            "to nearest even",
        ),
        (
            '        self.alu("sel", to, then, otherwise, where=flags)\n',
            '        self.alu("mov", to, then)\n',
            "a condition chooses",
        ),
        (
            "gathers[name][at : at + LANES] if name in gathers",
            "np.arange(at, at + LANES) if name in gathers",
            "a gather says what is read",
        ),
    ),
    *mutants(
        "emitting/operands",
        f"{VISA} {STATEMENTS}",
        (
            "row, column = divmod(self.element * BYTES[self.kind], GRF)",
            "row, column = divmod(self.element, GRF)",
            "elements have bytes",
        ),
    ),
    *mutants(
        "emitting/reading",
        CODES,
        ("number(16 - bits * (at + 1)", "number(16 - bits * at", "the parts of a byte"),
        (
            'if numeric.kind != "float":',
            'if numeric.kind == "signed":',
            "unsigned numbers come down from the upper end",
        ),
    ),
    *mutants(
        "emitting/widening",
        f"{VISA} {CODES} {STATEMENTS}",
        (
            'write.alu("shl", to, source, number(16, "uw"))',
            'write.alu("shl", to, source, number(8, "uw"))',
            "bfloat16 is the upper half of f32",
        ),
        ("0xBFFF", "0xFFFF", "the sign is one bit"),
        ('    write.alu("or", to, read, carried)\n', "", "the largest code is a NaN"),
        ("number(0x80,", "number(0x100,", "and the one before is not"),
        ("0x8E00", "0x0E00", "the sign of e2m1"),
        ("return _scaled(write, half, 8)", "return _scaled(write, half, 7)", "the bias"),
        ('    write.alu("max", to, read, number(0x00400000, "ud"))\n', "", "the least power"),
        ('number(255, "uw")', 'number(256, "uw")', "the NaN of ue8m0"),
        ('    write.alu("add", held, read, bits)\n', "", "the bits of an f32"),
        ('write.alu("and", held, read, number(1, "ud"))', "pass", "ties go to even"),
        ('write.alu("cmp.eq", flags', 'write.alu("cmp.ne", flags', "NaNs of f32 stay"),
        ('"cmp.lt", flags, modified', '"cmp.gt", flags, modified', "tf32 has no denormals"),
    ),
    *mutants(
        "emitting/functions",
        f"{STATEMENTS} {VISA}",
        ("_NEAR_ZERO = number(0x3F200000)", "_NEAR_ZERO = number(0x3A200000)", "tanh near zero"),
        (
            "_NEAR_ZERO = number(0x3F200000)",
            "_NEAR_ZERO = number(0x3FA00000)",
            "tanh far from zero",
        ),
        (
            "TWICE_LOG2_E, MINUS_TWO = number(0x4038AA3B)",
            "TWICE_LOG2_E, MINUS_TWO = number(0x4038AA4B)",
            "the exponent of tanh",
        ),
        (
            "(0x3F87DC22, 0xBFBA00E3",
            "(0x3F87DC22, 0xBFBA10E3",
            "the coefficients of erf",
        ),
        (
            "_ERF_SCALE, _ERF_POWER = number(0x3EED3388)",
            "_ERF_SCALE, _ERF_POWER = number(0x3EED4388)",
            "the argument of erf",
        ),
        ("_EIGHT, HALF = number(0x41000000)", "_EIGHT, HALF = number(0x40000000)", "gelu up to 8"),
        (
            'emit.alu("add", to, h, modified(t, "-"))',
            'emit.alu("add", to, h, t)',
            "gelu of negative numbers",
        ),
        ('    emit.binary("max", to, a, ZERO)\n', '    emit.binary("min", to, a, ZERO)\n', "relu"),
        ('emit.alu("mov", to, modified(a, "abs"))', 'emit.alu("mov", to, a)', "abs"),
    ),
    *mutants(
        "emitting/indices",
        f"{VISA} {OPENCL}",
        ("return scaled // divisor", "return scaled", "x counts elements of the message"),
    ),
    *mutants(
        "emitting/lowering",
        VISA,
        (
            "at = Register(c, (m + reps_m * n) * op.bytes_D)",
            "at = Register(c, m * op.bytes_D)",
            "an accumulator for each column",
        ),
        (
            "(statement.b, (n + reps_n * k) * op.bytes_B)",
            "(statement.b, n * op.bytes_B)",
            "B along K",
        ),
        (
            "(statement.a, (m + reps_m * k) * op.bytes_A)",
            "(statement.a, m * op.bytes_A)",
            "A along K",
        ),
        (
            "precisions()[op.B.name],\n                precisions()[op.A.name]",
            "precisions()[op.A.name],\n                precisions()[op.B.name]",
            "B's type comes first",
        ),
        ('yield Barrier("signal")', 'yield Barrier("wait")', "arrive, then wait"),
    ),
    *mutants(
        "emitting/reducing",
        STATEMENTS,
        ('op = "add" if self.statement.how == "sum" else "max"', 'op = "add"', "a maximum"),
        ("for read in reads[1:]:", "for read in reads[2:]:", "every term"),
        ("Region(width, width // 2, 1)", "Region(width, width, 1)", "halves of rows"),
        ("2 * at + more, read)", "at + more, read)", "rows are twice as long before"),
        (
            "self.half(name, count, width, self.to, self.first)",
            "self.half(name, count, width, self.to, 0)",
            "each group has its place",
        ),
    ),
    *mutants(
        "emitting/regions",
        f"{REGIONS} {VISA} {OPENCL}",
        (
            "found.width > 1:",
            "found.width > 99:",
            "moves in rows are of 16 elements",
            "the result is the same: the compiler parts the move by way of other registers",
        ),
        (
            "pairs[:, 1] == pairs[:, 0] + 1",
            "pairs[:, 1] != pairs[:, 0]",
            "only neighbours travel together",
        ),
        (
            "return Region(down, width, across)",
            "return Region(across, width, down)",
            "down, then across",
        ),
    ),
    *mutants(
        "emitting/registers",
        f"{VISA} {STATEMENTS} {OPENCL}",
        ('            name += "_"\n', "            return name\n", "names are apart"),
        (
            "self._declared.append(Declared(name, kind, count, fragment, at))",
            "self._declared.append(Declared(name, kind, count, fragment, 0))",
            "a view begins at a byte",
        ),
    ),
    *mutants(
        "emitting/sharing",
        f"{LANES} {STATEMENTS}",
        ("-(-array.bytes // LINE) * LINE", "0", "arrays lie one after the other"),
        (
            "start + int(mine[0]) * (bits // 8) + lanes",
            "start + lanes",
            "each message has its place",
        ),
        (
            "    if not _joins(own, subgroup + statement.at, joined):\n        joined = 1\n",
            "",
            "what is apart does not travel as a dword",
        ),
        ("Region(4 // unit, 1, 0))", "Region(1, 1, 0))", "narrow elements lie in dwords"),
        ("first % width) * 4,", "first % width) * 2,", "x counts bytes"),
        ('"ud", j * step + 4 * first)', '"ud", j * step)', "each register of a block"),
        ("message.y + down + first // width", "message.y + down", "each row of a block"),
    ),
    *mutants(
        "emitting/emitter",
        NAMES,
        ("if not kernel.name.isidentifier():", "if not kernel.name:", "names are identifiers"),
    ),
    *mutants(
        "emitting/opencl",
        f"{NAMES} {STATEMENTS}",
        ('instruction.size.replace("u32", "c32")', "instruction.size", "the compiler's spelling"),
        ('"(xe|XE)_.*"', '"(xx|XX)_.*"', "names of the prelude"),
    ),
    *mutants(
        "emitting/launching",
        f"tests/emitting/test_host_text.py {OPENCL} {STATEMENTS}",
        (
            "for (; {name} >= {extent}; {name} -= {extent})",
            "for (; {name} > {extent}; {name} -= {extent})",
            "the first of the next row",
        ),
        ("name, count = after, more", "count = more", "three axes share one"),
        (
            "or operand.contiguous != len(operand.modes) - 1:",
            "or False:",
            "a column-major operand is not looked up",
        ),
        ("AXES = 3", "AXES = 4", "a launch has three axes"),
        (
            "if rest == [mode] else",
            "if rest[0] == mode else",
            "a batch has two pitches",
        ),
    ),
    *mutants(
        "emitting/masking",
        f"{LANES} {STATEMENTS} tests/native/test_kinds.py",
        ("for count in (1, 2, 4, 8):", "for count in (1, 2, 4):", "16 lanes have numbers"),
        ("-1 * (rest + steps[0])", "rest + steps[0]", "which lanes are below"),
        ('("gt", rest + steps[0])', '("lt", rest + steps[0])', "a bound from the other side"),
        (
            "if step not in (-1, 0, 1) or",
            "if",
            "conditions of every other lane",
        ),
        ("if own.names - {ELEMENT_INDEX} or own.looked_up:", "if own.looked_up:", "quotients"),
        ("here = {ELEMENT_INDEX: Index(None, first)}", "here = {ELEMENT_INDEX: Index()}", "where"),
    ),
]
