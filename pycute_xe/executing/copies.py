"""`run` of a copy atom or a tiled copy: its messages on the machine, and what work-items hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target
from pycute_xe.arch.block2d import Block2D
from pycute_xe.atom import CopyAtom, LinearCopyAtom, TiledCopy
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.atom.register_picture import SUBGROUP, UNITS, RegisterPicture
from pycute_xe.converting import convert, host_dtype
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.errors import InputError
from pycute_xe.executing.surfaces import Placed, fetch, place
from pycute_xe.holding.tables import anchors
from pycute_xe.kernel import Operand
from pycute_xe.layout import size
from pycute_xe.machine import Memory, RegisterFile, Slm, block2d, lsc
from pycute_xe.machine.memory import packed, unpacked
from pycute_xe.numeric import Numeric, as_numeric, numerics
from pycute_xe.typing import is_tuple

__all__ = ["moved_places", "is_prefetch", "run_copy"]

BlockCopy = CopyAtom | LegacyCopyAtom

Values = NDArray[Any]
"""(lanes, values), or (subgroups, lanes, values)."""

_NARROW = frozenset(as_numeric(name).row.dtype for name in numerics())
"""Types of numbers that NumPy itself does not have, by name, among others."""

_ROOM = 1 << 16
"""Bytes of registers of a subgroup: more than any copy fills."""


def run_copy(
    copy: CopyAnswers | TiledCopy,
    operands: Sequence[Any],
    named: Mapping[str, Any],
    target: Target,
) -> NDArray[Any]:
    """Return what each work-item holds after a load, or memory after a store.

    ``named`` are ``at``, ``into`` and ``unit_bits``: see `run`.
    """
    atom = copy.atom if isinstance(copy, TiledCopy) else copy
    given = {"copy": atom}
    unknown = sorted(named.keys() - {"at", "into", "unit_bits"})
    if unknown:
        wrong = f"{unknown[0]} is not an argument of a copy"
        raise InputError("run", given, wrong, "use at, into and unit_bits")
    stores = _stores(atom)
    if len(operands) != 1:
        what = "what work-items hold" if stores else "memory"
        wrong = f"a copy takes one array, {what}; {len(operands)} were given"
        raise InputError("run", given, wrong, "run(load, A), or run(store, held, into=D)")
    if is_prefetch(atom):
        wrong = "a prefetch brings the block into the cache and reaches no register"
        raise InputError("run", given, wrong, "run the load of the same block")
    if not stores and named.get("into") is not None:
        wrong = "a load writes into no memory"
        raise InputError("run", given, wrong, "leave into out")
    lanes = isinstance(atom, LinearCopyAtom) and not atom.op.is_block
    if atom.value_type.bits > 64:
        wrong = f"no array holds numbers of {atom.value_type.bits} bits"
        raise InputError("run", given, wrong, "name a narrower type of the values")
    own = max(copy.unit_bits, atom.value_type.bits) if lanes else copy.unit_bits
    unit = own if named.get("unit_bits") is None else named["unit_bits"]
    fits = type(unit) is int and unit in (*UNITS, own)
    if not fits or unit % atom.value_type.bits:
        wrong = f"registers are not read in units of {unit} bits where values have "
        wrong += f"{atom.value_type.bits}"
        raise InputError("run", given, wrong, "use 8, 16, 32 or 64")
    machine = _Machine(atom, target, unit)
    at, into = named.get("at"), named.get("into")
    if isinstance(copy, TiledCopy):
        return _tiled(copy, machine, operands[0], at, into)
    if isinstance(copy, LinearCopyAtom):
        return _linear(machine, copy, operands[0], at, into)
    return _block(machine, operands[0], at, into)


# ------------------------------------------------------------ machine


@dataclass(frozen=True)
class _Machine:
    """Memory and the registers of one subgroup, for the messages of one atom."""

    atom: CopyAnswers
    target: Target
    unit_bits: int
    memory: Memory = field(default_factory=Memory)

    def registers(self) -> RegisterFile:
        """New registers, none written."""
        return RegisterFile(_ROOM, self.target.grf_bytes)

    def dealt(self, registers: RegisterFile, nbytes: int) -> Values:
        """What work-items find in registers that they read in units of ``unit_bits``."""
        per = self.unit_bits // self.atom.value_type.bits
        values = unpacked(registers.read(0, nbytes, "run"), self.atom.value_type)
        whole = -(-len(values) // (SUBGROUP * per)) * SUBGROUP * per
        full = np.zeros(whole, values.dtype)
        full[: len(values)] = values
        dealt = full.reshape(-1, SUBGROUP, per).transpose(1, 0, 2).reshape(SUBGROUP, -1)
        return dealt.astype(host_dtype(self.atom.value_type))

    def gathered(self, values: Values, nbytes: int) -> NDArray[np.uint8]:
        """The bytes of registers in which work-items hold these values."""
        per = self.unit_bits // self.atom.value_type.bits
        slots = values.reshape(SUBGROUP, -1, per).transpose(1, 0, 2).reshape(-1)
        return _packed(slots, self.atom.value_type)[:nbytes]

    def values(self, nbytes: int) -> int:
        """Values of a work-item in so many bytes of registers."""
        unit = self.unit_bits // 8
        return -(-nbytes // (SUBGROUP * unit)) * (self.unit_bits // self.atom.value_type.bits)

    def checked(self, given: Any, shape: tuple[int, ...], what: str) -> Values:
        """An array of a shape, in the type of the values."""
        array = self.array(given)
        if array.shape != shape:
            wrong = f"{what} has the shape {array.shape}, and must have {shape}"
            raise InputError("run", {"copy": self.atom}, wrong, f"give an array of shape {shape}")
        return self.converted(array)

    def array(self, given: Any) -> NDArray[Any]:
        """An array of what was given; refuse ragged lists."""
        try:
            return np.asarray(given)
        except (ValueError, TypeError, OverflowError) as error:
            wrong = f"it cannot be read as an array: {error}"
            raise InputError(
                "run", {"copy": self.atom}, wrong, "give an array of numbers"
            ) from error

    def returned(self, stored: NDArray[Any], into: Any) -> NDArray[Any]:
        """Memory after a store, as the array that was given; refuse numbers that it cannot hold."""
        dtype = self.array(into).dtype
        out = stored.astype(dtype)
        lost = (_exact(out) != _exact(stored)) & ~np.isnan(_exact(stored))
        if lost.any():
            wrong = f"into holds {dtype}, which has not all numbers that are stored"
            fix = f"give memory of {host_dtype(self.atom.value_type)}"
            raise InputError("run", {"copy": self.atom}, wrong, fix)
        return out

    def converted(self, array: NDArray[Any]) -> NDArray[Any]:
        """An array in the type of the values; refuse what does not convert exactly."""
        kind = self.atom.value_type
        plain = array.dtype.kind in "iuf" or array.dtype.name in _NARROW
        if not plain and array.dtype != host_dtype(kind):
            wrong = f"{array.dtype} is not a type of numbers"
            raise InputError("run", {"copy": self.atom}, wrong, f"give an array of {kind}")
        out = convert(array, kind)
        same = _exact(out) == _exact(array)
        if kind.kind == "float":
            same |= np.isnan(_exact(array))
        if not same.all():
            wrong = f"the array has numbers that {kind} does not hold"
            raise InputError("run", {"copy": self.atom}, wrong, f"round it to {kind} first")
        return out


def _exact(array: NDArray[Any]) -> NDArray[np.longdouble]:
    """Numbers as they are: a long double holds 64 bits, and so every type's."""
    plain = array if array.dtype.kind in "iuf" else array.astype(np.float64)
    return plain.astype(np.longdouble)


