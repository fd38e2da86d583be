"""Floor 9: work-groups that wait for one another, in the reference executor.

The first subgroup of a work-group looks at the counter, or adds to it, after all have met; then all
meet again. A wait is over as soon as the counter has grown so far, and takes over what the
work-groups knew that had added to it until then, not what later ones did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from pycute_xe.errors import MachineError
from pycute_xe.executing.counters import Counters
from pycute_xe.executing.thread import Env, Thread, to_bytes
from pycute_xe.kernel import Await, Signal
from pycute_xe.machine import BarrierArrive as Arrive, BarrierWait as Wait
from pycute_xe.machine.faults import DeadlockFault
from pycute_xe.machine.races import Does
from pycute_xe.machine.workgroup import CounterWait

__all__ = ["launched", "meet_at_counter"]

Meeting: TypeAlias = Arrive | Wait | CounterWait


def meet_at_counter(thread: Thread, statement: Await | Signal, env: Env) -> Iterator[Meeting]:
    """Let a subgroup wait at a counter, or signal one."""
    machine, name = thread.machine, statement.operand
    at = tuple(thread.index(index, env) for index in statement.at)
    placed, label = machine.placed[name], f"{name}{list(at)}"
    placed.element(machine.memory, at)  # refused outside, whoever looks
    yield Arrive(label=label)
    yield Wait(label=label)
    if thread.subgroup == 0:
        if isinstance(statement, Await):
            least = thread.index(statement.least, env)

            def ready() -> bool:
                return placed.element(machine.memory, at) >= least

            yield CounterWait(ready, f"{label} >= {least}")
            _watched(thread, "awaits", name, at)  # it looked before it knew what the signals tell
            machine.close(thread.group)
            machine.counters.passed((name, at), least, machine.counters.groups[thread.group])
        else:
            before, by = placed.element(machine.memory, at), thread.index(statement.by, env)
            if by < 0:
                raise _shrinks(label, by)
            value = before + by
            machine.memory.write(
                placed.address(at), to_bytes(np.array([value]), placed.operand.value_type)
            )
            _watched(thread, "adds", name, at)
            machine.close(thread.group)
            mine = machine.counters.groups[thread.group]
            machine.counters.signal((name, at), before, value, mine)
            turn = machine.counters.turn
            # Whoever waited goes first: what it should have waited for besides is not done then.
            yield CounterWait(lambda: machine.counters.turn > turn, f"{label} = {value} ({turn})")
    yield Arrive(label=label)
    yield Wait(label=label)


def _watched(thread: Thread, does: Does, name: str, at: tuple[int, ...]) -> None:
    """Note who looked at a counter, or added to it: plain accesses of others may clash."""
    observer, placed = thread.watched(does, name), thread.machine.placed[name]
    if observer is not None:
        address, nbytes = placed.address(at), placed.operand.value_type.bits // 8
        observer(np.arange(address, address + nbytes), thread.machine.memory.read(address, nbytes))


def _shrinks(label: str, by: int) -> MachineError:
    return MachineError(
        "run",
        {"counter": label, "by": by},
        "a counter only grows, and who waits for it may miss what it was",
        "signal by 0 or more",
    )


def launched(
    groups: Iterable[tuple[str, Iterator[list[str]]]], counters: Counters
) -> Iterator[str]:
    """Run work-groups until they end or wait, again and again; yield the name of each that ends.

    Each begins when those before have ended or wait. Raises `DeadlockFault` where all that are left
    wait.
    """
    going: list[tuple[str, Iterator[list[str]]]] = []
    waits: dict[str, list[str]] = {}
    fresh = iter(groups)
    moved = True
    while True:
        new = next(fresh, None)
        if new is not None:
            going.append(new)
            waits[new[0]] = []
        elif not going:
            return
        elif not moved:
            raise _deadlock(waits)
        moved = False
        counters.turn += 1
        for name, group in tuple(going):
            found = next(group, None)
            if found is None:
                going.remove((name, group))
                del waits[name]
                yield name
            moved = moved or found is None or found != waits[name]
            if found is not None:
                waits[name] = found


def _deadlock(waits: dict[str, list[str]]) -> DeadlockFault:
    told = "; ".join(f"{name} waits for {what[0]}" for name, what in list(waits.items())[:4])
    more = f" and {len(waits) - 4} others" if len(waits) > 4 else ""
    return DeadlockFault(
        "run",
        {"waiting": len(waits)},
        f"deadlock: {told}{more}, and no other work-group is left to change that",
        "let every wait be met by signals of work-groups that do not wait for it",
    )
