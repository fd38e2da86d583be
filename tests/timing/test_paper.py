"""Clocks that can be counted on paper with the rows of `atoms/timing.toml`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pycute_xe.errors import CuteError
from pycute_xe.native import Timing, timing

ADD = "(W) add (16|M0) r{0}.0<1>:d r{0}.0<1;1,0>:d 1:w"
WIDE = "(W) add (32|M0) r{0}.0<1>:d r{0}.0<1;1,0>:d 1:w"
ONE = "(W) add (1|M0) r{0}.0<1>:d r{0}.0<0;1,0>:d 1:w"
MUL = "(W) mul (16|M0) r{0}.0<1>:f r{0}.0<1;1,0>:f r1.0<1;1,0>:f"
MATH = "(W) math.inv (16|M0) r{0}.0<1>:f r{0}.0<1;1,0>:f"
CMP = "(W) cmp (16|M0) (lt)f0.0 null<1>:d r1.0<0;1,0>:d r2.0<0;1,0>:d"
SCALAR = "(W) mov (1|M0) s0.0<1>:ud r1.0<0;1,0>:ud"
DPAS = "dpas.8x{1} (16|M0) r{0}:f r{0}:f r100:bf r120.0:bf"
LOAD = "send.ugm (1|M0) r10 r20 null:0 0x0 0x02100203 {$0}"
NOP = "sync.nop null"
ARRIVE = "send.gtwy (1|M0) null r3 null:0 0x0 0x02000004 {$3}"
BAR = "(W) sync.bar 0x0"


def code(*lines: str) -> str:
    """Lines, each with another register where it asks for one."""
    return "\n".join(line.format(10 + i, 8) for i, line in enumerate(lines))


def with_waits(line: str, waits: str) -> str:
    """A line with dependences, of which braces are doubled against formatting."""
    return f"{line} {{{{{waits}}}}}"


def braces(line: str) -> str:
    return line.replace("{$", "{{$").replace("}", "}}") if "{$" in line else line


LOADED, ARRIVED = braces(LOAD), braces(ARRIVE)

CASES = [
    ("one", [ADD], 1, 1, "bmg", {}),
    ("independent", [ADD] * 7, 1, 7, "bmg", {}),
    ("32 lanes", [WIDE] * 5, 1, 10, "bmg", {}),
    ("chain of 3", [ADD, *[with_waits(ADD, "I@1")] * 2], 1, 23, "bmg", {}),
    ("chain of one lane", [ONE, *[with_waits(ONE, "I@1")] * 4], 1, 41, "bmg", {}),
    ("two back", [ADD, ADD, with_waits(ADD, "I@2")], 1, 12, "bmg", {}),
    ("three back", [ADD, ADD, ADD, with_waits(ADD, "I@3")], 1, 12, "bmg", {}),
    ("own pipe", [ADD, with_waits(ADD, "@1")], 1, 12, "bmg", {}),
    ("float", [MUL, with_waits(ADD, "F@1")], 1, 12, "bmg", {}),
    ("another pipe", [MUL, ADD, with_waits(ADD, "F@1")], 1, 12, "bmg", {}),
    ("all pipes", [MUL, ADD, with_waits(ADD, "A@1")], 1, 13, "bmg", {}),
    ("32 lanes waited for", [WIDE, with_waits(ADD, "I@1")], 1, 14, "bmg", {}),
    ("a scalar", [SCALAR, ADD, with_waits(ADD, "S@1")], 1, 11, "ptl", {}),
    ("math", [MATH, with_waits(ADD, "M@1")], 1, 22, "bmg", {}),
    ("math keeps its pipe", [MATH, MATH], 1, 8, "bmg", {}),
    ("a flag", [CMP, with_waits(ADD, "I@1")], 1, 17, "bmg", {}),
    ("dpas", [DPAS], 1, 16, "bmg", {}),
    ("dpas of 4 rows", [DPAS.replace("{1}", "4")], 1, 8, "bmg", {}),
    ("dpas of 1 row", [DPAS.replace("{1}", "1")], 1, 2, "bmg", {}),
    ("two dpas", [DPAS, DPAS], 1, 32, "bmg", {}),
    ("dpas on pvc", [DPAS, DPAS], 1, 16, "pvc", {}),
    ("dpas waited for", [with_waits(DPAS, "$0"), with_waits(NOP, "$0.dst")], 1, 34, "bmg", {}),
    ("dpas waited for on pvc", [with_waits(DPAS, "$0"), with_waits(NOP, "$0.dst")], 1, 30, "pvc",
     {}),
    ("a run", [with_waits(DPAS, "Atomic")] * 3 + [DPAS], 1, 64, "bmg", {}),
    # The eighth engine's message is taken at 8, keeps the unit a clock, and needs 200.
    ("a load", [LOADED, with_waits(NOP, "$0.dst")], 1, 210, "bmg", {}),
    ("a load from L1", [LOADED, with_waits(NOP, "$0.dst")], 1, 55, "bmg", {"level": "l1"}),
    ("sources read", [LOADED, with_waits(ONE, "$0.src")], 1, 10, "bmg", {}),
    ("all written", [LOADED, "sync.allwr null"], 1, 210, "bmg", {}),
    ("all read", [LOADED, "sync.allrd null"], 1, 10, "bmg", {}),
    ("a token is busy", [LOADED, LOADED], 1, 210, "bmg", {}),
    ("two threads share a pipe", [ADD] * 6, 2, 12, "bmg", {}),
    ("two threads of dpas", [DPAS], 2, 32, "bmg", {}),
    ("a latency is hidden", [ADD, with_waits(ADD, "I@1")], 4, 15, "bmg", {}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
@pytest.mark.whole
def test_clocks_are_those_counted_on_paper(case: tuple[str, list[str], int, int, str, Any]) -> None:
    _, lines, threads, expected, target, more = case
    assert timing(code(*lines), target, threads, **more).most == expected


def test_a_barrier_of_two_threads() -> None:
    # They arrive at 0 and 1; 30 later both go on, at once or one after the other.
    out = timing(code(ARRIVED, BAR), "bmg", 2, group=2)
    assert {out.least, out.most} <= {32, 33}


def test_a_loop() -> None:
    # An instruction, a jump, 23 clocks until the next.
    out = timing(f"L0:\n{ADD.format(5)}\n(W&f0.0) jmpi L0", "bmg", 1)
    assert (out.least, out.most, out.loop) == (24, 24, (0, 1))


def test_a_loop_in_a_loop() -> None:
    text = f"L0:\n{ADD.format(5)}\nL1:\n{ADD.format(6)}\n(W&f0.0) jmpi L1\n(W&f0.1) jmpi L0"
    assert timing(text, "bmg", 1, trips=8).loop == (1, 2)


def test_no_pipe_is_faster_than_its_rate() -> None:
    # Threads that go first run trips ahead; four of them need the pipe 16 clocks each in a trip.
    text = f"L0:\n{DPAS.format(40, 8)} {{$1}}\n(W&f0.0) jmpi L0"
    assert timing(text, "bmg").least == 64


# ------------------------------------------------------------ laws

WAITS = ("I@1", "F@1", "A@1", "I@3", "$0.dst", "$0.src", "M@1")
LINES = st.lists(
    st.sampled_from(
        [ADD, WIDE, MUL, MATH, CMP, DPAS, LOADED, *(with_waits(ADD, w) for w in WAITS)]
    ),
    min_size=1,
    max_size=20,
)


@given(LINES, st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_states_sum_and_pipes_are_not_overused(lines: list[str], threads: int) -> None:
    out = timing(code(*lines), "bmg", threads)
    assert all(abs(sum(states) - out.cycles) < 1e-6 for states in out.states)
    assert all(0 <= share <= 1 for _, share in out.pipes)
    assert sum(each.started for each in out.instructions) == len(lines) * threads * 8


@given(LINES, st.sampled_from(["alu", "l2_hit", "math", "arf", "dpas_row", "send_read"]))
@settings(max_examples=25, deadline=None)
def test_more_latency_is_never_faster_for_one_thread(lines: list[str], name: str) -> None:
    before = timing(code(*lines), "bmg", 1)
    value = next(v for key, v, *_ in before.figures if key == name)
    assert timing(code(*lines), "bmg", 1, figures={name: value + 3}).cycles >= before.cycles


@given(LINES)
@settings(max_examples=25, deadline=None)
def test_without_waits_one_thread_is_never_slower(lines: list[str]) -> None:
    free = [line.partition(" {{")[0] for line in lines]
    assert timing(code(*free), "bmg", 1).cycles <= timing(code(*lines), "bmg", 1).cycles


@pytest.mark.parametrize(
    ("text", "target", "words"),
    [
        ("(W) frobnicate (1|M0) r1 r2", "bmg", "the instruction frobnicate of line 1 is unknown"),
        ("", "bmg", "the text has no instruction"),
        ("(W) add (1|M0) r1.0<1>:d r2 1:w {Q@1}", "bmg", "the dependence 'Q@1'"),
        ("(W) jmpi L9", "bmg", "the label 'L9'"),
        ("nop", "dg2", "dg2"),
        ("(W) add (3|M0) r1 r2", "bmg", "add of line 1 has 3 lanes"),
        ("dpas.8x9 (16|M0) r3:f r3:f r1 r2", "bmg", "does not say its depth and rows"),
        ("send", "bmg", "send of line 1 does not say where it goes"),
        (ADD.format(1) + " {I@0}", "bmg", "the dependence 'I@0' of line 1 is unknown"),
    ],
)
def test_refusals_name_what_is_wrong(text: str, target: str, words: str) -> None:
    with pytest.raises(CuteError, match=words.replace("(", r"\(")):
        timing(text, target)


@pytest.mark.parametrize(
    "given",
    [
        {"trips": -1},
        {"gains": -1},
        {"group": -4},
        {"level": "l9"},
        {"threads": True},
        {"trips": "x"},
    ],
    ids=str,
)
def test_bad_counts_get_one_clear_line(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(CuteError, match=f"timing\\({name}=") as raised:
        timing(ADD.format(1), "bmg", **given)
    assert "\n" not in str(raised.value)


def test_the_report_is_text_json_and_a_drawing() -> None:
    out = timing(f"L0:\n{ADD.format(5)}\n(W&f0.0) jmpi L0", "bmg", 2)
    assert isinstance(out, Timing)
    assert "clocks a trip on bmg" in str(out)
    assert "not modelled: register banks" in str(out)
    assert '"least"' in out.to_json()
    assert out.scene.panels[0].cells
