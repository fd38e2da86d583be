"""How an operation is held against its law over generated operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy
from sampling import WHOLE

from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import CuteError
from pycute_xe.int_tuple import flatten_tuple, unflatten_tuple
from pycute_xe.layout import Layout

# 30 examples, and 6,000 in `make fuzz`. What rearranges the modes of another operation's result
# has fewer.
LAW = settings(max_examples=(3 if WHOLE else 2) * settings().max_examples)
WRAPPER = settings(max_examples=(2 if WHOLE else 1) * settings().max_examples)
# Each has about ten wrong results.
WRONG = settings(max_examples=settings().max_examples // (2 if WHOLE else 3))


@dataclass(frozen=True)
class Case:
    """An operation, its law, and the operands it is tried on.

    Operands beyond the ``required`` ones are options: they follow the result when the law is asked.
    ``decided`` are operands for which only one function obeys the law: there every change of a
    right result must be seen.
    """

    operation: Callable[..., Any]
    law: Callable[..., str | None]
    operands: SearchStrategy[tuple[Any, ...]]
    required: int | None = None
    decided: SearchStrategy[tuple[Any, ...]] | None = None
    # Whether other extents make another function, where the law looks.
    extents: bool = True
    examples: settings = LAW

    def judge(self, operands: tuple[Any, ...], result: Any) -> str | None:
        """What the law says."""
        first = len(operands) if self.required is None else self.required
        return self.law(*operands[:first], result, *operands[first:])


def check_law(name: str, case: Case) -> None:
    """Try the law on generated operands; the operation may refuse a third of them."""
    asked = refused = 0

    def one(operands: tuple[Any, ...]) -> None:
        nonlocal asked, refused
        asked += 1
        try:
            result = case.operation(*operands)
        except CuteError:
            refused += 1
            return
        broken = case.judge(operands, result)
        shown = ", ".join(map(str, operands))
        assert broken is None, f"{name}({shown}) -> {result}: {broken}"

    run(name, one, case.operands, case.examples)
    assert 3 * refused <= asked, f"{name} refuses {refused} of {asked}"


def check_rejection(name: str, case: Case) -> None:
    """Change right results leaf by leaf: the law must name a coordinate or a figure each time."""
    seen = 0

    def one(operands: tuple[Any, ...]) -> None:
        nonlocal seen
        try:
            result = case.operation(*operands)
        except CuteError:
            return
        for wrong in changed(result, case.extents):
            seen += 1
            broken = case.judge(operands, wrong)
            shown = ", ".join(map(str, operands))
            assert broken, f"{name}({shown}) -> {wrong} passes, right is {result}"
            assert "\n" not in broken

    run(name, one, case.operands if case.decided is None else case.decided, WRONG)
    assert seen


def run(name: str, test: Callable[[Any], None], operands: Any, examples: settings) -> None:
    """Run a hypothesis test whose failing examples are kept under a name of its own."""
    test.__name__ = "".join(c if c.isalnum() else "_" for c in name)
    examples(given(operands)(test))()


def changed(result: Any, extents: bool) -> list[Any]:
    """Other functions that differ from a layout (or a count) in one figure."""
    if isinstance(result, int):
        return [result - 1, result + 1]
    if isinstance(result, ComposedLayout):
        return []  # a swizzle may undo the change
    shape, stride = flatten_tuple(result.shape), flatten_tuple(result.stride)

    def build(shape: Any, stride: Any) -> Layout:
        profile = result.shape
        return Layout(unflatten_tuple(shape, profile), unflatten_tuple(stride, profile))

    found: list[Layout] = []
    for i, (s, d) in enumerate(zip(shape, stride, strict=True)):
        if s > 1:
            steps = (d + 1, d * 2) if isinstance(d, int) else (d * 2, d * 3)
            found += [build(shape, (*stride[:i], e, *stride[i + 1 :])) for e in steps if e != d]
        if extents:
            sizes = (s + 1, s * 2, s - 1)
            found += [build((*shape[:i], n, *shape[i + 1 :]), stride) for n in sizes if n]
    return found
