"""On kernels that are wrong the fast executor gives what the reference gives, faults included."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sampling import EXAMPLES, sampled

import pycute_xe as cx
from pycute_xe.arch import get_target
from pycute_xe.errors import KernelError, MachineError, UndecidableError
from pycute_xe.executing import launch, runner as fast
from pycute_xe.executing.arrays.plans import run_on_arrays
from pycute_xe.executing.problem import prepare
from pycute_xe.kernel import (
    Fill,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Mma,
    Reorder,
    Statement,
    Store,
    gemm,
)
from pycute_xe.machine import Trace
from pycute_xe.machine.trace import RaceFault

BF16 = ml_dtypes.bfloat16
SIZES = {"M": 20, "N": 24, "K": 40}


def small(**given: Any) -> Kernel:
    op = cx.XE_DPAS_TT(8, given.pop("acc", "f32"), "bf16")
    return gemm(cx.workgroup_mma(op, (16, 32, 32), ((2, 2, 1), (2, 1, 0))), **given)


def changed(statement: Statement) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    """A statement left out, doubled, bent, or put under another loop or condition."""
    yield "left out", ()
    yield "twice", (statement, statement)
    yield "looped", (Loop("z", 0, 2, (statement,)),)
    yield "first group only", (If(Index("m"), Index(None, 1), (statement,)),)
    yield "some subgroups", (If(Index("subgroup"), Index(None, 2), (statement,)),)
    if isinstance(statement, Loop):
        yield "short", (dataclasses.replace(statement, stop=statement.stop - 1),)
        yield "late", (dataclasses.replace(statement, start=Index(None, 1)),)
        yield "by group", (dataclasses.replace(statement, start=Index("m")),)
        yield "by subgroup", (dataclasses.replace(statement, stop=Index("subgroup", 1)),)
    if isinstance(statement, (Load, Store)):
        *rest, last = statement.at
        bent = {
            "swapped": statement.at[::-1],
            "ahead": (*rest, last + 32),
            "before": (*(i - 8 for i in rest), last - 16),
            "odd": tuple(i + 1 for i in statement.at),
        }
        yield from ((n, (dataclasses.replace(statement, at=at),)) for n, at in bent.items())
    if isinstance(statement, Reorder):
        count = cx.size(statement.slots)
        yield (
            "reversed",
            (dataclasses.replace(statement, slots=cx.Layout((2, count // 2), (count // 2, 1))),),
        )
        yield "halved", (dataclasses.replace(statement, slots=cx.Layout((2, count // 2), (0, 2))),)
    if isinstance(statement, Fill):
        yield "filled", (dataclasses.replace(statement, value=3.0),)
    if isinstance(statement, Map):
        yield "mapped", (dataclasses.replace(statement, value=statement.value * 2 + 1),)
    if isinstance(statement, Mma):
        yield "unfilled", (Fill(statement.accumulator, 1.0), statement)


KERNELS = {
    "plain": {},
    "columns": {"a": "col", "b": "col", "d": "col"},
    "epilogue": {"epilogue": "relu(acc + bias[n]) + C", "d_type": "bf16", "b": "col"},
    "narrow": {"acc": "bf16", "a": "col"},
}


def variants() -> Iterator[tuple[str, tuple[Kernel, Statement, tuple[Statement, ...]]]]:
    for title, parts in KERNELS.items():
        kernel = small(**parts)
        for number, statement in enumerate(kernel.statements()):
            for name, by in changed(statement):
                called = f"{title}-{number}-{type(statement).__name__}-{name}"
                yield called, (kernel, statement, by)


@cache
def built(name: str) -> Kernel | None:
    """The changed kernel, or none where construction refuses it."""
    kernel, statement, by = CASES[name]
    try:
        return kernel.replace(statement, by)
    except KernelError:
        return None


def outcomes(kernel: Kernel, sizes: dict[str, int] = SIZES) -> list[dict[str, Any] | None]:
    """What the reference executor and the fast one give; None for a fault.

    Races in global memory, which the reference alone looks for, are left out.
    """
    rng = np.random.default_rng(7)
    operands = [
        rng.integers(-4, 5, [m.at(sizes) for m in o.modes]).astype(
            BF16 if o.name in "AB" else np.float32
        )
        for o in kernel.inputs
    ]
    problem, target = prepare(kernel, tuple(operands), {}, None), get_target("bmg")
    ways = (
        lambda: launch.execute(kernel, problem, target, Trace()),
        lambda: fast.execute(kernel, problem, target, Trace()),
    )
    found: list[dict[str, Any] | None] = []
    for way in ways:
        try:
            found.append(way())
        except RaceFault:
            return []
        except (KernelError, MachineError):
            found.append(None)
    return found


def agree(kernel: Kernel, sizes: dict[str, int] = SIZES) -> bool:
    """Check that all give the same; return whether it is a fault."""
    found = outcomes(kernel, sizes)
    if not found:
        return False
    slow, *others = found
    for quick in others:
        assert (quick is None) == (slow is None)
        for name in slow or ():
            assert slow is not None
            assert quick is not None
            assert slow[name].dtype == quick[name].dtype
            assert np.array_equal(slow[name], quick[name], equal_nan=True), name
    return slow is None


CASES = dict(variants())
SOME = sampled(CASES, 60)


def on_arrays(kernel: Kernel) -> bool:
    """Whether whole arrays give what a kernel does."""
    given = [np.zeros([m.at(SIZES) for m in o.modes], BF16) for o in kernel.inputs]
    given = [
        x if o.name in "AB" else x.astype("f4") for x, o in zip(given, kernel.inputs, strict=True)
    ]
    try:
        run_on_arrays(prepare(kernel, tuple(given), {}, None))
    except UndecidableError:
        return False
    return True


@pytest.mark.long
def test_some_wrong_kernels_fault_and_some_are_products_still() -> None:
    kernels = [kernel for name in SOME if (kernel := built(name))]
    plans = [on_arrays(kernel) for kernel in kernels]
    assert 9 < sum(plans) < len(plans) - 3
    assert 30 < len(kernels) < len(SOME)


@pytest.mark.parametrize("name", sampled(SOME, 30))
def test_fast_gives_what_the_reference_gives(name: str) -> None:
    kernel = built(name)
    if kernel is not None:  # else refused, as few are
        agree(kernel)


@settings(
    max_examples=min(12, EXAMPLES // 2), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    st.sampled_from(sorted(CASES)),
    st.integers(0, 2**16),
    st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 70)),
)
def test_fast_gives_what_the_reference_gives_for_two_mistakes(
    name: str, choice: int, extents: tuple[int, int, int]
) -> None:
    kernel = built(name)
    if kernel is None:
        return
    statements = [s for s in kernel.statements() for _ in changed(s)]
    changes = [by for s in kernel.statements() for _, by in changed(s)]
    try:
        kernel = kernel.replace(statements[choice % len(changes)], changes[choice % len(changes)])
    except KernelError:
        return
    agree(kernel, dict(zip("MNK", extents, strict=True)))


@pytest.mark.parametrize("groups", [0, 1, 2, 3])
def test_a_grid_of_too_few_or_too_many_work_groups(groups: int) -> None:
    kernel = small()
    cut = dataclasses.replace(kernel, grid=(kernel.grid[0], ("n", Index(None, groups))))
    agree(cut, SIZES | {"N": 40})


def _loads(kernel: Kernel, at: dict[str, Any]) -> Kernel:
    """The kernel with the first indices of loads changed, operand by operand; it claims nothing."""
    out = dataclasses.replace(kernel, computes=None)
    for load in [s for s in kernel.statements() if isinstance(s, Load) and s.operand in at]:
        out = out.replace(load, dataclasses.replace(load, at=tuple(at[load.operand](*load.at))))
    return out


BACKWARDS = {"k": Index(None, 1) - Index("k")}
ROWS_MOVE = {"A": lambda m, k: (m + 8 * Index("k"), k)}
IN_TURN = {
    "A": lambda m, k: (m, k.substitute(BACKWARDS)),
    "B": lambda k, n: (k.substitute(BACKWARDS), n),
}


def _of_two_depths() -> Kernel:
    kernel = dataclasses.replace(small(stages=0), computes=None)
    operands = tuple(
        dataclasses.replace(o, modes=(Index("J"), Index("N"))) if o.name == "B" else o
        for o in kernel.operands
    )
    return dataclasses.replace(kernel, operands=operands)


@pytest.mark.parametrize(
    ("made", "sizes"),
    [
        (lambda: _of_two_depths(), SIZES | {"J": 20}),
        (lambda: _of_two_depths(), SIZES | {"J": 64}),
        (lambda: _loads(small(stages=0), ROWS_MOVE), SIZES),
        (lambda: _loads(small(stages=0, acc="bf16"), IN_TURN), SIZES),
        (lambda: small(stages=0, transform_a="A - za[m]", transform_b="B - zb[n]"), SIZES),
    ],
    ids=["a shorter B", "a longer B", "rows move with k", "backwards", "zeros are shifted"],
)
def test_what_looks_like_a_product_is_what_the_reference_gives(
    made: Any, sizes: dict[str, int]
) -> None:
    assert not agree(made(), sizes)
