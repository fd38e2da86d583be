"""What statements become in every language: messages, DPAS and moves on variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isfinite
from typing import cast

import numpy as np

from pycute_xe.arch import Block2D
from pycute_xe.arch.dpas import DpasMessage
from pycute_xe.arch.lsc import Block2DMessage
from pycute_xe.arch.regions import GRF, SPAN, Move, Region, moves, moves_from, region
from pycute_xe.arch.target import grf_bytes
from pycute_xe.errors import KernelError
from pycute_xe.facts import rows
from pycute_xe.kernel import Fragment, Kernel
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.listing import renamings
from pycute_xe.kernel.ir.weaving import woven
from pycute_xe.numeric import as_numeric

__all__ = [
    "LANE",
    "Access",
    "Addition",
    "Alu",
    "Barrier",
    "Begin",
    "block_message",
    "Fencing",
    "Instruction",
    "Message",
    "Multiply",
    "Region2D",
    "SPAN",
    "Move",
    "Region",
    "moves",
    "moves_from",
    "region",
    "BYTES",
    "Condition",
    "Flags",
    "Number",
    "Place",
    "Scalar",
    "Source",
    "modified",
    "number",
    "place",
    "PREDICATE",
    "Declared",
    "Registers",
    "as_f32",
    "f32_bits",
    "block_hint",
]

# ------------------------------------------------------------ caching


def block_hint(op: str) -> tuple[str, str]:
    """Return what a block-2D "load", "store" or "prefetch" asks L1 and L3 for, as vISA writes it.

    "df" is what the surface says. The rows are ``[[hint]]`` of ``cutlass.toml``.

    >>> block_hint("prefetch"), block_hint("load")
    (('ca', 'ca'), ('df', 'df'))
    """
    l1, l3 = next(
        cast("tuple[str, str]", row["caching"])
        for row in rows("cutlass", "hint")
        if row["op"] == op
    )
    return l1, l3


# ------------------------------------------------------------ numbers
# Numbers of a kernel as numbers of f32.


def as_f32(value: float) -> float:
    """Return the number of f32 next to one; `KernelError` for one beyond its range.

    >>> as_f32(0.5), as_f32(float("inf"))
    (0.5, inf)
    """
    with np.errstate(over="ignore"):
        nearest = float(np.float32(value))
    if isfinite(value) and not isfinite(nearest):
        raise KernelError(
            "emit", {"value": value}, f"{value:g} is beyond the range of f32", "scale the epilogue"
        )
    return nearest


def f32_bits(value: float) -> str:
    """Return the bits of a number of f32, in hexadecimal.

    >>> f32_bits(1.0)
    '0x3f800000'
    """
    return f"0x{np.float32(as_f32(value)).view(np.uint32):08x}"


# ------------------------------------------------------------ instructions

LANE = "xe_lane"
"""The number of a work-item in its subgroup, in indices."""


@dataclass(frozen=True, slots=True)
class Region2D:
    """The rows of an operand that a message sees: which mode runs down, and the other indices.

    ``at`` has an index for each mode, 0 for those that run along x and y.
    """

    operand: str
    y_mode: int | None
    at: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A block-2D message: the registers it fills or stores, empty for a prefetch; x and y.

    x counts elements of the block, y rows. ``payload`` is the register that has them, if one does.
    """

    block: Block2D
    register: str
    surface: Region2D
    x: Index
    y: Index
    payload: str = ""


def block_message(message: Message) -> Block2DMessage:
    """Return a message as the manual's vISA has it; indices are left out."""
    name, op = message.surface.operand, message.block.op
    l1, l3 = block_hint(op)
    return Block2DMessage(
        message.block,
        dst=message.register if op == "load" else None,
        src1=message.register if op == "store" else None,
        surface=(name, f"{name}_width", f"{name}_height", f"{name}_pitch"),
        x="x",
        y="y",
        exec_mask="M1",
        l1=l1,
        l3=l3,
    )


@dataclass(frozen=True, slots=True)
class Begin:
    """An address payload is made: what a message of a block sees, and where the first starts."""

    payload: str
    block: Block2D
    surface: Region2D
    x: Index
    y: Index


@dataclass(frozen=True, slots=True)
class Multiply:
    """A DPAS on variables."""

    message: DpasMessage


@dataclass(frozen=True, slots=True)
class Alu:
    """An instruction on registers of so many lanes; ``where`` are the lanes that it is for."""

    op: str
    lanes: int
    to: Place | Flags
    sources: tuple[Source, ...]
    where: Flags | None = None

    @property
    def scalars(self) -> tuple[str | Index | Condition, ...]:
        """The scalars that it reads, each once."""
        return tuple(dict.fromkeys(s.value for s in self.sources if isinstance(s, Scalar)))

    @property
    def text(self) -> str:
        """The instruction as vISA writes it; ``%0``, ``%1`` … stand for its scalars."""
        where = "" if self.where is None else f"({self.where}) "
        read = " ".join(map(self._read, self.sources))
        return f"{where}{self.op} (M1_NM, {self.lanes}) {self.to} {read}"

    def _read(self, source: Source) -> str:
        if not isinstance(source, Scalar):
            return str(source)
        changed = f"({source.modifier})" if source.modifier else ""
        return f"{changed}%{self.scalars.index(source.value)}(0,0)<0;1,0>"


