"""Sizes and data of `native.compare`: what the decisions of a kernel call for."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from compiled_cases import needs_compiler
from compiled_kinds import CASES
from sampling import sampled
from text_changes import emitted  # pyright: ignore[reportMissingImports]

import pycute_xe as cx
from pycute_xe.arch import get_target
from pycute_xe.converting import convert
from pycute_xe.executing.problem import prepare
from pycute_xe.executing.runner import outputs_of
from pycute_xe.kernel import Kernel
from pycute_xe.machine import Trace
from pycute_xe.native.telling import Regime, slips, telling
from pycute_xe.numeric import as_numeric
from pycute_xe.trials.edge_sizes import edge_sizes

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
LAYERS = [
    *("softmax of long rows", "rms_norm", "layer_norm", "attention, cached keys", "rope"),
    *("attention, merging of split keys", "MQA logits", "convolution", "linear attention"),
]


@pytest.mark.parametrize("name", sampled(CASES, 6, ("delta rule",)))
def test_slips_are_kernels_that_claim_nothing(name: str) -> None:
    for _, slip in slips(CASES[name].make()[0]):
        assert slip.computes is None


@pytest.mark.parametrize("name", LAYERS)
def test_no_axis_and_no_size_stands_for_another(name: str) -> None:
    kernel = CASES[name].make()[0]
    lists = edge_sizes(kernel)
    for one, other in combinations(lists[0], 2):
        assert any(sizes[one] != sizes[other] for sizes in lists), (one, other)
    axes = [count for _, count in kernel.grid if count.names and not count.looked_up]
    for one, other in combinations(axes, 2):
        assert any(one.at(sizes) != other.at(sizes) for sizes in lists), (one, other)


def regimes_that_tell(kernel: Kernel, sizes: dict[str, int]) -> tuple[Regime, ...]:
    """What is chosen for a kernel of floats, where results that differ at all are different."""
    rng = np.random.default_rng(0)

    def attempt(kernel: Kernel, regime: Regime | None) -> dict[str, np.ndarray]:
        inputs = {}
        for o in kernel.inputs:
            shape = tuple(mode.at(sizes) for mode in o.modes)
            drawn = regime and regime.draw(o.name, o.value_type, shape, rng)
            inputs[o.name] = rng.standard_normal(shape) if drawn is None else drawn
        named = {name: size for name, size in sizes.items() if name in kernel.sizes}
        rounded = {o.name: convert(inputs[o.name], o.value_type) for o in kernel.inputs}
        problem = prepare(kernel, (), rounded | named, None)
        with np.errstate(all="ignore"):
            return dict(outputs_of(problem, get_target("pvc"), Trace(), "reference"))

    def differing(
        expected: dict[str, np.ndarray], there: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        return {n: ~np.isclose(x, there[n], rtol=1e-3, atol=0) for n, x in expected.items()}

    state = rng.bit_generator.state

    def repeated(kernel: Kernel, regime: Regime | None) -> dict[str, np.ndarray]:
        rng.bit_generator.state = state  # the same numbers for a kernel and its slips
        return attempt(kernel, regime)

    return telling(kernel, repeated, differing)


def test_a_mask_is_shown_by_rows_far_below_zero() -> None:
    found = regimes_that_tell(cx.kernel.softmax_rows(), {"M": 16, "N": 47})
    assert Regime("far", "", -200) in found


def test_eps_is_shown_by_rows_of_zeros() -> None:
    assert Regime("zeros") in regimes_that_tell(cx.kernel.rms_norm(64), {"M": 16})


def test_the_guard_of_a_quotient_is_shown_by_parts_without_elements() -> None:
    kernel = CASES["attention, merging of split keys"].make()[0]
    found = regimes_that_tell(kernel, {"B": 1, "H": 1, "M": 15, "E": 15})
    assert Regime("empty", "lse") in found


def test_a_product_alone_calls_for_no_other_data() -> None:
    kernel = cx.kernel.gemm(MMA)
    assert [*slips(kernel)] == []
    assert regimes_that_tell(kernel, {"M": 31, "N": 63, "K": 40}) == ()


def test_data_stay_within_a_type() -> None:
    rng = np.random.default_rng(0)
    for kind, least in (("s8", -128), ("u8", 0), ("f8e4m3", -448), ("f16", -65504)):
        drawn = Regime("far", "", -(2.0**127)).draw("X", as_numeric(kind), (4,), rng)
        assert drawn is not None
        assert drawn.min() == least


SWAPPED = {"get_group_id(0)": "get_group_id(1)", "get_group_id(1)": "get_group_id(0)"}
SLIPS: dict[str, tuple[str, dict[str, str]]] = {
    "axes of the grid": ("two products at once", SWAPPED),
    "a mask, one more": ("softmax of long rows", {"N - 16 * i, cmp.lt": "N - 16 * i, cmp.le"}),
    "a mask that leaves 0": ("softmax of long rows", {"0xff800000:f": "0x0:f"}),
    "eps left out": ("rms_norm", {"0x358637bd:f": "0x0:f"}),
    "a quotient without a guard": (
        "attention, merging of split keys",
        {" 0x3f800000:f);": " 0x0:f);"},
    ),
    "axes of a gather": ("pages gathered", SWAPPED),
}


@needs_compiler
@pytest.mark.parametrize("name", sampled(SLIPS, 2))
@pytest.mark.long
def test_a_text_that_decides_otherwise_is_noticed(name: str) -> None:
    kind, changes = SLIPS[name]
    kernel = CASES[kind].make()[0]
    pattern = "|".join(map(re.escape, changes))
    text = re.sub(pattern, lambda match: changes[match[0]], cx.emit(kernel))
    assert text != cx.emit(kernel)
    with emitted(text):
        answer = cx.native.compare(kernel)
    assert answer.differences, str(answer)
    assert not answer
