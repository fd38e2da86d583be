"""Counterexamples of any extents: saved, read back in every form, and run."""

from __future__ import annotations

import dataclasses
import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from sampling import sampled
from small_kernels import small_kernel

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Counterexample, Fill, Kernel, Load, Map, Mma, Reorder, Slot, Store
from pycute_xe.layout import Layout, size

GRID = ((2, 2, 1), (2, 1, 0))
EPILOGUE = "relu(alpha*acc + beta*C + bias[n])"


def gemm(kind: str = "bf16", acc: str = "f32", depth: int = 32, **given: Any) -> Kernel:
    op = cx.XE_DPAS_TT(8, acc, kind)
    return cx.kernel.gemm(cx.workgroup_mma(op, (32, 64, depth), GRID), **given)


def short(kernel: Kernel) -> Kernel:
    loop = kernel.loop("k")
    return kernel.replace(loop, dataclasses.replace(loop, stop=loop.stop - 1))


def found(sizes: dict[str, int], operand: str, element: Any, index: tuple[int, ...]) -> Any:
    return Counterexample(
        "products", "one is missing", sizes, operand, element=element, output="D", index=index
    )


EXECUTORS = ("reference", "fast")
PLAIN = found({"M": 3, "N": 2, "K": 5}, "A", (1, 4), (1, 0))
KERNELS = {
    "plain": (gemm(), PLAIN),
    "s8": (gemm("s8", "s32", 64), PLAIN),
    "s8 saturated": (gemm("s8", "s32", 64, d_type="s8"), PLAIN),
    "s4": (gemm("s4", "s32", 128, b="col"), PLAIN),
    "tf32": (gemm("tf32", depth=16), PLAIN),
    "of B": (gemm(), found({"M": 3, "N": 2, "K": 5}, "B", (4, 1), (1, 1))),
    "of D": (gemm(), found({"M": 3, "N": 2, "K": 5}, "D", (1, 1), (1, 1))),
    "batch": (
        gemm(epilogue=EPILOGUE, d_type="bf16", batch=True),
        found({"L": 2, "M": 3, "N": 2, "K": 5}, "B", (1, 4, 1), (1, 2, 1)),
    ),
}


@pytest.mark.parametrize(("name", "executor"), sampled(product(KERNELS, EXECUTORS), 5))
@pytest.mark.long
def test_a_missing_product_shows_and_a_right_kernel_does_not(name: str, executor: Any) -> None:
    kernel, place = KERNELS[name]
    assert not cx.replay(kernel, place, executor).shows
    played = cx.replay(short(kernel), place, executor)
    assert played.shows
    assert played.fault is None
    told = ", ".join(map(str, place.index))
    assert str(played).startswith(f"D[{told}] is ")


@pytest.mark.parametrize("name", KERNELS)
def test_inputs_have_the_types_of_the_operands_and_are_whole(name: str) -> None:
    kernel, place = KERNELS[name]
    for variant in range(3):
        inputs = place.inputs(kernel, variant)
        assert tuple(inputs) == tuple(o.name for o in kernel.inputs)
        for array in inputs.values():
            assert np.array_equal(array.astype(float), np.rint(array.astype(float)))
        cx.run(kernel, **inputs, executor="fast")


def test_wrong_epilogues_show() -> None:
    right = gemm(epilogue=EPILOGUE)
    place = found({"M": 3, "N": 4, "K": 5}, "D", None, (1, 2))
    for wrong in ("alpha*acc + C + bias[n]", "relu(acc + beta*C + bias[n])", "alpha*acc + beta*C"):
        # The same operands in the same order, some of them without effect.
        other = gemm(epilogue=f"alpha*0 + beta*0 + C*0 + bias[n]*0 + {wrong}")
        assert other.operands == right.operands
        assert cx.replay(dataclasses.replace(other, computes=right.computes), place).shows


@pytest.mark.long
def test_statements_too_many_or_too_few_show() -> None:
    kernel = gemm()
    place = found({"M": 1, "N": 1, "K": 1}, "D", None, (0, 0))
    assert not cx.replay(kernel, place).shows
    mma = next(s for s in kernel.statements() if isinstance(s, Mma))
    load = next(s for s in kernel.statements() if isinstance(s, Load))
    assert cx.replay(kernel.replace(mma, (mma, mma)), place).shows
    assert cx.replay(kernel.replace(load, (load, Fill(load.fragment, 3))), place).shows
    store = next(s for s in kernel.statements() if isinstance(s, Store))
    gone = cx.replay(kernel.replace(store, ()), place)
    assert gone.shows
    assert np.isnan(gone.actual[0, 0])


@pytest.mark.parametrize("executor", ["reference", "fast"])
def test_a_run_that_stops_shows(executor: Any) -> None:
    kernel = gemm()
    reorder = next(s for s in kernel.statements() if isinstance(s, Reorder))
    nowhere = dataclasses.replace(reorder, slots=Layout(size(reorder.slots), 0))
    place = found({"M": 1, "N": 1, "K": 1}, "D", None, (0, 0))
    played = cx.replay(kernel.replace(reorder, nowhere), place, executor)
    assert played.shows
    assert played.fault is not None
    assert "is uninitialised" in str(played)


@pytest.mark.long
def test_an_element_of_a_vector_of_a_batch_has_inputs() -> None:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (16, 16, 16), ((1, 1, 1), (1, 1, 0)))
    kernel = cx.kernel.gemm(mma, batch=True, also={"sums[l,n]": "sum(m, acc)"})
    sizes = {"L": 3, "M": 1, "N": 1, "K": 1}
    place = Counterexample("sums", "", sizes, "sums", element=(2, 0), output="sums", index=(2, 0))
    for variant in range(4):
        inputs = place.inputs(kernel, variant)
        assert inputs["A"].shape == (3, 1, 1)
    with pytest.raises(cx.InputError, match="-1 is not the number of a variant"):
        place.inputs(kernel, -1)
    assert not cx.replay(kernel, place).shows
    (batch, count), *rest = kernel.grid
    wrong = dataclasses.replace(kernel, grid=((batch, count - 1), *rest))
    assert cx.replay(wrong, place).shows


def test_a_kernel_without_a_specification_cannot_be_replayed() -> None:
    kernel = small_kernel((Map("x", Slot("x") + 1),))
    with pytest.raises(KernelError, match="nothing is claimed"):
        cx.replay(kernel, PLAIN)


def test_files_of_before_still_load() -> None:
    old = {
        "claim": "A fragment",
        "message": "k is one too far",
        "M": 3,
        "N": 2,
        "K": 5,
        "operand": "A",
        "work_group": [0, 1],
        "k_tile": 2,
        "subgroup": 3,
        "lane": 4,
        "value": 5,
        "element": [1, 4],
        "found": None,
        "output": [1, 0],
    }
    read = Counterexample.from_json(json.dumps(old))
    assert dict(read.sizes) == {"M": 3, "N": 2, "K": 5}
    assert (read.index, read.element, read.work_item) == ((1, 0), (1, 4), 52)
    assert Counterexample.from_json(read.to_json()) == read
    assert cx.replay(short(gemm()), read).shows


@pytest.mark.long
def test_more_work_than_a_replay_does_is_refused() -> None:
    long = found({"M": 3, "N": 2, "K": 1 << 21}, "A", (1, 4), (1, 0))
    with pytest.raises(cx.InputError, match="units of work, at most 10,000,000 are"):
        cx.replay(short(gemm()), long)
