"""Kinds that mask or choose: rows near the least number, without numbers, and without elements.

A run of each executor is held against the specification, evaluated in float64: NaN where it is NaN,
minus infinity where it is. No proof speaks of these rows, since it takes inputs for finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf
from typing import Any

import numpy as np
import pytest
from compiled_kinds import CASES, attended
from sampling import WHOLE

import pycute_xe as cx
from pycute_xe.converting import convert
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.probes import edges
from pycute_xe.kernel.spec.evaluation import compute
from pycute_xe.kernel.spec.expression import Apply, Const, Element, Expression, Total, parts
from pycute_xe.kernel.spec.functions import MASKING, reduction

Array = Any
ROWS = ("near the least number", "minus infinity here and there", "of minus infinity", "with NaN")


def within(value: Expression) -> Iterator[Expression]:
    yield value
    for part in parts(value):
        yield from within(part)


def masks(kernel: Kernel) -> bool:
    """Whether a specification takes a greatest or least number, or masks something."""
    claims = kernel.computes.claims if kernel.computes is not None else ()
    for part in (part for claim in claims for part in within(claim.value)):
        match part:
            case Total(how=how) if reduction(how).law != "sum":
                return True
            case Const(number) if isinf(number):
                return True
            case Apply(name) if name in MASKING:
                return True
            case _:
                continue
    return False


def chosen_among(kernel: Kernel) -> set[str]:
    """The operands whose own elements a greatest or least number is one of."""

    def own(value: Expression) -> Iterator[str]:
        match value:
            case Element(operand):
                yield operand
            case Apply("mul") | Total():
                return
            case _:
                for part in parts(value):
                    yield from own(part)

    claims = kernel.computes.claims if kernel.computes is not None else ()
    totals = [x for claim in claims for x in within(claim.value) if isinstance(x, Total)]
    return {n for x in totals if reduction(x.how).law != "sum" for n in own(x.body)}


USUAL = ("softmax of long rows", "routing", "attention, packed batches")
MASKED = [name for name, case in CASES.items() if masks(case.make()[0])] if WHOLE else USUAL
"""Of all kinds in the long run; to look at each takes seconds."""


def rows_of(how: str, operand: cx.kernel.Operand, given: Array) -> Array:
    """The values of an operand with such rows among them."""
    rng, kind = np.random.default_rng(3), operand.value_type
    values = np.array(given, np.float64)
    match how:
        case "near the least number":
            most = float(edges(kind).max())
            values = most / 4096 * rng.integers(-8, 9, values.shape) - most / 2
        case "minus infinity here and there":
            values[rng.random(values.shape) < 0.2] = -np.inf
        case "of minus infinity":
            rows = rng.random((*values.shape[:-1], 1)) < 0.3
            values = np.where(rows, -np.inf, values) if values.ndim else values
        case _:
            values[rng.random(values.shape) < 0.1] = np.nan
    return convert(values, kind)


def held(kernel: Kernel, given: dict[str, Array]) -> None:
    sizes = {name: given[name] for name in kernel.sizes if name in given}
    with np.errstate(all="ignore"):
        wanted = compute(kernel.computes, kernel.operands, given, sizes)  # pyright: ignore[reportArgumentType]
        for executor in ("fast", "reference"):
            found = cx.run(kernel, **given, executor=executor)
            outputs = found if isinstance(found, tuple) else (found,)
            for operand, output in zip(kernel.outputs, outputs, strict=True):
                actual, right = (np.asarray(x, np.float64) for x in (output, wanted[operand.name]))
                if operand.value_type.kind != "float":  # a NaN is converted to any integer
                    right = np.where(np.isnan(right), actual, right)
                step = 2.0 ** -min(operand.value_type.row.significand or 53, 18)
                near = {"rtol": 4 * step, "atol": step}
                if operand.value_type.kind != "float":  # of what is quantised halves go either way
                    near = {"rtol": 0, "atol": float(operand.value_type.bits < 32)}
                np.testing.assert_allclose(actual, right, **near, err_msg=executor)


@pytest.mark.parametrize("how", ROWS)
@pytest.mark.parametrize("name", MASKED)
def test_rows_at_the_edges(name: str, how: str) -> None:
    kernel, given = CASES[name].make()
    named = {o.name: o for o in kernel.inputs if o.value_type.kind == "float" and o.name in given}
    if how == ROWS[0]:  # of products and sums nothing is left there but overflow
        named = {name: operand for name, operand in named.items() if name in chosen_among(kernel)}
        if not named:
            pytest.skip("its greatest number is one of products or sums")
    held(kernel, given | {name: rows_of(how, named[name], given[name]) for name in named})


@pytest.mark.parametrize(
    "options", [{"packed": True}, {"packed": True, "causal": True}, {"page": 64}]
)
def test_rows_without_elements(options: dict[str, Any]) -> None:
    held(*attended([(3, 0), (3, 20)], **options))
