"""Floor 7: a kernel as a value: operands, fragments and statements, nothing run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.listing import listing
from pycute_xe.kernel.statements import (
    Fill,
    Fragment,
    Load,
    Loop,
    Mma,
    Operand,
    Prefetch,
    Reorder,
    Statement,
    Store,
    When,
)
from pycute_xe.layout import size
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import shortly, typed, typed_fields
from pycute_xe.typing import is_tuple

__all__ = ["Kernel", "walk"]


@typed_fields
@dataclass(frozen=True)
class Kernel:
    """What each work-group of a grid does to operands in memory.

    ``grid`` binds a variable to the number of tiles along an extent; ``body`` is what every
    subgroup of each work-group executes. Raises `KernelError` when a statement names an operand or
    a fragment that does not exist, or one of another size or subgroup count, and for element types
    that only the instruction takes so far: kernels multiply f16 and bf16.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> gemm.name, len(gemm.operands), hash(gemm) == hash(gemm)
    ('gemm', 3, True)
    """

    name: str
    mma: TiledMma
    operands: tuple[Operand, ...]
    fragments: tuple[Fragment, ...]
    grid: tuple[tuple[str, Tiles], ...]
    body: tuple[Statement, ...]

    def __post_init__(self) -> None:
        """Check that the statements fit the operands, the fragments and one another."""
        _check_multiplied(self)
        for statement in walk(self.body):
            _check(self, statement)
        _check_bound(self.name, self.body, frozenset(var for var, _ in self.grid))

    @typed
    def operand(self, name: str) -> Operand:
        """Return an operand by name; `KernelError` when there is none."""
        return _named(self, "operand", self.operands, name)

    @typed
    def fragment(self, name: str) -> Fragment:
        """Return a fragment by name; `KernelError` when there is none."""
        return _named(self, "fragment", self.fragments, name)

    def statements(self) -> Iterator[Statement]:
        """Yield every statement, outer before inner, in order."""
        return walk(self.body)

    @typed
    def loop(self, var: str) -> Loop:
        """Return the loop over a variable; `KernelError` when there is none."""
        for statement in walk(self.body):
            if isinstance(statement, Loop) and statement.var == var:
                return statement
        raise KernelError("loop", {"kernel": self.name, "var": var}, "no such loop", "")

    @typed
    def replace(self, old: Statement, new: Statement | tuple[Statement, ...] | None) -> Kernel:
        """Return the kernel with one statement exchanged for another, several, or none.

        Every occurrence of ``old`` changes. Raises `KernelError` when there is none.

        >>> import dataclasses, pycute_xe as cx
        >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
        >>> loop = gemm.loop("k")
        >>> short = gemm.replace(loop, dataclasses.replace(loop, stop=loop.stop - 1))
        >>> str(short.loop("k").stop)
        'ceil_div(K, 32)-1'
        """
        by = () if new is None else new if isinstance(new, tuple) else (new,)
        body = _replaced(self.body, old, by)
        if body == self.body and by != (old,):
            raise KernelError(
                "replace", {"kernel": self.name}, "the kernel has no such statement", ""
            )
        return replace(self, body=body)

    def __str__(self) -> str:
        """A readable listing: operands, registers, statements."""
        return listing(self.name, self.mma, self.operands, self.fragments, self.grid, self.body)


@typed
def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement of a body, outer before inner, in order."""
    if not is_tuple(body):
        given = {"body": shortly(body)}
        raise KernelError("walk", given, "a body is a tuple of statements", "walk(kernel.body)")
    for statement in body:
        yield statement
        if isinstance(statement, (Loop, When)):
            yield from walk(statement.body)


def _replaced(
    body: tuple[Statement, ...], old: Statement, by: tuple[Statement, ...]
) -> tuple[Statement, ...]:
    out: list[Statement] = []
    for statement in body:
        if statement == old:
            out.extend(by)
        elif isinstance(statement, (Loop, When)):
            out.append(replace(statement, body=_replaced(statement.body, old, by)))
        else:
            out.append(statement)
    return tuple(out)


def _check_multiplied(kernel: Kernel) -> None:
    """Refuse what the executors do not follow, rather than sum it up in another type."""
    op = kernel.mma.atom.op
    if not {op.A.name, op.B.name} <= {"f16", "bf16"}:
        raise KernelError(
            kernel.name,
            {"mma": kernel.mma.atom},
            f"kernels multiply f16 and bf16 so far, not {op.A} and {op.B}",
            "use such an atom, or execute the instruction with pycute_xe.machine.dpas",
        )


T = TypeVar("T", Operand, Fragment)


