"""Floor 9: what a run did, for people and programs."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Report"]


@dataclass(frozen=True)
class Report:
    """The work of a run: messages and bytes by kind, DPAS instructions, barriers, copies.

    Messages count those of all subgroups; bytes are those inside the surfaces; ``copies`` names
    the operands whose arrays the target could not address as they lie, so that they were copied
    onto a legal surface. ``doubts`` says which atoms of the kernel do something else than their
    layouts claim. ``why`` says what kept the fast executor from whole arrays, so that the byte
    machine ran; it is empty where nothing did. Both executors report the same work.
    """

    executor: str
    sizes: dict[str, int]
    messages: dict[str, int]
    bytes: dict[str, int]
    dpas: int
    barriers: int
    copies: tuple[str, ...]
    seconds: float
    doubts: tuple[str, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        """One line for each kind of work."""
        extents = " ".join(f"{name}={extent}" for name, extent in self.sizes.items())
        lines = [f"{extents} by the {self.executor} executor in {self.seconds:.3f} s"]
        for kind, count in self.messages.items():
            lines.append(f"  {kind:9} {count:>12,} messages {self.bytes.get(kind, 0):>15,} bytes")
        lines.append(f"  dpas      {self.dpas:>12,} instructions")
        lines.append(f"  barriers  {self.barriers:>12,}")
        if self.copies:
            lines.append(f"  copied onto a legal surface: {', '.join(self.copies)}")
        if self.why:
            lines.append(f"  byte by byte: {self.why}")
        lines += [f"  not vouched for: {doubt}" for doubt in self.doubts]
        return "\n".join(lines)
