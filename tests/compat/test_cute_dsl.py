"""What NVIDIA's CuTe DSL and tensor-layouts answer on the same calls.

`tests/data/README.md` says how the rows read. A row agrees where the text is the same or both
reject the call. Each other row is of a kind that `docs/names.md` lists with its reason; that it is
of this kind is judged by listing offsets.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from golden import rows as golden_rows
from sampling import WHOLE

import pycute_xe as cx
from pycute_xe.compat import cute_dsl as cute
from pycute_xe.errors import CuteError

PAGE = (Path(__file__).parents[2] / "docs" / "names.md").read_text(encoding="utf-8")
SHARE = 1 if WHOLE else 4
"""One row in so many is asked by `make test`."""

# ------------------------------------------------------------ rows


def tree(value: Any) -> Any:
    return tuple(map(tree, value)) if isinstance(value, list) else value


def operand(value: Any) -> Any:
    match value:
        case {"s": shape, "d": stride}:
            return cx.Layout(tree(shape), tree(stride))
        case {"sw": numbers}:
            return cute.make_swizzle(*numbers)
        case {"c": [swizzle, offset, layout]}:
            return cx.ComposedLayout(operand(swizzle), offset, operand(layout))
        case list():
            return tuple(map(operand, value))
        case _:
            return value


def in_order(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(len(shape)))


def swizzled(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda swizzle, layout, *more: function(cute.composition(swizzle, layout), *more)


def identity(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda shape, *more: function(cute.make_identity_layout(shape), *more)


def filled(layout: Any, shape: tuple[int, ...]) -> Any:
    return cute.tile_to_shape(layout, shape, in_order(shape))


CALLS: dict[str, Callable[..., Any]] = {
    "coalesce_prof": lambda layout, profile: cute.coalesce(layout, target_profile=profile),
    "complement1": cute.complement,
    "composed_call": cute.make_composed_layout,
    "composition_tile": cute.composition,
    "identity_composition": identity(cute.composition),
    "identity_zipped_divide": identity(cute.zipped_divide),
    "recast_up": lambda layout, new, old: cute.recast_layout(new, old, layout),
    "slice": lambda layout, coord: cute.slice_and_offset(coord, layout),
    "tile_to_shape": filled,
    "tile_to_shape_ord": cute.tile_to_shape,
    "sw_coalesce": swizzled(cute.coalesce),
    "sw_compose": cute.composition,
    "sw_logical_divide": swizzled(cute.logical_divide),
    "sw_recast": swizzled(lambda layout, old, new: cute.recast_layout(new, old, layout)),
    "sw_slice": swizzled(lambda layout, coord: cute.slice_and_offset(coord, layout)),
    "sw_tile_to_shape": swizzled(filled),
}
"""Calls whose row has another name than the function, or its operands in another order."""


@cache
def data() -> Any:
    return golden_rows("cute_dsl")


def text_of(value: Any) -> Any:
    """A value as the DSL shows it: layouts as text, tuples as lists."""
    if hasattr(value, "shape"):
        return re.sub(r"\bSw<", "S<", re.sub(r",(?=\))", "", str(value))).replace(" ", "")
    return [text_of(part) for part in value] if isinstance(value, tuple) else value


def stripped(value: Any) -> Any:
    if isinstance(value, list):
        return [stripped(part) for part in value]
    return value.replace(" ", "") if isinstance(value, str) else value


# ------------------------------------------------------------ kinds of differences
# Each has a row of docs/names.md, which begins with the key in bold.


def layout_of(text: str) -> Any:
    """The function that the DSL's text stands for."""
    swizzle = re.fullmatch(r"S<(\d+),(\d+),(\d+)>o(\d+)o(.+)", text.replace(" ", ""))
    if swizzle is None:
        return cx.Layout.from_str(text)
    bits, base, shift, offset = map(int, swizzle.groups()[:4])
    inner = cx.Layout.from_str(swizzle[5])
    return lambda i: cx.Swizzle(bits, base, shift)(offset + inner(i)) if bits else offset + inner(i)


def table(function: Any, count: int) -> list[Any]:
    return [function(i) for i in range(count)]


def composes(answer: Any, a: cx.Layout, b: Any) -> bool:
    return table(answer, cx.size(answer)) == [a(b(i)) for i in range(cx.size(b))]


def keeps_offsets(answer: Any, layout: cx.Layout, *_: Any) -> bool:
    listed = table(answer, cx.size(answer))
    return sorted(listed) == sorted(table(layout, cx.size(layout)))


def copies_apart(answer: Any, block: Any, *_: Any) -> bool:
    """Whether offsets of different copies of the block, which each have all its offsets, differ."""
    places = Counter(table(answer, cx.size(answer)))
    inner = Counter(table(block, cx.size(block)))
    return max(places.values()) <= max(inner.values())


