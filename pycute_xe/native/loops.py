"""The innermost loops of machine code, and what each trip is made of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pycute_xe.native.assembly import Assembly, Immediate, Instruction, Reg
from pycute_xe.signatures import typed

__all__ = ["InnerLoop", "kind_of", "loops", "spans"]

_BLOCK_LOAD, _BLOCK_STORE, _STORES = 3, 7, (4, 6, 7)
_FENCE, _FIRST_ATOMIC = 31, 8
_SCRATCH_SURFACE, _SCRATCH_BLOCK = 2, 1 << 18  # the model "ss"; the category of old messages
_BARRIER = 0x02000004


@dataclass(frozen=True)
class InnerLoop:
    """A loop without loops inside: its first and last instruction, and how many of each kind."""

    first: int
    last: int
    counts: dict[str, int]

    @property
    def scratch(self) -> int:
        """Messages to and from scratch in each trip."""
        return self.counts.get("scratch", 0)

    @property
    def beside(self) -> int:
        """Instructions beside DPAS."""
        return sum(self.counts.values()) - self.counts.get("dpas", 0)

    def __str__(self) -> str:
        """DPAS and what is beside them, by kind."""
        kinds = sorted(self.counts.items(), key=lambda pair: (pair[0] != "dpas", -pair[1]))
        return f"{self.beside} beside dpas: {', '.join(f'{n} {kind}' for kind, n in kinds)}"


@typed
def loops(assembly: Assembly) -> tuple[InnerLoop, ...]:
    """Return the innermost loops in their order: what a jump goes back over, up to the jump."""
    code, every = assembly.instructions, spans(assembly)
    inner = [
        span
        for span in every
        if not any(span != o and span[0] <= o[0] and o[1] <= span[1] for o in every)
    ]
    return tuple(
        InnerLoop(a, b, dict(Counter(map(kind_of, code[a : b + 1])))) for a, b in sorted(inner)
    )


def spans(assembly: Assembly) -> list[tuple[int, int]]:
    """Return the first and last instruction of every loop: what a jump goes back to, the jump."""
    labels = assembly.labels
    return [
        (labels[one.target], at)
        for at, one in enumerate(assembly.instructions)
        if one.target in labels and labels[one.target] <= at
    ]


def kind_of(instruction: Instruction) -> str:
    """Return what an instruction is for: a kind of message, dpas, mov, wait, jump, else compute."""
    op, to = instruction.op, instruction.to
    if op.startswith("send"):
        return _message(instruction)
    if op in ("dpas", "mov") and not (op == "mov" and to is not None and to.file == "null"):
        return op
    if op == "sync":
        return "barrier" if instruction.sub == "bar" else "wait"
    if op in ("nop", "mov"):
        return "wait"
    return "jump" if instruction.target else "compute"


def _message(instruction: Instruction) -> str:
    word, to = instruction.sources[3], instruction.to
    desc = int(word.text, 0) if isinstance(word, Immediate) else 0
    code = desc & 0x3F
    if instruction.sub == "gtwy":
        return "barrier" if desc == _BARRIER else "end"
    if instruction.sub not in ("ugm", "slm"):
        return "scratch" if desc & _SCRATCH_BLOCK else "old message"
    if instruction.sub == "ugm" and desc >> 29 & 3 == _SCRATCH_SURFACE:
        return "scratch"
    unit = "shared " if instruction.sub == "slm" else ""
    if code == _FENCE:
        return "fence"
    if code >= _FIRST_ATOMIC:
        return f"{unit}atomic"
    if code in _STORES:
        return f"{unit}store"
    return "prefetch" if isinstance(to, Reg) and to.file == "null" else f"{unit}load"
