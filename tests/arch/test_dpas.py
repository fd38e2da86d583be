"""Operand positions of DPAS, against its pseudo-code; its types, against its table."""

from __future__ import annotations

import pytest
from dpas_pseudo_code import BITS, products
from every import every
from sampling import WHOLE

from pycute_xe.arch import Dpas, dpas_types
from pycute_xe.errors import DTypeError, ShapeError
from pycute_xe.layout import size

INTEGERS = [f"{sign}{bits}" for sign in "su" for bits in (8, 4, 2)]
FLOATS = [(d, a, a, c) for a in ("bf16", "f16") for d in ("f32", a) for c in ("f32", a)]
# One pair of operand types for each pair of widths: signs do not move anything.
PAIRS = [("bf16", "bf16"), ("tf32", "tf32")]
PAIRS += [(f"s{a}", f"u{b}") for a in (8, 4, 2) for b in (8, 4, 2)]


def dpas_of(a: str, b: str, m: int = 8) -> Dpas:
    wide = "s32" if a[0] in "su" else "f32"
    return Dpas(m, wide, a, b, wide)


def test_the_rows_are_those_of_the_table_of_legal_combinations() -> None:
    """F and BF with BF, F and HF with HF, F with TF32, D and UD with any two of six integers."""
    everything, known = dpas_types(), {"bf16", "f16", "tf32", *INTEGERS}
    assert len(set(everything)) == len(everything)
    rows = [row for row in everything if {*row[1:3]} <= known]  # later documents may add types
    assert len(rows) == 153
    assert {row for row in rows if "f" in row[1]} == {*FLOATS, ("f32", "tf32", "tf32", "f32")}
    assert {row for row in rows if "f" not in row[1]} == {
        (d, a, b, c)
        for d in ("s32", "u32")
        for c in ("s32", "u32")
        for a in INTEGERS
        for b in INTEGERS
    }


@every("types", dpas_types(), ids="-".join)
def test_every_row_builds_with_every_repeat_count(types: tuple[str, str, str, str]) -> None:
    for m in range(1, 9):
        dpas = Dpas(m, *types)
        assert [size(dpas.position_A), size(dpas.position_B)] == [m * dpas.K, 16 * dpas.K]
        if types[1][:2] in ("f8", "f4"):
            assert dpas.broken_rules("cri") == ()
            assert [b.rule for b in dpas.broken_rules("ptl")] == [f"fp{types[1][1]}"]
        else:
            assert dpas.broken_rules("pvc") == dpas.broken_rules("ptl") == ()


@pytest.mark.parametrize(
    ("a", "b", "rules"),
    [
        ("s8", "u8", []),
        ("u4", "s4", []),
        ("s8", "u4", ["pair-width"]),
        ("u2", "u2", ["pair-width"]),
    ],
)
def test_integers_of_crescent_island_have_one_width(a: str, b: str, rules: list[str]) -> None:
    assert [broken.rule for broken in dpas_of(a, b).broken_rules("cri")] == rules


@pytest.mark.parametrize("m", range(1, 9) if WHOLE else (1, 3))
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_positions_follow_the_pseudo_code(a: str, b: str, m: int) -> None:
    dpas = dpas_of(a, b, m)
    used: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for r, i, src2, (register, dword, element) in products(b, a, m):
        src1 = (16 * register + dword) * (32 // BITS[b]) + element
        used.setdefault((r, i), []).append((src2, src1))
    assert len(used) == dpas.M * dpas.N
    for (row, n), operands in used.items():
        expected = [(dpas.position_A(row, k), dpas.position_B(n, k)) for k in range(dpas.K)]
        assert operands == expected
    assert [dpas.position_C(r, n) for r, n in used] == list(range(m * 16))


@every(
    ("a", "b", "k"),
    [
        ("tf32", "tf32", 8),
        ("f16", "f16", 16),
        ("s8", "u8", 32),
        ("s8", "u2", 32),
        ("s4", "u8", 32),
        ("u4", "s4", 64),
        ("s4", "s2", 64),
        ("u2", "u2", 64),
    ],
)
def test_k_is_set_by_the_wider_operand(a: str, b: str, k: int) -> None:
    assert k == dpas_of(a, b).K


def test_b_is_packed_as_the_patterns_guide_says() -> None:
    """Dword k_pair * 16 + n holds (n, 2 k_pair) and (n, 2 k_pair + 1): Intel Xe2 DPAS patterns."""
    position = Dpas(8, "f16", "f16", "f16", "f16").position_B
    for n in range(16):
        for k in range(16):
            assert position(n, k) == 2 * (k // 2 * 16 + n) + k % 2


@every(
    ("types", "nbytes"),
    [
        (("f32", "bf16", "bf16", "f32"), (256, 512, 512, 512)),
        (("bf16", "bf16", "bf16", "f32"), (256, 512, 512, 256)),
        (("f16", "f16", "f16", "f16"), (256, 512, 256, 256)),
        (("f32", "tf32", "tf32", "f32"), (256, 512, 512, 512)),
        (("s32", "s8", "s8", "s32"), (256, 512, 512, 512)),
        (("s32", "s8", "s4", "s32"), (256, 256, 512, 512)),
        (("s32", "s2", "s8", "s32"), (64, 512, 512, 512)),
        (("s32", "u4", "u4", "u32"), (256, 512, 512, 512)),
        (("s32", "u2", "u2", "u32"), (128, 256, 512, 512)),
    ],
)
def test_sizes(types: tuple[str, str, str, str], nbytes: tuple[int, int, int, int]) -> None:
    dpas = Dpas(8, *types)
    assert (dpas.M, dpas.N) == (8, 16)
    assert (dpas.bytes_A, dpas.bytes_B, dpas.bytes_C, dpas.bytes_D) == nbytes


def test_types_without_a_row_name_the_reason_its_source_and_the_nearest() -> None:
    with pytest.raises(DTypeError, match=r"one precision.*DPAS.md.*\(f32, bf16, bf16, f32\)"):
        Dpas(8, "f32", "bf16", "f16", "f32")
    with pytest.raises(DTypeError, match=r"dst is hf, must be f or bf.*DPAS.md"):
        Dpas(8, "f16", "bf16", "bf16", "f32")
    with pytest.raises(DTypeError, match=r"one precision.*DPAS.md"):
        Dpas(8, "f32", "f8e4m3", "f16", "f32")
    (why,) = Dpas(8, "f32", "f8e4m3", "f8e4m3", "f32").broken_rules("ptl")
    assert "after Xe3" in why.condition
    assert "98fff716" in why.source
    with pytest.raises(DTypeError, match="DPAS multiplies no f64"):
        Dpas(8, "f32", "f64", "f64", "f32")


@every("m", [0, 9, -1, "8", 8.0, True])
def test_m_is_1_to_8(m: object) -> None:
    with pytest.raises(ShapeError, match="1 to 8"):
        Dpas(m, "f32", "bf16", "bf16", "f32")


def test_the_execution_size_is_16() -> None:
    with pytest.raises(ShapeError, match="exec_size must be 16"):
        Dpas(8, "f32", "bf16", "bf16", "f32", exec_size=8)


def test_instructions_are_values() -> None:
    assert len({Dpas(8, "f32", "bf16", "bf16", "f32"), Dpas(8, "f32", "bf16", "bf16", "f32")}) == 1
