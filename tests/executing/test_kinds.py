"""Every kind of statement on the machine, each alone, against what NumPy says it should do."""

from __future__ import annotations

import dataclasses
from math import erf, exp
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from every import every
from small_kernels import (
    COLUMNS,
    ROWS,
    TILE,
    fragment,
    load_of,
    shared_array,
    small_kernel,
    store_of,
)

import pycute_xe as cx
from pycute_xe.errors import KernelError, MachineError
from pycute_xe.executing.reference import DOES
from pycute_xe.kernel import (
    AtomicStore,
    BarrierArrive,
    BarrierWait,
    Convert,
    Element,
    Fence,
    Fill,
    Fragment,
    If,
    Index,
    Kernel,
    Loop,
    Map,
    Operand,
    Reduce,
    Reorder,
    SharedLoad,
    SharedStore,
    Slot,
    Statement,
    Touched,
    apply,
    rounded_to,
)
from pycute_xe.kernel.spec.expression import Where, as_expression
from pycute_xe.layout import Layout
from pycute_xe.machine.trace import BoundsFault, RaceFault, UnwrittenFault

X = TILE.astype(np.float32) - 50
EXECUTORS = ("reference", "fast")


def run(kernel: Kernel, *given: Any, executor: Any = "reference", **named: Any) -> Any:
    return cx.run(kernel, *given, executor=executor, **named)


def y(name: str = "y", kind: str = "f32", slots: int = 8) -> tuple[Fragment, ...]:
    return (fragment(name, kind, slots),)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_load_and_a_store_clip_at_the_edges(executor: Any) -> None:
    kernel = small_kernel(())
    for shape in ((8, 16), (3, 5), (8, 1), (1, 16)):
        given = X[: shape[0], : shape[1]]
        assert np.array_equal(run(kernel, given, executor=executor), given)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_is_not_stored_is_poison(executor: Any) -> None:
    big = np.ones((10, 20), np.float32)
    out = run(small_kernel(()), big, executor=executor)
    assert (out[:8, :16] == 1).all()
    assert np.isnan(out[8:]).all()
    assert np.isnan(out[:, 16:]).all()
    whole = run(small_kernel((), kinds=("s32", "s32")), big.astype(np.int32), executor=executor)
    assert (whole[8:] == -1).all()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_fill(executor: Any) -> None:
    out = run(small_kernel((Fill("x", 2.5),)), X, executor=executor)
    assert (out == 2.5).all()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_reorder_moves_element_i_to_slots_i(executor: Any) -> None:
    turned = Layout((COLUMNS, ROWS), (ROWS, 1))
    out = run(small_kernel((Reorder("x", "y", turned),), y(), "y"), X, executor=executor)
    assert np.array_equal(out.reshape(-1), X.T.reshape(-1))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_reorder_onto_itself_reads_before_it_writes(executor: Any) -> None:
    turned = Layout((COLUMNS, ROWS), (ROWS, 1))
    out = run(small_kernel((Reorder("x", "x", turned),)), X, executor=executor)
    assert np.array_equal(out.reshape(-1), X.T.reshape(-1))


def test_what_a_reorder_does_not_reach_is_uninitialised() -> None:
    # All elements land on the first half.
    kernel = small_kernel((Fill("y"), Reorder("x", "y", Layout(128, 0))), y(), "y")
    with pytest.raises(MachineError, match=r"byte 4 .* is uninitialised"):
        run(small_kernel((Reorder("x", "x", Layout(128, 0)),)), X)
    with pytest.raises(MachineError, match="is uninitialised"):
        run(kernel, X)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_convert_rounds_to_nearest_even_and_saturates(executor: Any) -> None:
    x = np.zeros((8, 16), np.float32)
    x[0, :8] = [2.5, 3.5, -2.5, 300, -300, np.nan, np.inf, 0.49]
    kernel = small_kernel((Convert("x", "y"),), y(kind="s8"), "y", ("f32", "s8"))
    out = run(kernel, x, executor=executor)
    assert out.dtype == np.int8
    assert out[0, :8].tolist() == [2, 4, -2, 127, -128, 0, 127, 0]
    narrow = small_kernel((Convert("x", "y"),), y(kind="s8"), "y", ("s32", "s8"))
    whole = np.full((8, 16), 1000, np.int32)
    whole[0, :3] = [-1000, 5, -128]
    assert run(narrow, whole, executor=executor)[0, :4].tolist() == [-128, 5, -128, 127]
    half = small_kernel((Convert("x", "y"),), y(kind="bf16"), "y", ("f32", "bf16"))
    x[0, :3] = [1 + 2.0**-8, 1 + 3 * 2.0**-8, 3.4e38]
    assert run(half, x, executor=executor)[0, :3].tolist() == [1.0, 1 + 2.0**-6, np.inf]


