"""What readers and the command line make of tensors under Triton's and XeGPU's layouts."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

import pycute_xe as cx
from pycute_xe import cli
from pycute_xe.dialects import Distributed, LinearLayout, convert, layout_of

DPAS = (
    "#ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, "
    "threadsPerWarp = 16, warpsPerCTA = [2, 1], repCluster = [1, 2]}>"
)
XEGPU = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
TURNED = (
    "#ttg.linear<{register = [[2, 0], [1, 0], [4, 0], [0, 16], [16, 0]], "
    "lane = [[0, 1], [0, 2], [0, 4], [0, 8]], warp = [[8, 0]], block = []}>"
)
BLOCKED = (
    "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [2, 8], warpsPerCTA = [1, 2], "
    "order = [1, 0]}>"
)
MMA = "XE_DPAS_TT<8,f32,bf16>"
WAYS = ["nothing", "registers", "shuffles", "slm"]


# ------------------------------------------------------------ conversions


def shuffled(rng: Random, copies: bool) -> Distributed:
    """A tensor of 16x8, each bit of which is a bit of a value, a lane or a subgroup."""
    vectors = [(1 << i, 0) for i in range(4)] + [(0, 1 << i) for i in range(3)]
    rng.shuffle(vectors)
    if copies:
        vectors.insert(rng.randrange(8), (0, 0))
    bases = {"register": vectors[4:], "lane": vectors[:3], "warp": vectors[3:4], "block": []}
    return layout_of(LinearLayout(bases, {"dim0": 16, "dim1": 8}), (16, 8))


def needed(src: Distributed, dst: Distributed) -> str:
    """The least that serves, from the owners of each element one by one."""
    worst = 0
    for element, places in dst.by_element.items():
        sources = src.owners(element)
        for place in places:
            kept = [place in sources, *(any(s[:n] == place[:n] for s in sources) for n in (2, 1))]
            worst = max(worst, kept.index(True) if True in kept else 3)
    return WAYS[worst]


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.long
def test_a_conversion_goes_as_far_as_elements_do(copies: bool) -> None:
    rng = Random(7)
    ways = set[str]()
    for _ in range(60):
        src, dst = shuffled(rng, copies), shuffled(rng, copies)
        if rng.random() < 0.5:  # the same subgroups, so that the nearer ways occur
            linear = src.linear
            values = list(linear.basis("register"))
            rng.shuffle(values)
            lanes = list(linear.basis("lane"))
            if rng.random() < 0.5:
                values[0], lanes[0] = lanes[0], values[0]
            bases = {"register": values, "lane": lanes, "warp": linear.basis("warp"), "block": []}
            dst = layout_of(LinearLayout(bases, linear.outs), (16, 8))
        conversion = convert(src, dst, "bf16")
        ways.add(conversion.way)
        if copies:
            assert WAYS.index(conversion.way) >= WAYS.index(needed(src, dst))
        else:
            assert conversion.way == needed(src, dst)
        for value in range(dst.values):
            place = conversion.steps(register=value, lane=1, warp=1)
            names = [name for name, _ in conversion.steps.outs]
            source = dict(zip(names, place, strict=True))
            element = dst.element(1, 1, value)
            assert src.element(source["warp"], source["lane"], source["register"]) == element
        assert conversion.slm_bytes == (256 if conversion.way == "slm" else 0)
    assert copies or ways >= {"registers", "shuffles", "slm"}


def test_figures_of_conversions() -> None:
    c = layout_of(DPAS, (32, 32))
    assert convert(c, c).way == "nothing"
    assert str(convert(c, c)) == "nothing moves: both are one layout"
    rows = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 8], warpsPerCTA = [2, 1], "
    away = layout_of(rows + "order = [1, 0]}>", (32, 32))
    assert convert(c, away, "f32").slm_bytes == 32 * 32 * 4
    assert convert(c, away, "s4").slm_bytes == 32 * 32 // 2
    half = layout_of(
        LinearLayout(
            dict(c.linear.bases)
            | {
                "register": ((0, 1), *c.linear.basis("register")[1:]),
                "lane": ((1, 0), *c.linear.basis("lane")[1:]),
            },
            c.linear.outs,
        ),
        (32, 32),
    )
    # Half of a work-item's values come from its neighbour, whatever the lane.
    assert convert(c, half).shuffled == 32


# ----------------------------------------------------------------- readers


def test_explain_names_owners_bases_and_the_instruction() -> None:
    sections = dict(cx.explain(layout_of(DPAS, (32, 32))).sections())  # type: ignore[attr-defined]
    assert sections["bases"][1] == "lane: [0, 1], [0, 2], [0, 4], [0, 8]"
    assert sections["owners"][1].endswith("8x16 in an instruction, 8x32 in a cluster")
    uneven = layout_of(XEGPU.replace("lane_layout", "sg_layout = [2, 1], lane_layout"), (24, 16))
    assert "not a power of two" in dict(cx.explain(uneven).sections())["bases"][0]  # type: ignore[attr-defined]


def test_draw_shows_each_owner() -> None:
    drawing = cx.draw(layout_of(DPAS, (16, 32)))
    cells = {(cell.row, cell.col): cell for cell in drawing.scene.panels[0].cells}
    assert len(cells) == 16 * 32
    assert cells[9, 17].lines == ("T1", "V9")
    assert cells[9, 17].tip == "[9, 17] is owned by S1·T1·V9"
    line = cx.draw(layout_of("#xegpu.layout<lane_layout = [16], lane_data = [2]>", (64,)))
    assert {cell.row for cell in line.scene.panels[0].cells} == {0}


def test_diff_counts_elements_that_change_their_owner() -> None:
    a, b = layout_of(DPAS, (32, 32)), layout_of(DPAS.replace("[1, 2]", "[1, 1]"), (32, 32))
    assert cx.diff(a, b).equal  # 32 columns of two instructions either way
    down = layout_of(DPAS.replace("[1, 2]", "[2, 1]"), (32, 32))
    difference = cx.diff(a, down)
    moved = sum(a.owners(e)[0] != down.owners(e)[0] for e in a.by_element)
    assert difference.owners[0][1].moved == moved
    assert not difference.equal
    assert not cx.diff(a, layout_of(DPAS, (32, 64))).equal


@pytest.mark.parametrize(
    ("text", "operand", "movement"),
    [
        ("#ttg.dot_op<{opIdx = 0, parent = #p, kWidth = 1}>", "A", "none"),
        ("#ttg.dot_op<{opIdx = 1, parent = #p, kWidth = 2}>", "B", "none"),
        ("#p", "C", "none"),
        ("#p", "A", "none"),
        ("#ttg.dot_op<{opIdx = 1, parent = #p, kWidth = 2}>", "A", "none"),
        (TURNED, "A", "within work-items"),
        ("#p", "B", "across subgroups"),
        (BLOCKED, "A", "across work-items"),
    ],
)
def test_feeds_says_how_far_values_move(text: str, operand: str, movement: str) -> None:
    tensor = layout_of(text, (32, 32), {"p": DPAS})
    feed = cx.feeds(tensor, MMA, operand)  # type: ignore[call-overload]
    assert feed.movement == movement
    assert (feed.kind == "free") == (movement == "none")
    assert bool(cx.verify(tensor, feeds=(MMA, operand))) == (movement == "none")


@pytest.mark.parametrize(
    ("mma", "words"),
    [
        ("XE_DPAS_TT<3,f32,bf16>", "an instruction has 3 rows"),
        ("XE_DPAS_TT<8,s32,s4>", "no encoding of"),
        ("XE_DPAS_TT<8,s32,s8>", "do not tile it"),
    ],
)
def test_feeds_is_impossible_by_name(mma: str, words: str) -> None:
    feed = cx.feeds(layout_of(DPAS, (16, 16)), mma, "A")
    assert feed.kind == "impossible"
    assert words in feed.reason


# ------------------------------------------------------------- command line


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["layout", *arguments])


def test_the_command_line_explains_and_draws(tmp_path: Path) -> None:
    file = tmp_path / "owners.svg"
    result = run(DPAS, "--shape", "32x32", "--explain", "--svg", str(file))
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("32x32: 2 subgroups of 16 lanes, 32 values each")
    assert "lane: [0, 1], [0, 2]" in result.stdout
    assert file.read_text().startswith("<svg")


def test_the_command_line_reports_as_json() -> None:
    report = json.loads(run(XEGPU, "--shape", "8x16", "--json").stdout)
    assert report["kind"] == "tensor"
    assert report["value"]["bases"]["lane"] == [[0, 1], [0, 2], [0, 4], [0, 8]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((DPAS,), "give --shape 32x32"),
        ((DPAS, "--shape", "32xa"), "extents are numbers"),
        ((DPAS, "--shape", "32x33"), "not a power of two"),
        ((DPAS[:-1], "--shape", "32x32"), "'>' expected"),
        ((DPAS, "--shape", "32x32", "--save", "x.json"), "leave --save out"),
        (("(4,8)", "--shape", "32x32"), "leave --shape out"),
    ],
)
def test_the_command_line_refuses(arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
