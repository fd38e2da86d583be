"""LSC messages, executed as the vISA manual's pseudo-code (LSC_UNTYPED.md) says.

Its loops over channels are NumPy operations here, which changes no result: registers and memory
are read before they are written, and what is written twice keeps the last value. Where the manual
contradicts itself or is silent, the choice and its second source stand where it is made:
below (registers, addresses), in `pycute_xe.machine.lsc_spaces` (bounds, atomics), and here:

* STORE reads ``DstData``, which a store does not have; it means Src1Data, as the other stores say.
* STORE_STRIDED adds the immediate offset twice; once, as in LOAD_STRIDED.
* The default pitch is "the data width times the vector size", counted in memory: a packed block.
* LOAD_STATUS asks for valid pages; here what is allocated is valid. The bits are those of one
  dword (Intel's graphics compiler, LscUntypedTranslate.cpp), zero for channels that are off.
* A block-2D message takes width, height and pitch minus 1 (the compiler's payload, and ESIMD's
  ``config_2d_mem_access``); the manual says so of the first two.
* A prefetch is checked as the load would be.
* The manual asks for no alignment. Atomics refuse an address that is not a multiple of their
  element, which one access could not serve; other messages move the bytes at any address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Surface
from pycute_xe.arch.lsc import Address, Block2DMessage, DataType, Message
from pycute_xe.errors import MachineError
from pycute_xe.machine import block2d
from pycute_xe.machine.lsc_spaces import (
    Flat,
    Index,
    Shared,
    Space,
    Stateful,
    SurfaceState,
    update,
)
from pycute_xe.machine.memory import Bytes, Memory
from pycute_xe.machine.registers import RegisterFile
from pycute_xe.machine.slm import Slm
from pycute_xe.machine.trace import Progress, Trace

__all__ = ["Channels", "Operands", "SurfaceState", "Surfaces", "execute", "channels", "places"]

# ------------------------------------------------------------ lsc places
# Where the data of an LSC message lies in registers, and how addresses are formed.
#
# The vISA manual (LSC_UNTYPED.md) leaves three things open here:
#
# * It writes ``DstData[v].elems[n]``, though a component of 32 channels takes several registers.
#   Its text, by which the number of elements of each component equals ExecSize, makes components
#   follow each other, and Intel's graphics compiler (1.0.12504.6, destination
#   lengths of compiled messages) starts each at a register and gives it room for one dword channel
#   for each dword of a register, 16 on PVC, should the message have fewer. So components of d64
#   begin two registers apart where by the manual's letter 8 channels and fewer need one.
# * Loads add the immediate offset after scaling, stores before, and both scale the surface. Its
#   syntax says ``AddrType[ AddrScale * Src0Addrs + AddrImmOffset ]``, and so does the compiler
#   (LscUntypedTranslate.cpp, ``NEW_ADDR = SCALE*ADDR + OFF``): the surface is added last.
# * The upper bits of d8u32 and d16u32 after a load, and the lower ones of d16u32h, are zeros
#   (the compiler's visa_igc_common_header.h; on DG2 and PVC the former are undefined).


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
    table = first[:, :, None] + np.arange(size, dtype=np.int64)
    table.flags.writeable = False
    return table


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
    sums = values.astype(np.uint64) * np.uint64(address.scale % 2**64)
    sums = sums + np.uint64(address.offset % 2**64)
    if pitch is not None:
        sums = sums + lanes.astype(np.uint64) * np.uint64(pitch % 2**64)
    return (sums & np.uint64(2**address.bits - 1)).astype(np.int64)


def elements(data: DataType, starts: Index) -> Index:
    """Return the address of every element, lane by lane: the channels of a quad, or the vector.

    >>> elements(DataType("d32", mask="xw"), np.array([100, 200])).tolist()
    [100, 112, 200, 212]
    """
    offsets = np.array(data.channels, dtype=np.int64) * (data.memory_bits // 8)
    return (starts[:, None] + offsets).reshape(-1)


def _whole(nbytes: int, grf_bytes: int) -> int:
    return -(-nbytes // grf_bytes) * grf_bytes


# ------------------------------------------------------------ lsc channels
# Which channels of a thread an LSC message acts on.

Flags = NDArray[np.bool_] | Sequence[bool]
"""One yes or no for each channel."""


@dataclass(frozen=True, eq=False, slots=True)
class Channels:
    """The channels of one message that are on: predicate and channel enable together.

    ``lanes`` are their indices, ascending.

    >>> Channels(np.array([True, False, True])).lanes.tolist()
    [0, 2]
    """

    mask: NDArray[np.bool_]
    lanes: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        """Find the indices once."""
        object.__setattr__(self, "lanes", self.mask.nonzero()[0])


def channels(
    exec_size: int,
    exec_mask: str = "M1",
    enabled: Flags | None = None,
    predicate: Flags | None = None,
    inverted: bool = False,
    combine: str = "",
) -> Channels:
    """Return the channels of a message of ``exec_size`` that are on.

    ``exec_mask`` M1 … M8 says at which channel of the thread, 0, 4 … 28, the message begins; with
    ``_NM`` the channels that the thread has enabled do not matter. ``enabled`` and ``predicate``
    count channels of the thread, ``None`` is all of them. ``combine``, "any" or "all", gives every
    channel of the message what is true of any or all of its predicate bits, those of channels that
    are off too; ``inverted`` negates the predicate after that.
    Raises `MachineError` when either is not a list of flags, or ends before the message does.
    Document: vISA manual, 3_execution_model.md and 5_operands.md, Predication.

    >>> channels(4, "M2", enabled=[True] * 6 + [False] * 2).mask.tolist()
    [True, True, False, False]
    >>> channels(4, "M2_NM", enabled=[False] * 8, predicate=[False] * 5 + [True] * 3).lanes.tolist()
    [1, 2, 3]
    """
    group, _, no_mask = exec_mask.partition("_")
    first = 4 * (int(group[1:]) - 1)
    mask = np.ones(exec_size, dtype=np.bool_)
    if enabled is not None and not no_mask:
        mask &= _part("enabled", enabled, first, exec_size)
    if predicate is not None:
        chosen = _part("predicate", predicate, first, exec_size)
        if combine:
            chosen = np.full_like(chosen, chosen.any() if combine == "any" else chosen.all())
        mask &= ~chosen if inverted else chosen
    return Channels(mask)


def _part(name: str, flags: Flags, first: int, count: int) -> NDArray[np.bool_]:
    part = _flags(name, flags)[first : first + count]
    if part.shape != (count,):
        raise MachineError(
            "channels",
            {name: len(flags), "first": first, "exec_size": count},
            "the message has channels beyond the last flag",
            f"give one flag for each of {first + count} channels",
        )
    return part


def _flags(name: str, flags: object) -> NDArray[np.bool_]:
    """One flag for each channel; anything but a list of flags is refused."""
    array = None
    with suppress(ValueError, TypeError):  # ragged lists
        array = np.asarray(flags)
    if array is None or array.ndim != 1 or (array.size and array.dtype.kind not in "biu"):
        raise MachineError(
            "channels",
            {name: flags},
            f"{name} is not a list of flags",
            "give one True or False for each channel of the thread",
        )
    return array.astype(np.bool_)


# ------------------------------------------------------------ lsc

Operands = Mapping[str, "int | Flags"]
"""By name: the register byte of an operand, the value of a scalar one, the flags of a predicate."""

Surfaces = Mapping[int | str, SurfaceState]
"""By number or name, as messages name them."""


def execute(
    message: Message | Block2DMessage,
    *,
    memory: Memory,
    registers: RegisterFile,
    operands: Operands,
    enabled: Flags | None = None,
    surfaces: Surfaces | None = None,
    slm: Slm | None = None,
    trace: Trace | None = None,
    thread: Progress | None = None,
) -> int:
    """Execute one message and return the bytes of memory that it moved, those in bounds.

    ``operands`` says where each named register operand starts (bytes, whole registers), and the
    value of each named scalar: pitch, surface number, and all six of a block-2D address; a
    predicate is a yes or no per channel. ``enabled`` are the channels that the thread has on.
    Destination lanes that are off keep their bytes. Stateful messages need ``surfaces``, those of
    the SLM ``slm`` (races are watched for with a ``thread``).
    Raises `MachineError` for an operand that is missing or not at a register, memory that is not
    allocated, and registers or shared memory read before they were written.
    Document: vISA manual, LSC_UNTYPED.md.

    >>> from pycute_xe.arch.lsc import Address, DataType
    >>> memory, registers = Memory(), RegisterFile(256)
    >>> base = memory.place(np.arange(10, 20, dtype=np.uint32))
    >>> registers.write(0, np.array([base, base + 12], dtype=np.uint64).view(np.uint8))
    >>> load = Message("load", "ugm", 2, DataType("d32"), Address("flat", 64, "V1"), "V2")
    >>> execute(load, memory=memory, registers=registers, operands={"V1": 0, "V2": 64})
    8
    >>> registers.read(64, 8, "the reader").view(np.uint32).tolist()
    [10, 13]
    """
    run = _Run(message, memory, registers, operands, surfaces or {}, slm, thread)
    on = channels(
        1 if isinstance(message, Block2DMessage) else message.exec_size,
        message.exec_mask,
        enabled,
        run.predicate(),
        inverted=(message.predicate or "").startswith("!"),
        combine=(message.predicate or "").partition(".")[2],
    )
    if isinstance(message, Block2DMessage):
        return _block2d(message, run, trace) if on.mask.all() else 0
    kind = message.operation.kind
    if kind in ("atomic", "counter"):
        moved, kind = _atomic(message, run, on), "atomic"
    elif kind == "store":
        moved = _store(message, run, on)
    elif message.op == "load_status":
        moved = _status(message, run, on)
    else:
        moved = _load(message, run, on)
        kind = "prefetch" if message.prefetch else "load"
    if trace is not None:
        trace.message(kind, str(message), moved)
    return moved


@dataclass(frozen=True, slots=True)
class _Run:
    """A message with everything that it is executed on."""

    message: Message | Block2DMessage
    memory: Memory
    registers: RegisterFile
    operands: Operands
    surfaces: Surfaces
    slm: Slm | None
    thread: Progress | None

    def named(self, name: str) -> int | Flags:
        """What the caller said about an operand, looked up by its name without the region."""
        for key in (name, name.split("(")[0].split("<")[0]):
            if key in self.operands:
                return self.operands[key]
        raise self.fault({"operand": name}, f"operands has no {name}", "add it to operands")

    def scalar(self, operand: int | str) -> int:
        """The value of an immediate, or of a named scalar."""
        value = self.named(operand) if isinstance(operand, str) else operand
        if not isinstance(value, (int, np.integer)):
            raise self.fault(
                {"operand": operand}, "the operand must be a number", "give an integer"
            )
        return int(value)

    def register(self, name: str) -> int:
        """The byte of the register file at which an operand starts."""
        root, _, byte = name.partition(".") if name not in self.operands else (name, "", "")
        offset = self.scalar(root) + int(byte or 0)
        if offset % self.registers.grf_bytes:
            raise self.fault(
                {"operand": name, "offset": offset},
                f"operands must start at a register of {self.registers.grf_bytes} bytes",
                f"use a multiple of {self.registers.grf_bytes}",
            )
        return offset

    def predicate(self) -> Flags | None:
        """The flags of the message's predicate."""
        if self.message.predicate is None:
            return None
        flags = self.named(self.message.predicate.lstrip("!").partition(".")[0])
        if isinstance(flags, (int, np.integer)):
            raise self.fault(
                {"predicate": self.message.predicate},
                "the predicate must be flags, not a number",
                "give flags",
            )
        return flags

    def surface(self, message: Message) -> SurfaceState:
        """The surface of a stateful message."""
        name = message.address.surface
        state = self.surfaces.get(name)
        if state is None and isinstance(name, str):
            state = self.surfaces.get(self.scalar(name))
        if state is None:
            known = ", ".join(map(str, self.surfaces)) or "none were given"
            raise self.fault({"surface": name}, "unknown surface", f"one of: {known}")
        return state

    def space(self, message: Message) -> Space:
        """What the addresses reach."""
        if message.sfid == "slm":
            if self.slm is None:
                raise self.fault({}, "no shared local memory was given", "pass slm=Slm(…)")
            return Shared(self.slm, self.thread, message.operation.kind == "atomic")
        if message.address.model == "flat":
            return Flat(self.memory)
        return Stateful(self.memory, self.surface(message))

    def fault(self, operands: dict[str, object], condition: str, way_out: str) -> MachineError:
        """An error that shows the message."""
        return MachineError("execute", {"message": self.message} | operands, condition, way_out)


