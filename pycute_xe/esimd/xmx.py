"""The matrix engines: ``xmx::dpas``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

from pycute_xe.arch import Dpas
from pycute_xe.errors import CuteError, DTypeError, ShapeError
from pycute_xe.esimd.blocks import elements_of, from_bytes
from pycute_xe.esimd.threads import Thread, current
from pycute_xe.esimd.types import Type, dtype_of, whole
from pycute_xe.esimd.vectors import Vector, array_of, simd
from pycute_xe.machine import dpas as machine_dpas
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["dpas"]

_SRC2, _SRC1, _ACC, _DST = 0, 4096, 8192, 12288


def dpas(
    systolic_depth: int,
    M: int,
    acc: Vector | None,
    b_tile: Vector,
    a_tile: Vector,
    *,
    t: Type | None = None,
    bt: Type | None = None,
    at: Type | None = None,
) -> simd:
    """Return acc + A·B of M × 16 elements, row after row.

    ``a_tile`` is A (M, K) row after row; ``b_tile`` is B (K, 16) packed: dword n of each row of 16
    holds consecutive k of column n (VNNI). K is 8 times the elements of a dword. ``t`` is the type
    of the result, that of ``acc`` if not given; ``bt`` and ``at`` those of the operands, where the
    vectors hold another (float holds tf32; uint8_t holds two of 4 bits). Without ``acc`` it is 0.
    Lints PX301 for tiles in the wrong order, PX302 for a B that was loaded without transform,
    PX303 for an acc and an A of equal size that look exchanged. A result of exchanged matrices
    (Usage 2) is transposed: `lsc_store_2d` records PX304.
    C++: ``xmx::dpas<8, M, T, CT, BT, AT>(acc, b_tile, a_tile)``. Document: Xe2 DPAS patterns.

    >>> import numpy as np
    >>> from pycute_xe import esimd
    >>> def kernel(item, c):
    ...     a, b = esimd.simd("f16", 8 * 16, 1), esimd.simd("f16", 16 * 16, 2)
    ...     acc = esimd.xmx.dpas(8, 8, esimd.simd("f32", 8 * 16), b, a)
    ...     esimd.block_store("f32", 128, c, acc)
    >>> c = np.zeros((8, 16), dtype=np.float32)
    >>> esimd.launch(kernel, c).trace.dpas, float(c.min())
    (1, 32.0)
    """
    thread = current("xmx.dpas")
    depth, height = whole("xmx.dpas", systolic_depth=systolic_depth, M=M)
    for name, vector in (("acc", acc), ("b_tile", b_tile), ("a_tile", a_tile)):
        _is_vector(name, vector)
    given = _Types(height, t, bt, at)
    made = _instruction(thread, given, acc, b_tile, a_tile)
    if depth != made.depth:
        operands = {"systolic_depth": depth}
        raise ShapeError(
            "xmx.dpas", operands, f"the depth must be {made.depth}", f"use {made.depth}"
        )
    if b_tile.history().plain_tile:
        thread.record("PX302", "xmx.dpas", f"b_tile was loaded as it lies in memory, as {made.B}")
    _swapped(thread, acc, a_tile)
    for offset, vector in ((_SRC2, a_tile), (_SRC1, b_tile), (_ACC, acc)):
        if vector is not None:
            data = elements_of("xmx.dpas", vector.dtype, len(vector), vector)
            thread.registers.write(offset, data, "dpas operand")
    at_acc = None if acc is None else _ACC
    machine_dpas.execute(thread.registers, made, _DST, at_acc, _SRC1, _SRC2, thread.machine.trace)
    registers = thread.registers.read(_DST, made.bytes_D, "dpas").copy()
    result = from_bytes(dtype_of(made.D), registers)
    result.record.origin = "product"
    result.record.extents = (a_tile.history().extents[0], b_tile.history().extents[1])
    return result


def _swapped(thread: Thread, acc: Vector | None, a_tile: Vector) -> None:
    """PX303 where the accumulator and A could change places, and look as if they had."""
    if acc is None or (acc.dtype, len(acc)) != (a_tile.dtype, len(a_tile)):
        return
    made, loaded = a_tile.history().origin, acc.history().origin == "load"
    if loaded and made in ("product", "constant"):
        what = "the result of a dpas" if made == "product" else "filled with one number"
        condition = f"acc was loaded, and a_tile, of the same type and size, is {what}"
        thread.record("PX303", "xmx.dpas", condition)


def _is_vector(name: str, value: object) -> None:
    if isinstance(value, Vector) or (value is None and name == "acc"):
        return
    fix = "give a simd; None stands for an acc of 0" if name == "acc" else "give a simd"
    raise DTypeError("xmx.dpas", {name: repr(value)}, f"{name} must be a vector", fix)


def _kind(vector: Vector, given: Type | None, accumulator: bool = False) -> Numeric:
    if given is not None:
        return as_numeric(given)
    numeric = as_numeric(array_of(vector).dtype)
    # DPAS takes no f32 input: a vector of float holds tf32 then.
    # closed: every other type feeds DPAS as it is
    return as_numeric("tf32") if numeric.name == "f32" and not accumulator else numeric


@dataclass(frozen=True, slots=True)
class _Types:
    """M, and the types that were named."""

    M: int
    t: Type | None
    bt: Type | None
    at: Type | None

    def instruction(self, acc: Vector | None, b: Vector, a: Vector) -> Dpas | None:
        """The instruction of three operands, ``None`` where their sizes do not fit it.

        Raises `DTypeError` or `ShapeError` if no instruction takes the types.
        """
        given = None if self.t is None else as_numeric(self.t)
        none = as_numeric("f32") if given is None else given
        c = none if acc is None else _kind(acc, None, accumulator=True)
        d = c if given is None else given
        made = Dpas(self.M, d, _kind(a, self.at), _kind(b, self.bt), c)
        wanted = [0 if acc is None else made.bytes_C, made.bytes_B, made.bytes_A]
        return made if _bytes(acc, b, a) == wanted else None

    def takes(self, acc: Vector, b: Vector, a: Vector) -> bool:
        """Whether there is an instruction of three operands."""
        try:
            return self.instruction(acc, b, a) is not None
        except CuteError:
            return False


def _bytes(*vectors: Vector | None) -> list[int]:
    return [0 if v is None else v.dtype.itemsize * len(v) for v in vectors]


def _instruction(thread: Thread, given: _Types, acc: Vector | None, b: Vector, a: Vector) -> Dpas:
    """The instruction; PX301 where only another order of the operands has one."""
    reason: CuteError | None = None
    try:
        made = given.instruction(acc, b, a)
        if made is not None:
            return made
    except CuteError as error:
        reason = error
    orders = [] if acc is None else list(permutations((acc, b, a)))[1:]
    sizes = f"acc, b_tile and a_tile have {_bytes(acc, b, a)} bytes"
    if any(given.takes(*order) for order in orders):
        condition = f"{sizes}, which another order would fit"
        raise thread.error("PX301", "xmx.dpas", {"M": given.M}, condition)
    if reason is not None:
        raise reason
    raise ShapeError(
        "xmx.dpas",
        {"M": given.M},
        f"{sizes}, which fit no instruction",
        "give M*16, K*16 and M*K elements, K = 8 times those of a dword",
    )
