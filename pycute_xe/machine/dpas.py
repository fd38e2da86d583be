"""Floor 8: DPAS, executed as the vISA manual's pseudo-code says, all channels at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Dpas
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import MachineError
from pycute_xe.machine.registers import RegisterFile
from pycute_xe.machine.trace import Trace
from pycute_xe.numeric import Numeric

__all__ = ["execute"]

_Floats = NDArray[np.float32]


def execute(
    registers: RegisterFile,
    dpas: Dpas,
    dst: int,
    acc: int | None,
    src1: int,
    src2: int,
    trace: Trace | None = None,
) -> None:
    """Write ``D = C + A·B`` to byte ``dst``: C at ``acc``, B at ``src1``, A at ``src2``.

    Offsets are bytes in the register file; an ``acc`` of ``None`` is the null operand, zero.
    Products and sums are f32, added to C in ascending k; the result is rounded to nearest even
    where D is narrower. A, C and D are row-major; dword n of each register of B holds column n.
    Raises `MachineError` for operands that are uninitialised, misaligned or outside.
    Document: vISA manual, DPAS.md.

    >>> from pycute_xe.numeric import as_numeric
    >>> registers = RegisterFile(64 * 64)
    >>> dpas = Dpas(1, *map(as_numeric, ("f32", "f16", "f16", "f32")))
    >>> registers.write(0, np.ones(16, dtype=np.float16).view(np.uint8))
    >>> registers.write(64, np.full(256, 2, dtype=np.float16).view(np.uint8))
    >>> execute(registers, dpas, dst=1024, acc=None, src1=64, src2=0)
    >>> registers.read(1024, 64, "the reader").view(np.float32)[:2].tolist()
    [32.0, 32.0]
    """
    plan = _plan(dpas)
    _aligned(plan, registers.grf_bytes, dst=dst, acc=acc or 0, src1=src1)
    _aligned(plan, plan.row_bytes, src2=src2)
    total = _total(registers, plan, acc, src1, src2)
    registers.write(dst, total.reshape(-1).view(np.uint8), plan.text)
    if trace is not None:
        trace.instruction(plan.text)


def _total(
    registers: RegisterFile, plan: _Plan, acc: int | None, src1: int, src2: int
) -> NDArray[Any]:
    """C plus every product, in ascending k, rounded to the type of D."""
    depth, ops, repeat, channels = plan.products
    a = plan.a.read(registers, src2).transpose(1, 2, 0)
    b = plan.b.read(registers, src1).transpose(0, 2, 1)
    # terms[0] is C; the others are the products, k ascending, each (repeat, channel).
    terms = np.empty((1 + depth * ops, repeat, channels), dtype=np.float32)
    terms[0] = 0 if acc is None else plan.c.read(registers, acc)
    # Infinities and NaNs are results like any other; the hardware has nobody to warn.
    with np.errstate(over="ignore", invalid="ignore"):
        np.multiply(a[:, :, :, None], b[:, :, None, :], out=terms[1:].reshape(plan.products))
        # Reducing the slowest axis adds slice after slice, in order.
        return np.add.reduce(terms, axis=0).astype(plan.d, copy=False)


@dataclass(frozen=True, eq=False, slots=True)
class _Operand:
    """How an operand is read: its dtype, bytes, shape and who reads it."""

    kind: np.dtype[Any]
    nbytes: int
    shape: tuple[int, ...]
    reader: str

    def read(self, registers: RegisterFile, offset: int) -> _Floats:
        """Return the operand as f32."""
        data = registers.read(offset, self.nbytes, self.reader)
        return data.view(self.kind).astype(np.float32).reshape(self.shape)


@dataclass(frozen=True, eq=False, slots=True)
class _Plan:
    """What of an instruction does not depend on where its operands lie."""

    text: str
    row_bytes: int
    products: tuple[int, int, int, int]
    a: _Operand
    b: _Operand
    c: _Operand
    d: np.dtype[Any]


@lru_cache(maxsize=1024)
def _plan(dpas: Dpas) -> _Plan:
    text, depth, ops = str(dpas), dpas.depth, dpas.operations

    def operand(name: str, kind: Numeric, shape: tuple[int, ...]) -> _Operand:
        nbytes = int(np.prod(shape)) * kind.bytes
        return _Operand(numpy_dtype(kind), nbytes, shape, f"{text} {name}")

    return _Plan(
        text=text,
        row_bytes=dpas.K * dpas.A.bytes,
        products=(depth, ops, dpas.M, dpas.N),
        a=operand("A", dpas.A, (dpas.M, depth, ops)),
        b=operand("B", dpas.B, (depth, dpas.N, ops)),
        c=operand("C", dpas.C, (dpas.M, dpas.N)),
        d=numpy_dtype(dpas.D),
    )


def _aligned(plan: _Plan, unit: int, **operands: int) -> None:
    for name, offset in operands.items():
        if offset % unit:
            raise MachineError(
                "dpas",
                {"instruction": plan.text, name: offset},
                f"the operand is not aligned to {unit} bytes",
                "start operands at a register, and A at a row",
            )
