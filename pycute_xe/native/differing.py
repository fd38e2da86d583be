"""What a binary does otherwise, by kind: messages, where they go, barriers, DPAS.

Kinds are a closed set. Messages are compared as they are executed, so that a loop that the compiler
wrote out counts as its trips do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from pycute_xe.arch.lsc import Descriptor, operations
from pycute_xe.emitting.instructions import block_hint
from pycute_xe.errors import CuteError, MachineError
from pycute_xe.executing.thread import shared_room
from pycute_xe.kernel import Kernel
from pycute_xe.machine.trace import (
    BoundsFault,
    DeadlockFault,
    RaceFault,
    Reach,
    Trace,
    UnwrittenFault,
)
from pycute_xe.native.assembly import Instruction
from pycute_xe.native.compiler import Binary
from pycute_xe.native.messages import described

__all__ = ["KINDS", "Difference", "fault", "hints", "joined", "of_traces"]

KINDS = MappingProxyType(
    {
        "cache hint": "a message asks caches for something that its statement does not say",
        "block shape": "a message has the sizes, element size or order of no statement",
        "shared memory": "other bytes of shared memory are reserved, loaded or stored",
        "barriers": "barriers are left out or added, threads wait forever, or accesses race",
        "count": "messages or DPAS are executed more or fewer times, or a loop does not end",
        "stride": "rows that a message takes are another pitch apart",
        "offset": "a message goes to other bytes of an operand",
        "remainder": "what lies beyond the last whole tile is taken otherwise",
        "sign": "values have another sign, or are what they are with a sign changed",
        "lanes": "work-items have one another's values, or some have none",
        "rounding": "values are a step of a type apart that the kernel rounds to",
        "precision": "values have fewer bits, or a DPAS multiplies other types",
        "values": "values differ otherwise",
    }
)
"""What a difference may be called, causes before what shows in values."""


@dataclass(frozen=True)
class Difference:
    """A kind of `KINDS`, which element, message or count it is of, and what is there instead."""

    kind: str
    where: str
    words: str

    def __str__(self) -> str:
        """The three of them in a line."""
        return f"{self.kind}: {self.where}: {self.words}"


# ------------------------------------------------------------ code
# What messages in the code say of themselves: caches, and room in shared memory.


def hints(binary: Binary, kernel: Kernel) -> Iterator[Difference]:
    """Yield messages of the code whose caching no statement says, and other room in shared memory.

    Statements say none, which is the default of both caches. Loads of arguments and of single
    elements are the compiler's own.
    """
    for instruction in binary.assembly.instructions:
        message = described(instruction, binary.target)
        if message is None or not _of_statement(message):
            continue
        asked, meant = f"{message.l1}.{message.l3}", _hint(message, instruction)
        if asked == meant:
            continue
        words = f"{asked} instead of {meant}"
        yield Difference("cache hint", f"{message.op} of {message.data}, {instruction}", words)
    _, room = shared_room(kernel)
    if binary.info.slm != room:
        words = f"{binary.info.slm:,} bytes instead of {room:,}"
        yield Difference("shared memory", "what a work-group reserves", words)


def _hint(message: Descriptor, instruction: Instruction) -> str:
    """What the caches are asked for by the message of a statement."""
    to = instruction.to
    stores = message.op.startswith("store") or not operations()[message.op].block2d
    op = "store" if stores else "prefetch" if to is None or to.file == "null" else "load"
    return ".".join(block_hint(op))


def _of_statement(message: Descriptor) -> bool:
    operation = operations()[message.op]
    return operation.block2d or operation.kind == "atomic" or message.sfid == "slm"


# ------------------------------------------------------------ messages

Sent: TypeAlias = "tuple[str, Reach]"
"""The text of a block message, and what it touches."""

Places: TypeAlias = Callable[[int], str]
"""The operand that an address lies in."""


def of_traces(
    expected: Trace, executed: Trace, places: Places, ended: bool
) -> Iterator[Difference]:
    """Yield how what was executed differs; of what has not ``ended``, only what is too much."""
    for kind in ("load", "prefetch", "store"):
        missing, extra = _apart(expected, executed, kind)
        if (not ended or missing or not extra) and _joins(missing, extra):
            continue
        yield from _blocks(kind, missing, extra, expected, places, ended)
    yield from _multiplied(expected, executed, ended)
    for kind in ("shared load", "shared store", "atomic"):
        yield from _bytes(kind, expected, executed, places, ended)
    if ended and expected.barriers != executed.barriers:
        yield Difference(
            "barriers", "executed", f"{executed.barriers:,} instead of {expected.barriers:,}"
        )


def _apart(expected: Trace, executed: Trace, kind: str) -> tuple[Counter[Sent], Counter[Sent]]:
    one, other = (Counter[Sent](_blocks_of(t, kind)) for t in (expected, executed))
    return one - other, other - one


def _blocks_of(trace: Trace, kind: str) -> list[Sent]:
    return [
        (e.text, e.reach) for e in trace.events if e.kind == kind and isinstance(e.reach, Reach)
    ]


def _joins(missing: Counter[Sent], extra: Counter[Sent]) -> bool:
    """Whether the same bytes are touched as often, by no more messages than are expected."""
    if missing.total() < extra.total() or (missing.total() == extra.total() and missing):
        return False
    one, other = (_every_byte(c) for c in (missing, extra))
    return one.size == other.size and bool((one == other).all())


def _every_byte(sent: Counter[Sent]) -> np.ndarray:
    """The address of every byte that messages touch, each as often as it is touched."""
    parts = [np.tile(reach.bytes, n) for (_, reach), n in sent.items()]
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)


def joined(expected: Trace, executed: Trace) -> list[str]:
    """Say which messages stand for several of the statements: fewer, of the same bytes.

    Law: where `of_traces` yields nothing, counts differ for these kinds alone.
    """
    both = {kind: _apart(expected, executed, kind) for kind in ("load", "prefetch", "store")}
    return [
        f"{extra.total():,} {kind} messages touch the bytes of {missing.total():,}"
        for kind, (missing, extra) in both.items()
        if missing and _joins(missing, extra)
    ]


def _blocks(
    kind: str,
    missing: Counter[Sent],
    extra: Counter[Sent],
    expected: Trace,
    places: Places,
    ended: bool,
) -> Iterator[Difference]:
    """Name what is wrong with blocks: shape, count, or else where they go."""
    known = _blocks_of(expected, kind)
    shapes = {text for text, _ in known}
    for text in sorted({text for text, _ in extra} - shapes):
        instead = ", ".join(sorted({_shape(t) for t, _ in missing or known}))
        yield Difference("block shape", kind, f"{_shape(text)} instead of {instead or 'none'}")
    placed = Counter({sent: n for sent, n in extra.items() if sent[0] in shapes})
    if ended and missing.total() != extra.total():
        sent, more = next(iter(missing or extra)), extra.total() - missing.total()
        yield Difference("count", f"{kind} of {_named(sent, places)}", f"{more:+,} in all")
    if placed:
        yield from _moved(kind, [*missing] or known, [*placed], places)


def _moved(
    kind: str, missing: list[Sent], extra: list[Sent], places: Places
) -> Iterator[Difference]:
    """Name how messages of a shape go elsewhere: a pitch that no other has, a place, an edge."""
    pitches = {places(reach.first): reach.pitch for _, reach in missing if reach.pitch}
    starts = {reach.start: reach for _, reach in missing}
    seen: set[str] = set()
    for sent in extra:
        reach = sent[1]
        first, usual = starts.get(reach.start), pitches.get(places(reach.first))
        if usual and reach.pitch not in (0, usual):
            verdict = "stride", f"rows are {reach.pitch:,} bytes apart instead of {usual:,}"
        elif first is None:
            verdict = "offset", "no message is expected to begin there"
        elif reach != first:
            verdict = "remainder", f"{_size(reach)} bytes instead of {_size(first)}"
        else:
            continue  # sent more often: a count
        if verdict[0] not in seen:
            seen.add(verdict[0])
            yield Difference(verdict[0], f"{kind} of {_named(sent, places)}", verdict[1])


def _size(reach: Reach) -> str:
    return f"{reach.high} x {reach.wide}"


def _shape(text: str) -> str:
    return text.rpartition(":")[2]


def _named(sent: Sent, places: Places) -> str:
    text, reach = sent
    return f"{places(reach.first)} by {_shape(text)}"


# ------------------------------------------------------------ others


def _multiplied(expected: Trace, executed: Trace, ended: bool) -> Iterator[Difference]:
    one, other = (
        Counter(e.text for e in t.events if e.kind == "dpas") for t in (expected, executed)
    )
    for text in sorted(other.keys() - one.keys()):
        instead = ", ".join(sorted(one)) or "none"
        signs = any(_unsigned(text) == _unsigned(known) for known in one)
        kind = "sign" if signs else "precision"
        yield Difference(kind, "DPAS", f"{text} instead of {instead}")
    if ended and one.total() != other.total():
        yield Difference("count", "DPAS", f"{other.total():,} instead of {one.total():,}")


def _unsigned(text: str) -> str:
    """The text of a DPAS without the signs of its integers."""
    return ".".join(part.lstrip("us") for part in text.split("."))


def _bytes(
    kind: str, expected: Trace, executed: Trace, places: Places, ended: bool
) -> Iterator[Difference]:
    """Compare which bytes are touched how often, by messages that are cut otherwise."""
    one, other = (_touched(trace, kind) for trace in (expected, executed))
    extra, missing = other - one, one - other
    if not (extra or (ended and missing)):
        return
    at = min(extra or missing)
    name, where = "shared memory", f"byte {at}"
    if kind == "atomic":
        name, where = "offset", places(at)
    words = f"touched {other[at]} times instead of {one[at]}"
    yield Difference(name, f"{kind} of {where}", words)


def _touched(trace: Trace, kind: str) -> Counter[int]:
    parts = [
        e.reach.bytes if isinstance(e.reach, Reach) else e.reach
        for e in trace.events
        if e.kind == kind and e.reach is not None
    ]
    if not parts:
        return Counter()
    places, times = np.unique(np.concatenate([p.reshape(-1) for p in parts]), return_counts=True)
    return Counter(dict(zip(places.tolist(), times.tolist(), strict=True)))


_FAULTS: Mapping[type[CuteError], str] = MappingProxyType(
    {RaceFault: "barriers", DeadlockFault: "barriers", BoundsFault: "shared memory"}
)
_OPERATIONS = MappingProxyType({"read": "lanes", "run": "barriers", "memory": "offset"})


def fault(error: CuteError) -> Difference:
    """Return what the machine refuses of a binary as a difference.

    >>> print(fault(DeadlockFault("run", {}, "thread 1 never arrives", "")))
    barriers: the machine refuses: thread 1 never arrives
    """
    kind = _FAULTS.get(type(error))
    if kind is None and error.operation == "Dpas":
        kind = "precision"
    if kind is None and isinstance(error, UnwrittenFault):
        kind = "lanes" if error.operation == "read" else "shared memory"
    if kind is None and isinstance(error, MachineError):
        kind = _OPERATIONS.get(error.operation, "count")
    return Difference(kind or "block shape", "the machine refuses", error.condition)
