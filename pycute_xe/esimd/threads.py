"""What a kernel runs on: the threads of a work-group, and the one that is running now."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target
from pycute_xe.arch.banks import Banks, BankUse
from pycute_xe.errors import MachineError
from pycute_xe.esimd.lint import LINTS, EsimdError, Finding, fail
from pycute_xe.machine import Memory, Progress, RegisterFile, Slm, Trace

__all__ = ["BankCount", "Group", "Machine", "Sent", "Thread", "computes", "current", "running"]

_REGISTERS: Final = 256


@dataclass(frozen=True, slots=True)
class Sent:
    """A message as it was sent: the thread, the statement, the vISA text, the bytes moved."""

    thread: int
    statement: str
    text: str
    nbytes: int


@dataclass(frozen=True, slots=True)
class BankCount:
    """What one access to shared local memory asked of its banks."""

    thread: int
    statement: str
    use: BankUse


def _sent() -> list[Sent]:
    return []


def _findings() -> dict[tuple[str, str], Finding]:
    return {}


def _counts() -> list[BankCount]:
    return []


Columns = tuple[int, int, int, int]
"""A surface and the bits of its elements: base, width, pitch, bits."""


def _columns() -> dict[Columns, dict[int, tuple[int, int, str]]]:
    return {}


def _arrays() -> dict[int, int]:
    return {}


@dataclass(slots=True)
class Machine:
    """What all work-groups of a launch share."""

    target: Target
    banks: Banks
    strict: bool
    memory: Memory = field(default_factory=Memory)
    trace: Trace = field(default_factory=Trace)
    sent: list[Sent] = field(default_factory=_sent)
    findings: dict[tuple[str, str], Finding] = field(default_factory=_findings)
    counts: list[BankCount] = field(default_factory=_counts)
    columns: dict[Columns, dict[int, tuple[int, int, str]]] = field(default_factory=_columns)
    arrays: dict[int, int] = field(default_factory=_arrays)
    """The bytes of each array that a launch placed, by its address."""

    def array_bytes(self, address: int) -> int | None:
        """Return the bytes of the array that an address lies in; None outside all."""
        starts = (at for at, nbytes in self.arrays.items() if at <= address < at + nbytes)
        return next((self.arrays[at] for at in starts), None)

    def record(
        self, code: str, operation: str, thread: int, statement: str, condition: str
    ) -> None:
        """Record a warning, once for each statement; raise it where the launch is strict."""
        if self.strict:
            raise fail(code, operation, {"thread": thread}, condition)
        finding = Finding(LINTS[code], thread, statement, condition)
        self.findings.setdefault((code, statement), finding)


Rows = dict[tuple[int, str], tuple[int, int, list[int]]]
"""By thread and statement: interval, size and starts of the blocks stored and not yet loaded."""


def _rows() -> Rows:
    return {}


def _blocks() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class Group:
    """What the threads of one work-group share: shared local memory, once it is asked for."""

    machine: Machine
    index: int
    threads: int
    slm: Slm | None = None
    slm_bytes: int = 0
    rows: Rows = field(default_factory=_rows)
    blocks: NDArray[np.int64] = field(default_factory=_blocks)
    """For each byte of shared memory, where the block that was stored there last starts; or -1."""


class Thread:
    """One hardware thread: its registers, how far it is, and what it has yet to yield."""

    def __init__(self, group: Group, index: int) -> None:
        """Start with uninitialised registers."""
        self.group = group
        self.machine = group.machine
        self.index = index
        grf = group.machine.target.grf_bytes
        self.registers = RegisterFile(_REGISTERS * grf, grf)
        self.progress = Progress(index, group.threads)
        self.pending: object = None
        self.operations = 0
        self.computed = False
        self.slm_bytes: int | None = None
        self.parts: list[int] = []

    def begins(self, operation: str) -> None:
        """Note that the thread is at an operation; PX211 where a barrier was called, not met."""
        if self.pending is not None:
            raise fail(
                "PX211", operation, {"thread": self.index}, f"{self.pending} was not yielded"
            )
        self.operations += 1
        self.progress.label = _statement(operation)

    def record(self, code: str, operation: str, condition: str) -> None:
        """Record a warning, once for each statement; raise it where the launch is strict."""
        self.machine.record(code, operation, self.index, self.progress.label, condition)

    def error(
        self, code: str, operation: str, operands: Mapping[str, object], condition: str
    ) -> EsimdError:
        """Return the error of a lint at this thread's statement."""
        at = {"thread": self.index, "at": self.progress.label}
        return fail(code, operation, {**at, **operands}, condition)


_RUNNING: list[Thread] = []


class running:
    """``with running(thread):`` makes a thread the current one."""

    def __init__(self, thread: Thread) -> None:
        """Remember the thread."""
        self._thread = thread

    def __enter__(self) -> Thread:
        _RUNNING.append(self._thread)
        return self._thread

    def __exit__(self, *_: object) -> None:
        _RUNNING.pop()


def computes() -> None:
    """Note that the thread that is running, if one is, computes in registers."""
    if _RUNNING:
        _RUNNING[-1].computed = True


def current(operation: str) -> Thread:
    """Return the thread that is running; `MachineError` outside a kernel."""
    if not _RUNNING:
        raise MachineError(
            operation, {}, "no thread is running", "call it in a kernel: esimd.launch(kernel, …)"
        )
    thread = _RUNNING[-1]
    thread.begins(operation)
    return thread


def _statement(operation: str) -> str:
    """Name the line that is running, in the function outside this package that called."""
    frame: Any = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame = frame.f_back
    return operation if frame is None else f"{operation} ({frame.f_code.co_name}:{frame.f_lineno})"


_PACKAGE: Final = __name__.rpartition(".")[0]