def _packed(values: NDArray[Any], kind: Numeric) -> NDArray[np.uint8]:
    return packed(values if kind.kind == "float" else values.astype(np.int64), kind)


def _stores(atom: CopyAnswers) -> bool:
    return bool(getattr(atom, "is_store", False)) or (
        isinstance(atom, LinearCopyAtom) and "load" not in atom.op.moves
    )


def is_prefetch(atom: CopyAnswers) -> bool:
    """Whether a copy brings its block into the cache alone."""
    if isinstance(atom, LegacyCopyAtom):
        return atom.name.is_prefetch
    return isinstance(atom, CopyAtom) and atom.op.kind == "XE_PREFETCH_2D"


# ------------------------------------------------------------ blocks


def _block(machine: _Machine, given: Any, at: Any, into: Any) -> NDArray[Any]:
    start = _two(machine.atom, at)
    if not _stores(machine.atom):
        placed = _placed(machine, given)
        registers = machine.registers()
        nbytes = _send(machine, placed, start, registers, 0)
        return machine.dealt(registers, nbytes)
    nbytes = _register_bytes(machine)
    values = machine.checked(given, (SUBGROUP, machine.values(nbytes)), "held")
    placed = _placed(machine, _memory_of(machine, into))
    registers = machine.registers()
    registers.write(0, machine.gathered(values, nbytes), "run")
    _send(machine, placed, start, registers, 0)
    return machine.returned(fetch(machine.memory, placed), into)


