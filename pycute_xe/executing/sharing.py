"""Floor 9: shared local memory in a run: where each element of a fragment lies in an array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycute_xe.algebra import coalesce
from pycute_xe.bulk import table
from pycute_xe.errors import MachineError
from pycute_xe.executing.thread import Env, Thread
from pycute_xe.kernel import SharedLoad, SharedStore
from pycute_xe.machine.faults import BoundsFault

__all__ = ["load_shared", "places", "store_shared"]


def places(statement: SharedLoad | SharedStore, subgroups: int) -> NDArray[np.int64]:
    """Return the element of the array that each subgroup and element goes to, without ``at``."""
    return table(coalesce(statement.places)).reshape(-1, subgroups).T


def load_shared(thread: Thread, statement: SharedLoad, env: Env) -> None:
    """Read a fragment from a shared array; bounds, unwritten bytes and races are faults."""
    where = _bytes(thread, statement, env)
    thread.progress.label = f"load of {statement.fragment} from {statement.array}"
    data = thread.slm.gather(where, thread.progress)
    thread.registers.write(thread.offsets[statement.fragment], data, "load from shared memory")
    thread.machine.trace.message("shared load", thread.progress.label, data.size)


def store_shared(thread: Thread, statement: SharedStore, env: Env) -> None:
    """Write a fragment to a shared array; bounds and races are faults."""
    where = _bytes(thread, statement, env)
    fragment = thread.machine.fragment(statement.fragment)
    thread.progress.label = f"store of {statement.fragment} to {statement.array}"
    data = thread.bytes(statement.fragment, fragment.elements, "store to shared memory")
    thread.slm.scatter(where, data, thread.progress)
    thread.machine.trace.message("shared store", thread.progress.label, data.size)


def _bytes(thread: Thread, statement: SharedLoad | SharedStore, env: Env) -> NDArray[np.int64]:
    """Return the address of every byte of the fragment."""
    kernel = thread.machine.kernel
    array = kernel.shared_array(statement.array)
    bits = array.value_type.bits
    if bits < 8:
        raise MachineError(
            "run",
            {"array": array},
            "elements narrower than a byte cannot be addressed",
            "share them in a wider type",
        )
    elements = thread.machine.once(places, statement, kernel.subgroups)[thread.subgroup]
    elements = elements + thread.index(statement.at, env)
    if elements.size and not (elements.min() >= 0 and elements.max() < array.elements):
        raise BoundsFault(
            "run",
            {"array": array, "thread": thread.subgroup},
            f"elements {elements.min()} to {elements.max()} are used, there are {array.elements}",
            "correct the index, or make the array larger",
        )
    unit = bits // 8
    first = thread.shared[array.name] + elements * unit
    return (first[:, None] + np.arange(unit)).reshape(-1)
