"""Sizes that the field runs, judged for addressing without running; the rule is written apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.kernel import Kernel

FILE = Path(__file__).parents[1] / "data" / "family_problems.tsv"
NAME = re.compile(r"(BF16BF16|FP16FP16)FP32_(?:SplitK_)?([RC]{3})_")
ORDER = {"R": "row", "C": "col"}
Sizes = dict[str, int]


def problems() -> Iterator[tuple[str, str, Sizes]]:
    """Type and orders of A, B, D, and sizes: the problems of GEMMs of one input type."""
    for line in FILE.read_text(encoding="utf-8").splitlines()[1:]:
        name, *sizes = line.split("\t")
        found = NAME.search(name)
        if found is not None:
            kind = "bf16" if found[1].startswith("BF16") else "f16"
            yield kind, found[2], dict(zip("LMNK", map(int, sizes), strict=True))


@cache
def kernel(kind: str, orders: str, batch: bool) -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", kind))
    a, b, d = (ORDER[letter] for letter in orders)
    return cx.kernel.gemm(mma, a, b, d, batch=batch)


def arrays(orders: str, size: Sizes) -> Iterator[tuple[str, int, int, int]]:
    """Each array's name, its rows and columns as they lie in memory, and bytes of an element."""
    shapes = {"A": ("M", "K", 2), "B": ("K", "N", 2), "D": ("M", "N", 4)}
    for order, (name, (rows, columns, nbytes)) in zip(orders, shapes.items(), strict=True):
        lines = (rows, columns) if order == "R" else (columns, rows)
        yield name, size[lines[0]], size[lines[1]], nbytes


def fits(orders: str, size: Sizes) -> set[str]:
    """The arrays that the address payload of a block-2D message cannot describe.

    The payload holds the base, of which the low six bits are not there, and width, height and
    pitch less one in fields of 24 bits; width and pitch count whole dwords, eight of them at least.
    """
    out: set[str] = set()
    for name, rows, columns, nbytes in arrays(orders, size):
        line = columns * nbytes
        fields = (line - 1, rows - 1)
        away = [line * rows * number & 63 for number in range(min(size["L"], 64))]
        if any(field >> 24 for field in fields) or line & 3 or line >> 5 == 0 or any(away):
            out.add(name)
    return out


def refused(kind: str, orders: str, size: Sizes, target: str) -> set[str]:
    found = cx.check(kernel(kind, orders, size["L"] > 1), target, sizes=_told(size))
    return {str(f.subject)[0] for f in found.errors}


def _told(size: Sizes) -> Sizes:
    return {name: size[name] for name in ("LMNK" if size["L"] > 1 else "MNK")}


def test_there_are_as_many_problems_as_the_file_has() -> None:
    assert len(list(problems())) == 202


def test_packed_arrays_of_every_problem_are_addressable() -> None:
    assert not any(fits(orders, size) for _, orders, size in problems())


@pytest.mark.parametrize("target", ["pvc", "bmg"])
def test_each_problem_is_judged_as_the_payload_says(target: str) -> None:
    for kind, orders, size in sampled(problems(), 3):
        assert refused(kind, orders, size, target) == fits(orders, size), (orders, size)


BAD = [
    ("RRR", {"L": 1, "M": 64, "N": 65, "K": 64}, {"B"}),
    ("RRR", {"L": 1, "M": 64, "N": 64, "K": 65}, {"A"}),
    ("RCR", {"L": 1, "M": 64, "N": 64, "K": 65}, {"A", "B"}),
    ("RRR", {"L": 1, "M": 64, "N": 1 << 22, "K": 64}, set[str]()),
    ("RRR", {"L": 1, "M": 64, "N": (1 << 22) + 1, "K": 64}, {"B", "D"}),
    ("RRR", {"L": 1, "M": 64, "N": (1 << 22) + 2, "K": 64}, {"D"}),
    ("RRR", {"L": 1, "M": (1 << 24) + 1, "N": 64, "K": 64}, {"A", "D"}),
    ("RRR", {"L": 1, "M": 1 << 24, "N": 64, "K": 64}, set[str]()),
    ("CRR", {"L": 1, "M": (1 << 23) + 2, "N": 64, "K": 64}, {"A"}),
    ("RRR", {"L": 1, "M": 64, "N": 64, "K": 14}, {"A"}),
    ("RRR", {"L": 2, "M": 3, "N": 16, "K": 20}, {"A"}),
    ("RRR", {"L": 2, "M": 1, "N": 24, "K": 32}, {"D"}),
    ("RRR", {"L": 1, "M": 1, "N": 24, "K": 32}, set[str]()),
    ("RCR", {"L": 3, "M": 2, "N": 17, "K": 16}, {"B", "D"}),
]


@pytest.mark.parametrize(("orders", "size", "wanted"), BAD)
def test_sizes_at_the_limits(orders: str, size: Sizes, wanted: set[str]) -> None:
    assert fits(orders, size) == wanted
    assert refused("bf16", orders, size, "bmg") == wanted


def test_strides_from_row_to_row_move_the_batches_too() -> None:
    size = {"L": 2, "M": 3, "N": 16, "K": 20}
    batched = kernel("bf16", "RRR", True)
    assert {str(f.subject)[0] for f in cx.check(batched, sizes=size).errors} == {"A"}
    assert not cx.check(batched, sizes=size, strides={"A": 32}).errors
