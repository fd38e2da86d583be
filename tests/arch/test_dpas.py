"""Operand positions of DPAS, against its pseudo-code and what Intel's compiler emits."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import ModuleType

import pytest

from pycute_xe.arch import Dpas, dpas_types
from pycute_xe.errors import DTypeError, ShapeError

VISA = {"bf16": "bf", "f16": "hf", "f32": "f"}
FLOATS = [(d, a, a, c) for a in ("bf16", "f16") for d in ("f32", a) for c in ("f32", a)]


def test_the_rows_are_the_eight_float_instructions() -> None:
    assert sorted(dpas_types()) == sorted(FLOATS)


@pytest.mark.parametrize("types", FLOATS)
def test_the_compiler_emits_every_row(types: tuple[str, str, str, str]) -> None:
    path = Path(__file__).parent.parent / "data" / "igc_dpas.json.gz"
    with gzip.open(path, "rt") as file:
        data = json.load(file)
    rows = [dict(zip(data["fields"], row, strict=True)) for row in data["rows"]]
    d, a, b, c = (VISA[name] for name in types)
    wanted = {"dst": d, "src2": a, "src1": b, "acc": c, "depth": 8, "repeat": 8, "exec": 16}
    assert any(wanted.items() <= row.items() for row in rows)
    assert str(Dpas(8, *types)) == f"dpas.{b}.{a}.8.8 (M1,16)"


@pytest.mark.parametrize("repeat", range(1, 9))
@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_positions_follow_the_pseudo_code(repeat: int, kind: str, visa: ModuleType) -> None:
    dpas = Dpas(repeat, "f32", kind, kind, "f32")
    used: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row_column, operands in visa.dpas_16_bit(repeat):
        used.setdefault(row_column, []).append(operands)
    assert len(used) == dpas.M * dpas.N
    for (m, n), operands in used.items():
        expected = [(dpas.position_A(m, k), dpas.position_B(n, k)) for k in range(dpas.K)]
        assert operands == expected


def test_b_is_packed_as_the_patterns_guide_says() -> None:
    """Dword k_pair * 16 + n holds (n, 2 k_pair) and (n, 2 k_pair + 1): Intel Xe2 DPAS patterns."""
    position = Dpas(8, "f16", "f16", "f16", "f16").position_B
    for n in range(16):
        for k in range(16):
            assert position(n, k) == 2 * (k // 2 * 16 + n) + k % 2


@pytest.mark.parametrize(
    ("types", "nbytes"),
    [
        (("f32", "bf16", "bf16", "f32"), (256, 512, 512, 512)),
        (("bf16", "bf16", "bf16", "f32"), (256, 512, 512, 256)),
        (("f16", "f16", "f16", "f16"), (256, 512, 256, 256)),
    ],
)
def test_sizes(types: tuple[str, str, str, str], nbytes: tuple[int, int, int, int]) -> None:
    dpas = Dpas(8, *types)
    assert (dpas.M, dpas.N, dpas.K) == (8, 16, 16)
    assert (dpas.bytes_A, dpas.bytes_B, dpas.bytes_C, dpas.bytes_D) == nbytes


def test_types_without_a_row_name_the_nearest() -> None:
    with pytest.raises(DTypeError, match=r"\(f32, bf16, bf16, f32\)"):
        Dpas(8, "f32", "bf16", "f16", "f32")
    with pytest.raises(DTypeError, match="no instruction takes these types"):
        Dpas(8, "f16", "bf16", "bf16", "f32")
    with pytest.raises(DTypeError):
        Dpas(8, "f32", "f64", "f64", "f32")


@pytest.mark.parametrize("m", [0, 9, -1])
def test_m_is_1_to_8(m: int) -> None:
    with pytest.raises(ShapeError, match="1 to 8"):
        Dpas(m, "f32", "bf16", "bf16", "f32")


def test_the_execution_size_is_16() -> None:
    with pytest.raises(ShapeError, match="it is 16"):
        Dpas(8, "f32", "bf16", "bf16", "f32", exec_size=8)


def test_instructions_are_values() -> None:
    assert len({Dpas(8, "f32", "bf16", "bf16", "f32"), Dpas(8, "f32", "bf16", "bf16", "f32")}) == 1
