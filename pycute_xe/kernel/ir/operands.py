"""What a kernel works on: operands, fragments, shared arrays, and sizes that shapes bind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from pycute_xe.errors import InputError, KernelError
from pycute_xe.identifiers import name_fault
from pycute_xe.kernel.index import Index, as_index
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import checked_fields, typed

__all__ = ["Fragment", "Operand", "Order", "Role", "Shared", "matrix", "bind_sizes", "shape_of"]


Order = Literal["row", "col"]
Role = Literal["in", "out", "inout", "scratch"]

# Names that `run` takes for options, which no operand may have.
RESERVED = frozenset({"kernel", "executor", "target", "strict", "dtype", "report", "progress"})


@checked_fields
@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor in memory: name, type, the extents of its modes, and which mode is contiguous.

    ``modes`` are the extents in the order a user indexes it: a name that the problem binds, or an
    index of such names. ``contiguous`` is the number of the mode of unit stride; the others lie in
    their order, the last one fastest. An operand without modes is a scalar, an input. ``role`` says
    whether a kernel reads it, writes it, or both; "scratch" is memory that it works in, which no
    run is given or returns: integers are zero at first, floats undefined. Raises `KernelError` for
    names that `run` uses itself, and for a scalar that is written.

    >>> print(Operand("B", "bf16", ("K", "N"), contiguous=1))
    B[K,N] bf16 row-major
    """

    name: str
    value_type: Numeric
    modes: tuple[Index, ...]
    contiguous: int = -1
    role: Role = "in"

    def __init__(
        self,
        name: str,
        value_type: Numeric | str,
        modes: tuple[Index | str | int, ...],
        contiguous: int = -1,
        role: Role = "in",
    ) -> None:
        """Check the parts."""
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "value_type", as_numeric(value_type))
        _not_text(modes)
        extents = tuple(map(as_index, modes))
        rank = len(extents)
        object.__setattr__(self, "modes", extents)
        object.__setattr__(self, "contiguous", contiguous % rank if rank else -1)
        object.__setattr__(self, "role", role)
        _checked_name("Operand", name)
        if name in RESERVED:
            raise KernelError(
                "Operand", {"name": name}, f"{name} is an option of run", "choose another name"
            )
        if rank and not -rank <= contiguous < rank:
            raise KernelError(
                "Operand",
                {"name": name, "contiguous": contiguous},
                f"{name} has {rank} modes, the contiguous one is {contiguous}",
                f"use 0 to {rank - 1}",
            )
        if role not in ("in", "out", "inout", "scratch"):
            known = "in, out, inout, scratch"
            raise KernelError("Operand", {"role": role}, "the role is unknown", known)
        if not rank and role != "in":
            raise KernelError(
                "Operand",
                {"name": name, "role": role},
                f"{name} is a scalar, and a scalar must be an input",
                "give it a mode of extent 1 to write it",
            )

    @property
    def extents(self) -> tuple[str, ...]:
        """The names of sizes that the modes depend on."""
        return tuple(sorted(frozenset[str]().union(*(mode.names for mode in self.modes))))

    @property
    def is_counter(self) -> bool:
        """Whether a launch begins with zeros in it: it is scratch, of integers."""
        return self.role == "scratch" and self.value_type.kind != "float"

    @property
    def written(self) -> bool:
        """Whether a kernel writes it."""
        return self.role != "in"

    @property
    def layout_name(self) -> str:
        """How it lies in memory, in words; empty for scalars and vectors."""
        rank = len(self.modes)
        if rank < 2:
            return ""
        words = {rank - 1: "row-major", rank - 2: "column-major"}
        return words.get(self.contiguous, f"mode {self.contiguous} contiguous")

    def __str__(self) -> str:
        """Name, extents, type and order; a scalar says that it is one number."""
        extents = f"[{','.join(map(str, self.modes))}]" if self.modes else ""
        order = self.layout_name if self.modes else "(one number)"
        return " ".join(filter(None, (f"{self.name}{extents}", str(self.value_type), order)))


@typed
def matrix(
    name: str,
    value_type: Numeric | str,
    modes: tuple[Index | str | int, ...],
    order: Order,
    role: Role = "in",
) -> Operand:
    """Return an operand whose last two modes are a matrix stored by rows or by columns.

    Raises `KernelError` for an order that is neither "row" nor "col".

    >>> print(matrix("A", "bf16", ("M", "K"), "col"))
    A[M,K] bf16 column-major
    """
    if order not in ("row", "col"):
        raise KernelError(
            "matrix", {name: order}, f"{order!r} is not a storage order", 'use "row" or "col"'
        )
    return Operand(name, value_type, modes, -1 if order == "row" else -2, role)


@checked_fields
@dataclass(frozen=True, slots=True)
class Fragment:
    """Registers of a subgroup: a name, a type, and the slots that each of 16 work-items holds.

    Element ``e`` is the ``e``-th element of the registers' bytes, from 0 to ``16 * slots - 1``.
    """

    name: str
    value_type: Numeric
    slots: int

    def __post_init__(self) -> None:
        """Check the size."""
        _checked_name("Fragment", self.name)
        object.__setattr__(self, "value_type", as_numeric(self.value_type))
        if type(self.slots) is not int or self.slots < 1:
            raise KernelError(
                "Fragment",
                {"name": self.name, "slots": self.slots},
                "a fragment has 1 slot or more for each work-item",
                "use a positive integer",
            )

    @property
    def elements(self) -> int:
        """Elements of a subgroup's registers."""
        return 16 * self.slots

    @property
    def bytes(self) -> int:
        """Bytes of a subgroup's registers."""
        return self.elements * self.value_type.bits // 8

    def __str__(self) -> str:
        """Name, type and slots."""
        return f"{self.name} {self.value_type}[{self.slots}]"


