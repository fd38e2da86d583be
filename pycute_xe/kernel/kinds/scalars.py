"""Names without indices in expressions: one number each, and refused where they look like slips."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from pycute_xe.errors import KernelError
from pycute_xe.kernel.spec.expression import Element, Expression, Slot, leaves
from pycute_xe.kernel.spec.functions import FUNCTIONS

__all__ = ["demand_scalars", "nearest_name"]


def demand_scalars(
    operation: str,
    value: Expression,
    fragments: Collection[str],
    operands: Iterable[str] = (),
    declared: Collection[str] = (),
) -> Expression:
    """Return an expression, whose names without indices are numbers that a run is given.

    ``fragments`` names what stands in registers. A name that is ``declared`` is a number. Raises
    `KernelError` for others that resemble what is held or an operand, or name a function, and
    where an expression reads nothing that is held.

    >>> from pycute_xe.kernel.spec.equations import parse
    >>> def read(text):
    ...     return demand_scalars("epilogue", parse(text, frozenset({"acc"}), ("m",)), ("acc",))
    >>> print(read("alpha*acc"))
    alpha*acc
    >>> read("relu(ac)")
    Traceback (most recent call last):
        ...
    pycute_xe.errors.KernelError: epilogue(name=ac): ac stands for one number, and resembles acc. \
Way out: write acc, or declare the number: types={"ac": "f32"}
    """
    reads = list(leaves(value))
    bare = dict.fromkeys(x.operand for x in reads if isinstance(x, Element) and not x.at)
    bare = [name for name in bare if name not in declared and name != "C"]
    known = {"A", "B", "C", "D", *operands, *fragments}
    known |= {x.operand for x in reads if isinstance(x, Element) and x.at}
    for name in bare:
        number = f'declare the number: types={{"{name}": "f32"}}'
        near = nearest_name(name, known)
        if near not in ("", name):  # two operands of one name are refused elsewhere
            wrong = f"{name} stands for one number, and resembles {near}"
            raise KernelError(operation, {"name": name}, wrong, f"write {near}, or {number}")
        if name in FUNCTIONS:
            wrong, call = f"{name} is a function, and has no argument", f"{name}({min(fragments)})"
            raise KernelError(operation, {"name": name}, wrong, f"write {call}, or {number}")
    if bare and not any(isinstance(x, Slot) for x in reads):
        first = " or ".join(sorted(fragments))
        wrong = f"it does not read {first}, and {bare[0]} stands for one number"
        fix = f'use {first}, or declare the number: types={{"{bare[0]}": "f32"}}'
        raise KernelError(operation, {"value": value}, wrong, fix)
    return value


def nearest_name(name: str, known: Collection[str]) -> str:
    """Return the name that a bare one resembles: in another case, or nearly; empty for none.

    >>> nearest_name("ac", ["acc", "bias"]), nearest_name("alpha", ["acc", "bias"])
    ('acc', '')
    """
    plain = {other.casefold(): other for other in known}
    if name.casefold() in plain:
        return plain[name.casefold()]
    near = get_close_matches(name.casefold(), plain, n=1, cutoff=0.75)
    return plain[near[0]] if near else ""
