"""Floor 9: conditions of elementwise statements: a bit for each of 16 elements."""

from __future__ import annotations

from collections.abc import Iterator

from pycute_xe.emitting.instructions import Alu
from pycute_xe.emitting.operands import Condition, Scalar, number, place
from pycute_xe.emitting.reading import LANES, WHOLE
from pycute_xe.emitting.registers import Registers
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import ELEMENT_INDEX, Index
from pycute_xe.kernel.spec.expression import Where

__all__ = ["compared", "lane_numbers"]


def lane_numbers(registers: Registers) -> Iterator[Alu]:
    """Yield what fills the register of the numbers of lanes, where one was asked for."""
    if not registers.counts_lanes:
        return
    name = registers.lanes()
    yield Alu("mov", 1, place(name, "d", 0, None), (number(0, "ud"),))
    for count in (1, 2, 4, 8):
        to, read = place(name, "d", count, None), place(name, "d", 0, WHOLE)
        yield Alu("add", count, to, (read, number(count, "ud")))


def compared(registers: Registers, value: Where, first: int) -> Alu:
    """Return the comparison that sets the predicate for 16 elements from ``first`` on.

    Raises `KernelError` where neither all lanes agree nor each is one further than the one before.
    """
    flags = registers.flags()
    own, rest = _parted(value)
    steps = [own.at({ELEMENT_INDEX: first + lane}) for lane in range(LANES)]
    step = steps[1] - steps[0]
    if step not in (-1, 0, 1) or steps != [steps[0] + lane * step for lane in range(LANES)]:
        raise _unsaid(value, "it is not a bound on the number of a lane")
    if not step:
        here = {ELEMENT_INDEX: Index(None, first)}
        condition = Condition(value.index.substitute(here), value.below.substitute(here))
        return Alu("cmp.ne", LANES, flags, (Scalar(condition), number(0, "d")))
    # lane < bound, or -lane + rest < 0
    how, bound = ("lt", -1 * (rest + steps[0])) if step > 0 else ("gt", rest + steps[0])
    lanes = place(registers.lanes(), "d", 0, WHOLE)
    return Alu(f"cmp.{how}", LANES, flags, (lanes, Scalar(bound)))


def _parted(value: Where) -> tuple[Index, Index]:
    """Return what is below zero where a condition holds: the element's part, and the rest."""
    terms = (value.index - value.below).terms
    own = Index.of({a: c for a, c in terms if ELEMENT_INDEX in Index.of({a: 1}, 0).names}, 0)
    if own.names - {ELEMENT_INDEX} or own.looked_up:
        raise _unsaid(value, "the element stands in one quotient with other names")
    return own, value.index - value.below - own


def _unsaid(value: Where, why: str) -> KernelError:
    return KernelError(
        "emit",
        {"value": value},
        f"the condition differs from element to element, and {why}",
        "run the kernel, or mask by an operand",
    )