def _tiled(
    copy: TiledCopy,
    machine: _Machine,
    given: Any,
    at: Any,
    into: Any,
    alone: int | None = None,
) -> NDArray[Any]:
    """Run the messages of all subgroups, one after the other, or of one alone."""
    _ = copy.op  # refuses tilings of other atoms
    atom = copy.atom
    stores, start = _stores(atom), _two(atom, at)
    step = atom.values * SUBGROUP * atom.value_type.bits // 8
    nbytes = _bytes_of(copy, _register_bytes(machine))
    shape = (copy.num_subgroups, SUBGROUP, machine.values(nbytes))
    values = machine.checked(given, shape, "held") if stores else np.empty(0)
    memory = _memory_of(machine, into) if stores else given
    placed = _placed(machine, memory, copy.x_mode)
    out: list[Values] = []
    for subgroup, messages in enumerate(anchors(copy).tolist()):
        if alone is not None and subgroup != alone:
            continue
        registers = machine.registers()
        if stores:
            registers.write(0, machine.gathered(values[subgroup], nbytes), "run")
        for j, anchor in enumerate(messages):
            place_at = (
                start[copy.y_mode] + anchor[copy.y_mode],
                start[copy.x_mode] + anchor[copy.x_mode],
            )
            _send(machine, placed, place_at, registers, j * step)
        if not stores:
            out.append(machine.dealt(registers, nbytes))
    if stores:
        return machine.returned(fetch(machine.memory, placed), into)
    return np.stack(out)


def _bytes_of(copy: TiledCopy, message: int) -> int:
    """The bytes of registers of a subgroup, of messages of so many bytes."""
    step = copy.atom.values * SUBGROUP * copy.value_type.bits // 8
    return (copy.messages - 1) * step + max(step, message)


def _send(
    machine: _Machine,
    placed: Placed,
    start: tuple[int, int],
    registers: RegisterFile,
    first: int,
) -> int:
    """Send the messages of a block at a place; return the bytes of registers that they have."""
    surface, offset = placed.surface(1 - placed.operand.contiguous, (0, 0)), first
    bits = machine.atom.value_type.bits
    for message, right, down in _messages(machine):
        column, rest = divmod(start[1] * bits, message.bits)
        if rest:
            wrong = f"column {start[1]} begins inside a {message.bits}-bit element of the message"
            fix = f"begin at a multiple of {message.bits // bits}"
            raise InputError("run", {"copy": machine.atom, "at": start}, wrong, fix)
        move: Callable[..., int] = block2d.load if message.op == "load" else block2d.store
        at = column + right, start[0] + down
        move(machine.memory, registers, message, surface, *at, offset)
        offset += message.register_bytes(machine.target)
    return offset - first


def _register_bytes(machine: _Machine) -> int:
    return sum(m.register_bytes(machine.target) for m, _, _ in _messages(machine))


def _messages(machine: _Machine) -> list[tuple[Block2D, int, int]]:
    """The block-2D messages of an atom, with the column and the row at which each begins."""
    parts = machine.atom.messages(machine.target)
    return [(p.message, p.x, p.y) for p in parts if isinstance(p.message, Block2D)]