def _named(kernel: Kernel, what: str, entries: tuple[T, ...], name: str) -> T:
    for entry in entries:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in entries)
    raise KernelError(
        what, {"kernel": kernel.name, "name": name}, f"there is no {what} {name}", f"one of {known}"
    )


def _check(kernel: Kernel, statement: Statement) -> None:
    match statement:
        case Prefetch(_, operand, _):
            _check_copy(kernel, statement, kernel.operand(operand))
        case Load(copy, operand, _, fragment) | Store(copy, operand, _, fragment):
            _check_copy(kernel, statement, kernel.operand(operand))
            _check_slots(kernel, statement, fragment, copy.messages * copy.atom.values)
            _check_type(kernel, statement, kernel.fragment(fragment), copy.value_type)
        case Reorder(source, destination, slots):
            for name in (source, destination):
                _check_slots(kernel, statement, name, size(slots) // 16)
            kind = kernel.fragment(source).value_type
            _check_type(kernel, statement, kernel.fragment(destination), kind)
        case Mma(mma, accumulator, a, b):
            op = mma.atom.op
            for operand, name, kind in (("C", accumulator, op.D), ("A", a, op.A), ("B", b, op.B)):
                _check_slots(kernel, statement, name, size(mma.fragment(operand)[1]))
                _check_type(kernel, statement, kernel.fragment(name), kind)
        case Fill(fragment):
            kernel.fragment(fragment)
        case _:
            pass


OPS = {Prefetch: "prefetch", Load: "load", Store: "store"}


def _check_copy(kernel: Kernel, statement: Prefetch | Load | Store, operand: Operand) -> None:
    """Check that a copy moves the operand's tile, of its type, along its rows, the right way."""
    copy, verb = statement.copy, OPS[type(statement)]
    wrong = ""
    if copy.op.message.op != verb:
        wrong = f"a {verb} is done by {copy.op}, a {copy.op.message.op}"
    elif copy.value_type != operand.value_type:
        wrong = f"the {verb} moves {copy.value_type}, {operand.name} holds {operand.value_type}"
    elif copy.x_mode != operand.x_mode:
        contiguous = operand.modes[copy.x_mode] if copy.x_mode < 2 else "neither mode"
        wrong = (
            f"the {verb} is built for contiguous {contiguous}, {operand.name} is {operand.order}"
        )
    elif not _covers(copy.tiler_mn, operand.tile, exactly=verb != "prefetch"):
        wrong = f"the {verb} covers {copy.tiler_mn}, the tile of {operand.name} is {operand.tile}"
    elif copy.num_subgroups != kernel.mma.num_subgroups:
        wrong = (
            f"the copy is shared by {copy.num_subgroups} subgroups, "
            f"the MMA has {kernel.mma.num_subgroups}"
        )
    if wrong:
        raise KernelError(
            kernel.name,
            {"operand": operand, "copy": copy},
            wrong,
            "build the copy from the same tiled MMA, operand and order",
        )


def _covers(tile: tuple[int, ...], wanted: tuple[int, int], exactly: bool) -> bool:
    """A prefetch may reach past the tile: what it brings is not used."""
    if len(tile) != 2:
        return False
    return tile == wanted if exactly else all(map(int.__ge__, tile, wanted))


def _check_type(kernel: Kernel, statement: Statement, fragment: Fragment, kind: Numeric) -> None:
    if fragment.value_type != kind:
        raise KernelError(
            kernel.name,
            {"statement": type(statement).__name__, "fragment": fragment},
            f"the statement moves {kind}, the fragment holds {fragment.value_type}",
            "no statement converts between types: use a copy of the fragment's type",
        )


def _check_bound(name: str, body: tuple[Statement, ...], bound: frozenset[str]) -> None:
    """Check that every tile number counts with a variable of the grid or of a loop around it."""
    for statement in body:
        used: tuple[Index, ...] = ()
        if isinstance(statement, (Prefetch, Load, Store)):
            used = statement.at
        elif isinstance(statement, When):
            used = (statement.index,)
        for index in used:
            if index.var is not None and index.var not in bound:
                raise KernelError(
                    name, {"index": index}, f"no loop binds {index.var}", "use a loop around it"
                )
        if isinstance(statement, Loop):
            _check_bound(name, statement.body, bound | {statement.var})
        elif isinstance(statement, When):
            _check_bound(name, statement.body, bound)


def _check_slots(kernel: Kernel, statement: Statement, name: str, slots: int) -> None:
    fragment = kernel.fragment(name)
    if fragment.slots != slots:
        raise KernelError(
            kernel.name,
            {"statement": type(statement).__name__, "fragment": fragment},
            f"the statement moves {slots} slots, the fragment has {fragment.slots}",
            "give every subgroup the same share of the tile",
        )
