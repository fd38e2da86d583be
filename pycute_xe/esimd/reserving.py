"""Asking for shared local memory: ``slm_init`` for the kernel, ``slm_allocator`` for a block."""

from __future__ import annotations

import dis
import inspect
from functools import lru_cache
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, Final, Self

from pycute_xe.arch.rules import errors
from pycute_xe.errors import MachineError
from pycute_xe.esimd.threads import Thread, current
from pycute_xe.esimd.types import whole
from pycute_xe.machine import Slm

__all__ = ["ready", "slm_allocator", "slm_init"]

# ------------------------------------------------------------ branches
# Whether a call stands where control flow may pass it by, from the byte code of its callers.

_FOLDER: Final = str(Path(__file__).parent)
_JUMPS: Final = frozenset([*dis.hasjrel, *dis.hasjabs])


def in_a_branch(frame: Any) -> bool:
    """Whether a call, or a call of the function that makes it, is in a branch or a loop.

    The functions outside this package are asked, from the caller of the innermost on up to the
    kernel.
    """
    while frame is not None and _inside(frame):
        frame = frame.f_back
    while frame is not None and not _inside(frame):
        if _passed_by(frame.f_code, frame.f_lasti):
            return True
        frame = frame.f_back
    return False


def _inside(frame: Any) -> bool:
    return str(frame.f_code.co_filename).startswith(_FOLDER)


@lru_cache(maxsize=1024)
def _passed_by(code: CodeType, at: int) -> bool:
    """Whether some jump before an instruction leads beyond it."""
    return any(
        step.offset < at and step.opcode in _JUMPS and step.argval > at
        for step in dis.get_instructions(code)
    )


# ------------------------------------------------------------ reserving


def slm_init(nbytes: int) -> None:
    """Ask for so many bytes of shared local memory: the first statement of every thread.

    Lints PX202 unless all threads call it first, outside any branch, and PX205 for more than the
    target has.
    C++: ``slm_init<nbytes>()``. Document: Intel ESIMD LSC SLM guide, SLM initialization.

    >>> from pycute_xe import esimd
    >>> run = esimd.launch(lambda item: esimd.slm_init(65540), target="bmg")
    >>> run.codes, run.findings[0].condition[:62]
    (('PX205',), 'shared local memory is 65540 bytes, must be at most 65536 [Int')
    """
    thread = current("slm_init")
    group, operands = thread.group, {"nbytes": nbytes}
    wrong = _misplaced(thread, nbytes)
    if wrong:
        raise thread.error("PX202", "slm_init", operands, wrong)
    thread.slm_bytes = nbytes
    if group.slm is None:
        _judge_size(thread, "slm_init", nbytes)
        group.slm, group.slm_bytes = Slm(nbytes), nbytes


def _misplaced(thread: Thread, nbytes: object) -> str:
    """What is wrong with a call of slm_init, if anything."""
    group = thread.group
    if thread.operations > 1:
        again = thread.slm_bytes is not None
        return "slm_init is called twice" if again else "another operation came before it"
    if thread.computed:
        return "the thread filled or changed a vector before it"
    if type(nbytes) is not int or nbytes < 1:
        return "the size must be a positive number of bytes"
    if group.slm is not None and group.slm_bytes != nbytes:
        return f"another thread asked for {group.slm_bytes} bytes"
    if in_a_branch(inspect.currentframe()):
        return "it stands in a branch or a loop"
    return ""


class slm_allocator:
    """Bytes of shared local memory for a block of a kernel, behind those of ``slm_init``.

    ``with slm_allocator(nbytes) as part:`` ends where the block ends, as C++'s destructor does;
    `get_offset` is where its bytes start. Blocks in one another get bytes behind each other, and
    blocks after one another the same bytes: a barrier must lie between their uses.
    Lints PX201 before slm_init, PX205 for more than the target has, all together.
    C++: ``slm_allocator<nbytes>``. Source: intel/llvm, ESIMD extension, semi-dynamic allocation.

    >>> from pycute_xe import esimd
    >>> def kernel(item):
    ...     esimd.slm_init(1024)
    ...     with esimd.slm_allocator(64) as one, esimd.slm_allocator(64) as two:
    ...         assert (one.get_offset(), two.get_offset()) == (1024, 1088)
    >>> esimd.launch(kernel).codes
    ()
    """

    __slots__ = ("_nbytes", "_offset", "_thread")

    def __init__(self, nbytes: int) -> None:
        """Reserve the bytes, from a multiple of 16 on."""
        thread = ready("slm_allocator")
        (self._nbytes,) = whole("slm_allocator", nbytes=nbytes)
        if self._nbytes < 1:
            condition = "the size must be a positive number of bytes"
            raise MachineError("slm_allocator", {"nbytes": nbytes}, condition, "use 1 or more")
        start = thread.slm_bytes if not thread.parts else thread.parts[-1]
        self._thread, self._offset = thread, -(-(start or 0) // 16) * 16
        end = self._offset + self._nbytes
        thread.parts.append(end)
        slm = thread.group.slm
        if slm is not None and end > slm.nbytes:
            _judge_size(thread, "slm_allocator", end)
            slm.grow(end)

    def get_offset(self) -> int:
        """The byte at which the part starts."""
        return self._offset

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._thread.parts.pop()


def ready(operation: str) -> Thread:
    """Return the running thread, which has called slm_init; else PX201 or PX202."""
    thread = current(operation)
    if thread.slm_bytes is None:
        others = thread.group.slm is not None
        condition = "this thread never called slm_init" if others else "slm_init was never called"
        raise thread.error("PX202" if others else "PX201", operation, {}, condition)
    return thread


def _judge_size(thread: Thread, operation: str, nbytes: int) -> None:
    broken = thread.machine.target.slm_broken(nbytes)
    for breach in errors(broken):
        condition = f"{breach.condition} [{breach.source}]"
        operands = {"nbytes": nbytes, "target": thread.machine.target}
        raise thread.error("PX205", operation, operands, condition)
    for breach in broken:
        thread.record("PX205", operation, f"{breach.condition} [{breach.source}]")