@dataclass(frozen=True, slots=True)
class Access:
    """A message of 16 work-items, or fewer, to shared memory: what it moves, and each one's byte.

    ``stores`` tells its direction; ``at`` counts the work-items by `LANE`. A ``vector`` of more
    than one element is a block that one work-item moves for all, from register to register.
    """

    stores: bool
    size: str
    lanes: int
    register: str
    at: Index
    vector: int = 1


@dataclass(frozen=True, slots=True)
class Addition:
    """An atomic addition of 16 work-items' elements, of those that lie inside the surface.

    ``x`` counts bytes and ``y`` rows, both with `LANE`; work-items from ``lanes`` on are off.
    """

    operation: str
    size: str
    lanes: int
    register: str
    surface: Region2D
    x: Index
    y: Index


@dataclass(frozen=True, slots=True)
class Fencing:
    """A fence of shared memory."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """Half of the barrier of a work-group."""

    half: str


Instruction = Message | Multiply | Alu | Access | Addition | Fencing | Barrier

# ------------------------------------------------------------ operands
# Operands of instructions on registers: a place that is walked, a number, a scalar.

BYTES = {"ud": 4, "d": 4, "f": 4, "uw": 2, "w": 2, "hf": 2, "bf": 2, "ub": 1, "b": 1}
"""Bytes of an element of each type of vISA that fragments are seen in."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A number that is 1 where one index is below another, and 0 elsewhere."""

    index: Index
    below: Index


@dataclass(frozen=True, slots=True)
class Place:
    """Elements of a variable of a type, from one on: a source walks a region, a result a stride.

    ``modifier`` is what is done to a source as it is read: ``abs``, ``-`` or nothing.
    """

    name: str
    kind: str
    element: int
    walk: Region | int
    modifier: str = ""

    def __str__(self) -> str:
        """As vISA writes it: the variable, the register and element in it, and how it walks."""
        row, column = divmod(self.element * BYTES[self.kind], GRF)
        walk = f"<{self.walk}>" if isinstance(self.walk, int) else str(self.walk)
        changed = f"({self.modifier})" if self.modifier else ""
        return f"{changed}{self.name}({row},{column // BYTES[self.kind]}){walk}"


@dataclass(frozen=True, slots=True)
class Number:
    """The bits of a number of a type."""

    bits: int
    kind: str

    def __str__(self) -> str:
        """As vISA writes it: in hexadecimal, floats with all their digits."""
        return f"0x{self.bits:0{8 if self.kind == 'f' else 1}x}:{self.kind}"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number that all lanes share: the name of an operand, an index, a condition on indices."""

    value: str | Index | Condition
    modifier: str = ""


@dataclass(frozen=True, slots=True)
class Flags:
    """A variable that holds a bit for each lane."""

    name: str

    def __str__(self) -> str:
        """As vISA writes it."""
        return self.name


Source = Place | Number | Scalar


def place(name: str, kind: str, element: int, read: Region | None, stride: int = 1) -> Place:
    """Return an operand; ``read`` is the region of a source, None for a destination.

    >>> print(place("tCrC_f", "f", 33, Region(1, 1, 0)), place("tErD_bf", "bf", 16, None))
    tCrC_f(2,1)<1;1,0> tErD_bf(0,16)<1>
    """
    return Place(name, kind, element, stride if read is None else read)


def number(bits: int, kind: str = "f") -> Number:
    """Return the bits of a number, of f32 unless a type is given.

    >>> print(number(0x3F800000), number(16, "uw"))
    0x3f800000:f 0x10:uw
    """
    return Number(bits, kind)


def modified(source: Place | Scalar, modifier: str) -> Place | Scalar:
    """Return a source that is read with a modifier.

    >>> print(modified(place("x", "f", 0, Region(1, 1, 0)), "abs"))
    (abs)x(0,0)<1;1,0>
    """
    return replace(source, modifier=modifier)


# ------------------------------------------------------------ registers
# Fragments as variables of vISA: one for each, and views of them in other types.

PREDICATE = "predicate"
"""The type of a variable that holds a bit for each lane."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A variable: its name, type and elements, and where in another one it lies."""

    name: str
    kind: str
    count: int
    of: str = ""
    at: int = 0


