"""The GEMM through shared memory: types, orders, stages, epilogues, and what is refused."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.kernel import Kernel, SharedLoad, SharedStore

SIZES = ((1, 1, 1), (33, 17, 65), (32, 64, 96))
DTYPES: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "tf32": np.float32,
    "s8": np.int8,
    "u8": np.uint8,
}
DEPTHS = {"tf32": 16, "s8": 64, "u8": 64}


def tiled(kind: str = "bf16", tile: tuple[int, int] = (32, 64)) -> Any:
    to = "s32" if kind in ("s8", "u8") else "f32"
    op = cx.XE_DPAS_TT(8, to, kind)
    return cx.workgroup_mma(op, (*tile, DEPTHS.get(kind, 32)), ((2, 2, 1), (2, 1, 0)))


def agrees(kernel: Kernel, kind: str = "bf16", also: Any = None) -> None:
    """Both executors give NumPy's numbers, at edge sizes."""
    for m, n, k in SIZES:
        rng = np.random.default_rng(m + k)
        low = 0 if kind == "u8" else -4
        a, b = (rng.integers(low, 5, s).astype(DTYPES[kind]) for s in ((m, k), (k, n)))
        wanted = a.astype(np.int64) @ b.astype(np.int64)
        if also is not None:
            wanted = also(wanted)
        for executor in ("reference", "fast"):
            found = cx.run(kernel, a, b, executor=executor)
            assert np.array_equal(found, wanted), (executor, m, n, k)


@pytest.mark.parametrize(
    ("kind", "a", "b", "stages"),
    sampled([(k, a, b, s) for k in DTYPES for a in ("row", "col") for b in ("row", "col")
             for s in (1, 2, 3)], 4),
)  # fmt: skip
@pytest.mark.long
def test_every_type_order_and_number_of_stages(kind: str, a: Any, b: Any, stages: int) -> None:
    kernel = cx.kernel.slm_gemm(tiled(kind), a, b, stages=stages)
    verdict = cx.verify(kernel)
    assert verdict, str(verdict)
    for target in ("pvc", "bmg"):
        assert cx.check(kernel, target), str(cx.check(kernel, target))
    agrees(kernel, kind)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_all_stages_but_one_are_filled_before_the_loop(stages: int) -> None:
    kernel = cx.kernel.slm_gemm(tiled(), stages=stages)
    before = [s.array for s in kernel.body if isinstance(s, cx.kernel.SharedStore)]
    assert before == ["sA", "sB"] * (stages - 1)


@pytest.mark.long
def test_an_epilogue_follows() -> None:
    kernel = cx.kernel.slm_gemm(tiled(), epilogue="relu(2*acc)", d_type="f32")
    assert cx.verify(kernel)
    agrees(kernel, also=lambda product: np.maximum(2 * product, 0))


def banks_of(kernel: Kernel, target: str = "bmg") -> dict[str, str]:
    """What is said of the banks, by statement."""
    found = cx.check(kernel, target)
    told = {f.subject: f.broken.condition for f in found.findings if f.broken.rule == "slm-banks"}
    return told | {h.subject: h.condition for h in found.held if h.rule == "slm-banks"}


def counted(kernel: Kernel, kind: type, array: str) -> tuple[int, int]:
    """Turns of the busiest of 16 banks, and the fewest possible, counted word by word."""
    found: list[Any] = [s for s in kernel.statements() if isinstance(s, kind)]
    statement = next(s for s in found if s.array == array)
    count = kernel.fragment(statement.fragment).elements
    turns = least = 0
    for subgroup in range(kernel.subgroups):
        places = [statement.places(subgroup + kernel.subgroups * e) for e in range(count)]
        for start in range(0, count, 32):
            words = {2 * place // 4 for place in places[start : start + 32]}
            banks = [word % 16 for word in words]
            turns += max(map(banks.count, banks))
            least += -(-len(words) // 16)
    return turns, least


@pytest.mark.long
def test_bank_conflicts_are_counted_and_a_swizzle_removes_them() -> None:
    plain = cx.kernel.slm_gemm(tiled(), a="col")
    swizzled = cx.kernel.slm_gemm(tiled(), a="col", swizzle_a=cx.Swizzle(1, 3, 2))
    for kernel in (plain, swizzled, cx.kernel.slm_gemm(tiled(), b="col")):
        told = banks_of(kernel)
        for kind, word in ((SharedStore, "store to"), (SharedLoad, "load from")):
            for array in ("sA", "sB"):
                turns, least = counted(kernel, kind, array)
                words = f"{turns - least} of {turns} turns of 16 banks are lost to conflicts"
                assert told[f"{word} {array}"] == words
    assert counted(plain, SharedStore, "sA") == (64, 32)
    assert counted(swizzled, SharedStore, "sA") == (32, 32)
    assert cx.verify(swizzled)
    agrees(swizzled)


@pytest.mark.long
def test_bytes_of_shared_memory_are_counted() -> None:
    found = cx.check(cx.kernel.slm_gemm(tiled()), "bmg")
    shared = next(r for r in found.resources if r.name == "shared memory")
    assert shared.used == 2 * 2 * (32 + 64) * 32  # stages, bytes, rows of both, depth
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    large = cx.workgroup_mma(op, (256, 256, 64), ((8, 4, 1), (4, 1, 0)))
    rules = {f.broken.rule: f.broken.level for f in cx.check(
        cx.kernel.slm_gemm(large), "bmg").findings}  # fmt: skip
    assert rules["slm-bytes"] == "warning"
    assert "slm-bytes" in {
        e.broken.rule for e in cx.check(cx.kernel.slm_gemm(large, stages=3), "pvc").errors
    }


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cx.kernel.slm_gemm(tiled(), stages=0), "must be 1 to 3"),
        (lambda: cx.kernel.slm_gemm(tiled(), stages=4), "must be 1 to 3"),
        (lambda: cx.kernel.slm_gemm(tiled(), swizzle_a=cx.Swizzle(3, 9, 3)), "not a multiple"),
        (
            lambda: cx.kernel.slm_gemm(
                cx.workgroup_mma(
                    cx.XE_DPAS_TT(8, "s32", "s4"), (32, 64, 64), ((2, 2, 1), (2, 1, 0))
                )
            ),
            "narrower than a byte",
        ),
        (
            lambda: cx.kernel.slm_gemm(
                cx.workgroup_mma(
                    cx.XE_DPAS_TT(8, "s32", "s8", "s4"), (32, 64, 64), ((2, 2, 1), (2, 1, 0))
                )
            ),
            "elements of s4 are narrower than a byte",
        ),
        (
            lambda: cx.kernel.slm_gemm(
                cx.workgroup_mma(
                    cx.XE_DPAS_TT(1, "f32", "bf16"), (3, 16, 16), ((3, 1, 1), (1, 1, 0))
                )
            ),
            "cannot load equal parts",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(make: Any, words: str) -> None:
    with pytest.raises(cx.KernelError, match=words):
        make()
