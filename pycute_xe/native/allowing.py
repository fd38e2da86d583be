"""How far the results of a binary may be apart from a run, output by output.

Functions that a device computes otherwise than NumPy have rows in ``atoms/tolerance.toml``, and
what is made of their results is allowed as much; other outputs are equal byte for byte. A narrow
type is rounded to last: the tolerance holds before that rounding, and what it leaves behind it is
often one number. So the rounding is judged by itself (`Rounding`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from pycute_xe.facts import rows
from pycute_xe.kernel import Convert, Fragment, Kernel, Map, Statement
from pycute_xe.kernel.spec.expression import Apply, Const, Expression, Rounded, Slot, apply, parts
from pycute_xe.kernel.spec.functions import FUNCTIONS
from pycute_xe.native.restated import as_convert

__all__ = ["Rounding", "allowances", "roundings", "tolerance", "used"]

ROUNDED = "rounded"
"""Stands among functions for what was rounded behind one of them."""


def tolerance(kernel: Kernel) -> float:
    """Return how far results may be apart, as a share of the largest element; 0 for equal bytes.

    It is the largest of what is allowed for any output.
    """
    return max(allowances(kernel).values(), default=0.0)


def allowances(kernel: Kernel) -> dict[str, float]:
    """Return how far each output may be apart, as a share of its largest element.

    It is the sum of what the rows of ``atoms/tolerance.toml`` allow for each function that the
    output is made with, wherever a statement may take a value from.
    """
    known, made = _known(), _made_with(kernel)
    return {
        o.name: sum(known[name] for name in sorted(made.get(o.name, frozenset()) & known.keys()))
        for o in kernel.outputs
    }


def _known() -> dict[str, float]:
    """What is allowed for a function."""
    return {
        cast("str", row["function"]): 2.0 ** -cast("int", row["bits"])
        for row in rows("tolerance", "function")
    }


# ------------------------------------------------------------ functions


def used(statement: Statement) -> Iterator[str]:
    """Yield the functions that a statement applies, as those that they are made of."""
    move, elementwise = statement.touched.move, statement.touched.elementwise
    if elementwise is not None:
        yield from _functions(elementwise.value)
    if move is not None and move.how:
        yield "reduce"


def _functions(value: Expression) -> Iterator[str]:
    if isinstance(value, Apply):
        yield from _made_of(value.function)
    for part in parts(value):
        yield from _functions(part)


def _made_of(term: object) -> Iterator[str]:
    """The functions that one is made of, or itself."""
    made = FUNCTIONS[term].of if isinstance(term, str) and term in FUNCTIONS else None
    if isinstance(term, tuple):
        name, *arguments = cast("tuple[object, ...]", term)
        yield from _made_of(name)
        for argument in arguments:
            yield from _made_of(argument)
    elif made is not None:
        yield from _made_of(made)
    elif isinstance(term, str):
        yield term


def _made_with(kernel: Kernel) -> dict[str, frozenset[str]]:
    """Which tolerated functions the values of each name went through, in whatever order.

    Statements are taken until nothing is added: what any of them may take is counted.
    """
    known, made = _known().keys(), dict[str, frozenset[str]]()
    moved = True
    while moved:
        moved = False
        for statement in kernel.statements():
            touched = statement.touched
            taken = (
                *touched.reads,
                *touched.updates,
                *touched.from_memory,
                *touched.from_shared,
            )
            mine = frozenset(used(statement)) & known
            mine = mine.union(*(made.get(name, frozenset()) for name in taken))
            if mine and _rounds(kernel, statement):
                mine |= {ROUNDED}
            for name in (
                *touched.writes,
                *touched.updates,
                *touched.to_memory,
                *touched.to_shared,
            ):
                before = made.get(name, frozenset())
                made[name] = before | mine
                moved |= made[name] != before
    return made


def _rounds(kernel: Kernel, statement: Statement) -> bool:
    """Whether a statement converts what it takes to another type."""
    move, elementwise = statement.touched.move, statement.touched.elementwise
    if move is not None:
        source, destination = map(kernel.fragment, (move.source, move.destination))
        if source.value_type != destination.value_type:
            return True
    return elementwise is not None and _has_rounded(elementwise.value)


def _has_rounded(value: Expression) -> bool:
    return isinstance(value, Rounded) or any(map(_has_rounded, parts(value)))


# ------------------------------------------------------------ the last rounding


@dataclass(frozen=True)
class Rounding:
    """The conversions that an output is stored behind, and nothing is rounded before.

    ``conversions`` are statements, each with the `Convert` that does the same.

    Law: rounding is monotone. Where a value is off by at most ``by`` before it, its rounded value
    lies between those of the values ``by`` below and ``by`` above (`moved`): a binary that rounds
    otherwise is outside wherever both are one number, as most are.
    """

    kernel: Kernel
    conversions: tuple[tuple[Statement, Convert], ...]

    def moved(self, by: float) -> Kernel:
        """Return the kernel with so much added to what is converted; it claims nothing."""
        kernel = self.kernel.without_claims()
        names = {f.name for f in kernel.fragments}
        for statement, conversion in self.conversions:
            source = kernel.fragment(conversion.source)
            name = next(n for i in range(len(names) + 1) if (n := f"off{i}") not in names)
            names.add(name)
            fragment = Fragment(name, source.value_type, source.slots)
            value = apply("add", Slot(source.name), Const(by))
            kernel = replace(kernel, fragments=(*kernel.fragments, fragment))
            shifted = replace(conversion, source=name)
            kernel = kernel.replace(statement, (Map(name, value), shifted))
        return kernel


def roundings(kernel: Kernel) -> Mapping[str, Rounding]:
    """Return the last roundings of outputs behind functions with a tolerance, by output.

    Left out are outputs that are also stored otherwise, and those that were rounded before: there
    a value that is a little off may be a step off.
    """
    made, statements = _made_with(kernel), [*kernel.statements()]
    writers: dict[str, list[Statement]] = {}
    for statement in statements:
        touched = statement.touched
        for name in (*touched.writes, *touched.updates, *touched.to_memory):
            writers.setdefault(name, []).append(statement)
    out: dict[str, Rounding] = {}
    for operand in kernel.outputs:
        stored = [_stored(statement, operand.name) for statement in writers.get(operand.name, [])]
        last = [w for fragment in stored for w in writers.get(fragment, [])]
        conversions = {w: c for w in last if (c := as_convert(w)) is not None}
        sources = [conversion.source for conversion in conversions.values()]
        behind = [made.get(name, frozenset()) for name in sources]
        only = all(stored) and len(conversions) == len({*last})
        floats = all(kernel.fragment(name).value_type.kind == "float" for name in sources)
        if (
            conversions
            and only
            and floats
            and any(behind)
            and not any(ROUNDED in b for b in behind)
        ):
            out[operand.name] = Rounding(kernel, tuple(conversions.items()))
    return out


def _stored(statement: Statement, operand: str) -> str:
    """Return the fragment that replaces elements of an operand; "" where they change otherwise."""
    memory = statement.touched.memory
    if memory is None or not memory.overwrites or memory.operand != operand:
        return ""
    return memory.fragment