def at_their_places(tv: Any, tiler: Any, threads: cx.Layout, values: cx.Layout) -> bool:
    """Whether (thread, value) is where the layouts of both have these numbers."""
    extents = [cx.size(mode) for mode in values] + [1] * (len(tiler) - len(values))
    for t in range(cx.size(threads)):
        for v in range(cx.size(values)):
            place = cx.idx2crd(tv(t, v), tuple(tiler))
            outer = tuple(c // n for c, n in zip(place, extents, strict=True))[: len(threads)]
            inner = tuple(c % n for c, n in zip(place, extents, strict=True))[: len(values)]
            if (at(threads, outer), at(values, inner)) != (t, v):
                return False
    return True


def at(layout: cx.Layout, coord: tuple[int, ...]) -> Any:
    return layout(coord if isinstance(layout.shape, tuple) else coord[0])


def fills_up(rest: Any, layout: cx.Layout, *_: Any) -> bool:
    """Whether a layout and what it is filled with reach all offsets up to the last, as often."""
    pairs = [a + b for a in set(table(layout, cx.size(layout))) for b in table(rest, cx.size(rest))]
    return sorted(pairs) == [*range(len(pairs))]


HOLDS: dict[str, Callable[..., bool]] = {
    "complement1": fills_up,
    "composition": composes,
    "composition_tile": composes,
    **{f"{kind}_divide": keeps_offsets for kind in ("logical", "zipped", "tiled", "flat")},
    **{f"{kind}_product": copies_apart for kind in ("logical", "zipped", "tiled", "flat")},
    "blocked_product": copies_apart,
    "raked_product": copies_apart,
    "tile_to_shape": copies_apart,
    "tile_to_shape_ord": copies_apart,
}
"""Whether the DSL's answer is what the operation means, by listing."""


def is_wrong_there(name: str, operands: tuple[Any, ...], answer: dict[str, Any]) -> bool:
    """Whether the answer of the DSL is not what the operation means."""
    if name == "make_layout_tv":
        tiler, text = answer["value"]
        return not at_their_places(cx.Layout.from_str(text.replace(" ", "")), tiler, *operands)
    result = cx.Layout.from_str(answer["layout"].replace(" ", ""))
    if name.startswith("identity_"):
        name = name.removeprefix("identity_")
        operands = (cx.make_identity_layout(operands[0]), *operands[1:])
    return not HOLDS[name](result, *operands)


def slices_alike(got: Any, answer: Any) -> bool:
    """Whether two slices of a swizzled layout, each with an offset, are one function."""
    part, start = got
    text, offset = answer["value"]
    theirs = layout_of(text)
    return all(start + part(i) == offset + theirs(i) for i in range(cx.size(part)))


def functions_alike(got: Any, answer: Any) -> bool:
    size = cx.size(got)
    if "4294" in answer["layout"]:  # a base of -1, printed without its sign
        inner = cx.Layout.from_str(answer["layout"].rpartition(" o ")[2])
        return table(got, size) == table(inner, size)
    return size == answer["size"] and table(got, size) == table(layout_of(answer["layout"]), size)


def kind_of(name: str, operands: tuple[Any, ...], got: Any, answer: dict[str, Any]) -> str:
    """Return "agrees", or the kind of difference."""
    if "undecided" in answer:
        return "decided at once"
    if isinstance(got, CuteError):
        if "error" in answer:
            return "agrees"
        assert is_wrong_there(name, operands, answer), "the answer of the DSL is right"
        return "rejected instead of wrong"
    if "error" in answer:
        assert name not in HOLDS or HOLDS[name](got, *operands), "the answer here is wrong"
        return "answered here"
    expected = answer.get("value", answer.get("layout"))
    if text_of(got) == stripped(expected):
        return "agrees"
    if name == "sw_slice":
        assert slices_alike(got, answer)
        return "slices of swizzled layouts"
    assert functions_alike(got, answer)
    return "strides of single elements" if name == "nullspace" else "swizzles that change nothing"


KINDS = (
    "decided at once",
    "rejected instead of wrong",
    "answered here",
    "slices of swizzled layouts",
    "strides of single elements",
    "swizzles that change nothing",
)


def asked(name: str, arguments: list[Any], answer: dict[str, Any]) -> str:
    operands = tuple(map(operand, arguments))
    try:
        got = (CALLS.get(name) or getattr(cute, name))(*operands)
    except CuteError as error:
        got = error
    try:
        return kind_of(name, operands, got, answer)
    except AssertionError as error:
        error.add_note(f"{name}{operands}: {got}, there {answer}")
        raise


def test_random_calls_agree_or_differ_for_a_reason() -> None:
    counts = Counter(asked(*row) for row in data()["calls"][::SHARE])
    assert set(counts) <= {"agrees", *KINDS}
    assert counts["agrees"] > 0.9 * sum(counts.values())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_difference_has_a_row(kind: str) -> None:
    assert f"| {kind} |" in PAGE


# ------------------------------------------------------------ names
# 200 calls of each name that CuTe DSL and tensor-layouts have.


def text_of_tensor(tensor: Any) -> str:
    base = re.sub(r",(?=\))", "", str(tensor.base).removeprefix("ArithTuple").replace(" ", ""))
    return f"tensor<{base}o{text_of(tensor.layout)}>"


NAMES: dict[str, Callable[..., Any]] = {
    "domain_offset": lambda coord, shape: text_of_tensor(
        cx.domain_offset(coord, cx.make_identity_tensor(shape))
    ),
    "get_swizzle_portion": lambda layout: str(cx.get_swizzle_portion(layout)).replace("Sw", "S"),
    "make_cotiled_copy": lambda *given: cx.make_cotiled_copy("UniversalCopy<u32>", *given),
    "fold": lambda shape, init: cx.fold(shape, init, lambda total, leaf: 10 * total + leaf),
}
"""Calls whose result is shown in another way than its text."""


def coordinates_alike(tiling: Any, answer: list[str]) -> bool:
    """Whether each value is at the coordinate where the DSL's tile and layout have it."""
    modes = [cx.Layout.from_str(part) for part in answer[0].removeprefix("(")[:-1].split(", ")]
    theirs, ours = cx.Layout.from_str(answer[1]), tiling.layout_tv_tiled
    extents = tuple(map(cx.size, modes))
    if cx.size(theirs) != cx.size(ours):
        return False
    for i in range(cx.size(ours)):
        inner = cx.idx2crd(theirs(i), extents)
        place = tuple(mode(c) for mode, c in zip(modes, inner, strict=True))
        if place != cx.idx2crd(ours(i), tiling.tiler_mn):
            return False
    return True


def fills_a_box(answer: list[str]) -> bool:
    parts = answer[0].removeprefix("(")[:-1].split(", ")
    modes = [cx.Layout.from_str(part) for part in parts]
    return all(sorted(table(m, cx.size(m))) == [*range(cx.size(m))] for m in modes)


def how_a_name_differs(name: str, arguments: list[Any], answer: dict[str, Any]) -> str:
    """Return "agrees", or the kind of difference, which is judged."""
    operands = tuple(map(operand, arguments))
    expected = answer.get("value", answer.get("layout"))
    try:
        got: Any = (NAMES.get(name) or getattr(cx, name))(*operands)
    except CuteError:
        if "error" in answer:
            return "agrees"
        if name == "make_layout_tv":
            assert is_wrong_there(name, operands, answer)
            return "rejected instead of wrong"
        if name == "shape_mod":
            assert has_no_division(*operands)
            return "rejected instead of wrong"
        assert name == "make_cotiled_copy"
        assert not fills_a_box(expected)
        return "tiles with gaps"
    if "error" in answer:
        return "answered here"
    if name == "make_cotiled_copy":
        assert coordinates_alike(got, expected)
        return "agrees"
    if name == "make_layout_image_mask":
        assert got == expected % (1 << 16)
        return "agrees"
    if name == "product_each" and not isinstance(expected, list):
        assert got == (expected,)
        return "products of an integer"
    shown = json.loads(json.dumps(text_of(got)))
    if name == "get_swizzle_portion" and shown.startswith("S<0,") and shown != expected:
        assert expected == "S<0,4,3>"
        return "swizzles that change nothing"
    assert shown == stripped(expected)
    return "agrees"


def has_no_division(shape: Any, divisor: int) -> bool:
    """Whether dividing a shape from its left meets a leaf of which neither divides the other."""
    for leaf in cx.flatten(shape) if isinstance(shape, tuple) else (shape,):
        if leaf % divisor and divisor % leaf:
            return True
        divisor = max(1, divisor // leaf)
    return False


OTHER_KINDS = ("tiles with gaps", "products of an integer")


def named_rows(library: str) -> list[Any]:
    return data()["names"] if library == "cute_dsl" else golden_rows(library)


@pytest.mark.parametrize("library", ["cute_dsl", "tensor_layouts"])
def test_names_answer_as_in_their_library(library: str) -> None:
    counts: dict[str, Counter[str]] = {}
    for name, arguments, answer in named_rows(library)[::SHARE]:
        try:
            kind = how_a_name_differs(name, arguments, answer)
        except AssertionError as error:
            error.add_note(f"{name}{arguments}, there {answer}")
            raise
        counts.setdefault(name, Counter())[kind] += 1
    for name, kinds in counts.items():
        assert set(kinds) <= {"agrees", *KINDS, *OTHER_KINDS}
        assert kinds["agrees"] > 0.7 * sum(kinds.values()), name


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_every_other_kind_has_a_row(kind: str) -> None:
    assert f"| {kind} |" in PAGE


@pytest.mark.parametrize("junk", ["x", 2.5, {}, (2, "x"), (2, (3, None))])
@pytest.mark.parametrize("function", [cx.product_each, cute.product_each])
def test_sizes_of_modes_are_taken_of_integers_alone(function: Any, junk: Any) -> None:
    with pytest.raises(cx.CuteError, match="product"):
        function(junk)