def _block2d(message: Block2DMessage, run: _Run, trace: Trace | None) -> int:
    base, width, height, pitch = map(run.scalar, message.surface)
    surface = Surface(base, width + 1, height + 1, pitch + 1)
    x, y = run.scalar(message.x), run.scalar(message.y)
    if message.block.op == "prefetch":
        return block2d.prefetch(run.memory, message.block, surface, x, y, trace)
    act = block2d.load if message.block.op == "load" else block2d.store
    data = run.register(cast("str", message.dst or message.src1))
    return act(run.memory, run.registers, message.block, surface, x, y, data, trace)


def _load(message: Message, run: _Run, on: Channels) -> int:
    space, where, size = run.space(message), _where(message, run, on), _size(message)
    rows = space.read(where, size)
    if message.dst is not None:
        _return(message, run, on, rows)
    return space.moved(where, size)


def _store(message: Message, run: _Run, on: Channels) -> int:
    space, where, size = run.space(message), _where(message, run, on), _size(message)
    space.write(where, _data(message, run, on, message.src1))
    return space.moved(where, size)


def _status(message: Message, run: _Run, on: Channels) -> int:
    """One bit per channel: whether all that it addresses is there. Moves nothing."""
    valid = run.space(message).valid(_where(message, run, on), _size(message))
    bits = np.zeros(32, dtype=np.bool_)
    bits[on.lanes] = valid.reshape(-1, message.data.elements).all(axis=1)
    if message.dst is not None:
        word = np.packbits(bits, bitorder="little")
        run.registers.write(run.register(message.dst), word, "lsc_load_status")
    return 0


