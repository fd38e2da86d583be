"""Floor 9: a kernel on tiles, a block of work-groups after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

from numpy.typing import NDArray

from pycute_xe.errors import KernelError, MachineError
from pycute_xe.executing.problem import Problem
from pycute_xe.executing.tiled.axes import NotTiled
from pycute_xe.executing.tiled.block import Block, Kept
from pycute_xe.executing.tiled.memory import Memory
from pycute_xe.executing.tiled.statements import TILED, perform
from pycute_xe.kernel import If, Index, Kernel, Loop, Mma, walk
from pycute_xe.kernel.amounts import launches

__all__ = ["tiled"]

Progress: TypeAlias = Callable[[float], None]

# Elements of the largest tile of a block: it should stay in a cache.
_AT_A_TIME = 1 << 19


def tiled(
    kernel: Kernel, problem: Problem, progress: Progress | None
) -> Mapping[str, NDArray[Any]] | None:
    """Run a kernel on tiles, and return its outputs; None where it is not that.

    What is wrong, if anything, is then said by who does the statements one by one.
    """
    # The first kernel of all that are equal: what is kept of it is kept by its statements.
    kernel, kept = _kept(kernel)
    if not _is_tiled(kernel):
        return None
    outputs = {o.name: problem.blank(o.name) for o in kernel.operands if o.written}
    memory = Memory(kernel, problem.inputs, outputs)
    try:
        counts = [max(0, count.at(problem.sizes)) for _, count in kernel.grid]
        parts = list(_parts(kernel, launches(kernel, counts)))
        for done, part in enumerate(parts, 1):
            block = Block.of(kernel, problem.sizes, memory, part, kept)
            perform(block, kernel.body)
            block.demand(arrived=False)
            if progress is not None:
                progress(done / len(parts))
    except (NotTiled, KernelError, MachineError):
        return None
    return {o.name: memory.output(o.name) for o in kernel.outputs}


@lru_cache(maxsize=16)
def _kept(kernel: Kernel) -> tuple[Kernel, Kept]:
    return kernel, Kept()


def _is_tiled(kernel: Kernel) -> bool:
    """Whether statements are about tiles of floats, and what is loaded is never stored."""
    statements = list(walk(kernel.body))
    if any(type(s) not in tuple(TILED) for s in statements):
        return False
    if not any(isinstance(s, Mma) for s in statements) or kernel.shared:
        return False
    kinds = {fragment.value_type for fragment in kernel.fragments}
    if any(kind.kind != "float" or not 8 <= kind.bits <= 32 for kind in kinds):
        return False
    if any(looked.operand for _, count in kernel.grid for looked in count.looked_up):
        return False
    read = {name for s in statements for name in s.touched.from_memory}
    read |= {x.operand for s in statements for i in s.touched.indices for x in i.looked_up}
    return not read & {name for s in statements for name in s.touched.to_memory}


def _parts(kernel: Kernel, counts: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """Cut the grid into blocks that take the same way through the program."""
    ways: list[Index] = []
    for s in walk(kernel.body):
        ways += (s.start, s.stop) if isinstance(s, Loop) else ()
        ways += (s.index, s.below) if isinstance(s, If) else ()
    apart = {name for index in ways for name in index.names}
    largest = max((f.elements for f in kernel.fragments), default=1) * kernel.subgroups
    left = max(1, _AT_A_TIME // largest)
    cuts: list[list[slice]] = []
    for (name, _), count in reversed(list(zip(kernel.grid, counts, strict=True))):
        step = 1 if name in apart else max(1, min(count, left))
        left //= step
        cuts.append([slice(i, min(i + step, count)) for i in range(0, count, step)])
    yield from product(*reversed(cuts))
