"""Floor 9: what a proof came to, as values for people and programs."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.kernel import Counterexample

__all__ = ["Proof", "Verdict"]


@dataclass(frozen=True, slots=True)
class Proof:
    """One property of a kernel: whether it holds for all sizes, and if not, where it fails first.

    ``statement`` says the property in words, ``assumptions`` what it takes for granted. Falsy when
    it fails. ``seconds`` is the time it took to decide.

    >>> bool(Proof("products", True, "every product is summed once", (), 0.002, None))
    True
    """

    property: str
    holds: bool
    statement: str
    assumptions: tuple[str, ...]
    seconds: float
    counterexample: Counterexample | None

    def __bool__(self) -> bool:
        """Whether the property holds."""
        return self.holds

    def __str__(self) -> str:
        """A tick or a cross, the property and what it says."""
        mark = "✓" if self.holds else "✗"
        return f"{mark} {self.property:<12} {self.statement}  ({self.seconds * 1e3:.0f} ms)"


@dataclass(frozen=True, slots=True)
class Verdict:
    """All proofs of a kernel; falsy when any fails.

    ``scope`` says for which sizes. ``counterexample`` is the smallest of those the proofs found,
    least by (M+N+K, M, N, K) and then by place; ``None`` when all hold.
    """

    kernel: str
    scope: str
    proofs: tuple[Proof, ...]
    counterexample: Counterexample | None

    def __bool__(self) -> bool:
        """Whether every property holds."""
        return all(self.proofs)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the proofs take for granted, each once."""
        return tuple(dict.fromkeys(a for proof in self.proofs for a in proof.assumptions))

    @property
    def seconds(self) -> float:
        """The time all proofs took."""
        return sum(proof.seconds for proof in self.proofs)

    def __str__(self) -> str:
        """The outcome, a line for each proof, the assumptions, and what fails first."""
        failed = sum(not proof for proof in self.proofs)
        outcome = "verified" if not failed else f"{failed} of {len(self.proofs)} properties fail"
        lines = [f"{self.kernel}: {outcome}, {self.scope} ({self.seconds * 1e3:.0f} ms)"]
        lines += [f"  {proof}" for proof in self.proofs]
        lines += [f"  assuming {assumption}" for assumption in self.assumptions]
        if self.counterexample is not None:
            lines.append("  smallest counterexample: " + _indented(str(self.counterexample)))
        return "\n".join(lines)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