class Registers:
    """The variables of a kernel, in the order in which they are needed.

    A fragment is a variable of dwords; a view shows it, or a part of it, in another type. Fragments
    that a reorder joins are one variable where nothing could tell: one that it only renames is read
    at the registers of its source.
    """

    def __init__(self, kernel: Kernel) -> None:
        """Declare the fragments."""
        self._kernel = kernel
        self._fragments = {f.name: f for f in kernel.fragments}
        self._rooms = {f.name: _room(kernel, f) for f in kernel.fragments}
        self._taken = set(self._fragments)
        self._views: dict[tuple[str, str, int], str] = {}
        self._declared: list[Declared] = []
        self._predicate = self._lanes = ""
        self._joined = renamings(kernel)
        self.woven = woven(kernel, self._joined, self.taken_by)
        for name, each in self.woven.items():
            self._rooms[name] = each.bytes
        for name, room in self._rooms.items():
            if name not in self._joined:
                self._declared.append(Declared(name, "ud", room // 4))
        for name, joined in self._joined.items():
            if joined.moves_nothing:
                self._declared.append(Declared(name, "ud", self._rooms[name] // 4, joined.source))
        self.joined = frozenset(self._joined)

    @property
    def declared(self) -> tuple[Declared, ...]:
        """Every variable asked for so far."""
        return tuple(self._declared)

    @property
    def kinds(self) -> dict[str, str]:
        """The type of every variable asked for so far, by name."""
        return {d.name: d.kind for d in self._declared}

    def fragment(self, name: str) -> Fragment:
        """Return a fragment of the kernel."""
        return self._fragments[name]

    def place(self, fragment: str, byte: int) -> tuple[str, int]:
        """Return the variable, and the byte of it, that hold a byte of a fragment."""
        if fragment in self.woven:
            return fragment, self.woven[fragment].place(byte)
        joined = self._joined.get(fragment)
        if joined is None or joined.moves_nothing:
            return fragment, byte
        return joined.source, joined.place(byte)

    def whole(self, name: str) -> str:
        """Return the fragment that a view shows, or itself."""
        return next((d.of or name for d in self._declared if d.name == name), name)

    def view(self, fragment: str, kind: str, at: int = 0) -> str:
        """Return the name of a view of a fragment in a type, from a byte of it on."""
        fragment, at = self.place(fragment, at)
        key = (fragment, kind, at)
        if key not in self._views:
            if not at and kind == "ud":
                return fragment
            suffix = f"_{at // grf_bytes()}" if kind == "ud" else f"_{kind}"
            name = self._new(fragment + suffix)
            count = (self._rooms[fragment] - at) // BYTES[kind]
            self._declared.append(Declared(name, kind, count, fragment, at))
            self._views[key] = name
        return self._views[key]

    def temporary(self, number: int, kind: str = "f") -> str:
        """Return a register of its own, as 16 dwords of a type."""
        return self._own(f"xe_t{number}", 1, kind)

    def payload(self, number: int) -> str:
        """Return a register for an address payload, as dwords."""
        return self._own(f"xe_payload{number}", 1, "ud")

    def taken_by(self, fragments: Iterable[str]) -> int:
        """Return how many registers fragments take; those that share them count once."""
        joined = self._joined
        rooms = {joined[name].source if name in joined else name for name in fragments}
        return sum(self._rooms[name] for name in rooms) // grf_bytes()

    def temporaries(self, count: int, kind: str) -> str:
        """Return so many registers side by side, as dwords of a type."""
        return self._own(f"xe_rows{count}", count, kind)

    def _own(self, name: str, count: int, kind: str) -> str:
        if name not in self._fragments:
            self._fragments[name] = Fragment(name, as_numeric("f32"), count)
            self._rooms[name] = count * grf_bytes()
            self._declared.append(Declared(name, "ud", count * grf_bytes() // 4))
            self._taken.add(name)
        return self.view(name, kind)

    def flags(self) -> Flags:
        """Return the predicate of 16 lanes, declared when it is first asked for."""
        if not self._predicate:
            self._predicate = self._new("xe_where")
            self._declared.append(Declared(self._predicate, PREDICATE, 16))
        return Flags(self._predicate)

    @property
    def counts_lanes(self) -> bool:
        """Whether a register of the numbers of lanes was asked for."""
        return bool(self._lanes)

    def lanes(self) -> str:
        """Return the register of the numbers of lanes, declared when it is first asked for."""
        if not self._lanes:
            self._lanes = self._own("xe_lanes", 1, "d")
        return self._lanes

    def _new(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _room(kernel: Kernel, fragment: Fragment) -> int:
    """Whole registers of a fragment, and of the padding that a message writes behind it."""
    room = -(-fragment.elements * fragment.value_type.bits // 8)
    for statement in kernel.statements():
        memory = statement.touched.memory
        if memory is not None and memory.fills and memory.fragment == fragment.name:
            atom = memory.copy.block
            image = atom.register_tv.elements * atom.value_type.bits // 8
            step = atom.values * 16 * atom.value_type.bits // 8
            if step % grf_bytes() and memory.copy.messages > 1:
                raise KernelError(
                    "emit",
                    {"fragment": fragment, "copy": memory.copy},
                    f"a message fills {step} bytes, the next one would not start at a register",
                    "use blocks that fill whole registers",
                )
            room = max(room, (memory.copy.messages - 1) * step + image)
    return -(-room // grf_bytes()) * grf_bytes()
