"""Text that is not a layout, and layouts that do not fit, are refused by one clear sentence."""

from __future__ import annotations

import re
from random import Random
from typing import Any, cast

import pytest

import pycute_xe as cx
from pycute_xe.dialects import Distributed, XeGpuLayout, convert, layout_of, parse
from pycute_xe.errors import CuteError

DPAS = (
    "#ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, "
    "threadsPerWarp = 16, warpsPerCTA = [2, 1], repCluster = [1, 2]}>"
)
BLOCKED = (
    "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 8], warpsPerCTA = [2, 1], "
    "order = [1, 0]}>"
)
LINEAR = "#ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = [], block = []}>"
LOAD = (
    "#ttig.subgroup_2d_block<{warpsPerCTA = [8, 4], instrShape = [32, 16], numBlocks = 2, "
    "order = [1, 0], kWidth = 2, threadsPerWarp = 16}>"
)
XEGPU = (
    "#xegpu.layout<sg_layout = [2, 1], sg_data = [8, 16], lane_layout = [1, 16], "
    "lane_data = [1, 1]>"
)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "an attribute"),
        ("ttg.linear", "an attribute"),
        ("#ttg.linear", "has no fields"),
        ("#dot", "alias that the text does not define"),
        (BLOCKED[:-1], "'>' expected, not the end"),
        (BLOCKED + " x", "the end expected"),
        ("#ttg.nvidia_mma<{versionMajor = 2}>", "not a layout that can be read"),
        ("#ttg.bloked<{order = [0]}>", "use #ttg.blocked"),
        (BLOCKED.replace("order", "ordre"), "it lacks order"),
        (BLOCKED.replace("order", "foo = 1, order"), "foo is not a field"),
        (BLOCKED.replace("order", "order = [0, 1], order"), "another key than order"),
        (BLOCKED.replace("[1, 0]", "[1, 1]"), "order cannot be"),
        (BLOCKED.replace("[1, 0]", "[0]"), "differ in rank"),
        (BLOCKED.replace("[1, 0]", "1"), "order = 1"),
        (BLOCKED.replace("[1, 4]", "[1, 3]"), "size_per_thread cannot be"),
        (BLOCKED.replace("[1, 4]", "[1, -4]"), "sizePerThread ="),
        (BLOCKED.replace("[2, 8]", "[64, 64]"), "warps_per_cta cannot be"),
        (BLOCKED.replace("order", "CTAsPerCGA = [2, 1], order"), "work-groups, which Xe has not"),
        (BLOCKED.replace("[1, 4]", "[1, 99999999999]"), "at most 9 digits"),
        (LINEAR.replace("[[0, 1]]", "[[0, 1], 3]"), "not a coordinate"),
        (LINEAR.replace("[[0, 1]]", "[[0, 1, 0]]"), "2 and 3 entries"),
        (LINEAR.replace("[[0, 1]]", "[[0, 2]]"), "no owner"),
        (LINEAR.replace("block = []", "block = [[2, 0]]"), "block shares"),
        (LINEAR.replace("lane", "thread"), "it lacks lane"),
        ("#ttg.linear<{register = [], lane = [], warp = []}>", "bases cannot be empty"),
        (f"#ttg.linear<{{register = {'[' * 200}", "at most 100 levels"),
        (DPAS.replace("repeatCount = 8", "repeatCount = 3"), "repeat_count cannot be 3"),
        (DPAS.replace("systolicDepth = 8", "systolicDepth = 4"), "systolic_depth cannot be 4"),
        (DPAS.replace("opsPerChan = 2", "opsPerChan = 8"), "ops_per_chan cannot be 8"),
        (DPAS.replace("threadsPerWarp = 16", "threadsPerWarp = 8"), "threads_per_warp cannot be 8"),
        (DPAS.replace("repCluster = [1, 2]", "repCluster = [1, 1, 2]"), "as many sizes"),
        (DPAS.replace("}>", ", C = [8, 16]}>"), "C = [8, 16], but the other fields make it"),
        (DPAS.replace("}>", ", fp4KPack = 2}>"), "fp4KPack"),
        (f"#ttg.dot_op<{{opIdx = 2, parent = {DPAS}, kWidth = 1}}>", "opIdx = 2"),
        (f"#ttg.dot_op<{{opIdx = 0, parent = {DPAS}, kWidth = 2}}>", "write kWidth = 1"),
        (f"#ttg.dot_op<{{opIdx = 1, parent = {DPAS}}}>", "write kWidth = 2"),
        (f"#ttg.dot_op<{{opIdx = 0, parent = {LINEAR}}}>", "its parent is Linear"),
        ("#ttg.dot_op<{opIdx = 0, parent = 3}>", "give an attribute"),
        (f"#ttg.slice<{{dim = 2, parent = {DPAS}}}>", "dim cannot be 2"),
        (LOAD.replace("[32, 16]", "[32, 16, 1]"), "two powers of two"),
        (LOAD.replace("kWidth = 2", "kWidth = 3"), "k_width cannot be 3"),
        (LOAD.replace("PerWarp = 16", "PerWarp = 32"), "threads_per_warp cannot be 32"),
        (XEGPU.replace("sg_layout = [2, 1], ", ""), "sg_data stands without sg_layout"),
        (XEGPU.replace(", lane_data = [1, 1]", ""), "need each other"),
        (XEGPU.replace("[8, 16]", "[8]"), "has another rank"),
        (XEGPU.replace("[8, 16]", "[8, 0]"), "sg_data cannot be [8, 0]"),
        ("#xegpu.layout<order = [0, 1]>", "it lacks sg_layout"),
        ("#xegpu.layout<inst_data = [8, 16], order = [0, 1]>", "order stands without a grid"),
        (XEGPU.replace(">", ", order = [0, 2]>"), "order cannot be"),
        (f"#xegpu.slice<{XEGPU}, dims = [2]>", "dims cannot be [2]"),
        (f"#xegpu.slice<{XEGPU}, dims = [0, 1]>", "no dimension remains"),
        (f"#xegpu.slice<{DPAS}, dims = [0]>", "its parent is"),
    ],
)
def test_malformed_text_is_refused(text: str, words: str) -> None:
    with pytest.raises(CuteError, match=re.escape(words)) as refused:
        parse(text)
    assert "\n" not in str(refused.value)
    assert refused.value.fix