MAPS = {
    "relu": (apply("relu", Slot("x")), lambda x: np.maximum(x, 0)),
    "scaled": (Slot("x") * 3 - 1, lambda x: x * 3 - 1),
    "clamp": (apply("clamp", Slot("x"), -2.0, 3.0), lambda x: np.clip(x, -2, 3)),
    "sigmoid": (apply("sigmoid", Slot("x")), lambda x: [1 / (1 + exp(-v)) for v in x]),
    "tanh": (apply("tanh", Slot("x")), np.tanh),
    "gelu": (apply("gelu", Slot("x")), lambda x: [v * (1 + erf(v / 2**0.5)) / 2 for v in x]),
    "silu": (apply("silu", Slot("x")), lambda x: [v / (1 + exp(-v)) for v in x]),
    "rounded": (
        rounded_to("bf16", Slot("x")) + 0.0,
        lambda x: np.asarray(x, np.float32).astype(ml_dtypes.bfloat16).astype(np.float64),
    ),
}


@every("executor", EXECUTORS)
@every("name", MAPS)
def test_maps_compute_their_expression(name: str, executor: Any) -> None:
    value, wanted = MAPS[name]
    x = (X / 7).astype(np.float32)
    out = run(small_kernel((Map("x", value),)), x, executor=executor)
    exact = np.asarray(wanted(x.astype(np.float64).reshape(-1)))
    np.testing.assert_allclose(out.reshape(-1), exact, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_map_gathers_and_takes_scalars(executor: Any) -> None:
    # The first row is added to every row, then all is scaled.
    by_row = Layout((COLUMNS, ROWS), (1, 0))
    value = Element("alpha") * (Slot("x") + Slot("row"))
    middle = (Reorder("x", "row", Layout(128)), Map("y", value, (("row", by_row),)))
    fragments = (*y("row"), *y())
    kernel = small_kernel(middle, fragments, "y", scalars=(Operand("alpha", "f32", ()),))
    out = run(kernel, X, alpha=0.5, executor=executor)
    assert np.array_equal(out, (X + X[0]) / 2)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_integer_maps_wrap_around(executor: Any) -> None:
    kernel = small_kernel((Map("x", Slot("x") * Slot("x")),), kinds=("s32", "s32"))
    x = np.full((8, 16), 2**16 + 1, np.int32)
    assert (run(kernel, x, executor=executor) == 2**17 + 1).all()
    half = small_kernel((Map("x", Slot("x") * 0.5),), kinds=("s32", "s32"))
    with pytest.raises(KernelError, match="may be a fraction"):
        run(half, x, executor=executor)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_where_chooses_by_index(executor: Any) -> None:
    value = Where(Index("i"), Index(None, 2), as_expression(10), Slot("x") + 1)
    loop = Loop("i", Index(), Index(None, 4), (Map("x", value),))
    assert (run(small_kernel((loop,)), X, executor=executor) == 12).all()


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("how", "wanted"), [("sum", np.sum), ("max", np.max)])
def test_reduce_gathers_columns(how: Any, wanted: Any, executor: Any) -> None:
    # Element 16 * row + column goes into the number of its column, and from there to every row.
    by_column = Layout((COLUMNS, ROWS), (1, 0))
    middle = (Reduce(how, "x", "r", by_column), Map("y", Slot("r") + 0, (("r", by_column),)))
    kernel = small_kernel(middle, (*y("r", slots=1), *y()), "y")
    out = run(kernel, X, executor=executor)
    assert np.array_equal(out, np.broadcast_to(wanted(X, axis=0), X.shape))


def test_what_a_reduce_does_not_reach_is_uninitialised() -> None:
    middle = (Reduce("sum", "x", "y", Layout((COLUMNS, ROWS), (1, 0))),)
    with pytest.raises(MachineError, match="is uninitialised"):
        run(small_kernel(middle, y(), "y"), X)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_loops_and_conditions(executor: Any) -> None:
    inner = If(Index("i"), Index("j"), (Map("x", Slot("x") + 1),))
    loop = Loop("j", Index(), Index(None, 4), (Loop("i", Index(), Index("j") + 1, (inner,)),))
    assert np.array_equal(run(small_kernel((loop,)), X, executor=executor), X + 6)


