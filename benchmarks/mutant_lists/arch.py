"""Small wrong changes to the floor that says what messages mean and what targets allow."""

from __future__ import annotations

from mutant_lists.mutant import mutants

BLOCK = "tests/arch/test_block2d.py tests/arch/test_surface.py tests/arch/test_registers.py"
DPAS = (
    "tests/arch/test_dpas_text.py tests/arch/test_dpas_against_compiler.py tests/arch/test_dpas.py"
)

MUTANTS = [
    *mutants(
        "arch/block2d",
        BLOCK,
        (
            "return 1 << (row - 1).bit_length()",
            "return 1 << row.bit_length()",
            "a power of two is its own pitch",
        ),
        (
            '        if self.op == "store":\n            return elements',
            "",
            "a store fills no register",
        ),
        (
            '        if self.op == "prefetch":\n            return 0',
            "",
            "a prefetch needs no register",
        ),
        (
            '"row_bytes": self.count * self.width',
            '"row_bytes": self.width',
            "all blocks of a row count",
        ),
        (
            '"column_bytes": self.height * self.element_bytes',
            '"column_bytes": self.height',
            "columns count in bytes",
        ),
        ("return max(1, 32 // self.bits)", "return max(1, 16 // self.bits)", "a dword has 32 bits"),
        ('"x": x,', '"x": 0,', "rules of use see where a block lies"),
    ),
    *mutants(
        "arch/dpas/message",
        DPAS,
        ('"src0": self.src0.offset if self.src0 else 0', '"src0": 0', "src0 is aligned too"),
        ('"dst_row": max(1, dst // 8)', '"dst_row": 1', "dst starts at a row"),
        (
            "-(-self.instruction(D).bytes_D // get_target(target).grf_bytes)",
            "self.instruction(D).bytes_D // get_target(target).grf_bytes",
            "part of a register is one",
        ),
        ("if message.src2.offset % _DWORD:", "if False:", "src2 starts at a dword"),
    ),
    *mutants(
        "arch/dpas/types",
        DPAS,
        (
            "operations()[max(_bits(src1), _bits(src2))]",
            "operations()[_bits(src1)]",
            "the wider operand counts",
        ),
        ("if src1 in b and src2 in a:", "if src1 in b:", "both types choose the combination"),
        (
            '{"dst": "d", "src0": "c"}[part]',
            '{"dst": "d", "src0": "d"}[part]',
            "src0 has types of its own",
            "in each combination of the facts C has the types of D",
        ),
    ),
    *mutants(
        "arch/target",
        "tests/arch/test_target.py",
        ("if mode >= registers]", "if mode > registers]", "a mode that just fits will do"),
        (
            "return max(limit.bytes for limit in self.slm)",
            "return min(limit.bytes for limit in self.slm)",
            "the looser limit refuses",
        ),
        ("return min(fitting)", "return max(fitting)", "the least mode leaves most threads"),
        ("if nbytes > limit.bytes]", "if nbytes >= limit.bytes]", "the limit itself is allowed"),
    ),
    *mutants(
        "arch/lsc/nearest",
        "tests/arch/test_lsc_rules.py",
        (
            "sorted(product(*options), key=lambda changes: sum(c for c, *_ in changes))",
            "product(*options)",
            "the least change is offered",
        ),
        ("cost = 0 if unit == own else _UNIT", "cost = 0", "another unit is a large change"),
        (
            "if best is not None and best[0] <= cost:",
            "if False:",
            "a unit that cannot be cheaper is not tried",
            "each further unit costs at least what the best one does, so that only time is saved",
        ),
        (
            "for _ in SURFACE:",
            "for _ in SURFACE[:1]:",
            "the pitch follows the width",
            "the pitch comes after the width in one pass too; further passes change nothing",
        ),
    ),
    *mutants(
        "arch/lsc/binary",
        "tests/arch/test_lsc_binary.py",
        ('code("exec_mask", mask) << 4', 'code("exec_mask", mask) << 3', "the mask is bits 4 to 7"),
        ("0 if data.mask else data.vector", "data.vector", "quads have no vector size"),
        ('wide = "uq" if name == "SurfaceBase" else "ud"', 'wide = "ud"', "a base has 64 bits"),
        ("message.src1 if counter else None", "None", "counters have their data first"),
    ),
    *mutants(
        "arch/lsc/operand_codes",
        "tests/arch/test_lsc_binary.py",
        ("combine << 13", "combine << 12", "how a predicate combines is bits 13 and 14"),
        ("inverted << 15", "inverted << 14", "a predicate is inverted by bit 15"),
        ("<< 4 * place", "<< 3 * place", "each part of a region has four bits"),
        (
            "            while first in found.values():\n                first += 1\n",
            "",
            "places differ",
        ),
        ("if not place and offset:", "if offset and place < 0:", "null has no offset"),
        ("if bits >> 12 & 1 or not place:", "if not place:", "bit 12 is reserved"),
    ),
    *mutants(
        "arch/lsc/decoding",
        "tests/arch/test_lsc_binary.py",
        ("if cursor.place != len(code):", "if cursor.place > len(code):", "nothing may follow"),
        ("if bool(mask) == bool(vector):", "if mask and vector:", "a mask or a vector, not none"),
        ('"load" if dst else "prefetch"', '"load"', "a block to the null register is a prefetch"),
    ),
    *mutants(
        "arch/lsc/descriptor",
        "tests/arch/test_lsc_descriptor.py",
        ("min(_MOST_REGISTERS, message.registers(known))", "message.registers(known)", "31 is all"),
        ("or address.offset % 4:", ":", "offsets in the descriptor are multiples of 4"),
        ("-half <= address.offset < half", "abs(address.offset) <= half", "signed bits"),
        ('if left["desc"] or', "if", "no bits are set outside fields"),
        ("read = message.source_registers(known) if counter", "read = 0 if counter", "counters"),
        ("if mask == 0:", "if mask is None:", "a quad moves something"),
    ),
]
