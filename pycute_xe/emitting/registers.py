"""Floor 9: fragments as variables of vISA: one for each, and views of them in other types."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.arch.target import grf_bytes
from pycute_xe.emitting.operands import BYTES, Flags
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Fragment, Kernel, Load
from pycute_xe.kernel.ir.renaming import renamings
from pycute_xe.numeric import as_numeric

__all__ = ["PREDICATE", "Declared", "Registers"]

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
        joined = self._joined.get(fragment)
        if joined is None or joined.moves_nothing:
            return fragment, byte
        return joined.source, joined.place(byte)

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
        if isinstance(statement, Load) and statement.fragment == fragment.name:
            atom = statement.copy.block
            image = atom.register_tv.elements * atom.value_type.bits // 8
            step = atom.values * 16 * atom.value_type.bits // 8
            if step % grf_bytes() and statement.copy.messages > 1:
                raise KernelError(
                    "emit",
                    {"fragment": fragment, "copy": statement.copy},
                    f"a message fills {step} bytes, the next one would not start at a register",
                    "use blocks that fill whole registers",
                )
            room = max(room, (statement.copy.messages - 1) * step + image)
    return -(-room // grf_bytes()) * grf_bytes()
