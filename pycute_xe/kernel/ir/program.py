"""Floor 7: the parts of a kernel, which its construction, its listing and its paths are about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Fragment, Operand, Shared
from pycute_xe.kernel.ir.statements import Statement
from pycute_xe.kernel.ir.walking import walk
from pycute_xe.kernel.spec.specification import Specification
from pycute_xe.signatures import typed

__all__ = ["Program"]


@dataclass(frozen=True)
class Program:
    """The parts of a kernel by name; `Kernel` checks that they fit."""

    name: str
    subgroups: int
    operands: tuple[Operand, ...]
    fragments: tuple[Fragment, ...]
    grid: tuple[tuple[str, Index], ...]
    body: tuple[Statement, ...]
    computes: Specification | None = None
    shared: tuple[Shared, ...] = ()

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """The names of the extents that a problem binds, in the order of the operands."""
        return tuple(
            dict.fromkeys(n for o in self.operands for mode in o.modes for n in mode.names)
        )

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """The operands that a run is given, in the order of the listing."""
        return tuple(o for o in self.operands if o.role in ("in", "inout"))

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """The operands that a run returns, in the order of the listing."""
        return tuple(o for o in self.operands if o.role in ("out", "inout"))

    @typed
    def operand(self, name: str) -> Operand:
        """Return an operand by name; `KernelError` for an unknown one."""
        return _named(self, "operand", self.operands, name)

    @typed
    def fragment(self, name: str) -> Fragment:
        """Return a fragment by name; `KernelError` for an unknown one."""
        return _named(self, "fragment", self.fragments, name)

    @typed
    def shared_array(self, name: str) -> Shared:
        """Return a shared array by name; `KernelError` for an unknown one."""
        return _named(self, "shared array", self.shared, name)

    def statements(self) -> Iterator[Statement]:
        """Yield every statement, outer before inner, in order."""
        return walk(self.body)


T = TypeVar("T", Operand, Fragment, Shared)


def _named(kernel: Program, what: str, entries: tuple[T, ...], name: str) -> T:
    for entry in entries:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in entries)
    raise KernelError(
        what, {"kernel": kernel.name, "name": name}, f"there is no {what} {name}", f"use {known}"
    )
