"""Floor 9: what a proof came to, as values for people and programs."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from typing import Literal

from pycute_xe.kernel import Counterexample

__all__ = ["Answer", "Proof", "Run", "Tried", "Verdict"]

Answer = Literal["proved", "disproved", "needs", "undecided"]

MARKS = {"proved": "✓", "disproved": "✗", "needs": "!", "undecided": "?"}


@dataclass(frozen=True, slots=True)
class Proof:
    """One property of a kernel, and one of four answers; only "proved" is truthy.

    "disproved" comes with a smallest ``counterexample``; "needs" with the ``condition`` on the
    sizes under which the property holds, and a counterexample where it does not; "undecided" with
    the ``reason``: what is not decided, or after how much work it was cut. ``statement`` says the
    property in words, ``assumptions`` what it takes for granted, ``seconds`` how long it took.

    >>> bool(Proof("D values", "proved", "D is what is claimed", (), 0.002))
    True
    """

    property: str
    answer: Answer
    statement: str
    assumptions: tuple[str, ...]
    seconds: float
    counterexample: Counterexample | None = None
    condition: str = ""
    reason: str = ""

    @builtins.property  # the name stands for a field here
    def holds(self) -> bool:
        """Whether the property is proved."""
        return self.answer == "proved"

    def __bool__(self) -> bool:
        """Whether the property is proved."""
        return self.holds

    def __str__(self) -> str:
        """A mark, the property, what it says, and what stands in its way."""
        mark = MARKS[self.answer]
        why = {"needs": f": needs {self.condition}", "undecided": f": undecided, {self.reason}"}
        return (
            f"{mark} {self.property:<12} {self.statement}{why.get(self.answer, '')}  "
            f"({self.seconds * 1e3:.0f} ms)"
        )


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


@dataclass(frozen=True, slots=True)
class Verdict:
    """All proofs of a kernel; truthy when every one is "proved".

    ``scope`` says for which sizes. ``counterexample`` is the smallest of those the proofs found,
    least by the sum of the sizes and the sizes; then what stops a run comes first. ``seconds`` is
    the time that was spent, ``tried`` how a proof was held against runs, or why it was not.
    """

    kernel: str
    scope: str
    proofs: tuple[Proof, ...]
    counterexample: Counterexample | None
    seconds: float = 0.0
    tried: Tried = field(default_factory=Tried)

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
        told = {
            "proved": "verified" if self.tried else "proved, not tried",
            "disproved": f"{self._count('disproved')} of {len(self.proofs)} properties fail",
            "needs": "holds for some sizes only",
            "undecided": f"{self._count('undecided')} of {len(self.proofs)} properties undecided",
        }
        lines = [f"{self.kernel}: {told[self.answer]}, {self.scope} ({self.seconds * 1e3:.0f} ms)"]
        lines += [f"  {proof}" for proof in self.proofs]
        lines += [f"  assuming {assumption}" for assumption in self.assumptions]
        lines += [f"  {line}" for line in str(self.tried).splitlines()]
        if self.counterexample is not None:
            lines.append("  smallest counterexample: " + _indented(str(self.counterexample)))
        return "\n".join(lines)

    def _count(self, answer: Answer) -> int:
        return sum(proof.answer == answer for proof in self.proofs)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
