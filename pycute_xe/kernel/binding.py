"""The sizes of a problem, bound by the shapes of its operands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pycute_xe.errors import InputError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Operand

__all__ = ["bind_sizes", "shape_of"]


def bind_sizes(
    operands: Iterable[Operand],
    shapes: Mapping[str, tuple[int, ...]],
    known: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return the size of every extent, from the shapes of those operands that have one.

    A mode that is a plain name binds it; every other mode must then be what its index says.
    ``known`` are sizes told by name. Raises `InputError` naming both operands that disagree, and
    for a size that nothing binds.

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
            name, here = str(index), _told(operand, mode, extent)
            if sizes.setdefault(name, extent) != extent:
                raise _mismatch(shapes, operand, bound[name] or f"{name} is {sizes[name]}", here)
            bound.setdefault(name, here)
    for operand, shape in given:
        for mode, (index, extent) in enumerate(zip(operand.modes, shape, strict=True)):
            if index.names <= sizes.keys() and index.at(sizes) != extent:
                wanted = f"{index} is {index.at(sizes)}"
                raise _mismatch(shapes, operand, _told(operand, mode, extent), wanted)
    for operand in declared:
        missing = sorted(frozenset(operand.extents) - sizes.keys())
        if missing:
            raise InputError(
                "run",
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


def _told(operand: Operand, mode: int, extent: int) -> str:
    """Say how far an operand reaches along a mode, in words."""
    rank = len(operand.modes)
    if rank == 1:
        return f"{operand.name} has {extent} elements"
    if rank == 2:
        return f"{operand.name} has {extent} {('rows', 'columns')[mode]}"
    return f"{operand.name} has extent {extent} along mode {mode} ({operand.modes[mode]})"


def _mismatch(
    shapes: Mapping[str, tuple[int, ...]], operand: Operand, first: str, second: str
) -> InputError:
    other = first.split()[0]
    given: dict[str, object] = {n: shapes[n] for n in (other, operand.name) if n in shapes}
    fix = f"{operand.name} is ({', '.join(map(str, operand.modes))}), make both agree"
    return InputError("run", given, f"{first}, {second}", fix)