def _placed(machine: _Machine, given: Any, along: int = 1) -> Placed:
    array = machine.array(given)
    if array.ndim != 2 or not array.size:
        wrong = f"memory is a matrix, rows as they lie; the shape {array.shape} was given"
        fix = "give an array of two modes, neither of them 0"
        raise InputError("run", {"copy": machine.atom}, wrong, fix)
    operand = Operand("A", machine.atom.value_type, ("M", "N"), along)
    return place(machine.memory, operand, machine.converted(array), machine.target)


def _memory_of(machine: _Machine, into: Any) -> Any:
    if into is None:
        wrong = "a store needs the memory that it writes into"
        raise InputError("run", {"copy": machine.atom}, wrong, "give it: run(store, held, into=A)")
    return into


def _two(atom: CopyAnswers, at: Any) -> tuple[int, int]:
    """The row and column in memory at which a block begins."""
    start = (0, 0) if at is None else at
    whole = (int, np.integer)
    if not is_tuple(start) or [type(i) is not bool and isinstance(i, whole) for i in start] != [
        True,
        True,
    ]:
        wrong = f"at is {at!r}, and must be the row and the column where the block begins"
        raise InputError("run", {"copy": atom}, wrong, "write at=(0, 0)")
    return int(start[0]), int(start[1])


# ------------------------------------------------------------ linear


