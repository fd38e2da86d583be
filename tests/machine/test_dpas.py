"""DPAS against the transcription of its pseudo-code: every row of types, bit for bit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from dpas_pseudo_code import dpas as pseudo_code
from every import every
from hypothesis import given, strategies as st
from sampling import sampled

from pycute_xe.arch import Block2D, Dpas, Surface, dpas_types
from pycute_xe.errors import MachineError
from pycute_xe.machine import Memory, RegisterFile, Trace, block2d, dpas

DTYPES = {
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "s32": np.dtype(np.int32),
    "u32": np.dtype(np.uint32),
}
A, B, C, D = 0, 512, 1024, 2048
Types = tuple[str, str, str, str]


def sizes(instruction: Dpas) -> dict[str, int]:
    return {name: getattr(instruction, f"bytes_{name}") for name in "ABC"}


def calm(kind: str, nbytes: int, rng: np.random.Generator) -> bytes:
    """Operand bytes: any bits of integers, numbers between -4 and 4 of floats."""
    if kind[0] in "su":
        return rng.bytes(nbytes)
    if kind[:2] in ("f8", "f4"):  # the highest bit of the exponent stays zero: no NaNs
        kept = {"f8e5m2": 0xBF, "f8e4m3": 0xBF, "f4e2m1": 0xBB}[kind]
        return (rng.integers(0, 256, nbytes) & kept).astype(np.uint8).tobytes()
    count = 8 * nbytes // (32 if kind in ("tf32", "f32") else 16)
    values = rng.uniform(-4, 4, count)
    return values.astype(DTYPES["f32" if kind == "tf32" else kind]).tobytes()


def run(instruction: Dpas, operands: dict[str, bytes], null: bool = False) -> bytes:
    registers = RegisterFile(4096)
    for at, name in ((A, "A"), (B, "B"), (C, "C")):
        registers.write(at, np.frombuffer(operands[name], np.uint8))
    dpas.execute(registers, instruction, D, None if null else C, B, A)
    return registers.read(D, instruction.bytes_D, "the test").tobytes()


def expected(types: Types, m: int, operands: dict[str, bytes], null: bool = False) -> bytes:
    return pseudo_code(types, m, None if null else operands["C"], operands["B"], operands["A"])


def same(got: bytes, want: bytes, kind: str) -> bool:
    """Equal bits, where a NaN is like any other NaN."""
    left, right = (np.frombuffer(data, DTYPES[kind]) for data in (got, want))
    if kind in ("s32", "u32"):
        return got == want
    nan = np.isnan(left.astype(np.float32))
    return bool(
        (nan == np.isnan(right.astype(np.float32))).all()
        and left[~nan].tobytes() == right[~nan].tobytes()
    )


@pytest.mark.parametrize("types", dpas_types(), ids="-".join)
def test_every_row_of_types(types: Types) -> None:
    rng = np.random.default_rng(len("".join(types)))
    instruction = Dpas(8, *types)
    kinds = dict(zip("DABC", types, strict=True))
    operands = {name: calm(kinds[name], n, rng) for name, n in sizes(instruction).items()}
    assert run(instruction, operands) == expected(types, 8, operands)


@given(st.sampled_from(dpas_types()), st.integers(1, 8), st.integers(0, 2**32 - 1), st.booleans())
def test_any_bits_in_any_row(types: Types, m: int, seed: int, null: bool) -> None:
    """Random bits: NaNs, infinities, subnormals, dirty low bits of tf32, integers that overflow."""
    rng, instruction = np.random.default_rng(seed), Dpas(m, *types)
    operands = {name: rng.bytes(nbytes) for name, nbytes in sizes(instruction).items()}
    got = run(instruction, operands, null)
    assert same(got, expected(types, m, operands, null), types[0])


@given(
    st.sampled_from([t for t in dpas_types() if t[0][0] not in "su"]),
    st.integers(1, 8),
    st.integers(0, 2**32 - 1),
)
def test_floats_are_exact_under_the_same_order(types: Types, m: int, seed: int) -> None:
    rng, instruction = np.random.default_rng(seed), Dpas(m, *types)
    kinds = dict(zip("DABC", types, strict=True))
    operands = {name: calm(kinds[name], n, rng) for name, n in sizes(instruction).items()}
    assert run(instruction, operands) == expected(types, m, operands)


@pytest.mark.parametrize(("d", "c"), [("s32", "s32"), ("u32", "s32"), ("s32", "u32")])
def test_integers_wrap_around(d: str, c: str) -> None:
    """The largest accumulator and one more; signed or not, the bits are the same."""
    instruction = Dpas(1, d, "s8", "u8", c)
    a = np.zeros(32, dtype=np.int8)
    a[0] = 1
    operands = {
        "A": a.tobytes(),
        "B": np.ones(512, dtype=np.uint8).tobytes(),
        "C": np.full(16, 0x7FFFFFFF, dtype=np.uint32).tobytes(),
    }
    assert run(instruction, operands) == np.full(16, 0x80000000, dtype=np.uint32).tobytes()


@pytest.mark.parametrize(("kind", "low", "high"), [("s4", -8, 7), ("u4", 0, 15), ("s2", -2, 1)])
def test_narrow_operands_against_numpy(kind: str, low: int, high: int) -> None:
    """A from NumPy's matrix, packed by hand: element 0 of a byte in its lowest bits."""
    rng, bits = np.random.default_rng(0), int(kind[1])
    instruction = Dpas(8, "s32", "s8", kind, "s32")
    a = rng.integers(-128, 128, (8, 32))
    b = rng.integers(low, high + 1, (32, 16))
    packed = bytearray(instruction.bytes_B)
    for k in range(32):
        for n in range(16):
            per_dword = 32 // bits
            at = 32 * (k // per_dword * 16 + n) + bits * (k % per_dword)
            packed[at // 8] |= (int(b[k, n]) & ((1 << bits) - 1)) << at % 8
    operands = {
        "A": a.astype(np.int8).tobytes(),
        "B": bytes(packed),
        "C": np.zeros(128, dtype=np.int32).tobytes(),
    }
    assert run(instruction, operands) == (a @ b).astype(np.int32).tobytes()


def filled(instruction: Dpas, seed: int) -> RegisterFile:
    rng, registers = np.random.default_rng(seed), RegisterFile(4096)
    for at, name in ((A, "A"), (B, "B"), (C, "C")):
        data = calm(getattr(instruction, name).name, sizes(instruction)[name], rng)
        registers.write(at, np.frombuffer(data, np.uint8))
    return registers


def test_the_null_accumulator_is_zero() -> None:
    instruction = Dpas(8, "f32", "bf16", "bf16", "f32")
    registers = filled(instruction, seed=0)
    registers.write(C, np.zeros(512, dtype=np.uint8))
    dpas.execute(registers, instruction, D, None, B, A)
    null = registers.read(D, 512, "the test").tobytes()
    dpas.execute(registers, instruction, D, C, B, A)
    assert registers.read(D, 512, "the test").tobytes() == null


def test_the_destination_may_be_the_accumulator() -> None:
    instruction = Dpas(8, "f32", "f16", "f16", "f32")
    registers = filled(instruction, seed=5)
    dpas.execute(registers, instruction, D, C, B, A)
    dpas.execute(registers, instruction, C, C, B, A)
    assert (registers.read(C, 512, "t") == registers.read(D, 512, "t")).all()


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_rounding_is_to_nearest_even_and_overflow_is_infinite(kind: str) -> None:
    instruction, registers = Dpas(1, kind, kind, kind, "f32"), RegisterFile(4096)
    ulp = 2.0**-7 if kind == "bf16" else 2.0**-10
    accumulator = np.zeros(16, dtype=np.float32)
    accumulator[:5] = 1 + ulp / 2, 1 + 3 * ulp / 2, 1 + ulp * 0.51, 3.38e38, np.nan
    registers.write(A, np.zeros(32, dtype=np.uint8))
    registers.write(B, np.zeros(512, dtype=np.uint8))
    registers.write(C, accumulator.view(np.uint8))
    dpas.execute(registers, instruction, D, C, B, A)
    result = registers.read(D, 32, "the test").view(DTYPES[kind]).astype(np.float64)
    assert result[:3].tolist() == [1, 1 + 2 * ulp, 1 + ulp]
    assert result[3] == (np.inf if kind == "f16" else pytest.approx(3.38e38, rel=ulp))
    assert np.isnan(result[4])


def test_the_low_bits_of_a_tf32_do_not_count() -> None:
    instruction, registers = Dpas(1, "f32", "tf32", "tf32", "f32"), RegisterFile(4096)
    dirty = np.full(8, np.float32(1).view(np.uint32) | 0x1FFF, dtype=np.uint32)
    registers.write(A, dirty.view(np.uint8))
    registers.write(B, np.tile(dirty, 16).view(np.uint8))
    dpas.execute(registers, instruction, D, None, B, A)
    assert (registers.read(D, 64, "the test").view(np.float32) == 8).all()


@pytest.mark.parametrize(
    ("operands", "name"),
    [((D + 32, C, B, A), "dst"), ((D, C + 4, B, A), "acc"), ((D, C, B + 32, A), "src1")],
)
def test_operands_start_at_registers(operands: tuple[int, int, int, int], name: str) -> None:
    instruction = Dpas(1, "f32", "bf16", "bf16", "f32")
    registers = filled(instruction, seed=0)
    with pytest.raises(MachineError, match=f"{name}=.*not aligned to 64 bytes"):
        dpas.execute(registers, instruction, *operands)


@every(
    ("types", "row"),
    [
        (("f32", "bf16", "bf16", "f32"), 32),
        (("f32", "tf32", "tf32", "f32"), 32),
        (("s32", "s8", "s8", "s32"), 32),
        (("s32", "s4", "s8", "s32"), 16),
        (("s32", "s2", "s8", "s32"), 8),
        (("s32", "s4", "s4", "s32"), 32),
        (("s32", "s2", "s2", "s32"), 16),
    ],
)
def test_a_may_start_at_any_row(types: Types, row: int) -> None:
    """The rows are those that DPAS.md lists: 8, 4 and 2 dwords for 8, 4 and 2 bits."""
    instruction = Dpas(1, *types)
    registers = filled(Dpas(8, *types), seed=0)
    dpas.execute(registers, instruction, D, C, B, A + row)
    with pytest.raises(MachineError, match=f"src2={row // 2}.*not aligned to {row} bytes"):
        dpas.execute(registers, instruction, D, C, B, A + row // 2)


def test_a_narrow_result_may_start_inside_a_register() -> None:
    instruction = Dpas(1, "bf16", "bf16", "bf16", "bf16")
    registers = filled(Dpas(8, "bf16", "bf16", "bf16", "bf16"), seed=0)
    dpas.execute(registers, instruction, D + 32, C + 32, B, A)
    with pytest.raises(MachineError, match=r"dst=.*not aligned to 32 bytes"):
        dpas.execute(registers, instruction, D + 16, C, B, A)


@pytest.mark.parametrize(("at", "name"), [(A, "A"), (B, "B"), (C, "C")])
def test_uninitialised_operands_are_named(at: int, name: str) -> None:
    instruction = Dpas(8, "f32", "bf16", "bf16", "f32")
    registers = filled(instruction, seed=0)
    registers.forget(at + 10, 1)
    with pytest.raises(MachineError, match=f"\\(M1,16\\) {name}.*byte {at + 10} "):
        dpas.execute(registers, instruction, D, C, B, A)


def test_instructions_are_counted() -> None:
    instruction, trace = Dpas(8, "f32", "bf16", "bf16", "f32"), Trace(keep=True)
    registers = filled(instruction, seed=0)
    for _ in range(3):
        dpas.execute(registers, instruction, D, C, B, A, trace)
    assert trace.dpas == 3
    assert [event.kind for event in trace.events] == ["dpas"] * 3


def test_loads_feed_dpas_without_a_reorder() -> None:
    """A through a plain load, B through a VNNI load, D through a plain store: D = A·B."""
    rng = np.random.default_rng(0)
    a = rng.integers(-8, 8, (8, 16)).astype(np.float16)
    b = rng.integers(-8, 8, (16, 16)).astype(np.float16)
    memory, registers = Memory(), RegisterFile(4096)
    surfaces = [Surface(memory.place(x), 32, len(x), 32) for x in (a, b)]
    out = Surface(memory.alloc(8 * 64), 64, 8, 64)
    load_b = Block2D("load", 16, 16, 16, vnni=True)
    block2d.load(memory, registers, Block2D("load", 16, 8, 16), surfaces[0], 0, 0, A)
    block2d.load(memory, registers, load_b, surfaces[1], 0, 0, B)
    dpas.execute(registers, Dpas(8, "f32", "f16", "f16", "f32"), D, None, B, A)
    block2d.store(memory, registers, Block2D("store", 32, 8, 16), out, 0, 0, D)
    result = memory.array(out.base, (8, 16), np.float32)
    assert (result == a.astype(np.float32) @ b.astype(np.float32)).all()


COUNTS = 3, 2
"""Instructions along M and along N that share operands."""


def filled_many(
    instruction: Dpas, types: Types, overlaps: bool = False
) -> tuple[RegisterFile, int, int, int]:
    """Operands of several instructions: where D, B and A begin; D may begin inside A."""
    kinds, each = dict(zip("DABC", types, strict=True)), sizes(instruction)
    along_m, along_n = COUNTS
    whole = {"A": along_m * each["A"], "B": along_n * each["B"], "C": along_m * along_n * each["C"]}
    at_b = -(-whole["A"] // 64) * 64
    at_c = at_b + whole["B"]
    if overlaps:
        at_c = whole["A"] - each["A"]
        at_b = at_c + whole["C"]
    registers, rng = RegisterFile(1 << 14), np.random.default_rng(len(types))
    for name, at in (("A", 0), ("B", at_b), ("C", at_c)):
        registers.write(at, np.frombuffer(calm(kinds[name], whole[name], rng), np.uint8))
    return registers, at_c, at_b, 0


def in_turn(instruction: Dpas, registers: RegisterFile, dst: int, src1: int, src2: int) -> Trace:
    trace = Trace()
    for n in range(COUNTS[1]):
        for m in range(COUNTS[0]):
            c = dst + (m + COUNTS[0] * n) * instruction.bytes_D
            b, a = src1 + n * instruction.bytes_B, src2 + m * instruction.bytes_A
            dpas.execute(registers, instruction, c, c, b, a, trace)
    return trace


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("types", sampled(dpas_types(), 40), ids="-".join)
def test_instructions_that_share_operands_are_done_as_in_turn(types: Types, overlap: bool) -> None:
    """Also where an instruction writes what a later one reads, and where C is not as wide as D."""
    instruction, trace = Dpas(8, *types), Trace()
    registers, *at = filled_many(instruction, types, overlap)
    others, *_ = filled_many(instruction, types, overlap)
    dpas.execute_all(registers, instruction, *at, COUNTS, trace)
    wanted = in_turn(instruction, others, *at)
    assert trace.dpas == wanted.dpas == COUNTS[0] * COUNTS[1]
    assert registers.data.tobytes() == others.data.tobytes()


# The last: of A what the third instruction reads, and of C what the first one does.
@pytest.mark.parametrize("gone", [(0,), (700,), (1500,), (700, 1800)])
def test_the_first_instruction_that_faults_is_named(gone: tuple[int, ...]) -> None:
    types = ("f32", "bf16", "bf16", "f32")
    instruction, told = Dpas(8, *types), list[str]()
    for done in (dpas.execute_all, lambda r, i, *at: in_turn(i, r, *at[:3])):
        registers, *at = filled_many(instruction, types)
        for byte in gone:
            registers.forget(byte, 4)
        with pytest.raises(MachineError, match=f"byte {gone[-1]} ") as found:
            done(registers, instruction, *at, COUNTS)
        told.append(str(found.value))
    assert told[0] == told[1]
