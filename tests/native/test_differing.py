"""What differences are called: traces and values made by hand, without a compiler."""

from __future__ import annotations

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.arch import Block2D, Surface
from pycute_xe.converting import convert
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel
from pycute_xe.machine import Memory, Trace, block2d
from pycute_xe.machine.trace import BoundsFault, DeadlockFault, RaceFault, Reach, UnwrittenFault
from pycute_xe.native.diagnosing import Wrong, diagnosed
from pycute_xe.native.differing import KINDS, fault, joined, of_traces

TALL = Block2D("prefetch", 16, 16, 16)
LOW = Block2D("prefetch", 16, 8, 16)


def sent(*messages: tuple[Block2D, int, int], pitch: int = 64, rows: int = 40) -> Trace:
    """A trace of prefetches of one surface at (x, y)."""
    memory, trace = Memory(), Trace(keep=True)
    surface = Surface(memory.alloc(8192), 64, rows, pitch)
    for message, x, y in messages:
        block2d.prefetch(memory, message, surface, x, y, trace)
    return trace


def kinds(expected: Trace, executed: Trace, ended: bool = True) -> list[str]:
    return [one.kind for one in of_traces(expected, executed, lambda _at: "A", ended)]


USUAL = (TALL, 0, 0), (TALL, 16, 0), (TALL, 0, 32)


@pytest.mark.parametrize(
    ("executed", "named"),
    [
        (sent(*USUAL), []),
        (sent(*reversed(USUAL)), []),
        (sent(*USUAL[1:], (LOW, 0, 0)), ["block shape"]),
        (sent(*USUAL[1:], (TALL, 0, 1)), ["offset"]),
        (sent(*USUAL[1:]), ["count"]),
        (sent(*USUAL, USUAL[0]), ["count"]),
        (sent(*USUAL, pitch=80), ["stride"]),
        (sent(*USUAL, rows=39), ["remainder"]),
    ],
)
def test_messages_are_named_by_what_they_do_otherwise(executed: Trace, named: list[str]) -> None:
    assert kinds(sent(*USUAL), executed) == named


def test_one_message_may_stand_for_two_of_the_same_bytes_and_not_two_for_one() -> None:
    two, one = sent((LOW, 0, 0), (LOW, 0, 8)), sent((TALL, 0, 0))
    assert kinds(two, one) == []
    assert joined(two, one) == ["1 prefetch messages touch the bytes of 2"]
    assert "block shape" in kinds(one, two)
    assert joined(one, one) == []
    assert kinds(two, sent((TALL, 0, 16))) != []


def test_of_a_run_that_was_refused_only_what_is_too_much_is_named() -> None:
    assert kinds(sent(*USUAL), sent(USUAL[0]), ended=False) == []
    assert kinds(sent(*USUAL), sent(USUAL[0], (TALL, 0, 3)), ended=False) == ["offset"]


def test_barriers_dpas_and_shared_bytes_are_counted() -> None:
    def trace(dpas: str, barriers: int, at: int) -> Trace:
        out = Trace(keep=True)
        out.instruction(dpas)
        out.message("shared store", "a store", 2, np.array([at, at + 1]))
        for _ in range(barriers):
            out.barrier()
        return out

    usual = trace("dpas.s8.s8.8.8", 2, 0)
    assert kinds(usual, trace("dpas.s8.s8.8.8", 2, 0)) == []
    assert kinds(usual, trace("dpas.s8.s8.8.8", 1, 0)) == ["barriers"]
    assert kinds(usual, trace("dpas.u8.s8.8.8", 2, 0)) == ["sign"]
    assert kinds(usual, trace("dpas.bf.bf.8.8", 2, 0)) == ["precision"]
    assert kinds(usual, trace("dpas.s8.s8.8.8", 2, 1)) == ["shared memory"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RaceFault("run", {}, "two threads write"), "barriers"),
        (DeadlockFault("run", {}, "thread 1 never arrives"), "barriers"),
        (BoundsFault("Slm.read", {}, "beyond"), "shared memory"),
        (UnwrittenFault("Slm.read", {}, "never written"), "shared memory"),
        (UnwrittenFault("read", {}, "byte 3 is uninitialised"), "lanes"),
        (cx.MachineError("memory", {}, "not inside one allocation"), "offset"),
        (cx.MachineError("native.run", {}, "the thread does not end"), "count"),
        (cx.LegalityError("Block2D", {}, "too wide"), "block shape"),
    ],
)
def test_what_the_machine_refuses_is_a_difference(error: CuteError, kind: str) -> None:
    named = fault(error)
    assert named.kind == kind
    assert named.kind in KINDS
    assert named.words == error.condition


