"""DPAS, executed as the vISA manual's pseudo-code says, all channels at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Dpas
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import MachineError
from pycute_xe.machine.memory import unpacked
from pycute_xe.machine.registers import RegisterFile
from pycute_xe.machine.trace import Trace
from pycute_xe.numeric import Numeric

__all__ = ["execute", "execute_all"]


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
    A, C and D are row-major; dword n of each register of B holds column n, and its lowest bits the
    lowest k. Of a tf32 the 13 lowest bits do not count.
    Floats: C and each product are f32, and the products are added to C one by one, k ascending; the
    manual leaves the order inside a step of the depth open. The sum is rounded to nearest even
    where D is narrower; subnormals are kept. Integers: sums wrap around at 32 bits, and signed or
    not, C and D are the same bits; sums do not saturate.
    Raises `MachineError` for operands that are uninitialised, misaligned (C and D to their rows, B
    to registers, A to its rows) or outside.
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
    _aligned(plan.text, dst=(dst, plan.row_d), acc=(acc or 0, plan.row_c))
    _aligned(plan.text, src1=(src1, registers.grf_bytes), src2=(src2, plan.row_a))
    a = plan.a.read(registers, src2)
    # (register, channel, step within the register, k within the step) → (k, channel)
    b = plan.b.read(registers, src1).transpose(0, 2, 3, 1).reshape(-1, dpas.N)
    c = None if acc is None else plan.c.read(registers, acc)
    total = _integers(a, b, c) if plan.d.kind in "iu" else _floats(a, b, c)
    with np.errstate(over="ignore", invalid="ignore"):
        result = total.astype(plan.d, copy=False)
    registers.write(dst, result.reshape(-1).view(np.uint8), plan.text)
    if trace is not None:
        trace.instruction(plan.text)


def execute_all(
    registers: RegisterFile,
    dpas: Dpas,
    dst: int,
    src1: int,
    src2: int,
    counts: tuple[int, int],
    trace: Trace | None = None,
) -> None:
    """Do ``counts`` (along M, along N) instructions that share operands, each as `execute`.

    Instruction (m, n) accumulates in its part of ``dst``, m fastest, and takes part n of ``src1``
    and part m of ``src2``; parts lie one behind the other. None may write what another one reads.
    Raises `MachineError` as the first instruction that faults does.
    """
    (along_m, along_n), plan = counts, _plan(dpas)
    whole = _Range(src2, along_m * plan.a.nbytes), _Range(src1, along_n * plan.b.nbytes)
    own = _Range(dst, along_m * along_n * plan.c.nbytes)
    apart = plan.row_c == plan.row_d and not any(own.meets(other) for other in whole)
    ready = all(registers.holds(x.first, x.nbytes) for x in (own, *whole))
    aligned = not (dst % plan.row_d or src1 % registers.grf_bytes or src2 % plan.row_a)
    if not (apart and ready and aligned and not plan.b.nbytes % registers.grf_bytes):
        for n, m in product(range(along_n), range(along_m)):
            c = dst + (m + along_m * n) * plan.row_d * dpas.M
            b, a = src1 + n * plan.b.nbytes, src2 + m * plan.a.nbytes
            execute(registers, dpas, c, c, b, a, trace)
        return
    a = plan.a.read(registers, src2, along_m)[None]
    b = plan.b.read(registers, src1, along_n).transpose(0, 1, 3, 4, 2)
    b = b.reshape(along_n, 1, -1, dpas.N)
    c = plan.c.read(registers, dst, along_n * along_m)
    c = c.reshape(along_n, along_m, *plan.c.shape)
    total = _integers(a, b, c) if plan.d.kind in "iu" else _floats(a, b, c)
    with np.errstate(over="ignore", invalid="ignore"):
        result = total.astype(plan.d, copy=False)
    registers.write(dst, result.reshape(-1).view(np.uint8), plan.text)
    if trace is not None:
        for _ in range(along_m * along_n):
            trace.instruction(plan.text)


@dataclass(frozen=True, slots=True)
class _Range:
    """Bytes of a register file."""

    first: int
    nbytes: int

    def meets(self, other: _Range) -> bool:
        """Whether both have a byte in common."""
        return self.first < other.first + other.nbytes and other.first < self.first + self.nbytes


def _floats(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any] | None) -> NDArray[np.float32]:
    """C plus every product, in ascending k, for (…, repeat, k) and (…, k, channel)."""
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    # terms[0] is C; the others are the products, k ascending, each (…, repeat, channel).
    terms = np.empty((1 + a.shape[-1], *shape), dtype=np.float32)
    terms[0] = 0 if c is None else c
    # Infinities and NaNs are results like any other; hardware gives no warning.
    with np.errstate(over="ignore", invalid="ignore"):
        rows, columns = np.moveaxis(a, -1, 0)[..., None], np.moveaxis(b, -2, 0)[..., None, :]
        np.multiply(rows, columns, out=terms[1:])
        # Reducing the slowest axis adds slice after slice, in order.
        return np.add.reduce(terms, axis=0)


def _integers(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any] | None) -> NDArray[np.uint32]:
    """C plus every product, of which the lowest 32 bits are kept: int64 holds all of them."""
    total = a @ b if c is None else a @ b + c
    return (total & 0xFFFFFFFF).astype(np.uint32)


@dataclass(frozen=True, eq=False, slots=True)
class _Operand:
    """How an operand is read: its type, bytes, shape and who reads it."""

    kind: Numeric
    nbytes: int
    shape: tuple[int, ...]
    reader: str

    def read(self, registers: RegisterFile, offset: int, count: int | None = None) -> NDArray[Any]:
        """Return the operand's numbers, or those of so many operands one behind the other."""
        data = registers.read(offset, self.nbytes * (count or 1), self.reader)
        shape = self.shape if count is None else (count, *self.shape)
        return unpacked(data, self.kind).reshape(shape)


