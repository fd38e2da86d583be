"""Barriers: of the whole work-group, and named ones. What they return must be yielded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pycute_xe.errors import InputError, MachineError
from pycute_xe.esimd.checks import whole
from pycute_xe.esimd.threads import current
from pycute_xe.esimd.types import nbarrier_role
from pycute_xe.machine import BarrierArrive, BarrierWait, NamedBarrier
from pycute_xe.machine.workgroup import Meeting

__all__ = ["Meetings", "barrier", "nbarrier"]


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
        found, role = self._known("arrive"), self._role.name
        return _meet(
            f"nbarrier({found.id}).arrive()",
            lambda label: (BarrierArrive(found, role, label),),  # pyright: ignore[reportArgumentType]
        )

    def wait(self) -> Meetings:
        """Return the wait, to be yielded; the thread goes on when the barrier has fired."""
        found = self._known("wait")
        return _meet(f"nbarrier({found.id}).wait()", lambda label: (BarrierWait(found, label),))

    def _known(self, operation: str) -> NamedBarrier:
        if self._barrier is None:
            raise MachineError(
                operation, {}, "the named barrier is not initialised", "call init_nbarrier(…) first"
            )
        return self._barrier


def _meet(name: str, meetings: Callable[[str], tuple[Meeting, ...]]) -> Meetings:
    thread = current(name)
    found = Meetings(name, meetings(thread.progress.label))
    thread.pending = found
    return found