# ------------------------------------------------------------ values


def gemm(epilogue: str | None = None, d_type: str = "f32") -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, epilogue=epilogue, d_type=d_type)


def named(expected: np.ndarray, got: np.ndarray, d_type: str = "f32") -> tuple[str, str]:
    """What wrong values of D are called, where nothing is computed again."""

    def again(_kernel: Kernel, _operands: object) -> dict[str, np.ndarray]:
        raise cx.KernelError("run", {}, "nothing is run")

    wrong = [Wrong("D", cx.as_numeric(d_type), expected, got, expected != got)]
    one = diagnosed(gemm(d_type=d_type), {n: np.ones((2, 2)) for n in "AB"}, wrong, again)
    return one.kind, one.words


RIGHT = np.random.default_rng(5).standard_normal((32, 64)).astype(np.float32)


def test_values_are_named_by_what_explains_all_that_are_wrong() -> None:
    half, one, other = RIGHT.copy(), RIGHT.copy(), RIGHT.copy()
    half[3, 8:16] = half[9, 40:48] = 7
    one[5, :16], other[5] = one[5, 2], -other[5]
    assert named(RIGHT, half)[0] == "lanes"
    assert named(RIGHT, half)[1].endswith("all in lanes 8 to 15 of 16 along mode 1")
    assert named(RIGHT, one)[0] == "lanes"
    assert named(RIGHT, other)[0] == "sign"
    short = (RIGHT.view(np.uint32) & 0xFFFF0000).view(np.float32)
    assert named(RIGHT, short)[0] == "precision"
    assert named(RIGHT, short)[1].endswith("each has 8 bits at most")
    near = convert(RIGHT, "bf16")
    down = convert(short, "bf16")
    assert named(near, down, "bf16")[0] == "rounding"
    assert named(RIGHT, RIGHT + np.float32(1e-4) * RIGHT[::-1])[0] == "precision"
    assert named(RIGHT, RIGHT[::-1].copy())[0] == "values"


def test_a_sign_is_that_of_the_operand_with_which_the_kernel_gives_what_is_there() -> None:
    kernel, rng = gemm("acc + bias[n]"), np.random.default_rng(2)
    given = {
        "A": convert(rng.standard_normal((4, 8)), "bf16"),
        "B": convert(rng.standard_normal((8, 40)), "bf16"),
        "bias": rng.standard_normal(40).astype(np.float32),
    }

    def again(other: Kernel, operands: object) -> dict[str, np.ndarray]:
        return {"D": cx.run(other, **operands)}  # pyright: ignore[reportCallIssue]

    expected = again(kernel, given)["D"]
    got = expected.copy()
    got[2] = again(kernel, given | {"bias": -given["bias"]})["D"][2]
    one = diagnosed(
        kernel, given, [Wrong("D", cx.as_numeric("f32"), expected, got, expected != got)], again
    )
    assert (one.kind, one.where) == ("sign", "D[2, 0]")
    assert "with bias negated" in one.words


def test_a_reach_is_what_lies_inside_of_a_surface() -> None:
    surface = Surface(1000, 64, 10, 80)
    assert block2d.reach(TALL, surface, 24, 4) == Reach(1000 + 320 + 48, 16, 6, 80, 1368)
    assert block2d.reach(TALL, surface, 0, 9) == Reach(1720, 32, 1, 0, 1720)
    assert block2d.reach(TALL, surface, 0, 10) == Reach(1800, 0, 0, 0, 1800)
