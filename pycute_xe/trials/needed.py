"""Which of a kernel's assumptions on tables are needed: it is verified without each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from pycute_xe.clock import deadline, stopwatch
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Assumption, Counterexample, Kernel, Specification
from pycute_xe.kernel.counterexample import array_of
from pycute_xe.kernel.spec.table_checks import broken
from pycute_xe.naming.subjects import Named, kernel_of
from pycute_xe.signatures import checked_fields, typed
from pycute_xe.trials.verifier import verify_kernel
from pycute_xe.typing import glance, shown
from pycute_xe.verifying.verdict import BUDGET, Verdict

__all__ = ["Needed", "NeededAssumptions", "needed_assumptions"]

PATIENCE = 8
"""How many times as much is run as for other proofs: one run that goes wrong says it all."""

IsNeeded: TypeAlias = Literal["needed", "not needed", "undecided"]


@checked_fields
@dataclass(frozen=True, slots=True)
class Needed:
    """Whether an assumption is needed: only "needed" is truthy.

    "needed" comes with a ``counterexample`` whose tables break this assumption and no other, which
    was replayed; "not needed" says that the kernel is proved without it; "undecided" has a
    ``reason``. ``seconds`` is the time that it took.
    """

    assumption: Assumption
    answer: IsNeeded
    counterexample: Counterexample | None = None
    reason: str = ""
    seconds: float = field(default=0.0, compare=False)

    def __bool__(self) -> bool:
        """Whether the assumption is needed."""
        return self.answer == "needed"

    @property
    def why(self) -> str:
        """What goes wrong without it and the tables that show it, or why that is not decided."""
        place = self.counterexample
        if place is None:
            return self.reason
        sizes = " ".join(f"{name}={size}" for name, size in place.sizes.items())
        tables = [f"{name} = {array_of(of).tolist()}" for name, of in place.tables.items()]
        return "\n".join([f"{place.claim}: {place.message}", *tables, sizes])


@checked_fields
@dataclass(frozen=True, slots=True)
class NeededAssumptions:
    """The assumptions of a kernel and whether each is needed; truthy where all are."""

    kernel: str
    rows: tuple[Needed, ...]

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The kind and the first line of the text."""
        return glance(self)

    def __bool__(self) -> bool:
        """Whether all assumptions are needed."""
        return all(self.rows)

    def __str__(self) -> str:
        """How many are needed, and for each what goes wrong without it."""
        count = sum(map(bool, self.rows))
        lines = [f"{self.kernel}: {count} of {len(self.rows)} assumptions on tables are needed"]
        marks = {"needed": "✓", "not needed": "✗", "undecided": "?"}
        for row in self.rows:
            lines.append(f"  {marks[row.answer]} {row.answer:<10}  {row.assumption}")
            lines += [f"{'':16}{line}" for line in row.why.splitlines()]
        return "\n".join(lines)


@typed
def needed_assumptions(
    kernel: Kernel | Named,
    params: Mapping[str, int] | None = None,
    *,
    budget: float = BUDGET,
    seconds: float | None = None,
) -> NeededAssumptions:
    """Tell which of a kernel's assumptions on tables are needed: it is verified without each.

    Where it is disproved, tables that meet all other assumptions show what goes wrong, and the
    assumption is needed. Where it is proved still, it is not needed and can be deleted: one at a
    time, since of two that follow from each other neither is needed. ``params``, ``budget`` for
    each assumption and ``seconds`` for all of them are as for `verify`. Of a kernel that is wrong
    with all of its assumptions nothing is said of any. Raises `KernelError` for a kernel that
    assumes nothing of tables, and as `verify` does.

    >>> import pycute_xe as cx
    >>> print(str(needed_assumptions(cx.kernel.rope(16))).splitlines()[1].strip())
    ✓ needed      0 <= positions[i] < P
    """
    kernel = kernel_of("needed_assumptions", kernel)
    computes = kernel.computes
    if computes is None or not computes.tables:
        wrong = "it assumes nothing of tables"
        fix = "name what it takes for granted by KernelBuilder.assume"
        raise KernelError("needed_assumptions", {"kernel": kernel.name}, wrong, fix)
    with deadline("needed_assumptions", seconds):
        return _needed(kernel, computes, params, budget)


def _needed(
    kernel: Kernel, computes: Specification, params: Mapping[str, int] | None, budget: float
) -> NeededAssumptions:
    """Return a row for each assumption; none is needed or not in a kernel that is wrong anyway."""
    rows = tuple(_row(kernel, computes, one, params, budget) for one in computes.tables)
    if not any(row.answer == "not needed" for row in rows):
        whole = verify_kernel(kernel, params, budget=budget)
        if whole.answer in ("disproved", "needs"):
            reason = "the kernel is wrong with all of its assumptions: verify(kernel) shows where"
            rows = tuple(Needed(r.assumption, "undecided", None, reason, r.seconds) for r in rows)
    return NeededAssumptions(kernel.name, rows)


def _row(
    kernel: Kernel,
    computes: Specification,
    assumption: Assumption,
    params: Mapping[str, int] | None,
    budget: float,
) -> Needed:
    """Return whether an assumption is needed, as far as the kernel without it tells."""
    elapsed = stopwatch()
    without = replace(kernel, computes=computes.without(assumption))
    verdict = verify_kernel(without, params, budget=budget, patience=PATIENCE)
    answer, place, reason = _read(kernel, assumption, verdict)
    return Needed(assumption, answer, place, reason, elapsed())


def _read(
    kernel: Kernel, assumption: Assumption, verdict: Verdict
) -> tuple[IsNeeded, Counterexample | None, str]:
    """Return what a verdict without an assumption says of it."""
    place = verdict.counterexample
    if verdict:
        return "not needed", None, "the kernel is proved without it"
    if place is None:
        reasons = (f"{p.property}: {p.reason}" for p in verdict.proofs if p.reason)
        return "undecided", None, "\n".join(dict.fromkeys(reasons))
    tables = {name: array_of(entries) for name, entries in place.tables.items()}
    modes = {o.name: o.modes for o in kernel.operands}
    if not assumption.tables <= tables.keys():
        return "undecided", None, f"the kernel is wrong without it, whatever tables hold: {place}"
    if broken(assumption, modes, tables, place.sizes) is None:
        return "undecided", None, f"the kernel is wrong where it is so, too: {place}"
    return "needed", place, ""
