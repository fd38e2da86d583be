"""Conversions of every pair of shipped encodings at small sizes, against enumeration.

Nothing here is linear algebra: each place of the destination is looked up among the owners in the
source, one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import permutations, product

import pytest

import pycute_xe as cx
from pycute_xe.dialects import Distributed, convert, layout_of
from pycute_xe.errors import CoordError, CuteError, RankError, ShapeError

DPAS = (
    "#ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, "
    "threadsPerWarp = 16, warpsPerCTA = [%d, %d], repCluster = [%d, %d]}>"
)
LINEAR = "#ttg.linear<{register = %s, lane = %s, warp = %s, block = []}>"


def blocked(*fields: tuple[int, ...]) -> str:
    names = ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")
    given = ", ".join(f"{n} = {list(v)}" for n, v in zip(names, fields, strict=True))
    return f"#ttg.blocked<{{{given}}}>"


def encodings() -> Iterator[str]:
    """Yield texts of every encoding that is read, for matrices, of 16 lanes and 1 or 2 warps."""
    for tile, lanes, warps, order in product(
        ((1, 1), (1, 4), (2, 2)), ((1, 16), (16, 1), (4, 4)), ((1, 2), (2, 1)), ((1, 0), (0, 1))
    ):
        yield blocked(tile, lanes, warps, order)
    for warps, cluster in product(((2, 1), (1, 2)), ((1, 1), (2, 1))):
        dpas = DPAS % (*warps, *cluster)
        yield dpas
        for index, width in ((0, 1), (1, 2)):
            yield f"#ttg.dot_op<{{opIdx = {index}, parent = {dpas}, kWidth = {width}}}>"
    for warps in ((2, 1), (1, 2)):
        shape = (
            "instrShape = [8, 16], numBlocks = 1, order = [1, 0], kWidth = 2, threadsPerWarp = 16"
        )
        yield f"#ttig.subgroup_2d_block<{{warpsPerCTA = {list(warps)}, {shape}}}>"
    parent = blocked((1, 2, 1), (4, 1, 4), (1, 1, 2), (2, 1, 0))
    for dim in range(3):
        yield f"#ttg.slice<{{dim = {dim}, parent = {parent}}}>"
    for lanes, subgroups in product(
        ((1, 16), (16, 1), (8, 1), (1, 4), (4, 4), (2, 1)), ((1, 2), (2, 1))
    ):
        grid = f"sg_layout = {list(subgroups)}, lane_layout = {list(lanes)}, lane_data = [1, 1]"
        yield f"#xegpu.layout<{grid}>"
        yield f"#xegpu.layout<{grid}, order = [0, 1]>"
    cube = "#xegpu.layout<sg_layout = [1, 2, 1], lane_layout = [8, 1, 2], lane_data = [1, 1, 1]>"
    for dim in range(3):
        yield f"#xegpu.slice<{cube}, dims = [{dim}]>"
    lanes = [[0, 1], [0, 2], [0, 4], [0, 8]]
    everything = [[1, 0], [2, 0], [4, 0], *lanes]
    for warp in ([[0, 0]], [[8, 0]]):
        more = [[8, 0]] if warp == [[0, 0]] else []
        yield LINEAR % ([[1, 0], [2, 0], [4, 0], *more], lanes, warp)
        yield LINEAR % ([*everything, *more], [[0, 0]] * 4, warp)  # each lane has all
        yield LINEAR % ([*more, *everything], lanes, warp)
        yield LINEAR % ([[4, 0], [1, 0], [0, 0], [2, 0], *more], lanes, warp)


def tensors(shape: tuple[int, int]) -> list[Distributed]:
    out: list[Distributed] = []
    for text in encodings():
        try:
            tensor = layout_of(text, shape)
            assert tensor.linear.shape == shape
        except CuteError:
            continue  # not for this shape
        if not tensor.cut:
            out.append(tensor)
    return out


@cache
def table(tensor: Distributed, lanes: int) -> dict[tuple[int, int, int], tuple[int, ...]]:
    """Return the element of each place, in a subgroup of so many lanes."""
    return {
        (w, t, v): tensor.element(w, t % tensor.lanes, v)
        for w, t, v in product(range(tensor.subgroups), range(lanes), range(tensor.values))
    }


@cache
def held(tensor: Distributed, lanes: int) -> dict[tuple[int, ...], set[tuple[int, ...]]]:
    """Return what each work-item has, and each subgroup."""
    out: dict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
    for (w, t, _), element in table(tensor, lanes).items():
        out[w, t].add(element)
        out[(w,)].add(element)
    return out


def expected(src: Distributed, dst: Distributed) -> tuple[str, int]:
    """Return the way and the values that come from other lanes, by looking at every place."""
    lanes = max(src.lanes, dst.lanes)
    before, after = table(src, lanes), table(dst, lanes)
    if all(before.get(place) == element for place, element in after.items()):
        return "nothing", 0
    of = held(src, lanes)
    missing = [place for place, element in after.items() if element not in of[place[:2]]]
    if not missing:
        return "registers", 0
    if all(after[place] in of[place[:1]] for place in missing):
        return "shuffles", len({v for _, _, v in missing})
    return "slm", 0


def agrees(src: Distributed, dst: Distributed) -> str:
    made = convert(src, dst, "f16")
    assert (made.way, made.shuffled) == expected(src, dst), (src.encoding, dst.encoding)
    lanes = max(src.lanes, dst.lanes)
    before, after = table(src, lanes), table(dst, lanes)
    for w, t, v in [*after][:: max(1, len(after) // 24) | 1]:
        register, lane, warp = from_where(made, w, t, v)
        assert before[warp, lane, register] == after[w, t, v]
    assert made.slm_bytes == (src.shape[0] * src.shape[1] * 2 if made.way == "slm" else 0)
    return made.way


def from_where(made: cx.dialects.Conversion, w: int, t: int, v: int) -> tuple[int, ...]:
    at = made.steps(warp=w, lane=t, register=v)
    names = [name for name, _ in made.steps.outs]
    return tuple(at[names.index(name)] for name in ("register", "lane", "warp"))


def pairs(shape: tuple[int, int]) -> list[tuple[Distributed, Distributed]]:
    every = tensors(shape)
    return [
        (src, dst)
        for src, dst in product(every, every)
        if src.subgroups == dst.subgroups and max(src.lanes, dst.lanes) == 16
    ]


@pytest.mark.long
@pytest.mark.parametrize("shape", [(16, 16), (8, 32)])
def test_every_pair_is_converted_as_enumeration_says(shape: tuple[int, int]) -> None:
    ways = {agrees(src, dst) for src, dst in pairs(shape)[::3]}
    assert ways == {"nothing", "registers", "shuffles", "slm"}


@pytest.mark.long
def test_some_pairs_are_converted_as_enumeration_says() -> None:
    every = pairs((16, 16))
    assert len(every) > 1500
    assert len({agrees(src, dst) for src, dst in every[::61]}) > 2


ALL = LINEAR % ([[1, 0], [2, 0], [4, 0], [0, 1], [0, 2], [0, 4], [0, 8]], [[0, 0]] * 4, [[8, 0]])
ROWS = LINEAR % ([[1, 0], [2, 0], [4, 0]], [[0, 1], [0, 2], [0, 4], [0, 8]], [[8, 0]])
HERE = LINEAR % ([[1, 0], [2, 0], [4, 0], [8, 0]], [[0, 1], [0, 2], [0, 4], [0, 8]], [[0, 0]])


@pytest.mark.parametrize(
    ("src", "dst", "way", "said"),
    [
        (ALL, ROWS, "registers", "selects among the elements that it has"),
        (HERE, ROWS, "registers", "selects among the elements that it has"),
        (ROWS, HERE, "slm", "through shared local memory"),
        (ROWS, ALL, "shuffles", "shuffles in each subgroup"),
        (ROWS, ROWS, "nothing", "both are one layout"),
    ],
)
def test_a_replicated_source_is_selected_from(src: str, dst: str, way: str, said: str) -> None:
    made = convert(layout_of(src, (16, 16)), layout_of(dst, (16, 16)))
    assert made.way == way
    assert said in str(made)


def test_a_difference_of_owners_is_not_alike_in_owners() -> None:
    told = str(cx.diff(layout_of(ALL, (16, 16)), layout_of(ROWS, (16, 16))))
    assert told.startswith("different owners")
    assert "owners" not in told.rpartition("alike:")[2]


def test_diff_shows_owners_that_differ_and_counts_those_that_are_added() -> None:
    before, after = layout_of(ALL, (16, 16)), layout_of(ROWS, (16, 16))
    change = cx.diff(before, after).owners[0][1]
    assert change.moved == sum(before.owners(e) != after.owners(e) for e in before.by_element)
    assert all(old != new for _, old, new in change.examples)
    assert f"{change.other_repeats} of them further owners alone" in change.brief


def test_lanes_that_a_layout_leaves_out_hold_copies() -> None:
    text = "#xegpu.layout<lane_layout = [8, 1], lane_data = [1, 1]>"
    part, whole = layout_of(text, (8, 16)), layout_of(text, (8, 16), subgroup_size=16)
    assert (part.lanes, whole.lanes) == (8, 16)
    for t, v in product(range(16), range(16)):
        assert whole.element(0, t, v) == part.element(0, t % 8, v)
    assert whole.linear.basis("lane") == (*part.linear.basis("lane"), (0, 0))
    assert convert(part, whole).way == "nothing"
    assert bool(cx.verify(whole))
    for wrong in (12, 0, "16", 24, 64, 2**60):
        with pytest.raises(CuteError):
            layout_of(text, (8, 16), subgroup_size=wrong)
    with pytest.raises(ShapeError, match="names all 16 lanes"):
        layout_of(ROWS, (16, 16), subgroup_size=32)
    with pytest.raises(ShapeError, match="lanes"):
        convert(
            layout_of(ROWS, (16, 16)), layout_of(blocked((1, 1), (2, 4), (2, 1), (1, 0)), (16, 16))
        )


@pytest.mark.parametrize("text", ["#xegpu.layout<lane_layout = [8, 1], lane_data = [1, 1]>", ROWS])
def test_a_place_that_is_none_has_no_element(text: str) -> None:
    tensor = layout_of(text, (16, 16))
    beyond = (tensor.subgroups, 0, 0), (0, tensor.lanes, 0), (0, 0, tensor.values)
    for place in (*beyond, (0, -1, 0), (0, 0, 2**70), (0, None, 0)):
        with pytest.raises(CoordError, match="counts from 0 to"):
            tensor.element(*place)  # pyright: ignore[reportArgumentType]


# ------------------------------------------------------------ reshape, trans, broadcast


@pytest.mark.long
@pytest.mark.parametrize("shape", [(16, 16), (8, 32)])
def test_reshapes_and_transposes_keep_owners(shape: tuple[int, int]) -> None:
    rows, columns = shape
    for tensor in tensors(shape)[::5]:
        flat, turned = tensor.reshape((rows * columns,)), tensor.trans()
        cube = tensor.reshape((2, rows // 2, columns)).trans((2, 0, 1))
        for m, n in product(range(0, rows, 3), range(0, columns, 5)):
            owners = set(tensor.owners((m, n)))
            assert set(flat.owners((m * columns + n,))) == owners
            assert set(turned.owners((n, m))) == owners
            assert set(cube.owners((n, m // (rows // 2), m % (rows // 2)))) == owners
        assert flat.reshape(shape).linear.shape == shape


def test_a_broadcast_repeats_in_registers() -> None:
    for text in (blocked((1, 1), (16, 1), (1, 2), (0, 1)), blocked((2, 1), (4, 4), (2, 1), (1, 0))):
        before = layout_of(text, (16, 1))
        after = before.broadcast((16, 8))
        for w, t in product(range(before.subgroups), range(before.lanes)):
            held = {before.element(w, t, v)[0] for v in range(before.values)}
            assert {after.element(w, t, v) for v in range(after.values)} == {
                *product(held, range(8))
            }


def test_a_flat_tensor_is_compared_with_a_matrix() -> None:
    flat = layout_of(blocked((4,), (16,), (4,), (0,)), (4096,))
    matrix = layout_of(blocked((1, 4), (2, 8), (4, 1), (1, 0)), (128, 32))
    assert convert(flat.reshape((128, 32)), matrix).way == "nothing"
    assert cx.diff(flat.reshape((128, 32)), matrix).owners[0][1].moved == 0
    with pytest.raises(RankError):
        convert(flat, matrix)


def test_what_is_not_a_shape_or_an_order_is_refused() -> None:
    tensor = layout_of(ROWS, (16, 16))
    for call in (
        lambda: tensor.reshape((16, 15)),
        lambda: tensor.reshape(()),
        lambda: tensor.reshape((-16, -16)),
        lambda: tensor.trans((0, 0)),
        lambda: tensor.trans((0, 1, 2)),
        lambda: tensor.broadcast((16, 32)),
        lambda: tensor.broadcast((16,)),
        lambda: tensor.reshape(4),  # type: ignore[arg-type]
        lambda: tensor.trans("ab"),  # type: ignore[arg-type]
    ):
        with pytest.raises(CuteError):
            call()
    orders = {tensor.reshape((2, 8, 16)).trans(order).shape for order in permutations(range(3))}
    assert len(orders) == 6
