"""What a proof came to, as values for people and programs."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from pycute_xe.errors import InputError
from pycute_xe.kernel import Counterexample
from pycute_xe.kernel.counterexample import Entries
from pycute_xe.kernel.spec.specification import Overflow
from pycute_xe.signatures import checked_fields
from pycute_xe.typing import glance, shown

if TYPE_CHECKING:
    from pycute_xe.verifying.regions import Region

__all__ = [
    "BUDGET",
    "UNITS",
    "Answer",
    "Attempt",
    "Failure",
    "Proof",
    "Run",
    "Tried",
    "Verdict",
    "demand_budget",
]

BUDGET = 10.0
"""The work that a proof may take where a call does not say."""
UNITS = 600_000
"""Units of work that a budget of 1 allows: about a third of a second on an idle machine."""


def demand_budget(budget: object) -> None:
    """Raise `InputError` for what is not a positive amount of work."""
    if not isinstance(budget, (int, float)) or isinstance(budget, bool) or not budget > 0:
        wrong = f"budget is {budget!r}, and a budget is a positive amount of counted work"
        raise InputError("verify", {"budget": budget}, wrong, "use budget=10")


# ------------------------------------------------------------ failures
# Where a kernel fails first: the smallest problem, the work-item, the elements.


@dataclass(frozen=True)
class Failure:
    """A smallest failing point: sizes and variables by name, and what is wrong there.

    ``element`` and ``found`` are the elements of ``operand`` that should be, and that is, at the
    place; ``output`` and ``index`` say where running the kernel shows it. ``faults`` tells that
    running it is stopped by the machine instead. ``filled`` are inputs that show it, where they are
    one number everywhere, ``tables`` those that are looked up.
    """

    claim: str
    message: str
    sizes: Mapping[str, int]
    variables: Mapping[str, int]
    operand: str = ""
    element: tuple[int, ...] | None = None
    found: tuple[int, ...] | None = None
    output: str = ""
    index: tuple[int, ...] = ()
    subgroup: int = 0
    register_element: int = 0
    element_bits: int = 32
    faults: bool = False
    filled: tuple[tuple[str, float], ...] = ()
    tables: tuple[tuple[str, Entries], ...] = ()
    points: Region | None = field(default=None, compare=False)

    @property
    def key(self) -> tuple[object, ...]:
        """Order of failures: the sum of the sizes, the sizes, the variables, the place."""
        return (
            sum(self.sizes.values()),
            tuple(self.sizes.values()),
            tuple(self.variables.values()),
        )

    @property
    def rank(self) -> tuple[object, ...]:
        """Order of failures of a kernel: at equal sizes what stops a run comes first."""
        size, sizes, place = self.key
        return size, sizes, not self.faults, place

    @property
    def lane_and_value(self) -> tuple[int, int]:
        """The work-item of its subgroup that owns the register element, and which of its values."""
        packed = max(1, 8 // self.element_bits)
        unit, inside = divmod(self.register_element, packed)
        return unit % 16, unit // 16 * packed + inside


# ------------------------------------------------------------ verdict

Answer = Literal["proved", "disproved", "needs", "undecided"]

MARKS = {"proved": "✓", "disproved": "✗", "needs": "!", "undecided": "?"}


@checked_fields
@dataclass(frozen=True, slots=True)
class Proof:
    """One property of a kernel, and one of four answers; only "proved" is truthy.

    "disproved" comes with a smallest ``counterexample``; "needs" with the ``condition`` on the
    sizes under which the property holds, and a counterexample where it does not; "undecided" with
    the ``reason``: what is not decided, or after how much work it was cut, and with the variables
    of the ``loops`` of whose trips no closed form is known. ``statement`` says the
    property in words, ``assumptions`` what it takes for granted. ``seconds``, how long it took,
    is neither shown nor compared.

    >>> bool(Proof("D values", "proved", "D is what is claimed", (), 0.002))
    True
    """

    property: str
    answer: Answer
    statement: str
    assumptions: tuple[str, ...]
    seconds: float = field(compare=False)
    counterexample: Counterexample | None = None
    condition: str = ""
    reason: str = ""
    loops: tuple[str, ...] = field(default=(), metadata={"later": True})

    @builtins.property  # the name stands for a field here
    def holds(self) -> bool:
        """Whether the property is proved."""
        return self.answer == "proved"

    def disproved_by(self, place: Counterexample) -> Proof:
        """Return it with a counterexample, which leaves nothing open."""
        return replace(self, answer="disproved", counterexample=place, reason="", loops=())

    def __bool__(self) -> bool:
        """Whether the property is proved."""
        return self.holds

    def __str__(self) -> str:
        """A mark, the property, what it says, and what stands in its way."""
        mark = MARKS[self.answer]
        why = {"needs": f": needs {self.condition}", "undecided": f": undecided, {self.reason}"}
        return f"{mark} {self.property:<12} {self.statement}{why.get(self.answer, '')}"


@checked_fields
@dataclass(frozen=True, slots=True)
class Run:
    """A run of a kernel that is right: sizes by name, the data, and how many work-groups ran.

    >>> print(Run((("M", 9), ("N", 17)), "small integers", 2, 4))
    M=9 N=17 with small integers, by 2 of 4 work-groups
    """

    sizes: tuple[tuple[str, int], ...]
    data: str
    groups: int
    of: int

    def __str__(self) -> str:
        """The sizes, the data, and what of the grid ran."""
        sizes = " ".join(f"{name}={size}" for name, size in self.sizes)
        part = f", by {self.groups} of {self.of} work-groups" if self.groups < self.of else ""
        return f"{sizes} with {self.data}{part}".strip()


@checked_fields
@dataclass(frozen=True, slots=True)
class Tried:
    """The runs by which a proof was tried, and why others were not done.

    Truthy where there was a run. Every run came out as claimed: one that does not undoes the proof.
    """

    runs: tuple[Run, ...] = ()
    reason: str = ""

    def __bool__(self) -> bool:
        """Whether anything was run."""
        return bool(self.runs)

    def __str__(self) -> str:
        """A line for each run, then why others were not done."""
        lines = [f"tried at {run}" for run in self.runs]
        return "\n".join([*lines, *([f"not tried: {self.reason}"] if self.reason else [])])


@checked_fields
@dataclass(frozen=True, slots=True)
class Attempt:
    """One strategy of the prover on one kernel: what it asks, what it answered, its work in units.

    ``answers`` are the properties whose answers it gave or changed. A strategy may ask the whole
    prover about another kernel, or about given sizes: ``within`` are the attempts on those.

    >>> print(Attempt("sizes", "loops written out at small sizes", (("D values", "proved"),), 1200))
    sizes: loops written out at small sizes; D values proved; 1,200 units
    """

    strategy: str
    asks: str
    answers: tuple[tuple[str, Answer], ...]
    units: int
    within: tuple[Attempt, ...] = ()

    def __str__(self) -> str:
        """The strategy, what it asks, the answers, the work; then the attempts within, indented."""
        answers = ", ".join(f"{name} {answer}" for name, answer in self.answers)
        lines = [f"{self.strategy}: {self.asks}; {answers or 'nothing new'}; {self.units:,} units"]
        lines += (f"  {line}" for one in self.within for line in str(one).splitlines())
        return "\n".join(lines)


@checked_fields
@dataclass(frozen=True, slots=True)
class Verdict:
    """All proofs of a kernel; truthy when every one is "proved".

    ``scope`` says for which sizes. ``counterexample`` is the smallest of those the proofs found,
    least by the sum of the sizes and the sizes; then what stops a run comes first. ``tried``
    is how a proof was held against runs, or why it was not. ``overflow`` says whether integers were
    assumed not to overflow or taken to wrap: see `verify`. ``attempts`` are the strategies that the
    prover tried, one after the other, where ``explain`` asked for them. ``seconds``, the time that
    was spent, and attempts are not compared.
    """

    kernel: str
    scope: str
    proofs: tuple[Proof, ...]
    counterexample: Counterexample | None
    seconds: float = field(default=0.0, compare=False)
    tried: Tried = field(default_factory=Tried)
    overflow: Overflow = field(default="assumed", metadata={"later": True})
    attempts: tuple[Attempt, ...] = field(default=(), compare=False, metadata={"later": True})

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The kind and the first line of the text."""
        return glance(self)

    @property
    def answer(self) -> Answer:
        """The verdict as a whole: the worst answer of a proof."""
        for answer in ("disproved", "needs", "undecided"):
            if any(proof.answer == answer for proof in self.proofs):
                return answer
        return "proved"

    def __bool__(self) -> bool:
        """Whether every property is proved."""
        return self.answer == "proved"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the proofs take for granted, each once."""
        return tuple(dict.fromkeys(a for proof in self.proofs for a in proof.assumptions))

    def __str__(self) -> str:
        """The outcome, a line for each proof, the assumptions, and what fails first."""
        headings = {
            "proved": "verified" if self.tried else "proved, not tried",
            "disproved": f"{self._count('disproved')} of {len(self.proofs)} properties fail",
            "needs": f"fails for some sizes, {self._for_the_others()}",
            "undecided": f"{self._count('undecided')} of {len(self.proofs)} properties undecided",
        }
        wraps = ", integers wrap" if self.overflow == "wraps" else ""
        lines = [f"{self.kernel}: {headings[self.answer]}, {self.scope}{wraps}"]
        lines += [f"  {proof}" for proof in self.proofs]
        lines += [f"  assuming {assumption}" for assumption in self.assumptions]
        lines += [f"  {line}" for line in str(self.tried).splitlines()]
        if self.counterexample is not None:
            text = str(self.counterexample).replace("\n", "\n  ")
            lines.append(f"  smallest counterexample: {text}")
        for attempt in self.attempts:
            lines += [f"  {line}" for line in str(attempt).splitlines()]
        return "\n".join(lines)

    def _for_the_others(self) -> str:
        return "undecided for the others" if self._count("undecided") else "holds for the others"

    def _count(self, answer: Answer) -> int:
        return sum(proof.answer == answer for proof in self.proofs)