@pytest.mark.parametrize(
    ("text", "shape", "words"),
    [
        (DPAS, (32, 33), "extent 33 is not a power of two"),
        (DPAS, (32,), "rank 1, and the encoding rank 2"),
        (DPAS, (0, 32), "extent 0 is not"),
        (XEGPU, (32, 32, 32), "rank 3, and the layout rank 2"),
        (XEGPU, (20, 32), "do not go round 20 evenly"),
        (XEGPU, (-16, 32), "not a tensor's shape"),
        (XEGPU.replace("lane_l", "inst_data = [3, 16], lane_l"), (16, 32), "do not divide"),
        ("#xegpu.layout<sg_layout = [3, 1]>", (16, 32), "do not divide 16 elements"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(text: str, shape: tuple[int, ...], words: str) -> None:
    with pytest.raises(CuteError, match=re.escape(words)):
        layout_of(text, shape)


def test_an_instruction_that_does_not_fill_the_lanes_is_refused() -> None:
    wide = DPAS.replace("threadsPerWarp = 16", "threadsPerWarp = 32")
    thin = wide.replace("repeatCount = 8", "repeatCount = 2").replace(
        "opsPerChan = 2", "opsPerChan = 1"
    )
    with pytest.raises(CuteError, match="A of one instruction has 16 units for 32 lanes"):
        layout_of("#ttg.dot_op<{opIdx = 0, parent = #p, kWidth = 1}>", (32, 32), {"p": thin})


def test_types_that_do_not_fill_a_channel_are_refused() -> None:
    """Triton refuses a product of f32 under opsPerChan = 2 likewise."""
    tensor = layout_of(DPAS, (32, 32))
    operand = layout_of("#ttg.dot_op<{opIdx = 0, parent = #p, kWidth = 1}>", (32, 32), {"p": DPAS})
    with pytest.raises(CuteError, match="opsPerChan = 2 of dst takes 16-bit types, not f32"):
        convert(tensor, operand, "f32")
    assert convert(operand, tensor).dtype.bits == 16
    assert convert(tensor, tensor).dtype.bits == 32


def test_conversions_between_what_differs_are_refused() -> None:
    tensor = layout_of(DPAS, (32, 32))
    for text, shape, words in (
        (DPAS, (32, 64), "dimension 1 has extent 32 in src and 64 in dst"),
        (DPAS.replace("= 16, w", "= 32, w"), (32, 32), "16 lanes, dst 32"),
        (DPAS.replace("[2, 1]", "[1, 1]"), (32, 32), "2 subgroups, dst 1"),
        (f"#ttg.slice<{{dim = 0, parent = {DPAS}}}>", (32,), "src has rank 2, dst rank 1"),
    ):
        with pytest.raises(CuteError, match=re.escape(words)):
            convert(tensor, layout_of(text, shape))


def test_readers_refuse_what_they_cannot_take() -> None:
    tensor = layout_of(DPAS, (32, 32))
    deep = layout_of(
        DPAS.replace("[2, 1]", "[1, 2, 1]").replace("[1, 2]}", "[1, 1, 2]}"), (2, 32, 32)
    )
    uneven = layout_of(XEGPU, (48, 32))
    feeds, explain = cast("Any", cx.feeds), cast("Any", cx.explain)
    for call, words in (
        (lambda: cx.draw(deep), "the tensor has rank 3"),
        (lambda: cx.draw(layout_of(DPAS, (128, 128))), "more than the 8192 cells"),
        (lambda: cx.draw(tensor, "A"), "have parts to choose"),
        (lambda: cx.diff(tensor, cx.Layout(4)), "compare"),
        (lambda: cx.diff(tensor), "compared with another"),
        (lambda: cx.verify(tensor, row="v", column="t"), "Distributed is none"),
        (lambda: cx.verify(tensor, {"M": 3}), "only kernels have sizes"),
        (lambda: feeds(tensor, "XE_DPAS_TT<8,f32,bf16>", "A", "row"), "leave order out"),
        (lambda: cx.feeds(deep, "XE_DPAS_TT<8,f32,bf16>", "A"), "an operand has two dimensions"),
        (lambda: cx.explain(tensor, "bmg"), "a tensor is explained alone"),
        (lambda: explain(parse(DPAS)), "explained with a tensor's shape"),
        (lambda: convert(uneven, uneven), "not a power of two"),
        (lambda: Distributed(3, (4,)), "int is not an encoding"),
        (lambda: layout_of(tensor.encoding, (32, 32), {"p": DPAS}), "only text has aliases"),
        (lambda: layout_of(tensor.linear, (16, 16)), "bases are of a tensor 32x32"),
        (lambda: XeGpuLayout(), "it lacks"),
        (lambda: layout_of(DPAS, (2048, 2048)).by_element, "one by one"),
    ):
        with pytest.raises(CuteError, match=words):
            call()


@pytest.mark.long
def test_random_changes_of_text_are_read_or_refused() -> None:
    rng = Random(5)
    marks = [
        "[",
        "]",
        "<",
        ">",
        "{",
        "}",
        ",",
        "=",
        "0",
        "1",
        "3",
        "-1",
        "16",
        "#",
        "#ttg.blocked",
        "order",
        "parent",
        "true",
        "x",
        "é",
        "'",
        "[[1]]",
        "1.5",
    ]
    accepted = 0
    for _ in range(1500):
        parts = re.findall(r"#?[\w.]+|\s+|.", rng.choice((DPAS, BLOCKED, LINEAR, LOAD, XEGPU)))
        for _ in range(rng.randint(1, 3)):
            parts[rng.randrange(len(parts))] = rng.choice(marks)
        try:
            tensor = layout_of("".join(parts), (32, 32))
        except CuteError:
            continue
        accepted += 1
        assert parse(str(tensor.encoding)) == tensor.encoding
    assert accepted