def test_atomics_add_in_the_type_of_the_operand() -> None:
    operands = (Operand("X", "f32", ("M", "N")), Operand("Y", "f32", ("M", "N"), role="inout"))
    store = store_of("Y", "x")
    add = AtomicStore(store.copy, "Y", store.at, "x")
    grid = (("g", Index(None, 3)),)
    body = (load_of("X", "x"), add)
    kernel = Kernel("adding", 1, operands, (fragment("x", "f32", 8),), grid, body)
    for shape in ((8, 16), (5, 7), (11, 30)):
        x = np.resize(X, shape).astype(np.float32)
        before = np.full(shape, 1000, np.float32)
        out, report = run(kernel, x, before, report=True)
        wanted = before.copy()
        wanted[:8, :16] += 3 * x[:8, :16]
        assert np.array_equal(out, wanted)
        assert (before == 1000).all()
        assert report.messages["atomic"] == 3
    whole = Kernel(
        "adding",
        1,
        (Operand("X", "s32", ("M", "N")), Operand("Y", "s32", ("M", "N"), role="inout")),
        (fragment("x", "s32", 8),),
        grid,
        (load_of("X", "x", "s32"), dataclasses.replace(add, copy=store_of("Y", "x", "s32").copy)),
    )
    most = np.full((8, 16), 2**31 - 1, np.int32)
    assert (run(whole, most, np.zeros((8, 16), np.int32)) == 2**31 - 3).all()


# ---------------------------------------------------------------- shared memory and barriers


def exchanging(*middle: Statement, elements: int = 256) -> Kernel:
    """Two subgroups: each writes its number to shared memory and stores what it reads there."""
    store = store_of("Y", "y")
    both = Layout(((16, 2), 8), ((16, 8), 1))
    copy = cx.make_tiled_copy(store.copy.atom, both, (16, 16))
    number = Where(Index("subgroup"), Index(None, 1), as_expression(1), as_expression(2))
    body = (
        Map("x", number),
        SharedStore("x", "s", Layout((2, 128), (128, 1))),
        *middle,
        dataclasses.replace(store, copy=copy),
    )
    operands = (Operand("Y", "f32", ("M", "N"), role="out"),)
    fragments = (fragment("x", "f32", 8), fragment("y", "f32", 8))
    shared = (shared_array("s", "f32", elements),)
    return Kernel("exchange", 2, operands, fragments, (("g", Index(None, 1)),), body, None, shared)


MEET = (Fence(), BarrierArrive(), BarrierWait())
# Subgroup 0 reads what 1 wrote, and the reverse.
CROSS = SharedLoad("s", "y", Layout((2, 128), (0, 1)), Index(None, 128) - Index("subgroup") * 128)


def test_shared_memory_needs_a_barrier_between() -> None:
    out, report = run(exchanging(*MEET, CROSS), M=16, N=16, report=True)
    assert (out[:8] == 2).all()
    assert (out[8:] == 1).all()
    assert report.messages["shared store"] == report.messages["shared load"] == 2
    assert report.bytes["shared store"] == report.bytes["shared load"] == 1024
    assert report.barriers == 1
    with pytest.raises(RaceFault):
        run(exchanging(CROSS), M=16, N=16)


def test_shared_memory_out_of_bounds_or_unwritten_is_a_fault() -> None:
    far = dataclasses.replace(CROSS, at=Index(None, 129))
    with pytest.raises(BoundsFault, match="there are 256"):
        run(exchanging(*MEET, far), M=16, N=16)
    beyond = dataclasses.replace(CROSS, at=Index(None, 256))
    with pytest.raises(UnwrittenFault):
        run(exchanging(*MEET, beyond, elements=512), M=16, N=16)


# ---------------------------------------------------------------- tables


class Doubling(Statement):
    """A kind that nobody knows."""

    @property
    def touched(self) -> Touched:
        return Touched(reads=("x",))


def test_a_foreign_kind_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from pycute_xe.kernel.ir.checks import FITS

    FITS.of(Doubling)(lambda kernel, statement: None)
    try:
        kernel = small_kernel((Doubling(),))
        for executor in EXECUTORS:
            with pytest.raises(KernelError, match="Doubling"):
                run(kernel, X, executor=executor)
    finally:
        FITS.without(Doubling)


def test_the_table_knows_every_kind() -> None:
    named = (getattr(cx.kernel, name) for name in cx.kernel.__all__)
    kinds = {k for k in named if isinstance(k, type) and issubclass(k, Statement)} - {Statement}
    assert set(DOES) == kinds