def _linear(
    machine: _Machine, atom: LinearCopyAtom, given: Any, at: Any, into: Any
) -> NDArray[Any]:
    if "atomic" in atom.op.moves:
        wrong = "an atomic adds to memory what other work-items may add to, too"
        fix = "run a kernel with an AtomicStore"
        raise InputError("run", {"copy": atom}, wrong, fix)
    loads = not _stores(atom)
    array = machine.array(given if loads else _memory_of(machine, into))
    if array.ndim != 1 or not array.size:
        wrong = f"memory is a row of values; the shape {array.shape} was given"
        raise InputError("run", {"copy": atom}, wrong, "give an array of one mode")
    starts = _starts(atom, at, len(array))
    memory = _packed(machine.converted(array).reshape(-1), atom.value_type)
    registers, first = machine.registers(), 8 * machine.target.grf_bytes
    if not loads:
        values = machine.checked(given, (SUBGROUP, atom.values), "held")
        registers.write(first, _in_slots(machine, atom, values), "run")
    memory = _sent(machine, atom, "load" if loads else "store", memory, starts, registers, first)
    if not loads:
        return machine.returned(unpacked(memory, atom.value_type)[: len(array)], into)
    picture = atom.registers()
    used = registers.data[first : first + len(picture.slots) * picture.bits // 8]
    return _from_slots(machine, atom, used).astype(host_dtype(atom.value_type))


def _in_slots(machine: _Machine, atom: LinearCopyAtom, values: Values) -> NDArray[np.uint8]:
    """The registers in which work-items hold these values, padding 0."""
    picture = atom.registers()
    if atom.op.is_block:
        slots = np.zeros(len(picture.slots), values.dtype)
        for slot in range(len(slots)):
            slots[slot] = values[picture.owner(slot, machine.unit_bits)]
        return _packed(slots, atom.value_type)
    each = _packed(values.reshape(-1), atom.value_type).reshape(SUBGROUP, -1)
    return _lane_bytes(picture, each, None)


def _from_slots(machine: _Machine, atom: LinearCopyAtom, used: NDArray[np.uint8]) -> Values:
    """What work-items find in registers."""
    picture = atom.registers()
    if not atom.op.is_block:
        each = np.zeros((SUBGROUP, atom.values * atom.value_type.bits // 8), np.uint8)
        _lane_bytes(picture, each, used)
        return unpacked(each.reshape(-1), atom.value_type).reshape(SUBGROUP, -1)
    values = unpacked(used, atom.value_type)
    out = np.zeros((SUBGROUP, atom.values), values.dtype)
    for slot, value in enumerate(values):
        out[picture.owner(slot, machine.unit_bits)] = value
    return out


def _lane_bytes(
    picture: RegisterPicture, each: NDArray[np.uint8], used: NDArray[np.uint8] | None
) -> NDArray[np.uint8]:
    """Move the bytes of each work-item to registers, or from them; return the registers.

    The picture says for each slot of whole bytes the work-item and the number of its part.
    """
    part = picture.bits // 8
    out = np.zeros(len(picture.slots) * part, np.uint8) if used is None else used
    for slot, owned in enumerate(picture.slots):
        if owned is None:
            continue
        lane, first = owned[0], owned[1] * part
        there, here = slice(slot * part, (slot + 1) * part), slice(first, first + part)
        if used is None:
            out[there] = each[lane, here]
        else:
            each[lane, here] = out[there]
    return out


def _sent(
    machine: _Machine,
    atom: LinearCopyAtom,
    move: str,
    data: NDArray[np.uint8],
    starts: list[int],
    registers: RegisterFile,
    first: int,
) -> NDArray[np.uint8]:
    """Send the loads or the stores of an atom; return memory as it is then, in bytes."""
    shared = atom.op.fact["sfid"] == "slm"
    slm = Slm(data.size) if shared else None
    base = 0 if slm is not None else machine.memory.place(data)
    if slm is not None:
        slm.write(0, data)
    offset = first
    for part in atom.messages(machine.target):
        message = part.message
        if message.op != move:
            continue
        kind = np.uint32 if message.address.bits == 32 else np.uint64
        ahead = part.x * message.data.memory_bits // 8
        where = np.array([base + ahead + start for start in starts], dtype=kind)
        registers.write(0, where.view(np.uint8), "run")
        at = {"V1": 0, "V": offset}
        lsc.execute(message, memory=machine.memory, registers=registers, operands=at, slm=slm)
        counts = message.registers(machine.target), message.source_registers(machine.target)
        offset += machine.target.grf_bytes * max(counts)
    return slm.read(0, data.size) if slm is not None else machine.memory.read(base, data.size)


def _starts(atom: LinearCopyAtom, at: Any, count: int) -> list[int]:
    """The byte at which the block begins, or what each work-item addresses."""
    bits, lanes = atom.value_type.bits, 1 if atom.op.is_block else SUBGROUP
    moved = size(atom.layout_ref_tv)
    try:
        given = np.asarray(np.arange(lanes) * moved if at is None else at)
    except ValueError:  # a ragged list
        given = np.empty(0, np.int64)
    many = "an integer" if atom.op.is_block else "16 integers, one for each work-item"
    if given.dtype.kind not in "iu" or given.size != lanes:
        wrong = f"at is {at!r}, and must be {many}: values before the first that is moved"
        raise InputError("run", {"copy": atom}, wrong, "leave it out to begin at the start")
    starts: list[int] = given.reshape(-1).tolist()
    if min(starts) < 0 or max(starts) + moved > count:
        wrong = f"values {min(starts)} to {max(starts) + moved - 1} are moved, memory has {count}"
        raise InputError("run", {"copy": atom}, wrong, "give more memory, or begin earlier")
    if any(start * bits % 8 for start in starts):
        raise InputError("run", {"copy": atom}, "a copy begins at a whole byte", "move at")
    return [start * bits // 8 for start in starts]


# ------------------------------------------------------------ images


@lru_cache(maxsize=1 << 8)
def moved_places(
    copy: BlockCopy | LinearCopyAtom | TiledCopy, target: Target, unit_bits: int | None = None
) -> NDArray[np.int64]:
    """Return which element each value of a work-item is, as the machine moves it: (t, value, 2).

    Rows and columns of memory, in values; -1 where a value is none, or padding. Numbers are moved
    through the machine, so that nothing is asked of the atom but its messages and its shape. Where
    work-items address memory themselves, the row is the work-item.

    >>> from pycute_xe.arch import get_target
    >>> from pycute_xe.cutlass import get_atom
    >>> moved_places(get_atom("XE_2D_U16x8x16_LD_N"), get_target("bmg"))[5, 3].tolist()
    [3, 5]
    """
    bits = copy.value_type.bits
    tiled, atom = (copy, copy.atom) if isinstance(copy, TiledCopy) else (None, copy)
    if tiled is not None:
        _ = tiled.op  # refuses tilings of other atoms
    atom = cast("BlockCopy", replace(cast("Any", atom), value_type=as_numeric(f"u{bits}")))
    plain = atom if tiled is None else replace(tiled, atom=atom)
    memory = _memory_shape(atom) if tiled is None else (tiled.tiler_mn[0], tiled.tiler_mn[1])
    subgroups = 1 if tiled is None else tiled.num_subgroups
    values = _values(plain, target, unit_bits)
    if not _stores(atom):
        loaded = partial(_tags_moved, plain, memory=memory, target=target, unit_bits=unit_bits)
        codes = _numbered(memory, bits, loaded).reshape(subgroups * SUBGROUP, -1)
        out = np.where(codes[..., None] < 0, -1, np.stack(np.divmod(codes, memory[1]), axis=-1))
    else:
        # Subgroups may store to the same place: each stores alone.
        out = np.full((subgroups, SUBGROUP * values, 2), -1)
        for subgroup, places in enumerate(out):
            stored = partial(
                _tags_moved,
                plain,
                memory=memory,
                target=target,
                unit_bits=unit_bits,
                alone=subgroup,
            )
            codes = _numbered((SUBGROUP, values), bits, stored)
            reached = np.argwhere(codes >= 0)
            places[codes[tuple(reached.T)]] = reached
        out = out.reshape(subgroups * SUBGROUP, values, 2)
    out.flags.writeable = False
    return out


def _numbered(
    shape: tuple[int, int], bits: int, move: Callable[[NDArray[np.int64]], NDArray[Any]]
) -> NDArray[np.int64]:
    """Move the number of each element, digit by digit; return which one lies where, -1 for none.

    Values of few bits hold a digit at a time; a digit is 1 or more, and 0 is what nothing reached.
    What is put together from several elements is none of them.
    """
    many, base = shape[0] * shape[1], (1 << min(bits, 16)) - 1
    codes = np.zeros(1, np.int64)
    for digit in range(next(n for n in range(1, 32) if base**n >= many)):
        moved = move((np.arange(many) // base**digit % base + 1).reshape(shape)).astype(np.int64)
        codes = np.where(moved > 0, codes + (moved - 1) * base**digit, -1)
    return np.where(codes < many, codes, -1)


def _tags_moved(
    copy: BlockCopy | LinearCopyAtom | TiledCopy,
    tags: NDArray[np.int64],
    memory: tuple[int, int],
    target: Target,
    unit_bits: int | None,
    alone: int = 0,
) -> NDArray[Any]:
    """Move tags once, into work-items, or from those of one subgroup into memory, 0 before."""
    flat = isinstance(copy, LinearCopyAtom)
    if not _stores(copy.atom if isinstance(copy, TiledCopy) else copy):
        given = tags.reshape(-1) if flat else tags
        return run_copy(copy, (given,), {"unit_bits": unit_bits}, target)
    empty = np.zeros(memory[0] * memory[1] if flat else memory, np.int64)
    if isinstance(copy, TiledCopy):
        values = np.zeros((copy.num_subgroups, *tags.shape), np.int64)
        values[alone] = tags
        machine = _Machine(copy.atom, target, unit_bits or copy.unit_bits)
        return _tiled(copy, machine, values, None, empty, alone)
    moved = run_copy(copy, (tags,), {"into": empty, "unit_bits": unit_bits}, target)
    return moved.reshape(memory)


def _memory_shape(atom: BlockCopy | LinearCopyAtom) -> tuple[int, int]:
    """The rows and columns of memory that a subgroup moves, in values."""
    rows, columns = atom.shape
    if isinstance(atom, LinearCopyAtom):
        return (1 if atom.op.is_block else SUBGROUP), columns
    last = atom.place_in_memory(rows - 1, columns - 1)
    return last[0] + 1, last[1] + 1


def _values(
    copy: BlockCopy | LinearCopyAtom | TiledCopy, target: Target, unit_bits: int | None
) -> int:
    """The values of a work-item, padding included."""
    if isinstance(copy, LinearCopyAtom):
        return copy.values
    atom = copy.atom if isinstance(copy, TiledCopy) else copy
    machine = _Machine(atom, target, unit_bits or copy.unit_bits)
    last = _register_bytes(machine)
    return machine.values(_bytes_of(copy, last) if isinstance(copy, TiledCopy) else last)
