"""Floor 9: what the fields of an LSC message mean, in words."""

from __future__ import annotations

from pycute_xe.arch.lsc import Message

__all__ = ["CACHES", "MEMORY", "NEW_VALUES", "caching_lines", "verb"]

MEMORY = {
    "ugm": "global memory",
    "ugml": "global memory of another tile",
    "slm": "shared local memory",
}
"""What a unit reaches (vISA manual, LSC_UNTYPED.md, LscSFID)."""

CACHES = {
    "df": "as the memory object control state (MOCS) of the surface says",
    "uc": "bypassed",
    "ca": "cached: looked up, and filled on a miss",
    "wb": "written back: the line stays, dirty, and memory gets it when the line leaves",
    "wt": "written through: the line is updated, and memory at once",
    "st": "streaming: cached, and first to leave",
    "ri": "read and invalidated: the last use, after which the line is dropped",
}
"""What each caching does to a line (vISA manual, LSC_UNTYPED.md, CachingL1)."""

NEW_VALUES = {
    "iinc": "old + 1",
    "idec": "old - 1",
    "load": "old",
    "store": "src1",
    "iadd": "old + src1",
    "isub": "old - src1",
    "smin": "min(old, src1), signed",
    "smax": "max(old, src1), signed",
    "umin": "min(old, src1), unsigned",
    "umax": "max(old, src1), unsigned",
    "icas": "src2 if old == src1, else old",
    "fadd": "old + src1, floating point",
    "fsub": "old - src1, floating point",
    "fmin": "min(old, src1), floating point",
    "fmax": "max(old, src1), floating point",
    "fcas": "src2 if old == src1, else old, floating point",
    "and": "old & src1",
    "or": "old | src1",
    "xor": "old ^ src1",
}
"""What an atomic leaves in memory (vISA manual, LSC_UNTYPED.md, LscSubOp)."""


def verb(message: Message) -> str:
    """Return what each channel does, from its operation."""
    if message.op == "load_status":
        return "asks whether memory is behind"
    if message.prefetch:
        return "prefetches"
    return {"load": "loads", "store": "stores", "atomic": "changes", "counter": "changes"}[
        message.operation.kind
    ]


def caching_lines(l1: str, l3: str, sfid: str) -> list[str]:
    """Return what both caches do."""
    if sfid == "slm":
        return ["none: shared local memory is not cached"]
    return [f"L1 {CACHES[l1]}", f"L3 {CACHES[l3]}"]
