"""Running a kernel: work-groups of threads over NumPy arrays, and what the run shows."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, cast

from pycute_xe.arch import Target, get_target
from pycute_xe.arch.banks import Banks, banks
from pycute_xe.errors import InputError, quoted
from pycute_xe.esimd.columns import judge_columns
from pycute_xe.esimd.items import MOST_THREADS, Extents, Item, grid_of, items
from pycute_xe.esimd.lint import Finding, fail
from pycute_xe.esimd.placing import fetch, place
from pycute_xe.esimd.synchronisation import Meetings
from pycute_xe.esimd.threads import BankCount, Group, Machine, Sent, Thread, running
from pycute_xe.machine import Trace, workgroup
from pycute_xe.machine.faults import DeadlockFault
from pycute_xe.signatures import typed

__all__ = ["MOST_THREADS", "Item", "Run", "launch"]


@dataclass(frozen=True, slots=True)
class Run:
    """What a launch did: every message, the warnings, the banks that were used, the counts.

    ``messages`` are in the order of execution; ``findings`` has each warning once per statement;
    ``banks`` counts each gather and scatter of shared local memory.
    """

    messages: tuple[Sent, ...]
    findings: tuple[Finding, ...]
    banks: tuple[BankCount, ...]
    trace: Trace

    @property
    def nbytes(self) -> Counter[str]:
        """Bytes moved, by kind: load, store, prefetch."""
        return self.trace.nbytes

    @property
    def conflicts(self) -> int:
        """Turns lost to bank conflicts, over all accesses.

        >>> Run((), (), (), Trace()).conflicts
        0
        """
        return sum(count.use.conflicts for count in self.banks)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings, each once, ascending."""
        return tuple(sorted({finding.code for finding in self.findings}))


@typed
def launch(
    kernel: Callable[..., Any],
    *arguments: Any,
    threads: int | Extents = 1,
    groups: int | Extents = 1,
    target: str | Target = "bmg",
    strict: bool = False,
    banks: Banks | None = None,
) -> Run:
    """Run ``kernel(item, *arguments)`` once for each thread, and return what happened.

    ``threads`` of a work-group and ``groups`` are numbers, or tuples of two or three in the order
    of SYCL: the last dimension is the fastest.
    NumPy arrays are placed in global memory, each at a multiple of 64 bytes; the kernel gets a
    `Pointer` for each, and what it stores is in the array afterwards. Others are passed on.
    A kernel that meets other threads is a generator: ``yield barrier()``. Threads run one after the
    other between barriers, work-groups one after the other, at most `MOST_THREADS` in all.
    ``strict`` makes warnings errors.
    Raises `EsimdError` for every pitfall of `pycute_xe.esimd.lint`, `MachineError` for other
    undefined behaviour. C++: ``cgh.parallel_for(nd_range<3>{…}, kernel)``.

    >>> import numpy as np
    >>> from pycute_xe import esimd
    >>> def kernel(item, out):
    ...     at = 4 * item.get_local_id(0) + item.get_local_id(1)
    ...     esimd.block_store("u32", 1, out + at, esimd.simd("u32", 1, 7))
    >>> out = np.zeros(8, dtype=np.uint32)
    >>> launch(kernel, out, threads=(2, 3)).trace.messages["store"], out.tolist()
    (6, [7, 7, 7, 0, 7, 7, 7, 0])
    """
    grid = grid_of(threads, groups)
    _callable(kernel, arguments)
    known = get_target(target)
    machine = Machine(known, _banks(known) if banks is None else _given(banks), strict)
    given, placed = place(machine, arguments)
    for index, members in items(grid):
        _work_group(machine, index, members, kernel, given)
    judge_columns(machine)
    fetch(machine, placed)
    return Run(
        tuple(machine.sent), tuple(machine.findings.values()), tuple(machine.counts), machine.trace
    )


def _work_group(
    machine: Machine, index: int, members: list[Item], kernel: Callable[..., Any], given: list[Any]
) -> None:
    """Run the threads of a work-group to their ends."""
    group = Group(machine, index, len(members))
    threads = [Thread(group, i) for i in range(len(members))]
    pairs = zip(threads, members, strict=True)
    runs = [_thread(thread, kernel, item, given) for thread, item in pairs]
    try:
        workgroup.run(runs, [thread.progress for thread in threads], machine.trace)
    except DeadlockFault as fault:
        raise fail("PX203", "launch", fault.operands, fault.condition) from fault
    _same_slm(threads)


def _given(banks: object) -> Banks:
    if type(banks) is not Banks:
        condition, fix = "banks must be a Banks", "give Banks(count=32, width=4), or leave it out"
        raise InputError("launch", {"banks": banks}, condition, fix)
    return banks


def _callable(kernel: object, arguments: tuple[Any, ...]) -> None:
    """Refuse what cannot be called with an item and the arguments."""
    if not callable(kernel):
        operands = {"kernel": quoted(kernel)}
        raise InputError("launch", operands, "the kernel is not a function", "def kernel(item, …)")
    try:
        signature = inspect.signature(kernel)
    except (TypeError, ValueError):  # some callables written in C have none
        return
    try:
        signature.bind(None, *arguments)
    except TypeError as error:
        condition = f"the kernel is called with an item and {len(arguments)} arguments: {error}"
        operands = {"kernel": signature}
        raise InputError(
            "launch", operands, condition, "pass the arguments that it takes"
        ) from None


def _banks(target: Target) -> Banks:
    return banks(target)[0]


def _thread(
    thread: Thread, kernel: Callable[..., Any], item: Item, arguments: list[Any]
) -> Iterator[workgroup.Meeting]:
    """One thread, which is the current one while it runs."""
    with running(thread):
        found = kernel(item, *arguments)
    if isinstance(found, Generator):
        steps = cast("Generator[Any, None, Any]", found)
        while True:
            with running(thread):
                try:
                    met: Any = next(steps)
                except StopIteration:
                    break
            if not isinstance(met, Meetings):
                raise fail(
                    "PX211",
                    "launch",
                    {"yielded": met},
                    "the kernel yielded something else than a barrier",
                )
            thread.pending = None
            yield from met.meetings
    if thread.pending is not None:
        raise fail("PX211", "launch", {"thread": thread.index}, f"{thread.pending} was not yielded")


def _same_slm(members: list[Thread]) -> None:
    """PX202 where some threads asked for shared local memory and others ended without."""
    without = [thread.index for thread in members if thread.slm_bytes is None]
    if without and len(without) < len(members):
        condition = f"threads {', '.join(map(str, without))} ended without calling slm_init"
        raise fail("PX202", "slm_init", {"threads": len(members)}, condition)
