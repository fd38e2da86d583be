"""Floor 9: fragments as variables of vISA: one for each, and views of them in other types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom import is_identity
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Fragment, If, Kernel, Load, Loop, Reorder, Statement, walk
from pycute_xe.numeric import as_numeric

__all__ = ["BYTES", "PREDICATE", "Declared", "Registers"]

BYTES = {"ud": 4, "d": 4, "f": 4, "uw": 2, "w": 2, "hf": 2, "bf": 2, "ub": 1, "b": 1}
"""Bytes of an element of each type of vISA that fragments are seen in."""

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
    that a reorder joins without moving anything are one variable where nothing could tell.
    """

    def __init__(self, kernel: Kernel) -> None:
        """Declare the fragments."""
        self._kernel = kernel
        self._fragments = {f.name: f for f in kernel.fragments}
        self._rooms = {f.name: _room(kernel, f) for f in kernel.fragments}
        self._taken = set(self._fragments)
        self._views: dict[tuple[str, str, int], str] = {}
        self._declared: list[Declared] = []
        self._predicate = ""
        joined = _joined(kernel)
        for name, room in self._rooms.items():
            source = joined.get(name, "")
            if not source:
                self._declared.append(Declared(name, "ud", room // 4))
        for name, source in joined.items():
            self._declared.append(Declared(name, "ud", self._rooms[name] // 4, source))
        self.joined = frozenset(joined)

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

    def view(self, fragment: str, kind: str, at: int = 0) -> str:
        """Return the name of a view of a fragment in a type, from a byte of it on."""
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

    def predicate(self) -> str:
        """Return the predicate of 16 lanes, declared when it is first asked for."""
        if not self._predicate:
            self._predicate = self._new("xe_where")
            self._declared.append(Declared(self._predicate, PREDICATE, 16))
        return self._predicate

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
            if step % grf_bytes():
                raise KernelError(
                    "emit",
                    {"fragment": fragment, "copy": statement.copy},
                    f"a message fills {step} bytes, the next one would not start at a register",
                    "use blocks that fill whole registers",
                )
            room = max(room, (statement.copy.messages - 1) * step + image)
    return -(-room // grf_bytes()) * grf_bytes()


def _joined(kernel: Kernel) -> dict[str, str]:
    """Return the fragments that may lie in another one, by name."""
    out: dict[str, str] = {}
    for statement in kernel.statements():
        if isinstance(statement, Reorder) and is_identity(statement.slots):
            source, destination = statement.source, statement.destination
            sizes = [kernel.fragment(n).bytes for n in (source, destination)]
            free = not {source, destination} & {*out, *out.values()}
            if free and sizes[0] >= sizes[1] and _safe(kernel, statement):
                out[destination] = source
    return out


def _safe(kernel: Kernel, reorder: Reorder) -> bool:
    """Whether no statement could tell the two fragments of a reorder apart.

    In the body that holds the reorder the source is written before it only, the destination read
    after it only, and nothing else writes the destination.
    """
    body = _around(kernel.body, reorder)
    if body is None or sum(s == reorder for s in kernel.statements()) != 1:
        return False
    at = body.index(reorder)
    others = [s for s in kernel.statements() if s != reorder]

    def all_in(part: tuple[Statement, ...], touching: Callable[[Statement], bool]) -> bool:
        return sum(map(touching, others)) == sum(map(touching, walk(part)))

    return (
        all_in(body[:at], lambda s: reorder.source in _written(s))
        and all_in(body[at + 1 :], lambda s: reorder.destination in _read(s))
        and not any(reorder.destination in _written(s) for s in others)
    )


def _written(statement: Statement) -> tuple[str, ...]:
    return statement.touched.writes + statement.touched.updates


def _read(statement: Statement) -> tuple[str, ...]:
    return statement.touched.reads + statement.touched.updates


def _around(body: tuple[Statement, ...], held: Reorder) -> tuple[Statement, ...] | None:
    """Return the innermost body that a statement stands in."""
    if held in body:
        return body
    inner = (_around(s.body, held) for s in body if isinstance(s, (Loop, If)))
    return next((found for found in inner if found is not None), None)