@checked_fields
@dataclass(frozen=True, slots=True)
class Shared:
    """An array in the shared local memory of a work-group: name, type and number of elements."""

    name: str
    value_type: Numeric
    elements: int

    def __post_init__(self) -> None:
        """Check the size."""
        _checked_name("Shared", self.name)
        object.__setattr__(self, "value_type", as_numeric(self.value_type))
        if type(self.elements) is not int or self.elements < 1:
            raise KernelError(
                "Shared",
                {"name": self.name, "elements": self.elements},
                "a shared array has 1 element or more",
                "use a positive integer",
            )

    @property
    def bytes(self) -> int:
        """Bytes of the array."""
        return prod((self.elements, self.value_type.bits)) // 8

    def __str__(self) -> str:
        """Name, type and elements."""
        return f"{self.name} {self.value_type}[{self.elements}] shared"


def _not_text(modes: object) -> None:
    """Refuse modes that are one text, which is not read letter by letter."""
    if not isinstance(modes, str):
        return
    names = re.findall(r"[A-Za-z_]\w*", modes) or ["M", "N"]
    if len(names) == 1 and names[0].isalpha() and names[0].isupper():
        names = [*names[0]]
    wrong = "modes is a text, and must be a tuple with a name for each mode"
    raise KernelError("Operand", {"modes": modes}, wrong, f"write {tuple(names)}")


def _checked_name(what: str, name: object) -> None:
    if (fault := name_fault(name)) is not None:
        raise KernelError(what, {"name": name}, *fault)


def bind_sizes(
    operands: Iterable[Operand],
    shapes: Mapping[str, tuple[int, ...]],
    known: Mapping[str, int] | None = None,
    operation: str = "run",
) -> dict[str, int]:
    """Return the size of every extent, from the shapes of those operands that have one.

    A mode that is a plain name binds it; every other mode must then be what its index says.
    ``known`` are sizes told by name. Raises `InputError`, as what ``operation`` refuses, naming
    both operands that disagree, and for a size that nothing binds.

    >>> a, b = Operand("A", "f32", ("M", "K")), Operand("B", "f32", ("K", "N"))
    >>> bind_sizes((a, b), {"A": (2, 3), "B": (3, 5)})
    {'M': 2, 'K': 3, 'N': 5}
    """
    declared = tuple(operands)
    sizes, bound = dict(known or {}), dict.fromkeys(known or {}, "")
    given = [(o, shapes[o.name]) for o in declared if o.name in shapes]
    for operand, shape in given:
        for mode, (index, extent) in enumerate(zip(operand.modes, shape, strict=True)):
            if not _plain(index):
                continue
            name, here = str(index), _reach(operand, mode, extent)
            if sizes.setdefault(name, extent) != extent:
                raise _mismatch(
                    operation, shapes, operand, bound[name] or f"{name} is {sizes[name]}", here
                )
            bound.setdefault(name, here)
    for operand, shape in given:
        for mode, (index, extent) in enumerate(zip(operand.modes, shape, strict=True)):
            if index.names <= sizes.keys() and index.at(sizes) != extent:
                wanted = f"{index} is {index.at(sizes)}"
                raise _mismatch(operation, shapes, operand, _reach(operand, mode, extent), wanted)
    for operand in declared:
        missing = sorted(frozenset(operand.extents) - sizes.keys())
        if missing:
            raise InputError(
                operation,
                {"operand": operand},
                f"no input tells how large {missing[0]} is",
                f"say it by name: {missing[0]}=…",
            )
    return sizes


def shape_of(operand: Operand, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return the extents of an operand for given sizes.

    >>> shape_of(Operand("P", "f32", ("M", Index("N") * 2)), {"M": 3, "N": 4})
    (3, 8)
    """
    return tuple(mode.at(sizes) for mode in operand.modes)


def _plain(index: Index) -> bool:
    return index.is_simple and not index.is_constant and isinstance(index.terms[0][0], str)


def _reach(operand: Operand, mode: int, extent: int) -> str:
    """Say how far an operand reaches along a mode, in words."""
    rank = len(operand.modes)
    if rank == 1:
        return f"{operand.name} has {extent} elements"
    if rank == 2:
        return f"{operand.name} has {extent} {('rows', 'columns')[mode]}"
    return f"{operand.name} has extent {extent} along mode {mode} ({operand.modes[mode]})"


def _mismatch(
    operation: str,
    shapes: Mapping[str, tuple[int, ...]],
    operand: Operand,
    first: str,
    second: str,
) -> InputError:
    other = first.split()[0]
    given: dict[str, object] = {n: shapes[n] for n in (other, operand.name) if n in shapes}
    fix = f"{operand.name} is ({', '.join(map(str, operand.modes))}), make both agree"
    return InputError(operation, given, f"{first}, {second}", fix)
