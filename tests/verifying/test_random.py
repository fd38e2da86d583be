"""Random kernels: right ones are proved, and bent ones judged as walking them judges."""

from __future__ import annotations

import dataclasses

import pytest
from broken_kernels import find
from enumerator import smaller, wrong_elements
from hypothesis import assume, given, settings, strategies as st

import pycute_xe as cx
from pycute_xe.algebra.compose import flat_modes, from_modes
from pycute_xe.atom import TiledCopy, TiledMma
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel, Load, Store

orders = st.sampled_from(["row", "col"])


@st.composite
def tilings(draw: st.DrawFn, most: int) -> TiledMma:
    """Work-group tiles over grids of subgroups, numbered along either mode."""
    op = cx.XE_DPAS_TT(draw(st.sampled_from([4, 8])), "f32", draw(st.sampled_from(["bf16", "f16"])))
    m, n = draw(st.integers(1, most)), draw(st.integers(1, most))
    repeat = [draw(st.integers(1, most)) for _ in range(2)] + [draw(st.integers(1, 4))]
    tile = (op.M * m * repeat[0], 16 * n * repeat[1], 16 * repeat[2])
    strides = draw(st.sampled_from([(n, 1, 0), (1, m, 0)]))
    return cx.workgroup_mma(op, tile=tile, subgroups=((m, n, 1), strides))


def built(mma: TiledMma, a: str, b: str) -> Kernel:
    """The kernel of a tiling, where there is one."""
    try:
        return cx.kernel.gemm(mma, a=a, b=b)
    except CuteError:
        assume(False)
        raise


@settings(max_examples=settings().max_examples // 4)
@given(tilings(8), orders, orders)
@pytest.mark.long
def test_random_tiles_and_grids_are_proved(mma, a, b):
    verdict = cx.verify(built(mma, a, b))
    assert verdict, str(verdict)


@st.composite
def bent(draw: st.DrawFn, copy: TiledCopy) -> TiledCopy:
    """A copy whose subgroups or messages start elsewhere: strides exchanged, repeated, dropped."""
    threads, values = copy.layout_tv_tiled
    lanes, subgroups = (
        cx.composition(threads, cx.Layout(n, d)) for n, d in ((16, 1), (copy.num_subgroups, 16))
    )
    inner, messages = (
        cx.composition(values, cx.Layout(n, d))
        for n, d in ((copy.atom.values, 1), (copy.messages, copy.atom.values))
    )
    modes = [*flat_modes(subgroups), *flat_modes(messages)]
    i, j = (draw(st.integers(0, len(modes) - 1)) for _ in range(2))
    new = list(modes)
    new[i] = (modes[i][0], draw(st.sampled_from([0, modes[j][1], 2 * modes[i][1]])))
    if draw(st.booleans()):
        new[j] = (modes[j][0], modes[i][1])
    count = len(flat_modes(subgroups))
    tv = cx.make_layout(
        cx.make_layout(lanes, from_modes(new[:count])),
        cx.make_layout(inner, from_modes(new[count:])),
    )
    return dataclasses.replace(copy, layout_tv_tiled=tv)


@st.composite
def bent_kernels(draw: st.DrawFn) -> Kernel:
    """A small kernel with one copy bent."""
    gemm = built(draw(tilings(2)), draw(orders), draw(orders))
    kind, operand = draw(st.sampled_from([(Load, "A"), (Load, "B"), (Store, "D")]))
    statement = find(gemm, kind, operand)
    try:
        changed = dataclasses.replace(statement, copy=draw(bent(statement.copy)))
        assume(changed != statement and changed.copy.anchors)
        return gemm.replace(statement, changed)
    except CuteError:
        assume(False)
        raise


@settings(max_examples=settings().max_examples // 4)
@given(bent_kernels(), st.tuples(*[st.integers(1, 70)] * 3))
@pytest.mark.long
def test_a_bent_kernel_is_judged_as_it_runs(kernel, sizes):
    verdict = cx.verify(kernel)
    # What no machine executes is not walked either.
    assume(all(proof for proof in verdict.proofs if proof.property == "bounds"))
    assume(verdict.answer != "undecided")
    found = verdict.counterexample
    if found is None:
        for problem in ((1, 1, 1), sizes, kernel.mma.tile_mnk):
            assert not wrong_elements(kernel, *problem), problem
        return
    problem = found.sizes["M"], found.sizes["N"], found.sizes["K"]
    race = "more than once" in found.message or "twice" in found.message
    assert race or found.index in wrong_elements(kernel, *problem), str(found)
    before = list(smaller(*problem))
    for problem in before[:: 1 + len(before) // 12]:
        assert not wrong_elements(kernel, *problem), (problem, str(found))
