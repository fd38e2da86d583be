"""Which work-group, trip and work-item moves an element of an operand of a kernel."""

from __future__ import annotations

from typing import NamedTuple

from pycute_xe.atom.subgroup_tensor import Owner
from pycute_xe.errors import CoordError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.effects import MemoryAccess
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.signatures import typed

__all__ = ["Moved", "owner_of"]


class Moved(NamedTuple):
    """Where an element is moved: variables of the grid and of loops, the fragment, and who has it.

    ``owners`` are those that are meant to hold it; several subgroups load an element of A.
    """

    where: dict[str, int]
    fragment: str
    owners: tuple[Owner, ...]


@typed
def owner_of(kernel: Kernel, operand: str, *element: int) -> Moved:
    """Return where an element of an operand is loaded or stored first, and by whom.

    Law: the tile of the statement begins at its ``at`` for these variables, and
    `TiledCopy.owner_of` of the rest of the index are the owners. Raises `KernelError` for an
    unknown operand, `CoordError` for an element that no tile of a load or store has.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> found = cx.kernel.owner_of(gemm, "D", 300, 70)
    >>> found.where, found.fragment, found.owners
    ({'m': 1, 'n': 0}, 'tCrC', (Owner(subgroup=5, work_item=6, value=12),))
    """
    named, given = kernel.operand(operand), {"operand": operand, "element": element}
    if len(element) != len(named.modes) or not all(type(e) is int and e >= 0 for e in element):
        modes = ", ".join(map(str, named.modes))
        raise CoordError("owner_of", given, f"{operand} has the modes {modes}", "count from 0")
    for statement in kernel.statements():
        memory = statement.touched.memory
        if memory is not None and not memory.prefetches and memory.operand == operand:
            moved = _owner_in(memory, element)
            if moved is not None:
                return moved
    raise CoordError("owner_of", given, "no load or store says where its tile lies", "")


def _owner_in(memory: MemoryAccess, element: tuple[int, ...]) -> Moved | None:
    """Return who has an element of tiles that begin at multiples of one variable a mode."""
    copy, where = memory.copy, dict[str, int]()
    extents = dict.fromkeys(range(len(element)), 1)
    extents |= {
        mode: copy.tiler_mn[axis] for axis, mode in enumerate(memory.modes) if mode is not None
    }
    inside: dict[int, int] = {}
    for mode, (index, at) in enumerate(zip(memory.at, element, strict=True)):
        left = at - index.offset
        for atom, step in sorted(index.terms, key=lambda term: -term[1]):
            if not isinstance(atom, str) or step < 1:
                return None
            where[atom], left = divmod(left, step)
        if not 0 <= left < extents[mode]:
            return None
        inside[mode] = left
    place = tuple(0 if mode is None else inside[mode] for mode in memory.modes)
    zeros = {name: Index(None, number) for name, number in where.items()}
    starts = [index.substitute(zeros) for index in memory.at]
    if not all(start.is_constant for start in starts):
        return None
    return Moved(where, memory.fragment, copy.owner_of(*place))
