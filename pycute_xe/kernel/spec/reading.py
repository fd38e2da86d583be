"""Specifications read from text: states that are defined step by step, and claims of outputs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pycute_xe.errors import KernelError, quoted
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.spec.equations import Notation, ranges_of, read_claim, tree_of
from pycute_xe.kernel.spec.expression import Element, Expression, leaves
from pycute_xe.kernel.spec.recurrences import Jump, Recurrence
from pycute_xe.kernel.spec.specification import WRAPPING, Claim, Overflow, Specification
from pycute_xe.kernel.spec.tables import Tickets
from pycute_xe.numeric import as_numeric
from pycute_xe.signatures import typed

__all__ = ["read_given", "read_jump", "read_recurrence", "read_specification", "read_tickets"]

_ROUNDED = "without roundings to "
_TICKETS = re.compile(r"^\s*(?P<operand>\w+) are tickets of (?P<of>\w+)\s*$")
_JUMPS = re.compile(r"^\w+\[\s*[A-Za-z_]\w*\s*\+\s*[A-Za-z_]")


@typed
def read_specification(text: str, operands: tuple[Operand, ...]) -> Specification:
    """Return the specification that a text says, an equation for each output on a line of its own.

    ``sum(k, …)`` and ``max(k, …)`` run as far as the mode that ``k`` indexes, ``sum(k < 8, …)``
    says how far; a last argument ``f32`` is the type of the accumulator. ``where(i < j, x, y)`` is
    ``x`` where the condition is true; a type's name, called, rounds to it. Law: a specification is
    read back from what it prints. Raises `KernelError` for what has no meaning, and for what does
    not fit the operands.

    >>> A, R = Operand("A", "f32", ("M", "N")), Operand("R", "f32", ("M",), role="out")
    >>> print(read_specification("R[m] = sum(n, relu(A[m,n]))", (A, R)))
    R[m] = sum(n, relu(A[m,n]))
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    overflow: Overflow = "wraps" if WRAPPING in lines else "assumed"
    lines = [line for line in lines if line != WRAPPING]
    assumed = tuple(x.removeprefix("assuming ") for x in lines if x.startswith("assuming "))
    kinds = [x.removeprefix(_ROUNDED) for x in lines if x.startswith(_ROUNDED)]
    known_to_be = [x.removeprefix("given ") for x in lines if x.startswith("given ")]
    equations = [x for x in lines if x and not x.startswith(("assuming ", "given ", _ROUNDED))]
    names = {o.name for o in operands}
    states = [x for x in equations if _name_of(x) not in names and read_tickets(x) is None]
    later = [x for x in states if _JUMPS.search(x)]
    lines = [x for x in states if x not in later]
    defines: tuple[Recurrence, ...] = ()
    for first, step in zip(lines[::2], lines[1::2], strict=False):
        known = (*operands, *(one.operand for one in defines))
        defines = (*defines, read_recurrence(first, step, known))
    known = (*operands, *(one.operand for one in defines))
    jumps = tuple(read_jump(x, known) for x in later)
    claims = [x for x in equations if x not in (*lines[: 2 * len(defines)], *later)]
    tickets = tuple(filter(None, map(read_tickets, claims)))
    claimed = tuple(read_claim(x, known) for x in claims if read_tickets(x) is None)
    given = tuple(read_given(x, known) for x in known_to_be)
    real = tuple(map(as_numeric, kinds))
    made = Specification(claimed, assumed, defines, (), jumps, given, tickets, real, overflow)
    made.check(operands)
    return made


def read_tickets(text: str) -> Tickets | None:
    """Return what a line says of an output that is tickets; None for any other line.

    >>> print(read_tickets("places are tickets of ids"), read_tickets("D[m] = 1"))
    places are tickets of ids None
    """
    read = _TICKETS.match(text)
    return None if read is None else Tickets(read["operand"], read["of"])


def _name_of(equation: str) -> str:
    return equation.partition("[")[0].strip()


