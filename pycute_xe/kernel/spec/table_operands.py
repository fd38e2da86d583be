"""Whether what is assumed of tables, and which outputs are tickets, fits a kernel's operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.spec.tables import (
    Assumption,
    AtMost,
    Bins,
    Distinct,
    InRange,
    Permutation,
    Rising,
    Runs,
    Sorted,
    Tickets,
)

__all__ = ["check_tables", "drawn"]


def drawn(tickets: Tickets, known: Mapping[str, Operand]) -> Operand:
    """Return an output that is tickets, as other claims see it: its entries can be looked up."""
    drawn, of = known.get(tickets.operand), known.get(tickets.of)
    if drawn is None or drawn.role != "out" or of is None or of.role != "in":
        wrong = f"{tickets.operand} is not an output and {tickets.of} an input"
        raise KernelError("computes", {"claim": tickets}, wrong, "draw tickets of an input")
    given = replace(drawn, role="in")
    check_tables(tickets, {**known, drawn.name: given})
    return given


def check_tables(assumption: Assumption, known: Mapping[str, Operand]) -> None:
    """Refuse an assumption on what is not a table of integers, or not one of its modes."""
    for name in sorted(assumption.tables):
        if name not in known or known[name].value_type.kind == "float":
            wrong = f"{name} is not an operand of integers"
            fix = "assume something of operands that are looked up"
            raise KernelError("computes", {"assuming": assumption}, wrong, fix)
        if known[name].role != "in":
            wrong = f"{name} is written by the kernel, so that it is not a table"
            fix = "assume something of inputs, and claim what is written"
            raise KernelError("computes", {"assuming": assumption}, wrong, fix)
    _check_indices_of(assumption, known)
    wrong = _misfit(assumption, known)
    if wrong:
        raise KernelError("computes", {"assuming": assumption}, wrong, "give a table of as many")


def _misfit(assumption: Assumption, known: Mapping[str, Operand]) -> str:
    """Return in words that a table has other modes than is spoken of; empty where it fits."""
    match assumption:
        case AtMost():
            return ""
        case Runs(name, other) | Tickets(name, other):
            if known[name].modes != known[other].modes:
                return f"{name} and {other} are not equally long"
            modes = 1 if isinstance(assumption, Runs) else len(known[name].modes)
        case InRange(name, _, at):
            modes = len(at)
        case Rising(name) | Sorted(name) | Distinct(name) | Permutation(name) | Bins(name):
            modes = 1
    count = len(known[name].modes)
    return "" if count == modes else f"{name} has {count} modes, the assumption speaks of {modes}"


def _check_indices_of(assumption: Assumption, known: Mapping[str, Operand]) -> None:
    """Refuse names that are neither sizes nor variables, and lookups with too few indices."""
    sizes = {n for x in known.values() for mode in x.modes for n in mode.names}
    match assumption:
        case InRange(below=below, at=own, when=when):
            indices = [below, *(index for pair in when for index in pair)]
        case AtMost(index, most, over):
            own = tuple(name for name, _ in over)
            indices = [index, most, *(extent for _, extent in over)]
        case Rising(to=to) | Runs(to=to) | Bins(to=to):
            own, indices = (), [to]
        case Sorted() | Distinct() | Permutation() | Tickets():
            return
    for index in indices:
        for name in sorted(index.names - sizes - {*own}):
            wrong, fix = f"{name} is neither a size nor a variable", "say over=((name, extent),)"
            raise KernelError("computes", {"assuming": assumption}, wrong, fix)
        for one in index.looked_up:
            if len(one.at) != len(known[one.operand].modes):
                wrong = f"{one} does not look an element of {known[one.operand]} up"
                fix = "give an index for each mode"
                raise KernelError("computes", {"assuming": assumption}, wrong, fix)
