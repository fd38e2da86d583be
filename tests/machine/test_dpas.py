"""DPAS against the transcription of its pseudo-code, bit for bit in f32."""

from __future__ import annotations

from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

from pycute_xe.arch import Block2D, Dpas, Surface
from pycute_xe.errors import MachineError
from pycute_xe.machine import Memory, RegisterFile, Trace, block2d, dpas

DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}
A, B, C, D = 0, 512, 1024, 2048


def filled(instruction: Dpas, seed: int) -> tuple[RegisterFile, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    registers, operands = RegisterFile(4096), {}
    m, n, k = instruction.M, instruction.N, instruction.K
    for name, at, count in (("A", A, m * k), ("B", B, n * k), ("C", C, m * n)):
        kind = DTYPES[getattr(instruction, name).name]
        operands[name] = rng.standard_normal(count).astype(kind)
        registers.write(at, operands[name].view(np.uint8))
    return registers, operands


def expected(visa: ModuleType, instruction: Dpas, operands: dict[str, np.ndarray]) -> np.ndarray:
    a, b = (operands[name].astype(np.float32) for name in "AB")
    total = operands["C"].astype(np.float32).reshape(instruction.M, instruction.N).copy()
    for (row, column), (src2, src1) in visa.dpas_16_bit(instruction.M):
        total[row, column] = np.float32(total[row, column] + np.float32(a[src2] * b[src1]))
    return total.reshape(-1).astype(DTYPES[instruction.D.name])


@pytest.mark.parametrize("m", [1, 3, 8])
@pytest.mark.parametrize("kind", ["bf16", "f16"])
@pytest.mark.parametrize("wide", [("f32", "f32"), ("f32", ""), ("", "f32"), ("", "")])
def test_every_instruction(m: int, kind: str, wide: tuple[str, str], visa: ModuleType) -> None:
    instruction = Dpas(m, wide[0] or kind, kind, kind, wide[1] or kind)
    registers, operands = filled(instruction, seed=m)
    dpas.execute(registers, instruction, D, C, B, A)
    result = registers.read(D, instruction.bytes_D, "the test")
    assert result.tobytes() == expected(visa, instruction, operands).tobytes()


def test_the_null_accumulator_is_zero() -> None:
    instruction = Dpas(8, "f32", "bf16", "bf16", "f32")
    registers, _ = filled(instruction, seed=0)
    registers.write(C, np.zeros(512, dtype=np.uint8))
    dpas.execute(registers, instruction, D, None, B, A)
    null = registers.read(D, 512, "the test").tobytes()
    dpas.execute(registers, instruction, D, C, B, A)
    assert registers.read(D, 512, "the test").tobytes() == null


def test_the_destination_may_be_the_accumulator() -> None:
    instruction = Dpas(8, "f32", "f16", "f16", "f32")
    registers, operands = filled(instruction, seed=5)
    dpas.execute(registers, instruction, D, C, B, A)
    dpas.execute(registers, instruction, C, C, B, A)
    assert (registers.read(C, 512, "t") == registers.read(D, 512, "t")).all()
    assert operands["A"].size == 128


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


@pytest.mark.parametrize(
    ("operands", "name"),
    [((D + 32, C, B, A), "dst"), ((D, C + 4, B, A), "acc"), ((D, C, B + 32, A), "src1")],
)
def test_operands_start_at_registers(operands: tuple[int, int, int, int], name: str) -> None:
    instruction = Dpas(1, "f32", "bf16", "bf16", "f32")
    registers, _ = filled(instruction, seed=0)
    with pytest.raises(MachineError, match=f"{name}=.*not aligned to 64 bytes"):
        dpas.execute(registers, instruction, *operands)


def test_a_may_start_at_any_row() -> None:
    instruction = Dpas(1, "f32", "bf16", "bf16", "f32")
    registers, _ = filled(Dpas(8, "f32", "bf16", "bf16", "f32"), seed=0)
    dpas.execute(registers, instruction, D, C, B, A + 32)
    with pytest.raises(MachineError, match=r"src2=16.*not aligned to 32 bytes"):
        dpas.execute(registers, instruction, D, C, B, A + 16)


@pytest.mark.parametrize(("at", "name"), [(A, "A"), (B, "B"), (C, "C")])
def test_uninitialised_operands_are_named(at: int, name: str) -> None:
    instruction = Dpas(8, "f32", "bf16", "bf16", "f32")
    registers, _ = filled(instruction, seed=0)
    registers.forget(at + 10, 1)
    with pytest.raises(MachineError, match=f"\\(M1,16\\) {name}.*byte {at + 10} "):
        dpas.execute(registers, instruction, D, C, B, A)


def test_instructions_are_counted() -> None:
    instruction, trace = Dpas(8, "f32", "bf16", "bf16", "f32"), Trace(keep=True)
    registers, _ = filled(instruction, seed=0)
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