def read_recurrence(first: str, step: str, operands: Iterable[Operand]) -> Recurrence:
    """Return the state that two equations define: at 0, and one step on.

    ``S[0,d] = 0`` and ``S[t+1,d] = g[t]*S[t,d] + x[t,d]``: each index runs as far as a mode of an
    operand that it indexes, or as ``for t < T`` says behind the step. Raises `KernelError` for
    what has no meaning.

    >>> g, x = Operand("g", "f32", ("T",)), Operand("x", "f32", ("T", "D"))
    >>> made = read_recurrence("S[0,d] = 0", "S[t+1,d] = g[t]*S[t,d] + x[t,d]", (g, x))
    >>> print(made.operand, "|", str(made).splitlines()[1])
    S[T+1,D] f32 row-major | S[t+1,d] = g[t]*S[t,d] + x[t,d]
    """
    known = {operand.name: operand for operand in operands}
    step, _, ranges = step.partition(" for ")
    given, _ = ranges_of(ranges)
    name, _, rest = step.partition("[")
    left, _, right = rest.partition("]")
    names = tuple(part.strip() for part in left.split(","))
    counter = names[0].partition("+")[0].strip()
    if names[0].replace(" ", "") != f"{counter}+1" or not right.strip().startswith("="):
        wrong, fix = f"{quoted(step)} does not say a step", 'write "S[t+1,d] = g[t]*S[t,d]"'
        raise KernelError("computes", {"text": step[:80]}, wrong, fix)
    indices, name = (counter, *names[1:]), name.strip()
    anywhere = Operand(name, "f32", tuple(f"{i}_{name}" for i in indices))
    begun = first.partition("=")[2].strip()
    values: list[Expression] = []
    for text, bound in ((begun, indices[1:]), (right.partition("=")[2].strip(), indices)):
        values.append(Notation(text, frozenset(), bound, {**known, name: anywhere}).whole())
    extents = tuple(
        _read(given[i], known) if i in given else _extent_of(i, values, known, step)
        for i in indices
    )
    return Recurrence(name, indices, extents, values[0], values[1])


def read_jump(text: str, operands: Iterable[Operand]) -> Jump:
    """Return what an equation says a state is some steps on.

    ``S[t+i,d] = g[t]*S[t,d] + sum(j < i, x[t+j,d]) for i < 17``: up to 16 steps; ``S[t+i+1,d] = …
    for i < 16`` leaves out what it is after none. Raises `KernelError` for what has no meaning.

    >>> x, S = Operand("x", "f32", ("T", "D")), Operand("S", "f32", ("T", "D"))
    >>> print(read_jump("S[t+i,d] = S[t,d] + sum(j < i, x[t+j,d]) for i < 17", (x, S)))
    S[t+i,d] = S[t,d] + sum(j < i, x[j+t,d]) for i < 17
    """
    equation, _, ranges = text.partition(" for ")
    left, _, right = equation.partition("=")
    name, _, places = left.strip().rstrip("]").partition("[")
    first, *others = (part.strip() for part in places.split(","))
    given, _ = ranges_of(ranges)
    time, *steps = (part.strip() for part in first.split("+"))
    later, more = steps[0] if steps else "", steps[1:]
    if not given.get(later, "").isdigit() or more not in ([], ["1"]):
        wrong = f"{quoted(text)} does not say how many steps on it is so"
        fix = 'write "S[t+i,d] = … for i < 17" of 16 steps'
        raise KernelError("computes", {"text": text[:80]}, wrong, fix)
    indices, known = (time, later, *others), {operand.name: operand for operand in operands}
    value = Notation(right.strip(), frozenset(), indices, known).whole()
    return Jump(name.strip(), indices, int(given[later]) - 1 + len(more), value, len(more))


def read_given(text: str, operands: Iterable[Operand]) -> Claim:
    """Return what an equation says an input is. Raises `KernelError` where it looks places up.

    >>> X, S = Operand("X", "f32", ("T", "D")), Operand("S", "f32", ("D", "T"))
    >>> print(read_given("X[t,d] = S[d,t]", (X, S)))
    X[t,d] = S[d,t]
    """
    claim = read_claim(text, operands)
    if not isinstance(claim, Claim):
        wrong, fix = f"{quoted(text)} looks places up", 'write "X[t,d] = S[d,t]"'
        raise KernelError("computes", {"text": text[:80]}, wrong, fix)
    return claim


def _read(extent: str, known: dict[str, Operand]) -> Index:
    reader = Notation(extent, frozenset(), (), known)
    return tree_of(extent, "computes", reader.index)


def _extent_of(index: str, values: list[Expression], known: dict[str, Operand], text: str) -> Index:
    """Return how far an index of a state runs."""
    for x in (x for value in values for x in leaves(value) if isinstance(x, Element)):
        operand = known.get(x.operand)
        for at, mode in zip(x.at, operand.modes if operand else (), strict=False):
            if at == Index(index):
                return mode
    wrong = f"{index} indexes no mode of an operand, so nothing says how far it runs"
    fix = "name an element of an operand with that index"
    raise KernelError("computes", {"text": text[:80]}, wrong, fix)
