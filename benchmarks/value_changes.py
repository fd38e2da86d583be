"""What is done to the expressions of random kernels: functions, operands, roundings."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from typing import TypeAlias

from pycute_xe.kernel import Expression, If, Index, Kernel, Map, Slot, apply, rounded_to
from pycute_xe.kernel.spec.expression import Apply, Const, Rounded, Where, leaves, parts

Bend: TypeAlias = Callable[[random.Random, Expression], Expression | None]

FUNCTIONS = (("add", "mul", "div"), ("max", "min"), ("tanh", "sigmoid", "relu", "abs", "exp"))


def other_function(r: random.Random, value: Expression) -> Expression | None:
    """Take another function of as many arguments."""
    if not isinstance(value, Apply):
        return None
    like = [names for names in FUNCTIONS if value.function in names]
    names = [n for names in like for n in names if n != value.function]
    return Apply(r.choice(names), value.arguments) if names else None


def other_order(r: random.Random, value: Expression) -> Expression | None:
    """Exchange two arguments."""
    if not isinstance(value, Apply) or len(value.arguments) < 2:
        return None
    arguments = list(value.arguments)
    r.shuffle(arguments)
    return Apply(value.function, tuple(arguments))


def inner_alone(r: random.Random, value: Expression) -> Expression | None:
    """Leave a function, a rounding or a condition out."""
    if isinstance(value, Apply):
        return r.choice(value.arguments)
    if isinstance(value, Rounded):
        return value.body
    return r.choice([value.then, value.otherwise]) if isinstance(value, Where) else None


def other_number(r: random.Random, value: Expression) -> Expression | None:
    """Take another number."""
    return (
        Const(r.choice([0.0, -value.value, value.value + 1])) if isinstance(value, Const) else None
    )


def other_rounding(r: random.Random, value: Expression) -> Expression | None:
    """Round to another narrow type, or where nothing was rounded."""
    if isinstance(value, Rounded):
        return rounded_to("f16" if value.to.name == "bf16" else "bf16", value.body)
    return rounded_to(r.choice(["bf16", "f16"]), value)


def other_condition(r: random.Random, value: Expression) -> Expression | None:
    """Bend a condition."""
    if not isinstance(value, Where):
        return None
    by = r.choice([-1, 1])
    return r.choice(
        [
            dataclasses.replace(value, below=value.below + by),
            dataclasses.replace(value, then=value.otherwise, otherwise=value.then),
        ]
    )


def done_twice(r: random.Random, value: Expression) -> Expression | None:
    """Do something to the result once more, or what changes nothing."""
    if isinstance(value, Const):
        return None
    return r.choice([value + value, apply("max", value, value), value * 1.0, value + 0.0, -value])


BENDS: tuple[Bend, ...] = (
    *(other_function, other_order, inner_alone, other_number),
    *(other_rounding, other_condition, done_twice),
)


def _all(value: Expression) -> Iterator[Expression]:
    yield value
    for part in parts(value):
        yield from _all(part)


def _exchanged(value: Expression, old: Expression, new: Expression) -> Expression:
    """Return an expression with a part exchanged, wherever it stands."""
    if value == old:
        return new
    if isinstance(value, Apply):
        inner = tuple(_exchanged(a, old, new) for a in value.arguments)
        return dataclasses.replace(value, arguments=inner)
    if isinstance(value, Where):
        then, other = (_exchanged(a, old, new) for a in (value.then, value.otherwise))
        return dataclasses.replace(value, then=then, otherwise=other)
    if isinstance(value, Rounded):
        return dataclasses.replace(value, body=_exchanged(value.body, old, new))
    return value


def mapped(r: random.Random, kernel: Kernel) -> Kernel:
    """Bend a part of what a map computes."""
    maps = [s for s in kernel.statements() if isinstance(s, Map)]
    if not maps:
        return kernel
    statement = r.choice(maps)
    bend = r.choice(BENDS)
    found = [(p, bend(r, p)) for p in _all(statement.value)]
    pairs = [(old, new) for old, new in found if new is not None]
    if not pairs:
        return kernel
    value = _exchanged(statement.value, *r.choice(pairs))
    return kernel.replace(statement, _map(statement, value))


def operands(r: random.Random, kernel: Kernel) -> Kernel:
    """Let a map take one operand for another."""
    maps = [s for s in kernel.statements() if isinstance(s, Map)]
    if not maps:
        return kernel
    statement = r.choice(maps)
    known = list(dict.fromkeys(leaves(statement.value)))
    if len(known) < 2:
        return kernel
    old, new = r.sample(known, 2)
    return kernel.replace(statement, _map(statement, _exchanged(statement.value, old, new)))


def late(r: random.Random, kernel: Kernel) -> Kernel:
    """Do a map only where a condition holds."""
    maps = [s for s in kernel.statements() if isinstance(s, Map)]
    if not maps:
        return kernel
    statement = r.choice(maps)
    var = Index(r.choice([name for name, _ in kernel.grid]))
    below = r.choice([Index(None, 1), Index(None, 2), Index(r.choice(kernel.sizes))])
    return kernel.replace(statement, If(var, below, (statement,)))


def _map(old: Map, value: Expression) -> Map:
    used = {x.fragment for x in leaves(value) if isinstance(x, Slot)}
    return Map(old.destination, value, tuple((n, by) for n, by in old.gathers if n in used))
