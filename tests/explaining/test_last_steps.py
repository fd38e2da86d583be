"""Explanations of random calls end in what the operation answers, or in why it does not.

The calls are drawn from all explained operations over layouts of every kind: nested, with ties,
backwards, of coordinates and of sums of them, symbolic and swizzled.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from sampling import WHOLE

import pycute_xe as cx
from pycute_xe import E, Layout
from pycute_xe.errors import CuteError
from pycute_xe.explaining import EXPLAINED, explain

CALLS = 6_000 if WHOLE else 120
M = cx.symbol("M")
NAMES = (*EXPLAINED, *("composition",) * 4, *("logical_divide", "logical_product") * 2)


def nested(draw: Random, flat: tuple[int, ...], depth: int = 2) -> Any:
    if len(flat) < 2 or depth == 0 or draw.random() < 0.5:
        return flat
    first = draw.randint(0, len(flat) - 2)
    last = draw.randint(first + 1, len(flat))
    return (*flat[:first], nested(draw, flat[first:last], depth - 1), *flat[last:])


def shape(draw: Random) -> Any:
    count = draw.choice((1, 1, 2, 2, 3, 4))
    flat = tuple(draw.choice((1, 2, 2, 3, 4, 4, 5, 6, 8)) for _ in range(count))
    return flat[0] if count == 1 and draw.random() < 0.7 else nested(draw, flat)


def alike(tree: Any, leaf: Any) -> Any:
    return tuple(alike(part, leaf) for part in tree) if isinstance(tree, tuple) else leaf()


def basis(draw: Random) -> Any:
    """A stride along one axis or along two at once."""

    depth = draw.choice((1, 1, 1, 2))

    def element() -> Any:
        path = [draw.randrange(2) for _ in range(depth)]
        return draw.choice((1, 1, 1, 2, 3, 4)) * E(*path)

    return element() + element() if draw.random() < 0.35 else element()


STRIDES: tuple[Any, ...] = (
    lambda draw: draw.choice((0, 1, 1, 2, 3, 4, 6, 8, 12, 16, 32)),
    lambda draw: draw.choice((-4, -2, -1, 0, 1, 2, 8)),
    basis,
    lambda draw: draw.choice((0, 1, M, 2 * M)),
)


def layout(draw: Random) -> Layout:
    extents = shape(draw)
    kind = draw.randrange(7)
    if kind == 0:
        return Layout(extents)
    if kind == 1:
        return cx.make_ordered_layout(extents, alike(extents, lambda: draw.randrange(4)))
    if kind == 2:
        return cx.make_identity_layout(extents)
    return Layout(extents, alike(extents, lambda: STRIDES[kind - 3](draw)))


def domain(draw: Random) -> Any:
    """A layout, one in eight under a swizzle where it can be."""
    plain = layout(draw)
    try:
        if draw.random() < 0.125:
            bits, base = draw.randrange(3), draw.randrange(2)
            return cx.ComposedLayout(cx.Swizzle(bits, base, 3), draw.choice((0, 4)), plain)
    except CuteError:
        pass
    return plain


def tiler(draw: Random, level: int = 1) -> Any:
    kind = draw.random()
    if kind < 0.25:
        return draw.choice((1, 2, 2, 3, 4, 4, 6, 8))
    if kind < 0.3:
        return None
    if kind < 0.55 and level:
        return tuple(tiler(draw, level - 1) for _ in range(draw.choice((1, 2, 2, 3))))
    return layout(draw)


def operands(draw: Random, name: str) -> tuple[Any, ...]:
    if name in ("right_inverse", "left_inverse"):
        return (domain(draw),)
    if name == "coalesce":
        return (domain(draw), draw.choice((None, (), (1,), (1, 1))))
    if name == "complement":
        return (layout(draw), draw.choice((draw.randint(1, 100), shape(draw))))
    if name == "crd2idx":
        extents = shape(draw)
        coord = alike(extents, lambda: draw.randrange(4)) if draw.random() < 0.5 else 17
        pick = draw.choice(STRIDES)
        return (coord, extents, alike(extents, lambda: pick(draw)))
    if name in ("blocked_product", "raked_product"):
        return (domain(draw), layout(draw))
    return (domain(draw), tiler(draw))


def ends_as_it_answers(name: str, values: tuple[Any, ...]) -> str:
    """Check one call; return whether it is answered or rejected."""
    operation: Any = getattr(cx, name)
    told = explain(operation, *values)
    try:
        answer = operation(*values)
    except CuteError as error:
        answer = error
    if isinstance(answer, CuteError):
        assert type(told.refusal) is type(answer)
        assert told.steps[-1].value is None, "the last step of a rejected call has no value"
        return "rejected"
    assert told.refusal is None
    assert told.steps[-1].value == answer
    assert type(told.steps[-1].value) is type(answer)
    return "answered"


@pytest.mark.parametrize("seed", range(2))
def test_random_calls_end_as_the_operation_answers(seed: int) -> None:
    draw, counts = Random(seed), Counter[str]()
    for _ in range(CALLS // 2):
        name = draw.choice(NAMES)
        values = operands(draw, name)
        try:
            counts[ends_as_it_answers(name, values)] += 1
        except (AssertionError, TypeError) as error:
            error.add_note(f"{name}{values}")
            raise
    assert counts["answered"] > counts["rejected"] > 0


def test_a_step_along_two_axes_is_told_axis_by_axis() -> None:
    told = explain(cx.composition, Layout((4, 8), (8, 1)), Layout(2, E(0) + E(1)))
    assert told.result == told.steps[-1].value == Layout(2, 9)
    assert [step.text for step in told.steps if step.depth == 1][:2] == ["along 1@0", "along 1@1"]


def test_axes_on_which_a_step_takes_several_modes_have_no_common_stride() -> None:
    whole = Layout((((2, 4), 8)), (((1, 10), 100)))
    told = explain(cx.composition, whole, Layout(4, E(0) + E(1)))
    assert told.refusal is not None
    assert "several modes" in told.steps[-1].text
