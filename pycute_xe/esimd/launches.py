"""Running a kernel: work-groups of threads over NumPy arrays, and what the run shows."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target, get_target
from pycute_xe.arch.banks import Banks, banks
from pycute_xe.errors import InputError, MachineError, quoted
from pycute_xe.esimd.columns import judge_columns
from pycute_xe.esimd.lint import Finding, fail
from pycute_xe.esimd.props import Pointer
from pycute_xe.esimd.threads import BankCount, Group, Machine, Sent, Thread, current, running
from pycute_xe.esimd.types import dtype_of, nbarrier_role, whole
from pycute_xe.machine import BarrierArrive, BarrierWait, NamedBarrier, Trace, workgroup
from pycute_xe.machine.trace import DeadlockFault
from pycute_xe.machine.workgroup import Meeting
from pycute_xe.signatures import typed

__all__ = ["MOST_THREADS", "Item", "Run", "launch", "barrier", "nbarrier", "Extents", "items"]

# ------------------------------------------------------------ items
# Where a thread is in its launch: ``nd_item`` of one, two or three dimensions.

MOST_THREADS = 1 << 15
"""How many threads a launch may have: they run in Python, one after the other."""

Extents = tuple[int, ...]
"""Of a work-group or of the launch, one number for each dimension, the last one fastest."""


@dataclass(frozen=True, slots=True)
class Item:
    """Where a thread is: C++'s ``nd_item`` of one to three dimensions.

    Law: linear numbers are row-major, the *last* dimension is the fastest, as in SYCL.

    >>> item = Item((1, 0, 3), (2, 2, 4), (0, 0, 1), (1, 1, 2))
    >>> item.get_local_id(2), item.get_local_linear_id(), item.get_global_id(2)
    (3, 11, 7)
    """

    local: Extents
    threads: Extents
    group: Extents
    groups: Extents

    def __post_init__(self) -> None:
        """Refuse anything but four tuples of as many integers: `InputError`."""
        given = (self.local, self.threads, self.group, self.groups)
        if any(type(one) is not tuple for one in given) or len({*map(len, given)}) > 1:
            condition = "an item must have four tuples, of one number for each dimension"
            raise InputError("Item", {"given": given}, condition, "Item((3,), (16,), (1,), (2,))")

    def get_local_id(self, dimension: int = 0) -> int:
        """The number of the thread in its work-group, along a dimension.

        >>> Item((3,), (16,), (1,), (2,)).get_local_id(0)
        3
        """
        return self.local[self._at(dimension)]

    def get_local_linear_id(self) -> int:
        """The number of the thread in its work-group, over all dimensions."""
        return _linear(self.local, self.threads)

    def get_local_range(self, dimension: int = 0) -> int:
        """Threads of a work-group along a dimension."""
        return self.threads[self._at(dimension)]

    def get_group(self, dimension: int = 0) -> int:
        """The number of the work-group along a dimension."""
        return self.group[self._at(dimension)]

    def get_group_linear_id(self) -> int:
        """The number of the work-group, over all dimensions."""
        return _linear(self.group, self.groups)

    def get_group_range(self, dimension: int = 0) -> int:
        """Work-groups of the launch along a dimension."""
        return self.groups[self._at(dimension)]

    def get_global_id(self, dimension: int = 0) -> int:
        """The number of the thread in the launch along a dimension.

        >>> Item((3,), (16,), (1,), (2,)).get_global_id(0)
        19
        """
        at = self._at(dimension)
        return self.group[at] * self.threads[at] + self.local[at]

    def get_global_range(self, dimension: int = 0) -> int:
        """Threads of the launch along a dimension."""
        at = self._at(dimension)
        return self.groups[at] * self.threads[at]

    def get_global_linear_id(self) -> int:
        """The number of the thread in the launch, over all dimensions."""
        each = range(len(self.local))
        where = tuple(self.get_global_id(i) for i in each)
        return _linear(where, tuple(self.get_global_range(i) for i in each))

    def _at(self, dimension: int) -> int:
        (axis,) = whole("nd_item", dimension=dimension)
        if not 0 <= axis < len(self.local):
            number = {1: "one dimension", 2: "two dimensions", 3: "three dimensions"}
            raise InputError(
                "nd_item",
                {"dimension": axis},
                f"the launch has {number[len(self.local)]}",
                f"use 0 to {len(self.local) - 1}" if len(self.local) > 1 else "use 0",
            )
        return axis


@dataclass(frozen=True, slots=True)
class Grid:
    """The extents of a launch: threads of a work-group, and work-groups."""

    threads: Extents
    groups: Extents


def grid_of(threads: object, groups: object) -> Grid:
    """Return the extents of a launch; `InputError` for wrong, different or too many of them.

    One number stands for one dimension; groups of 1 are as many as the threads have dimensions.

    >>> grid_of((2, 2, 4), 1)
    Grid(threads=(2, 2, 4), groups=(1, 1, 1))
    """
    given = {"threads": threads, "groups": groups}
    each, all_groups = _extents("threads", threads), _extents("groups", groups)
    if all_groups == (1,):
        all_groups = (1,) * len(each)
    if len(each) != len(all_groups) or not 1 <= len(each) <= 3:
        condition = "threads and groups must have the same number of dimensions, one to three"
        raise InputError("launch", given, condition, "threads=(2, 2, 4), groups=(1, 1, 8)")
    if min(*each, *all_groups) < 1:
        condition = "a launch needs at least one thread and one group"
        raise InputError("launch", given, condition, "use 1 or more")
    if prod(each) * prod(all_groups) > MOST_THREADS:
        condition = f"threads run one after the other, at most {MOST_THREADS} of them"
        raise InputError("launch", given, condition, "launch a part of the grid")
    return Grid(each, all_groups)


def items(grid: Grid) -> Iterator[tuple[int, list[Item]]]:
    """Yield the number of each work-group and its items, both in linear order.

    >>> [item.local for item in next(items(Grid((1, 2), (1, 1))))[1]]
    [(0, 0), (0, 1)]
    """
    for index, group in enumerate(_places(grid.groups)):
        yield index, [Item(i, grid.threads, group, grid.groups) for i in _places(grid.threads)]


def _extents(name: str, value: object) -> Extents:
    if not isinstance(value, tuple):
        return whole("launch", **{name: value})
    each = cast("tuple[Any, ...]", value)
    return tuple(n for one in each for n in whole("launch", **{name: one}))


def _places(extents: Extents) -> Iterator[Extents]:
    return product(*map(range, extents))


def _linear(where: Extents, extents: Extents) -> int:
    linear = 0
    for at, extent in zip(where, extents, strict=True):
        linear = linear * extent + at
    return linear


# ------------------------------------------------------------ synchronisation
# Barriers: of the whole work-group, and named ones. What they return must be yielded.


@dataclass(frozen=True, slots=True)
class Meetings:
    """What a kernel yields: the arrivals and waits of one call."""

    name: str
    meetings: tuple[Meeting, ...]

    def __str__(self) -> str:
        """The call, as it is written."""
        return self.name


def barrier() -> Meetings:
    """Return the barrier of the work-group, to be yielded: every thread arrives, then waits.

    Lint PX203 where some thread never reaches it, PX211 where the call is not yielded.
    C++: ``barrier()``. Document: Intel ESIMD LSC SLM guide, full barrier.

    >>> from pycute_xe import esimd
    >>> def kernel(item):
    ...     if item.get_local_id(0) < 2:
    ...         yield esimd.barrier()
    >>> esimd.launch(kernel, threads=4)
    Traceback (most recent call last):
        ...
    pycute_xe.esimd.lint.EsimdError: PX203 conditional-barrier: launch(...
    """
    return _meet("barrier()", lambda label: (BarrierArrive(label=label), BarrierWait(label=label)))


class nbarrier:
    """A named barrier of some of the threads, with arrival and wait apart.

    ``init_nbarrier`` says which it is and whom it counts; ``arrive`` and ``wait`` are yielded. The
    barrier fires when every producer and every consumer has arrived; producers do not wait. What
    those that arrived did before is over for those that have waited.
    C++: ``nbarrier``, or ``named_barrier_signal`` and ``named_barrier_wait``.
    Documents: Intel ESIMD LSC SLM guide, named barriers; XeTLA 0.3.6, ``xetla_nbarrier_t``.

    >>> from pycute_xe import esimd
    >>> def kernel(item):
    ...     nb = esimd.nbarrier()
    ...     nb.init_nbarrier(1, esimd.nbarrier_role.producer_consumer, 2)
    ...     yield nb.arrive()
    ...     yield nb.wait()
    >>> esimd.launch(kernel, threads=2).trace.barriers
    1
    """

    __slots__ = ("_barrier", "_role")

    def __init__(self) -> None:
        """A barrier that is yet to be initialised."""
        self._barrier: NamedBarrier | None = None
        self._role = nbarrier_role.producer_consumer

    def init_nbarrier(
        self,
        barrier_id: int,
        role: object,
        num_producers: int,
        num_consumers: int | None = None,
    ) -> None:
        """Say which barrier it is, what this thread does there, and whom it counts.

        With one number, that many threads are producers and consumers both.
        Raises `MachineError` for numbers that cannot be, `InputError` for anything but
        numbers and an `nbarrier_role`.
        """
        made = "init_nbarrier"
        if not isinstance(role, nbarrier_role):
            known = ", ".join(f"nbarrier_role.{one.name}" for one in nbarrier_role)
            raise InputError(
                made, {"role": repr(role)}, "role must be an nbarrier_role", f"one of {known}"
            )
        number, producers = whole(made, barrier_id=barrier_id, num_producers=num_producers)
        given = producers if num_consumers is None else num_consumers
        (consumers,) = whole(made, num_consumers=given)
        self._barrier = NamedBarrier(number, producers, consumers)
        self._role = role

    def arrive(self) -> Meetings:
        """Return the arrival, to be yielded; the thread goes on."""
        known, role = self._known("arrive"), self._role.name
        return _meet(
            f"nbarrier({known.id}).arrive()",
            lambda label: (BarrierArrive(known, role, label),),  # pyright: ignore[reportArgumentType]
        )

    def wait(self) -> Meetings:
        """Return the wait, to be yielded; the thread goes on when the barrier has fired."""
        known = self._known("wait")
        return _meet(f"nbarrier({known.id}).wait()", lambda label: (BarrierWait(known, label),))

    def _known(self, operation: str) -> NamedBarrier:
        if self._barrier is None:
            raise MachineError(
                operation, {}, "the named barrier is not initialised", "call init_nbarrier(…) first"
            )
        return self._barrier


def _meet(name: str, meetings: Callable[[str], tuple[Meeting, ...]]) -> Meetings:
    thread = current(name)
    pending = Meetings(name, meetings(thread.progress.label))
    thread.pending = pending
    return pending


# ------------------------------------------------------------ placing
# Arrays of NumPy placed in the memory of a machine, and fetched from it.


def place(
    machine: Machine, arguments: tuple[Any, ...]
) -> tuple[list[Any], dict[int, NDArray[Any]]]:
    """The arguments of the kernel, and each buffer once with its address."""
    given: list[Any] = []
    placed: dict[int, NDArray[Any]] = {}
    for argument in arguments:
        if not isinstance(argument, np.ndarray):
            given.append(argument)
            continue
        array = cast("NDArray[Any]", argument)
        _element_type(array.dtype)
        address = _place_of(array, placed)
        if address is None:
            address = machine.memory.place(array)
            machine.arrays[address] = array.nbytes
        # Of two arrays of one buffer, one that can be written takes what was stored.
        if address not in placed or array.flags.writeable:
            placed[address] = array
        given.append(Pointer(array.dtype, address))
    return given, placed


def _element_type(given: np.dtype[Any]) -> None:
    """Refuse arrays whose elements no memory here holds: `DTypeError` or `InputError`."""
    kind = dtype_of(given)
    if given != kind:
        condition = "the elements are not in native byte order"
        raise InputError("launch", {"dtype": given.str}, condition, f"array.astype({kind.name!r})")


def _place_of(array: NDArray[Any], placed: dict[int, NDArray[Any]]) -> int | None:
    """Where the buffer of an array lies already; `InputError` where only a part of it does."""
    for address, other in placed.items():
        if _buffer(array) == _buffer(other):
            return address
        if np.shares_memory(array, other):
            operands = {"shapes": (other.shape, array.shape)}
            raise InputError(
                "launch",
                operands,
                "two arrays overlap without being the same elements in the same order",
                "pass the larger one once, and add offsets to its pointer",
            )
    return None


def _buffer(array: NDArray[Any]) -> object:
    """What arrays have in common that are the same bytes in the same order."""
    start = array.__array_interface__["data"][0]
    if array.flags.c_contiguous:
        return start, array.nbytes
    return start, array.shape, array.strides, array.dtype


def fetch(machine: Machine, placed: dict[int, NDArray[Any]]) -> None:
    """Copy what was stored back into the arrays."""
    for address, array in placed.items():
        content = machine.memory.array(address, array.shape, array.dtype)
        before = np.ascontiguousarray(array).view(np.uint8)
        if np.array_equal(before, np.ascontiguousarray(content).view(np.uint8)):
            continue
        if not array.flags.writeable:
            operands = {"shape": array.shape}
            raise InputError(
                "launch", operands, "the kernel stores to a read-only array", "copy it"
            )
        array[...] = content


# ------------------------------------------------------------ launching


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
    undefined behaviour; what the kernel itself raises passes through as it is.
    C++: ``cgh.parallel_for(nd_range<3>{…}, kernel)``.

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
        started = kernel(item, *arguments)
    if isinstance(started, Generator):
        steps = cast("Generator[Any, None, Any]", started)
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
