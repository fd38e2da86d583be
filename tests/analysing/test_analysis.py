"""What accesses cost, against counting byte by byte, and against what other libraries expect."""

from __future__ import annotations

import random
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from sampling import WHOLE

import pycute_xe as cx
from pycute_xe import ComposedLayout, E, Layout, Swizzle, analysis, best_swizzle, esimd
from pycute_xe.arch.banks import banks
from pycute_xe.errors import CuteError, InputError, ShapeError


def random_layout(rng: random.Random) -> Layout:
    """One to three modes of any small strides, a third of them negative or 0."""
    modes = []
    for _ in range(rng.randint(1, 3)):
        stride = rng.choice((0, 1, 1, 2, 3, 8, 16, 17, 32, 64, -1, -8))
        modes.append((rng.choice((1, 2, 3, 4, 8, 16, 20)), stride))
    if len(modes) == 1:
        return Layout(*modes[0])
    return Layout(tuple(s for s, _ in modes), tuple(d for _, d in modes))


def places(layout: Layout) -> dict[tuple[int, ...], int]:
    """Each coordinate's offset, last mode slowest, the lowest offset at 0 where one is negative."""
    shape = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    stride = layout.stride if isinstance(layout.stride, tuple) else (layout.stride,)
    out = {}
    for coord in product(*(range(s) for s in reversed(shape))):
        crd = tuple(reversed(coord))
        out[crd] = sum(c * d for c, d in zip(crd, stride, strict=True))
    lowest = min(0, *out.values())
    return {crd: offset - lowest for crd, offset in out.items()}