@dataclass(frozen=True, eq=False, slots=True)
class _Plan:
    """What of an instruction does not depend on where its operands lie."""

    text: str
    row_a: int
    row_c: int
    row_d: int
    a: _Operand
    b: _Operand
    c: _Operand
    d: np.dtype[Any]


@lru_cache(maxsize=4096)
def _plan(dpas: Dpas) -> _Plan:
    """DPAS.md, semantics: OPS_PER_CHAN, SRC1_OPERANDS_PER_CHAN and the loops over them."""
    ops = 1 if dpas.B.bits == 32 else 2 if dpas.B.bits == 16 else _integer_operations(dpas)
    steps_per_dword = 32 // (ops * dpas.B.bits)
    k = dpas.depth * ops

    def operand(name: str, kind: Numeric, shape: tuple[int, ...]) -> _Operand:
        nbytes = int(np.prod(shape)) * kind.bits // 8
        return _Operand(kind, nbytes, shape, f"{dpas} {name}")

    return _Plan(
        text=str(dpas),
        row_a=k * dpas.A.bits // 8,
        row_c=dpas.N * dpas.C.bytes,
        row_d=dpas.N * dpas.D.bytes,
        a=operand("A", dpas.A, (dpas.M, k)),
        b=operand("B", dpas.B, (dpas.depth // steps_per_dword, dpas.N, steps_per_dword, ops)),
        c=operand("C", dpas.C, (dpas.M, dpas.N)),
        d=numpy_dtype(dpas.D),
    )


def _integer_operations(dpas: Dpas) -> int:
    return 4 if 8 in (dpas.A.bits, dpas.B.bits) else 8


def _aligned(text: str, **operands: tuple[int, int]) -> None:
    for name, (offset, unit) in operands.items():
        if offset % unit:
            raise MachineError(
                "dpas",
                {"instruction": text, name: offset},
                f"the operand is not aligned to {unit} bytes",
                "start operands at a register, and A at a row",
            )
