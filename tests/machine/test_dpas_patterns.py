"""Which loads and stores leave DPAS operands in place: proofs, a run of each, counter-examples.

A proof compares two layouts at every coordinate: where a message puts (or takes) an element, and
where DPAS has it. Of a gather, register element ``elem * N + lane`` is element ``elem`` of the
address of ``lane`` (Intel Xe2 DPAS patterns).
"""

from __future__ import annotations

import runpy
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling import sampled

from pycute_xe.arch import Block2D, Dpas
from pycute_xe.arch.lsc import Address, DataType, Message
from pycute_xe.arch.rules import errors
from pycute_xe.layout import Layout
from pycute_xe.machine import Memory, RegisterFile, lsc

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "dpas" / "patterns.py"
HALF = Dpas(8, "f16", "f16", "f16", "f16")
TARGETS = ["pvc", "bmg", "lnl", "ptl"]
K, N, M = 16, 16, 8
LANES = 16


def gathered(elements: int, parts: int) -> Layout:
    """(lane, (part of an element, element)) → register element, in parts: elem * N + lane."""
    return Layout((LANES, (parts, elements)), (parts, (1, parts * LANES)))


def test_the_image_of_a_gather_is_structure_of_arrays() -> None:
    image = gathered(8, 2)
    for lane, element, part in product(range(LANES), range(8), range(2)):
        assert image(lane, 2 * element + part) == 2 * (element * LANES + lane) + part


def test_1_a_tile_from_rows_of_k_is_a_plain_load() -> None:
    load = Block2D("load", 16, height=M, width=K)
    assert all(
        load.position((k, 0), m) == HALF.position_A(m, k) for m, k in product(range(M), range(K))
    )


def test_2_b_tile_from_rows_of_n_is_a_transformed_load() -> None:
    load = Block2D("load", 16, height=K, width=N, vnni=True)
    assert all(
        load.position((n, 0), k) == HALF.position_B(n, k) for n, k in product(range(N), range(K))
    )


def test_3_b_tile_from_rows_of_k_is_a_gather_of_dwords() -> None:
    """Lane n reads the 16 halves of row n as 8 dwords: k is 2 * dword + half."""
    image = gathered(elements=8, parts=2)
    assert all(image(n, k) == HALF.position_B(n, k) for n, k in product(range(N), range(K)))
    assert image == HALF.position_B


def test_4_a_tile_from_rows_of_k_each_a_lane_is_a_gather_of_halves() -> None:
    """Lane k reads 8 neighbours of row k, which become the 8 rows of the tile."""
    image = gathered(elements=M, parts=1)
    assert all(image(k, m) == HALF.position_A(m, k) for m, k in product(range(M), range(K)))


def test_5_the_accumulator_is_what_a_plain_store_takes() -> None:
    store = Block2D("store", 16, height=M, width=N)
    assert all(
        store.position((n, 0), m) == HALF.position_C(m, n) for m, n in product(range(M), range(N))
    )


def test_6_the_accumulator_of_swapped_roles_is_what_a_scatter_takes() -> None:
    """Lane i stores 8 neighbours of row i of C; the accumulator has them as rows."""
    image = gathered(elements=M, parts=1)
    assert all(image(i, n) == HALF.position_C(n, i) for i, n in product(range(N), range(M)))


@pytest.mark.parametrize("m", sampled(range(1, 9), 4))
@pytest.mark.parametrize("kind", ["bf16", "f16", "s8", "tf32"])
def test_plain_and_transformed_loads_fit_every_width(kind: str, m: int) -> None:
    """The first two rows hold for 8, 16 and 32 bits: dwords of 4, 2 and 1 elements."""
    wide = "s32" if kind == "s8" else "f32"
    dpas, bits = Dpas(m, wide, kind, kind, wide), {"s8": 8, "tf32": 32}.get(kind, 16)
    a = Block2D("load", bits, height=m, width=dpas.K)
    b = Block2D("load", bits, height=dpas.K, width=16, vnni=bits < 32)
    for k in range(dpas.K):
        assert all(a.position((k, 0), i) == dpas.position_A(i, k) for i in range(m))
        assert all(b.position((n, 0), k) == dpas.position_B(n, k) for n in range(16))


# ---------------------------------------------------------------- runs


@cache
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


@pytest.mark.parametrize("target", ["bmg", "lnl"])
@pytest.mark.parametrize("way", range(4))
def test_every_way_multiplies(way: int, target: str) -> None:
    parts = example()
    usage, load_b, rows_are_k = list(parts["WAYS"].values())[way]
    rng = np.random.default_rng(way)
    a, b_t = (rng.integers(-3, 4, s).astype(np.float16) for s in ((32, 64), (64, 32)))
    c = np.full((32, 32), np.nan, dtype=np.float16)
    parts["run"](usage(load_b), a, b_t if rows_are_k else np.ascontiguousarray(b_t.T), c, target)
    assert (c == a.astype(np.float64) @ b_t.astype(np.float64)).all()


@pytest.mark.long
def test_the_example_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    example()["main"]()
    assert capsys.readouterr().out.split().count("right") == 4


# ---------------------------------------------------------------- counter-examples


@pytest.mark.parametrize("target", TARGETS)
def test_a_transposed_load_of_halves_is_refused(target: str) -> None:
    broken = errors(Block2D("load", 16, height=16, width=8, transpose=True).broken_rules(target))
    assert any("bits" in b.condition for b in broken)
    assert all(b.source for b in broken)


def test_an_untransformed_load_is_no_b_tile() -> None:
    load = Block2D("load", 16, height=K, width=N)
    wrong = [
        (n, k)
        for n, k in product(range(N), range(K))
        if load.position((n, 0), k) != HALF.position_B(n, k)
    ]
    assert len(wrong) > 200


def scattered(acc: np.ndarray) -> np.ndarray:
    """Scatter 8 halves from each of 16 lanes to the rows of a 16 × 8 matrix."""
    memory, registers = Memory(), RegisterFile(1024)
    c = memory.place(np.zeros((16, 8), dtype=np.float16))
    registers.write(0, np.array([c + 16 * lane for lane in range(16)], np.uint64).view(np.uint8))
    # 16 bits in memory, the lower half of a dword in registers, as the message has it.
    registers.write(128, acc.view(np.uint16).astype(np.uint32).view(np.uint8))
    for element in range(8):
        one = Message(
            "store",
            "ugm",
            16,
            DataType("d16u32"),
            Address("flat", 64, "V1", offset=2 * element),
            src1="V2",
        )
        at = {"V1": 0, "V2": 128 + 64 * element}
        lsc.execute(one, memory=memory, registers=registers, operands=at)
    return memory.array(c, (16, 8), np.float16)


def test_a_scatter_takes_the_accumulator_and_not_rows_of_c() -> None:
    """Data in the order of addresses, 8 elements of one lane after the other, is corrupted."""
    c = np.arange(128, dtype=np.float16).reshape(16, 8)
    assert (scattered(np.ascontiguousarray(c.T).reshape(-1)) == c).all()
    corrupt = scattered(c.reshape(-1))
    assert (corrupt != c).sum() > 100
    assert sorted(corrupt.reshape(-1)) == sorted(c.reshape(-1))
