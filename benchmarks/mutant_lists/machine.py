"""Small wrong changes to the machine that executes messages."""

from __future__ import annotations

from mutant_lists.mutant import mutants

DPAS = "tests/machine/test_dpas.py tests/machine/test_dpas_patterns.py"
BLOCK = "tests/machine/test_block2d.py tests/machine/test_lsc_block2d.py"
LSC = "tests/machine/test_lsc_messages.py tests/machine/test_lsc_faults.py"
SLM = "tests/machine/test_storage.py tests/machine/test_lsc_atomics.py"
GROUP = "tests/machine/test_workgroup.py tests/esimd/test_lints.py"

MUTANTS = [
    *mutants(
        "machine/dpas",
        DPAS,
        ("a @ b if c is None else a @ b + c", "a @ b", "the accumulator is added"),
        ("np.add.reduce(terms, axis=0)", "np.add.reduce(terms[::-1], axis=0)", "C comes first"),
        (
            "read(registers, src1).transpose(0, 2, 3, 1)",
            "read(registers, src1).transpose(0, 3, 2, 1)",
            "k runs through a dword first",
        ),
        (
            "return 4 if 8 in (dpas.A.bits, dpas.B.bits) else 8",
            "return 4 if 8 in (dpas.B.bits,) else 8",
            "the wider operand counts",
        ),
        ("if offset % unit:", "if offset % 4:", "operands start at whole rows"),
        ("apart = plan.row_c == plan.row_d and not any(", "apart = any(", "a later one reads it"),
        ("own.meets(other) for other in whole", "own.meets(x) for x in ()", "a later one reads it"),
        ("not (apart and ready and", "not (apart and", "the first that faults is named"),
        (
            "_aligned(plan.text, src1=(src1, registers.grf_bytes), src2=(src2, plan.row_a))",
            "_aligned(plan.text, src2=(src2, plan.row_a))",
            "B starts at a register",
        ),
    ),
    *mutants(
        "machine/block2d",
        BLOCK,
        ("if offset % grf_bytes:", "if offset % 32:", "data starts at a register"),
        (
            "left + table.wide <= surface.width",
            "left + table.wide <= surface.pitch",
            "columns end with the width",
        ),
        (
            "max(left, 0), min(left + table.wide, surface.width)",
            "max(left, 0), min(left + table.wide, surface.pitch)",
            "columns end with the width",
        ),
        ("if x0 >= x1 or y0 >= y1:", "if x0 >= x1:", "a block below the surface has nothing"),
        (
            "if message.count != 1 or message.transpose or message.vnni:",
            "if message.transpose or message.vnni:",
            "stores have one block",
        ),
        (
            "(row[kept] - y0) * surface.pitch + column[kept] - x0 + start",
            "(row[kept] - y0) * surface.width + column[kept] - x0 + start",
            "rows are a pitch apart",
        ),
    ),
    *mutants(
        "machine/block2d_table",
        BLOCK,
        (
            "lines = _round_to_multiple_of(elems_per_dword, lines)",
            "lines = lines + 0",
            "rows are packed in whole dwords",
        ),
        (
            "_round_to_multiple_of(elems_per_reg, grf_block_size)",
            "grf_block_size",
            "blocks start at registers",
        ),
        (
            "(b * message.width + found[0], found[1])",
            "(found[0], found[1])",
            "blocks lie side by side",
        ),
        (
            "reg_pitch = _round_up_pow2(message.width)",
            "reg_pitch = message.width",
            "stored rows are padded",
        ),
        (
            "_round_up_pow2(message.height if message.transpose else message.width)",
            "_round_up_pow2(message.width)",
            "a transposed row is a column",
        ),
    ),
    *mutants(
        "machine/lsc_atomics",
        f"tests/machine/test_lsc_atomics.py {LSC}",
        (
            "np.where((new < old) | np.isnan(old), new, old)",
            "np.where(new < old, new, old)",
            "a number beats NaN",
        ),
        ('"smin": ("i", np.minimum)', '"smin": ("u", np.minimum)', "signed values compare as such"),
        (
            "np.where(old == compared, new, old)",
            "np.where(old == new, compared, old)",
            "the first source is compared",
        ),
        (
            "        for group in _rounds(addresses):",
            "        for group in (slice(None),):",
            "channels at one address follow each other",
        ),
        (
            "addresses[addresses % size != 0]",
            "addresses[addresses % 2 != 0]",
            "atomics are aligned to their size",
        ),
    ),
    *mutants(
        "machine/lsc_places",
        LSC,
        (
            "max(exec_size, grf_bytes // 4) * size",
            "exec_size * size",
            "few channels fill a register too",
        ),
        (
            "_whole(data.elements * size, grf_bytes)",
            "data.elements * size",
            "a transposed vector starts a register",
        ),
        ("np.uint64(2**address.bits - 1)", "np.uint64(2**64 - 1)", "32-bit addresses wrap"),
        (
            "data.register_bits // 8 - size if data.upper_half else 0",
            "0",
            "d16u32h fills the upper half",
        ),
    ),
    *mutants(
        "machine/lsc_channels",
        LSC,
        ("4 * (int(group[1:]) - 1)", "8 * (int(group[1:]) - 1)", "a mask group is four channels"),
        (
            "if enabled is not None and not no_mask:",
            "if enabled is not None:",
            "NM ignores the enabled channels",
        ),
        (
            "mask &= ~chosen if inverted else chosen",
            "mask &= chosen",
            "a predicate may be inverted",
        ),
    ),
    *mutants(
        "machine/slm",
        f"{SLM} {GROUP}",
        (
            '"atomically writes": ("reads",),',
            '"atomically writes": (),',
            "an atomic write races with a read",
        ),
        ("(who >= 0) & (who != thread.index)", "(who >= 0)", "a thread does not race with itself"),
        (
            "elif not atomic:\n            self._writer[part] = -1",
            "elif not atomic:\n            pass",
            "a write of no thread ends a history",
        ),
    ),
    *mutants(
        "machine/barriers",
        GROUP,
        (
            'return self.count("producer", "producer_consumer")',
            'return self.count("producer")',
            "who does both produces",
        ),
        (
            "return len(state.fired) > state.owes[index]",
            "return len(state.fired) >= state.owes[index]",
            "a wait ends when all arrived",
        ),
        ('if meeting.role != "producer":', 'if meeting.role == "consumer":', "who does both waits"),
    ),
]
