"""Address payloads that stay through a loop: made once, moved in place, where there is room."""

from __future__ import annotations

import re
from typing import Any

import pytest
from compiled_cases import filled, held_against_run, needs_compiler

import pycute_xe as cx
from pycute_xe.arch.lsc import encode_descriptor, parse
from pycute_xe.emitting.instructions import Message, Registers
from pycute_xe.emitting.payloads import planned
from pycute_xe.emitting.shared import messages
from pycute_xe.kernel import Index, Kernel, Load, Loop, Prefetch, walk

BF16 = cx.XE_DPAS_TT(8, "f32", "bf16")
TF32 = cx.XE_DPAS_TT(8, "f32", "tf32")


def gemm(op: Any, tile: tuple[int, int, int], m: int, n: int, **more: str) -> Kernel:
    return cx.kernel.gemm(cx.workgroup_mma(op, tile, ((m, n, 1), (n, 1, 0))), **more)  # pyright: ignore[reportArgumentType]


def loop_of(text: str) -> tuple[list[str], list[str]]:
    """The lines between the loop over K and the statement before it, and those of the loop."""
    before, body = text[text.index("// for 0 <= k") :].split("__attribute__", 1)
    return before.splitlines(), body[: body.index("\n  }")].splitlines()


def test_each_message_has_a_payload_that_moves_once_a_trip() -> None:
    before, body = loop_of(cx.emit(gemm(BF16, (256, 256, 32), 8, 4)))
    made = re.findall(r"XE_PAYLOAD\((\w+)", "\n".join(before))
    sent = re.findall(r"XE_(?:LOAD|PREFETCH)\(.*?(xe_payload\d+)", "\n".join(body))
    moved = re.findall(r"add \(M1_NM, 1\) (\w+)\(0,[56]\)<1> \1.* 0x20:ud", "\n".join(body))
    assert made == sent == moved
    assert len(made) == len(set(made)) == 7
    assert "_2D(" not in "\n".join(body)


def test_what_finds_no_room_shares_a_payload_that_comes_back() -> None:
    before, body = loop_of(cx.emit(gemm(TF32, (128, 128, 64), 8, 4, a="col")))
    made = re.findall(r"XE_PAYLOAD\((\w+)", "\n".join(before))
    sent = re.findall(r"XE_(?:LOAD|PREFETCH)\(.*?(xe_payload\d+)", "\n".join(body))
    assert len(made) == 4 < len(sent)
    # All that it moves in a trip is one tile of K, along the one axis or the other.
    for name in made:
        steps = re.findall(rf"{name}\(0,([56])\)<0;1,0> (0x\w+):ud", "\n".join(body))
        total = {axis: sum(int(by, 16) for at, by in steps if at == axis) % 2**32 for axis in "56"}
        assert sorted(total.values()) == [0, 64]


@needs_compiler
@pytest.mark.parametrize("b", ["row", "col"])
@pytest.mark.long
def test_binaries_whose_messages_share_payloads_run_as_the_kernel_does(b: str) -> None:
    kernel = gemm(TF32, (128, 128, 64), 8, 4, a="col", b=b)
    assert held_against_run(kernel, filled(kernel, (9, 35, 133))) == []


def test_a_place_that_does_not_follow_the_loop_evenly_keeps_its_operands() -> None:
    grid = ((1, 1, 1), (1, 1, 1))
    qk = cx.workgroup_mma(BF16, (8, 32, 16), grid)
    pv = cx.workgroup_mma(BF16, (8, 16, 32), grid)
    text = cx.emit(cx.kernel.attention(qk, pv, page=32))
    assert re.search(r"XE_LOAD_2D\(.*XE_ELEMENT_", text)
    assert "XE_PAYLOAD(xe_payload0" in text


@pytest.mark.parametrize("said", ["V1:d16.2x16x32nn", "V1:d32.1x8x16tn", "V1:d8.1x16x32nt"])
def test_the_descriptor_of_a_message_is_the_same_on_both_targets(said: str) -> None:
    message = parse(f"lsc_load_block2d.ugm (M1,1) {said} flat[V1,V2,V3,V4,V5,V6]")
    assert encode_descriptor(message, "pvc") == encode_descriptor(message, "bmg")


def walked(kernel: Kernel, taken: int, sends: tuple[int, ...]) -> int:
    """Follow the payloads of the loop over K for three trips; how many there are.

    Asserts that each message is sent from where it starts; ``sends`` are the trips in which the
    prefetches are, which stand under a condition.
    """
    registers = Registers(kernel)
    loop = next(s for s in kernel.statements() if isinstance(s, Loop) and s.var == "k")
    plan = planned(kernel, registers, loop, taken)
    copies = [s for s in walk(loop.body) if isinstance(s, (Load, Prefetch))]
    plain = [m for copy in copies for m in messages(kernel, registers, copy.access)]
    where = {each.payload: [each.x, each.y] for each in plan.before}
    for trip in range(3):
        for message, instead in zip(plain, plan.replaced, strict=True):
            if message.block.op == "prefetch" and trip not in sends:
                continue
            for each in instead:
                if isinstance(each, Message):
                    at = {"k": loop.start + trip}
                    start = [index.substitute(at) for index in (message.x, message.y)]
                    assert where[each.payload] == start
                else:
                    moved(where, each)
        for each in plan.behind:
            moved(where, each)
    return len(where)


def moved(where: dict[str, list[Index]], step: Any) -> None:
    """Do what an addition to a dword of a payload does."""
    by = step.sources[1].bits
    where[step.to.name][step.to.element - 5] += by - (by >> 31 << 32)


@pytest.mark.parametrize("sends", [(0, 1, 2), (2,)])
@pytest.mark.parametrize("b", ["row", "col"])
def test_shared_payloads_are_where_their_messages_start(b: str, sends: tuple[int, ...]) -> None:
    kernel = gemm(BF16, (32, 64, 64), 2, 1, b=b)
    assert {s.copy.messages for s in kernel.statements() if isinstance(s, Prefetch)} == {1, 2}
    alone, shared = (walked(kernel, taken, sends) for taken in (0, 19))
    assert alone > shared == 4