def _atomic(message: Message, run: _Run, on: Channels) -> int:
    if message.operation.kind == "counter":
        name = "iadd" if message.op.endswith("add") else "isub"
        space, where = _counter(message, run, on)
    else:
        name, space = message.op.removeprefix("atomic_"), run.space(message)
        where = _where(message, run, on)
    operands = (message.src1, message.src2)[: message.operation.extra]
    sources = [_data(message, run, on, operand) for operand in operands]
    returns = message.dst is not None
    old = update(name, space, where, _size(message), *sources, returns=returns)
    if returns:
        _return(message, run, on, old)
    return space.moved(where, _size(message))


def _counter(message: Message, run: _Run, on: Channels) -> tuple[Space, Index]:
    if message.address.model == "flat":
        raise run.fault({}, "only surfaces have append counters", "use bss, ss or bti")
    address = run.surface(message).counter_address
    if address is None:
        condition = "the surface has no append counter"
        raise run.fault({"surface": message.address.surface}, condition, "give counter_address")
    count = on.lanes.size * message.data.elements
    return Flat(run.memory), np.full(count, address, dtype=np.int64)


def _size(message: Message) -> int:
    return message.data.memory_bits // 8


def _where(message: Message, run: _Run, on: Channels) -> Index:
    """The address of every element, channel by channel."""
    address, strided = message.address, message.operation.strided
    size = address.bits // 8
    lanes = np.zeros(1, dtype=np.int64) if strided else on.lanes
    index = (lanes[:, None] * size + np.arange(size, dtype=np.int64)).reshape(-1)
    start = run.register(cast("str", address.register))
    raw = run.registers.gather(start, index if on.lanes.size else index[:0], _reader(message))
    values = raw.view(f"u{size}").astype(np.uint64).view(np.int64)
    pitch = None
    if strided:
        packed = _size(message) * message.data.elements
        pitch = packed if address.pitch is None else run.scalar(address.pitch)
    starts = addresses(address, values, on.lanes, pitch)
    return elements(message.data, starts)


def _data(message: Message, run: _Run, on: Channels, operand: str | None) -> Bytes:
    """The memory bytes of a data operand, one row per element."""
    if operand is None:
        raise run.fault({}, "a data operand is the null register", "name src1 (and src2)")
    index = _places(message, run)[on.lanes][:, :, kept(message.data)]
    raw = run.registers.gather(run.register(operand), index.reshape(-1), _reader(message))
    return raw.reshape(-1, _size(message))


def _return(message: Message, run: _Run, on: Channels, rows: Bytes) -> None:
    """Write memory bytes, one row per element, to the destination."""
    index = _places(message, run)[on.lanes].reshape(-1)
    wide = widen(message.data, rows).reshape(-1)
    run.registers.scatter(run.register(cast("str", message.dst)), index, wide, _reader(message))


def _places(message: Message, run: _Run) -> Index:
    return places(message.data, message.exec_size, run.registers.grf_bytes)


def _reader(message: Message) -> str:
    return f"lsc_{message.op}"