def cost(elements: list[int], bits: int, count: int, width: int, segment: int) -> tuple[int, int]:
    """Turns and segments, bit by bit: every bit is in a byte, every byte in a word of a bank."""
    bank_words: dict[int, set[int]] = {}
    segments = set()
    for element in elements:
        for bit in range(element * bits, element * bits + bits):
            byte = bit // 8
            row, within = divmod(byte, count * width)  # banks side by side, rows below each other
            bank_words.setdefault(within // width, set()).add(row)
            segments.add(byte // segment)
    return max(map(len, bank_words.values())), len(segments)


def test_every_figure_is_that_of_counting() -> None:
    rng = random.Random(30)
    for _ in range(2000 if WHOLE else 30):
        layout = random_layout(rng)
        bits, lanes, vector = (
            rng.choice((4, 8, 16, 32, 64)),
            rng.choice((4, 8, 16)),
            rng.choice((1, 2, 4)),
        )
        count, width, segment = rng.choice((4, 16, 32)), rng.choice((4, 8)), rng.choice((32, 64))
        report = analysis(
            layout, bits=bits, lanes=lanes, vector=vector, segment=segment, banks=(count, width)
        )
        where = places(layout)
        order = list(where.values())
        threads = next(iter(np.array(layout.shape).reshape(-1)))
        by_access: dict[tuple[int, int], list[int]] = {}
        for i, offset in enumerate(order):
            key = (i % threads // lanes, i // threads // vector)
            by_access.setdefault(key, []).append(offset)
        assert len(report.accesses) == len(by_access)
        for access in report.accesses:
            mine = by_access[access.subgroup, access.value // vector]
            assert sorted(access.offsets) == sorted(mine)
            assert (access.turns, access.segments) == cost(mine, bits, count, width, segment)
        hit = set(order)
        assert report.footprint.distinct == len(hit)
        assert report.footprint.span == max(hit) - min(hit) + 1
        holes = [o for o in range(min(hit), max(hit)) if o not in hit]
        assert report.footprint.holes == len(holes) == sum(report.footprint.gaps)
        assert report.aliasing.shared == sum(order.count(o) > 1 for o in hit)
        assert report.aliasing.most == max(order.count(o) for o in hit)
        dense = len(hit) == len(order) and not holes
        assert (report.permutation is not None) == dense


def test_permutations_against_applying_them() -> None:
    rng = random.Random(31)
    tried = 0
    while tried < (500 if WHOLE else 20):
        modes = [rng.choice((2, 3, 4, 5)) for _ in range(rng.randint(1, 3))]
        strides = [prod(modes[:i]) for i in range(len(modes))]
        order = list(range(len(modes)))
        rng.shuffle(order)
        reach, dense = 1, [0] * len(modes)
        for i in order:
            dense[i], reach = reach, reach * modes[i]
        assert sorted(strides)
        images = list(places(Layout(tuple(modes), tuple(dense))).values())
        p = analysis(Layout(tuple(modes), tuple(dense))).permutation
        assert p is not None
        at, times = images[:], 1
        while at != sorted(images):
            at, times = [images[i] for i in at], times + 1
        assert p.order == times
        assert p.fixed_points == tuple(i for i, image in enumerate(images) if i == image)
        pairs = sum(images[i] > images[j] for j in range(len(images)) for i in range(j))
        assert p.parity == (-1) ** pairs
        assert sorted(i for cycle in p.cycles for i in cycle) == list(range(len(images)))
        for cycle in p.cycles:
            assert [images[i] for i in cycle] == [*cycle[1:], cycle[0]]
        tried += 1


# Expected values of facebookresearch/tensor-layouts, tests/analysis.py (2026-04-25): a layout, the
# bits of an element, lanes, and the most turns of an access of 32 banks of 4 bytes.
THEIR_BANKS = [
    (Layout(32, 1), 16, 32, 1),
    (Layout(32, 0), 16, 32, 1),
    (Layout(32, 1), 32, 32, 1),
    (Layout((32, 2), (1, 32)), 16, 32, 1),
    (Layout(8, 8), 32, 8, 2),
]


@pytest.mark.parametrize(("layout", "bits", "lanes", "turns"), THEIR_BANKS)
def test_bank_conflicts_as_tensor_layouts_expects(
    layout: Layout, bits: int, lanes: int, turns: int
) -> None:
    assert analysis(layout, bits=bits, lanes=lanes, vector=2, banks=(32, 4)).worst == turns


# The same file: layout, bits, bytes of a segment, segments, and bytes asked for over bytes moved.
THEIR_SEGMENTS = [
    (Layout(32, 1), 16, 128, 1, 0.5),
    (Layout(32, 1), 32, 128, 1, 1.0),
    (Layout(32, 2), 16, 128, 1, 0.5),
    (Layout(32, 64), 16, 128, 32, 64 / (32 * 128)),
    (Layout(32, 0), 16, 128, 1, 2 / 128),
    (Layout((32, 4), (4, 1)), 16, 128, 2, 1.0),
    (Layout(4, -1), 32, 128, 1, 16 / 128),
    (Layout(32, 1), 16, 32, 2, 1.0),
    (Layout(32, 2), 16, 32, 4, 0.5),
    (Layout((32, 4), (4, 1)), 16, 32, 8, 1.0),
    (Layout((4, 2), (-1, 4)), 32, 32, 1, 1.0),
]


@pytest.mark.parametrize(("layout", "bits", "segment", "segments", "efficiency"), THEIR_SEGMENTS)
def test_segments_as_tensor_layouts_expects(
    layout: Layout, bits: int, segment: int, segments: int, efficiency: float
) -> None:
    report = analysis(layout, bits=bits, lanes=32, vector=4, segment=segment)
    assert (report.segments, report.efficiency) == (segments, pytest.approx(efficiency))


def test_contiguity_and_permutations_as_tensor_layouts_expects() -> None:
    # docs/analysis_api.md of tensor-layouts: contiguity, cycles, order, parity
    assert analysis(Layout(8, 1)).contiguous == 8
    assert analysis(Layout(8, 2)).contiguous == 1
    assert analysis(Layout((4, 8), (1, 8))).contiguous == 4
    p = analysis(Layout((3, 2), (2, 1))).permutation
    assert p is not None
    assert (p.cycles, p.fixed_points, p.order) == (((0,), (1, 2, 4, 3), (5,)), (0, 5), 4)
    orders = {Layout(4): (1, 1), Layout((2, 2), (2, 1)): (2, -1), Layout(4, -1): (2, 1)}
    for layout, expected in orders.items():
        p = analysis(layout).permutation
        assert p is not None
        assert (p.order, p.parity) == expected
    assert analysis(Layout(4, 2)).footprint.runs == ((0, 1), (2, 1), (4, 1), (6, 1))


def test_banks_of_the_messages_of_the_machine() -> None:
    rng = random.Random(32)
    for _ in range(200 if WHOLE else 20):
        size = rng.choice((4, 8))
        stride = rng.choice((1, 2, 3, 4, 5, 8, 16, 17, 32))
        layout = Layout(16, stride)

        def scatters(item: Any, kind: Any, apart: int) -> None:
            esimd.slm_init(64 * 1024)
            starts = esimd.simd(esimd.uint32_t, 16, 0, apart)
            esimd.lsc_slm_scatter(kind, starts, esimd.simd(kind, 16, 0, 1))

        kind = esimd.uint32_t if size == 4 else esimd.uint64_t
        counted = esimd.launch(scatters, kind, size * stride, target="bmg").banks
        report = analysis(layout, bits=8 * size, banks=banks("bmg")[0])
        assert [(c.use.turns, c.use.least) for c in counted] == [
            (a.turns, a.least) for a in report.accesses
        ]


def test_the_swizzle_is_the_best_of_all() -> None:
    rng = random.Random(33)
    for _ in range(100 if WHOLE else 3):
        rows = rng.choice((8, 16))
        pitch = rng.choice((16, 32, 64))
        lanes = rng.choice((8, 16))
        column = Layout((rows, 4), (pitch, 1))
        swizzle = best_swizzle(column, bits=32, lanes=lanes)
        plain = analysis(column, bits=32, lanes=lanes, banks=(16, 4)).turns
        turns = {
            s: analysis(cx.composition(s, column), bits=32, lanes=lanes, banks=(16, 4)).turns
            for s in all_swizzles((rows - 1) * pitch + 3)
        }
        fewest = min(turns.values())
        if swizzle is None:
            assert plain <= fewest
        else:
            assert turns[swizzle] == fewest < plain
            report = analysis(column, bits=32, lanes=lanes, banks=(16, 4))
            assert report.swizzle == swizzle
            assert f"{swizzle} takes {fewest} turns" in str(report)


def all_swizzles(end: int) -> list[Swizzle]:
    top = end.bit_length()
    return [
        Swizzle(bits, base, shift)
        for bits in range(1, top)
        for base in range(top)
        for shift in range(bits, top)
        if base + bits + shift <= top
    ]


def test_one_swizzle_for_rows_and_columns() -> None:
    rows, columns = Layout((16, 16), (1, 16)), Layout((16, 16), (16, 1))
    swizzle = best_swizzle(rows, columns, bits=32)
    assert swizzle is not None
    for access in (rows, columns):
        assert analysis(cx.composition(swizzle, access), bits=32, banks=(16, 4)).lost == 0


def test_swizzled_and_xor_layouts_are_analysed() -> None:
    X = ComposedLayout(Swizzle(4, 0, 4), 0, Layout((16, 16), (16, 1)))
    report = analysis(X, bits=32, banks=(16, 4))
    assert (report.lost, report.turns) == (0, 16)
    assert report.swizzle is None
    assert analysis(cx.f2.as_f2(X), bits=32, banks=(16, 4)).accesses == report.accesses


def test_a_report_is_a_value_with_a_picture() -> None:
    one, other = (analysis(Layout((16, 2), (64, 1)), bits=32, banks=(16, 4)) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert "bank" in cx.draw(one).svg
    assert "segment" in cx.draw(analysis(Layout(40, 3))).svg


@pytest.mark.parametrize(
    ("act", "kind", "words"),
    [
        (lambda: analysis(Layout(4, E(0))), ShapeError, "has no place in memory"),
        (lambda: analysis(Layout(4), bits=0), ShapeError, "bits 0 is not a positive integer"),
        (lambda: analysis(Layout(4), banks=(16,)), InputError, "a count and a width"),
        (lambda: analysis(Layout(4), banks=(16, 0)), ShapeError, "width of a bank 0"),
        (lambda: analysis(Layout(4), banks=16), InputError, "a count and a width"),
        (lambda: analysis(Layout(1 << 21)), ShapeError, "one by one"),
        (lambda: analysis((4, 8)), InputError, "is not a layout"),
        (best_swizzle, InputError, "missing"),
        (
            lambda: best_swizzle(ComposedLayout(Swizzle(1, 1, 1), 0, Layout(8))),
            InputError,
            "not a plain layout",
        ),
    ],
)
def test_refusals(act: Any, kind: type[CuteError], words: str) -> None:
    with pytest.raises(kind, match=words):
        act()
