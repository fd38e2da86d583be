"""Kernels of every kind with all their names changed (benchmarks/renamed_kernels.py)."""

from __future__ import annotations

import random

import numpy as np
import pytest
from every_kernel import KINDS, SLOW
from renamed_kernels import POOLS, Names, anew, everything_named, judged, renamed, summed
from sampling import WHOLE, sampled

import pycute_xe as cx
from pycute_xe.identifiers import name_fault
from pycute_xe.kernel import Claim, Element, Index, Kernel, Specification, total
from pycute_xe.kernel.index import Looked

QUICK = tuple(kind for kind in KINDS if kind not in SLOW)


@pytest.mark.parametrize("seed", sampled(range(5000), 8))
@pytest.mark.long
def test_no_verdict_changes_with_the_names(seed: int) -> None:
    outcome = judged(seed, KINDS if WHOLE else QUICK)
    assert not outcome.bad, outcome


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.long
def test_a_product_is_proved_whatever_its_names(pool: str) -> None:
    kernel, names = product(), [n for n in dict.fromkeys(POOLS[pool]) if name_fault(n) is None]
    for first in range(0, len(names) - 3, 3 if WHOLE else 12):
        sizes = dict(zip(kernel.sizes, names[first:] + names[:first], strict=False))
        free = [n for n in names if n not in sizes.values()] * 9
        free = [*dict.fromkeys(free), *(f"left_{i}" for i in range(9))]
        _, variables, things = everything_named(kernel)
        tables = dict(zip(things, free, strict=False)), dict(zip(variables, free, strict=False))
        own = dict(zip("mnk", reversed(free), strict=False))
        verdict = cx.verify(renamed(kernel, Names(sizes, *tables), {"D": own}))
        assert verdict, f"{pool}: {sizes} {tables} {own}\n{verdict}"


def product() -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16), ((1, 1, 1), (1, 1, 0)))
    return cx.kernel.gemm(mma, stages=0)


@pytest.mark.parametrize("kind", QUICK)
def test_a_renaming_and_its_inverse_give_the_same_kernel(kind: str) -> None:
    """What renames is itself judged: nothing but names changes."""
    for seed in range(3):
        r = random.Random(seed)
        one = anew(r, KINDS[kind](random.Random(1)))
        back = Names(*(inverse(t) for t in vars_of(one.names)))
        claims = {}
        if one.plain.computes is not None and one.other.computes is not None:
            for old, new in zip(one.plain.computes.claims, one.other.computes.claims, strict=True):
                pairs = zip(
                    (*new.indices, *summed(new.value)), (*old.indices, *summed(old.value)),
                    strict=True,
                )  # fmt: skip
                claims[new.output] = dict(pairs)
        assert renamed(one.other, back, claims) == one.plain


def vars_of(names: Names) -> tuple[dict[str, str], ...]:
    return names.sizes, names.things, names.variables


def inverse(table: dict[str, str]) -> dict[str, str]:
    assert len({*table.values()}) == len(table)
    return {new: old for old, new in table.items()}


def test_a_renamed_product_computes_what_the_plain_one_does() -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    for seed in range(5):
        one = anew(random.Random(seed), product())
        assert np.array_equal(cx.run(one.other, a, b, dtype="bf16"), a @ b)


def test_names_are_changed_inside_quotients_and_looked_up_places() -> None:
    names = Names({"M": "S"}, {"A": "B"}, {"k": "v"})
    index = Index("k") // 3 + Index.of({Looked("A", (Index("k") + Index("M"),)): 2}, 1)
    assert str(names.index(index)) == "2*B[S+v]+v/3+1"
    claim = total("k", "M", Element("A", (Index("k") // 2,)))
    assert str(names.of(claim)) == "sum(v < S, B[v/2])"
    assert Specification((Claim("A", (), names.of(claim)),)).claims[0].output == "A"
