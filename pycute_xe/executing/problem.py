"""A problem: what a user hands to a kernel, checked and bound to its operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import host_dtype
from pycute_xe.errors import InputError
from pycute_xe.executing.rounding import Asked, as_array
from pycute_xe.kernel import Kernel, Mma, Operand
from pycute_xe.kernel.ir.operands import bind_sizes, shape_of

__all__ = ["Problem", "poison", "prepare", "Report"]

# ------------------------------------------------------------ report
# What a run did, for people and programs.


@dataclass(frozen=True)
class Report:
    """The work of a run: messages and bytes by kind, DPAS instructions, barriers, copies.

    Messages count those of all subgroups; bytes are those inside the surfaces; ``copies`` names
    the operands whose arrays the target could not address as they lie, so that they were copied
    onto a legal surface. ``doubts`` says which atoms of the kernel do something else than their
    layouts claim. ``why`` says what kept the fast executor from whole arrays, so that the byte
    machine ran; it is empty where nothing did. Both executors report the same work.
    """

    executor: str
    sizes: dict[str, int]
    messages: dict[str, int]
    bytes: dict[str, int]
    dpas: int
    barriers: int
    copies: tuple[str, ...]
    seconds: float
    doubts: tuple[str, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        """One line for each kind of work."""
        extents = " ".join(f"{name}={extent}" for name, extent in self.sizes.items())
        lines = [f"{extents} by the {self.executor} executor in {self.seconds:.3f} s"]
        for kind, count in self.messages.items():
            lines.append(f"  {kind:9} {count:>12,} messages {self.bytes.get(kind, 0):>15,} bytes")
        lines.append(f"  dpas      {self.dpas:>12,} instructions")
        lines.append(f"  barriers  {self.barriers:>12,}")
        if self.copies:
            lines.append(f"  copied onto a legal surface: {', '.join(self.copies)}")
        if self.why:
            lines.append(f"  byte by byte: {self.why}")
        lines += [f"  not vouched for: {doubt}" for doubt in self.doubts]
        return "\n".join(lines)


# ------------------------------------------------------------ problem


@dataclass(frozen=True)
class Problem:
    """Extents by name, and the arrays that a kernel is given: one for each of ``kernel.inputs``.

    Arrays have the operand's modes in its order and its `host_dtype`; scalars are arrays without
    modes. They are the user's own, which no work-group writes. Where a run is of a part of a grid,
    ``pages`` asks for memory that is made where it is touched, and inputs are `Field`s.
    """

    kernel: Kernel
    sizes: dict[str, int]
    inputs: dict[str, Any]
    pages: bool = False

    @property
    def empty(self) -> bool:
        """Whether any extent is zero, so that no message would be sent."""
        return not all(self.sizes.values())

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the extents of an operand."""
        return shape_of(self.kernel.operand(name), self.sizes)

    def blank(self, name: str) -> NDArray[Any]:
        """Return an output as it is before a kernel runs: poison, what was handed in, zero."""
        operand = self.kernel.operand(name)
        if operand.role == "inout":
            return np.array(self.inputs[name])
        if operand.role == "scratch" and operand.value_type.kind != "float":
            return np.zeros(self.shape(name), host_dtype(operand.value_type))
        return poison(operand, self.shape(name))


def poison(operand: Operand, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array whose every bit is one: NaN in floats, the number of all ones in integers.

    >>> poison(Operand("D", "f32", ("M",)), (1,)), poison(Operand("D", "u8", ("M",)), (1,))
    (array([nan], dtype=float32), array([255], dtype=uint8))
    """
    dtype = host_dtype(operand.value_type)
    if operand.value_type.bits < 8 and operand.value_type.kind == "float":
        return np.full(shape, (1 << operand.value_type.bits) - 1, np.uint8).view(dtype)
    if operand.value_type.bits < 8:
        ones = -1 if operand.value_type.kind == "signed" else (1 << operand.value_type.bits) - 1
        return np.full(shape, ones, dtype)
    out = np.empty(shape, dtype)
    out.view(np.uint8)[...] = 0xFF
    return out


def prepare(
    kernel: Kernel, operands: tuple[Any, ...], named: Mapping[str, Any], asked: Asked
) -> Problem:
    """Bind arrays to the inputs of a kernel, by position in the order of the listing or by name.

    Sizes that no input tells may be given by name too. Raises `InputError` for too many, unknown,
    missing or doubled operands and for shapes that do not match, `DTypeError` as `as_array` does.
    """
    given = _bound(kernel, operands, named)
    sizes = {name: _size(name, value) for name, value in given.items() if name in kernel.sizes}
    inputs = {
        operand.name: as_array(
            operand.name,
            given[operand.name],
            operand.value_type,
            len(operand.modes),
            asked,
            _verb(kernel, operand),
        )
        for operand in kernel.inputs
    }
    shapes = {name: array.shape for name, array in inputs.items()}
    return Problem(kernel, bind_sizes(kernel.operands, shapes, sizes), inputs)


def _bound(kernel: Kernel, operands: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    names = [operand.name for operand in kernel.inputs]
    listed = ", ".join(names) or "nothing"
    if len(operands) > len(names):
        raise InputError(
            "run",
            {"kernel": kernel.name, "operands": len(operands)},
            f"{len(operands)} operands were given, the kernel takes {listed}",
            "give one for each",
        )
    given = dict(zip(names, operands, strict=False))
    for name, value in named.items():
        if name in given:
            raise InputError(
                "run",
                {"kernel": kernel.name, "operand": name},
                f"{name} was given by position and by name",
                "give it once",
            )
        if name not in names and name not in kernel.sizes:
            known = {operand.name for operand in kernel.operands}
            what = "is an output" if name in known else "is not an operand"
            raise InputError(
                "run",
                {"kernel": kernel.name, "operand": name},
                f"{name} {what}; the kernel takes {listed}",
                "name one of these",
            )
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise InputError(
            "run",
            {"kernel": kernel.name, "missing": ", ".join(missing)},
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; "
            f"the kernel takes {listed}",
            "give every one, in this order or by name",
        )
    return given


def _size(name: str, value: Any) -> int:
    if isinstance(value, np.integer):
        value = value.item()
    if type(value) is not int or value < 0:
        raise InputError(
            "run", {name: value}, f"{name} is an extent, {value!r} is not a count", "use 0 or more"
        )
    return value


def _verb(kernel: Kernel, operand: Operand) -> str:
    """What the kernel does with an operand of its type, for messages."""
    multiplied = {
        kind
        for s in kernel.statements()
        if isinstance(s, Mma)
        for kind in (s.mma.atom.op.A, s.mma.atom.op.B)
    }
    return "multiplies" if operand.value_type in multiplied else "takes"
