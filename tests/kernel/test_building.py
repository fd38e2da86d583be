"""Kernels from nothing: each is proved, run and emitted; each slip is refused at its line."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from broken_kernels import tiled_mma

import pycute_xe as cx
from pycute_xe.converting import convert
from pycute_xe.errors import CuteError, InputError, KernelError
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Kernel,
    KernelBuilder,
    Map,
    Share,
    Slot,
    Tiles,
)

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import own_kernel  # noqa: E402
from gallery import relu, slm_by_hand  # noqa: E402

MMA = tiled_mma((32, 64, 32), (2, 2))
BF16 = cx.bulk.numpy_dtype("bf16")
SIZES = {"M": 70, "N": 48, "K": 40}


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


WANTED: dict[str, Callable[..., np.ndarray]] = {
    "relu": lambda A: np.maximum(A, 0),
    "matrix_sum": lambda A, B: 2 * A + B,
    "row_sums": lambda A, B, R: R + (A @ B).sum(1),
    "row_softmax": lambda X: softmax(X),
    "slm_by_hand": lambda A, B: A @ B,
}


@pytest.mark.parametrize("make", own_kernel.KERNELS)
@pytest.mark.long
def test_a_kernel_from_nothing(make: Callable[[], Kernel]) -> None:
    assert len(inspect.getsource(make).splitlines()) <= 25
    kernel, rng = make(), np.random.default_rng(0)
    shapes = {o.name: tuple(mode.at(SIZES) for mode in o.modes) for o in kernel.inputs}
    given = {name: rng.integers(-3, 4, shape) for name, shape in shapes.items()}
    types = {o.name: cx.bulk.numpy_dtype(o.value_type.name) for o in kernel.inputs}
    wanted = WANTED[kernel.name](**{name: x.astype(np.float64) for name, x in given.items()})
    for executor in ("fast", "reference"):
        inputs = {name: x.astype(types[name]) for name, x in given.items()}
        out = cx.run(kernel, **inputs, executor=executor)
        np.testing.assert_allclose(out, wanted, rtol=1e-6, atol=1e-7)
    assert cx.check(kernel, "bmg")
    assert cx.verify(kernel), str(cx.verify(kernel))
    assert kernel.name in cx.emit(kernel, "opencl")
    assert "load_block2d" in cx.emit(kernel, "visa")


def test_the_examples_need_public_names_alone() -> None:
    for make in own_kernel.KERNELS:
        source = Path(inspect.getfile(make)).read_text(encoding="utf-8")
        imports = [x for x in source.splitlines() if x.startswith(("import", "from"))]
        assert {x.split()[1] for x in imports} <= {"__future__", "pycute_xe", "pycute_xe.kernel"}


def test_the_listing_has_the_order_of_the_lines() -> None:
    verbs = [line.split()[0] for line in str(slm_by_hand.kernel()).splitlines()[6:]]
    assert " ".join(verbs) == (
        "fill for copy copy share share fence barrier barrier share share mma copy"
    )


def test_what_is_written_wrong_is_disproved() -> None:
    kernel = relu.kernel()
    found = cx.verify(kernel.replace(kernel.body[1], Map("y", Slot("x"))))
    assert found.answer == "disproved"


# ------------------------------------------------------------------ more than the example


@pytest.mark.long
def test_an_operand_in_another_type_is_converted_and_reordered() -> None:
    k = KernelBuilder("mixed", MMA)
    A, B = k.input("A", "bf16", ("M", "K"), "col"), k.input("B", "s8", ("K", "N"))
    bias, D = k.input("bias", "f32", ("N",)), k.output("D", "bf16", ("M", "N"), "col")
    k.input("alpha", "f32")
    m, n = k.grid(m=Tiles("M", 32), n=Tiles("N", 64))
    k.fill("acc", Share(MMA, "C"))
    with k.loop("k", 0, Tiles("K", 32)) as i:
        k.load("a", A, Share(MMA, "A"), at=(m * 32, i * 32))
        k.load("b", B, Share(MMA, "B"), at=(i * 32, n * 64))
        k.mma("acc", "a", "b")
    k.load("add", bias, k.columns("acc"), at=n * 64)
    k.map("acc", "relu(alpha*acc + add)")
    k.convert("out", "acc", "bf16")
    k.store(D, "out", at=(m * 32, n * 64))
    kernel = k.build("D[m,n] = bf16(relu(alpha*sum(k, A[m,k]*B[k,n], f32) + bias[n]))")
    assert cx.verify(kernel), str(cx.verify(kernel))
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-3, 4, shape) for shape in ((37, 40), (40, 70), (70,)))
    given = {"A": a.astype(BF16), "B": b.astype(np.int8), "bias": c.astype(np.float32)}
    for executor in ("fast", "reference"):
        out = cx.run(kernel, **given, alpha=2.0, executor=executor)
        np.testing.assert_array_equal(out, np.maximum(2 * (a @ b) + c, 0).astype(BF16))


def test_rows_of_other_subgroups_meet_in_shared_memory() -> None:
    """The maximum of rows that two subgroups share, by two parts of an array."""
    k = KernelBuilder("peaks", 2)
    X, D = k.input("X", "f32", ("M", 32)), k.output("D", "f32", ("M", 32))
    (m,) = k.grid(m=Tiles("M", 32))
    k.shared("s", "f32", (32, 32))
    k.load("x", X, k.parts((32, 32), (1, 2)), at=(m * 32, 0))
    k.share("s", "x")
    k.fence()
    k.barrier()
    k.take("y", "s", k.parts((32, 32), (2, 1)))
    k.reduce("top", "max", "y", axis=1)
    k.map("z", "y - top")
    k.store(D, "z", at=(m * 32, 0))
    kernel = k.build("D[m,n] = X[m,n] - max(j, X[m,j])")
    assert cx.verify(kernel), str(cx.verify(kernel))
    x = np.random.default_rng(0).standard_normal((21, 32)).astype(np.float32)
    for executor in ("fast", "reference"):
        out = cx.run(kernel, x, executor=executor)
        np.testing.assert_array_equal(out, x - x.max(1, keepdims=True))


def test_statements_of_any_kind_are_added() -> None:
    k = KernelBuilder("added", 4)
    A, D = k.input("A", "f32", ("M", "N")), k.output("D", "f32", ("M", "N"))
    m, n = k.grid(m=Tiles("M", 32), n=Tiles("N", 64))
    k.load("x", A, (32, 64), at=(m * 32, n * 64))
    k.add(BarrierArrive(), BarrierWait())
    k.store(D, "x", at=(m * 32, n * 64))
    assert cx.verify(k.build("D[m,n] = A[m,n]"))


# ------------------------------------------------------------------ slips


def begun() -> KernelBuilder:
    k = KernelBuilder("slip", MMA)
    k.input("A", "bf16", ("M", "K"))
    k.input("B", "bf16", ("K", "N"))
    k.input("alpha", "f32")
    k.output("D", "bf16", ("M", "N"))
    k.grid(m=Tiles("M", 32), n=Tiles("N", 64))
    k.shared("s", "bf16", (64, 32))
    return k


def loaded() -> KernelBuilder:
    k = begun()
    k.fill("acc", Share(MMA, "C"))
    k.load("a", "A", Share(MMA, "A"), at=("m", 0))
    k.load("b", "B", Share(MMA, "B"), at=(0, "n"))
    return k


def wrong_type(k: KernelBuilder) -> None:
    k.fill("acc", Share(MMA, "C"))
    k.store("D", "acc", at=("m", "n"))  # slip
    k.build()


def unwritten(k: KernelBuilder) -> None:
    with k.when(k.subgroup < 2):
        k.load("x", "A", (32, 64), at=("m", 0))
    k.map("y", "relu(x)")  # slip
    k.store("D", "y", at=("m", "n"))


def unknown_fragment(k: KernelBuilder) -> None:
    k.load("x", "A", (32, 64), at=("m", 0))
    k.map("y", "relu(z)")  # slip
    k.store("D", "y", at=("m", "n"))


def unknown_operand(k: KernelBuilder) -> None:
    k.load("x", "C", (32, 64), at=("m", 0))  # slip


def unknown_function(k: KernelBuilder) -> None:
    k.load("x", "A", (32, 64), at=("m", 0))
    k.map("y", "cube(x)")  # slip


def tile_in_unequal_parts(k: KernelBuilder) -> None:
    k.load("x", "A", (33, 63), at=("m", 0))  # slip


def tile_smaller_than_a_message(k: KernelBuilder) -> None:
    k.load("x", "A", (30, 20), at=("m", 0))  # slip


def tiles_of_two_sizes(k: KernelBuilder) -> None:
    k.load("x", "A", (32, 64), at=("m", 0))
    k.load("y", "A", (64, 64), at=("m", 0))
    k.map("z", "x + y")  # slip


def half_a_barrier(k: KernelBuilder) -> None:
    with k.loop("k", 0, Tiles("K", 32)):  # slip
        k.arrive()
    k.wait()


def waiting_without_arriving(k: KernelBuilder) -> None:
    k.wait()  # slip


def barrier_of_some(k: KernelBuilder) -> None:
    with k.when(k.subgroup < 2):  # slip
        k.barrier()


def wrong_role(k: KernelBuilder) -> None:
    k.fill("acc", Share(MMA, "C"))
    k.load("a", "A", Share(MMA, "A"), at=("m", 0))
    k.load("b", "B", Share(MMA, "B"), at=(0, "n"))
    k.mma("acc", "b", "a")  # slip


def name_twice(k: KernelBuilder) -> None:
    k.output("A", "bf16", ("M", "N"))  # slip


def fragment_like_an_operand(k: KernelBuilder) -> None:
    k.load("A", "A", (32, 64), at=("m", 0))  # slip


def variable_twice(k: KernelBuilder) -> None:
    with k.loop("m", 0, 4):  # slip
        pass


def fragment_of_two_types(k: KernelBuilder) -> None:
    k.load("x", "A", (32, 64), at=("m", 0))
    k.fill("x", (32, 64))  # slip


def index_out_of_its_loop(k: KernelBuilder) -> None:
    with k.loop("k", 0, Tiles("K", 32)) as i:
        k.load("x", "A", (32, 64), at=("m", i * 32))
    k.load("y", "A", (32, 64), at=("m", i * 32))  # slip


def condition_of_python(k: KernelBuilder) -> None:
    with k.loop("k", 0, 8) as i:
        if i < 4:  # slip
            k.fence()


def condition_without_comparison(k: KernelBuilder) -> None:
    with k.loop("k", 0, 8) as i, k.when(i):  # type: ignore[arg-type] # slip
        k.fence()


def output_that_is_read(k: KernelBuilder) -> None:
    k.load("x", "D", (32, 64), at=("m", "n"))  # slip


def input_that_is_written(k: KernelBuilder) -> None:
    k.load("x", "A", (32, 64), at=("m", 0))
    k.store("A", "x", at=("m", 0))  # slip


def index_too_few(k: KernelBuilder) -> None:
    k.load("x", "A", (32, 64), at=("m",))  # slip


def element_in_a_map(k: KernelBuilder) -> None:
    k.load("x", "A", (32, 64), at=("m", 0))
    k.map("y", "x + A[m,n]")  # slip


def sum_in_a_map(k: KernelBuilder) -> None:
    k.load("x", "A", (32, 64), at=("m", 0))
    k.map("y", "sum(i < 4, x)")  # slip


def array_of_another_tile(k: KernelBuilder) -> None:
    k.load("x", "A", (32, 64), at=("m", 0))
    k.share("s", "x")  # slip


def unknown_array(k: KernelBuilder) -> None:
    k.take("x", "t", (64, 32))  # slip


def claim_of_an_unknown_name(k: KernelBuilder) -> None:
    k.computes("D[m,n] = relu(X[m,n])")  # slip


def claim_of_unbound_index(k: KernelBuilder) -> None:
    k.computes("D[m,n] = A[m,k]")  # slip


def claim_without_an_extent(k: KernelBuilder) -> None:
    k.computes("D[m,n] = sum(i, A[m,i+i])")  # slip


def rows_that_fill_no_register(k: KernelBuilder) -> None:
    k.load("x", "A", k.parts((32, 64), (4, 1)), at=("m", 0))
    k.reduce("r", "max", "x", axis=1)  # slip


def parts_for_others(k: KernelBuilder) -> None:
    k.load("x", "A", k.parts((32, 64), (8, 1)), at=("m", 0))  # slip


def without_use(k: KernelBuilder) -> None:
    k.load("x", "A", (32, 64), at=("m", 0))
    k.build("D[m,n] = sum(k, A[m,k])")  # slip


SLIPS: dict[Callable[[KernelBuilder], None], str] = {
    wrong_type: "acc holds f32, D is of bf16",
    unwritten: "x is read before it is written, on some path",
    unknown_fragment: "the name z is unknown",
    unknown_operand: "there is no operand C",
    unknown_function: "is not a known function",
    tile_in_unequal_parts: "4 subgroups cannot take equal parts of a tile of 33 x 63",
    tile_smaller_than_a_message: "no message moves 1 x 2 of it",
    tiles_of_two_sizes: "a subgroup does not have the elements of x",
    half_a_barrier: "a half of a barrier is inside a loop or condition",
    waiting_without_arriving: "a subgroup waits at a barrier it has not arrived at",
    barrier_of_some: "some subgroups meet at a barrier that others never reach",
    wrong_role: "b is spread as B of its MMA, not as A of 32x64x32",
    name_twice: "the name A is bound twice",
    fragment_like_an_operand: "the name A is bound twice",
    variable_twice: "the name m is bound twice",
    fragment_of_two_types: r"x is x bf16\[32\], the statement fills x f32\[32\]",
    index_out_of_its_loop: "no loop binds k",
    condition_of_python: "k < 4 has no truth value before a run",
    condition_without_comparison: "Index is not a condition on indices",
    output_that_is_read: "D is an output, the statement reads it",
    input_that_is_written: "A is an input, the statement writes it",
    index_too_few: "A has 2 modes, the copy begins at 1 indices",
    element_in_a_map: "A.m,n. lies in memory",
    sum_in_a_map: "is of many elements",
    array_of_another_tile: r"x is a tile of \(32, 64\), s holds one of \(64, 32\)",
    unknown_array: "there is no shared array t",
    claim_of_an_unknown_name: "X is not an operand",
    claim_of_unbound_index: "the name k is unknown",
    claim_without_an_extent: "nothing says how far it runs",
    rows_that_fill_no_register: "each subgroup has 8 rows",
    parts_for_others: "8 x 1 parts are for 8 subgroups, the kernel has 4",
    without_use: "x is never used",
}


@contextmanager
def refused_at_its_line(slip: Callable[[KernelBuilder], None], words: str) -> Iterator[None]:
    lines, first = inspect.getsourcelines(slip)
    with pytest.raises(CuteError, match=words) as info:
        yield
    here = [x for x in traceback.extract_tb(info.value.__traceback__) if x.name == slip.__name__]
    wanted = first + next(i for i, line in enumerate(lines) if "# slip" in line)
    assert [x.lineno for x in here] == [wanted]
    assert "Way out: " in str(info.value)


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.__name__)
def test_a_slip_is_refused_at_its_line(slip: Callable[[KernelBuilder], None]) -> None:
    k = begun()
    with refused_at_its_line(slip, SLIPS[slip]):
        slip(k)


def test_a_kernel_without_the_slip_goes_on() -> None:
    """A refused line leaves nothing behind: the right one may follow."""
    k = loaded()
    wrong = (
        lambda: k.mma("acc", "b", "a"),
        lambda: k.output("A", "f32", ("M",)),
        lambda: k.load("c", "A", Share(MMA, "A"), at=("m", "z")),
        lambda: k.load("c", "A", Share(MMA, "A"), at=("m", 0, 0)),
    )
    for slip in wrong:
        with pytest.raises(KernelError):
            slip()
    k.load("c", "B", Share(MMA, "B"), at=(0, "n"))
    k.mma("acc", "a", "b")
    assert [type(s).__name__ for s in k.so_far][-1] == "Mma"


def half_written(k: KernelBuilder, *, slip: bool) -> None:
    with k.loop("k", 0, 4):
        k.load("x", "A", (32, 64), at=("m", "k"))
        k.arrive()
        if slip:
            k.map("y", "relu(z)")


@pytest.mark.parametrize("slip", [False, True])
def test_a_refused_block_leaves_nothing_behind(slip: bool) -> None:
    k = loaded()
    before = k.so_far
    with pytest.raises(KernelError):
        half_written(k, slip=slip)
    assert k.so_far == before
    with k.loop("k", 0, 4):
        k.load("x", "B", (64, 64), at=("k", "n"))
    assert len(k.so_far) == len(before) + 2


def test_a_number_of_subgroups_is_known() -> None:
    with pytest.raises(InputError, match="name is text, and a number of subgroups or a tiled MMA"):
        KernelBuilder("relu", cx.symbol("m"))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("into", ["s4", "u4"])
@pytest.mark.parametrize("loads", [False, True])
def test_tiles_of_4_bits_come_in_parts(into: str, loads: bool) -> None:
    kinds = (into, "bf16") if loads else ("bf16", into)
    k = KernelBuilder("narrow", 4)
    X, D = k.input("X", kinds[0], ("M", "N")), k.output("D", kinds[1], ("M", "N"))
    m, n = k.grid(m=Tiles("M", 32), n=Tiles("N", 32))
    k.load("x", X, k.parts((32, 32), (2, 2)), at=(m * 32, n * 32))
    k.convert("y", "x", kinds[1])
    k.store(D, "y", at=(m * 32, n * 32))
    kernel = k.build("D[m,n] = X[m,n]" if loads else f"D[m,n] = {into}(X[m,n])")
    low, high = (-8, 7) if into == "s4" else (0, 15)
    x = np.random.default_rng(0).integers(low, high + 1, (35, 65)).astype(np.float32)
    for executor in ("fast", "reference"):
        found = cx.run(kernel, convert(x, kinds[0]), executor=executor)
        assert (np.asarray(found).astype(float) == x).all()
    assert cx.verify(kernel).answer == "proved"
