"""A sample of the field's configurations as binaries; benchmarks/compiled_kernels.py has 120."""

from __future__ import annotations

import pytest
from compiled_cases import RECORDED, filled, held_against_run, needs_compiler
from compiled_kernels import ULPS, Case, spilled
from family_gemms import Row, rows, twins
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import ToolError
from pycute_xe.native.toolchain import toolchain_for

# Types, orders, and an epilogue where the configuration has none.
WANTED = (
    ("bf16", "bf16", "crrr", None),
    ("f16", "f32", "ccrr", None),
    ("bf16", "f32", "rrrr", "silu(acc + bias[m])"),
    ("tf32", "f32", "ccrr", "acc * scale[m] + shift[n]"),
    ("s8", "s32", "rrrr", None),
    ("u8", "s32", "crrr", "clamp(alpha * acc, -4, 6) + abs(C)"),
)


def row(kind: str, accumulator: str, orders: str, with_c: bool) -> Row:
    """The configuration of such types and orders with the smallest tile."""
    wanted = (kind, accumulator, orders, with_c)
    # Blocks of bytes are transposed 32 rows at a time.
    least = 32 if kind in ("s8", "u8") else 8
    deep = (r for r in (*rows(), *twins()) if r.tile[0] // r.subgroups[0] >= least)
    found = [r for r in deep if (r.A, r.acc, r.orders, r.C != "-") == wanted]
    return min(found, key=lambda r: r.tile[0] * r.tile[1])


@needs_compiler
@pytest.mark.parametrize(
    "wanted", sampled(WANTED, 1), ids=lambda wanted: " ".join(map(str, wanted))
)
@pytest.mark.long
def test_binaries_of_configurations_equal_runs(wanted: tuple[str, str, str, str | None]) -> None:
    *types, epilogue = wanted
    found = row(*types, epilogue is None and types[0] not in ("tf32", "u8"))
    m, n, k = found.tile
    case = Case(found, epilogue, (m + 1, n - 5, 3 * k + 5), low=types[0] == "u8")
    kernel = case.kernel()
    ulps = ULPS * case.mathematical
    assert held_against_run(kernel, filled(kernel, case.sizes), ulps=ulps) == []


@needs_compiler
@pytest.mark.parametrize("wanted", sampled(WANTED, 1), ids=str)
@pytest.mark.long
def test_what_check_says_fits_a_register_mode_does_not_spill(
    wanted: tuple[str, str, str, str | None],
) -> None:
    *types, epilogue = wanted
    found = row(*types, epilogue is None and types[0] not in ("tf32", "u8"))
    _, wrong, _ = spilled(Case(found, epilogue, (0, 0, 0), low=types[0] == "u8"))
    assert wrong == []


@needs_compiler
@pytest.mark.long
def test_the_compiler_refuses_the_tall_transposed_blocks_that_check_warns_of() -> None:
    kernel = row("s8", "s32", "ccrr", True).kernel()
    rules = {found.broken.rule for found in cx.check(kernel, "pvc").findings}
    assert "transpose-column-bytes" in rules
    with pytest.raises(ToolError, match="column bytes is 128"):
        cx.native.compile(kernel, compiler=RECORDED)
    with pytest.raises(ToolError, match="block2d cols"):
        toolchain_for("pvc", RECORDED).assembled(cx.emit(kernel), "pvc", "-cl-std=CL2.0")
