"""Floor 8: where the data of an LSC message lies in registers, and how addresses are formed.

The vISA manual (LSC_UNTYPED.md) leaves three things open here:

* It writes ``DstData[v].elems[n]``, though a component of 32 channels takes several registers. Its
  text ("the number of elements for each component in the vector will be equal to the ExecSize")
  makes components follow each other, and Intel's graphics compiler (1.0.12504.6, destination
  lengths of compiled messages) starts each at a register and gives it room for one dword channel
  for each dword of a register, 16 on PVC, should the message have fewer.
* Loads add the immediate offset after scaling, stores before, and both scale the surface. Its
  syntax says ``AddrType[ AddrScale * Src0Addrs + AddrImmOffset ]``, and so does the compiler
  (LscUntypedTranslate.cpp, ``NEW_ADDR = SCALE*ADDR + OFF``): the surface is added last.
* The upper bits of d8u32 and d16u32 after a load, and the lower ones of d16u32h, are zeros
  (the compiler's visa_igc_common_header.h; on DG2 and PVC the former are undefined).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pycute_xe.arch.lsc import Address, DataType
from pycute_xe.machine.lsc_spaces import Index
from pycute_xe.machine.memory import Bytes

__all__ = ["addresses", "elements", "places", "widen"]


@lru_cache(maxsize=1024)
def places(data: DataType, exec_size: int, grf_bytes: int) -> Index:
    """Return the register byte of each element: channel × element × byte, from the operand's start.

    >>> places(DataType("d64", 2), 16, 64)[:, :, 0].tolist()[:2]
    [[0, 128], [8, 136]]
    >>> places(DataType("d32", 4, transpose=True), 1, 64)[0, :, 0].tolist()
    [0, 4, 8, 12]
    """
    size = data.register_bits // 8
    channel = np.arange(exec_size, dtype=np.int64)[:, None]
    element = np.arange(data.elements, dtype=np.int64)[None, :]
    if data.transpose:
        first = channel * _whole(data.elements * size, grf_bytes) + element * size
    else:
        component = _whole(max(exec_size, grf_bytes // 4) * size, grf_bytes)
        first = element * component + channel * size
    found = first[:, :, None] + np.arange(size, dtype=np.int64)
    found.flags.writeable = False
    return found


def widen(data: DataType, rows: Bytes) -> Bytes:
    """Return rows of memory bytes as the bytes of register elements, zeros around them.

    >>> widen(DataType("d16u32h"), np.array([[1, 2]], dtype=np.uint8)).tolist()
    [[0, 0, 1, 2]]
    """
    if data.memory_bits == data.register_bits:
        return rows
    wide = np.zeros((len(rows), data.register_bits // 8), dtype=np.uint8)
    wide[:, kept(data)] = rows
    return wide


def kept(data: DataType) -> slice:
    """Return the bytes of a register element that memory holds.

    >>> kept(DataType("d8u32")), kept(DataType("d16u32h"))
    (slice(0, 1, None), slice(2, 4, None))
    """
    size = data.memory_bits // 8
    first = data.register_bits // 8 - size if data.upper_half else 0
    return slice(first, first + size)


def addresses(address: Address, values: Index, lanes: Index, pitch: int | None = None) -> Index:
    """Return the byte address of each lane: scale * value + offset, in the width of the address.

    ``values`` are the addresses in registers, one per lane, or a single one with a ``pitch``:
    then channel n of the message is n * pitch bytes on.

    >>> where = Address("flat", 32, "V1", scale=4, offset=-8)
    >>> addresses(where, np.array([2, 1]), np.array([0, 1])).tolist()
    [0, 4294967292]
    """
    # Unsigned arithmetic wraps, in NumPy as in registers.
    found = values.astype(np.uint64) * np.uint64(address.scale % 2**64)
    found = found + np.uint64(address.offset % 2**64)
    if pitch is not None:
        found = found + lanes.astype(np.uint64) * np.uint64(pitch % 2**64)
    return (found & np.uint64(2**address.bits - 1)).astype(np.int64)


def elements(data: DataType, starts: Index) -> Index:
    """Return the address of every element, lane by lane: the channels of a quad, or the vector.

    >>> elements(DataType("d32", mask="xw"), np.array([100, 200])).tolist()
    [100, 112, 200, 212]
    """
    offsets = np.array(data.channels, dtype=np.int64) * (data.memory_bits // 8)
    return (starts[:, None] + offsets).reshape(-1)


def _whole(nbytes: int, grf_bytes: int) -> int:
    return -(-nbytes // grf_bytes) * grf_bytes
