"""Small wrong changes to the interpreter of compiled kernels."""

from __future__ import annotations

from mutant_lists.mutant import mutants

INSTRUCTIONS = "tests/native/test_instructions.py"
ATOMICS = "tests/native/test_atomics.py"
SENDS = "tests/native/test_sends.py"

MUTANTS = [
    *mutants(
        "native/arithmetic",
        f"{INSTRUCTIONS} {ATOMICS} {SENDS}",
        ("    return c + a * b\n", "    return a + c * b\n", "mad adds its first source"),
        ("(product - (total - kept)) + (wide - kept)", "wide - kept", "mad is rounded once"),
        ("np.where(lost > 0, np.inf, -np.inf)", "np.where(lost > 0, -np.inf, np.inf)", "to odd"),
        ("return a << (b & 31)", "return a << (b & 15)", "32 bits shift by up to 31"),
        ("return a << (b & 63)", "return a << (b & 31)", "64 bits shift by up to 63"),
        ("return a >> (b & 31)", "return a >> (b & 15)", "an arithmetic shift by up to 31"),
        ("return np.fmin(a, b)", "return np.fmax(a, b)", "sel.lt is the smaller"),
        ('"inv": _math(lambda x: 1 / x)', '"inv": _math(lambda x: -1 / x)', "1 / x"),
        ('"exp": _math(np.exp2)', '"exp": _math(np.exp)', "a power of two"),
        ('"log": _math(np.log2)', '"log": _math(np.log)', "a logarithm to base 2"),
        ("lambda x: 1 / np.sqrt(x)", "np.sqrt", "the reciprocal of the root"),
        ('"rnde": np.rint', '"rnde": np.trunc', "to nearest even"),
        ('"rndd": np.floor', '"rndd": np.trunc', "down, not towards zero"),
        ('"rndz": np.trunc', '"rndz": np.floor', "towards zero, not down"),
        ('"le": np.less_equal', '"le": np.less', "or equal"),
        ('"ge": np.greater_equal', '"ge": np.greater', "or equal"),
        (
            "start = 16 * instruction.flag + instruction.first\n    stop, lanes",
            "start = 8 * instruction.flag + instruction.first\n    stop, lanes",
            "16 bits a flag",
        ),
        (
            "found if lanes is None else np.where(lanes(state), found, old)",
            "found",
            "a predicate leaves flags alone",
        ),
        (
            "write(state, -np.asarray(found).astype(np.int64))",
            "write(state, np.asarray(found).astype(np.int64))",
            "all ones, not one",
        ),
        ('{"lt": _smaller, "ge": _greater}', '{"lt": _greater, "ge": _smaller}', "which is chosen"),
        (
            "a, b = reads\n        return lambda state: write(state, compute(a(state), b(state)))",
            "a, b = reads\n        return lambda state: write(state, compute(b(state), a(state)))",
            "sources in their order",
        ),
        ("(a & ((1 << size) - 1)) >> (b & 31)", "a >> (b & 31)", "a logical shift has no sign"),
    ),
    *mutants(
        "native/booleans",
        INSTRUCTIONS,
        (
            '("|", np.bitwise_or), ("^", np.bitwise_xor)',
            '("^", np.bitwise_xor), ("|", np.bitwise_or)',
            "or binds least",
        ),
        ("return lambda sources: ~inner(sources)", "return inner", "a negation"),
    ),
    *mutants(
        "native/long_products",
        INSTRUCTIONS,
        (
            'shift = 32 if instruction.op == "mach" else 0',
            "shift = 32",
            "macl gives the lower half",
        ),
        ("(b(state) >> 16) << 16", "(b(state) >> 16)", "the upper half counts 2^16 times"),
    ),
    *mutants(
        "native/operands",
        f"{INSTRUCTIONS} {ATOMICS}",
        (
            "lanes // walk.width * walk.vertical",
            "lanes // walk.width * walk.horizontal",
            "rows of a region are a vertical stride apart",
        ),
        ("lanes % walk.width * walk.horizontal", "lanes % walk.width", "a horizontal stride"),
        ("offsets = lanes * walk.horizontal", "offsets = lanes", "a destination has a stride"),
        (
            "(ACCUMULATORS + operand.number) * GRF",
            "operand.number * GRF",
            "accumulators are not registers",
        ),
        (
            "(lambda found: ~found) if logical else (lambda found: -found)",
            "lambda found: -found",
            "of bits the negation is the complement",
        ),
        ("found - 16 * (found >> 3) if", "found if", "nibbles of v have a sign"),
        (
            "state.flags[start:stop] ^ inverted\n",
            "state.flags[start:stop]\n",
            "a predicate may be inverted",
        ),
        (
            "values = np.clip(values, low, high)\n",
            "pass\n",
            "saturation clips integers",
        ),
        (
            "np.where(np.isnan(values), 0.0, values.astype(np.float64))",
            "values.astype(np.float64)",
            "a NaN becomes 0",
        ),
        ("wide = np.trunc(", "wide = np.rint(", "floats are cut to integers"),
        ('{"bf": "bf16", "hf": "f16"}', '{"hf": "f16"}', "bfloat16 by the library's rounding"),
    ),
    *mutants(
        "native/sending",
        f"{SENDS} {ATOMICS}",
        (
            "at, label = payload.number * GRF + 8",
            "at, label = payload.number * GRF + 12",
            "the third dword of the payload",
        ),
        ("_ROLES[role >> 6], label", "_ROLES[0], label", "the role at a named barrier"),
        (
            "NamedBarrier(number, producers, consumers)",
            "NamedBarrier(number, consumers, producers)",
            "producers come first",
        ),
        (
            "            around.slm.fence(state.progress)\n",
            "            pass\n",
            "a fence waits for stores",
        ),
        ("(around.trace if atomic else around.own)", "around.own", "atomics are counted"),
        ("start + given.length // 2 * GRF", "start", "the second operand lies behind the first"),
        (
            "enabled=None if lanes is None else lanes(state),",
            "enabled=None,",
            "a predicate leaves lanes off",
        ),
        ("width + 1, height + 1, pitch + 1", "width, height + 1, pitch + 1", "sizes less one"),
        ("across + 1, count + 1", "across, count + 1", "sizes less one"),
    ),
    *mutants(
        "native/thread",
        f"{SENDS} {ATOMICS} {INSTRUCTIONS}",
        (
            "                around.slm.arrived(state.progress)\n",
            "                pass\n",
            "stores without a fence are late",
        ),
        (
            "target if state.flags[bit] ^ inverted else None",
            "None if state.flags[bit] ^ inverted else target",
            "a jump is taken where the flag says",
        ),
        ("named = state.barriers.get(number)", "named = None", "a wait at the barrier named"),
        ("if taken > limit:", "if taken < 0:", "a thread ends"),
    ),
    *mutants(
        "native/flags",
        "tests/native/test_flags.py",
        (
            "start = 32 * flag.number + width * flag.element",
            "start = 16 * flag.number + width * flag.element",
            "a flag register has 32 bits",
        ),
        ("+ instruction.first", "", "the upper lanes have the upper flags"),
        ('bitorder="little"', 'bitorder="big"', "the lowest lane is the lowest bit"),
        ("or instruction.size != 1 or", "or", "flags are moved whole"),
        ("        state.flags[start:stop] = holds(values)\n", "", "a condition sets flags"),
        (
            "or instruction.predicate or to is None",
            "or to is None",
            "a comparison under a predicate",
        ),
    ),
]
