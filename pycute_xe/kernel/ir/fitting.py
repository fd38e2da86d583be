"""Floor 7: whether fragments that a statement names exist, and are of its size and type."""

from __future__ import annotations

from collections.abc import Iterable

from pycute_xe.bulk import table
from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.operands import Fragment
from pycute_xe.kernel.ir.program import Program
from pycute_xe.kernel.ir.statement import Statement
from pycute_xe.kernel.ir.statements import (
    Await,
    NamedBarrier,
    Part,
    SharedLoad,
    SharedStore,
    Signal,
)
from pycute_xe.layout import cosize, size
from pycute_xe.numeric import Numeric

__all__ = [
    "check_barrier",
    "check_counter",
    "check_named",
    "check_part",
    "check_shared",
    "check_slots",
    "check_type",
    "unfit",
]


def unfit(kernel: Program, given: dict[str, object], wrong: str, fix: str) -> KernelError:
    """Return the refusal of parts that do not fit."""
    return KernelError(kernel.name, given, wrong, fix)


def check_named(kernel: Program, fragments: Iterable[str]) -> None:
    """Raise `KernelError` for a fragment that the kernel does not have."""
    for name in fragments:
        kernel.fragment(name)


def check_type(kernel: Program, statement: Statement, fragment: Fragment, kind: Numeric) -> None:
    """Raise `KernelError` for a fragment of another type."""
    if fragment.value_type != kind:
        raise unfit(
            kernel,
            {"statement": type(statement).__name__, "fragment": fragment},
            f"the statement moves {kind}, the fragment holds {fragment.value_type}",
            "convert it with a Convert statement",
        )


def check_slots(kernel: Program, statement: Statement, name: str, slots: int) -> None:
    """Raise `KernelError` for a fragment of another size."""
    fragment = kernel.fragment(name)
    if fragment.slots != slots:
        raise unfit(
            kernel,
            {"statement": type(statement).__name__, "fragment": fragment},
            f"the statement moves {slots} slots, the fragment has {fragment.slots}",
            "give every subgroup the same share of the tile",
        )


def check_counter(kernel: Program, statement: Await | Signal) -> None:
    """Refuse a counter that is not an element of a writable 32-bit integer operand."""
    operand, wrong = kernel.operand(statement.operand), ""
    fix = 'declare Operand(name, "s32", modes, role="scratch")'
    if operand.value_type.kind == "float" or operand.value_type.bits != 32:
        wrong = f"a counter has 32 bits, {operand.name} holds {operand.value_type}"
    elif len(statement.at) != len(operand.modes):
        wrong = (
            f"{operand.name} has {len(operand.modes)} modes, {len(statement.at)} indices are given"
        )
    elif operand.role not in ("inout", "scratch"):
        wrong = f"{operand.name} has the role {operand.role}, a counter is read and written"
    elif isinstance(statement, Signal) and statement.by.is_constant and statement.by.offset < 0:
        wrong, fix = f"a counter only grows, the signal adds {statement.by}", "add 0 or more"
    if wrong:
        given: dict[str, object] = {"statement": type(statement).__name__, "operand": operand}
        raise unfit(kernel, given, wrong, fix)


def check_part(kernel: Program, part: Part) -> None:
    """Refuse to take elements that a fragment does not have, or another number than is wanted."""
    source, destination = kernel.fragment(part.source), kernel.fragment(part.destination)
    first, last, wrong = part.first, part.first + cosize(part.slots) - 1, ""
    if first < 0 or last >= source.elements:
        wrong = f"elements {first} to {last} are taken of {source.elements}"
    elif size(part.slots) != destination.elements:
        wrong = f"{size(part.slots)} elements are taken into {destination.elements}"
    if wrong:
        given: dict[str, object] = {"source": source, "destination": destination}
        raise unfit(kernel, given | {"slots": part.slots}, wrong, "take what the source has")
    check_type(kernel, part, destination, source.value_type)


def check_shared(kernel: Program, statement: SharedStore | SharedLoad) -> None:
    """Refuse places that are too few, or outside the array."""
    fragment, array = kernel.fragment(statement.fragment), kernel.shared_array(statement.array)
    count = kernel.subgroups * fragment.elements
    most = int(table(statement.places).max())
    if size(statement.places) != count or most >= array.elements:
        raise unfit(
            kernel,
            {"array": array, "fragment": fragment, "places": statement.places},
            f"{count} elements of all subgroups go to {size(statement.places)} places that reach "
            f"element {most} of {array.elements}",
            "map (subgroup, element) into the array",
        )
    check_type(kernel, statement, fragment, array.value_type)


def check_barrier(kernel: Program, barrier: NamedBarrier) -> None:
    """Refuse a barrier that counts more subgroups than there are."""
    most = max(barrier.producers, barrier.consumers)
    if most > kernel.subgroups:
        raise unfit(
            kernel,
            {"barrier": barrier},
            f"it counts {most} subgroups, the kernel has {kernel.subgroups}",
            "count those that arrive",
        )
